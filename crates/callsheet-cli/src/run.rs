//! What the commands about runs share: which runner, which environment, and how facts look.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callsheet_run::{Resolved, drive, find_program};
use callsheet_store::{Run, Stream, Wait};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{Output, human_tokens, one_line};
use crate::project::Project;
use crate::store::{self, Opened};
use crate::{target, telemetry};

/// The agents that are looked for when nobody says which, in this order.
pub(crate) const AGENTS: [&str; 4] = ["claude", "codex", "gemini", "opencode"];

/// How many changed files are named.
const MOST_FILES: usize = 10;

/// Returns the environment of this process; a variable that is not text is not passed on.
pub(crate) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Returns a folder by its real path.
pub(crate) fn real(folder: &Path) -> Result<PathBuf, Failure> {
    std::fs::canonicalize(folder)
        .map_err(|cause| Failure::refused(&format!("cannot find `{}`", folder.display()), &cause))
}

/// Chooses the runner: the named one, the project's own, else the first agent that is installed.
pub(crate) fn choose(project: &Project, named: Option<&str>) -> Result<String, Failure> {
    let settings = &project.settings;
    if let Some(name) = named.or(settings.runner.as_deref()) {
        return Ok(name.to_owned());
    }
    let mut own = settings.runners.keys();
    if let (Some(only), None) = (own.next(), own.next()) {
        return Ok(only.clone());
    }
    if settings.runners.len() > 1 {
        let names: Vec<String> = settings
            .runners
            .keys()
            .map(|name| format!("`{name}`"))
            .collect();
        return Err(
            Failure::input("callsheet.toml has more than one runner").hint(format!(
                "`--runner NAME` or `runner = \"NAME\"` in callsheet.toml chooses one of {}",
                names.join(", ")
            )),
        );
    }
    let path = std::env::var("PATH").ok();
    let found = AGENTS
        .iter()
        .find(|name| find_program(name, path.as_deref()).is_some());
    found.map(|name| (*name).to_owned()).ok_or_else(|| {
        Failure::input("no agent CLI was found: neither claude, codex, gemini nor opencode").hint(
            "`callsheet doctor` says what to do; `--runner NAME` takes a runner of callsheet.toml",
        )
    })
}

/// What the adapters `scripted` and `replay` play.
pub(crate) enum Script {
    /// A script of the project.
    File(PathBuf),
    /// A recorded run, as files, and the adapter that it was recorded with.
    Recording(tempfile::TempDir, String),
}

impl Script {
    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(file) => file,
            Self::Recording(folder, _) => folder.path(),
        }
    }
}

/// Finds what a runner plays, if its adapter plays anything.
pub(crate) fn script(project: &Project, runner: &Resolved) -> Result<Option<Script>, Failure> {
    let missing = |key: &str| {
        Failure::input(format!(
            "runner `{}` has the adapter `{}` and no `{key}`",
            runner.name, runner.sheet.name
        ))
    };
    match runner.sheet.name.as_str() {
        "scripted" => {
            let name = runner.runner.script.as_deref();
            let file = project.root().join(name.ok_or_else(|| missing("script"))?);
            if !file.is_file() {
                return Err(Failure::input(format!("{}: is not a file", file.display())));
            }
            Ok(Some(Script::File(file)))
        }
        "replay" => {
            let name = runner.runner.recording.as_deref();
            recording(project, name.ok_or_else(|| missing("recording"))?).map(Some)
        }
        _ => Ok(None),
    }
}

/// Returns a recorded run as files: what it wrote, and how it ended.
fn recording(project: &Project, name: &str) -> Result<Script, Failure> {
    let refused = |cause: std::io::Error| Failure::refused("cannot write the recording", &cause);
    let opened = store::open(project)?;
    let run = opened.store.run(&opened.project, name).wait()?;
    let folder = tempfile::tempdir().map_err(refused)?;
    for (stream, file) in [(Stream::Stdout, "stdout"), (Stream::Stderr, "stderr")] {
        let mut file = std::fs::File::create(folder.path().join(file)).map_err(refused)?;
        let mut since = 0;
        loop {
            let records = opened.store.log_since(run.id, since, 64, Some(stream));
            let records = records.wait()?;
            let Some(last) = records.last() else { break };
            since = last.seq;
            for record in &records {
                std::io::Write::write_all(&mut file, &record.data).map_err(refused)?;
            }
        }
    }
    let document = callsheet_run::document::document(&run);
    let ending = serde_json::json!({
        "exit_code": document["exit_code"],
        "signal": document["signal"],
        "adapter": document["adapter"],
    });
    std::fs::write(folder.path().join("ending.json"), ending.to_string()).map_err(refused)?;
    let adapter = text(&document, "/adapter").unwrap_or_default();
    Ok(Script::Recording(folder, adapter))
}

/// Opens the store of a project with every run in a true state: those whose process is gone are settled first.
pub(crate) fn open(project: &Project, out: Output) -> Result<Option<Opened>, Failure> {
    let Some(opened) = store::open_if_there(project)? else {
        return Ok(None);
    };
    let home = store::folder(project);
    if drive::is_settled(&opened.runs(&home))? {
        return Ok(Some(opened));
    }
    drop(opened);
    let opened = store::open_to_write(project)?;
    let settled = drive::settle(&opened.runs(&home), None)?;
    tell_settled(&settled, out);
    telemetry::export(&opened, &settled, out);
    Ok(Some(opened))
}

/// Opens the store of a project for writing, with every run in a true state.
pub(crate) fn open_to_write(project: &Project, out: Output) -> Result<Opened, Failure> {
    let opened = store::open_to_write(project)?;
    let settled = drive::settle(&opened.runs(&store::folder(project)), None)?;
    tell_settled(&settled, out);
    telemetry::export(&opened, &settled, out);
    Ok(opened)
}

/// Tells whether every required check passed and nothing outside of the scope changed.
pub(crate) fn is_fine(document: &Value) -> bool {
    let list = |name: &str| document[name].as_array().cloned().unwrap_or_default();
    let failed = |check: &Value| check["required"] != false && check["status"] != "passed";
    !list("checks").iter().any(failed) && list("violations").is_empty()
}

/// Opens the store, which has to be there.
pub(crate) fn open_some(project: &Project, out: Output) -> Result<Opened, Failure> {
    open(project, out)?.ok_or_else(|| {
        Failure::missing("there are no runs in this project")
            .hint("`callsheet exec RECIPE` starts one")
    })
}

/// Says which runs were settled.
pub(crate) fn tell_settled(runs: &[Run], out: Output) {
    for run in runs {
        let document = callsheet_run::document::document(run);
        out.note(&format!(
            "run {} had lost its process and is settled: {}",
            run.id,
            ending(&document)
        ));
    }
}

/// Returns a field as text; nothing where it is not known.
pub(crate) fn text(document: &Value, field: &str) -> Option<String> {
    match document.pointer(field)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Returns how a run ended, in a few words.
pub(crate) fn ending(document: &Value) -> String {
    let status = text(document, "/status")
        .or_else(|| text(document, "/state"))
        .unwrap_or_default();
    match text(document, "/class") {
        Some(class) if class != status => format!("{status} ({class})"),
        _ => status,
    }
}

/// Returns tokens and money in a few words; nothing where none were counted.
pub(crate) fn usage(document: &Value) -> Option<String> {
    let number = |field: &str| document["usage"][field].as_u64();
    let (input, output) = (number("input_tokens")?, number("output_tokens")?);
    let cached = match number("cached_tokens") {
        Some(cached) if cached > 0 => format!(" ({} cached)", human_tokens(cached)),
        _ => String::new(),
    };
    let cost = document["usage"]["cost_usd"].as_f64();
    let cost = cost.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
    Some(format!(
        "{} tokens in{cached}, {} out{cost}",
        human_tokens(input),
        human_tokens(output)
    ))
}

/// Returns how long a run took.
pub(crate) fn took(document: &Value) -> Option<String> {
    let at = |field: &str| document[field].as_i64();
    let millis = at("finished_at")? - at("started_at")?;
    let seconds = u64::try_from(millis).ok()? / 1000;
    Some(match seconds {
        0..60 => format!("{}.{} s", seconds, millis % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    })
}

/// Returns what was observed of a run, a line each.
pub(crate) fn facts(document: &Value) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    let mut add = |name: &'static str, value: Option<String>| {
        if let Some(value) = value {
            lines.push((name, one_line(&value)));
        }
    };
    add("status", Some(ending(document)));
    add("reason", text(document, "/reason"));
    let exit = text(document, "/exit_code").map(|code| format!("exit code {code}"));
    let signal = text(document, "/signal").map(|signal| format!("signal {signal}"));
    let how = text(document, "/termination").filter(|how| how != "exit" && how != "signal");
    let process: Vec<String> = [exit, signal, how].into_iter().flatten().collect();
    add(
        "process",
        Some(process.join(", ")).filter(|text| !text.is_empty()),
    );
    add("runner", text(document, "/runner"));
    add(
        "model",
        text(document, "/answered_by").or_else(|| text(document, "/model")),
    );
    add("took", took(document));
    add("usage", usage(document));
    add("prompt", text(document, "/prompt"));
    add("delivered", delivered(document));
    add("head", head(document));
    add(
        "branch",
        text(document, "/task").and_then(|_| text(document, "/branch")),
    );
    add("changed", changed(document));
    for check in document["checks"].as_array().into_iter().flatten() {
        add("check", Some(check_line(check)));
    }
    for violation in document["violations"].as_array().into_iter().flatten() {
        add("violation", Some(violation_line(violation)));
    }
    let leftovers = document["leftovers"].as_array().map_or(0, Vec::len);
    add(
        "ended",
        (leftovers > 0).then(|| format!("{leftovers} processes that the agent left behind")),
    );
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, value) in &lines {
        text.push_str(&format!("{name:<width$}  {value}\n"));
    }
    text
}

fn check_line(check: &Value) -> String {
    let word = |field: &str| text(check, field).unwrap_or_default();
    let why = text(check, "/reason").or_else(|| {
        let code = text(check, "/exit_code").filter(|code| code != "0")?;
        Some(format!("exit code {code}"))
    });
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("{} {}{why}", word("/name"), word("/status"))
}

fn violation_line(violation: &Value) -> String {
    let word = |field: &str| text(violation, field).unwrap_or_default();
    let approval = text(violation, "/approval").unwrap_or_else(|| "pending".to_owned());
    format!(
        "{} {} ({approval}, {})",
        word("/reason"),
        word("/path"),
        word("/id")
    )
}

fn delivered(document: &Value) -> Option<String> {
    let prompt = &document["delivered"]["prompt"];
    let bytes = prompt["bytes"].as_u64()?;
    let read = match prompt["read"].as_u64() {
        Some(read) if read == bytes => "all of it read".to_owned(),
        Some(read) => format!("{read} of it read"),
        None if document["exit_code"].is_null() && document["signal"].is_null() => {
            "never read".to_owned()
        }
        None => "how much was read is not known".to_owned(),
    };
    Some(format!("{bytes} bytes, {read}"))
}

fn head(document: &Value) -> Option<String> {
    let short =
        |field: &str| text(document, field).map(|head| head.chars().take(12).collect::<String>());
    let (start, end) = (short("/start_head")?, short("/head")?);
    let dirty = match document["dirty"].as_bool() {
        Some(true) => ", dirty",
        _ => "",
    };
    Some(if start == end {
        format!("{end}{dirty}")
    } else {
        format!("{start} → {end}{dirty}")
    })
}

fn changed(document: &Value) -> Option<String> {
    let files = document["changed_files"].as_array()?;
    let names: Vec<&str> = files.iter().filter_map(Value::as_str).collect();
    Some(match names.len() {
        0 => "nothing".to_owned(),
        count if count <= MOST_FILES => names.join(", "),
        count => format!(
            "{} and {} more",
            names[..MOST_FILES].join(", "),
            count - MOST_FILES
        ),
    })
}

/// Finds a run by its id or a unique prefix.
pub(crate) fn find(opened: &Opened, name: &str) -> Result<Run, Failure> {
    if !target::could_be_id(name) {
        return Err(Failure::input(format!("`{name}` is not the id of a run"))
            .hint("`callsheet runs` lists them"));
    }
    opened.store.run(&opened.project, name).wait().map_err(|error| {
        let unknown = matches!(&error, callsheet_store::StoreError::Unknown { candidates, .. } if candidates.is_empty());
        if unknown {
            return Failure::input(error.to_string()).hint("`callsheet runs` lists them");
        }
        error.into()
    })
}
