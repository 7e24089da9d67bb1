//! Who holds a run: a process on a machine, named so that anybody can tell later whether it is still there.

use rustix::system::uname;

use super::LEASE;
use crate::RunError;
use crate::launch::Identity;

/// A process on a machine, since a start of that machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    host: String,
    boot: String,
    process: Identity,
}

/// Whether a process that held a run is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alive {
    Yes,
    No,
    /// It is on another machine, or was named by somebody else.
    Unknown,
}

/// Tells whether a run has lost its process; `left` is how long its lease lasts from now on, in milliseconds.
///
/// A process that cannot be seen from here has its lease, and as long again in case clocks differ.
pub(super) fn is_lost(alive: Alive, left: Option<i64>) -> bool {
    match alive {
        Alive::Yes => false,
        Alive::No => true,
        Alive::Unknown => {
            let lease = i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX);
            left.is_none_or(|left| left < -lease)
        }
    }
}

impl Worker {
    /// Names this process.
    pub(crate) fn here() -> Result<Self, RunError> {
        let process = Identity::current()
            .map_err(|cause| RunError::refused("cannot tell which process this is", cause))?;
        Ok(Self {
            host: host(),
            boot: boot(),
            process,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(4, ':');
        let started = parts.next()?.parse().ok()?;
        let pid = parts.next()?.parse().ok()?;
        let boot = parts.next()?.to_owned();
        let host = parts.next()?.to_owned();
        Some(Self {
            host,
            boot,
            process: Identity { pid, started },
        })
    }

    /// Tells whether the process of that name has lost what it held until then, in milliseconds since 1970.
    pub(crate) fn has_lost(name: &str, lease_until: Option<i64>) -> bool {
        let left = lease_until.map(|until| until - super::start::now());
        is_lost(Self::is_alive(name), left)
    }

    /// Tells whether the process of that name is still there.
    pub(crate) fn is_alive(name: &str) -> Alive {
        match Self::parse(name) {
            Some(worker) if worker.host == host() => {
                let same = worker.boot == boot();
                if same && crate::supervisor::is_alive(&worker.process) {
                    Alive::Yes
                } else {
                    Alive::No
                }
            }
            _ => Alive::Unknown,
        }
    }
}

impl std::fmt::Display for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Identity { pid, started } = self.process;
        write!(f, "{}:{}:{pid}:{started}", self.host, self.boot)
    }
}

/// Returns the name of this machine, and of the process namespace: containers of one name do not see each other's pids.
fn host() -> String {
    let name = uname().nodename().to_string_lossy().into_owned();
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = namespace
        .to_string_lossy()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    format!("{name}@{digits}")
}

/// Returns what tells this start of the machine from all others, as far as it can be told.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_be_seen_has_a_lease() {
        assert!(is_lost(Alive::No, Some(30_000)));
        assert!(!is_lost(Alive::Yes, Some(-1_000_000)));
        assert!(!is_lost(Alive::Unknown, Some(1)));
        assert!(!is_lost(Alive::Unknown, Some(-30_000)));
        assert!(is_lost(Alive::Unknown, Some(-30_001)));
        assert!(is_lost(Alive::Unknown, None));
    }

    #[test]
    fn a_worker_is_found_again_by_its_name() {
        let here = Worker::here().unwrap();
        let name = here.to_string();
        assert_eq!(Worker::parse(&name), Some(here.clone()));
        assert_eq!(Worker::is_alive(&name), Alive::Yes);
        let mut gone = here.clone();
        gone.process.started += 1;
        assert_eq!(Worker::is_alive(&gone.to_string()), Alive::No);
        let mut rebooted = here.clone();
        rebooted.boot = "00000000".to_owned();
        assert_eq!(Worker::is_alive(&rebooted.to_string()), Alive::No);
        let mut elsewhere = here;
        elsewhere.host.push('x');
        assert_eq!(Worker::is_alive(&elsewhere.to_string()), Alive::Unknown);
        assert_eq!(Worker::is_alive("somebody"), Alive::Unknown);
    }
}
