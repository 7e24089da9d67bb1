//! `exec`: composes a prompt, seals it, hands it to an agent and ends with the facts.

use std::path::PathBuf;
use std::process::ExitCode;

use callsheet::Composition;
use callsheet::Role;
use callsheet::recipe::Shape;
use callsheet_run::account::Asker;
use callsheet_run::document::{Status, document};
use callsheet_run::drive::{self, Job, Most, TaskJob};
use callsheet_run::sandbox::WorkingDirectory;
use callsheet_run::tasks::Terms;
use callsheet_run::workspace::Workspace;
use callsheet_run::{Resolved, RunError};
use callsheet_store::{Claim, Id, Run, RunKind};

use crate::commands::compose::Account;
use crate::failure::{Failure, NEGATIVE, REFUSED};
use crate::live::Live;
use crate::options::{BudgetArgs, InputArgs, Keeping};
use crate::output::{Output, STDOUT};
use crate::project::Project;
use crate::run::Script;
use crate::store::Opened;
use crate::{input, report, run, sandbox, store, telemetry};

/// Compose a prompt, seal it, hand it to an agent, and end with the facts
///
/// The agent works in the project's own folder. What it says is on record and counts for nothing: the table at the end
/// has what was observed. The last line on stdout is the id of the run. Ctrl-C stops the agent and everything that it
/// started; the second one does so at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 if the run completed, with 1 if it did not, with 3 if the agent could not be started.

Examples:
  callsheet exec run --input task.yaml
  callsheet exec review --runner claude
  callsheet exec review -D range=main..HEAD --runner claude --model opus
  callsheet exec injection --input dev.yaml --prompt '/dev-story 2a-1'
  callsheet exec run --input task.yaml --json | jq .changed_files")]
pub(crate) struct Args {
    /// The recipe: one of `callsheet recipe list`
    recipe: String,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    account: Account,

    #[command(flatten)]
    budget: BudgetArgs,

    /// Who runs it: a runner of callsheet.toml, or claude, codex, gemini or opencode [default: see `callsheet doctor`]
    #[arg(long, value_name = "NAME")]
    runner: Option<String>,

    /// The model, in the words of the CLI, instead of the runner's
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Give the composed text as system text, and this as the prompt; `@FILE` reads a file, `@-` stdin
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,

    /// Try an account once that is parked or stopped; a success opens it again
    #[arg(long)]
    probe: bool,

    /// Print the table of sections on stderr before the run
    #[arg(long)]
    explain: bool,
}

/// What an agent is given.
pub(crate) struct Texts {
    pub(crate) prompt: String,
    pub(crate) system: Option<String>,
}

/// A sealed prompt on its way to an agent.
pub(crate) struct Errand {
    pub(crate) sealed: Id,
    pub(crate) texts: Texts,
    pub(crate) script: Option<Script>,
    /// What the agent may write beside what every one may, if it is to be in the sandbox.
    pub(crate) sandbox: Option<Vec<PathBuf>>,
    pub(crate) probe: bool,
    pub(crate) kind: RunKind,
    /// The run before it.
    pub(crate) parent: Option<Id>,
    /// The task that it is for.
    pub(crate) task: Option<TaskErrand>,
    /// The run, where it was queued and is claimed by this process.
    pub(crate) claim: Option<Claim>,
}

/// The task that a prompt is for, and where it is worked on.
pub(crate) struct TaskErrand {
    pub(crate) id: Id,
    pub(crate) terms: Terms,
    pub(crate) workspace: Workspace,
}

impl TaskErrand {
    fn job(&self, project: &Project) -> TaskJob<'_> {
        TaskJob {
            id: self.id,
            terms: &self.terms,
            ground: self.workspace.ground(),
            conflict_threshold: project.settings.workspace.conflict_threshold,
        }
    }
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let stdout = std::path::Path::new(STDOUT);
        self.account.prepare("the result", stdout)?;
        let reads_stdin = self.prompt.as_deref() == Some("@-");
        let prompt = reads_stdin.then(|| "`--prompt @-`".to_owned());
        let mut readers = self.input.readers();
        readers.extend(prompt);
        input::refuse_two_readers(&readers)?;
        let runners = project.runners();
        let name = run::choose(project, self.runner.as_deref())?;
        let sandbox = sandbox::of(project, WorkingDirectory::Project)?;
        let mut runner = runners.resolve(&name, project.root(), sandbox.is_some())?;
        if let Some(model) = &self.model {
            runner.runner.model = Some(model.clone());
        }
        let options = self.budget.options(self.explain);
        let mut composed =
            (self.input).compose_for(project, &self.recipe, &options, Keeping::Seal)?;
        if self.explain {
            out.say(report::table(&composed.composition.manifest).trim_end());
        }
        let texts = self.texts(&composed.composition)?;
        let script = run::script(project, &runner)?;
        let sealed = self.account.keep(project, &mut composed, out)?;
        let sealed = sealed.ok_or_else(|| Failure::input("nothing was sealed"))?;
        let errand = Errand {
            sealed: sealed.id,
            texts,
            script,
            sandbox,
            probe: self.probe,
            kind: RunKind::First,
            parent: None,
            task: None,
            claim: None,
        };
        let done = errand.run(project, &mut runner, out)?;
        let code = end(&done.run, &runner, out);
        // Whoever waits for the result does not wait for its copy.
        done.export(out);
        code
    }

    /// Returns what the agent is given: a system prompt goes the way of system texts.
    fn texts(&self, composition: &Composition) -> Result<Texts, Failure> {
        let given = self.prompt.as_deref().map(read_prompt).transpose()?;
        match (composition.prompt.shape, given) {
            (Shape::Messages, given) => messages(composition, given),
            (_, Some(prompt)) => Ok(Texts {
                prompt,
                system: Some(composition.text.clone()).filter(|text| !text.is_empty()),
            }),
            (Shape::System, None) => Err(Failure::input(format!(
                "recipe `{}` composes a system prompt, and an agent needs a prompt too",
                self.recipe
            ))
            .hint("`--prompt TEXT` gives one")),
            (Shape::Text, None) => Ok(Texts {
                prompt: composition.text.clone(),
                system: None,
            }),
        }
    }
}

/// A finished run, and all runs that were finished on the way.
pub(crate) struct Done {
    pub(crate) run: Run,
    opened: Opened,
    finished: Vec<Run>,
}

impl Done {
    /// Sends what was finished to whoever collects spans, where that is asked for.
    pub(crate) fn export(&self, out: Output) {
        telemetry::export(&self.opened, &self.finished, out);
    }
}

impl Errand {
    /// Tells who asks for the run: a worker has claimed it, else a person waits for it.
    fn asker(&self) -> Asker {
        match self.claim {
            Some(_) => Asker::Worker,
            None => Asker::Person { probe: self.probe },
        }
    }

    /// Hands a sealed prompt to a runner, and returns the finished run.
    pub(crate) fn run(
        &self,
        project: &Project,
        runner: &mut Resolved,
        out: Output,
    ) -> Result<Done, Failure> {
        if let Some(Script::Recording(_, adapter)) = &self.script {
            runner.plays(adapter);
        }
        let opened = store::open_to_write(project)?;
        // The files of a run are on this machine, wherever its record is.
        store::make_folder(project)?;
        let home = store::folder(project);
        // A worker has done so before it claimed the run.
        let held = self.task.as_ref().map(|task| &task.workspace);
        let mut finished = match self.claim {
            Some(_) => Vec::new(),
            None => drive::settle(&opened.runs(&home), held)?,
        };
        run::tell_settled(&finished, out);
        let program = std::env::current_exe()
            .map_err(|cause| Failure::refused("cannot tell where callsheet is", &cause))?;
        let environment = run::environment();
        let isolates = runner.isolates(&environment);
        say_terms(runner, isolates, self.sandbox.is_some(), out);
        let cwd = match &self.task {
            Some(task) => task.workspace.ground().path().to_owned(),
            None => run::real(project.root())?,
        };
        let job = Job {
            store: &opened.store,
            project: &opened.project,
            home: &home,
            cwd: &cwd,
            kind: self.kind,
            parent: self.parent,
            sealed: self.sealed,
            prompt: &self.texts.prompt,
            system: self.texts.system.as_deref(),
            runner,
            environment: &environment,
            program: &program,
            script: self.script.as_ref().map(Script::path),
            most: most(project, runner),
            sandbox: self.sandbox.as_deref(),
            asker: self.asker(),
            task: self.task.as_ref().map(|task| task.job(project)),
            phase: None,
        };
        let mut live = Live::new(runner, out)?;
        let driven = match &self.claim {
            Some(claim) => drive::run_claimed(&job, claim, &mut live),
            None => drive::run(&job, &mut live),
        };
        live.end();
        let run = driven.map_err(|error| {
            telemetry::export(&opened, &finished, out);
            not_now(error, runner)
        })?;
        finished.push(run.clone());
        Ok(Done {
            run,
            opened,
            finished,
        })
    }
}

/// Returns how many runs there may be at once.
pub(crate) fn most(project: &Project, runner: &Resolved) -> Most {
    let settings = &project.settings;
    let account = settings.accounts.get(&runner.account);
    Most {
        project: settings.limits.runs,
        account: account.and_then(|account| account.runs),
    }
}

/// Splits messages into what the agent is told to be and what it is told to do.
pub(crate) fn messages(composition: &Composition, given: Option<String>) -> Result<Texts, Failure> {
    let messages = composition.messages();
    if messages
        .iter()
        .any(|message| message.role == Role::Assistant)
    {
        return Err(Failure::input(
            "the messages have answers of an assistant, which no agent CLI takes",
        ));
    }
    let join = |role: Role| {
        let texts: Vec<&str> = messages
            .iter()
            .filter(|message| message.role == role)
            .map(|message| message.content.as_str())
            .collect();
        Some(texts.join("\n\n")).filter(|text| !text.is_empty())
    };
    let prompt = match (given, join(Role::User)) {
        (Some(_), Some(_)) => {
            return Err(Failure::input(
                "the messages have a prompt already; leave out `--prompt`",
            ));
        }
        (Some(prompt), None) | (None, Some(prompt)) => prompt,
        (None, None) => {
            return Err(Failure::input("the messages have no prompt of a user")
                .hint("`--prompt TEXT` gives one"));
        }
    };
    Ok(Texts {
        prompt,
        system: join(Role::System),
    })
}

fn read_prompt(text: &str) -> Result<String, Failure> {
    let prompt = input::given(text)?;
    if prompt.trim().is_empty() {
        return Err(Failure::input("the prompt of `--prompt` is empty"));
    }
    Ok(prompt)
}

/// Says what the agent may do, before it does anything.
fn say_terms(runner: &Resolved, isolates: bool, is_sandboxed: bool, out: Output) {
    let model = runner.runner.model.as_deref();
    let model = model.map_or_else(String::new, |model| format!(", model {model}"));
    let permissions = runner.permissions.as_str();
    // Programs that have no login have nothing to keep apart.
    let login = match (runner.sheet.keys.is_empty(), isolates) {
        (true, _) => "",
        (false, true) => ", a state folder of its own",
        (false, false) => ", your own login and configuration",
    };
    let sandbox = if is_sandboxed {
        "sandboxed"
    } else {
        "no sandbox"
    };
    out.say(&format!(
        "runner {}: {}{model}, permissions {permissions}, {sandbox}{login}",
        runner.name, runner.sheet.title
    ));
}

fn not_now(error: RunError, runner: &Resolved) -> Failure {
    // One that another run is trying, or that has all the runs that it may have, is not opened by one more.
    let parked = matches!(&error, RunError::NotNow(why) if why.starts_with("account `")
        && (why.contains("` is parked for ") || why.contains("` is stopped (")));
    let failure = Failure::from(error);
    if parked {
        let account = &runner.account;
        return failure.hint(format!(
            "`--probe` tries account `{account}` once; a success opens it again"
        ));
    }
    failure
}

/// Prints what was observed; the last line is the id.
pub(crate) fn end(finished: &Run, runner: &Resolved, out: Output) -> Result<ExitCode, Failure> {
    let document = document(finished);
    if out.json {
        out.document(&document)?;
    } else {
        out.text(&run::facts(&document))?;
        out.data(format!("{}\n", finished.id))?;
    }
    let status = document["status"].as_str();
    Ok(
        if status == Some(Status::Completed.as_str()) && run::is_fine(&document) {
            ExitCode::SUCCESS
        } else if document["class"] == "environment" && document["termination"].is_null() {
            let install = &runner.sheet.install;
            if !install.is_empty() {
                out.note(&format!("`{install}` installs {}", runner.sheet.title));
            }
            ExitCode::from(REFUSED)
        } else {
            ExitCode::from(NEGATIVE)
        },
    )
}
