//! Arrows between the crates point one way, and each crate keeps away from what is not its business.

use std::process::Command;

use serde_json::Value;

use crate::assert_none;
use crate::tree::{files, root, word_at};

/// A crate, and those of ours that it may use.
const LAYERS: [(&str, &[&str]); 6] = [
    ("callsheet", &[]),
    ("callsheet-store", &["callsheet"]),
    ("callsheet-run", &["callsheet", "callsheet-store"]),
    (
        "callsheet-server",
        &["callsheet", "callsheet-store", "callsheet-run"],
    ),
    (
        "callsheet-cli",
        &[
            "callsheet",
            "callsheet-store",
            "callsheet-run",
            "callsheet-server",
        ],
    ),
    ("callsheet-py", &["callsheet"]),
];

const ASYNC: &[&str] = &["async-std", "futures", "smol", "tokio", "tokio-util"];
const SQL: &[&str] = &[
    "deadpool-postgres",
    "libsql",
    "postgres",
    "rusqlite",
    "sqlx",
    "tokio-postgres",
];
const HTTP_CLIENT: &[&str] = &["hyper", "reqwest", "ureq"];
const HTTP_PAGES: &[&str] = &["axum", "rust-embed", "tower-http", "utoipa", "utoipa-axum"];
const PROCESSES: &[&str] = &["command-group", "process-wrap"];
const CLOCK: &[&str] = &["chrono", "jiff", "time"];
const CHANCE: &[&str] = &["fastrand", "getrandom", "rand", "uuid"];
const HOME: &[&str] = &["directories", "dirs", "etcetera", "home", "tempfile"];
const TERMINAL: &[&str] = &[
    "anstream",
    "anstyle",
    "clap",
    "clap_complete",
    "crossterm",
    "indicatif",
];
/// Where it is allowed at all, nobody has to compile it who does not ask for it.
const TELEMETRY: &[&str] = &["opentelemetry", "opentelemetry-otlp", "opentelemetry_sdk"];
const ONE_ERROR_TYPE_PER_CRATE: &[&str] = &["anyhow", "color-eyre", "eyre"];

/// Returns what the product code of a crate must not depend on; its tests may.
fn banned(krate: &str) -> Vec<&'static str> {
    let groups: &[&[&str]] = match krate {
        "callsheet" => &[
            ASYNC,
            SQL,
            HTTP_CLIENT,
            HTTP_PAGES,
            PROCESSES,
            CLOCK,
            CHANCE,
            HOME,
            TERMINAL,
            TELEMETRY,
        ],
        "callsheet-store" => &[HTTP_CLIENT, HTTP_PAGES, PROCESSES, TERMINAL, TELEMETRY],
        "callsheet-run" => &[HTTP_PAGES, TERMINAL],
        "callsheet-server" => &[SQL, PROCESSES, TERMINAL],
        "callsheet-cli" => &[SQL, PROCESSES, TELEMETRY],
        "callsheet-py" => &[
            ASYNC,
            SQL,
            HTTP_CLIENT,
            HTTP_PAGES,
            PROCESSES,
            HOME,
            TERMINAL,
            TELEMETRY,
        ],
        _ => &[],
    };
    let mut names = groups.concat();
    names.extend(ONE_ERROR_TYPE_PER_CRATE);
    names
}

/// Returns what is wrong in the answer of `cargo metadata --no-deps`.
fn complaints(metadata: &Value) -> Vec<String> {
    let ours = |name: &str| LAYERS.iter().find(|(krate, _)| *krate == name);
    let mut complaints = Vec::new();
    for package in list(&metadata["packages"]) {
        let krate = text(&package["name"]);
        let Some((_, allowed)) = ours(krate) else {
            complaints.push(format!("{krate} has no place in LAYERS"));
            continue;
        };
        let banned = banned(krate);
        for dependency in list(&package["dependencies"]) {
            let name = text(&dependency["name"]);
            let in_product = text(&dependency["kind"]) != "dev";
            let points_up = ours(name).is_some() && !allowed.contains(&name);
            if points_up || (in_product && banned.contains(&name)) {
                complaints.push(format!("{krate} must not use {name}"));
            } else if TELEMETRY.contains(&name) && dependency["optional"] != true {
                complaints.push(format!("{krate} must use {name} behind a feature"));
            }
        }
    }
    complaints
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn crates_use_only_what_is_below_them() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!list(&metadata["packages"]).is_empty());
    assert_none(&complaints(&metadata));
}

#[test]
fn a_wrong_arrow_is_named() {
    let metadata = serde_json::json!({"packages": [
        {"name": "callsheet", "dependencies": [
            {"name": "serde", "kind": null},
            {"name": "tokio", "kind": null},
            {"name": "dirs", "kind": "build"},
            {"name": "tempfile", "kind": "dev"},
        ]},
        {"name": "callsheet-store", "dependencies": [
            {"name": "callsheet", "kind": null},
            {"name": "rusqlite", "kind": null},
            {"name": "callsheet-run", "kind": "dev"},
            {"name": "opentelemetry", "kind": null, "optional": true},
        ]},
        {"name": "callsheet-run", "dependencies": [
            {"name": "opentelemetry", "kind": null, "optional": true},
            {"name": "opentelemetry-otlp", "kind": null, "optional": false},
        ]},
        {"name": "callsheet-utils", "dependencies": []},
    ]});
    assert_eq!(
        complaints(&metadata),
        [
            "callsheet must not use tokio",
            "callsheet must not use dirs",
            "callsheet-store must not use callsheet-run",
            "callsheet-store must not use opentelemetry",
            "callsheet-run must use opentelemetry-otlp behind a feature",
            "callsheet-utils has no place in LAYERS",
        ]
    );
}

/// What finds texts and what keeps prompts are apart; both use `passage.rs` and `locks.rs`.
#[test]
fn search_and_prompt_do_not_use_each_other() {
    let files = files();
    let uses = |module: &str, other: &str| {
        let folder = format!("crates/callsheet-store/src/{module}/");
        let within = files.iter().filter(|file| file.path.starts_with(&folder));
        assert!(within.clone().count() > 3, "{folder}");
        let statements = within.flat_map(|file| file.text.split(';'));
        let imports = statements.filter_map(|one| Some(one.split_once("use crate::")?.1));
        let imports = imports.filter(|one| word_at(one, other).is_some());
        imports
            .map(|one| format!("{folder} must not use {one}"))
            .collect::<Vec<_>>()
    };
    assert_none(&uses("search", "prompt"));
    assert_none(&uses("prompt", "search"));
}
