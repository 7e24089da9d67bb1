//! Bundles: from one store into another, whole or not at all.

use callsheet_store::{Bundle, Bundled, Wait};

use crate::on_both;
use crate::prompts::composed;
use crate::test_store::{TestStore, findings};

on_both!(
    a_bundle_goes_from_store_to_store_once,
    a_bundle_of_a_late_time_is_like_others,
);

fn bundle() -> Bundle {
    bundle_of([1_700_000_000_000, 1_700_000_000_001])
}

fn bundle_of(times: [i64; 2]) -> Bundle {
    let sealed = ["One.", "Two."].map(|text| composed(&[("task.md", text), ("same.md", "same")]).1);
    let prompts = sealed.into_iter().zip(times);
    Bundle {
        redacted: false,
        prompts: prompts.map(|(seal, at)| Bundled::new(at, seal)).collect(),
        runs: Vec::new(),
    }
}

fn written(bundle: &Bundle) -> Vec<u8> {
    let mut bytes = Vec::new();
    bundle.write(&mut bytes).unwrap();
    bytes
}

fn a_bundle_goes_from_store_to_store_once(place: &TestStore) {
    goes_from_store_to_store(place, &bundle());
}

/// Ids tell times up to the year 3084; clocks may be later.
fn a_bundle_of_a_late_time_is_like_others(place: &TestStore) {
    let year_3084 = 1 << 45;
    goes_from_store_to_store(place, &bundle_of([year_3084, i64::MAX]));
}

fn goes_from_store_to_store(place: &TestStore, bundle: &Bundle) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let bytes = written(bundle);
    assert_eq!(
        written(bundle),
        bytes,
        "the same prompts give the same bytes"
    );
    let read = Bundle::read("x", bytes.as_slice()).unwrap();
    assert_eq!(read, *bundle);
    let imported = store.import(&project, read.clone()).wait().unwrap();
    assert!(imported.iter().all(|(_, new)| *new));
    for (bundled, (prompt, _)) in bundle.prompts.iter().zip(&imported) {
        assert_eq!(
            (prompt.id, prompt.sealed_at),
            (bundled.id, bundled.sealed_at)
        );
        assert_eq!(store.sealed(prompt).wait().as_ref(), Ok(&bundled.seal));
    }
    let again = store.import(&project, read).wait().unwrap();
    assert!(again.iter().all(|(_, new)| !*new));
    assert_eq!(findings(&store), []);
}

#[test]
fn no_byte_of_a_bundle_can_be_changed() {
    let bundle = bundle();
    let bytes = written(&bundle);
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        let read = Bundle::read("x", other.as_slice());
        // A few bits of the container say nothing; the contents are the same then.
        assert!(read.is_err() || read.as_ref() == Ok(&bundle), "byte {at}");
    }
    for end in (0..bytes.len()).step_by(7) {
        assert!(Bundle::read("x", &bytes[..end]).is_err(), "{end} bytes");
    }
}

#[test]
fn nothing_may_follow_a_bundle() {
    let bytes = written(&bundle());
    for more in [&bytes[..], b"x", b"\x50\x2a\x4d\x18\x00\x00\x00\x00"] {
        let both = [&bytes[..], more].concat();
        let error = Bundle::read("x", both.as_slice()).unwrap_err();
        assert_eq!(error.to_string(), "x: something follows the archive");
    }
}
