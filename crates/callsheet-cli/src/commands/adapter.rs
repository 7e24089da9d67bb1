//! `adapter`: what is known of agent CLIs, and what their output means.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;

use callsheet_run::{AgentEvent, Ending, Reader, Sheet, adapter};
use clap::Subcommand;
use serde_json::{Value, json};

use crate::failure::{Failure, cause_text};
use crate::output::Output;
use crate::output::terminal::fit_json;
use crate::project::Project;
use crate::table::{Align, Table};

/// The longest line that is read whole; of a longer one, only the beginning is kept.
const LONGEST: u64 = 64 << 20;

/// List and show adapters, and read an agent's output
///
/// An adapter knows one agent CLI: how it is started, and what each line of its output means. Its flags, variables and limits
/// are a sheet of data, which `[adapters.NAME]` in callsheet.toml can change.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  callsheet adapter list
  callsheet adapter show claude
  callsheet adapter parse codex --exit 1 out.ndjson
  claude -p --output-format stream-json --verbose < prompt.txt | callsheet adapter parse claude")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the adapters with the versions that they know
    List,
    /// Show the sheet of an adapter, with what the project changes of it
    Show {
        /// The adapter
        name: String,
    },
    /// Read the output of an agent CLI: events, and whether the run succeeded
    Parse {
        /// The adapter
        name: String,

        /// The output [default: stdin]
        file: Option<String>,

        /// The exit code of the CLI; below 0, the signal that ended it
        #[arg(
            long,
            value_name = "CODE",
            default_value_t = 0,
            allow_negative_numbers = true
        )]
        exit: i32,

        /// The signal that ended the CLI
        #[arg(long, value_name = "N", conflicts_with = "exit")]
        signal: Option<i32>,
    },
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        match self.command {
            Command::List => list(project, out),
            Command::Show { name } => show(project, &name, out),
            Command::Parse {
                name,
                file,
                exit,
                signal,
            } => {
                let known = adapter::NAMES
                    .iter()
                    .filter(|name| adapter::find(name).is_some());
                let found = adapter::find(&name).ok_or_else(|| unknown(&name, known));
                let signal = signal.or((exit < 0).then_some(exit.saturating_neg()));
                let ending = Ending {
                    exit_code: signal.is_none().then_some(exit),
                    signal,
                    stderr: String::new(),
                };
                let mut reader = found?.reader();
                out.stream(|out| parse(&mut *reader, file.as_deref(), &ending, out))?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a &'a str>) -> Failure {
    callsheet::Error::unknown("adapter", name, known.copied()).into()
}

/// Returns the table of an adapter's sheet, and whether the project changes it.
fn table(project: &Project, name: &str) -> Result<(toml::Table, bool), Failure> {
    let text = adapter::sheet(name).ok_or_else(|| unknown(name, adapter::NAMES.iter()))?;
    let changes = project.settings.adapters.get(name);
    let table = Sheet::table(text, changes).map_err(|error| Failure::input(error.to_string()))?;
    Ok((table, changes.is_some()))
}

fn sheet(project: &Project, name: &str) -> Result<Sheet, Failure> {
    let (table, _) = table(project, name)?;
    let read = table.try_into::<Sheet>();
    read.map_err(|error| Failure::input(format!("adapter `{name}`: {}", error.message())))
}

fn list(project: &Project, out: Output) -> Result<ExitCode, Failure> {
    let sheets = adapter::NAMES.iter().map(|name| sheet(project, name));
    let sheets = sheets.collect::<Result<Vec<Sheet>, Failure>>()?;
    if out.json {
        let row = |sheet: &Sheet| json!({"name": sheet.name, "title": sheet.title, "command": sheet.command, "versions": sheet.versions});
        let rows: Vec<Value> = sheets.iter().map(row).collect();
        out.document(&json!({"schema": "callsheet.adapters/1", "adapters": rows}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("RUNS", Align::Left),
        ("COMMAND", Align::Left),
        ("KNOWN VERSIONS", Align::Left),
    ]);
    for sheet in sheets {
        table.row([
            sheet.name,
            sheet.title,
            sheet.command.join(" "),
            sheet.versions.join(", "),
        ]);
    }
    out.text(&table.render())?;
    Ok(ExitCode::SUCCESS)
}

fn show(project: &Project, name: &str, out: Output) -> Result<ExitCode, Failure> {
    let (table, changed) = table(project, name)?;
    if out.json {
        let mut document = json!({"schema": "callsheet.adapter/1"});
        if let (Some(fields), Ok(Value::Object(sheet))) = (
            document.as_object_mut(),
            serde_json::to_value(sheet(project, name)?),
        ) {
            fields.extend(sheet);
        }
        out.document(&document)?;
    } else if changed {
        out.text(&table.to_string())?;
    } else {
        out.text(adapter::sheet(name).unwrap_or_default())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(
    reader: &mut dyn Reader,
    file: Option<&str>,
    ending: &Ending,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let name = file.filter(|name| *name != "-");
    let shown = name.unwrap_or("stdin");
    let mut lines: Box<dyn BufRead> = match name {
        None => Box::new(io::stdin().lock()),
        Some(name) => Box::new(BufReader::new(open(name)?)),
    };
    let mut out = io::BufWriter::new(out);
    let mut events = Events::default();
    // Events go out as they come in: an output of any size takes the memory of one line.
    let header = "{\n  \"schema\": \"callsheet.adapter-parse/1\",\n  \"events\": [";
    out.write_all(header.as_bytes()).map_err(|c| written(&c))?;
    loop {
        let line = next_line(&mut lines)
            .map_err(|cause| Failure::refused(&format!("cannot read `{shown}`"), &cause))?;
        let Some(line) = line else {
            break;
        };
        for event in reader.line(&line) {
            events.write(&mut out, &event).map_err(|c| written(&c))?;
        }
    }
    let verdict = fit_json(json!(reader.verdict(ending)).to_string());
    let end = if events.all == 0 { "" } else { "\n  " };
    let rest = format!(
        "{end}],\n  \"verdict\": {verdict},\n  \"unknown\": {}\n}}\n",
        events.unknown
    );
    let flushed = out.write_all(rest.as_bytes()).and_then(|()| out.flush());
    flushed.map_err(|cause| written(&cause))
}

fn written(cause: &io::Error) -> Failure {
    Failure::refused("cannot write to stdout", cause)
}

fn open(name: &str) -> Result<File, Failure> {
    let refused = |cause: io::Error| match cause.kind() {
        io::ErrorKind::NotFound => Failure::input(format!("{name}: {}", cause_text(&cause))),
        _ => Failure::refused(&format!("cannot read `{name}`"), &cause),
    };
    let file = File::open(name).map_err(refused)?;
    let folder = file.metadata().is_ok_and(|metadata| metadata.is_dir());
    if folder {
        return Err(Failure::input(format!("{name}: is a directory")));
    }
    Ok(file)
}

/// How many events were written.
#[derive(Default)]
struct Events {
    all: u64,
    unknown: u64,
}

impl Events {
    fn write(&mut self, out: &mut impl Write, event: &AgentEvent) -> io::Result<()> {
        let comma = if self.all == 0 { "" } else { "," };
        self.all += 1;
        self.unknown += u64::from(event.kind() == "unknown");
        let event = serde_json::to_string(event).map_err(io::Error::from)?;
        write!(out, "{comma}\n    {}", fit_json(event))
    }
}

/// Reads a line as text; bytes that are not UTF-8 are replaced, and what is too long is cut.
fn next_line(lines: &mut dyn BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut limited = io::Read::take(&mut *lines, LONGEST);
    if limited.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else {
        lines.skip_until(b'\n')?;
    }
    Ok(Some(String::from_utf8_lossy(&line).into_owned()))
}
