//! Acting: this program is run with the arguments that a person would type.
//!
//! What is asked ends soon and answers with a JSON document. What is started goes on: a worker, a sprint. Nothing is ever
//! given to a shell, and a value from a request stands where no option can stand.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, Command};

use crate::error::{ApiError, Code, ServeError};
use crate::server::Server;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// How many bytes an answer may have.
const MOST: u64 = 64 << 20;

/// How many bytes an argument may have; the system refuses one of twice the size.
const MOST_ARGUMENT: usize = 64 << 10;

/// How many bytes all arguments may have.
const MOST_ARGUMENTS: usize = 512 << 10;

/// How many bytes of what is said are kept.
const MOST_SAID: u64 = 64 << 10;

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit code; none if a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) printed: Vec<u8>,
    /// What it said.
    pub(crate) said: String,
}

/// A command that goes on.
#[derive(Debug)]
struct Job {
    name: &'static str,
    child: Child,
    /// As long as it is open, whoever started the command is there.
    _leash: Option<ChildStdin>,
}

/// This program, for one project.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    root: PathBuf,
    jobs: Mutex<Vec<Job>>,
}

impl Program {
    pub(crate) fn new(path: PathBuf, root: PathBuf) -> Self {
        let jobs = Mutex::default();
        Self { path, root, jobs }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.arg("--root").arg(&self.root);
        command.args(["--color", "never"]).args(args);
        // A Ctrl-C on the terminal is ours to pass on.
        command.process_group(0).kill_on_drop(false);
        command
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, args: &[&str], input: Option<&[u8]>) -> Result<Ended, ApiError> {
        self.run_within(PATIENCE, args, input).await
    }

    /// Runs a command to its end, which has to come in time.
    pub(crate) async fn run_within(
        &self,
        patience: Duration,
        args: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Ended, ApiError> {
        check(args)?;
        let failed = |what: &str, cause: std::io::Error| {
            ApiError::internal(format!("cannot {what} callsheet: {cause}"))
        };
        let mut command = self.command(args);
        command.stdin(input.map_or_else(Stdio::null, |_| Stdio::piped()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn();
        let child = child.as_mut().map_err(|cause| {
            let kind = std::io::Error::new(cause.kind(), cause.to_string());
            failed("start", kind)
        })?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // Whoever does not read it says why.
                let _ = stdin.write_all(input).await;
            }
        };
        let print = async {
            let mut bytes = Vec::new();
            if let Some(stdout) = stdout {
                stdout.take(MOST + 1).read_to_end(&mut bytes).await?;
            }
            std::io::Result::Ok(bytes)
        };
        let all = async {
            let ((), printed, said) = tokio::join!(write, print, heard(stderr));
            let status = child.wait().await?;
            std::io::Result::Ok((status.code(), printed?, said?))
        };
        let ended = tokio::time::timeout(patience, all).await.map_err(|_| {
            ApiError::internal(format!(
                "callsheet took longer than {} s",
                patience.as_secs()
            ))
        })?;
        let (code, printed, said) = ended.map_err(|cause| failed("run", cause))?;
        if printed.len() as u64 > MOST {
            return Err(ApiError::internal("callsheet printed too much"));
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(Ended {
            code,
            printed,
            said,
        })
    }

    /// Asks for a document; a negative verdict is an answer, too.
    pub(crate) async fn ask(&self, args: &[&str], input: Option<&[u8]>) -> Result<Value, ApiError> {
        let mut all = vec!["--json"];
        all.extend(args);
        let ended = self.run(&all, input).await?;
        match ended.code {
            Some(0 | 1) if !ended.printed.is_empty() => serde_json::from_slice(&ended.printed)
                .map_err(|error| ApiError::internal(format!("callsheet printed no JSON: {error}"))),
            Some(0) => Ok(Value::Null),
            _ => Err(ended.error()),
        }
    }

    /// Does something that may take a while: whatever document it prints is the answer, with a negative verdict too.
    async fn act(&self, args: &[&str], patience: Duration) -> Result<Value, ApiError> {
        let mut all = vec!["--json"];
        all.extend(args);
        let ended = self.run_within(patience, &all, None).await?;
        match ended.code {
            Some(0 | 1 | 3) if !ended.printed.is_empty() => serde_json::from_slice(&ended.printed)
                .map_err(|error| ApiError::internal(format!("callsheet printed no JSON: {error}"))),
            _ => Err(ended.error()),
        }
    }

    /// Starts a command that goes on; a leash lets it know when this process is gone.
    pub(crate) fn start(
        &self,
        name: &'static str,
        args: &[&str],
        leash: bool,
    ) -> Result<(), ServeError> {
        let mut command = self.command(args);
        command.stdin(if leash { Stdio::piped() } else { Stdio::null() });
        self.begin(name, command.stderr(Stdio::null()))
    }

    /// Starts a command that goes on, and keeps what it says in a file, which outlives this process.
    pub(crate) fn start_with_log(
        &self,
        name: &'static str,
        args: &[&str],
        log: &Path,
    ) -> Result<(), ServeError> {
        let mut options = std::fs::File::options();
        let options = options.create(true).write(true).truncate(true).mode(0o600);
        let log = options.open(log).map_err(|cause| {
            ServeError::refused(format!("cannot write `{}`", log.display()), cause)
        })?;
        let mut command = self.command(args);
        self.begin(name, command.stdin(Stdio::null()).stderr(log))
    }

    fn begin(&self, name: &'static str, command: &mut Command) -> Result<(), ServeError> {
        let mut child = command.stdout(Stdio::null()).spawn().map_err(|cause| {
            ServeError::refused(format!("cannot start `callsheet {name}`"), cause)
        })?;
        let job = Job {
            name,
            _leash: child.stdin.take(),
            child,
        };
        let mut jobs = self.jobs();
        // How an earlier one has ended is no news any more.
        jobs.retain_mut(|job| job.name != name || matches!(job.child.try_wait(), Ok(None)));
        jobs.push(job);
        Ok(())
    }

    /// Tells whether a command of this name goes on.
    pub(crate) fn is_going(&self, name: &str) -> bool {
        let mut jobs = self.jobs();
        let mut jobs = jobs.iter_mut().filter(|job| job.name == name);
        jobs.any(|job| matches!(job.child.try_wait(), Ok(None)))
    }

    /// Returns how the last command of this name has ended; nothing as long as it goes on.
    pub(crate) fn ended(&self, name: &str) -> Option<ExitStatus> {
        let mut jobs = self.jobs();
        let last = jobs.iter_mut().rfind(|job| job.name == name)?;
        last.child.try_wait().ok().flatten()
    }

    /// Asks every command that goes on to stop, and waits until all are gone.
    ///
    /// The second request, which comes after a while, ends the agents.
    pub(crate) async fn stop_all(&self, patience: Duration) {
        let mut jobs = std::mem::take(&mut *self.jobs());
        for _ in 0..2 {
            for job in &jobs {
                let pid = job.child.id().and_then(|id| i32::try_from(id).ok());
                if let Some(pid) = pid.and_then(Pid::from_raw) {
                    // It may be gone by itself.
                    let _ = kill_process(pid, Signal::INT);
                }
            }
            let gone = async {
                for job in &mut jobs {
                    let _ = job.child.wait().await;
                }
            };
            if tokio::time::timeout(patience, gone).await.is_ok() {
                return;
            }
        }
    }

    /// Lets go of everything that goes on: it comes to its end without us.
    pub(crate) fn leave_all(&self) {
        self.jobs().clear();
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, Vec<Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Does something that goes on to its end, even if whoever asked for it goes away.
    pub(crate) async fn act(
        &self,
        args: Vec<String>,
        patience: Duration,
    ) -> Result<Value, ApiError> {
        let server = self.clone();
        let done = tokio::spawn(async move {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            server.program.act(&args, patience).await
        });
        done.await
            .map_err(|_| ApiError::internal("the server failed; this is a bug"))?
    }
}

/// Returns the beginning of what a command says; it may say more.
async fn heard(stderr: Option<ChildStderr>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut stderr) = stderr {
        let mut first = (&mut stderr).take(MOST_SAID);
        first.read_to_end(&mut bytes).await?;
        tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await?;
    }
    Ok(bytes)
}

/// Refuses what no program can be given.
fn check(args: &[&str]) -> Result<(), ApiError> {
    let all: usize = args.iter().map(|arg| arg.len()).sum();
    if all > MOST_ARGUMENTS || args.iter().any(|arg| arg.len() > MOST_ARGUMENT) {
        return Err(ApiError::validation(
            "the request has a value that is too long",
        ));
    }
    if args.iter().any(|arg| arg.contains('\0')) {
        return Err(ApiError::validation(
            "the request has a text with the character NUL",
        ));
    }
    Ok(())
}

impl Ended {
    /// Returns what it said as an error: what was wrong, and the hints.
    pub(crate) fn error(&self) -> ApiError {
        let mut message = Vec::new();
        let mut hints = Vec::new();
        for line in self.said.lines() {
            if let Some(hint) = line.strip_prefix("hint: ") {
                hints.push(hint.to_owned());
            } else if let Some(error) = line.strip_prefix("error: ") {
                message = vec![error.to_owned()];
            } else if !message.is_empty() && line.starts_with("  ") {
                message.push(line.trim().to_owned());
            }
        }
        let code = match self.code {
            Some(1) => Code::Conflict,
            Some(2) => Code::ValidationError,
            Some(3) => Code::Conflict,
            _ => Code::InternalError,
        };
        let message = if message.is_empty() {
            "callsheet failed without saying why".to_owned()
        } else {
            message.join("\n")
        };
        let error = ApiError::new(code, message);
        if hints.is_empty() {
            error
        } else {
            error.details(serde_json::json!({ "hints": hints }))
        }
    }
}
