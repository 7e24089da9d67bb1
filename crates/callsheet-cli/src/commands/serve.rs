//! `serve`: the dashboard and the HTTP interface of a project.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use callsheet_server::{
    Instance, Options, Running, ServeError, Serving, Site, SiteSettings, serve,
};
use serde_json::json;

use crate::failure::Failure;
use crate::output::Output;
use crate::project::{self, Project};
use crate::settings::{FILE, Settings};
use crate::{run, store};

/// Serve the dashboard and the HTTP interface of the project, until you stop it
///
/// Open the address that it prints: it has a token, which your browser keeps as a cookie. Programs send the token as
/// `Authorization: Bearer TOKEN`. Only this machine can connect. A worker runs along and takes queued runs. Ctrl-C ends the
/// agents that the server started, and then the server.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If the project is served already, it prints where, and ends.

Examples:
  callsheet serve
  callsheet serve --port 8080 --no-worker
  callsheet serve --json | jq -r .read_token
  callsheet serve --bind 0.0.0.0 --proxy https://callsheet.example.com")]
pub(crate) struct Args {
    /// The port; if it is taken, the next one that is free [default: 6419]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Start no worker: queued runs wait for one elsewhere
    #[arg(long)]
    no_worker: bool,

    /// Let agents that run come to their end when the server stops, instead of ending them
    #[arg(long)]
    hand_over: bool,

    /// Listen on another address than 127.0.0.1; others than this machine need `--proxy`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,

    /// The address at which a proxy with TLS offers the server to others
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let mut options = Options::default();
        let usual = project.settings.serve.port.get();
        options.port = self.port.unwrap_or(usual);
        options.worker = !self.no_worker;
        options.hand_over = self.hand_over;
        options.bind = self.bind;
        options.proxy = self.proxy;
        served(project, options, out)
    }
}

/// Serves a project until somebody stops it.
pub(crate) fn served(
    project: &Project,
    options: Options,
    out: Output,
) -> Result<ExitCode, Failure> {
    store::make_folder(project)?;
    let home = store::folder(project);
    let instance = match Instance::take(&home) {
        Err(ServeError::Busy(running)) => {
            out.note("this project is served already");
            print(&running, out)?;
            return Ok(ExitCode::SUCCESS);
        }
        taken => taken.map_err(failure)?,
    };
    let serving = Serving {
        site: site(project, home, out)?,
        options,
        instance,
    };
    let mut printed = Ok(());
    serve(serving, |running| {
        printed = print(running, out);
        out.say("serving until you press Ctrl-C");
    })
    .map_err(failure)?;
    printed?;
    Ok(ExitCode::SUCCESS)
}

/// Prints where a server is.
fn print(running: &Running, out: Output) -> Result<(), Failure> {
    if !out.json {
        return out.text(&format!("{}\n", running.url));
    }
    out.document(&json!({
        "schema": "callsheet.serve/1",
        "url": running.url,
        "address": running.address,
        "token": running.token,
        "read_token": running.read_token,
    }))
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::Input(why) => Failure::input(why),
        ServeError::Refused { what, cause } => Failure::refused(&what, &cause),
        ServeError::Store(error) => error.into(),
        other => Failure::missing(other.to_string()),
    }
}

/// Returns what is served.
fn site(project: &Project, home: PathBuf, out: Output) -> Result<Site, Failure> {
    let opened = run::open_to_write(project, out)?;
    let root = run::real(project.root())?;
    let program = std::env::current_exe()
        .map_err(|cause| Failure::refused("cannot tell where callsheet is", &cause))?;
    let name = project.settings.project.clone();
    let name = name.or_else(|| Some(root.file_name()?.to_string_lossy().into_owned()));
    let read_from = root.clone();
    Ok(Site {
        store: opened.store,
        project: opened.project,
        name: name.unwrap_or_else(|| "project".to_owned()),
        root,
        home,
        program,
        settings: Box::new(move || settings(&read_from).map_err(|failure| failure.text())),
        check_settings: Box::new(|text| {
            let checked = Settings::parse(text, FILE);
            checked.map(|_| ()).map_err(|failure| failure.text())
        }),
        warn: Arc::new(move |what| out.warn(what)),
    })
}

/// Reads the settings of a project as they are now.
fn settings(root: &Path) -> Result<SiteSettings, Failure> {
    let settings = project::settings(root)?;
    Ok(SiteSettings {
        paths: settings.sprint_paths(),
        runners: callsheet_run::Runners {
            runners: settings.runners,
            adapters: settings.adapters,
        },
        prompt: settings.prompt,
        sprint: settings.sprint,
        runner: settings.runner,
        workspace: settings.workspace,
        checks: settings.checks,
        serve: settings.serve,
    })
}
