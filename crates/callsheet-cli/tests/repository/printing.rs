//! One module prints, and makes what it prints fit for a terminal.

use crate::assert_none;
use crate::tree::{self, File, word_at};

const PROGRAM: &str = "crates/callsheet-cli/src/";

/// The module that prints, and the stand-in for an agent, whose streams nobody's terminal is behind.
const PRINTERS: [&str; 3] = ["output.rs", "output/", "commands/play.rs"];

/// What prints.
const PRINTING: [&str; 6] = [
    "stdout()",
    "stderr()",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
];

/// Returns every other place that prints.
fn complaints<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        let Some(rest) = file.path.strip_prefix(PROGRAM) else {
            continue;
        };
        if file.is_test() || PRINTERS.iter().any(|printer| rest.starts_with(printer)) {
            continue;
        }
        for (number, line) in file.product_lines() {
            let prints = |word: &&&str| word_at(line, word).is_some();
            let found = PRINTING.iter().find(prints);
            complaints.extend(found.map(|word| {
                format!(
                    "{}:{number}: `{word}` prints what nobody made fit for a terminal",
                    file.path
                )
            }));
        }
    }
    complaints
}

#[test]
fn one_module_prints() {
    assert_none(&complaints(&tree::files()));
}

#[test]
fn a_print_is_named_with_its_place() {
    let file = |name: &str, text| File::new(&format!("{PROGRAM}{name}"), text);
    let files = [
        file("a.rs", "fn f() {}\nwriteln!(io::stderr(), \"x\");\n"),
        file("output/b.rs", "println!(\"x\");\n"),
    ];
    assert_eq!(
        complaints(&files),
        ["crates/callsheet-cli/src/a.rs:2: `stderr()` prints what nobody made fit for a terminal"]
    );
}
