//! `template vars`: what the variables of a workflow file stand for, and what is left for the run.

use std::collections::BTreeMap;
use std::process::ExitCode;

use callsheet::inputs::{Located, Root};
use callsheet::omission::Reason;
use callsheet::text::value_text;
use callsheet::workflow::{self, Names, Resolved};
use serde_json::json;

use crate::failure::{Failure, cause_text};
use crate::input::defined;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::report::count;

/// Which file, and what it does not say itself.
#[derive(Debug, clap::Args)]
pub(super) struct Vars {
    /// The file, relative to the current folder
    file: String,

    /// Set a value, over that of the file: text with `=`, JSON with `:=`; `@FILE` or `@-` reads the value from a file or stdin
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    define: Vec<String>,

    /// Fail if a name is left for the run
    #[arg(long)]
    strict: bool,
}

impl Vars {
    pub(super) fn run(&self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let file = &self.file;
        let text = std::fs::read_to_string(file)
            .map_err(|cause| Failure::input(format!("{file}: {}", cause_text(&cause))))?;
        let given = defined(&self.define)?;
        let given = given.iter().map(|(name, value)| {
            let text = value_text(value).unwrap_or_default();
            (name.clone(), text)
        });
        let root = project.open()?;
        let place = root.path().display().to_string();
        let names = Names {
            given: &given.collect(),
            known: &BTreeMap::from([("project-root".to_owned(), place)]),
        };
        let resolved = workflow::resolve(&text, file, names, &|path| config(&root, path))?;
        if out.json {
            let values = resolved.values.iter();
            let values: serde_json::Map<_, _> = values
                .map(|(key, value)| (key.clone(), json!(value)))
                .collect();
            out.document(&json!({
                "schema": "callsheet.vars/1", "values": values, "open": resolved.open, "problems": resolved.problems,
            }))?;
        } else {
            let lines = resolved.values.iter();
            let lines = lines.map(|(key, value)| one_line(&format!("{key}={value}")) + "\n");
            out.text(&lines.collect::<String>())?;
        }
        self.verdict(&resolved, out)
    }

    fn verdict(&self, resolved: &Resolved, out: Output) -> Result<ExitCode, Failure> {
        let place = |line: Option<usize>| match line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        };
        for open in &resolved.open {
            let place = place(open.line);
            let message = format!(
                "{place}: `{}`: `{}` is left for the run",
                open.key, open.name
            );
            if self.strict {
                out.warn(&message);
            } else {
                out.note(&message);
            }
        }
        for problem in &resolved.problems {
            let place = place(problem.line);
            out.warn(&format!("{place}: `{}`: {}", problem.key, problem.message));
        }
        for name in &resolved.unused {
            out.warn(&format!("`{name}` is not used in `{}`", self.file));
        }
        let open = resolved.open.len();
        let found = resolved.problems.len() + if self.strict { open } else { 0 };
        if found == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let failure = Failure::negative(format!("{} found", count(found, "problem")));
        Err(match resolved.open.first().filter(|_| self.strict) {
            Some(open) => failure.hint(format!("`-D {}=…` gives a value", open.name)),
            None => failure,
        })
    }
}

/// Returns the text of a configuration file below the root, or why there is none.
fn config(root: &Root, path: &str) -> Result<String, String> {
    let Located::Inside(path) = root.locate(path) else {
        return Err(Reason::OutsideRoot.sentence().to_owned());
    };
    let bytes = root.read(&path).map_err(|refusal| {
        let detail = match refusal.detail.as_str() {
            "" => String::new(),
            detail => format!(": {detail}"),
        };
        format!("{}{detail}", refusal.reason.sentence())
    })?;
    String::from_utf8(bytes).map_err(|_| Reason::NotUtf8.sentence().to_owned())
}
