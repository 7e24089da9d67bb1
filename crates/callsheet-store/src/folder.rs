//! The folder of what is kept for a project: for its owner alone, whatever the umask is, and nothing for a repository.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;

/// The name of that folder; one with another name may hold what is not ours.
pub(crate) const FOLDER: &str = ".callsheet";

/// Tells git to see nothing of the folder.
const IGNORE: &str = ".gitignore";

/// Makes the folder of what is kept for a project, or closes one to others that is there.
///
/// Its `.gitignore` is there before anything else, also where somebody was killed before it was written. The folder above
/// has to be there.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
            sync_folder(folder.parent());
        }
        Err(_) if folder.is_dir() => close_to_others(folder),
        Err(error) => return Err(error),
    }
    let ignore = folder.join(IGNORE);
    match fs::symlink_metadata(&ignore) {
        Ok(found) if !found.is_file() || found.len() > 0 => {
            return if found.is_file() {
                Ok(())
            } else {
                Err(io::Error::other(format!("`{IGNORE}` is not a file")))
            };
        }
        _ => {}
    }
    // Whole or not at all, however many do the same at this moment.
    let new = folder.join(format!("{IGNORE}.{}", std::process::id()));
    let written = private_file(&new).and_then(|mut file| file.write_all(b"*\n"));
    written.and_then(|()| fs::rename(&new, &ignore))
}

/// Writes a file that only its owner may read, whatever the umask is.
pub fn write_private(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    private_file(path)?.write_all(bytes.as_ref())
}

/// Makes a file that only its owner may read, or empties one that is there.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Makes an empty file that only its owner may read, where there is none.
///
/// It comes under its name without being opened by it: a process that closes a database loses its locks on it.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(format!("-new.{}", std::process::id()));
    let new = Path::new(&new);
    private_file(new)?;
    let linked = fs::hard_link(new, path);
    fs::remove_file(new)?;
    linked
}

/// Takes from others what they may do with a file or folder of ours; it stays as it is where it is not ours.
pub(crate) fn close_to_others(path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else {
        return;
    };
    let ours = found.uid() == rustix::process::geteuid().as_raw();
    let (mode, kind) = (found.mode() & 0o7777, found.file_type());
    let wanted = if kind.is_dir() {
        mode & 0o700
    } else {
        mode & 0o600
    };
    if ours && mode != wanted && (kind.is_dir() || kind.is_file()) {
        // Whoever cannot do that cannot be helped here; what is asked for may go well anyway.
        let _ = fs::set_permissions(path, Permissions::from_mode(wanted));
    }
}

/// Has the disk keep what was made in a folder, where it can be asked to.
pub(crate) fn sync_folder(folder: Option<&Path>) {
    if let Some(Ok(folder)) = folder.map(File::open) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn a_folder_is_for_its_owner_and_not_for_git() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join(".callsheet");
        let ignore = folder.join(IGNORE);
        let is_whole = || {
            make_folder(&folder).unwrap();
            assert_eq!((mode(&folder), mode(&ignore)), (0o700, 0o600));
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
            fs::read_to_string(&ignore).unwrap()
        };
        assert_eq!(is_whole(), "*\n");
        // What somebody leaves who was killed on the way.
        fs::remove_file(&ignore).unwrap();
        assert_eq!(is_whole(), "*\n");
        fs::write(&ignore, "").unwrap();
        assert_eq!(is_whole(), "*\n");
        fs::write(&ignore, "*\n!notes\n").unwrap();
        assert_eq!(is_whole(), "*\n!notes\n", "what a person wrote stays");
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        assert_eq!(is_whole(), "*\n!notes\n");
        fs::remove_file(&ignore).unwrap();
        fs::create_dir(&ignore).unwrap();
        assert!(make_folder(&folder).is_err());
    }
}
