//! What a new worktree gets beyond its files: things that git ignores, and a set-up command.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};
use std::process::Command;
use std::time::Duration;

use super::{Ground, Site};
use crate::{Bounds, RunError, ask, environment};

/// How much a set-up may print.
const MOST_PRINTED: u64 = 64 << 20;

/// Copies what the project names from the main checkout.
///
/// Only what git ignores is copied: anything else would count as a change of the agent, and be merged.
pub(super) fn copy(
    site: &Site<'_>,
    ground: &Ground,
    note: &mut dyn FnMut(&str),
) -> Result<(), RunError> {
    for name in &site.settings.copy {
        let from = site.root.join(name);
        let Ok(found) = from.symlink_metadata() else {
            note(&format!(
                "`{name}` is not in the main checkout, so it is not copied"
            ));
            continue;
        };
        if !is_ignored(ground, name, found.is_dir())? {
            note(&format!("`{name}` is not copied: git does not ignore it"));
            continue;
        }
        let refused = |cause| RunError::refused(format!("cannot copy `{name}`"), cause);
        if leads_through_link(ground.path(), Path::new(name)) {
            let why = format!("cannot copy `{name}`: the worktree has a link in its place");
            return Err(RunError::Input(why));
        }
        let to = ground.path().join(name);
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent).map_err(refused)?;
        }
        copy_all(&from, &to).map_err(refused)?;
    }
    Ok(())
}

fn is_ignored(ground: &Ground, name: &str, is_directory: bool) -> Result<bool, RunError> {
    // This one command refuses literal paths, and takes its arguments as such; a colon at the start would be special.
    // A pattern that ends with a slash means directories only, and this one is not there yet.
    let end = if is_directory { "/" } else { "" };
    let path = format!("./{name}{end}");
    let asked = [
        "--no-literal-pathspecs",
        "check-ignore",
        "--quiet",
        "--",
        &path,
    ];
    match ground.git(&asked) {
        Ok(_) => Ok(true),
        Err(RunError::Failed { code: Some(1), .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Tells whether a part of a path below a directory is a link: what is written there could land anywhere.
fn leads_through_link(root: &Path, path: &Path) -> bool {
    let mut at = root.to_owned();
    path.components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .any(|part| {
            at.push(part);
            at.is_symlink()
        })
}

/// Copies a file or a directory; links stay links, and what is there already stays.
fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    let kind = from.symlink_metadata()?.file_type();
    if to.symlink_metadata().is_ok() && !(kind.is_dir() && to.is_dir() && !to.is_symlink()) {
        return Ok(());
    }
    if kind.is_symlink() {
        symlink(std::fs::read_link(from)?, to)
    } else if kind.is_dir() {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
        Ok(())
    } else if kind.is_file() {
        std::fs::copy(from, to).map(|_| ())
    } else {
        // Sockets, pipes and devices are nobody's files.
        Ok(())
    }
}

/// Runs the set-up command of the project in a worktree.
pub(super) fn set_up(site: &Site<'_>, ground: &Ground) -> Result<(), RunError> {
    let setup = site.settings.setup.as_deref().unwrap_or_default();
    let Some((program, args)) = setup.split_first() else {
        return Ok(());
    };
    // A path is relative to the root of the worktree, as the command itself is.
    let program = match Path::new(program) {
        path if path.components().count() > 1 => ground.path().join(path),
        path => path.to_owned(),
    };
    let mut command = Command::new(program);
    command.args(args).current_dir(ground.path()).env_clear();
    command.envs(environment::plain(site.environment));
    let bounds = Bounds {
        time: Duration::from_secs(site.settings.setup_timeout_s),
        bytes: MOST_PRINTED,
    };
    let what = format!("set-up {}", setup.join(" "));
    ask(command, &what, bounds, false).map(|_| ())
}
