//! Who may start a run now: limits of project, runner and account, and the write scopes of tasks that are running.

use callsheet_store::{Claim, Project, Run, Store, Wait};
use serde_json::json;

use super::start::now;
use super::worker::Worker;
use super::{LEASE, Most};
use crate::account::{self, Asker, Needed, Standing, Standings};
use crate::tasks::{self, Terms};
use crate::{Resolved, RunError};

/// The accounts and runners of a project that cannot be used as they are.
#[derive(Debug)]
pub(super) struct Closed {
    accounts: Standings,
    runners: Standings,
}

impl Closed {
    /// Reads them from the store.
    pub(super) fn read(store: &Store, project: &Project) -> Result<Self, RunError> {
        let standings = |setting: &str| -> Result<Standings, RunError> {
            let stored = store.setting(project, setting).wait()?;
            let read = stored.and_then(|value| serde_json::from_value(value).ok());
            Ok(read.unwrap_or_default())
        };
        Ok(Self {
            accounts: standings(account::SETTING)?,
            runners: standings(account::RUNNERS)?,
        })
    }
}

/// Returns why the account of a runner cannot be used as it is, if that is so.
pub(crate) fn standing(
    store: &Store,
    project: &Project,
    runner: &Resolved,
) -> Result<Option<Standing>, RunError> {
    let mut closed = Closed::read(store, project)?;
    Ok(closed.accounts.remove(&runner.account))
}

/// Returns the account or runner that waits longest, and until when, in milliseconds since 1970.
pub fn closed_until(store: &Store, project: &Project) -> Result<Option<(String, i64)>, RunError> {
    let closed = Closed::read(store, project)?;
    let now = now();
    let all = closed.accounts.into_iter().chain(closed.runners);
    let waiting = all.filter_map(|(name, standing)| Some((name, standing.until?)));
    Ok(waiting
        .filter(|(_, until)| *until > now)
        .max_by_key(|(_, until)| *until))
}

/// What stands between a run and its start.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    runner: String,
    account: String,
    /// How many runs the runner may have at once.
    of_runner: Option<usize>,
    most: Most,
    parked: Option<Standing>,
    paused: Option<Standing>,
    asker: Asker,
}

impl Admission {
    /// Makes the admission of a runner.
    pub(super) fn of(runner: &Resolved, most: Most, closed: &Closed, asker: Asker) -> Self {
        Self {
            runner: runner.name.clone(),
            account: runner.account.clone(),
            of_runner: runner.runner.limits.runs,
            parked: closed.accounts.get(&runner.account).cloned(),
            paused: closed.runners.get(&runner.name).cloned(),
            most,
            asker,
        }
    }

    /// Returns what a person should know before the agent starts.
    pub(super) fn note(&self) -> Option<String> {
        let paused = self.paused.as_ref()?;
        Some(account::note(&self.runner, paused, now()))
    }

    /// Tells why a run may not start beside those that are running.
    pub(super) fn check(&self, running: &[Run]) -> Result<(), String> {
        let count = |field: &str, value: &str| {
            let same = |run: &&Run| {
                let request = run.request.as_ref();
                request.and_then(|request| request.get(field)) == Some(&json!(value))
            };
            running.iter().filter(same).count()
        };
        let within = |what: &str, count: usize, most: Option<usize>| match most {
            Some(most) if count >= most => {
                Err(format!("{what} has {count} of at most {most} runs"))
            }
            _ => Ok(()),
        };
        let (name, account) = (&self.runner, &self.account);
        let (by_runner, of_account) = (count("runner", name), count("account", account));
        within("this project", running.len(), self.most.project)?;
        within(&format!("runner `{name}`"), by_runner, self.of_runner)?;
        within(
            &format!("account `{account}`"),
            of_account,
            self.most.account,
        )?;
        let asked = |others: usize| (self.asker, now(), others);
        let (needs_runner, needs_account) = (Needed::Runner(name), Needed::Account(account));
        account::admit(needs_runner, self.paused.as_ref(), asked(by_runner))?;
        account::admit(needs_account, self.parked.as_ref(), asked(of_account))
    }
}

/// A runner that a worker has, with what its account may have at once.
#[derive(Debug)]
pub struct Able<'a> {
    /// The runner.
    pub runner: &'a Resolved,
    /// How many runs there may be at once.
    pub most: Most,
}

/// Claims the queued run of a project that waits longest and that somebody here can run now.
///
/// A run is for a runner and an account by name: where either is missing here, another machine has to take it.
pub fn claim_next(
    store: &Store,
    project: &Project,
    able: &[Able<'_>],
    conflict_threshold: f64,
) -> Result<Option<Claim>, RunError> {
    let closed = Closed::read(store, project)?;
    let admissions: Vec<Admission> = able
        .iter()
        .map(|able| Admission::of(able.runner, able.most, &closed, Asker::Worker))
        .collect();
    let admit = move |run: &Run, running: &[Run]| {
        let asked = |field: &str| {
            let request = run.request.as_ref()?;
            request.get(field)?.as_str().map(str::to_owned)
        };
        let (runner, account) = (asked("runner"), asked("account"));
        let fits = |admission: &&Admission| {
            Some(&admission.runner) == runner.as_ref()
                && Some(&admission.account) == account.as_ref()
        };
        let beside = match (run.task, Terms::of(run)) {
            (Some(task), Some(terms)) => {
                let write = &terms.scope.write;
                tasks::beside(task.as_str(), write, conflict_threshold, running).is_ok()
            }
            _ => true,
        };
        let found = admissions.iter().find(fits);
        beside && found.is_some_and(|admission| admission.check(running).is_ok())
    };
    let worker = Worker::here()?.to_string();
    Ok(store.claim_queued(project, &worker, LEASE, admit).wait()?)
}
