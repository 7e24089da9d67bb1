//! Measures the store; `bench/README.md` says what and how to read it.
//!
//! `cargo bench -p callsheet-store --bench store -- SCENARIO…` runs some scenarios, all without a name. Every group of
//! scenarios has a process of its own, so that one does not count in the memory of another.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement that cannot be made stops, and its tables are for people"
)]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "figures for people"
)]

mod append;
mod bench_store;
mod corpus;
mod find;
mod output;
mod page;
mod queries;
mod size;
mod stream;
mod table;
mod text;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use tempfile::TempDir;

use crate::bench_store::{BenchStore, Database};
use crate::corpus::Corpus;

/// Scenarios that share what they measure on share a process.
const GROUPS: [&[&str]; 5] = [
    &["append"],
    &["output"],
    &["page"],
    &["size", "find"],
    &["stream"],
];

const USAGE: &str = "usage: cargo bench -p callsheet-store --bench store -- [SCENARIO…] [OPTION…]
scenarios: append, output, page, size, find, stream; all by default
options:   --quick         smaller sizes
           --verbose       what each table of the store takes as well
           --folder DIR    work there, and leave the store of `size` and `find` in DIR/corpus";

/// How to measure.
struct Settings {
    scenarios: Vec<String>,
    quick: bool,
    verbose: bool,
    folder: Option<PathBuf>,
}

impl Settings {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self {
            scenarios: Vec::new(),
            quick: false,
            verbose: false,
            folder: None,
        };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--bench" => {}
                "--quick" => settings.quick = true,
                "--verbose" => settings.verbose = true,
                "--folder" => settings.folder = Some(args.next().ok_or(USAGE)?.into()),
                name if GROUPS.concat().contains(&name) => settings.scenarios.push(arg),
                _ => return Err(format!("store: unknown argument `{arg}`\n{USAGE}")),
            }
        }
        if settings.scenarios.is_empty() {
            let all = GROUPS.concat();
            settings.scenarios = all.into_iter().map(str::to_owned).collect();
        }
        Ok(settings)
    }

    fn wants(&self, name: &str) -> bool {
        self.scenarios.iter().any(|wanted| wanted == name)
    }

    /// Returns one of two sizes: the usual, and the one for trying.
    fn either(&self, usual: usize, quick: usize) -> usize {
        if self.quick { quick } else { usual }
    }

    /// Runs one group in a process of its own; tells whether it went well.
    fn run_apart(&self, group: &[&str]) -> bool {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("--bench");
        command.args(group.iter().filter(|name| self.wants(name)));
        command.args(self.quick.then_some("--quick"));
        command.args(self.verbose.then_some("--verbose"));
        if let Some(folder) = &self.folder {
            command.arg("--folder").arg(folder);
        }
        command.status().unwrap().success()
    }

    fn run_here(&self) {
        // Beside what cargo builds, which is on a disk; a folder for temporary files may be in memory.
        let temporary = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let folder = self.folder.as_deref().unwrap_or(temporary.path());
        std::fs::create_dir_all(folder).unwrap();
        let databases = Database::all();
        if self.wants("append") {
            append::run(self, folder, &databases);
        }
        if self.wants("output") {
            output::run(self, folder, &databases);
        }
        if self.wants("stream") {
            stream::run(self, folder, &databases);
        }
        for database in &databases {
            if self.wants("page") {
                page::run(self, folder, database);
            }
            if self.wants("size") || self.wants("find") {
                self.run_on_corpus(folder, database);
            }
        }
    }

    fn run_on_corpus(&self, folder: &Path, database: &Database) {
        let is_file = matches!(database, Database::Sqlite);
        let mut place =
            BenchStore::new(database, folder, if is_file { "corpus" } else { "server" });
        if is_file && self.folder.is_some() {
            place = place.kept();
        }
        let sizes: &[usize] = match (self.wants("find"), self.quick) {
            (_, true) => &[100, 500],
            (true, false) => &[1_000, 10_000, 100_000],
            (false, false) => &[10_000],
        };
        let (mut from, mut raw, mut found) = (0, 0, Vec::new());
        for &size in sizes {
            let mut corpus = Corpus::of_files(&place, from..size);
            (from, raw) = (size, raw + corpus.raw);
            corpus.raw = raw;
            if self.wants("size") && size == self.either(10_000, 500) {
                size::run(self, folder, &place, &corpus);
            }
            if self.wants("find") {
                found.push((size, find::run(&place, &corpus)));
            }
        }
        if self.wants("find") {
            find::print_growth(&place, &found);
        }
    }
}

fn main() -> ExitCode {
    // Whoever runs or lists all tests starts this too, without the word that cargo says when it measures.
    if !std::env::args().any(|arg| arg == "--bench") {
        return ExitCode::SUCCESS;
    }
    let settings = match Settings::parse(std::env::args().skip(1)) {
        Ok(settings) => settings,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let asked = |group: &&[&str]| group.iter().any(|name| settings.wants(name));
    let groups: Vec<&[&str]> = GROUPS.into_iter().filter(asked).collect();
    if groups.len() < 2 {
        settings.run_here();
        return ExitCode::SUCCESS;
    }
    let failed = groups.iter().filter(|group| !settings.run_apart(group));
    ExitCode::from(u8::from(failed.count() > 0))
}
