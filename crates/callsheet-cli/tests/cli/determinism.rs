//! The same input gives the same bytes, whatever else is different.
//!
//! Every test changes one thing about the world and compares the prompts, manifests and source maps of four
//! compositions with those of an untouched world, byte by byte.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use crate::project::{Project, Run, finish, words};

/// So many files that reading them is worth several threads.
const SOURCES: usize = 150;

const COMPOSITIONS: [&str; 4] = [
    "inject --command dev --story 2a-1 --discovery --tech-spec --file docs/api.md",
    "pack --byte-budget 20k",
    "compose layers --input layers.yaml",
    "compose greeting -D who=you -D loud:=true",
];

/// What a composition wrote: to stdout and stderr, its manifest, its source map.
type Observation = (Run, String, String);

/// Writes the world; the sources in the order that is given.
fn fill(project: &Project, order: impl Iterator<Item = usize>) {
    for index in order {
        project.file(
            &format!("src/{}/file-{index}.rs", index % 7),
            format!("// {index}\n").repeat(index % 50),
        );
        project.file(
            &format!("_bmad-output/implementation-artifacts/Note-2a-1-{index}.md"),
            "note\n",
        );
    }
    crate::injection::fill(project);
    crate::layers::fill(project);
    for (path, text) in crate::recipes::GREETING {
        project.file(path, text);
    }
    project.file(".gitignore", "*.log\n").file("x.log", "log");
}

fn world() -> Project {
    let project = Project::new();
    fill(&project, 0..SOURCES);
    project
}

/// Runs all compositions through `start`, which may change how a command is run, and returns all they wrote.
fn observe(project: &Project, start: impl Fn(Command) -> Command) -> Vec<Observation> {
    let (manifest, map) = (
        project.outside().join("manifest.json"),
        project.outside().join("map.json"),
    );
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        std::fs::remove_file(path).unwrap();
        text
    };
    let observed = COMPOSITIONS.map(|args| {
        let mut command = project.command(&words(args));
        command
            .arg("--manifest")
            .arg(&manifest)
            .arg("--source-map")
            .arg(&map);
        let run = finish(&mut start(command));
        assert_eq!(run.code(), Some(0), "{}", project.shown(&run));
        assert!(!run.stdout.is_empty());
        (run, read(&manifest), read(&map))
    });
    observed.into()
}

/// Compares an observation with that of an untouched world.
#[track_caller]
fn assert_same(observed: &[Observation]) {
    static EXPECTED: OnceLock<Vec<Observation>> = OnceLock::new();
    let expected = EXPECTED.get_or_init(|| observe(&world(), |command| command));
    assert_eq!(observed.len(), expected.len());
    for ((seen, expected), args) in observed.iter().zip(expected).zip(COMPOSITIONS) {
        assert_eq!(seen.0.text(), expected.0.text(), "stdout of `{args}`");
        assert_eq!(seen.0.stderr, expected.0.stderr, "stderr of `{args}`");
        assert_eq!(seen.1, expected.1, "manifest of `{args}`");
        assert_eq!(seen.2, expected.2, "source map of `{args}`");
    }
}

fn assert_same_with(name: &str, values: &[&str]) {
    for value in values {
        let mut project = world();
        project.variable(name, value);
        assert_same(&observe(&project, |command| command));
    }
}

#[test]
fn order_of_directory_entries() {
    let project = Project::new();
    // 7919 is a prime: every index comes up once, in an order that looks like none.
    fill(
        &project,
        (0..SOURCES).rev().map(|index| index * 7919 % SOURCES),
    );
    assert_same(&observe(&project, |command| command));
}

#[test]
fn modification_times() {
    let project = world();
    for (index, seconds) in (0..SOURCES).zip([0, 4_000_000_000, 86_400].into_iter().cycle()) {
        let file = File::options()
            .write(true)
            .open(project.path(&format!("src/{}/file-{index}.rs", index % 7)));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.unwrap().set_modified(time).unwrap();
    }
    assert_same(&observe(&project, |command| command));
}

#[test]
fn locale() {
    assert_same_with("LC_ALL", &["C", "tr_TR.UTF-8", "ja_JP.eucJP"]);
}

#[test]
fn time_zone() {
    assert_same_with("TZ", &["Pacific/Kiritimati", "nonsense"]);
}

#[test]
fn home() {
    let mut project = world();
    let home = project.outside().join("home");
    std::fs::create_dir_all(home.join(".config/git")).unwrap();
    std::fs::write(home.join(".config/git/ignore"), "*.rs\n*.md\n").unwrap();
    std::fs::write(
        home.join(".gitconfig"),
        "[core]\nexcludesFile = ~/.config/git/ignore\n",
    )
    .unwrap();
    std::fs::write(
        home.join("callsheet.toml"),
        "[recipes.pack]\nformat = 'json'\n",
    )
    .unwrap();
    let home = home.display().to_string();
    project
        .variable("HOME", &home)
        .variable("XDG_CONFIG_HOME", &format!("{home}/.config"));
    assert_same(&observe(&project, |command| command));
}

#[test]
fn umask() {
    let project = world();
    let masked = |command: Command| {
        let mut shell = project.tool("/bin/sh");
        shell.args(["-c", "umask 077 && exec \"$0\" \"$@\""]);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    };
    assert_same(&observe(&project, masked));
}

#[test]
#[cfg(target_os = "linux")]
fn number_of_threads() {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let all = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(first);
    let project = world();
    // A process starts on the processors of the thread that starts it, and takes their number for that of its threads.
    sched_setaffinity(None, &one).unwrap();
    let observed = observe(&project, |command| command);
    sched_setaffinity(None, &all).unwrap();
    assert_same(&observed);
}

#[test]
fn location_of_the_root() {
    let project = Project::named("a/deep folder/with 'quotes' & ümläuts");
    fill(&project, 0..SOURCES);
    let observed = observe(&project, |command| command);
    for (run, manifest, map) in &observed {
        for text in [&run.text(), manifest, map] {
            assert!(!text.contains("deep folder"));
        }
    }
    assert_same(&observed);
}

#[test]
fn root_behind_a_link_and_start_in_a_subfolder() {
    let project = world();
    let link = project.outside().join("link");
    std::os::unix::fs::symlink(project.root(), &link).unwrap();
    let through = |mut command: Command| {
        command.arg("--root").arg(&link);
        command
    };
    assert_same(&observe(&project, through));
}
