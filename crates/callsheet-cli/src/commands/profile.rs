//! `profile`: list, show and check agent profiles.

use std::process::ExitCode;

use callsheet::profile::{Found, Profile, Profiles};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::report::verdict;
use crate::table::{Align, Table};

/// List, show and check agent profiles
///
/// A profile says who an agent is, what runs it and what it may not touch. It stands in callsheet.toml as
/// `[profiles.NAME]`, or in callsheet/profiles/NAME.toml.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  callsheet profile list
  callsheet profile show coder
  callsheet profile check
  callsheet compose run --input task.yaml -D profile=coder")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the profiles with their versions
    List,
    /// Show what a profile says
    Show {
        /// The profile
        name: String,
    },
    /// Check profiles: unknown keys, bad patterns, unknown variables
    Check {
        /// The profiles [default: all]
        names: Vec<String>,
    },
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let profiles = Profiles::read(&project.open()?, &project.settings.prompt)?;
        match self.command {
            Command::List => list(&profiles, out),
            Command::Show { name } => show(&profiles, &name, out),
            Command::Check { names } => check(&profiles, &names, out),
        }
    }
}

fn list(profiles: &Profiles, out: Output) -> Result<ExitCode, Failure> {
    if let Some(error) = &profiles.settings {
        return Err(error.clone().into());
    }
    if out.json {
        let rows: Vec<Value> = profiles
            .iter()
            .map(|(name, found)| row(name, found))
            .collect();
        out.document(&json!({"schema": "callsheet.profiles/1", "profiles": rows}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("HOME", Align::Left),
        ("RUNNER", Align::Left),
        ("MODEL", Align::Left),
        ("VERSION", Align::Left),
        ("DESCRIPTION", Align::Left),
    ]);
    for (name, found) in profiles.iter() {
        let (name, home) = (name.to_owned(), found.home.clone());
        match &found.read {
            Ok(profile) => table.row([
                name,
                home,
                profile.runner.clone(),
                profile.model.clone().unwrap_or_default(),
                profile.fingerprint().to_string().chars().take(15).collect(),
                profile.description.clone().unwrap_or_default(),
            ]),
            Err(_) => {
                let why = format!("(cannot be read: `callsheet profile check {name}` says why)");
                table.row([name, home, String::new(), String::new(), String::new(), why]);
            }
        }
    }
    out.text(&table.render())?;
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, found: &Found) -> Value {
    match &found.read {
        Ok(profile) => json!({
            "name": name, "home": found.home, "runner": profile.runner, "model": profile.model,
            "description": profile.description, "fingerprint": profile.fingerprint(),
        }),
        Err(error) => json!({"name": name, "home": found.home, "problem": error.to_string()}),
    }
}

fn show(profiles: &Profiles, name: &str, out: Output) -> Result<ExitCode, Failure> {
    let (home, profile) = profiles.find(name)?;
    if out.json {
        let mut document = json!({
            "schema": "callsheet.profile/1", "home": home, "fingerprint": profile.fingerprint(),
        });
        if let Some(fields) = document.as_object_mut() {
            fields.extend(profile.document());
        }
        out.document(&document)?;
    } else {
        out.text(&shown(home, profile))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(home: &str, profile: &Profile) -> String {
    let mut head = format!("{} ({home})", profile.name);
    if let Some(description) = &profile.description {
        head.push_str(&format!(": {description}"));
    }
    let mut text = format!("{}\n{}\n\n", one_line(&head), profile.fingerprint());
    text.push_str(&format!("runner: {}\n", one_line(&profile.runner)));
    if let Some(model) = &profile.model {
        text.push_str(&format!("model: {}\n", one_line(model)));
    }
    for (name, globs) in [
        ("default_exclude", &profile.default_exclude),
        ("default_write_scope", &profile.default_write_scope),
    ] {
        for glob in globs {
            text.push_str(&format!("{name}: {}\n", one_line(glob)));
        }
    }
    if !profile.config.is_empty() {
        let config = Value::Object(profile.config.clone());
        text.push_str(&format!("config: {config}\n"));
    }
    if let Some(template) = &profile.prompt_template {
        text.push_str(&format!("\n{}\n", template.trim_end()));
    }
    text
}

fn check(profiles: &Profiles, names: &[String], out: Output) -> Result<ExitCode, Failure> {
    let all: Vec<&str> = profiles.names().collect();
    let names: Vec<&str> = match names {
        [] => all.clone(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut problems: Vec<String> = Vec::new();
    let text = |error: callsheet::Error| Failure::from(error).text();
    problems.extend(profiles.settings.clone().map(text));
    for name in &names {
        if !all.contains(name) && profiles.settings.is_none() {
            problems.push(text(callsheet::Error::unknown(
                "profile",
                name,
                all.clone(),
            )));
        }
        problems.extend(profiles.problems(name).into_iter().map(text));
    }
    if out.json {
        out.document(
            &json!({"schema": "callsheet.check/1", "checked": names, "problems": problems}),
        )?;
    } else {
        for problem in &problems {
            out.text(&format!("{problem}\n"))?;
        }
    }
    verdict(names.len(), "profile", problems.len(), out)
}
