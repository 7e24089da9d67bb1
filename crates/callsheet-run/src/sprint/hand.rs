//! What the driver does with its own hands: the context, the board, the commit, the archive.

use std::path::Path;

use callsheet::sprint::machine::{Action, ActionId, Chosen, Cycle, Input, Spec, Todo, Verified};
use callsheet::sprint::{Board, Epics, Markers, Phase, Status, TechSpec, Word, next_where};
use callsheet::story::Match;

use super::commit::{self, Expected};
use super::driver::Driver;
use super::{Layout, Written, archive, context, scope};
use crate::RunError;
use crate::repository::Repository;

impl Driver<'_> {
    /// Does an action that takes no time worth speaking of.
    pub(super) fn hand(&self, action: &Action) -> Result<Input, RunError> {
        let id = action.id;
        let done = match &action.todo {
            Todo::CheckContext => {
                let hours = self.stage.settings.project_context_max_age_hours;
                let found = context::check(self.stage.root, self.stage.layout, hours);
                Ok(Input::Context { action: id, found })
            }
            Todo::FreezeContext => Ok(self.freeze(id)),
            Todo::Select { busy, epics } => self.select(id, busy, epics),
            Todo::Look { keys } => self.look_at(id, keys),
            Todo::SetStatus {
                key,
                from,
                to,
                force,
            } => self.set(id, key, (*from, *to), *force),
            Todo::Baseline => {
                let head = commit::head(self.stage.root);
                head.map(|head| Input::Baseline { action: id, head })
            }
            Todo::VerifyCommit { keys, baseline } => self.verify(action, keys, baseline.as_deref()),
            Todo::Archive { keys } => {
                let stage = self.stage;
                let archived = archive::archive(stage.root, &self.board, stage.layout, keys);
                archived.map(|archived| Input::Archived {
                    action: id,
                    moved: archived.moved,
                    failed: archived.failed,
                })
            }
            Todo::Merge { .. } | Todo::Agent(_) | Todo::Wait { .. } | Todo::Cancel { .. } => {
                Err(RunError::Input("this takes longer".to_owned()))
            }
        };
        match done {
            Ok(input) => Ok(input),
            // Without its store a batch cannot even say that something went wrong.
            Err(RunError::Store(error)) => Err(error.into()),
            Err(error) => Ok(Input::Refused {
                action: id,
                reason: error.to_string(),
            }),
        }
    }

    fn freeze(&self, action: ActionId) -> Input {
        let layout = self.stage.layout;
        Input::Frozen {
            action,
            source: layout.project_context.clone(),
            destination: layout.sprint_project_context.clone(),
            failed: context::freeze(self.stage.root, layout).err(),
        }
    }

    fn select(
        &self,
        action: ActionId,
        busy: &[String],
        epics: &[String],
    ) -> Result<Input, RunError> {
        let board = self.board.read()?;
        let places = Epics::of(&board);
        let running = self.running_scopes();
        let mut epics = epics.to_vec();
        let choice = loop {
            let choice = next_where(&board, |entry| {
                !busy.contains(&entry.key)
                    && (epics.is_empty() || !epics.contains(&places.place(&entry.key).epic))
            });
            if choice.story_keys.is_empty() || !self.collides(&choice.story_keys, &running) {
                break choice;
            }
            // It waits until whoever writes the same is done.
            epics.push(choice.epic_id);
        };
        Ok(Input::Selected {
            action,
            epic: choice.epic_id,
            stories: self.chosen(&board, &choice.story_keys),
        })
    }

    /// Returns what the stories of each cycle that runs declare to write.
    fn running_scopes(&self) -> Vec<Vec<String>> {
        let stage = self.stage;
        let scope = |cycle: &Cycle| {
            let spot = self.spots.get(&cycle.number);
            let root = spot.map_or(stage.root, |spot| spot.ground().path());
            scope::declared(root, stage.layout, &cycle.keys()).unwrap_or_default()
        };
        self.batch.running_cycles().iter().map(scope).collect()
    }

    /// Tells whether stories declare to write what others are writing.
    fn collides(&self, keys: &[String], running: &[Vec<String>]) -> bool {
        let stage = self.stage;
        let mine = scope::declared(stage.root, stage.layout, keys).unwrap_or_default();
        let threshold = stage.workspace.conflict_threshold;
        let mut running = running.iter();
        running.any(|theirs| scope::collide(&mine, theirs, threshold))
    }

    fn look_at(&self, action: ActionId, keys: &[String]) -> Result<Input, RunError> {
        let board = self.board.read()?;
        Ok(Input::Selected {
            action,
            epic: String::new(),
            stories: self.chosen(&board, keys),
        })
    }

    /// Returns the stories that can be run, as the board has them.
    fn chosen(&self, board: &Board, keys: &[String]) -> Vec<Chosen> {
        let runnable = |key: &String| {
            let entry = board.get(key).filter(|entry| entry.is_runnable())?;
            let status = entry.word.status?;
            let spec = match status {
                Status::Backlog => Spec::Undecided,
                _ => spec_of(self.stage.root, self.stage.layout, key),
            };
            let key = key.clone();
            Some(Chosen { key, status, spec })
        };
        keys.iter().filter_map(runnable).collect()
    }

    fn set(
        &self,
        action: ActionId,
        key: &str,
        (from, to): (Status, Status),
        force: bool,
    ) -> Result<Input, RunError> {
        let expected = (!force).then(|| from.as_str());
        let written = self
            .board
            .set(self.stage.home, key, expected, (to, force))?;
        let set = |old: String, is_set| Input::StatusSet {
            action,
            old,
            is_set,
        };
        Ok(match written {
            Written::Set { from, .. } => {
                let old = Word::parse(&from).status;
                set(old.map_or(from, |old| old.as_str().to_owned()), true)
            }
            // Whoever was killed after writing it has written it.
            Written::Same => set(from.as_str().to_owned(), true),
            Written::Differs { found } => {
                let word = found.as_deref().map(Word::parse);
                match word.and_then(|word| word.status) {
                    Some(status) if status == to => set(from.as_str().to_owned(), true),
                    Some(status) => set(status.as_str().to_owned(), false),
                    None => set(found.unwrap_or_default(), false),
                }
            }
            Written::Refused { path, why } => {
                return Err(RunError::Input(format!("{path}: {why}")));
            }
        })
    }

    /// Returns the ref that keeps commits which are taken back.
    pub(super) fn lost(&self) -> String {
        format!("refs/callsheet/lost/sprint-{}", self.claim.batch.id)
    }

    fn verify(
        &self,
        action: &Action,
        keys: &[String],
        baseline: Option<&str>,
    ) -> Result<Input, RunError> {
        let stage = self.stage;
        let ours = self.ours(keys)?;
        let lost = self.lost();
        let expected = Expected {
            baseline,
            ours: &ours,
            lost: &lost,
            home: stage.home,
        };
        let verified = match commit::top(stage.root) {
            Some(top) => commit::verify(&Repository::open(&top)?, &expected)?,
            None => Verified::Nothing,
        };
        Ok(Input::CommitVerified {
            action: action.id,
            verified,
        })
    }
}

/// Tells what the files of a story say of its tech spec.
pub fn spec_of(root: &Path, layout: &Layout, key: &str) -> Spec {
    let Ok(root) = callsheet::Root::open(root) else {
        return Spec::Undecided;
    };
    let directory = &layout.implementation_artifacts;
    let rule = Match::new(&[key], false);
    let listed = root.list_where(directory, |name| rule.hits(name));
    let names = listed.map_or_else(|_| Vec::new(), |listing| listing.names);
    if names
        .iter()
        .any(|name| name.to_lowercase().contains("tech-spec"))
    {
        return Spec::Ready;
    }
    let stories = names
        .iter()
        .filter(|name| !name.to_lowercase().contains("discovery"));
    for name in stories {
        let text = root
            .read(&format!("{directory}/{name}"))
            .unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let markers = Markers::parse(Phase::CreateStory, &text, &[key.to_owned()]);
        if markers.marked {
            return match markers.tech_spec.get(key) {
                Some(TechSpec::Skip) => Spec::Skip,
                _ => Spec::Required,
            };
        }
    }
    Spec::Undecided
}
