//! Starting an agent: its files, its program, its session. Nothing of our own environment reaches it.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use process_wrap::std::{CommandWrap, ProcessSession};

use super::journal::{Journal, private};
use crate::launch::{Identity, Launch, Step};
use crate::sandbox;

/// An agent that was started.
pub(super) struct Agent {
    pub(super) process: Identity,
    /// The file that it reads; it shares our place in it.
    pub(super) stdin: Option<File>,
}

/// Starts an agent, or tells why there is none.
///
/// If it is to be in the sandbox, so is this thread from then on: every file that it writes is open before.
pub(super) fn spawn(launch: &Launch, journal: &mut Journal) -> Result<Agent, Step> {
    let file = |path: &Path, opened: io::Result<File>| {
        opened.map_err(|cause| not_spawned(&format!("cannot open `{}`", path.display()), &cause))
    };
    let stdin = launch.stdin.as_ref();
    let stdin = stdin.map(|path| file(path, File::open(path))).transpose()?;
    let stdout = file(&launch.stdout, private(&launch.stdout))?;
    let stderr = file(&launch.stderr, private(&launch.stderr))?;
    if !launch.cwd.is_dir() {
        let why = format!("`{}` is not a directory", launch.cwd.display());
        return Err(Step::NotSpawned {
            why,
            missing: false,
        });
    }
    let name = launch.argv.first().map_or("", String::as_str);
    let program = program(name, launch)?;
    let refused = |cause: io::Error| not_spawned(&format!("cannot run `{name}`"), &cause);
    let input = match &stdin {
        Some(file) => Stdio::from(file.try_clone().map_err(refused)?),
        None => Stdio::null(),
    };
    confine(launch, journal)?;
    let mut command = Command::new(program);
    command
        .arg0(name)
        .args(launch.argv.iter().skip(1))
        .env_clear()
        .envs(&launch.env)
        .current_dir(&launch.cwd)
        .stdin(input)
        .stdout(stdout)
        .stderr(stderr);
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    let child = command.spawn().map_err(refused)?;
    // It cannot be gone from `/proc` before we have waited for it, and that is done elsewhere.
    let process = i32::try_from(child.id()).ok().and_then(Identity::of);
    let process = process.ok_or_else(|| refused(io::ErrorKind::NotFound.into()))?;
    Ok(Agent { process, stdin })
}

/// Puts this thread, and with it everything that it starts, into the sandbox where there is to be one.
fn confine(launch: &Launch, journal: &mut Journal) -> Result<(), Step> {
    let Some(sandbox) = &launch.sandbox else {
        return Ok(());
    };
    let restricted = sandbox::restrict(sandbox).map_err(|why| Step::NotSpawned {
        why,
        missing: false,
    })?;
    journal.write(Step::Sandboxed {
        abi: restricted.abi,
        write: restricted.write,
    });
    Ok(())
}

fn not_spawned(what: &str, cause: &io::Error) -> Step {
    Step::NotSpawned {
        why: format!("{what}: {cause}"),
        missing: false,
    }
}

/// Returns the file of a program: a name is looked for in the agent's `PATH`, anything else below its directory.
fn program(name: &str, launch: &Launch) -> Result<PathBuf, Step> {
    let in_path = !name.contains('/');
    let path = launch.env.get("PATH").map_or("", String::as_str);
    let candidates: Vec<PathBuf> = if in_path {
        let folders = std::env::split_paths(path);
        folders
            .map(|folder| launch.cwd.join(folder).join(name))
            .collect()
    } else {
        vec![launch.cwd.join(name)]
    };
    let mut refused = None;
    for candidate in candidates.iter().filter(|_| !name.is_empty()) {
        match candidate.metadata() {
            Ok(file) if file.is_file() && file.permissions().mode() & 0o111 != 0 => {
                return Ok(candidate.clone());
            }
            Ok(_) => refused = Some(candidate),
            Err(_) => {}
        }
    }
    let (why, missing) = match refused {
        Some(file) => (
            format!("cannot run `{}`: it is not executable", file.display()),
            false,
        ),
        None if in_path => (format!("no program `{name}` in `PATH`"), true),
        None => (format!("no program `{name}`"), true),
    };
    Err(Step::NotSpawned { why, missing })
}
