//! `doctor`: what is there for running agents, what is missing, and what to do next.

use std::process::ExitCode;

use callsheet_run::account::{self, Standings};
use callsheet_run::sandbox::{Mode, Support, WHOLE_ABI, WorkingDirectory, support};
use callsheet_run::{Sheet, adapter, ask_version, find_program, version_warning};
use callsheet_store::Wait;
use serde::Serialize;
use serde_json::json;

use crate::failure::{Failure, NEGATIVE};
use crate::output::Output;
use crate::project::Project;
use crate::table::{Align, Table};
use crate::{run, sandbox, store, time};

/// Check git, agents, credentials, sandbox and store, and say what to do next
///
/// Credentials are looked for and never shown. Exits with 1 if something stands in the way of running an agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callsheet doctor
  callsheet doctor --json")]
pub(crate) struct Args {}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Note,
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: String,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Check {
    fn new(name: impl Into<String>, state: State, found: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state,
            found: found.into(),
            next: None,
        }
    }

    fn next(mut self, what: impl Into<String>) -> Self {
        self.next = Some(what.into());
        self
    }
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let mut checks = vec![git(project)];
        let agents = agents(project);
        let any = agents.iter().any(|check| check.state == State::Ok);
        checks.extend(agents);
        checks.extend(runners(project));
        if !any && project.settings.runners.is_empty() {
            checks.push(
                Check::new("runner", State::Problem, "no agent is installed")
                    .next("install one of the agents above, or name a program in `[runners.NAME]`"),
            );
        }
        checks.push(sandbox_check(project.settings.sandbox.mode, support()));
        checks.push(store_check(project, out));
        checks.extend(accounts(project));
        checks.extend(paused(project));
        report(&checks, out)
    }
}

fn report(checks: &[Check], out: Output) -> Result<ExitCode, Failure> {
    let fine = checks.iter().all(|check| check.state != State::Problem);
    if out.json {
        out.document(&json!({"schema": "callsheet.doctor/1", "ok": fine, "checks": checks}))?;
    } else {
        let mut table = Table::new(&[
            ("", Align::Left),
            ("CHECK", Align::Left),
            ("FOUND", Align::Left),
        ]);
        for check in checks {
            let mark = match check.state {
                State::Ok => "ok",
                State::Note => "-",
                State::Problem => "!!",
            };
            table.row([mark.to_owned(), check.name.clone(), check.found.clone()]);
        }
        out.text(&table.render())?;
        for check in checks {
            if let Some(next) = &check.next {
                out.say(&format!("{}: {next}", check.name));
            }
        }
    }
    Ok(if fine {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(NEGATIVE)
    })
}

fn git(project: &Project) -> Check {
    let path = std::env::var("PATH").ok();
    if find_program("git", path.as_deref()).is_none() {
        return Check::new("git", State::Problem, "not found")
            .next("install git; without it nobody can tell what an agent changed");
    }
    match callsheet_run::git::Git::open(project.root()) {
        Ok(git) if git.top() == project.root() => Check::new("git", State::Ok, "a repository"),
        Ok(_) => Check::new("git", State::Ok, "a folder of a repository"),
        Err(error) => Check::new("git", State::Note, error.to_string())
            .next("`git init` makes this folder a repository, so that changes can be observed"),
    }
}

/// Looks for the agents that need no settings.
fn agents(project: &Project) -> Vec<Check> {
    let environment = run::environment();
    let home = store::folder(project);
    let mut checks = Vec::new();
    for name in adapter::NAMES {
        let Some(text) = adapter::sheet(name) else {
            continue;
        };
        let changes = project.settings.adapters.get(*name);
        let sheet = match Sheet::parse(text, changes, None) {
            Ok(sheet) => sheet,
            Err(error) => {
                checks.push(Check::new(*name, State::Problem, error.to_string()));
                continue;
            }
        };
        let Some(program) = sheet.command.first() else {
            continue;
        };
        let path = environment.get("PATH").map(String::as_str);
        if find_program(program, path).is_none() {
            let check = Check::new(*name, State::Note, "not installed");
            checks.push(check.next(format!("`{}` installs it", sheet.install)));
            continue;
        }
        let version = ask_version(&home, program, &sheet, &environment);
        let shown = version
            .clone()
            .unwrap_or_else(|| "unknown version".to_owned());
        let found = format!("{shown}, {}", credentials(&sheet, &environment));
        let check = Check::new(*name, State::Ok, found);
        checks.push(match version_warning(&sheet, version.as_deref()) {
            Some(warning) => check.next(warning),
            None => check,
        });
    }
    checks
}

/// Says which credentials there are, by name and never by value.
fn credentials(sheet: &Sheet, environment: &std::collections::BTreeMap<String, String>) -> String {
    let set = |key: &&String| environment.get(*key).is_some_and(|value| !value.is_empty());
    if let Some(key) = sheet.keys.iter().find(set) {
        return format!("key in {key}");
    }
    let home = environment.get("HOME").map(std::path::PathBuf::from);
    let there = |name: &&String| {
        let below = name.strip_prefix("~/").unwrap_or(name);
        home.as_ref().is_some_and(|home| home.join(below).exists())
    };
    match sheet.logins.iter().find(there) {
        Some(_) => "logged in".to_owned(),
        None => format!(
            "no credentials found: log in, or set {}",
            sheet.keys.first().map_or("a key", String::as_str)
        ),
    }
}

/// Looks at the runners that the project sets.
fn runners(project: &Project) -> Vec<Check> {
    let environment = run::environment();
    let path = environment.get("PATH").map(String::as_str);
    let runners = project.runners();
    let names = project.settings.runners.keys();
    let is_sandboxed =
        sandbox::of(project, WorkingDirectory::Project).is_ok_and(|paths| paths.is_some());
    names
        .map(|name| {
            let title = format!("runner {name}");
            let resolved = match runners.resolve(name, project.root(), is_sandboxed) {
                Ok(resolved) => resolved,
                Err(error) => return Check::new(title, State::Problem, error.to_string()),
            };
            let permissions = resolved.permissions.as_str();
            let found = format!("{}, permissions {permissions}", resolved.sheet.title);
            match resolved.command.first() {
                Some(program) if find_program(program, path).is_none() => {
                    Check::new(title, State::Problem, format!("`{program}` was not found"))
                        .next("install it, or change `command` in callsheet.toml")
                }
                _ => Check::new(title, State::Ok, found),
            }
        })
        .collect()
}

/// Says what the kernel has to put agents into, by asking it.
fn sandbox_check(mode: Mode, support: Support) -> Check {
    let check = |state, found: String| Check::new("sandbox", state, found);
    match (mode, support) {
        (Mode::No, _) => {
            let found = "switched off in callsheet.toml: agents have your rights";
            check(State::Note, found.to_owned())
        }
        (Mode::Auto, Support::None) => {
            let found = "the kernel has no Landlock: agents have your rights";
            check(State::Note, found.to_owned())
        }
        (Mode::Yes, Support::None) => {
            let [have, without] = sandbox::WAYS_OUT;
            let found = "the kernel has no Landlock, which `[sandbox]` asks for".to_owned();
            check(State::Problem, found).next(format!("{have}; {without}"))
        }
        (_, Support::Landlock { abi }) => {
            let who = match mode {
                Mode::Auto => "agents in worktrees",
                _ => "agents",
            };
            let check = check(
                State::Ok,
                format!("Landlock ABI {abi}: {who} write where they work, and in caches"),
            );
            if abi < WHOLE_ABI {
                return check.next("Linux 6.2 and later keep all other files from being truncated");
            }
            check
        }
    }
}

fn store_check(project: &Project, out: Output) -> Check {
    match run::open(project, out) {
        Ok(Some(opened)) => Check::new("store", State::Ok, opened.store.location().to_string()),
        Ok(None) => Check::new("store", State::Note, "nothing is stored yet")
            .next("`callsheet exec RECIPE` or `callsheet compose RECIPE --seal` makes one"),
        Err(failure) => Check::new("store", State::Problem, failure.text()),
    }
}

/// Returns the accounts or the runners that cannot be used as they are.
fn standings(project: &Project, setting: &str) -> Standings {
    let read = || -> Result<Standings, Failure> {
        let Some(opened) = store::open_if_there(project)? else {
            return Ok(Standings::new());
        };
        let value = opened.store.setting(&opened.project, setting).wait()?;
        Ok(value
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default())
    };
    // A store that cannot be read has its own line.
    read().unwrap_or_default()
}

/// Says which accounts cannot be used as they are.
fn accounts(project: &Project) -> impl Iterator<Item = Check> {
    let standings = standings(project, account::SETTING).into_iter();
    standings.map(|(account, standing)| {
        let why = standing.why();
        let found = match standing.until {
            Some(until) => format!("parked until {} ({why})", time::shown(until)),
            None => format!("stopped since {} ({why})", time::shown(standing.since)),
        };
        Check::new(format!("account {account}"), State::Note, found)
            .next("`callsheet exec … --probe` tries it once; a success opens it again")
    })
}

/// Says which runners wait because the machine was at fault.
fn paused(project: &Project) -> impl Iterator<Item = Check> {
    let standings = standings(project, account::RUNNERS).into_iter();
    standings.map(|(runner, standing)| {
        let until = standing.until.unwrap_or(standing.since);
        let found = format!("paused until {} ({})", time::shown(until), standing.why());
        Check::new(format!("runner {runner}"), State::Note, found).next(format!(
            "`callsheet exec … --runner {runner}` tries it at once; a success opens it again"
        ))
    })
}
