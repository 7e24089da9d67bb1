//! Machines made of namespaces: a hub with servers, and hosts with a cable to it each.
//!
//! No namespace has a name, so that each is gone with its first process, and that ends when this test does, however it does.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its machines has nothing to test"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The first process of a machine: it takes care of orphans, and ends with its standard input.
const INIT: &str =
    "hostname \"$1\" && ip link set lo up && echo up; exec 3<&0; cat <&3 >/dev/null & wait $!";

/// A machine.
pub(crate) struct Machine {
    unshare: Child,
    /// Its first process, by the number that it has outside.
    init: i32,
}

impl Machine {
    pub(crate) fn new(name: &str) -> Self {
        let spaces = ["--net", "--uts", "--pid", "--mount", "--mount-proc"];
        let mut unshare = Command::new("unshare")
            .args(spaces)
            .args(["--fork", "--kill-child", "sh", "-c", INIT, "init", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(unshare.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n", "machine `{name}` does not start");
        let init = child_of(unshare.id()).unwrap();
        Self { unshare, init }
    }

    /// Returns a command in a directory of this machine, with no environment but `PATH`.
    pub(crate) fn command(&self, folder: &Path, program: &str) -> Command {
        let folder = format!("--wd={}", folder.display());
        let mut command = self.enter(&["--net", "--uts", "--pid", "--mount", &folder]);
        command.arg(program);
        command
    }

    fn enter(&self, spaces: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .stdin(Stdio::null())
            .args(["--target", &self.init.to_string()])
            .args(spaces)
            .arg("--");
        command
    }

    /// Changes the network of this machine.
    fn ip(&self, line: &str) {
        let mut ip = self.enter(&["--net"]);
        let done = ip.arg("ip").args(line.split(' ')).output().unwrap();
        assert!(done.status.success(), "ip {line}: {done:?}");
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Its processes are gone before anybody looks at what they left.
        drop(self.unshare.stdin.take());
        let _ = self.unshare.wait();
    }
}

/// Which end of a cable is pulled.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// That of the host: it knows at once that nothing can be reached.
    Host,
    /// That of the hub: the host hears nothing any more.
    Hub,
}

/// A hub and the hosts around it.
pub(crate) struct Network {
    pub(crate) hub: Machine,
    pub(crate) hosts: Vec<Machine>,
}

impl Network {
    /// Makes a hub and hosts of these names.
    pub(crate) fn new(names: &[&str]) -> Self {
        let hub = Machine::new("hub");
        let hosts: Vec<Machine> = names.iter().map(|name| Machine::new(name)).collect();
        for (at, host) in hosts.iter().enumerate() {
            let init = host.init;
            hub.ip(&format!(
                "link add to{at} type veth peer name hub netns {init}"
            ));
            hub.ip(&format!("addr add {}/30 dev to{at}", address(at, 1)));
            host.ip(&format!("addr add {}/30 dev hub", address(at, 2)));
            hub.ip(&format!("link set to{at} up"));
            host.ip("link set hub up");
        }
        Self { hub, hosts }
    }

    /// Returns the address of the hub for a host.
    pub(crate) fn hub_for(host: usize) -> String {
        address(host, 1)
    }

    /// Pulls the cable of a host, or puts it back.
    pub(crate) fn cable(&self, host: usize, end: End, state: &str) {
        match end {
            End::Host => self.hosts[host].ip(&format!("link set hub {state}")),
            End::Hub => self.hub.ip(&format!("link set to{host} {state}")),
        }
    }
}

fn address(host: usize, end: u8) -> String {
    format!("10.0.{host}.{end}")
}

/// Tells why there can be no machines here; nothing where there can be.
pub(crate) fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("only root makes network namespaces".to_owned());
    }
    for program in ["ip", "unshare", "nsenter"] {
        if Command::new(program).arg("--version").output().is_err()
            && Command::new(program).arg("-V").output().is_err()
        {
            return Some(format!("`{program}` was not found"));
        }
    }
    let mut trial = Command::new("unshare");
    let line = "ip link add trial type veth peer name other";
    trial.args(["--net", "--uts", "--pid", "--fork", "sh", "-c", line]);
    let done = trial.output().unwrap();
    let why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
    (!done.status.success()).then(|| format!("the system makes no network namespaces: {why}"))
}

/// A process on a machine that goes on while the test does other things.
pub(crate) struct Running {
    nsenter: Child,
    process: i32,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let nsenter = command.spawn().unwrap();
        let process = child_of(nsenter.id()).unwrap();
        Self { nsenter, process }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.process).unwrap();
        // One that has ended by itself is waited for all the same.
        let _ = kill_process(pid, signal);
    }

    /// Tells whether it has not ended.
    pub(crate) fn is_there(&mut self) -> bool {
        self.nsenter.try_wait().unwrap().is_none()
    }

    /// Waits for its end and returns its exit code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.nsenter.wait().unwrap().code()
    }
}

/// Returns the one child of a process, as soon as it has one.
fn child_of(parent: u32) -> Option<i32> {
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(20) {
        let file = format!("/proc/{parent}/task/{parent}/children");
        let children = std::fs::read_to_string(file).ok()?;
        if let Some(first) = children.split_whitespace().next() {
            return first.parse().ok();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}
