//! Codex: `codex exec --json`, with the system text as a profile in a state folder of the run's own.
//!
//! In the user's own state folder nothing is written, so a system text without a state folder of the run's own is refused:
//! the only other way is an argument, and texts are never arguments.

mod reader;

use std::path::{Path, PathBuf};

pub use reader::CodexReader;

use super::draft::{draft, file, needs_isolation, note_lists};
use super::{Adapter, Order, Plan, Reader};
use crate::RunError;

/// The file with the system text; `-p callsheet` reads it.
const PROFILE: &str = "callsheet.config.toml";

/// The adapter of Codex.
pub(super) struct Codex;

impl Adapter for Codex {
    fn plan(&self, order: &Order<'_>) -> Result<Plan, RunError> {
        let mut plan = draft(order, order.system.is_some())?;
        note_lists(&mut plan, order);
        let state = order.state_folder();
        if let Some(text) = order.system {
            if !order.isolate {
                return Err(needs_isolation(&order.sheet.title, &order.sheet.keys));
            }
            let profile = format!("developer_instructions = {}\n", toml_string(text));
            file(&mut plan, state.join(PROFILE), profile);
        }
        let settings = order.sheet.settings(order.permissions);
        if order.isolate && !settings.is_empty() {
            file(&mut plan, state.join("config.toml"), settings.to_string());
        }
        Ok(plan)
    }

    fn natives(&self, program: &Path) -> Vec<PathBuf> {
        native_candidates(program)
    }

    fn takes_system(&self, _: &[String], isolated: bool) -> bool {
        isolated
    }

    fn reader(&self) -> Box<dyn Reader> {
        Box::new(CodexReader::default())
    }
}

/// Returns a text as a TOML string on one line, so that no line ending in it is changed.
fn toml_string(text: &str) -> String {
    // Strings of JSON are strings of TOML but for one character.
    let quoted = serde_json::Value::from(text).to_string();
    quoted.replace('\u{7f}', "\\u007F")
}

/// Returns where the native binary may be, beside the script that npm installs as `codex`, best first.
///
/// The script stays as a parent of the binary where Node cannot replace itself, and a signal that ends the one does not
/// reach the other. `script` is its path with all links followed.
fn native_candidates(script: &Path) -> Vec<PathBuf> {
    let (cpu, triple) = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => ("linux-x64", "x86_64-unknown-linux-musl"),
        ("linux", "aarch64") => ("linux-arm64", "aarch64-unknown-linux-musl"),
        ("macos", "x86_64") => ("darwin-x64", "x86_64-apple-darwin"),
        ("macos", "aarch64") => ("darwin-arm64", "aarch64-apple-darwin"),
        _ => return Vec::new(),
    };
    let named = script.file_name().is_some_and(|name| name == "codex.js");
    let Some(package) = script.parent().and_then(Path::parent).filter(|_| named) else {
        return Vec::new();
    };
    let native = format!("codex-{cpu}");
    let homes = [
        Some(package.join("node_modules/@openai").join(&native)),
        package.parent().map(|scope| scope.join(&native)),
        Some(package.to_owned()),
    ];
    let vendor = |home: PathBuf| home.join("vendor").join(triple);
    homes
        .into_iter()
        .flatten()
        .map(vendor)
        .flat_map(|home| [home.join("bin/codex"), home.join("codex/codex")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_system_text_survives_its_profile(text in "\\PC*|[\\x00-\\x7f\r\n\t\u{fffd}]*") {
            let read: toml::Table =
                toml::from_str(&format!("developer_instructions = {}\n", toml_string(&text))).unwrap();
            proptest::prop_assert_eq!(read["developer_instructions"].as_str(), Some(text.as_str()));
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[test]
    fn the_native_binary_is_looked_for_beside_the_script() {
        let found = native_candidates(Path::new("/n/node_modules/@openai/codex/bin/codex.js"));
        let found: Vec<&str> = found.iter().filter_map(|path| path.to_str()).collect();
        let musl = "vendor/x86_64-unknown-linux-musl";
        let scope = "/n/node_modules/@openai";
        assert_eq!(
            found,
            [
                format!("{scope}/codex/node_modules/@openai/codex-linux-x64/{musl}/bin/codex"),
                format!("{scope}/codex/node_modules/@openai/codex-linux-x64/{musl}/codex/codex"),
                format!("{scope}/codex-linux-x64/{musl}/bin/codex"),
                format!("{scope}/codex-linux-x64/{musl}/codex/codex"),
                format!("{scope}/codex/{musl}/bin/codex"),
                format!("{scope}/codex/{musl}/codex/codex"),
            ]
        );
        assert!(native_candidates(Path::new("/usr/bin/codex")).is_empty());
        assert!(native_candidates(Path::new("codex.js")).is_empty());
    }
}
