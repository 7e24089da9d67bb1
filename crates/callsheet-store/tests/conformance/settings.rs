//! Settings: one value per name and project.

use callsheet_store::block_on;
use serde_json::json;

use crate::on_both;
use crate::place::{Place, findings};

on_both!(
    settings_are_kept_per_project,
    a_setting_is_changed_with_nobody_in_between,
);

fn settings_are_kept_per_project(place: &Place) {
    let store = place.open();
    let one = block_on(store.project("one")).unwrap();
    let two = block_on(store.project("two")).unwrap();
    let name = "scope.defaultExclude";
    let get = |project| block_on(store.setting(project, name)).unwrap();
    assert_eq!(get(&one), None);
    for value in [
        json!(["a/**"]),
        json!({"b": [1.5, null, "ü\0"]}),
        json!(null),
    ] {
        block_on(store.set_setting(&one, name, &value)).unwrap();
        assert_eq!(get(&one), Some(value));
    }
    assert_eq!(get(&two), None);
    block_on(store.set_setting(&one, "dod.requiredChecks", &json!([]))).unwrap();
    assert_eq!(
        block_on(store.settings(&one)).unwrap(),
        [
            ("dod.requiredChecks".to_owned(), json!([])),
            (name.to_owned(), json!(null)),
        ]
    );
    assert_eq!(block_on(store.settings(&two)).unwrap(), []);
    let refused = block_on(store.set_setting(&one, "Scope", &json!(1))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`Scope` is no name of a setting; one reads like `scope.defaultExclude`"
    );
    assert_eq!(findings(&store), []);
}

fn a_setting_is_changed_with_nobody_in_between(place: &Place) {
    let store = place.open();
    let project = block_on(store.project("one")).unwrap();
    let name = "accounts.standing";
    let count = |value: Option<serde_json::Value>| {
        let before = value.and_then(|value| value.as_i64()).unwrap_or(0);
        Some(json!(before + 1))
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    block_on(store.change_setting(&project, name, count)).unwrap();
                }
            });
        }
    });
    block_on(store.change_setting(&project, name, |_| None)).unwrap();
    assert_eq!(
        block_on(store.setting(&project, name)).unwrap(),
        Some(json!(40))
    );
    assert_eq!(findings(&store), []);
}
