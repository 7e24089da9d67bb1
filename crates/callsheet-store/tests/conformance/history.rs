//! Histories: whatever is sealed, collected and imported in whatever order, what is found is what reading everything finds.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callsheet::inputs::Disk;
use callsheet::recipe::Folder;
use callsheet::{Fingerprint, Inputs, Options, Recipe, Seal, compose};
use callsheet_store::{
    Bundle, Bundled, HitPlace, Id, Keep, NewRun, Project, PromptFilter, RunKind, SealedPrompt,
    Store, Wait,
};
use serde_json::json;

use crate::on_both;
use crate::test_store::{TestStore, findings};

on_both!(any_history_is_told_as_it_was);

/// How many steps a history has.
const STEPS: usize = 60;

/// The files that prompts are made of.
const FILES: [&str; 6] = ["a.md", "b.md", "c.md", "d/e.md", "d/f.md", "g.md"];

/// What texts are made of.
const WORDS: [&str; 12] = [
    "one ",
    "two\n",
    "é ",
    "x",
    "--- ",
    "\n\n",
    "\r\n",
    "日本",
    "😀",
    "\0",
    "Zebra ",
    "the rest of it, ",
];

/// Recipes: the name, what stands between files, and what before all of them.
pub(crate) const RECIPES: [(&str, &str, &str); 3] = [
    ("first", "\\n\\n", ""),
    ("second", "", ""),
    (
        "third",
        "\\n",
        "The frame of it all, which is long enough to be found.\\n",
    ),
];

/// Numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn text(&mut self) -> String {
        let most = [0, 1, 4, 12, 60][self.roll(5)];
        (0..most).map(|_| WORDS[self.roll(WORDS.len())]).collect()
    }

    /// Returns some characters of a text, three at least.
    fn part<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let size = [3, 8, 31, 33, 40, 100, 2000][self.roll(7)];
        let from = text.floor_char_boundary(self.roll(text.len().max(1)));
        let to = text.ceil_char_boundary((from + size).min(text.len()));
        Some(&text[from..to]).filter(|part| part.chars().count() >= 3)
    }
}

pub(crate) fn recipe((name, separator, open): (&str, &str, &str)) -> Recipe {
    let file = match name {
        "third" => "open = \"<{{path}}>\\n\"\nclose = \"\\n</{{path}}>\"\n",
        _ => "",
    };
    let text = format!(
        "frame = \"all\"\n[frames.all]\nseparator = \"{separator}\"\nopen = \"{open}\"\n[frames.file]\n{file}\
        [[layers]]\nname = \"files\"\nfiles = {{ globs_from = \"globs\" }}\nframe = \"file\"\n"
    );
    let folder = Folder::from([("recipe.toml".to_owned(), text)]);
    Recipe::parse(name, &format!("callsheet/recipes/{name}"), folder).unwrap()
}

pub(crate) fn composed(recipe: &Recipe, files: &BTreeMap<&str, String>) -> Seal {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let inputs = Inputs::new(Disk::watched().open(folder.path()).unwrap());
    // A glob that matches no file is an error.
    let globs = if files.is_empty() {
        json!([])
    } else {
        json!(["**"])
    };
    let (input, options) = (json!({"globs": globs}), Options::default());
    let composition = compose(recipe, &input, &inputs, &options).unwrap();
    Seal::of(&composition, recipe, &input, &inputs, &options).unwrap()
}

/// A prompt that has to be there.
#[derive(Clone)]
struct ExpectedPrompt {
    prompt: SealedPrompt,
    seal: Seal,
    text: String,
    /// By their fingerprints.
    sections: BTreeMap<Fingerprint, String>,
    sources: BTreeSet<String>,
    was_run: bool,
}

impl ExpectedPrompt {
    fn new(prompt: SealedPrompt, seal: Seal) -> Self {
        let (manifest, text) = (seal.manifest().unwrap(), seal.text().unwrap());
        let sections = manifest.sections.iter();
        let sections = sections
            .map(|one| (one.fingerprint, text[one.start..one.end].to_owned()))
            .collect();
        let files = seal.inputs().unwrap().files().into_iter();
        Self {
            sources: files.map(|path| format!("file:{path}")).collect(),
            was_run: false,
            prompt,
            sections,
            text,
            seal,
        }
    }
}

/// A project and what it has to have.
struct Shelf {
    project: Project,
    prompts: BTreeMap<Id, ExpectedPrompt>,
}

impl Shelf {
    fn take(&mut self, sealed: (SealedPrompt, bool), seal: &Seal) {
        let (prompt, new) = sealed;
        let known = self.prompts.values().any(|one| one.seal == *seal);
        assert_eq!(new, !known);
        if new {
            self.prompts
                .insert(prompt.id, ExpectedPrompt::new(prompt, seal.clone()));
        }
    }

    /// Returns the prompts that something is true of, the newest first.
    fn ids(&self, is_one: impl Fn(&ExpectedPrompt) -> bool) -> Vec<Id> {
        let found = self.prompts.values().filter(|one| is_one(one));
        let mut ids: Vec<Id> = found.map(|one| one.prompt.id).collect();
        ids.sort_by_key(|id| Reverse(*id));
        ids
    }

    fn any(&self, dice: &mut Dice) -> Option<&ExpectedPrompt> {
        let nth = dice.roll(self.prompts.len().max(1));
        self.prompts.values().nth(nth)
    }

    fn collect(&mut self, store: &Store, keep: usize) {
        let keep = Keep {
            newest: Some(keep),
            since: None,
        };
        let kept = self.ids(|_| true).into_iter().take(keep.newest.unwrap());
        let kept: BTreeSet<Id> = kept.collect();
        let stays = |one: &ExpectedPrompt| one.was_run || kept.contains(&one.prompt.id);
        let mut expected = self.ids(|one| !stays(one));
        expected.sort();
        let would = store.collectable(&self.project, keep).wait().unwrap();
        let gone = store.collect(&self.project, keep).wait().unwrap();
        assert_eq!(gone.prompts, expected);
        assert_eq!(gone, would);
        self.prompts.retain(|_, one| stays(one));
    }

    fn check(&self, store: &Store, others: &Self, dice: &mut Dice) {
        self.check_sources(store, dice);
        for _ in 0..4 {
            let shelf = if dice.roll(4) == 0 { others } else { self };
            let Some(one) = shelf.any(dice) else { return };
            if let Some(part) = dice.part(&one.text) {
                self.check_carriers(store, part, dice.roll(4));
            }
            let words: Vec<&str> = one
                .text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty())
                .collect();
            if !words.is_empty() {
                self.check_words(store, words[dice.roll(words.len())]);
            }
        }
        if let Some(one) = self.any(dice) {
            let back = store.sealed(&one.prompt).wait().unwrap();
            assert_eq!(back, one.seal);
            assert!(back.check().is_empty() && back.replay().unwrap().is_equal());
        }
    }

    fn check_sources(&self, store: &Store, dice: &mut Dice) {
        let all: BTreeSet<String> = self
            .prompts
            .values()
            .flat_map(|one| one.sources.clone())
            .collect();
        let listed = store.sources(&self.project).wait().unwrap();
        assert_eq!(listed, all.into_iter().collect::<Vec<_>>());
        let names: Vec<String> = (0..=dice.roll(2))
            .map(|_| format!("file:{}", FILES[dice.roll(FILES.len())]))
            .collect();
        let expected = self.ids(|one| names.iter().any(|name| one.sources.contains(name)));
        let filter = PromptFilter {
            sources: Some(names),
            ..PromptFilter::default()
        };
        let found = store.prompts(&self.project, filter, 1000).wait().unwrap();
        assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), expected);
    }

    /// Asks for all prompts with a text, and for the newest few.
    fn check_carriers(&self, store: &Store, part: &str, few: usize) {
        let expected = self.ids(|one| one.text.contains(part));
        for limit in [1000, few] {
            let found = store
                .carriers(&self.project, part, limit, None)
                .wait()
                .unwrap();
            let ids: Vec<Id> = found.prompts.iter().map(|one| one.prompt.id).collect();
            let wanted: Vec<Id> = expected.iter().copied().take(limit).collect();
            assert_eq!(ids, wanted, "{part:?}, the newest {limit}");
            assert_eq!(found.more, expected.len() > limit, "{part:?}");
        }
    }

    fn check_words(&self, store: &Store, word: &str) {
        let word = word.to_lowercase();
        let has = |text: &String| {
            text.split(|c: char| !c.is_alphanumeric())
                .any(|one| one.to_lowercase().starts_with(&word))
        };
        let mut expected: BTreeMap<Fingerprint, (i64, Id)> = BTreeMap::new();
        for one in self.prompts.values() {
            for (name, _) in one.sections.iter().filter(|(_, text)| has(text)) {
                let found = expected.entry(*name).or_insert((0, one.prompt.id));
                *found = (found.0 + 1, found.1.max(one.prompt.id));
            }
        }
        let hits = store
            .search(&self.project, &word, 1000, None)
            .wait()
            .unwrap()
            .hits;
        let hits: BTreeMap<_, _> = hits
            .into_iter()
            .map(|hit| match hit.place {
                HitPlace::Prompt {
                    prompt,
                    prompts,
                    section,
                    ..
                } => (section, (prompts, prompt)),
                _ => panic!("there are no logs"),
            })
            .collect();
        assert_eq!(hits, expected, "{word:?}");
    }
}

/// Makes a bundle of some prompts, some of them older than they were.
fn bundle(shelf: &Shelf, dice: &mut Dice) -> Bundle {
    let mut prompts = Vec::new();
    for one in shelf.prompts.values() {
        if dice.roll(3) == 0 {
            let before = dice.roll(2) as i64 * 1_000_000;
            prompts.push(Bundled::new(
                one.prompt.sealed_at - before,
                one.seal.clone(),
            ));
        }
    }
    prompts.sort_by_key(|bundled| bundled.id);
    let bundle = Bundle {
        redacted: false,
        prompts,
        runs: Vec::new(),
    };
    let mut bytes = Vec::new();
    bundle.write(&mut bytes).unwrap();
    Bundle::read("x", bytes.as_slice()).unwrap()
}

/// Two projects, and the files that both compose from.
struct World {
    store: Store,
    dice: Dice,
    recipes: [Recipe; 3],
    shelves: [Shelf; 2],
    files: BTreeMap<&'static str, String>,
    /// What files have had in them, which comes again.
    before: BTreeMap<&'static str, Vec<String>>,
}

impl World {
    fn new(place: &TestStore, seed: u64) -> Self {
        let store = place.open();
        let shelves = ["one", "two"].map(|name| Shelf {
            project: store.project(name).wait().unwrap(),
            prompts: BTreeMap::new(),
        });
        Self {
            store,
            dice: Dice(seed),
            recipes: RECIPES.map(recipe),
            shelves,
            files: BTreeMap::new(),
            before: BTreeMap::new(),
        }
    }

    /// Does something, and looks at the project that it was done to.
    fn step(&mut self) {
        let at = self.dice.roll(2);
        match self.dice.roll(20) {
            0 => {
                let keep = self.dice.roll(8);
                self.shelves[at].collect(&self.store, keep);
            }
            1 => self.import(at),
            2 => self.run(at),
            3 => {
                let known = self.shelves[at].any(&mut self.dice);
                if let Some(seal) = known.map(|one| one.seal.clone()) {
                    self.seal(at, &seal);
                }
            }
            _ => {
                self.write_files();
                // A prompt without sections now and then.
                let none = BTreeMap::new();
                let files = if self.dice.roll(8) == 0 {
                    &none
                } else {
                    &self.files
                };
                let seal = composed(&self.recipes[self.dice.roll(3)], files);
                self.seal(at, &seal);
            }
        }
        let (mine, other) = (&self.shelves[at], &self.shelves[1 - at]);
        mine.check(&self.store, other, &mut self.dice);
    }

    fn seal(&mut self, at: usize, seal: &Seal) {
        let shelf = &mut self.shelves[at];
        let sealed = self
            .store
            .seal(&shelf.project, seal.clone())
            .wait()
            .unwrap();
        shelf.take(sealed, seal);
    }

    fn import(&mut self, at: usize) {
        let bundle = bundle(&self.shelves[1 - at], &mut self.dice);
        let prompts = bundle.prompts.clone();
        let shelf = &mut self.shelves[at];
        let taken = self.store.import(&shelf.project, bundle).wait().unwrap();
        for (sealed, bundled) in taken.into_iter().zip(&prompts) {
            shelf.take(sealed, &bundled.seal);
        }
    }

    /// Gives a prompt to a run, so that it stays.
    fn run(&mut self, at: usize) {
        let shelf = &mut self.shelves[at];
        let Some(prompt) = shelf.any(&mut self.dice).map(|one| one.prompt.id) else {
            return;
        };
        let run = NewRun {
            prompt,
            kind: RunKind::First,
            parent: None,
            request: serde_json::Value::Null,
            task: None,
            batch: None,
        };
        self.store.queue_run(&shelf.project, run).wait().unwrap();
        shelf.prompts.get_mut(&prompt).unwrap().was_run = true;
    }

    /// Removes files, writes new ones, or what they had before.
    fn write_files(&mut self) {
        let dice = &mut self.dice;
        for _ in 0..dice.roll(3) {
            let name = FILES[dice.roll(FILES.len())];
            let before = self.before.entry(name).or_default();
            let text = match dice.roll(4) {
                0 => {
                    self.files.remove(name);
                    continue;
                }
                1 if !before.is_empty() => before[dice.roll(before.len())].clone(),
                _ => dice.text(),
            };
            before.push(text.clone());
            self.files.insert(name, text);
        }
    }
}

fn any_history_is_told_as_it_was(place: &TestStore) {
    let mut world = World::new(place, 20_260);
    for step in 1..=STEPS {
        world.step();
        if step % 5 == 0 {
            assert_eq!(findings(&world.store), [], "after step {step}");
        }
    }
    let all = || {
        world
            .shelves
            .iter()
            .flat_map(|shelf| shelf.prompts.values())
    };
    let is_bare = |one: &ExpectedPrompt| one.sections.is_empty() && !one.text.is_empty();
    assert!(all().any(is_bare) && all().any(|one| one.was_run));
}
