//! A team: two hosts with a clone each, one PostgreSQL, a queue, and a tally of what agents did.

#![expect(
    clippy::unwrap_used,
    reason = "a harness that cannot set up its team has nothing to test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::network::{Network, Running, missing};
use crate::project::{Run, finish, skip};

/// The hosts.
pub(crate) const HOSTS: [&str; 2] = ["ada", "ben"];

/// How branches travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Through a git server on the hub.
    Remote,
    /// Through the store.
    Bundle,
}

/// Two hosts that work on one queue.
pub(crate) struct Team {
    pub(crate) network: Network,
    pub(crate) folder: TempDir,
    way: Way,
    /// The URL of the database, with `HUB` in the place of the host.
    url: String,
    daemon: Option<Running>,
}

impl Team {
    /// Makes a team whose agent runs a line of shell; none where there can be none, which is told and is a failure in CI.
    pub(crate) fn new(way: Way, line: &str) -> Option<Self> {
        let server = std::env::var("CALLSHEET_TEST_POSTGRES").map_err(|_| "there is no PostgreSQL");
        let missing = missing().or_else(|| server.err().map(str::to_owned));
        if let Some(why) = missing {
            skip(&format!("the tests of several hosts, because {why}"));
            return None;
        }
        let network = Network::new(&HOSTS);
        let folder = tempfile::tempdir().unwrap();
        // The server runs as somebody without privileges.
        open(folder.path());
        std::fs::create_dir(folder.path().join("tally")).unwrap();
        let url = start_server(&network, folder.path());
        let mut team = Self {
            network,
            folder,
            way,
            url,
            daemon: None,
        };
        team.make_clones(line);
        Some(team)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the clone of a host.
    pub(crate) fn clone_of(&self, host: usize) -> PathBuf {
        self.path(HOSTS[host]).join("shop")
    }

    fn make_clones(&mut self, line: &str) {
        let served = self.path("git");
        let origin = served.join("shop.git");
        self.make_origin(&origin, line);
        if self.way == Way::Remote {
            let mut daemon = self.network.hub.command(&served, "git");
            let words = "daemon --reuseaddr --export-all --enable=receive-pack";
            daemon.args(words.split(' '));
            daemon.arg(format!("--base-path={}", served.display()));
            daemon.arg(&served).stderr(Stdio::null());
            self.daemon = Some(Running::start(&mut daemon));
        }
        for (host, name) in HOSTS.iter().enumerate() {
            let clone = self.clone_of(host);
            std::fs::create_dir_all(clone.parent().unwrap()).unwrap();
            copy(&origin, &clone, &[]);
            let url = format!("git://{}/shop.git", Network::hub_for(host));
            match self.way {
                Way::Remote => git(&clone, &["remote", "set-url", "origin", &url]),
                Way::Bundle => git(&clone, &["remote", "remove", "origin"]),
            };
            git(&clone, &["config", "user.name", name]);
            git(&clone, &["config", "user.email", "e@x"]);
        }
    }

    /// Makes the repository that all clones are made of; `line` is what its agent runs.
    fn make_origin(&self, origin: &Path, line: &str) {
        let list = self.path("tally/list");
        let line = toml::Value::from(line.replace("TALLY", list.to_str().unwrap()));
        let tally = toml::Value::from(self.path("tally").to_str().unwrap());
        let settings = format!(
            "[runners.agent]\nadapter = \"command\"\ncommand = [\"sh\", \"-c\", {line}]\n\n\
             [sandbox]\nwrite = [{tally}]\n\n[[checks]]\nname = \"there\"\ncommand = [\"test\", \"-f\", \"README.md\"]\n"
        );
        let seed = self.path("seed");
        std::fs::create_dir(&seed).unwrap();
        std::fs::write(seed.join("callsheet.toml"), settings).unwrap();
        std::fs::write(seed.join("README.md"), "a shop\n").unwrap();
        std::fs::write(seed.join(".gitignore"), ".callsheet/\n").unwrap();
        git(&seed, &["init", "--quiet", "--initial-branch=main"]);
        git(&seed, &["add", "--all"]);
        git(&seed, &["commit", "--quiet", "--message", "start"]);
        copy(&seed, origin, &["--bare"]);
    }

    /// Returns a command of the program in the clone of a host.
    pub(crate) fn command(&self, host: usize, args: &[&str]) -> Command {
        let mut command =
            self.network.hosts[host].command(&self.clone_of(host), env!("CARGO_BIN_EXE_callsheet"));
        command
            .args(args)
            .env(
                "CALLSHEET_STORE",
                self.url.replace("HUB", &Network::hub_for(host)),
            )
            .env("CALLSHEET_PROJECT", "shop");
        command
    }

    /// Runs the program on a host.
    #[track_caller]
    pub(crate) fn run(&self, host: usize, args: &[&str]) -> Run {
        finish(&mut self.command(host, args))
    }

    /// Runs the program on a host, where it has to succeed.
    #[track_caller]
    pub(crate) fn done(&self, host: usize, args: &[&str]) -> Run {
        let run = self.run(host, args);
        assert_eq!(run.code(), Some(0), "{args:?}: {}", said(&run));
        run
    }

    /// Starts a worker on a host; what it says goes to a file that the next one goes on with.
    pub(crate) fn worker(&self, host: usize) -> Running {
        let file = self.path(&format!("worker-{}", HOSTS[host]));
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(file)
            .unwrap();
        let mut command = self.command(host, &["worker"]);
        command.stdout(Stdio::null()).stderr(log);
        Running::start(&mut command)
    }

    /// Returns what the workers of a host said.
    pub(crate) fn log(&self, host: usize) -> String {
        std::fs::read_to_string(self.path(&format!("worker-{}", HOSTS[host]))).unwrap_or_default()
    }

    /// Queues a task that may write `src/N/**`, and returns its run.
    #[track_caller]
    pub(crate) fn queue(&self, host: usize, number: usize) -> String {
        let (title, write) = (format!("Make {number}"), format!("src/{number}/**"));
        let args = [
            "run", "--title", &title, "--write", &write, "--runner", "agent", "--queue",
        ];
        self.done(host, &args).text().trim().to_owned()
    }

    /// Returns how often each run was executed.
    pub(crate) fn tally(&self) -> BTreeMap<String, usize> {
        let list = std::fs::read_to_string(self.path("tally/list")).unwrap_or_default();
        let mut times = BTreeMap::new();
        for run in list.lines() {
            *times.entry(run.to_owned()).or_default() += 1;
        }
        times
    }

    /// Returns the documents of all runs, the newest first.
    #[track_caller]
    pub(crate) fn runs(&self, host: usize) -> Vec<Value> {
        let listed = self.done(host, &["runs", "--json", "-n", "5000"]);
        listed.json()["runs"].as_array().unwrap().clone()
    }

    /// Connects to the server past all cables.
    pub(crate) fn client(&self) -> postgres::Client {
        let login = self
            .url
            .split("://")
            .nth(1)
            .unwrap()
            .split('@')
            .next()
            .unwrap();
        let (user, password) = login.split_once(':').unwrap();
        let port = std::fs::read_to_string(self.path("server/port")).unwrap();
        postgres::Config::new()
            .host_path(self.path("server"))
            .port(port.trim().parse().unwrap())
            .user(user)
            .password(password)
            .dbname("postgres")
            .connect(postgres::NoTls)
            .unwrap()
    }

    /// Returns everything that a failure is explained by.
    pub(crate) fn story(&self) -> String {
        let tail = |host: usize| {
            let log = self.log(host);
            let lines: Vec<&str> = log.lines().collect();
            lines[lines.len().saturating_sub(40)..].join("\n")
        };
        format!("--- ada\n{}\n--- ben\n{}", tail(0), tail(1))
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.signal(Signal::KILL);
            daemon.wait();
        }
        if std::thread::panicking() {
            eprintln_story(&self.story());
        }
        let server = self.path("server");
        let mut stopped =
            (self.network.hub).command(self.folder.path(), script().to_str().unwrap());
        // The machine takes the server with it in any case.
        let _ = stopped
            .args(["stop", server.to_str().unwrap(), "immediate"])
            .output();
    }
}

fn eprintln_story(story: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{story}");
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/postgres")
}

/// Starts a server on the hub and returns its URL, with `HUB` in the place of the host.
fn start_server(network: &Network, folder: &Path) -> String {
    let mut start = network.hub.command(folder, script().to_str().unwrap());
    let server = folder.join("server");
    start.args(["start", server.to_str().unwrap(), "reachable"]);
    let started = finish(&mut start);
    assert_eq!(started.code(), Some(0), "{}", said(&started));
    started.text().trim().replace("127.0.0.1", "HUB")
}

fn open(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=n", "-c", "user.email=e@x"];
    let done = Command::new("git")
        .args(identity)
        .args(args)
        .current_dir(folder)
        .output();
    let done = done.unwrap();
    assert!(done.status.success(), "git {args:?}: {done:?}");
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Clones a repository.
fn copy(from: &Path, to: &Path, more: &[&str]) {
    let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
    let words = [&["clone", "--quiet"], more, &[from, to]].concat();
    git(Path::new("/"), &words);
}

/// Returns what a command said on both streams.
pub(crate) fn said(run: &Run) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&run.stdout), text(&run.stderr))
}

/// Returns the processes that have the mark of any of the runs.
pub(crate) fn survivors(runs: &[Value]) -> Vec<String> {
    let marks: Vec<String> = runs
        .iter()
        .map(|run| format!("CALLSHEET_RUN={}", run["id"].as_str().unwrap()))
        .collect();
    let is_marked = |environ: &[u8]| {
        let mut variables = environ.split(|byte| *byte == 0);
        variables.any(|variable| marks.iter().any(|mark| mark.as_bytes() == variable))
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter(|entry| is_marked(&std::fs::read(entry.path().join("environ")).unwrap_or_default()))
        .map(|entry| std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default())
        .collect()
}
