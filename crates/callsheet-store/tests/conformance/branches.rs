//! Branches of tasks: the last one comes back byte for byte.

use callsheet_store::{Branch, block_on};
use serde_json::{Value, json};

use crate::on_both;
use crate::place::{Place, findings};
use crate::tasks;

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

fn a_branch_replaces_the_one_before(place: &Place) {
    let store = place.open();
    let project = block_on(store.project("demo")).unwrap();
    let other = block_on(store.project("other")).unwrap();
    let [task, bare] = ["a", "b"].map(|title| tasks::add(&store, &project, title, &[]));
    assert_eq!(block_on(store.branch(&project, task)), Ok(None));
    assert_eq!(block_on(store.branch_at(&project, task)), Ok(None));

    let large = noise(5 << 20);
    for (refs, bundle) in [
        (json!({"a": "1"}), large),
        (json!(["b\u{0}"]), vec![]),
        (json!(null), noise(9)),
    ] {
        let seen = block_on(store.branch_at(&project, task)).unwrap();
        let late = seen.map_or(Some(1), |_| None);
        let put = |seen| store.put_branch(&project, task, seen, (&refs, bundle.clone()));
        assert_eq!(block_on(put(late)), Ok(false));
        assert_eq!(block_on(store.branch_at(&project, task)), Ok(seen));
        assert_eq!(block_on(put(seen)), Ok(true));
        let found = block_on(store.branch(&project, task)).unwrap().unwrap();
        let at = block_on(store.branch_at(&project, task)).unwrap();
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
    assert_eq!(block_on(store.branch(&project, bare)), Ok(None));
    let unknown = Err(format!("no task `{task}`"));
    let said = |error: callsheet_store::StoreError| error.to_string();
    let put = store.put_branch(&other, task, None, (&Value::Null, vec![]));
    assert_eq!(block_on(put).map_err(said), unknown.clone().map(|()| true));
    assert_eq!(
        block_on(store.branch(&other, task)).map_err(said),
        unknown.clone().map(|()| None)
    );
    assert_eq!(
        block_on(store.branch_at(&other, task)).map_err(said),
        unknown.map(|()| None)
    );
    let verified = block_on(store.verify(|_| ())).unwrap();
    assert_eq!(verified.checked["branches"], 1);
}

fn a_branch_has_a_largest_size(place: &Place) {
    let store = place.open();
    let project = block_on(store.project("demo")).unwrap();
    let task = tasks::add(&store, &project, "a", &[]);
    // Memory that nobody touches costs nothing.
    let bundle = vec![0; (256 << 20) + 1];
    let put = store.put_branch(&project, task, None, (&Value::Null, bundle));
    assert_eq!(
        block_on(put).unwrap_err().to_string(),
        format!(
            "the branch of task `{task}` has 268435457 bytes; the store keeps at most 268435456"
        )
    );
    assert_eq!(block_on(store.branch_at(&project, task)), Ok(None));
}
