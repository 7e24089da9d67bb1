//! The end of a run: what the process, git and the final event say together, on record before anything is removed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callsheet::Event;
use callsheet_store::{Claim, Project, Run, Store, StoreError, Wait};
use serde_json::{Value, json};

use super::clocks::Expired;
use super::folder::RunFolder;
use super::start::now;
use super::steps::Steps;
use super::watch::{Ended, Stopped};
use super::{CheckWatcher, LEASE, RunStore, Watcher, while_kept};
use crate::account::{self, Standing, Standings};
use crate::checks::Checked;
use crate::document::{Observed, Status, Termination};
use crate::tasks::{Terms, conclude};
use crate::workspace::Ground;
use crate::{Class, Consequence, Limits, Outcome, RunError, Verdict, facts};

/// Where a run took place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) store: &'a Store,
    pub(super) project: &'a Project,
    pub(super) home: &'a Path,
    pub(super) cwd: &'a Path,
    pub(super) account: &'a str,
    /// This program and its environment, where checks can be run.
    pub(super) bench: Option<(&'a Path, &'a BTreeMap<String, String>)>,
    pub(super) runner: &'a str,
    /// Where the files of a task are, which this process holds.
    pub(super) ground: Option<&'a Ground>,
}

/// Observes what an agent did, finishes its run and returns it.
pub(super) fn end(
    scene: &Scene<'_>,
    mut ended: Ended,
    watcher: &mut dyn Watcher,
) -> Result<Run, RunError> {
    let mut judged = judge(&ended);
    if let (Some(prompt), Some(exited)) = (&mut ended.known.delivered.prompt, ended.steps.exited) {
        prompt.read = ended.ingest.took(exited.read);
    }
    let facts = match Terms::of(&ended.claim.run) {
        Some(terms) => concluded(scene, &ended, &mut judged, &terms, watcher)?,
        None => Value::Null,
    };
    let mut outcome = json!(ended.known);
    merge(&mut outcome, json!(observed(scene, &ended, judged.clone())));
    merge(&mut outcome, facts);
    ended.folder.make_room();
    finish(scene, &ended, &outcome)?;
    note(scene, judged.verdict, judged.reason);
    // What is left of a folder is removed by whoever settles runs next.
    let _ = ended.folder.remove();
    Ok(scene
        .store
        .run(scene.project, ended.claim.run.id.as_str())
        .wait()?)
}

/// Finishes a run that was stopped before its agent was started.
pub(super) fn cancel(run_store: &RunStore<'_>, claim: &Claim) -> Result<(), RunError> {
    let why = "it was stopped before the agent was started";
    let outcome = not_started((Status::Cancelled, Class::Cancelled), why);
    run_store.store.finish_run(claim, &outcome).wait()?;
    Ok(())
}

fn not_started((status, class): (Status, Class), reason: &str) -> Value {
    json!({"status": status, "class": class, "reason": reason, "charged": false})
}

/// Finishes a run whose agent could not be started.
pub(super) fn give_up(run_store: &RunStore<'_>, claim: &Claim, error: &RunError) {
    // What git says of a worktree is nothing against the runner.
    let class = match error {
        RunError::Failed { .. } => Class::Unknown,
        _ => Class::Environment,
    };
    let outcome = not_started((Status::Failed, class), &error.to_string());
    // A store that refuses as well leaves the run to whoever settles it.
    if let Ok(true) = run_store.store.finish_run(claim, &outcome).wait() {
        let request = claim.run.request.clone().unwrap_or_default();
        let scene = Scene {
            store: run_store.store,
            project: run_store.project,
            home: run_store.home,
            cwd: run_store.home,
            account: request["account"].as_str().unwrap_or_default(),
            runner: request["runner"].as_str().unwrap_or_default(),
            bench: None,
            ground: None,
        };
        note(&scene, Verdict::failure(class), Some(error.to_string()));
        let _ = RunFolder::of(run_store.home, claim.run.id.as_str()).remove();
    }
}

/// Returns what git, the checks and the scope say of a task's run.
///
/// An agent whose work cannot be looked at has failed, whatever else is known of it.
fn concluded(
    scene: &Scene<'_>,
    ended: &Ended,
    judged: &mut Judged,
    terms: &Terms,
    watcher: &mut dyn Watcher,
) -> Result<Value, RunError> {
    let before = std::fs::read_to_string(ended.folder.before()).unwrap_or_default();
    let Ok(before) = serde_json::from_str(&before) else {
        return Ok(conclude::nothing(
            terms,
            "the agent was never started, or it was on another machine",
        ));
    };
    match conclude(scene, ended, (judged, terms, &before), watcher) {
        // Whoever comes next can tell more.
        Err(error @ (RunError::NotNow(_) | RunError::Store(_))) => Err(error),
        Err(error) => {
            if judged.status == Status::Completed {
                judged.status = Status::Failed;
                judged.verdict = Verdict::failure(Class::Unknown);
            }
            let why = format!("cannot tell what the agent changed: {error}");
            let facts = conclude::nothing(terms, &why);
            judged.reason = Some(why);
            Ok(facts)
        }
        facts => facts,
    }
}

fn conclude(
    scene: &Scene<'_>,
    ended: &Ended,
    (judged, terms, before): (&Judged, &Terms, &conclude::Before),
    watcher: &mut dyn Watcher,
) -> Result<Value, RunError> {
    let gone = || RunError::Input("the repository is not there".to_owned());
    let ground = scene.ground.ok_or_else(gone)?;
    let unchecked = match judged.status {
        Status::Cancelled => Some("the run was stopped"),
        _ if judged.termination.is_none() => Some("the agent was never started, or lost"),
        _ => None,
    };
    let sandbox = ended.steps.sandbox.as_ref();
    let bench = scene.bench.map(|(program, environment)| conclude::Bench {
        program,
        environment,
        sandbox,
    });
    let concluding = conclude::Ended {
        run: &ended.claim.run,
        terms,
        ground,
        folder: ended.folder.path(),
        home: scene.home,
        sandboxed: sandbox.is_some(),
        unchecked,
    };
    while_kept(scene.store, &ended.claim, |asked| {
        let mut checking = Checking {
            scene,
            claim: &ended.claim,
            watcher,
            asked,
        };
        conclude::conclude(&concluding, before, bench.as_ref(), &mut checking)
    })
}

/// Puts checks on record as they come, and passes them on.
struct Checking<'a> {
    scene: &'a Scene<'a>,
    claim: &'a Claim,
    watcher: &'a mut dyn Watcher,
    asked: &'a AtomicBool,
}

impl Checking<'_> {
    fn record(&self, kind: &str, facts: Value, said: String) {
        let mut payload = match facts {
            Value::Object(facts) => facts,
            _ => serde_json::Map::new(),
        };
        payload.insert("run".to_owned(), json!(self.claim.run.id));
        let event = Event::new(kind, payload, said);
        // The outcome of the run has it all; an event that is lost is one line less to watch.
        let _ = (self.scene.store)
            .append_output(self.claim, Vec::new(), vec![(None, event)])
            .wait();
    }
}

impl CheckWatcher for Checking<'_> {
    fn begins(&mut self, name: &str) {
        let said = format!("check `{name}` is started");
        self.record("check:started", json!({"name": name}), said);
        self.watcher.say(&format!("check {name}"));
    }

    fn ended(&mut self, checked: &Checked) {
        let name = &checked.name;
        let status = checked.status.as_str();
        let said = format!("check `{name}` {status}");
        self.record("check:finished", json!(checked), said);
        self.watcher.say(&format!("check {name}: {status}"));
    }

    fn is_stopped(&mut self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.watcher.stops() > 0
    }
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

fn finish(scene: &Scene<'_>, ended: &Ended, outcome: &Value) -> Result<(), RunError> {
    let since = Instant::now();
    loop {
        match scene.store.finish_run(&ended.claim, outcome).wait() {
            Ok(true) => return Ok(()),
            Ok(false) => {
                let run = ended.claim.run.id;
                return Err(RunError::NotNow(format!(
                    "run `{run}` was settled by another process"
                )));
            }
            Err(StoreError::Unavailable { .. }) if since.elapsed() < LEASE => {
                std::thread::sleep(Duration::from_millis(250));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// What the end means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    status: Status,
    termination: Option<Termination>,
    reason: Option<String>,
    verdict: Verdict,
}

/// Decides how a run ended: by the final event and the exit code together, and by what we did ourselves.
fn judge(ended: &Ended) -> Judged {
    let steps = &ended.steps;
    let (code, signal) = steps
        .exited
        .map_or((None, None), |exited| (exited.code, exited.signal));
    // A process that lingers after its final event had to be ended; the event stands.
    let lingered = ended.stopped == Some(Stopped::Expired(Expired::Exit));
    let verdict = if lingered {
        ended.ingest.verdict(Some(0), None)
    } else {
        ended.ingest.verdict(code, signal)
    };
    let judged = decide(steps, ended.stopped, verdict, &ended.limits);
    explained(judged, ended)
}

fn decide(steps: &Steps, stopped: Option<Stopped>, verdict: Verdict, limits: &Limits) -> Judged {
    if let Some(why) = &steps.not_spawned {
        return Judged {
            status: Status::Failed,
            termination: None,
            reason: Some(why.clone()),
            verdict: Verdict::failure(Class::Environment),
        };
    }
    let own = match steps.exited {
        Some(exited) if exited.code.is_some() => Some(Termination::Exit),
        Some(_) => Some(Termination::Signal),
        None => None,
    };
    let clean = steps.exited.is_some_and(|exited| exited.code == Some(0));
    let succeeded = verdict.outcome == Outcome::Succeeded;
    let with = |status, termination, reason: Option<String>, verdict| Judged {
        status,
        termination,
        reason,
        verdict,
    };
    match stopped {
        // It was done before it heard of the stop.
        Some(Stopped::Asked) if succeeded && clean => with(Status::Completed, own, None, verdict),
        Some(Stopped::Asked) => with(
            Status::Cancelled,
            Some(Termination::Cancelled),
            None,
            Verdict::failure(Class::Cancelled),
        ),
        Some(Stopped::Expired(Expired::Exit)) => {
            let status = status_of(&verdict);
            let reason = Some(Expired::Exit.sentence(limits));
            with(status, Some(Termination::Timeout), reason, verdict)
        }
        Some(Stopped::Expired(expired)) => with(
            Status::Failed,
            Some(Termination::Timeout),
            Some(expired.sentence(limits)),
            Verdict::failure(Class::Incomplete),
        ),
        None if steps.exited.is_none() || steps.orphaned => with(
            Status::Failed,
            own,
            Some("callsheet ended before the agent did".to_owned()),
            Verdict::failure(Class::Incomplete),
        ),
        None => with(status_of(&verdict), own, None, verdict),
    }
}

fn status_of(verdict: &Verdict) -> Status {
    match (verdict.outcome, verdict.class) {
        (Outcome::Succeeded, _) => Status::Completed,
        (_, Some(Class::Cancelled)) => Status::Cancelled,
        _ => Status::Failed,
    }
}

/// Adds what the CLI said, and tells a full disk from an agent that failed by itself.
fn explained(mut judged: Judged, ended: &Ended) -> Judged {
    if judged.status != Status::Failed {
        return judged;
    }
    let stderr = ended.ingest.stderr();
    let vague = matches!(
        judged.verdict.class,
        Some(Class::Incomplete | Class::Unknown)
    );
    if vague && (ended.no_room || stderr.contains("No space left on device")) {
        judged.verdict = Verdict::failure(Class::Environment);
        judged.reason = Some("no space left on the disk".to_owned());
    }
    if judged.reason.is_none() {
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        let said = ended.ingest.seen().error.clone();
        judged.reason = said.or_else(|| last.map(|line| line.trim().chars().take(500).collect()));
    }
    judged
}

fn observed(scene: &Scene<'_>, ended: &Ended, judged: Judged) -> Observed {
    let seen = ended.ingest.seen();
    let exited = ended.steps.exited;
    let after = match ended.claim.run.task {
        // A task has facts of its own.
        Some(_) => facts::After::default(),
        None => facts::after(
            scene.cwd,
            ended.folder.path(),
            ended.known.start_tree.as_deref(),
        ),
    };
    let class = judged.verdict.class;
    Observed {
        status: judged.status,
        class,
        termination: judged.termination,
        exit_code: exited.and_then(|exited| exited.code),
        signal: exited.and_then(|exited| exited.signal),
        reason: judged.reason,
        resets_at: judged.verdict.resets_at,
        charged: class.is_some_and(|class| class.consequence() == Consequence::Charge),
        head: after.head,
        dirty: after.dirty,
        changed_files: after.changed_files,
        usage: seen.usage,
        answered_by: seen.model.clone(),
        session: seen.session.clone(),
        unknown: seen.unknown,
        leftovers: ended.steps.leftovers.clone(),
        sandbox: ended.steps.sandbox.is_some(),
        settled: ended.settled,
    }
}

/// Parks, stops or opens the account, and pauses or opens the runner, by how the run ended.
fn note(scene: &Scene<'_>, verdict: Verdict, reason: Option<String>) {
    let at = now();
    let account = verdict.clone();
    change(scene, (account::SETTING, scene.account), move |before| {
        account::after(before, &account, at)
    });
    change(scene, (account::RUNNERS, scene.runner), move |before| {
        account::after_runner(before, (&verdict, reason.as_deref()), at)
    });
}

/// Changes one of the standings of a setting.
fn change(
    scene: &Scene<'_>,
    (setting, name): (&str, &str),
    after: impl Fn(Option<&Standing>) -> Option<Standing> + Send + 'static,
) {
    let name = name.to_owned();
    let changed = scene
        .store
        .change_setting(scene.project, setting, move |value| {
            let mut standings: Standings = value
                .and_then(|value| serde_json::from_value(value).ok())
                .unwrap_or_default();
            let before = standings.clone();
            match after(standings.get(&name)) {
                Some(standing) => standings.insert(name.clone(), standing),
                None => standings.remove(&name),
            };
            (standings != before).then(|| json!(standings))
        });
    // The run itself is on record; the next failure says the same once more.
    let _ = changed.wait();
}
