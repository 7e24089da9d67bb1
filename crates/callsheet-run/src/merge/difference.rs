//! What differs between two commits, file by file, as git says it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use crate::RunError;
use crate::repository::Repository;

/// The mode of a submodule.
const SUBMODULE: &str = "160000";

/// The mode of what is not there.
const NOTHING: &str = "000000";

/// A path that differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: PathBuf,
    old_mode: String,
    new_mode: String,
    new_hash: String,
}

impl Difference {
    /// Tells whether the old commit has the path.
    pub(super) fn in_old(&self) -> bool {
        self.old_mode != NOTHING
    }

    /// Tells whether the new commit has the path.
    pub(super) fn in_new(&self) -> bool {
        self.new_mode != NOTHING
    }

    /// Tells whether the path is a submodule on one side; git keeps no files of it.
    pub(super) fn is_submodule(&self) -> bool {
        self.old_mode == SUBMODULE || self.new_mode == SUBMODULE
    }

    /// Returns the name of the blob that the new commit has.
    pub(super) fn new_hash(&self) -> &str {
        &self.new_hash
    }

    /// Returns the entry of the new commit as `git update-index --index-info -z` reads it.
    pub(super) fn index_entry(&self) -> Vec<u8> {
        let mode = if self.in_new() { &self.new_mode } else { "0" };
        let mut entry = format!("{mode} {}\t", self.new_hash).into_bytes();
        entry.extend(self.path.as_os_str().as_encoded_bytes());
        entry.push(0);
        entry
    }
}

/// Asks for the differences between two commits.
pub(super) fn between(
    repository: &Repository,
    old: &str,
    new: &str,
) -> Result<Vec<Difference>, RunError> {
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        old,
        new,
    ];
    Ok(read(&repository.run(&args)?))
}

/// Reads `:MODE MODE HASH HASH STATUS`, NUL, path, NUL.
fn read(printed: &[u8]) -> Vec<Difference> {
    let mut fields = printed.split(|&byte| byte == 0);
    let mut found = Vec::new();
    while let (Some(what), Some(path)) = (fields.next(), fields.next()) {
        let what = String::from_utf8_lossy(what);
        let mut what = what.trim_start_matches(':').split(' ').map(str::to_owned);
        let (old_mode, new_mode) = (what.next(), what.next());
        if let (Some(old_mode), Some(new_mode), Some(new_hash)) = (old_mode, new_mode, what.nth(1))
        {
            found.push(Difference {
                path: PathBuf::from(OsString::from_vec(path.to_vec())),
                old_mode,
                new_mode,
                new_hash,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_and_entries_are_told_apart() {
        let printed = b":000000 100644 00 aa A\0new\nname\0:120000 000000 bb 00 D\0gone\0:160000 160000 cc dd M\0sub\0";
        let found = read(printed);
        let sides: Vec<_> = found
            .iter()
            .map(|found| (found.in_old(), found.in_new(), found.is_submodule()))
            .collect();
        assert_eq!(
            sides,
            [
                (false, true, false),
                (true, false, false),
                (true, true, true)
            ]
        );
        let entries: Vec<u8> = found.iter().flat_map(Difference::index_entry).collect();
        assert_eq!(
            entries,
            b"100644 aa\tnew\nname\0\
            0 00\tgone\0\
            160000 dd\tsub\0"
        );
    }
}
