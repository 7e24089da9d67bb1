//! What of the user's own configuration comes along with a CLI: instruction files, hooks, MCP servers.
//!
//! Names only: what stands in those files stays where it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Sheet;
use crate::document::Came;

/// The largest settings file that is looked into.
const LARGEST: u64 = 1 << 20;

/// Looks for what comes along; `home` is nothing where the CLI has a state folder of its own.
pub(crate) fn look(sheet: &Sheet, home: Option<&Path>, cwd: &Path) -> Came {
    let place = |name: &str| -> Option<PathBuf> {
        match name.strip_prefix("~/") {
            Some(below) => Some(home?.join(below)),
            None => Some(cwd.join(name)),
        }
    };
    let ambient = &sheet.ambient;
    let files = ambient.instructions.iter();
    let names = |tables: &BTreeMap<String, String>| {
        let found = tables.iter().filter_map(|(file, table)| {
            let value = read(&place(file)?)?;
            let fields = value.get(table)?.as_object()?;
            Some(fields.keys().cloned().collect::<Vec<_>>())
        });
        found.flatten().collect()
    };
    Came {
        instructions: files
            .filter(|name| place(name).is_some_and(|path| path.is_file()))
            .cloned()
            .collect(),
        hooks: names(&ambient.hooks),
        mcp_servers: names(&ambient.mcp_servers),
    }
}

/// Reads a settings file, JSON or TOML.
fn read(path: &Path) -> Option<Value> {
    let found = std::fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > LARGEST {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    if path.extension().is_some_and(|ending| ending == "toml") {
        return toml::from_str(&text).ok();
    }
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_and_contents_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let (home, cwd) = (folder.path().join("home"), folder.path().join("cwd"));
        for (path, text) in [
            (home.join(".x/NOTES.md"), "be brief"),
            (
                home.join(".x/settings.json"),
                "{\"hooks\": {\"Stop\": [1]}, \"k\": 1}",
            ),
            (
                home.join(".x/config.toml"),
                "[mcp.files]\ntoken = \"s\"\n[mcp.web]\n",
            ),
            (cwd.join("NOTES.md"), "and kind"),
        ] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let text = "name = \"x\"\ntitle = \"X\"\n[ambient]\n\
            instructions = [\"~/.x/NOTES.md\", \"NOTES.md\", \"OTHER.md\"]\n\
            hooks = { \"~/.x/settings.json\" = \"hooks\", \"none.json\" = \"hooks\" }\n\
            mcp_servers = { \"~/.x/config.toml\" = \"mcp\" }\n";
        let sheet = Sheet::parse(text, None, None).unwrap();
        let came = look(&sheet, Some(&home), &cwd);
        assert_eq!(came.instructions, ["~/.x/NOTES.md", "NOTES.md"]);
        assert_eq!(came.hooks, ["Stop"]);
        assert_eq!(came.mcp_servers, ["files", "web"]);
        let alone = look(&sheet, None, &cwd);
        assert_eq!(alone.instructions, ["NOTES.md"]);
        assert!(alone.hooks.is_empty() && alone.mcp_servers.is_empty());
    }
}
