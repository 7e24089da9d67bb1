//! Prompts as a project makes them: much the same from one to the next, but for the task and what was observed.

use std::ops::Range;
use std::path::{Path, PathBuf};

use callsheet::inputs::Disk;
use callsheet::recipe::{self, Folder};
use callsheet::{Composition, Inputs, Options, Recipe, Seal, compose};
use callsheet_store::{Project, Store, Wait};
use serde_json::{Value, json};

use crate::bench_store::BenchStore;
use crate::table::timed;
use crate::text::Chance;

/// The files that go into every prompt.
const FILES: usize = 28;

/// After so many prompts one line of one file is another.
const STEADY: usize = 20;

/// How many prompts are composed at the same time.
const THREADS: usize = 4;

/// The name that the program gives to the one project of a file.
const PROJECT: &str = ".";

/// Where the program finds the recipe as well.
const RECIPE_FOLDER: &str = "callsheet/recipes/bench";

const RECIPE: &str = r#"
frame = "prompt"

[frames.prompt]
separator = "\n\n"
close = "\n"

[frames.file]
tag = "file"
open = "<{{tag}} path=\"{{path}}\">\n"
close = "\n</{{tag}}>"
escape = "attribute"

[[layers]]
name = "system"
template = "system.md"
volatility = "constant"
trust = "own"

[[layers]]
name = "files"
files = { globs_from = "globs" }
frame = "file"
volatility = "project"

[[layers]]
name = "task"
value = "task"

[[layers]]
name = "digest"
value = "digest"
volatility = "turn"
"#;

/// Many prompts in a store.
pub(crate) struct Corpus {
    pub(crate) count: usize,
    /// What the prompts have in all.
    pub(crate) raw: u64,
    /// One of the older prompts.
    pub(crate) old: Composition,
    /// The newest prompt.
    pub(crate) last: Composition,
    pub(crate) project: Project,
}

/// Returns what to do in a prompt, which no other prompt says.
pub(crate) fn task(number: usize) -> String {
    let mut chance = Chance::new(number as u64 + 1_000_000);
    format!(
        "Fix ticket {}-{number:05}.\n\n{}",
        chance.name(),
        chance.prose(600)
    )
}

/// Returns what was observed before a prompt.
fn digest(number: usize) -> String {
    let mut chance = Chance::new(number as u64 + 2_000_000);
    let mut text = format!(
        "The run before ended with exit code {} and changed:\n",
        chance.below(3)
    );
    for _ in 0..8 + chance.below(8) {
        text.push_str(&format!(
            "- src/{}.rs ({} lines)\n",
            chance.name(),
            chance.below(400)
        ));
    }
    text + &chance.prose(400)
}

impl Corpus {
    /// Seals prompts whose texts come from files, those of some numbers.
    pub(crate) fn of_files(place: &BenchStore, numbers: Range<usize>) -> Self {
        let folder = Folder::from([
            ("recipe.toml".to_owned(), RECIPE.to_owned()),
            ("system.md".to_owned(), Chance::new(7).prose(3000)),
        ]);
        let files = write_files(&place.folder, numbers.start == 0);
        write_recipe(&place.folder, &folder);
        let recipe = Recipe::parse("bench", RECIPE_FOLDER, folder).unwrap();
        let make = |number: usize| {
            let inputs = Inputs::new(Disk::watched().open(&place.folder).unwrap());
            let globs = ["src/**", "docs/**"];
            let input = json!({"globs": globs, "task": task(number), "digest": digest(number)});
            (input, inputs)
        };
        let change = |number: usize| {
            let mut chance = Chance::new(number as u64 + 3_000_000);
            let file = &files[chance.below(FILES)];
            change_line(file, &mut chance);
        };
        Self::make(place, numbers, &recipe, make, change)
    }

    /// Seals prompts whose texts all come in the input document.
    pub(crate) fn of_inputs(place: &BenchStore, count: usize) -> Self {
        let recipe = recipe::built_in("layers").unwrap().unwrap();
        let mut chance = Chance::new(8);
        let blocks: Vec<String> = (0..FILES).map(|_| chance.code(4000)).collect();
        let make = |number: usize| {
            let texts = blocks.iter().cloned().chain([task(number), digest(number)]);
            let context: Vec<Value> = texts
                .enumerate()
                .map(|(nth, text)| json!({"name": format!("block {nth}"), "content": text}))
                .collect();
            let inputs = Inputs::new(Disk::watched().open(&place.folder).unwrap());
            (json!({"context": context}), inputs)
        };
        Self::make(place, 0..count, recipe, make, |_| {})
    }

    /// Seals prompts of about 4 kB that share nothing.
    pub(crate) fn of_noise(place: &BenchStore, count: usize) -> Self {
        let recipe = recipe::built_in("layers").unwrap().unwrap();
        let make = |number: usize| {
            let text = Chance::new(number as u64 + 4_000_000).noise(4000);
            let inputs = Inputs::new(Disk::watched().open(&place.folder).unwrap());
            (
                json!({"context": [{"name": "notes", "content": text}]}),
                inputs,
            )
        };
        Self::make(place, 0..count, recipe, make, |_| {})
    }

    fn make(
        place: &BenchStore,
        numbers: Range<usize>,
        recipe: &Recipe,
        input: impl Fn(usize) -> (Value, Inputs) + Sync,
        change: impl Fn(usize),
    ) -> Self {
        let store = place.open();
        let project = store.project(PROJECT).wait().unwrap();
        let maker = Maker {
            store: &store,
            project: &project,
            recipe,
            input: &input,
        };
        let (mut raw, mut old) = (0, None);
        let Range { start, end } = numbers;
        let making = timed(|| {
            for from in numbers.step_by(STEADY) {
                change(from);
                raw += maker.some(from..end.min(from + STEADY));
                if old.is_none() && from - start >= (end - start) / 2 {
                    old = Some(maker.composed(from).0);
                }
            }
        });
        let indexing = timed(|| while !store.index(&project, 2 << 20).wait().unwrap() {});
        eprintln!(
            "{}: {} prompts sealed in {:.0} s, indexed in {:.0} s",
            place.database.name(),
            end - start,
            making.as_secs_f64(),
            indexing.as_secs_f64()
        );
        let last = maker.composed(end - 1).0;
        Self {
            count: end,
            raw,
            old: old.unwrap(),
            last,
            project,
        }
    }
}

struct Maker<'a, I> {
    store: &'a Store,
    project: &'a Project,
    recipe: &'a Recipe,
    input: &'a I,
}

impl<I: Fn(usize) -> (Value, Inputs) + Sync> Maker<'_, I> {
    fn composed(&self, number: usize) -> (Composition, Seal) {
        let (input, inputs) = (self.input)(number);
        let options = Options::default();
        let composition = compose(self.recipe, &input, &inputs, &options).unwrap();
        let seal = Seal::of(&composition, self.recipe, &input, &inputs, &options).unwrap();
        (composition, seal)
    }

    /// Composes and seals some prompts on a few threads; returns how many bytes they have.
    fn some(&self, numbers: Range<usize>) -> u64 {
        let one = |number: usize| {
            let (composition, seal) = self.composed(number);
            let (_, new) = self.store.seal(self.project, seal).wait().unwrap();
            assert!(new, "no two prompts are the same");
            composition.text.len() as u64
        };
        std::thread::scope(|scope| {
            let part = |thread: usize| {
                let numbers = numbers.clone().skip(thread).step_by(THREADS);
                scope.spawn(move || numbers.map(one).sum::<u64>())
            };
            let running: Vec<_> = (0..THREADS).map(part).collect();
            running
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .sum()
        })
    }
}

/// Returns the files of a project, source and every fourth one documentation, and writes them where they are not there yet.
fn write_files(root: &Path, anew: bool) -> Vec<PathBuf> {
    let mut chance = Chance::new(9);
    let mut file = |nth: usize| {
        let size = 3000 + chance.below(2000);
        let (path, text) = if nth.is_multiple_of(4) {
            (format!("docs/{}.md", chance.name()), chance.prose(size))
        } else {
            (
                format!("src/{}/{}.rs", chance.word(), chance.name()),
                chance.code(size),
            )
        };
        let path = root.join(path);
        if anew {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        path
    };
    (0..FILES).map(&mut file).collect()
}

fn write_recipe(root: &Path, folder: &Folder) {
    let place = root.join(RECIPE_FOLDER);
    std::fs::create_dir_all(&place).unwrap();
    for (name, text) in folder {
        std::fs::write(place.join(name), text).unwrap();
    }
}

/// Writes another line in the place of one.
fn change_line(path: &Path, chance: &mut Chance) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines: Vec<&str> = text.split('\n').collect();
    let other = chance.code_line();
    let at = chance.below(lines.len());
    lines[at] = &other;
    std::fs::write(path, lines.join("\n")).unwrap();
}
