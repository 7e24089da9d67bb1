//! Files that a script changes: below one folder, and nowhere else, wherever links lead.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::RunError;

/// A folder whose files may be changed.
pub(super) struct Folder(PathBuf);

/// Refuses a path that is not plainly below a folder.
pub(super) fn check(path: &str) -> Result<(), RunError> {
    let mut components = Path::new(path).components().peekable();
    let plain = components.peek().is_some()
        && components.all(|part| matches!(part, Component::Normal(_)))
        && !path.ends_with('/')
        && !path.contains('\0');
    if plain {
        Ok(())
    } else {
        Err(RunError::Input(format!(
            "`{path}` is not the path of a file below the working directory"
        )))
    }
}

impl Folder {
    /// Opens a folder.
    pub(super) fn open(path: &Path) -> Result<Self, RunError> {
        let real = path.canonicalize();
        let refused = |cause| RunError::refused(format!("cannot open `{}`", path.display()), cause);
        real.map(Self).map_err(refused)
    }

    /// Writes a file and makes the folders above it, and returns what that did.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<&'static str, RunError> {
        let file = self.resolve(path, true)?;
        let change = if file.exists() { "update" } else { "add" };
        fs::write(&file, text).map_err(|cause| refused("write", path, cause))?;
        Ok(change)
    }

    /// Replaces the only place of a file that has a text.
    pub(super) fn replace(
        &self,
        path: &str,
        from: &str,
        to: &str,
    ) -> Result<&'static str, RunError> {
        let file = self.resolve(path, false)?;
        let text = fs::read_to_string(&file).map_err(|cause| refused("read", path, cause))?;
        match text.matches(from).count() {
            1 if !from.is_empty() => {}
            _ if from.is_empty() => {
                return Err(RunError::Input("`from` is empty".to_owned()));
            }
            0 => return Err(RunError::Input(format!("`{path}` does not have `{from}`"))),
            _ => {
                return Err(RunError::Input(format!(
                    "`{path}` has `{from}` more than once"
                )));
            }
        }
        fs::write(&file, text.replace(from, to)).map_err(|cause| refused("write", path, cause))?;
        Ok("update")
    }

    /// Deletes a file; of a link, the link.
    pub(super) fn delete(&self, path: &str) -> Result<&'static str, RunError> {
        let (folder, name) = self.parent(path, false)?;
        fs::remove_file(folder.join(name)).map_err(|cause| refused("delete", path, cause))?;
        Ok("delete")
    }

    /// Returns the real file of a path.
    fn resolve(&self, path: &str, make: bool) -> Result<PathBuf, RunError> {
        let (folder, name) = self.parent(path, make)?;
        let file = folder.join(name);
        match file.symlink_metadata() {
            Ok(found) if found.is_symlink() => self.real(&file, path),
            _ => Ok(file),
        }
    }

    /// Returns the real folder of a path, and the name in it.
    fn parent<'a>(&self, path: &'a str, make: bool) -> Result<(PathBuf, &'a Path), RunError> {
        check(path)?;
        let mut parts: Vec<&Path> = Path::new(path).iter().map(Path::new).collect();
        let name = parts.pop().unwrap_or(Path::new(""));
        let mut at = self.0.clone();
        for part in parts {
            let next = at.join(part);
            let missing = next
                .symlink_metadata()
                .is_err_and(|cause| cause.kind() == io::ErrorKind::NotFound);
            if make && missing {
                fs::create_dir(&next).map_err(|cause| refused("write", path, cause))?;
            }
            at = self.real(&next, path)?;
        }
        Ok((at, name))
    }

    fn real(&self, at: &Path, path: &str) -> Result<PathBuf, RunError> {
        let real = at
            .canonicalize()
            .map_err(|cause| refused("follow", path, cause))?;
        if real.starts_with(&self.0) {
            Ok(real)
        } else {
            Err(RunError::Input(format!(
                "`{path}` leads out of the working directory"
            )))
        }
    }
}

fn refused(what: &str, path: &str, cause: io::Error) -> RunError {
    RunError::refused(format!("cannot {what} `{path}`"), cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "a/../../b",
            "./a",
            "a/",
            "a\0b",
        ] {
            assert!(check(path).is_err(), "{path:?}");
        }
        for path in ["a", "a/b.rs", "..a", "a b"] {
            assert!(check(path).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn links_that_lead_out_are_refused_and_others_followed() {
        use std::os::unix::fs::symlink;

        let outside = tempfile::tempdir().unwrap();
        let inside = outside.path().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::write(outside.path().join("secret"), "kept").unwrap();
        symlink("../secret", inside.join("file")).unwrap();
        symlink("..", inside.join("folder")).unwrap();
        symlink("../missing", inside.join("dangling")).unwrap();
        symlink("real", inside.join("link")).unwrap();
        fs::write(inside.join("real"), "one").unwrap();
        let folder = Folder::open(&inside).unwrap();
        let text = |result: Result<&str, RunError>| match result {
            Ok(change) => change.to_owned(),
            Err(error) => error.to_string(),
        };
        let out = |path: &str| format!("`{path}` leads out of the working directory");

        assert_eq!(text(folder.write("file", "x")), out("file"));
        assert_eq!(text(folder.replace("file", "k", "x")), out("file"));
        assert_eq!(text(folder.write("folder/new", "x")), out("folder/new"));
        assert_eq!(text(folder.delete("folder/secret")), out("folder/secret"));
        assert!(folder.write("dangling", "x").is_err());
        assert!(!outside.path().join("missing").exists());
        assert_eq!(text(folder.replace("link", "one", "two")), "update");
        assert!(inside.join("link").is_symlink());
        assert_eq!(fs::read_to_string(inside.join("real")).unwrap(), "two");
        assert_eq!(text(folder.delete("file")), "delete");
        assert_eq!(
            fs::read_to_string(outside.path().join("secret")).unwrap(),
            "kept"
        );
    }

    #[test]
    fn a_text_is_replaced_only_where_it_is_meant() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(root.path()).unwrap();
        assert_eq!(folder.write("a/b/c", "x y x").unwrap(), "add");
        assert_eq!(folder.write("a/b/c", "x y x").unwrap(), "update");
        let error = |from| folder.replace("a/b/c", from, "z").unwrap_err().to_string();
        assert_eq!(error("x"), "`a/b/c` has `x` more than once");
        assert_eq!(error("q"), "`a/b/c` does not have `q`");
        assert_eq!(error(""), "`from` is empty");
        assert_eq!(folder.replace("a/b/c", "y", "z").unwrap(), "update");
        assert_eq!(
            fs::read_to_string(root.path().join("a/b/c")).unwrap(),
            "x z x"
        );
    }
}
