//! Processes as `/proc` shows them. A process is named by pid and start time, so that no signal hits one that took its pid
//! over. Nothing here waits.

use std::fs::File;
use std::io::{self, Read as _};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
};

use crate::launch::Identity;

/// More than the kernel lets an environment have under the usual limits.
const MOST_ENVIRONMENT: u64 = 8 << 20;

/// A process that was alive when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) identity: Identity,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) name: String,
}

impl Identity {
    /// Returns which process has the pid, be it alive or a zombie.
    pub fn of(pid: i32) -> Option<Self> {
        stat(pid).map(|(process, _)| process.identity)
    }

    /// Returns which process this is.
    pub fn current() -> io::Result<Self> {
        Self::of(getpid().as_raw_pid())
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no process in `/proc`"))
    }
}

/// Tells whether a process is still there. A zombie is not.
pub fn is_alive(process: &Identity) -> bool {
    living(process.pid).is_some_and(|found| found.identity == *process)
}

/// Returns the process with the pid, unless it is a zombie.
fn living(pid: i32) -> Option<Process> {
    stat(pid).and_then(|(process, alive)| alive.then_some(process))
}

/// Returns every process that is alive.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(living)
        .collect()
}

/// Tells whether the environment that a process was started with has an entry, such as `NAME=value`.
pub(super) fn has_variable(pid: i32, entry: &[u8]) -> bool {
    let mut environment = Vec::new();
    let read = File::open(format!("/proc/{pid}/environ"))
        .and_then(|file| file.take(MOST_ENVIRONMENT).read_to_end(&mut environment));
    read.is_ok() && environment.split(|byte| *byte == 0).any(|it| it == entry)
}

/// Sends a signal to exactly that process, and tells whether it was there.
pub(super) fn send(to: &Identity, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(to.pid) else {
        return false;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        // The pid may have been taken over before it was opened, but not after.
        Ok(pidfd) => is_alive(to) && pidfd_send_signal(pidfd, signal).is_ok(),
        // Some sandboxes know no pidfd. A pid that was right a moment ago is better than no signal at all.
        Err(Errno::NOSYS | Errno::PERM) => is_alive(to) && kill_process(pid, signal).is_ok(),
        Err(_) => false,
    }
}

/// Returns what `/proc/PID/stat` says, and whether the process is alive.
fn stat(pid: i32) -> Option<(Process, bool)> {
    parse(&std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(stat: &[u8]) -> Option<(Process, bool)> {
    // A name can hold anything, spaces and parentheses included; what follows it cannot.
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse();
    let rest = std::str::from_utf8(&stat[close + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    // The first thread may have ended while others of its process go on.
    let ended = matches!(*fields.first()?, "Z" | "X" | "x") && number(17)? <= 1;
    let process = Process {
        identity: Identity {
            pid: pid.ok()?,
            started: number(19)?,
        },
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        name,
    };
    Some((process, !ended))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str =
        "1 7 7 0 -1 4194560 89 0 0 0 0 0 0 0 20 0 1 0 4242 2334720 204 18446744073709551615";

    fn process(name: &str) -> Process {
        Process {
            identity: Identity {
                pid: 7,
                started: 4242,
            },
            parent: 1,
            group: 7,
            name: name.to_owned(),
        }
    }

    #[test]
    fn a_name_can_hold_anything() {
        for name in ["sleep", "a b", ") S 1 (", "((", "\n"] {
            let line = format!("7 ({name}) S {REST}\n");
            assert_eq!(parse(line.as_bytes()), Some((process(name), true)));
        }
        let line = [b"7 (\xff) R ", REST.as_bytes()].concat();
        assert_eq!(parse(&line), Some((process("\u{fffd}"), true)));
    }

    #[test]
    fn a_zombie_is_gone_unless_it_has_threads() {
        let alive = |line: String| parse(line.as_bytes()).unwrap().1;
        assert!(!alive(format!("7 (x) Z {REST}")));
        let threads = REST.replace(" 20 0 1 0 ", " 20 0 2 0 ");
        assert!(alive(format!("7 (x) Z {threads}")));
    }

    #[test]
    fn what_is_not_a_stat_is_refused() {
        for line in [
            "",
            "7",
            "7 (",
            "7 )(",
            "7 (x)",
            "7 (x) S 1 2",
            "x (x) S 1 7 7",
        ] {
            assert_eq!(parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn this_process_is_alive_and_another_with_its_pid_is_not() {
        let this = Identity::current().unwrap();
        assert_eq!(Identity::of(this.pid), Some(this));
        assert!(is_alive(&this));
        let earlier = Identity {
            started: this.started - 1,
            ..this
        };
        assert!(!is_alive(&earlier));
        assert!(!send(&earlier, Signal::KILL));
        assert_eq!(Identity::of(-1), None);
        assert_eq!(Identity::of(0), None);
    }
}
