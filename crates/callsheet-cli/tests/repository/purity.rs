//! The library decides and never looks around: one module of it reads the disk, none the clock or the environment.

use crate::assert_none;
use crate::tree::{self, File, word_at};

const LIBRARY: &str = "crates/callsheet/src/";

/// The one module of the library that reads the disk.
const READER: &str = "crates/callsheet/src/inputs/resolve";

/// What reads or changes the disk.
const DISK: &[&str] = &[
    "std::fs",
    "std::os",
    "rustix::",
    "File::open",
    "WalkBuilder",
    "ignore::Walk",
    ".canonicalize()",
    ".exists()",
    ".read_dir()",
    ".symlink_metadata()",
    ".try_exists()",
];

/// What makes the same input give other bytes, and what acts on the world.
const WORLD: &[&str] = &[
    "std::env",
    "std::net",
    "std::process",
    "std::time",
    "SystemTime",
    "Instant",
    "HashMap",
    "HashSet",
    "RandomState",
];

/// Returns every use of the world in the product code of the library, with its place.
fn complaints<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        if !file.path.starts_with(LIBRARY) || file.is_test() {
            continue;
        }
        let rest = file.path.strip_prefix(READER);
        let reads = rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'));
        let mut in_std = false;
        for (number, line) in file.product_lines() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            in_std |= line.contains("use std::{");
            let code = if in_std {
                spelled_out(line)
            } else {
                line.to_owned()
            };
            in_std &= !line.contains("};");
            let disk = DISK.iter().filter(|_| !reads);
            complaints.extend(
                disk.chain(WORLD)
                    .filter(|word| word_at(&code, word).is_some())
                    .map(|word| {
                        format!("{}:{number}: `{word}` is outside of the library", file.path)
                    }),
            );
        }
    }
    complaints
}

/// Returns a line of `use std::{…}` with each of its names as a path of its own.
fn spelled_out(line: &str) -> String {
    let names = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    let paths: Vec<String> = names.map(|name| format!("std::{name} {name}")).collect();
    paths.join(" ")
}

#[test]
fn the_library_does_not_look_around() {
    assert_none(&complaints(&tree::files()));
}

#[test]
fn a_look_around_is_named_with_its_place() {
    let file = |name: &str, text| File::new(&format!("{LIBRARY}{name}"), text);
    let files = [
        file(
            "a.rs",
            "//! Never `std::env`.\nuse std::fs;\nlet at = Instant::now();\n",
        ),
        file(
            "b.rs",
            "use std::{\n    collections::HashMap,\n    env,\n};\nlet env = 1;\n",
        ),
        file(
            "c.rs",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n",
        ),
        file("c/tests.rs", "use std::fs;\n"),
        file(
            "inputs/resolve.rs",
            "use rustix::fs;\nuse std::time::SystemTime;\n",
        ),
        File::new("crates/callsheet-cli/src/main.rs", "use std::env;\n"),
    ];
    let complaints = complaints(&files);
    assert_eq!(
        complaints,
        [
            "crates/callsheet/src/a.rs:2: `std::fs` is outside of the library",
            "crates/callsheet/src/a.rs:3: `Instant` is outside of the library",
            "crates/callsheet/src/b.rs:2: `HashMap` is outside of the library",
            "crates/callsheet/src/b.rs:3: `std::env` is outside of the library",
            "crates/callsheet/src/inputs/resolve.rs:2: `std::time` is outside of the library",
            "crates/callsheet/src/inputs/resolve.rs:2: `SystemTime` is outside of the library",
        ]
    );
}
