//! What a sprint needs from this program: prompts, runners, and lines for people.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use callsheet::Event;
use callsheet::sprint::machine::{ActionId, AgentOrder, Batch, Model};
use callsheet::sprint::{
    EarlierFinding, Epics, Folders, Phase, PhaseLimits, PhaseOrder, PhasePaths, story_context,
};
use callsheet_run::drive::Live;
use callsheet_run::sandbox::WorkingDirectory;
use callsheet_run::sprint::{BoardFile, Brief, Briefed, Crew, Layout};
use callsheet_run::{Interrupts, Resolved, RunError};

use super::live::Show;
use crate::commands::exec::{self, Texts};
use crate::failure::Failure;
use crate::options::{BudgetArgs, Composed, Keeping, compose_document};
use crate::output::Output;
use crate::project::Project;
use crate::run::Script;
use crate::store::Opened;
use crate::{run, sandbox};

/// Adapters whose models have other names than the one that is the default of `review_model`.
const OTHER_MODELS: [&str; 3] = ["codex", "gemini", "opencode"];

/// What composes the prompts of phases.
pub(super) struct Prompts<'a> {
    project: &'a Project,
    layout: Layout,
}

/// Who runs the agents of a sprint.
pub(super) struct Cast {
    /// The name of the runner of all phases.
    runner: String,
    /// The model of reviews, where another one than the runner's own is taken.
    pub(super) review_model: Option<String>,
    /// What the adapter `replay` plays; its files go with it.
    recording: Option<Script>,
}

impl Cast {
    /// Chooses the runner, and says what is wrong with it before anything begins.
    pub(super) fn new(project: &Project, runner: Option<&str>) -> Result<Self, Failure> {
        let named = runner.or(project.settings.sprint.runner.as_deref());
        let runner = run::choose(project, named)?;
        let script = run::script(project, &resolve(project, &runner)?)?;
        Ok(Self {
            review_model: review_model(project, &runner)?,
            recording: script.filter(|script| matches!(script, Script::Recording(..))),
            runner,
        })
    }
}

/// The program around a sprint.
pub(super) struct ProgramCrew<'a> {
    prompts: Prompts<'a>,
    cast: Cast,
    /// Where prompts are sealed.
    opened: &'a Opened,
    interrupts: Mutex<Interrupts>,
    show: Show,
}

impl<'a> ProgramCrew<'a> {
    pub(super) fn new(
        project: &'a Project,
        cast: Cast,
        opened: &'a Opened,
        out: Output,
    ) -> Result<Self, Failure> {
        Ok(Self {
            prompts: Prompts::new(project, super::layout(project)),
            interrupts: Mutex::new(Interrupts::catch()?),
            show: Show::new(out)?,
            cast,
            opened,
        })
    }

    /// Takes the line that moves away.
    pub(super) fn end(&self) {
        self.show.end();
    }
}

/// Returns the model of reviews, where another one than the runner's own is taken.
pub(super) fn review_model(project: &Project, runner: &str) -> Result<Option<String>, Failure> {
    let sheet = resolve(project, runner)?.sheet;
    let is_known = !OTHER_MODELS.contains(&sheet.name.as_str());
    let set = project.settings.sprint.review_model.clone();
    Ok(set.or_else(|| is_known.then(|| "haiku".to_owned())))
}

impl<'a> Prompts<'a> {
    pub(super) fn new(project: &'a Project, layout: Layout) -> Self {
        Self { project, layout }
    }

    /// Composes the prompt of a phase.
    pub(super) fn compose(
        &self,
        order: &AgentOrder,
        brief: &Brief,
        keeping: Keeping,
    ) -> Result<Composed, Failure> {
        let phase = self.phase_order(order, brief)?;
        let found = self.project.recipe(&phase.recipe())?;
        let options = BudgetArgs::default().options(false);
        let input = phase.input().into();
        let there = self.place(brief);
        let project = there.as_ref().unwrap_or(self.project);
        compose_document(project, found.recipe(), input, &options, keeping)
    }

    /// Returns the project as an agent has it in a worktree.
    fn place(&self, brief: &Brief) -> Option<Project> {
        let worktree = brief.worktree.as_deref()?;
        Some(self.project.with_root(worktree))
    }

    fn phase_order(&self, order: &AgentOrder, brief: &Brief) -> Result<PhaseOrder, Failure> {
        let settings = &self.project.settings.sprint;
        let is_review = matches!(
            order.phase,
            Phase::StoryReview | Phase::TechSpecReview | Phase::CodeReview
        );
        let findings = order.findings.iter().map(|finding| EarlierFinding {
            attempt: order.attempt.checked_sub(1),
            severity: finding.severity.as_str().to_owned(),
            text: finding.text.clone(),
        });
        let bytes = |kb: u64| usize::try_from(kb.saturating_mul(1024)).ok();
        Ok(PhaseOrder {
            epic_id: Some(order.epic.clone()).filter(|epic| !epic.is_empty()),
            attempt: is_review.then_some(order.attempt),
            chain: is_review && order.background,
            previous_findings: findings.collect(),
            previous: brief.previous.clone(),
            write_scope: brief.write_scope.clone(),
            additional_files: self.additional(order, brief)?,
            degrade: true,
            limits: PhaseLimits {
                warning_bytes: bytes(settings.injection_warning_kb),
                error_bytes: bytes(settings.injection_error_kb),
            },
            paths: PhasePaths {
                implementation_artifacts: Some(self.layout.implementation_artifacts.clone()),
                planning_artifacts: Some(self.layout.planning_artifacts.clone()),
                sprint_project_context: Some(self.layout.sprint_project_context.clone()),
                project_context: Some(self.layout.project_context.clone()),
                workflows: settings.workflows.clone(),
            },
            ..PhaseOrder::new(order.phase, order.keys.iter().cloned())
        })
    }

    /// Returns what whoever writes a story is given beside the files of the phase: its epic, and the story before.
    fn additional(&self, order: &AgentOrder, brief: &Brief) -> Result<Vec<String>, Failure> {
        let Some(first) = order
            .keys
            .first()
            .filter(|_| order.phase == Phase::CreateStory)
        else {
            return Ok(Vec::new());
        };
        let there = self.place(brief);
        let root = there.as_ref().unwrap_or(self.project).open()?;
        let names = |directory: &str| {
            let listing = root.list(directory);
            listing.map_or_else(|_| Vec::new(), |listing| listing.names)
        };
        let board = BoardFile::find(
            self.project.root(),
            &self.project.settings.sprint,
            &self.layout,
        );
        let board = board?.read()?;
        let epics = Epics::of(&board);
        let stories = board.stories().take_while(|story| story.key != *first);
        let before = stories.last().map(|story| story.key.clone());
        let before = before.filter(|key| epics.place(key).epic == order.epic);
        let (planning, implementation) = (
            &self.layout.planning_artifacts,
            &self.layout.implementation_artifacts,
        );
        let folders = Folders {
            planning: (planning, &names(planning)),
            implementation: (implementation, &names(implementation)),
        };
        Ok(story_context(&order.epic, before.as_deref(), folders))
    }
}

impl ProgramCrew<'_> {
    fn briefed(&self, order: &AgentOrder, brief: &Brief) -> Result<Briefed, Failure> {
        let project = self.prompts.project;
        let composed = self.prompts.compose(order, brief, Keeping::Seal)?;
        let texts = texts(&composed)?;
        let seal = composed.seal;
        let seal = seal.ok_or_else(|| Failure::input("nothing was sealed"))?;
        let sealed = self.opened.seal(seal)?;
        let directory = match brief.worktree {
            Some(_) => WorkingDirectory::Worktree,
            None => directory(project, &self.cast.runner)?,
        };
        let mut runner = resolve_at(project, &self.cast.runner, directory)?;
        if order.model == Model::Review
            && let Some(model) = &self.cast.review_model
        {
            runner.runner.model = Some(model.clone());
        }
        let script = match &self.cast.recording {
            Some(script @ Script::Recording(_, adapter)) => {
                runner.plays(adapter);
                Some(script.path().to_owned())
            }
            _ => run::script(project, &runner)?.map(|script| script.path().to_owned()),
        };
        Ok(Briefed {
            sealed: sealed.id,
            prompt: texts.prompt,
            system: texts.system,
            events: composed.composition.events.clone(),
            script,
            sandbox: sandbox::of(project, directory)?,
            most: exec::most(project, &runner),
            runner,
        })
    }
}

/// Returns what an agent is given: the files as system text, what to do as the prompt.
pub(super) fn texts(composed: &Composed) -> Result<Texts, Failure> {
    exec::messages(&composed.composition, None)
}

/// Tells where the agents of a sprint work. Those that ask before they do something are put into the sandbox, where they do not
/// have to ask: nobody is there to answer.
fn directory(project: &Project, name: &str) -> Result<WorkingDirectory, Failure> {
    let runner = project.runners().resolve(name, project.root(), false)?;
    Ok(if runner.sheet.permissions.is_empty() {
        WorkingDirectory::Project
    } else {
        WorkingDirectory::Worktree
    })
}

fn resolve(project: &Project, name: &str) -> Result<Resolved, Failure> {
    resolve_at(project, name, directory(project, name)?)
}

fn resolve_at(
    project: &Project,
    name: &str,
    directory: WorkingDirectory,
) -> Result<Resolved, Failure> {
    let is_sandboxed = sandbox::of(project, directory)?.is_some();
    Ok(project
        .runners()
        .resolve(name, project.root(), is_sandboxed)?)
}

impl Crew for ProgramCrew<'_> {
    fn brief(&self, order: &AgentOrder, brief: &Brief) -> Result<Briefed, RunError> {
        self.briefed(order, brief).map_err(Failure::into_run_error)
    }

    fn writable(&self) -> Result<Option<Vec<PathBuf>>, RunError> {
        sandbox::of(self.prompts.project, WorkingDirectory::Worktree)
            .map_err(Failure::into_run_error)
    }

    fn stops(&self) -> usize {
        let mut interrupts = self
            .interrupts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let stops = interrupts.count();
        self.show.stops(stops);
        stops
    }

    fn recorded(&self, batch: &Batch, events: &[Event]) {
        self.show.recorded(batch, events);
    }

    fn live(&self, action: ActionId, order: &AgentOrder, live: &Live<'_>) {
        self.show.live(action, order, live);
    }

    fn note(&self, line: &str) {
        self.show.note(line);
    }

    fn waiting(&self, action: ActionId, account: &str, seconds: u64) {
        self.show.waiting(action, account, seconds);
    }
}
