//! Who may start a run now: limits of project, runner and account, and the write scopes of tasks that are running.

use callsheet_store::{Claim, Project, Run, Store, block_on};
use serde_json::json;

use super::start::now;
use super::worker::Worker;
use super::{LEASE, Most};
use crate::account::{self, Standing, Standings};
use crate::tasks::{self, Terms};
use crate::{Resolved, RunError};

/// What stands between a run and its start.
#[derive(Clone, Debug)]
pub(super) struct Admission {
    pub(super) runner: String,
    pub(super) account: String,
    /// How many runs the runner may have at once.
    pub(super) of_runner: Option<usize>,
    pub(super) most: Most,
    pub(super) standing: Option<Standing>,
    pub(super) probe: bool,
}

impl Admission {
    /// Makes the admission of a runner.
    pub(super) fn of(runner: &Resolved, most: Most, standings: &Standings, probe: bool) -> Self {
        Self {
            runner: runner.name.clone(),
            account: runner.account.clone(),
            of_runner: runner.runner.limits.runs,
            standing: standings.get(&runner.account).cloned(),
            most,
            probe,
        }
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
        let others = count("account", account);
        within("this project", running.len(), self.most.project)?;
        let of_runner = count("runner", name);
        within(&format!("runner `{name}`"), of_runner, self.of_runner)?;
        within(&format!("account `{account}`"), others, self.most.account)?;
        account::admit(account, self.standing.as_ref(), (now(), others, self.probe))
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
    let standings = standings(store, project)?;
    let admissions: Vec<Admission> = able
        .iter()
        .map(|able| Admission::of(able.runner, able.most, &standings, false))
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
    Ok(block_on(
        store.claim_queued(project, &worker, LEASE, admit),
    )?)
}

/// Returns the accounts that cannot be used as they are.
pub(super) fn standings(store: &Store, project: &Project) -> Result<Standings, RunError> {
    let stored = block_on(store.setting(project, account::SETTING))?;
    Ok(stored
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default())
}
