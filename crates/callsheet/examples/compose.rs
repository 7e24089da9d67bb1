//! A prompt from a built-in recipe and an input, within a budget.
//!
//! `cargo run -p callsheet --example compose` prints what is below: the prompt, and what did not fit.

use std::error::Error;
use std::io::Write as _;

use callsheet::{Budget, Inputs, Options, Root, compose, recipe};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    std::io::stdout().write_all(run()?.as_bytes())?;
    Ok(())
}

/// Packs a small folder and returns what there is to see.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("a.txt"), "First.\n")?;
    std::fs::write(folder.path().join("b.txt"), "Second. ".repeat(40))?;

    // Files are read below this root and nowhere else.
    let inputs = Inputs::new(Root::open(folder.path())?);
    let pack = recipe::built_in("pack").ok_or("there is one")??;
    let options = Options {
        budget: Budget {
            bytes: Some(100),
            tokens: None,
        },
        ..Options::default()
    };
    let composition = compose(pack, &json!({"globs": ["*.txt"]}), &inputs, &options)?;

    let mut out = composition.text.clone();
    for lost in composition.manifest.losses() {
        out.push_str(&format!("-- {}\n", lost.sentence()));
    }
    out.push_str(&format!("-- {} bytes\n", composition.manifest.bytes));
    Ok(out)
}
