//! The index under pressure: many texts alike, short sections, texts that were removed, texts that are damaged.

use std::collections::BTreeMap;

use callsheet_store::{Id, Keep, Project, Store, Wait};

use crate::prompts::{composed, seal};
use crate::test_store::{TestStore, findings};
use crate::{history, on_both};

on_both!(
    the_newest_come_first_however_many_there_are,
    keys_of_passages_have_no_gaps,
    what_was_removed_is_in_no_passage,
    a_text_that_is_around_a_boundary_is_found_as_a_section_too,
    what_is_damaged_hides_nothing_else,
    a_damaged_index_is_found_and_made_anew,
    verify_names_the_project_whose_index_is_wrong,
    a_passage_that_no_search_reads_is_reported,
);

fn carriers(store: &Store, project: &Project, text: &str, limit: usize) -> Vec<Id> {
    let found = store.carriers(project, text, limit, None).wait().unwrap();
    found.prompts.iter().map(|one| one.prompt.id).collect()
}

/// An old text is carried by newer prompts than many new ones are.
fn the_newest_come_first_however_many_there_are(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let old = "Something that is said before it. Here is the needle, and then something that is said after it.";
    let put = |files: &[(&str, &str)]| {
        let (_, seal) = composed(files);
        store.seal(&project, seal).wait().unwrap().0.id
    };
    let first = put(&[("old.md", old)]);
    let mut all: Vec<Id> = (0..530)
        .map(|n| put(&[("new.md", &format!("the needle of {n}"))]))
        .collect();
    all.push(first);
    all.extend((0..10).map(|n| put(&[("old.md", old), ("x.md", &format!("x {n}"))])));
    for n in 0..70 {
        put(&[("none.md", &format!("nothing {n}"))]);
    }
    all.sort();
    all.reverse();
    for is_indexed in [false, true] {
        for limit in [1, 5, 15, 520] {
            let found = carriers(&store, &project, "needle", limit);
            assert_eq!(found, all[..limit], "indexed: {is_indexed}");
        }
        assert_eq!(carriers(&store, &project, "needle", 1000), all);
        assert!(store.index(&project, usize::MAX).wait().unwrap());
    }
}

/// Sections that are passages already use up no keys.
fn keys_of_passages_have_no_gaps(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    for n in 0..5 {
        let (_, seal) = composed(&[("old.md", "The same."), ("x.md", &format!("x {n}"))]);
        store.seal(&project, seal).wait().unwrap();
    }
    let gaps = "select max(key) - min(key) + 1 - count(*) from passage";
    assert_eq!(place.numbers(gaps), [0]);
}

/// The text around the boundaries of a short section has a part of the one before it, which is another in every prompt.
fn what_was_removed_is_in_no_passage(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let stable = "What every prompt says at its end, which is long enough for all.";
    // The recipe that puts nothing between files.
    let bare = history::recipe(history::RECIPES[1]);
    for n in 0..12 {
        let first = format!("What no other prompt has at all: SECRET number {n:03}");
        let files = [("a.md", &*first), ("b.md", "x"), ("c.md", stable)];
        let files = files.map(|(path, text)| (path, text.to_owned()));
        let seal = history::composed(&bare, &BTreeMap::from(files));
        store.seal(&project, seal).wait().unwrap();
    }
    let held = || place.count("select count(*) from prompt_body where roles = 16");
    assert!(held() >= 2 * 12, "each prompt has boundaries of its own");
    assert!(store.index(&project, usize::MAX).wait().unwrap());
    let one = Keep {
        newest: Some(1),
        since: None,
    };
    assert_eq!(
        store.collect(&project, one).wait().unwrap().prompts.len(),
        11
    );
    assert_eq!(findings(&store), []);
    assert_eq!(held(), 4, "only those of the prompt that is left");
    assert_eq!(carriers(&store, &project, "SECRET number", 20).len(), 1);
}

fn what_is_damaged_hides_nothing_else(place: &TestStore) {
    let store = place.open();
    let mine = store.project("mine").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let (prompt, _) = seal(&store, &mine, "the words of mine");
    seal(
        &store,
        &other,
        "the words of another, which will be damaged",
    );
    let damaged = place.raw("update body set bytes = bytes + 1 where bytes = 43");
    assert_eq!(damaged, 1);
    assert_eq!(carriers(&store, &mine, "the words of", 5), [prompt.id]);
    assert_eq!(
        store
            .search(&mine, "words", 5, None)
            .wait()
            .unwrap()
            .hits
            .len(),
        1
    );
    let error = store
        .carriers(&other, "which will be damaged", 5, None)
        .wait()
        .unwrap_err();
    assert!(error.to_string().ends_with(": size mismatch"), "{error}");
    assert!(!findings(&store).is_empty());
}

/// Whatever is missing in the index is found; until then nothing wrong is said.
fn a_damaged_index_is_found_and_made_anew(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    for n in 0..40 {
        seal(
            &store,
            &project,
            &format!("Task {n}: the needle of {n}, {}", "and more. ".repeat(n)),
        );
    }
    assert!(store.index(&project, usize::MAX).wait().unwrap());
    assert_eq!(findings(&store), []);
    let (table, key) = if place.is_sqlite() {
        // Those below hold what only ranking by FTS5 itself would need, and what segments there are.
        ("trigram_data", "id > 10 and id")
    } else {
        ("trigram", "rowid")
    };
    let column = key.rsplit(' ').next().unwrap();
    let all = place.numbers(&format!("select {column} from {table} where {key} > 0"));
    assert!(!all.is_empty());
    let row = all[0];
    assert_eq!(
        place.raw(&format!("delete from {table} where {key} = {row}")),
        1
    );
    let what: Vec<String> = findings(&store).into_iter().map(|one| one.what).collect();
    let is_index = |what: &String| what.starts_with("the search index");
    assert!(what.iter().any(is_index), "{what:?}");
    store.empty_index(&project).wait().unwrap();
    assert!(store.index(&project, usize::MAX).wait().unwrap());
    assert_eq!(findings(&store), []);
    assert_eq!(carriers(&store, &project, "needle", 100).len(), 40);
}

/// Projects of a store may be used by several versions of the program, and each is made anew by itself.
fn verify_names_the_project_whose_index_is_wrong(place: &TestStore) {
    let store = place.open();
    let [mine, other] = ["mine", "other"].map(|name| {
        let project = store.project(name).wait().unwrap();
        seal(&store, &project, &format!("the needle of {name}"));
        assert!(store.index(&project, usize::MAX).wait().unwrap());
        project
    });
    assert_eq!(findings(&store), []);
    let found = || {
        let found = findings(&store).into_iter();
        found.map(|one| format!("{}: {}", one.what, one.detail))
    };
    let last = |name| {
        format!(
            "(select max(p.key) from passage p join project r on r.key = p.project where r.name = '{name}')"
        )
    };
    place.raw(&format!(
        "update search_index set version = 1 where project = (select project from passage where key = {})",
        last("other")
    ));
    assert_eq!(
        place.raw(&format!(
            "delete from trigram where rowid = {}",
            last("mine")
        )),
        1
    );
    let wrong = "the search index of project mine: it does not have what the texts say; `callsheet reindex` makes it anew";
    assert_eq!(found().collect::<Vec<_>>(), [wrong]);
    store.empty_index(&mine).wait().unwrap();
    assert!(store.index(&mine, usize::MAX).wait().unwrap());
    assert_eq!(found().collect::<Vec<_>>(), [""; 0]);
    place.raw(&format!(
        "delete from trigram where rowid = {}",
        last("other")
    ));
    assert_eq!(
        place.raw(&format!(
            "delete from passage where key = {}",
            last("other")
        )),
        1
    );
    let missing = "the passages of project other: 1 missing; `callsheet reindex` makes them anew";
    assert_eq!(found().collect::<Vec<_>>(), [missing]);
    store.empty_index(&other).wait().unwrap();
    assert_eq!(found().collect::<Vec<_>>(), [""; 0]);
}

/// What is not in the index yet is read from the first key on. A server lets nobody change a key.
fn a_passage_that_no_search_reads_is_reported(place: &TestStore) {
    if !place.is_sqlite() {
        return;
    }
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (prompt, _) = seal(&store, &project, "the needle");
    assert_eq!(carriers(&store, &project, "needle", 5), [prompt.id]);
    let last = "key = (select max(key) from passage)";
    let changed = place.raw(&format!("update passage set key = -key where {last}"));
    assert_eq!(changed, 1);
    let found: Vec<String> = findings(&store).into_iter().map(|one| one.detail).collect();
    assert_eq!(found, ["1 never read; `callsheet reindex` makes them anew"]);
    store.empty_index(&project).wait().unwrap();
    assert_eq!(findings(&store), []);
}

/// What stands around a boundary in one prompt is a section of another, before and after it is indexed.
fn a_text_that_is_around_a_boundary_is_found_as_a_section_too(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (_, one) = composed(&[("a.md", "the first zebra"), ("b.md", "the second zebra")]);
    let (one, _) = store.seal(&project, one).wait().unwrap();
    let text = store.sealed(&one).wait().unwrap().text().unwrap();
    let around = &text[text.find("the first").unwrap() + 15 - 32..][..32];
    let end = &text[text.find("the second").unwrap()..];
    let from = text.find("the first").unwrap() + "the first zebra".len();
    let to = text.len() - end.len();
    let boundary = &text[from - 32..to + 32.min(end.len())];
    assert!(boundary.starts_with(around));
    for is_indexed in [true, false] {
        let (_, two) = composed(&[("c.md", boundary), ("d.md", &format!("{is_indexed}"))]);
        let (two, _) = store.seal(&project, two).wait().unwrap();
        assert!(!is_indexed || store.index(&project, usize::MAX).wait().unwrap());
        let hits = store
            .search(&project, "zebra", 10, None)
            .wait()
            .unwrap()
            .hits;
        assert_eq!(hits.len(), 3, "{hits:?}");
        let found = carriers(&store, &project, boundary, 10);
        assert_eq!(found.first(), Some(&two.id));
        assert_eq!(found.last(), Some(&one.id));
    }
    assert_eq!(findings(&store), []);
}
