//! Settings: one value per name and project.

use callsheet_store::Wait;
use serde_json::json;

use crate::on_both;
use crate::test_store::{TestStore, findings};

on_both!(
    settings_are_kept_per_project,
    a_setting_is_changed_with_nobody_in_between,
);

fn settings_are_kept_per_project(place: &TestStore) {
    let store = place.open();
    let one = store.project("one").wait().unwrap();
    let two = store.project("two").wait().unwrap();
    let name = "scope.defaultExclude";
    let get = |project| store.setting(project, name).wait().unwrap();
    assert_eq!(get(&one), None);
    for value in [
        json!(["a/**"]),
        json!({"b": [1.5, null, "ü\0"]}),
        json!(null),
    ] {
        store.set_setting(&one, name, &value).wait().unwrap();
        assert_eq!(get(&one), Some(value));
    }
    assert_eq!(get(&two), None);
    store
        .set_setting(&one, "dod.requiredChecks", &json!([]))
        .wait()
        .unwrap();
    assert_eq!(
        store.settings(&one).wait().unwrap(),
        [
            ("dod.requiredChecks".to_owned(), json!([])),
            (name.to_owned(), json!(null)),
        ]
    );
    assert_eq!(store.settings(&two).wait().unwrap(), []);
    let refused = store
        .set_setting(&one, "Scope", &json!(1))
        .wait()
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`Scope` is not a valid name of a setting; one reads like `scope.defaultExclude`"
    );
    assert_eq!(findings(&store), []);
}

fn a_setting_is_changed_with_nobody_in_between(place: &TestStore) {
    let store = place.open();
    let project = store.project("one").wait().unwrap();
    let name = "accounts.standing";
    let count = |value: Option<serde_json::Value>| {
        let before = value.and_then(|value| value.as_i64()).unwrap_or(0);
        Some(json!(before + 1))
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    store.change_setting(&project, name, count).wait().unwrap();
                }
            });
        }
    });
    store
        .change_setting(&project, name, |_| None)
        .wait()
        .unwrap();
    assert_eq!(
        store.setting(&project, name).wait().unwrap(),
        Some(json!(40))
    );
    assert_eq!(findings(&store), []);
}
