//! The pictures of the README: `scripts/screenshots` makes them anew.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot write its files has nothing to test"
)]

use std::path::PathBuf;

use crate::stage::Stage;

/// How large a picture may be, in bytes.
const MOST: u64 = 120_000;

#[test]
fn the_pictures_of_the_readme_are_small() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("docs/images");
    if std::env::var_os("UPDATE_IMAGES").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        make(&folder.to_string_lossy());
    }
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    for name in ["attention.png", "prompt.png"] {
        let size = std::fs::metadata(folder.join(name)).unwrap().len();
        assert!(size < MOST, "{name}: {size} bytes");
        assert!(readme.contains(&format!("docs/images/{name}")));
    }
}

fn make(folder: &str) {
    let stage = Stage::set();
    let mut page = stage.page().unwrap();
    page.size(1180, 660);
    page.media(&[("prefers-color-scheme", "light")]);
    page.goto("/");
    page.picture(&format!("{folder}/attention.png"));
    // The longest talk was about the second try of a story, which was told what the first one did.
    let runs = stage.document(&["runs", "-n", "100"]);
    let runs = runs["runs"].as_array().unwrap().iter();
    let told = runs.filter(|run| run["runner"] == "demo");
    let told = told.max_by_key(|run| run["usage"]["input_tokens"].as_u64());
    page.media(&[("prefers-color-scheme", "dark")]);
    page.goto(&format!(
        "/prompts/{}",
        told.unwrap()["prompt"].as_str().unwrap()
    ));
    // The command line names folders of whoever makes the picture.
    page.eval(
        "for (const part of document.querySelectorAll('main section')) {
            if (part.querySelector('h2')?.textContent === 'Command line') part.remove();
        }",
    );
    page.picture(&format!("{folder}/prompt.png"));
    page.close();
}
