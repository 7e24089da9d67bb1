//! A sealed prompt: proven, and composed again without its project and without a store.
//!
//! `cargo run -p callsheet --example seal` prints what the seal says before and after a byte of it was changed.

use std::error::Error;
use std::io::Write as _;

use callsheet::inputs::Disk;
use callsheet::{Inputs, Options, Seal, compose, recipe};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    std::io::stdout().write_all(run()?.as_bytes())?;
    Ok(())
}

/// Seals a prompt, takes its project away and returns what the seal still knows.
pub(crate) fn run() -> Result<String, Box<dyn Error>> {
    let project = tempfile::tempdir()?;
    std::fs::write(project.path().join("hello.txt"), "Hello.\n")?;
    // A disk that is watched remembers what it was asked, so that nobody has to ask it again.
    let inputs = Inputs::new(Disk::watched().open(project.path())?);
    let pack = recipe::built_in("pack").ok_or("there is one")??;
    let (input, options) = (json!({"format": "markdown"}), Options::default());
    let composition = compose(pack, &input, &inputs, &options)?;
    let mut seal = Seal::of(&composition, pack, &input, &inputs, &options)?;
    drop(project);

    let replay = seal.replay()?;
    let mut out = format!(
        "the same text: {}\nfaults: {}\ndifferences when composed again: {}\nfiles that were read: {:?}\n",
        seal.text()? == composition.text,
        seal.check().len(),
        replay.differences.len(),
        seal.inputs()?.files(),
    );
    // Whoever changes a byte is found out, and told which one.
    for body in seal.bodies.values_mut() {
        if &**body == b"Hello.\n" {
            *body = b"Hullo.\n".as_slice().into();
        }
    }
    for fault in seal.check() {
        out.push_str(&format!("after a change: {fault}\n"));
    }
    Ok(out)
}
