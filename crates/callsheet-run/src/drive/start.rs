//! The start of a run: who may, with what, and what is on record before the agent is there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use callsheet::Fingerprint;
use callsheet_store::{BatchClaim, Claim, NewRun, Record, Run, Stream, Wait};
use serde_json::{Value, json};

use super::admit::{Admission, Closed};
use super::folder::RunFolder;
use super::worker::Worker;
use super::{Job, LEASE, Watcher};
use crate::document::{Delivered, Handed, Known};
use crate::launch::Launch;
use crate::sandbox::{self, Sandbox};
use crate::tasks::{self, Terms, conclude};
use crate::{
    Order, Permissions, Plan, Resolved, RunError, ambient, environment, facts, resolve, version,
};

/// The variable that tells an agent which phase of a sprint it is.
pub(super) const PHASE: &str = "CALLSHEET_PHASE";

/// A run that is ready to go.
pub(super) struct Started {
    pub(super) claim: Claim,
    pub(super) folder: RunFolder,
    pub(super) launch: Launch,
    pub(super) known: Known,
}

/// Returns the time, in milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// What was found out before a run is claimed.
pub(super) struct Ready {
    passed: BTreeMap<String, String>,
    isolate: bool,
    command: Vec<String>,
}

/// Finds out whether a run can be planned.
pub(super) fn look(job: &Job<'_>) -> Result<Ready, RunError> {
    check_size(job)?;
    let (passed, has_key) =
        environment::passed(&job.runner.runner, &job.runner.sheet, job.environment);
    let isolate = environment::isolated(job.runner.runner.isolate, has_key);
    // What cannot be planned is a mistake of a person, and no run.
    let command = native(job, &passed);
    let trial = order(job, Path::new("/"), &command, (isolate, &passed));
    job.runner.adapter.plan(&trial)?;
    Ok(Ready {
        passed,
        isolate,
        command,
    })
}

/// Puts everything in place that an agent needs, and on record what it is given.
pub(super) fn prepare(
    job: &Job<'_>,
    claim: Claim,
    ready: Ready,
    watcher: &mut dyn Watcher,
) -> Result<Started, RunError> {
    let Ready {
        passed,
        isolate,
        command,
    } = ready;
    let folder = RunFolder::of(job.home, claim.run.id.as_str());
    let order = order(job, folder.path(), &command, (isolate, &passed));
    let plan = job.runner.adapter.plan(&order)?;
    for note in &plan.notes {
        watcher.note(note);
    }
    lay_out(job, &folder, &plan)
        .map_err(|cause| RunError::refused("cannot make the folder of the run", cause))?;
    let launch = launch(job, &claim, &folder, &plan, (isolate, &passed));
    let home = launch.env.get("HOME").map(PathBuf::from);
    let version = version::of(job.home, &launch, &job.runner.sheet);
    if let Some(warning) = version::warning(&job.runner.sheet, version.as_deref()) {
        watcher.note(&warning);
    }
    let snapshot = snapshot(job, &folder)?;
    let known = Known {
        argv: launch.argv.clone(),
        env: launch.env.keys().cloned().collect(),
        version,
        isolated: isolate,
        ambient: ambient::look(
            &job.runner.sheet,
            home.as_deref().filter(|_| !isolate),
            job.cwd,
            job.ground().map(|ground| ground.repository().top()),
        ),
        delivered: Delivered {
            prompt: Some(handed(job.prompt, false)),
            system: job.system.map(|text| handed(text, plan.trims_system)),
        },
        branch: snapshot.branch,
        start_head: snapshot.head,
        start_tree: snapshot.tree,
        worktree: Some(job.cwd.to_string_lossy().into_owned()),
    };
    record(job, &claim, &folder, &known)?;
    Ok(Started {
        claim,
        folder,
        launch,
        known,
    })
}

/// Looks at the files before the agent; what a task needs to be judged by stays in the folder of the run.
fn snapshot(job: &Job<'_>, folder: &RunFolder) -> Result<facts::Before, RunError> {
    let Some(task) = &job.task else {
        return Ok(facts::before(job.cwd, folder.path()));
    };
    let before = conclude::Before::look(task.ground, task.terms, folder.path(), job.home)?;
    folder
        .write(&folder.before(), json!(before).to_string().as_bytes())
        .map_err(|cause| RunError::refused("cannot write the facts of the run", cause))?;
    Ok(facts::Before {
        branch: before.start.branch,
        head: before.start.head,
        tree: before.start.tree,
    })
}

fn check_size(job: &Job<'_>) -> Result<(), RunError> {
    let bytes = job.prompt.len() as u64;
    match job.runner.sheet.most_prompt_bytes {
        Some(most) if bytes > most => Err(RunError::Input(format!(
            "the prompt has {bytes} bytes, and `{}` takes {most}",
            job.runner.sheet.name
        ))),
        _ => Ok(()),
    }
}

/// Returns the command line's beginning, with the program that does the work where the named one only starts it.
fn native(job: &Job<'_>, env: &BTreeMap<String, String>) -> Vec<String> {
    let mut command = job.runner.command.clone();
    let path = env.get("PATH").map(String::as_str);
    if let Some(first) = command.first_mut()
        && let Some(program) = resolve::find_program(first, path)
    {
        let real = std::fs::canonicalize(&program).unwrap_or(program);
        let candidates = job.runner.adapter.natives(&real);
        if let Some(native) = candidates.into_iter().find(|file| file.is_file()) {
            *first = native.to_string_lossy().into_owned();
        }
    }
    command
}

fn order<'a>(
    job: &Job<'a>,
    folder: &'a Path,
    command: &'a [String],
    (isolate, env): (bool, &'a BTreeMap<String, String>),
) -> Order<'a> {
    let runner = &job.runner.runner;
    Order {
        sheet: &job.runner.sheet,
        command,
        model: runner.model.as_deref(),
        permissions: job.runner.permissions,
        allow: &runner.allow,
        deny: &runner.deny,
        prompt: job.prompt,
        system: job.system,
        folder,
        cwd: job.cwd,
        isolate,
        env,
        prompt_by: runner.prompt,
        program: job.program,
        script: job.script,
        sandboxed: job.sandbox.is_some(),
    }
}

/// Claims a new run, if the limits, the account and the runner allow it; with it comes what a person should know.
pub(super) fn admitted(job: &Job<'_>) -> Result<(Claim, Option<String>), RunError> {
    let closed = Closed::read(job.store, job.project)?;
    let admission = Admission::of(job.runner, job.most, &closed, job.asker);
    let note = admission.note();
    let new = NewRun {
        prompt: job.sealed,
        kind: job.kind,
        parent: job.parent,
        task: job.task.map(|task| task.id),
        request: request_of(job),
        batch: batch_of(job),
    };
    let task = job.task.map(|task| {
        let write = task.terms.scope.write.clone();
        (task.id.to_string(), write, task.conflict_threshold)
    });
    let admit = move |running: &[Run]| {
        if let Some((task, write, threshold)) = &task {
            tasks::beside(task, write, *threshold, running)?;
        }
        admission.check(running)
    };
    let worker = Worker::here()?.to_string();
    let started = job
        .store
        .start_run(job.project, new, &worker, LEASE, admit)
        .wait()?;
    Ok((started.map_err(RunError::NotNow)?, note))
}

/// Returns the batch that a run belongs to, and the number of its action there.
fn batch_of(job: &Job<'_>) -> Option<(BatchClaim, i64)> {
    let (claim, action) = job.phase?.batch?;
    Some((claim.clone(), i64::try_from(action).ok()?))
}

fn request_of(job: &Job<'_>) -> Value {
    let mut request = request(job.runner, job.task.map(|task| task.terms));
    if let Some(phase) = job.phase {
        request["phase"] = json!(phase.command);
        request["stories"] = json!(phase.stories);
        request["attempt"] = json!(phase.attempt);
        if !phase.write_scope.is_empty() {
            request["write_scope"] = json!(phase.write_scope);
        }
    }
    request
}

/// Returns what is asked for with a run, as it is stored.
pub(super) fn request(runner: &Resolved, terms: Option<&Terms>) -> Value {
    let mut request = json!({
        "runner": runner.name,
        "adapter": runner.sheet.name,
        "model": runner.runner.model,
        "account": runner.account,
        "permissions": runner.permissions,
        "recorded": runner.recorded,
    });
    let terms = terms.map(|terms| json!(terms));
    if let (Value::Object(request), Some(Value::Object(terms))) = (&mut request, terms) {
        request.extend(terms);
    }
    request
}

fn lay_out(job: &Job<'_>, folder: &RunFolder, plan: &Plan) -> std::io::Result<()> {
    folder.make()?;
    folder.write(&folder.prompt(), job.prompt.as_bytes())?;
    if let Some(system) = job.system {
        folder.write(&folder.system(), system.as_bytes())?;
    }
    for (path, text) in &plan.files {
        folder.write(path, text.as_bytes())?;
    }
    Ok(())
}

fn launch(
    job: &Job<'_>,
    claim: &Claim,
    folder: &RunFolder,
    plan: &Plan,
    (isolate, passed): (bool, &BTreeMap<String, String>),
) -> Launch {
    // What is passed on has the variables of the runner, and a plan changes only what makes it work.
    let mut env = passed.clone();
    env.extend(plan.env.clone());
    #[cfg(feature = "otel")]
    if crate::otel::is_on(job.environment) {
        let parent = crate::otel::traceparent(claim.run.id);
        env.insert("TRACEPARENT".to_owned(), parent);
    }
    let temporary = folder.temporary().to_string_lossy().into_owned();
    env.insert("TMPDIR".to_owned(), temporary);
    environment::without_maintenance(&mut env);
    env.insert("CALLSHEET_RUN".to_owned(), claim.run.id.to_string());
    if let Some(phase) = &job.phase {
        env.insert(PHASE.to_owned(), phase.command.to_owned());
        env.insert("CALLSHEET_STORIES".to_owned(), phase.stories.join(","));
        env.insert("CALLSHEET_ATTEMPT".to_owned(), phase.attempt.to_string());
    }
    let sandbox = sandbox(job, folder, isolate, &env);
    Launch {
        argv: plan.argv.clone(),
        env,
        cwd: job.cwd.to_owned(),
        stdin: plan.prompt_on_stdin.then(|| folder.prompt()),
        stdout: folder.stdout(),
        stderr: folder.stderr(),
        journal: folder.journal(),
        stop: plan.stop,
        sandbox,
    }
}

/// Returns what the agent may write, where it is to be in the sandbox; with `read` only what is private to the run or its CLI.
fn sandbox(
    job: &Job<'_>,
    folder: &RunFolder,
    isolate: bool,
    env: &BTreeMap<String, String>,
) -> Option<Sandbox> {
    let given = job.sandbox?;
    let mut write = vec![
        folder.temporary(),
        folder.state(),
        // What a program prints may be opened once more, as `/dev/stdout`.
        folder.stdout(),
        folder.stderr(),
    ];
    let state = job.runner.sheet.state.iter().filter(|_| !isolate);
    let state = state.filter_map(|path| sandbox::expand(Path::new(path), env));
    for directory in state {
        // The CLI would make it too, if it could; one that cannot be made is missing for it as well.
        let _ = std::fs::create_dir_all(&directory);
        write.push(directory);
    }
    if job.runner.permissions != Permissions::Read {
        write.push(job.cwd.to_owned());
        write.extend(given.iter().filter_map(|path| sandbox::expand(path, env)));
    }
    Some(Sandbox { write })
}

fn handed(text: &str, is_trimmed: bool) -> Handed {
    Handed {
        fingerprint: Fingerprint::of(text).to_string(),
        bytes: text.len() as u64,
        read: None,
        trimmed: is_trimmed && text.trim() != text,
    }
}

/// Puts on record what the agent is given, before it is given anything: the prompt first.
fn record(job: &Job<'_>, claim: &Claim, folder: &RunFolder, known: &Known) -> Result<(), RunError> {
    let mut facts = json!(known);
    facts["kind"] = json!("launch");
    let meta = |data: Vec<u8>| Record {
        stream: Stream::Meta,
        data,
    };
    let mut records = vec![meta(job.prompt.as_bytes().to_vec())];
    if let Some(system) = job.system {
        records.push(meta(line(&json!({"kind": "system", "text": system}))));
    }
    records.push(meta(line(&facts)));
    let said = format!(
        "{} is started",
        known.argv.first().map_or("", String::as_str)
    );
    let event = callsheet::Event::new(
        "run:launched",
        [
            ("run", json!(claim.run.id)),
            ("runner", json!(job.runner.name)),
            ("adapter", json!(job.runner.sheet.name)),
            ("isolated", json!(known.isolated)),
            ("permissions", json!(job.runner.permissions)),
            ("ambient", json!(known.ambient)),
            ("version", json!(known.version)),
            ("delivered", json!(known.delivered)),
        ],
        said,
    );
    let last = records.len() - 1;
    job.store
        .append_output(claim, records, vec![(Some(last), event)])
        .wait()?;
    folder
        .write(&folder.facts(), facts.to_string().as_bytes())
        .map_err(|cause| RunError::refused("cannot write the facts of the run", cause))
}

fn line(value: &Value) -> Vec<u8> {
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}
