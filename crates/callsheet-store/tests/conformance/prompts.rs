//! Sealed prompts: one id each, kept once, found by what went in, and proven byte by byte.

use callsheet::inputs::Disk;
use callsheet::{Composition, Inputs, Options, Seal, compose, recipe};
use callsheet_store::{Project, PromptFilter, SealedPrompt, Store, StoreError, Wait};
use serde_json::json;

use crate::on_both;
use crate::test_store::{TestStore, findings};

on_both!(
    a_prompt_comes_back_byte_by_byte,
    the_same_prompt_has_one_id,
    prompts_are_listed_by_what_went_in,
    ids_may_be_cut_as_long_as_they_are_unique,
    texts_that_two_prompts_share_are_kept_once,
    every_flipped_byte_is_found_and_named,
    every_changed_value_of_a_prompt_is_found,
    odd_texts_are_kept,
    the_same_prompt_may_be_sealed_at_the_same_time,
    a_prompt_belongs_to_its_project,
    an_index_that_lost_its_contents_is_found,
);

/// Composes files as a pack and seals it.
pub(crate) fn composed(files: &[(&str, &str)]) -> (Composition, Seal) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let inputs = Inputs::new(Disk::watched().open(folder.path()).unwrap());
    let recipe = recipe::built_in("pack").unwrap().unwrap();
    let (input, options) = (json!({"globs": ["**"]}), Options::default());
    let composition = compose(recipe, &input, &inputs, &options).unwrap();
    let seal = Seal::of(&composition, recipe, &input, &inputs, &options).unwrap();
    (composition, seal)
}

/// Seals a prompt with one file of that text.
pub(crate) fn seal(store: &Store, project: &Project, text: &str) -> (SealedPrompt, bool) {
    let (_, seal) = composed(&[("task.md", text)]);
    store.seal(project, seal).wait().unwrap()
}

fn list(store: &Store, project: &Project, filter: PromptFilter) -> Vec<SealedPrompt> {
    store.prompts(project, filter, 100).wait().unwrap()
}

fn a_prompt_comes_back_byte_by_byte(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let long = "A line that comes again and again.\n".repeat(5000);
    let (composition, sealed) = composed(&[("a.md", "alpha\r\n"), ("b/é.md", &long)]);
    let (prompt, new) = store.seal(&project, sealed.clone()).wait().unwrap();
    assert!(new);
    let back = store.sealed(&prompt).wait().unwrap();
    assert_eq!(back, sealed);
    assert_eq!(back.text().unwrap(), composition.text);
    assert!(back.replay().unwrap().is_equal());
    assert_eq!(
        store.prompt(&project, prompt.id.as_str()).wait(),
        Ok(prompt)
    );
    assert_eq!(findings(&store), []);
}

fn the_same_prompt_has_one_id(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let (first, new) = seal(&store, &project, "One.");
    assert!(new);
    assert_ne!(seal(&store, &project, "Two.").0.id, first.id);
    let counted = |sql: &str| place.count(sql);
    // Composed in another folder, it has other inputs; sealed again as it is, nothing is added.
    let back = store.sealed(&first).wait().unwrap();
    let before = counted("select count(*) from body");
    assert_eq!(
        store.seal(&project, back.clone()).wait(),
        Ok((first.clone(), false))
    );
    assert_eq!(counted("select count(*) from body"), before);
    // Another project has it on its own, with the same texts.
    let (elsewhere, new) = store.seal(&other, back).wait().unwrap();
    assert!(new && elsewhere.fingerprint == first.fingerprint);
    assert_eq!(counted("select count(*) from body"), before);
    let missing = store.prompt(&other, first.id.as_str()).wait().unwrap_err();
    assert!(matches!(missing, StoreError::Unknown { .. }) || elsewhere.id == first.id);
    assert_eq!(findings(&store), []);
}

fn prompts_are_listed_by_what_went_in(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    seal(&store, &other, "Not mine.");
    let made: Vec<SealedPrompt> = (0..5)
        .map(|number| {
            let name = format!("f{}.md", number % 2);
            let (_, seal) = composed(&[(&name, &format!("text {number}"))]);
            store.seal(&project, seal).wait().unwrap().0
        })
        .collect();
    let mut sorted = made.clone();
    sorted.sort_by_key(|prompt| std::cmp::Reverse(prompt.id));
    let ids =
        |prompts: Vec<SealedPrompt>| prompts.into_iter().map(|one| one.id).collect::<Vec<_>>();
    let all = PromptFilter::default();
    assert_eq!(
        ids(list(&store, &project, all.clone())),
        ids(sorted.clone())
    );
    let first = store.prompts(&project, all.clone(), 2).wait().unwrap();
    let next = PromptFilter {
        before: Some(first[1].id),
        ..all.clone()
    };
    assert_eq!(ids(list(&store, &project, next)), ids(sorted[2..].to_vec()));
    let none = PromptFilter {
        recipe: Some("run".to_owned()),
        ..all.clone()
    };
    assert_eq!(list(&store, &project, none), []);
    let some = PromptFilter {
        sources: Some(vec!["file:f1.md".to_owned(), "file:no".to_owned()]),
        ..all.clone()
    };
    let odd = sorted
        .iter()
        .filter(|one| [made[1].id, made[3].id].contains(&one.id));
    assert_eq!(
        ids(list(&store, &project, some)),
        odd.map(|one| one.id).collect::<Vec<_>>()
    );
    let late = PromptFilter {
        since: Some(sorted[0].sealed_at + 1),
        ..all.clone()
    };
    assert_eq!(list(&store, &project, late), []);
    let early = PromptFilter {
        until: Some(sorted[0].sealed_at + 1),
        ..all
    };
    assert_eq!(list(&store, &project, early).len(), 5);
    assert_eq!(
        store.sources(&project).wait().unwrap(),
        ["file:f0.md", "file:f1.md"]
    );
}

fn ids_may_be_cut_as_long_as_they_are_unique(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (one, _) = seal(&store, &project, "One.");
    assert_eq!(
        store
            .prompt(&project, &one.id.as_str()[..4])
            .wait()
            .unwrap()
            .id,
        one.id
    );
    assert_eq!(
        store
            .prompt(&project, &one.id.as_str().to_uppercase())
            .wait()
            .unwrap()
            .id,
        one.id
    );
    let (two, _) = seal(&store, &project, "Two.");
    let mut both = [one.id.to_string(), two.id.to_string()];
    both.sort();
    let error = store
        .prompt(&project, &one.id.as_str()[..1])
        .wait()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "more than one prompt begins with `{}`: `{}`, `{}`",
            &one.id.as_str()[..1],
            both[0],
            both[1]
        )
    );
    for unknown in ["", "zzzz", "no such", "1m7f7k112jmxnq0"] {
        let error = store.prompt(&project, unknown).wait().unwrap_err();
        assert_eq!(error.to_string(), format!("no prompt `{unknown}`"));
    }
}

fn texts_that_two_prompts_share_are_kept_once(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let shared: String = (0..200)
        .map(|n| (n * 7919 % 1000).to_string() + " ")
        .collect();
    for number in 0..20 {
        let task = format!("Task {number}.");
        let (_, seal) = composed(&[("shared.md", &shared), ("task.md", &task)]);
        store.seal(&project, seal).wait().unwrap();
    }
    let sections = "select count(*) from body b where exists (select 1 from prompt_body a where a.body = b.key and a.roles % 2 = 1)";
    // The shared one, the list of files, and twenty tasks.
    assert_eq!(place.count(sections), 22);
    let documents = place.count("select max(length(packed)) from document");
    assert!(
        documents < 250,
        "documents like others take {documents} bytes"
    );
    assert_eq!(findings(&store), []);
}

/// Makes a store with two prompts that share a text.
fn filled(place: &TestStore) -> Store {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let long = "Words that are long enough to be packed, over and over. ".repeat(40);
    for task in ["One.", "Two, which is another."] {
        let (_, seal) = composed(&[("long.md", &long), ("task.md", task)]);
        store.seal(&project, seal).wait().unwrap();
    }
    assert_eq!(findings(&store), []);
    store
}

fn every_flipped_byte_is_found_and_named(place: &TestStore) {
    let store = filled(place);
    let blobs = [
        ("body", "packed", "key"),
        ("document", "packed", "key"),
        ("prompt", "fingerprint", "key"),
        ("prompt", "seal", "key"),
        ("prompt", "mark", "key"),
    ];
    for (table, column, key) in blobs {
        for row in place.numbers(&format!("select {key} from {table}")) {
            let value = format!("select {column} from {table} where {key} = {row}");
            let original = place.bytes(&value);
            let set = |bytes: &[u8]| {
                let literal = place.literal(bytes);
                let sql = format!("update {table} set {column} = {literal} where {key} = {row}");
                assert_eq!(place.raw(&sql), 1);
            };
            for at in [0, original.len() / 2, original.len() - 1] {
                let mut flipped = original.clone();
                flipped[at] ^= 0x10;
                set(&flipped);
                let found = findings(&store);
                let named = |word: &str| found.iter().any(|one| one.what.contains(word));
                assert!(
                    named("prompt") || named("text") || named("index"),
                    "{value} at {at}: {found:?}"
                );
            }
            set(&original);
        }
    }
    assert_eq!(findings(&store), []);
}

fn every_changed_value_of_a_prompt_is_found(place: &TestStore) {
    let store = filled(place);
    let changes = [
        ("prompt", "recipe = 'pach'", "recipe = 'pack'"),
        (
            "prompt",
            "engine = engine || 'x'",
            "engine = replace(engine, 'x', '')",
        ),
        ("prompt", "bytes = bytes + 1", "bytes = bytes - 1"),
        ("prompt", "tokens = 7", "tokens = null"),
        (
            "prompt",
            "sealed_at = sealed_at + 1",
            "sealed_at = sealed_at - 1",
        ),
        ("prompt_body", "roles = 32 - roles", "roles = 32 - roles"),
        (
            "source",
            "name = name || 'x'",
            "name = replace(name, '.mdx', '.md')",
        ),
        (
            "prompt_body",
            "last = last + 99 where body = (select max(body) from prompt_body)",
            "last = last - 99 where body = (select max(body) from prompt_body)",
        ),
        (
            "prompt_source",
            "first = first + 1, last = last + 1",
            "first = first - 1, last = last - 1",
        ),
        ("series", "recipe = 'pach'", "recipe = 'pack'"),
        ("series", "last = 0", "last = (select max(key) from prompt)"),
        ("document", "bytes = bytes + 1", "bytes = bytes - 1"),
        ("body", "bytes = bytes + 1", "bytes = bytes - 1"),
    ];
    for (table, change, back) in changes {
        assert!(
            place.raw(&format!("update {table} set {change}")) > 0,
            "{change}"
        );
        assert!(!findings(&store).is_empty(), "{table}: {change}");
        place.raw(&format!("update {table} set {back}"));
        assert_eq!(findings(&store), [], "{table}: {back}");
    }
}

fn odd_texts_are_kept(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let big = "x".repeat(300_000);
    let files = [
        ("empty.md", ""),
        ("crlf.md", "a\r\nb\rc\n"),
        ("quote'\"%_.md", "' \" % _ \\ $1 ?1"),
        ("big.md", &big),
    ];
    let (composition, sealed) = composed(&files);
    let (prompt, _) = store.seal(&project, sealed).wait().unwrap();
    let back = store.sealed(&prompt).wait().unwrap();
    assert_eq!(back.text().unwrap(), composition.text);
    assert_eq!(findings(&store), []);
}

fn an_index_that_lost_its_contents_is_found(place: &TestStore) {
    let store = filled(place);
    let last = "where key = (select max(key) from passage)";
    let removed = place.raw(&format!("delete from passage {last}"));
    assert_eq!(removed, 1);
    let found: Vec<String> = findings(&store).into_iter().map(|one| one.detail).collect();
    assert_eq!(found, ["1 missing; `callsheet reindex` makes them anew"]);
}

fn the_same_prompt_may_be_sealed_at_the_same_time(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let (_, sealed) = composed(&[("a.md", "The same for all.")]);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (store, project, seal) = (place.open(), project.clone(), sealed.clone());
            std::thread::spawn(move || store.seal(&project, seal).wait().unwrap())
        })
        .collect();
    let all: Vec<_> = threads.into_iter().map(|one| one.join().unwrap()).collect();
    assert!(all.iter().all(|(prompt, _)| prompt.id == all[0].0.id));
    assert_eq!(all.iter().filter(|(_, new)| *new).count(), 1);
    assert_eq!(findings(&store), []);
}

fn a_prompt_belongs_to_its_project(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    store.project("other").wait().unwrap();
    let (prompt, _) = seal(&store, &project, "Mine.");
    place.raw("update prompt set project = (select key from project where name = 'other')");
    let found = findings(&store);
    assert_eq!(found[0].what, format!("prompt {}", prompt.id));
    assert_eq!(found[0].detail, "its row is not what was sealed");
}
