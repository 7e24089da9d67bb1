//! Branches of tasks: the last one comes back byte for byte.

use callsheet_store::{Branch, Wait};
use serde_json::{Value, json};

use crate::on_both;
use crate::tasks;
use crate::test_store::{TestStore, findings};

on_both!(
    a_branch_replaces_the_one_before,
    a_branch_has_a_largest_size
);

/// Returns bytes that do not pack.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    (0..count).map(|_| byte()).collect()
}

fn a_branch_replaces_the_one_before(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let other = store.project("other").wait().unwrap();
    let [task, bare] = ["a", "b"].map(|title| tasks::add(&store, &project, title, &[]));
    assert_eq!(store.branch(&project, task).wait(), Ok(None));
    assert_eq!(store.branch_at(&project, task).wait(), Ok(None));

    let large = noise(5 << 20);
    for (refs, bundle) in [
        (json!({"a": "1"}), large),
        (json!(["b\u{0}"]), vec![]),
        (json!(null), noise(9)),
    ] {
        let seen = store.branch_at(&project, task).wait().unwrap();
        let late = seen.map_or(Some(1), |_| None);
        let put = |seen| store.put_branch(&project, task, seen, (&refs, bundle.clone()));
        assert_eq!(put(late).wait(), Ok(false));
        assert_eq!(store.branch_at(&project, task).wait(), Ok(seen));
        assert_eq!(put(seen).wait(), Ok(true));
        let found = store.branch(&project, task).wait().unwrap().unwrap();
        let at = store.branch_at(&project, task).wait().unwrap();
        assert_eq!(at, Some(found.at));
        assert_eq!(
            found,
            Branch {
                at: found.at,
                refs,
                bundle
            }
        );
        assert_eq!(findings(&store), []);
    }
    assert_eq!(place.count("select count(*) from branch"), 1);
    assert_eq!(store.branch(&project, bare).wait(), Ok(None));
    let unknown = Err(format!("no task `{task}`"));
    let said = |error: callsheet_store::StoreError| error.to_string();
    let put = store.put_branch(&other, task, None, (&Value::Null, vec![]));
    assert_eq!(put.wait().map_err(said), unknown.clone().map(|()| true));
    assert_eq!(
        store.branch(&other, task).wait().map_err(said),
        unknown.clone().map(|()| None)
    );
    assert_eq!(
        store.branch_at(&other, task).wait().map_err(said),
        unknown.map(|()| None)
    );
    let verified = store.verify(|_| ()).wait().unwrap();
    assert_eq!(verified.checked["branches"], 1);
}

fn a_branch_has_a_largest_size(place: &TestStore) {
    let store = place.open();
    let project = store.project("demo").wait().unwrap();
    let task = tasks::add(&store, &project, "a", &[]);
    // Memory that nobody touches costs nothing.
    let bundle = vec![0; (256 << 20) + 1];
    let put = store.put_branch(&project, task, None, (&Value::Null, bundle));
    assert_eq!(
        put.wait().unwrap_err().to_string(),
        format!(
            "the branch of task `{task}` has 268435457 bytes; the store keeps at most 268435456"
        )
    );
    assert_eq!(store.branch_at(&project, task).wait(), Ok(None));
}
