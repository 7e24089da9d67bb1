//! Versions of agent CLIs: asked once per program file, and remembered as long as that file stays the same.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::launch::Launch;
use crate::{Bounds, Sheet, ask, resolve};

/// The file that remembers, in the folder of what the program keeps for a project.
const FILE: &str = "versions.json";

/// How long a CLI may take to tell its version, and how much it may say.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(20),
    bytes: 64 << 10,
};

/// Returns the version of the CLI that a launch would start.
pub(crate) fn of(home: &Path, launch: &Launch, sheet: &Sheet) -> Option<String> {
    let command = launch.argv.first()?;
    ask_version(home, command, sheet, &launch.env)
}

/// Returns the version of a program; nothing where it does not tell one.
pub fn ask_version(
    home: &Path,
    program: &str,
    sheet: &Sheet,
    env: &BTreeMap<String, String>,
) -> Option<String> {
    if sheet.version.is_empty() {
        return None;
    }
    let file = resolve::find_program(program, env.get("PATH").map(String::as_str))?;
    let found = std::fs::metadata(&file).ok()?;
    let key = file.to_string_lossy().into_owned();
    let same = json!([found.len(), found.mtime(), found.mtime_nsec(), found.ino()]);
    let mut known = remembered(home);
    if let Some(entry) = known.get(&key).filter(|entry| entry["file"] == same) {
        return entry["version"].as_str().map(str::to_owned);
    }
    let mut command = Command::new(&file);
    command.args(&sheet.version).env_clear().envs(env);
    let said = ask(command, program, BOUNDS, false).ok()?;
    let version = number(&String::from_utf8_lossy(&said))?;
    known.insert(key, json!({"file": same, "version": version}));
    // Asking again next time costs a little and changes nothing.
    let _ = callsheet_store::write_private(&home.join(FILE), Value::Object(known).to_string());
    Some(version)
}

fn remembered(home: &Path) -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(home.join(FILE)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Returns the first word that reads like a version: digits and dots.
fn number(said: &str) -> Option<String> {
    let words = said.split(|c: char| c.is_whitespace() || "()".contains(c));
    words
        .map(|word| word.strip_prefix('v').unwrap_or(word))
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

/// Returns what a person should know of a version whose output nobody has looked at.
pub fn warning(sheet: &Sheet, version: Option<&str>) -> Option<String> {
    let version = version?;
    if sheet.versions.is_empty() || sheet.versions.iter().any(|known| known == version) {
        return None;
    }
    Some(format!(
        "{} {version} is not a version that callsheet knows ({}); lines that it does not understand are kept and counted",
        sheet.title,
        sheet.versions.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_say() {
        for (said, version) in [
            ("2.1.325 (Claude Code)\n", Some("2.1.325")),
            ("codex-cli 0.166.0\n", Some("0.166.0")),
            ("v20.20.2", Some("20.20.2")),
            ("git version 2.47.3", Some("2.47.3")),
            ("no version here", None),
        ] {
            assert_eq!(number(said).as_deref(), version, "{said}");
        }
    }
}
