//! The documents of prompts: kept as what differs from others, and never taken for what they are not.

use callsheet::Seal;
use callsheet_store::{Keep, SealedPrompt, Store, StoreError, Wait};

use crate::on_both;
use crate::prompts::composed;
use crate::test_store::{TestStore, findings};

on_both!(
    documents_that_drift_are_kept_as_differences,
    prompts_of_two_kinds_by_turns_take_little,
    documents_that_are_not_in_order_are_named,
);

/// Seals prompts with the same files, of which one more is another each time.
fn drift(place: &TestStore, count: usize) -> (Store, Vec<(SealedPrompt, Seal)>) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let names: Vec<String> = (0..12).map(|n| format!("file{n}.md")).collect();
    let mut texts = vec!["As it was.".to_owned(); names.len()];
    let sealed = (0..count).map(|number| {
        texts[number % names.len()] = format!("As of {number}.");
        let files = names
            .iter()
            .zip(&texts)
            .map(|(name, text)| (&**name, &**text));
        let (_, seal) = composed(&files.collect::<Vec<_>>());
        (store.seal(&project, seal.clone()).wait().unwrap().0, seal)
    });
    let sealed = sealed.collect();
    (store, sealed)
}

fn documents_that_drift_are_kept_as_differences(place: &TestStore) {
    let (store, mut sealed) = drift(place, 20);
    let bases = "select count(distinct b.key) from document d join body b on b.key = d.base where b.base is";
    assert!(place.count(&format!("{bases} not null")) > 0);
    assert!(place.count(&format!("{bases} null")) < 5);
    for (prompt, seal) in &sealed {
        assert_eq!(store.sealed(prompt).wait().as_ref(), Ok(seal));
    }
    assert_eq!(findings(&store), []);
    let project = store.project("demo").wait().unwrap();
    let two = Keep {
        newest: Some(2),
        since: None,
    };
    store.collect(&project, two).wait().unwrap();
    sealed.sort_by_key(|(prompt, _)| prompt.id);
    for (prompt, seal) in &sealed[18..] {
        assert_eq!(store.sealed(prompt).wait().as_ref(), Ok(seal));
    }
    assert_eq!(findings(&store), []);
}

fn prompts_of_two_kinds_by_turns_take_little(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    for number in 0..20 {
        let kind = number % 2;
        let names: Vec<String> = (0..9).map(|n| format!("{}/{n}.md", n * n + kind)).collect();
        let task = format!("Task {number}.");
        let text = |name: &String| format!("{name} is about {}.", name.len() * (kind + 3));
        let texts: Vec<String> = names.iter().map(text).collect();
        let mut files = vec![("task.md", task.as_str())];
        files.extend(
            names
                .iter()
                .map(String::as_str)
                .zip(texts.iter().map(String::as_str)),
        );
        let (_, seal) = composed(&files);
        store.seal(&project, seal).wait().unwrap();
    }
    assert_eq!(place.count("select count(distinct base) from document"), 2);
    assert_eq!(findings(&store), []);
}

fn documents_that_are_not_in_order_are_named(place: &TestStore) {
    let (store, sealed) = drift(place, 2);
    let (prompt, seal) = &sealed[1];
    let id = prompt.id;
    let key = place.count(&format!("select key from prompt where id = '{id}'"));
    let detail = |why: &str| {
        let found = findings(&store);
        let named = found.iter().find(|one| one.what == format!("prompt {id}"));
        assert_eq!(named.map(|one| one.detail.as_str()), Some(why));
        let read = store.sealed(prompt).wait().unwrap_err();
        assert!(
            matches!(&read, StoreError::Damaged { why: found, .. } if found == why),
            "{read}"
        );
    };
    let set = |unit: &[u8]| {
        let raw = place.literal(&[&[0], unit].concat());
        let size = unit.len();
        let sql = format!("update document set bytes = {size}, packed = {raw} where key = {key}");
        assert_eq!(place.raw(&sql), 1);
    };
    let unit = |change: &dyn Fn(&mut [Vec<u8>; 4])| {
        let mut documents = seal.documents.clone().map(String::into_bytes);
        change(&mut documents);
        documents.join(&0xff)
    };
    set(&unit(&|_| ()));
    assert_eq!(findings(&store), [], "it may be kept in another way");
    set(b"");
    detail("its documents: they are 1 and not 4");
    set(&unit(&|documents| documents[1].push(0xff)));
    detail("its documents: they are 5 and not 4");
    set(&unit(&|documents| documents[3][7] = 0xc3));
    detail("inputs: it is not UTF-8");
    set(&unit(&|documents| documents[2].truncate(9)));
    detail("layout: it is not JSON: EOF while parsing an object at line 1 column 9");
    set(&unit(&|documents| documents.swap(0, 1)));
    detail("its documents are not what was sealed");
    place.raw(&format!(
        "update document set packed = {} where key = {key}",
        place.literal(&[9])
    ));
    detail("its documents: it is packed in an unknown way");
    let base = place.count(&format!("select base from document where key = {key}"));
    place.raw(&format!(
        "update body set packed = {} where key = {base}",
        place.literal(&[9])
    ));
    detail(&format!(
        "its documents: text number {base}: it is packed in an unknown way"
    ));
    place.raw(&format!("delete from document where key = {key}"));
    detail("its documents are not there");
}
