//! What a new worktree gets beyond its files: things that git ignores, and a set-up command.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use super::{Ground, Site};
use crate::sandbox::Sandbox;
use crate::{CheckSetting, RunError, checks};

/// Copies what the project names from the main checkout.
///
/// Only what git ignores is copied: anything else would count as a change of the agent, and be merged.
pub(super) fn copy(
    site: &Site<'_>,
    ground: &Ground,
    note: &mut dyn FnMut(&str),
) -> Result<(), RunError> {
    let scratch = ground.hold().scratch()?;
    let part = scratch.path().join("part");
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
        copy_all(&from, &to, &part).map_err(refused)?;
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
///
/// A file is complete before it gets its name: nobody could tell half of it from the whole.
fn copy_all(from: &Path, to: &Path, part: &Path) -> io::Result<()> {
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
            copy_all(&entry.path(), &to.join(entry.file_name()), part)?;
        }
        Ok(())
    } else if kind.is_file() {
        std::fs::copy(from, part)?;
        std::fs::rename(part, to)
    } else {
        // Sockets, pipes and devices are nobody's files.
        Ok(())
    }
}

/// Runs the set-up command of the project in a worktree.
pub(super) fn set_up(
    site: &Site<'_>,
    ground: &Ground,
    sandbox: Option<&Sandbox>,
) -> Result<(), RunError> {
    let Some(command) = &site.settings.setup else {
        return Ok(());
    };
    let setup = CheckSetting {
        name: "setup".to_owned(),
        command: command.clone(),
        timeout_s: site.settings.setup_timeout_s,
        required: true,
    };
    let scratch = ground.hold().scratch()?;
    let context = checks::CheckContext {
        program: site.program,
        ground,
        folder: scratch.path(),
        run: ground.name(),
        environment: site.environment,
        sandbox,
    };
    checks::set_up(&setup, &context)
}
