//! Every command, in a project whose names are written to be obeyed by a terminal, or to look like lines of ours.

#![expect(
    clippy::unwrap_used,
    reason = "a world that cannot be made fails the test"
)]

use std::collections::BTreeSet;

use crate::bundles::{Files, pack, unpack};
use crate::project::{Project, Run};

/// A name that a terminal would obey, hide and show elsewhere, and that begins a line of its own.
const EVIL: &str = "e\u{1b}[7mv\u{1b}]0;t\u{7}\u{9b}2J\u{202e}i\u{2066}\u{feff}\nFORGED: l";

/// The same for places that take no control characters.
const BIDI: &str = "e\u{202e}v\u{2066}i\u{200b}\u{feff}l";

/// What may be in a text: the escape sequences of our own styles.
const STYLES: [&str; 8] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[34m",
    "\u{1b}[36m",
];

/// Returns what a terminal would not show of what a run printed, if there is anything.
fn hidden(bytes: &[u8]) -> Option<String> {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    for style in STYLES {
        text = text.replace(style, "");
    }
    let is_hidden = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let is_odd = |line: &&str| line.contains(is_hidden) || line.trim_start().starts_with("FORGED");
    text.lines().find(is_odd).map(|line| format!("{line:?}"))
}

fn run(project: &Project, args: &[&str]) -> Run {
    // Escape sequences are kept wherever the output goes.
    let args: Vec<&str> = [&["--color", "always"], args].concat();
    let run = project.run(&args);
    assert_ne!(run.code(), Some(101), "{args:?}: {}", project.shown(&run));
    run
}

/// Runs a command, and notes what of its output a terminal would not show.
fn shown(project: &Project, args: &[&str], found: &mut Vec<String>) -> Run {
    let run = run(project, args);
    let mut note = |stream: &str, bytes: &[u8]| {
        found.extend(hidden(bytes).map(|line| format!("{args:?} on {stream}: {line}")));
    };
    note("stderr", &run.stderr);
    // A prompt is data; a terminal gets it another way than a pipe.
    let is_data = ["compose", "pack", "inject"].contains(&args[0])
        || args.len() > 1 && ["show", "render"].contains(&args[1]) && args[0] == "template";
    if !is_data || args.contains(&"--json") {
        note("stdout", &run.stdout);
    }
    run
}

#[track_caller]
fn assert_nothing(found: &[String]) {
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Makes a project in which everything is called so, as far as it can be.
fn project() -> Project {
    let project = Project::new();
    let q = serde_json::to_string(EVIL).unwrap();
    let layer = format!(
        "description = {}\nschema = \"input.json\"\n[[layers]]\nname = {q}\nvalue = \"evil\"\n",
        toml_text(EVIL)
    );
    let layer = layer.replace(
        &format!("name = {q}"),
        &format!("name = {}", toml_text("evil")),
    );
    let schema = serde_json::json!({"type": "object", "required": ["evil"], "properties": {
        "evil": {"type": "string", "description": EVIL, "enum": [EVIL]}, EVIL: {"type": "string", "description": EVIL}}});
    for name in [EVIL, BIDI] {
        project
            .file(&format!("callsheet/recipes/{name}/recipe.toml"), &layer)
            .file(&format!("callsheet/recipes/{name}/input.json"), schema.to_string())
            .file(&format!("callsheet/recipes/{name}/sample.yaml"), format!("{q}: 1\n"))
            .file(&format!("callsheet/recipes/{name}/tests/{name}.json"), format!("{{\"description\": {q}, \"input\": {{\"evil\": {q}}}, \"expected\": [{q}, {q}]}}"))
            .file(&format!("callsheet/recipes/{name}/tests/bad.json"), format!("{{\"input\": {{}}, {q}: 1}}"))
            .file(&format!("callsheet/templates/{name}.md"), format!("---\nname: {q}\ncategory: {q}\nvariables:\n  - name: {q}\n    description: {q}\n---\n{{{{x}}}} text\n"))
            .file(&format!("callsheet/profiles/{name}.toml"), format!("runner = {}\ndescription = {0}\n", toml_text(EVIL)))
            .file(&format!("src/{name}.rs"), "fn main() {}\n")
            .file(&format!("_bmad-output/implementation-artifacts/1-1-{name}.md"), "story\n");
    }
    project
        .file(
            "_bmad-output/implementation-artifacts/sprint-status.yaml",
            format!(
                "development_status:\n  epic-1: backlog\n  {}: backlog\n  1-2-x: {q}\n",
                serde_json::to_string(&format!("1-1-{EVIL}")).unwrap()
            ),
        )
        .file("input.yaml", format!("{q}: {q}\n"))
        .file(
            "workflow.yaml",
            format!("name: {q}\n{q}: \"{{{{nope}}}}\"\nvariables:\n  {q}: {q}\n"),
        )
        .file(
            "package/bmad.json",
            format!("{{{q}: {q}, \"agents\": [{q}]}}"),
        )
        .file("package/workflow.graph.json", format!("{{{q}: {q}}}"))
        .file(
            "state/workflow.md",
            format!("---\n{q}: {q}\ncurrentNodeId: {q}\nvariables:\n  {q}: {q}\n---\n"),
        )
        .file("p.txt", EVIL);
    project
}

/// Returns a text as TOML writes it.
fn toml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// What is run; words are separated by `|`.
const COMMANDS: &[&str] = &[
    "adapter|list",
    "adapter|show|NAME",
    "adapter|parse|NAME|p.txt",
    "approve|NAME",
    "cache|NAME",
    "cache|pack",
    "checks|NAME",
    "checks|rerun|NAME",
    "compose|NAME",
    "compose|layers|--input|input.yaml",
    "compose|layers|-D|identity.name=NAME",
    "compose|run|-D|profile=NAME",
    "continue|NAME|--input|x",
    "diff|NAME|pack",
    "diff|p.txt|input.yaml",
    "doctor",
    "events",
    "exec|--runner|NAME|--|pack",
    "explain|NAME",
    "explain|pack",
    "export|NAME|-o|bundle",
    "gc|--keep-days|0",
    "head",
    "import|p.txt",
    "init",
    "log|NAME",
    "log-event|{\"epic_id\": \"x\", \"NAME\": 1}",
    "merge|NAME",
    "package|check|package",
    "profile|list",
    "profile|show|NAME",
    "profile|check",
    "prompts",
    "proof|NAME",
    "recipe|list",
    "recipe|show|NAME",
    "recipe|check",
    "recipe|new|NAME",
    "recipe|test",
    "recipe|test|NAME",
    "recipe|eject|NAME",
    "reindex",
    "reject|NAME",
    "replay|NAME",
    "retry|NAME",
    "run|--title|NAME|--write|src/**|--runner|NAME",
    "runs",
    "schema|NAME",
    "search|NAME",
    "search|text",
    "show|NAME",
    "sprint|archive",
    "sprint|batches",
    "sprint|check",
    "sprint|next",
    "sprint|parse|p.txt",
    "sprint|report",
    "sprint|run|--runner|NAME",
    "sprint|run|--dry-run",
    "sprint|set|NAME|done",
    "sprint|status",
    "sprint|stop",
    "state|show|state|--package|package",
    "state|set|state|--package|package|-D|NAME=1",
    "stop|NAME",
    "task|add|--title|NAME|--write|src/**",
    "task|cancel|NAME",
    "task|depend|NAME|--on|NAME",
    "task|list",
    "task|show|NAME",
    "template|list",
    "template|check",
    "template|render|nope",
    "template|vars|workflow.yaml",
    "verify",
    "why|NAME",
    "why|--text|NAME",
    "worker|--once",
];

/// Commands whose output is data, which is shown as it is only where no terminal is; their talk is looked at elsewhere. What
/// is served does not end, and is an address of ours.
const DATA: [&str; 7] = [
    "completions",
    "compose",
    "demo",
    "inject",
    "pack",
    "serve",
    "template show",
];

#[test]
fn every_command_shows_hostile_names() {
    let project = project();
    let mut found = Vec::new();
    for args in COMMANDS {
        for name in [EVIL, BIDI] {
            let args: Vec<String> = args
                .split('|')
                .map(|arg| arg.replace("NAME", name))
                .collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            shown(&project, &args, &mut found);
            shown(&project, &[&["--json"], &args[..]].concat(), &mut found);
        }
    }
    for args in [
        &["pack"][..],
        &["inject", "--command", "d", "--story", "1-1"],
        &["template", "show", EVIL],
    ] {
        shown(&project, args, &mut found);
    }
    assert_nothing(&found);
}

/// Returns the commands that the program has, by what its help lists.
fn commands(project: &Project, group: &str) -> BTreeSet<String> {
    let mut args: Vec<&str> = group.split_whitespace().collect();
    args.push("--help");
    let help = project.run(&args).text();
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    if names.is_empty() {
        return BTreeSet::from([group.to_owned()]);
    }
    let inner = names.iter().flat_map(|name| {
        let words = format!("{group} {name}");
        commands(project, words.trim_start())
    });
    inner.collect()
}

#[test]
fn no_command_is_forgotten() {
    let swept: BTreeSet<String> = COMMANDS
        .iter()
        .flat_map(|args| {
            let mut words = args.split('|');
            let first = words.next().unwrap().to_owned();
            let second = words.next().map(|second| format!("{first} {second}"));
            [Some(first), second].into_iter().flatten()
        })
        .chain(DATA.iter().map(|name| (*name).to_owned()))
        .collect();
    let all = commands(&Project::new(), "");
    for known in ["recipe test", "sprint archive", "why"] {
        assert!(all.contains(known), "{all:?}");
    }
    let missing: Vec<&String> = all.difference(&swept).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn settings_with_hostile_names() {
    let project = Project::new();
    let mut found = Vec::new();
    let evil = toml_text(EVIL);
    for settings in [
        format!("{evil} = 1\n"),
        format!("[recipes.{evil}]\nx = 1\n"),
        format!("[recipes.pack]\n{evil} = 1\n"),
        format!("[runners.{evil}]\nadapter = {evil}\n"),
        format!("[runners.a]\nadapter = \"command\"\ncommand = [{evil}]\n{evil} = 1\n"),
        format!("runner = {evil}\n"),
        format!("store = {evil}\n"),
        format!("project = {evil}\n"),
        format!("[commands.{evil}]\ncommand = [{evil}]\n"),
        format!("[profiles.{evil}]\nrunner = {evil}\n"),
        format!("[[checks]]\nname = {evil}\ncommand = [\"x\"]\n"),
        format!("[scope]\ndefault_exclude = [{evil}, \"[\"]\n"),
        format!("[sprint]\nboard = {evil}\n"),
        format!("[workspace]\nbase = {evil}\n"),
        format!("prompts_dir = {evil}\n"),
        format!("[accounts.{evil}]\nruns = {evil}\n"),
        EVIL.to_owned(),
    ] {
        project.file("callsheet.toml", &settings);
        for args in [
            &["recipe", "list"][..],
            &["compose", "pack"],
            &["compose", "run", "-D", "task.title=x"],
            &["profile", "list"],
            &["adapter", "list"],
            &["doctor"],
            &["template", "list"],
            &["sprint", "status"],
            &["prompts"],
            &["task", "list"],
        ] {
            shown(&project, args, &mut found);
            shown(&project, &[&["--json"], args].concat(), &mut found);
        }
    }
    assert_nothing(&found);
}

#[test]
fn sealed_prompts_and_bundles_with_hostile_names() {
    let project = Project::new();
    let mut found = Vec::new();
    let layer = "[[layers]]\nname = \"a\"\ntext = \"Some text.\"\n";
    project.file(&format!("callsheet/recipes/{BIDI}/recipe.toml"), layer);
    let sealed = shown(&project, &["compose", BIDI, "--seal"], &mut found);
    assert_eq!(sealed.code(), Some(0), "{}", project.shown(&sealed));
    let listed = project.run(&["prompts", "--json"]).json();
    let id = listed["prompts"][0]["id"].as_str().unwrap().to_owned();
    for args in [
        &["prompts"][..],
        &["show", &id, "--part", "manifest"],
        &["explain", &id],
        &["why", &id, "--text", "text"],
        &["why", "--text", "Some text"],
        &["search", "text"],
        &["reindex"],
        &["verify"],
        &["replay", &id],
        &["cache", &id],
        &["diff", &id, BIDI],
        &["events"],
        &["export", &id, "-o", "b.bundle"],
        &["gc", "--keep-days", "0"],
    ] {
        shown(&project, args, &mut found);
        shown(&project, &[&["--json"], args].concat(), &mut found);
    }
    let files = unpack(&std::fs::read(project.path("b.bundle")).unwrap());
    let evil = serde_json::to_string(EVIL).unwrap();
    let evil = evil.trim_matches('"');
    for (from, to) in [
        (id.as_str(), evil),
        ("callsheet.", &format!("{evil}.")),
        ("\"schema\"", &format!("\"{evil}\"")),
        ("Some text.", evil),
    ] {
        let changed: Files = files
            .iter()
            .map(|(name, bytes)| {
                let text = String::from_utf8_lossy(bytes).replace(from, to);
                (name.replace(from, to), text.into_bytes())
            })
            .collect();
        assert_ne!(changed, files, "{from}");
        let changed = pack(&changed);
        project.file("c.bundle", changed);
        shown(&project, &["import", "c.bundle"], &mut found);
        shown(&project, &["--json", "import", "c.bundle"], &mut found);
    }
    assert_nothing(&found);
}
