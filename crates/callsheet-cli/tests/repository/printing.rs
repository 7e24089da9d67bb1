//! One module prints, and makes what it prints fit for a terminal.

use crate::assert_none;
use crate::tree::{self, File, word_at};

/// The module that prints, and the stand-in for an agent, whose streams nobody's terminal is behind.
const PRINTERS: [&str; 3] = [
    "crates/callsheet-cli/src/output.rs",
    "crates/callsheet-cli/src/output/",
    "crates/callsheet-cli/src/commands/play.rs",
];

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
        let is_product = file.path.starts_with("crates/") && file.path.contains("/src/");
        if !is_product
            || file.is_test()
            || PRINTERS
                .iter()
                .any(|printer| file.path.starts_with(printer))
        {
            continue;
        }
        for (number, line) in file.product_lines() {
            // A stream of a child is taken by a method of this name.
            let prints =
                |word: &&&str| word_at(line, word).is_some_and(|at| !line[..at].ends_with('.'));
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
    let files = [
        File::new(
            "crates/callsheet-server/src/a.rs",
            "child.stderr();\nwriteln!(io::stderr(), \"x\");\n",
        ),
        File::new("crates/callsheet-cli/src/output/b.rs", "println!(\"x\");\n"),
    ];
    assert_eq!(
        complaints(&files),
        [
            "crates/callsheet-server/src/a.rs:2: `stderr()` prints what nobody made fit for a terminal"
        ]
    );
}
