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

/// Looks for what comes along; `home` is nothing where the CLI has a state folder of its own, and `main` is the main checkout
/// of the worktree that it works in.
pub(crate) fn look(sheet: &Sheet, home: Option<&Path>, cwd: &Path, main: Option<&Path>) -> Came {
    let ambient = &sheet.ambient;
    let main = main.and_then(|main| Some((main, way_up(main, cwd)?)));
    let places = |name: &str| -> Vec<(String, PathBuf)> {
        let own = match name.strip_prefix("~/") {
            Some(below) => home.map(|home| home.join(below)),
            None => Some(cwd.join(name)),
        };
        let own = own.map(|path| (name.to_owned(), path));
        let of_main = main
            .as_ref()
            .filter(|_| ambient.main.contains(&name.into()));
        let of_main = of_main.map(|(main, up)| (format!("{up}{name}"), main.join(name)));
        own.into_iter().chain(of_main).collect()
    };
    let names = |tables: &BTreeMap<String, String>| {
        let files = tables
            .iter()
            .flat_map(|(file, table)| places(file).into_iter().map(move |place| (place.1, table)));
        let found = files.filter_map(|(path, table)| {
            let value = read(&path)?;
            let fields = value.get(table)?.as_object()?;
            Some(fields.keys().cloned().collect::<Vec<_>>())
        });
        found.flatten().collect()
    };
    let files = ambient.instructions.iter().flat_map(|name| places(name));
    Came {
        instructions: files
            .filter(|(_, path)| path.is_file())
            .map(|(name, _)| name)
            .collect(),
        hooks: names(&ambient.hooks),
        mcp_servers: names(&ambient.mcp_servers),
    }
}

/// Returns the way from a folder to one above it, with a slash at its end.
fn way_up(above: &Path, folder: &Path) -> Option<String> {
    let steps = folder.strip_prefix(above).ok()?.components().count();
    (steps > 0).then(|| "../".repeat(steps))
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
        let came = look(&sheet, Some(&home), &cwd, None);
        assert_eq!(came.instructions, ["~/.x/NOTES.md", "NOTES.md"]);
        assert_eq!(came.hooks, ["Stop"]);
        assert_eq!(came.mcp_servers, ["files", "web"]);
        let alone = look(&sheet, None, &cwd, Some(&cwd));
        assert_eq!(alone.instructions, ["NOTES.md"]);
        assert!(alone.hooks.is_empty() && alone.mcp_servers.is_empty());
    }

    #[test]
    fn a_worktree_has_some_files_of_the_main_checkout() {
        let folder = tempfile::tempdir().unwrap();
        let (main, cwd) = (folder.path(), folder.path().join("trees/one"));
        std::fs::create_dir_all(&cwd).unwrap();
        for (path, text) in [
            (main.join("NOTES.md"), "of all"),
            (main.join("OWN.md"), "of one"),
            (cwd.join("OWN.md"), "of one, here"),
            (main.join("s.json"), "{\"hooks\": {\"Stop\": []}}"),
        ] {
            std::fs::write(path, text).unwrap();
        }
        let text = "name = \"x\"\ntitle = \"X\"\n[ambient]\n\
            instructions = [\"NOTES.md\", \"OWN.md\"]\nhooks = { \"s.json\" = \"hooks\" }\n\
            main = [\"OWN.md\", \"s.json\"]\n";
        let sheet = Sheet::parse(text, None, None).unwrap();
        let came = look(&sheet, None, &cwd, Some(main));
        assert_eq!(came.instructions, ["OWN.md", "../../OWN.md"]);
        assert_eq!(came.hooks, ["Stop"]);
        let alone = look(&sheet, None, &cwd, None);
        assert_eq!(alone.instructions, ["OWN.md"]);
        assert!(alone.hooks.is_empty());
    }
}
