//! Finding texts by their words and exactly, in prompts and in logs.

use std::time::Duration;

use callsheet_store::{Hit, HitPlace, Project, Record, Store, Stream, Wait};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::on_both;
use crate::prompts::{composed, seal};
use crate::test_store::{TestStore, claim, findings};

on_both!(
    words_are_found_the_best_first,
    one_letter_finds_all_words_that_begin_with_it,
    a_hit_names_the_section_and_who_carries_it,
    logs_are_found_once_they_are_indexed,
    exact_texts_are_found_wherever_they_stand,
    any_part_of_a_prompt_leads_to_it,
    a_text_that_runs_on_leads_to_an_old_prompt,
    the_index_finds_what_reading_everything_finds,
    what_others_have_does_not_hide_mine,
    one_of_mine_is_found_among_hundreds_of_others,
    the_best_of_all_come_first_however_many_there_are,
    only_what_is_new_enough_is_found,
    what_is_old_is_found_where_a_newer_prompt_has_it,
);

fn search(store: &Store, project: &Project, text: &str) -> Vec<Hit> {
    store.search(project, text, 10, None).wait().unwrap().hits
}

fn words_are_found_the_best_first(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    seal(&store, &other, "The login of another project.");
    let filler = "Something else that is said here. ".repeat(40);
    let (once, _) = seal(&store, &project, &format!("{filler} A login. {filler}"));
    let (often, _) = seal(
        &store,
        &project,
        "Login, login and login_form: fix src/login.rs.",
    );
    let places = |text: &str| -> Vec<_> {
        let hits = search(&store, &project, text).into_iter();
        hits.map(|hit| match hit.place {
            HitPlace::Prompt { prompt, .. } => prompt,
            other => panic!("{other:?}"),
        })
        .collect()
    };
    assert_eq!(places("login"), [often.id, once.id]);
    assert_eq!(places("LOGIN something"), [once.id]);
    assert_eq!(places("src/login.rs"), [often.id]);
    assert_eq!(places("log"), [often.id, once.id], "a beginning is enough");
    for nothing in [
        "",
        "...",
        "absent",
        "login absent",
        "' or 1=1 --",
        "\"",
        "a:b OR *",
        "(",
        "login\0x",
    ] {
        assert_eq!(places(nothing), [], "{nothing:?}");
    }
}

/// In lower case, some letters are two characters.
fn one_letter_finds_all_words_that_begin_with_it(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    seal(&store, &project, "Über İzmir, ÉCLAIR.");
    for is_indexed in [false, true] {
        for beginning in ["ü", "Üb", "İ", "İz", "İZM", "é", "éc"] {
            let found = search(&store, &project, beginning);
            assert_eq!(found.len(), 1, "{beginning}, indexed: {is_indexed}");
        }
        assert!(store.index(&project, usize::MAX).wait().unwrap());
    }
}

fn a_hit_names_the_section_and_who_carries_it(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let text = "Login, login and login_form: fix src/login.rs.";
    let (often, _) = seal(&store, &project, text);
    let hit = search(&store, &project, "form").remove(0);
    assert_eq!(hit.snippet, "login and login_form: fix src/login.rs.");
    let HitPlace::Prompt {
        prompts,
        section,
        at,
        ..
    } = hit.place
    else {
        panic!("{hit:?}");
    };
    assert_eq!((prompts, at), (1, 23));
    let carried = store.sealed(&often).wait().unwrap();
    let mut sections = carried.manifest().unwrap().sections.into_iter();
    assert!(sections.any(|one| one.fingerprint == section && one.name == "task.md"));
    // The same text in one more prompt is the same hit.
    let (_, more) = composed(&[
        ("task.md", "Login, login and login_form: fix src/login.rs."),
        ("x.md", "x"),
    ]);
    let (newest, _) = store.seal(&project, more).wait().unwrap();
    let hit = search(&store, &project, "form").remove(0);
    let HitPlace::Prompt {
        prompt, prompts, ..
    } = hit.place
    else {
        panic!("{hit:?}");
    };
    assert_eq!(prompts, 2);
    assert_eq!(prompt, newest.id.max(often.id));
}

fn logs_are_found_once_they_are_indexed(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let ids = place.queue(&store, &project, 2);
    for id in &ids {
        let claim = claim(&store, &project, "w", Duration::from_mins(1)).unwrap();
        assert_eq!(claim.run.id, *id);
        let record = |stream, data: &[u8]| Record {
            stream,
            data: data.to_vec(),
        };
        let mut records = vec![record(Stream::Meta, b"the prompt")];
        records.extend(
            (0..500).map(|n| record(Stream::Stdout, format!("line {n} of {id}").as_bytes())),
        );
        records.push(record(Stream::Stderr, b"a warning \xff about zebras"));
        store.append_log(&claim, records).wait().unwrap();
        store.finish_run(&claim, &json!({})).wait().unwrap();
    }
    assert_eq!(search(&store, &project, "zebras"), []);
    assert_eq!(store.unindexed(&project).wait().unwrap().records, 1004);
    // Everything else is found already; the index takes as much at once as it is told to, and whole batches.
    let sections = many(0..100, |number| format!("Section {number}."));
    store.seal(&project, sections).wait().unwrap();
    let mut left = vec![i64::MAX];
    while !store.index(&project, 1).wait().unwrap() {
        left.push(store.unindexed(&project).wait().unwrap().passages);
        assert!(left.is_sorted_by(|one, other| one > other), "{left:?}");
    }
    assert!(left.len() > 3, "{left:?}");
    let found = search(&store, &project, "zebras");
    let places: Vec<_> = found.iter().map(|hit| hit.place.clone()).collect();
    for &run in &ids {
        let place = HitPlace::Log {
            run,
            seq: 502,
            stream: Stream::Stderr,
        };
        assert!(places.contains(&place), "{places:?}");
    }
    assert_eq!(found[0].snippet, "a warning \u{fffd} about zebras");
    assert_eq!(search(&store, &project, "line 437").len(), 2);
    assert_eq!(findings(&store), []);
}

fn exact_texts_are_found_wherever_they_stand(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let long: Vec<String> = (0..30_000).map(|n| n.to_string()).collect();
    let long = long.join(" ");
    let (_, sealed) = composed(&[
        ("a.md", "alpha ünïcode % _ \\ \" end"),
        ("b.md", "beta\n"),
        ("long.md", &long),
    ]);
    let (prompt, _) = store.seal(&project, sealed).wait().unwrap();
    let text = store.sealed(&prompt).wait().unwrap().text().unwrap();
    let across = text.find(" end").unwrap();
    let texts = [
        "alpha",
        "ünï",
        "% _ \\ \"",
        &text[across..across + 40],
        &text[across..across + 5000],
        "29998 29999",
        "12340 12341 12342",
        &text,
    ];
    for part in texts {
        let found = store.carriers(&project, part, 5, None).wait().unwrap();
        let ids: Vec<_> = found.prompts.iter().map(|one| one.prompt.id).collect();
        assert_eq!((ids, found.more), (vec![prompt.id], false), "{part:.60}");
    }
    for absent in ["Alpha", "alpha  ", "gamma", "% _ \\ '"] {
        let found = store.carriers(&project, absent, 5, None).wait().unwrap();
        assert_eq!(found.prompts, [], "{absent}");
    }
    for short in ["", "a", "ab", "é"] {
        let error = store.carriers(&project, short, 5, None).wait().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a text that is looked for in all prompts has at least three characters"
        );
    }
    for number in 0..8 {
        seal(&store, &project, &format!("alpha {number}"));
    }
    let found = store.carriers(&project, "alpha", 5, None).wait().unwrap();
    assert_eq!((found.prompts.len(), found.more), (5, true));
    assert!(
        found
            .prompts
            .is_sorted_by(|one, other| one.prompt.id > other.prompt.id)
    );
}

/// What runs from a text that all prompts share into one that only an old one has.
fn a_text_that_runs_on_leads_to_an_old_prompt(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let shared: Vec<String> = (0..120).map(|n| format!("shared line {n}")).collect();
    let shared = shared.join("\n");
    let made: Vec<_> = (0..30)
        .map(|number| {
            let task = format!("Task {number} is like no other.");
            let (_, seal) = composed(&[("a.md", &shared), ("b.md", &task)]);
            store.seal(&project, seal).wait().unwrap().0
        })
        .collect();
    for prompt in [&made[0], &made[7], &made[29]] {
        let text = store.sealed(prompt).wait().unwrap().text().unwrap();
        let task = text.find("Task ").unwrap();
        for before in [3, 30, 90, 200, 900] {
            let part = &text[task - before..task + 12];
            let found = store.carriers(&project, part, 2, None).wait().unwrap();
            let ids: Vec<_> = found.prompts.iter().map(|one| one.prompt.id).collect();
            assert_eq!(
                (ids, found.more),
                (vec![prompt.id], false),
                "{before} before"
            );
        }
    }
    let text = store.sealed(&made[0]).wait().unwrap().text().unwrap();
    let end = text.find("line 119").unwrap();
    let all = store
        .carriers(&project, &text[end..end + 15], 2, None)
        .wait()
        .unwrap();
    assert_eq!((all.prompts.len(), all.more), (2, true));
}

/// Many small prompts with much the same words: the index finds exactly what reading all of them finds.
fn the_index_finds_what_reading_everything_finds(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let words = ["one ", "two\n", "é ", "x", "--- ", "\n\n", "login ", "page"];
    let mut dice = 0x0005_DEEC_E66D_u64;
    let mut roll = |sides: usize| {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(11);
        (dice >> 33) as usize % sides
    };
    let mut texts = Vec::new();
    for _ in 0..12 {
        let mut file = || (0..roll(12)).map(|_| words[roll(8)]).collect::<String>();
        let (a, b, c) = (file(), file(), file());
        let (_, seal) = composed(&[("a.md", &a), ("b.md", &b), ("c.md", &c)]);
        let (prompt, _) = store.seal(&project, seal).wait().unwrap();
        let text = store.sealed(&prompt).wait().unwrap().text().unwrap();
        texts.push((prompt.id, text));
    }
    for nth in 0..120 {
        if nth == 60 {
            assert!(store.index(&project, usize::MAX).wait().unwrap());
        }
        let (_, text) = &texts[roll(texts.len())];
        let from = text.floor_char_boundary(roll(text.len()));
        let to = text.ceil_char_boundary((from + 3 + roll(90)).min(text.len()));
        let part = &text[from..to];
        if part.chars().count() < 3 {
            continue;
        }
        let carrying = texts.iter().filter(|(_, text)| text.contains(part));
        let mut expected: Vec<_> = carrying.map(|(id, _)| *id).collect();
        expected.sort_by_key(|id| std::cmp::Reverse(*id));
        expected.dedup();
        let found = store.carriers(&project, part, 50, None).wait().unwrap();
        let ids: Vec<_> = found.prompts.iter().map(|one| one.prompt.id).collect();
        assert_eq!(ids, expected, "{part:?}");
    }
}

fn any_part_of_a_prompt_leads_to_it(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let files = [
        ("a.md", "one\ntwo\n"),
        ("b.md", ""),
        ("c.md", "drei é vier\n"),
        ("d.md", "x"),
        ("e.md", "the end"),
    ];
    let (_, sealed) = composed(&files);
    let (prompt, _) = store.seal(&project, sealed).wait().unwrap();
    let text = store.sealed(&prompt).wait().unwrap().text().unwrap();
    let config = Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let part = (0..text.len(), 3..text.len());
    assert!(store.index(&project, usize::MAX).wait().unwrap());
    let led = runner.run(&part, |(from, len)| {
        let from = text.floor_char_boundary(from);
        let to = text.ceil_char_boundary((from + len).min(text.len()));
        let part = &text[from..to];
        if part.chars().count() >= 3 {
            let found = store.carriers(&project, part, 5, None).wait().unwrap();
            prop_assert_eq!(found.prompts.len(), 1, "{:?}", part);
        }
        Ok(())
    });
    led.unwrap();
}

/// Thousands of texts that look alike, of another project and of none that holds the text.
fn what_others_have_does_not_hide_mine(place: &TestStore) {
    let store = place.open();
    let mine = store.project("mine").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let (prompt, _) = seal(&store, &mine, "the abcdef words of mine");
    for number in 0..3 {
        let names: Vec<String> = (0..500).map(|n| format!("f{n}.md")).collect();
        let texts: Vec<String> = (0..500)
            .map(|n| format!("abc {number} {n} def, abcdef"))
            .collect();
        let files: Vec<(&str, &str)> = names
            .iter()
            .zip(&texts)
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let (_, seal) = composed(&files);
        store.seal(&other, seal).wait().unwrap();
    }
    let found = store.carriers(&mine, "abcdef", 5, None).wait().unwrap();
    let ids: Vec<_> = found.prompts.iter().map(|one| one.prompt.id).collect();
    assert_eq!((ids, found.more), (vec![prompt.id], false));
}

/// Makes a prompt of many files, each with a text of its number.
fn many(numbers: std::ops::Range<usize>, text: impl Fn(usize) -> String) -> callsheet::Seal {
    let files: Vec<(String, String)> = numbers
        .map(|number| (format!("f{number}.md"), text(number)))
        .collect();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    composed(&files).1
}

fn one_of_mine_is_found_among_hundreds_of_others(place: &TestStore) {
    let store = place.open();
    let mine = store.project("mine").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let theirs = |numbers| {
        let seal = many(numbers, |number| format!("The login of number {number}."));
        store.seal(&other, seal).wait().unwrap();
    };
    theirs(0..60);
    let (prompt, _) = seal(&store, &mine, "The login of mine.");
    theirs(60..320);
    for is_indexed in [false, true] {
        let found = store.search(&mine, "login", 10, None).wait().unwrap();
        let HitPlace::Prompt { prompt: found, .. } = found.hits[0].place else {
            panic!("{found:?}");
        };
        assert_eq!(found, prompt.id, "indexed: {is_indexed}");
        for project in [&mine, &other] {
            assert!(store.index(project, usize::MAX).wait().unwrap());
        }
    }
}

/// The first of many are the first of all, whatever the index leaves out.
fn the_best_of_all_come_first_however_many_there_are(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let mut dice = 7_u64;
    let mut roll = |sides: u64| {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(11);
        (dice >> 33) % sides
    };
    let texts: Vec<String> = (0..900)
        .map(|number| {
            let mut text = format!("Number {number}.");
            for word in ["login", "token", "session"] {
                let times = 1 + roll(4) * roll(4);
                text.push_str(&format!(" The {word} page.").repeat(times as usize));
            }
            text + &" filler".repeat(roll(300) as usize)
        })
        .collect();
    for from in (0..900).step_by(300) {
        let seal = many(from..from + 300, |number| texts[number].clone());
        store.seal(&project, seal).wait().unwrap();
    }
    assert!(store.index(&project, usize::MAX).wait().unwrap());
    for query in [
        "login",
        "login token",
        "token login session",
        "pag",
        "the login pa",
        "login/page",
        "token page_the session",
        "th",
    ] {
        let search = |limit| store.search(&project, query, limit, None).wait().unwrap();
        let all = search(10_000);
        assert_eq!((all.hits.len(), all.more), (900, false), "{query}");
        for limit in [1, 3, 20, 200] {
            let some = search(limit);
            assert_eq!(some.hits, all.hits[..limit], "{query}, {limit}");
            assert!(some.more, "{query}, {limit}");
        }
    }
}

fn only_what_is_new_enough_is_found(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (old, _) = seal(&store, &project, "The needle of old times.");
    let mut new = old.clone();
    while new.sealed_at == old.sealed_at {
        let text = format!("The needle of {:?}.", std::time::Instant::now());
        new = seal(&store, &project, &text).0;
    }
    for is_indexed in [false, true] {
        for (since, count) in [
            (None, 2),
            (Some(new.sealed_at), 1),
            (Some(new.sealed_at + 1), 0),
        ] {
            let found = store
                .carriers(&project, "needle", 1000, since)
                .wait()
                .unwrap();
            let newer = found.prompts.iter().map(|one| one.prompt.sealed_at);
            assert!(newer.clone().all(|at| at >= since.unwrap_or(0)));
            let hits = store
                .search(&project, "needle", 1000, since)
                .wait()
                .unwrap();
            assert_eq!(hits.hits.len(), found.prompts.len());
            assert!(newer.count() >= count, "{since:?}");
        }
        assert!(
            store.index(&project, usize::MAX).wait().unwrap(),
            "{is_indexed}"
        );
    }
    let late = store
        .carriers(&project, "needle", 5, Some(new.sealed_at + 1))
        .wait()
        .unwrap();
    assert_eq!(late.prompts, []);
}

fn what_is_old_is_found_where_a_newer_prompt_has_it(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (old, _) = seal(&store, &project, "The needle of old times.");
    let mut new = old.clone();
    while new.sealed_at == old.sealed_at {
        let other = format!("Something of {:?}.", std::time::Instant::now());
        let files = [("task.md", "The needle of old times."), ("x.md", &*other)];
        new = store.seal(&project, composed(&files).1).wait().unwrap().0;
    }
    let since = Some(new.sealed_at);
    for is_indexed in [false, true] {
        let hits = store.search(&project, "needle", 5, since).wait().unwrap();
        let places = hits.hits.iter().map(|hit| match hit.place {
            HitPlace::Prompt { prompt, .. } => prompt,
            ref other => panic!("{other:?}"),
        });
        assert_eq!(
            places.collect::<Vec<_>>(),
            [new.id],
            "indexed: {is_indexed}"
        );
        let found = store.carriers(&project, "needle", 5, since).wait().unwrap();
        let ids: Vec<_> = found.prompts.iter().map(|one| one.prompt.id).collect();
        assert_eq!(ids, [new.id], "indexed: {is_indexed}");
        assert!(store.index(&project, usize::MAX).wait().unwrap());
    }
}
