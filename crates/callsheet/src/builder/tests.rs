//! The builder method by method, on real folders and on sources that fail.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::{ErrorKind, FileMemory, ProjectContext, packaged};

const SEP: &str = "\n\n---\n\n";

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

fn no_variables() -> Map<String, Value> {
    Map::new()
}

fn templates(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn builder_missing(folder: &Path, missing: Missing) -> PromptBuilder {
    let mut builder = builder_in(folder);
    builder.set_missing(missing);
    builder
}

fn builder_in(folder: &Path) -> PromptBuilder {
    PromptBuilder::new().with_prompts_dir(folder)
}

fn prompt(builder: &PromptBuilder) -> String {
    builder.build().unwrap().0
}

fn messages(builder: &PromptBuilder) -> Vec<String> {
    let events = builder.compose(&Options::default()).unwrap().events;
    events
        .iter()
        .map(|event| event.message().to_owned())
        .collect()
}

fn bad(detail: &str) -> Error {
    Error::new(ErrorKind::Unreadable, detail)
}

#[test]
fn a_builder_is_a_snapshot_until_it_reloads() {
    let folder = templates(&[("a.md", "one")]);
    let file = folder.path().join("a.md");
    let mut builder = builder_in(folder.path());
    assert_eq!(builder.get_template("a").as_deref(), Some("one"));

    fs::write(&file, "two").unwrap();
    fs::write(folder.path().join("new.md"), "new").unwrap();
    assert_eq!(builder.get_template("a").as_deref(), Some("one"));
    assert_eq!(builder.get_template("new"), None);
    assert_eq!(
        builder_in(folder.path()).get_template("a").as_deref(),
        Some("two")
    );

    builder.set_identity("a", &no_variables()).unwrap();
    builder.reload();
    assert_eq!(prompt(&builder), "one", "what was rendered stays");
    assert_eq!(builder.get_template("a").as_deref(), Some("two"));
    assert_eq!(builder.get_template("new").as_deref(), Some("new"));

    fs::remove_file(&file).unwrap();
    assert_eq!(builder.get_template("a").as_deref(), Some("two"));
    builder.reload();
    assert_eq!(builder.get_template("a"), None);
}

#[test]
fn nothing_is_read_before_the_first_access() {
    let folder = templates(&[]);
    let builder = builder_in(folder.path());
    fs::write(folder.path().join("late.md"), "late").unwrap();
    assert_eq!(builder.get_template("late").as_deref(), Some("late"));
}

#[test]
fn folders_that_are_none_have_no_templates() {
    let folder = templates(&[("file", "x")]);
    for path in ["file", "missing", "file/below"] {
        let mut builder = builder_in(&folder.path().join(path));
        assert_eq!(builder.get_template("a"), None, "{path}");
        assert_eq!(builder.render_template("a", &no_variables()).unwrap(), None);
        builder.set_identity("a", &no_variables()).unwrap();
        assert_eq!(prompt(&builder), "");
        assert_eq!(
            messages(&builder),
            ["no template named `a`; the identity is empty"]
        );
    }
}

#[test]
fn only_markdown_files_at_the_top_are_templates() {
    let folder = templates(&[
        ("UP.MD", "up"),
        ("n.txt", "n"),
        (".h.md", "hidden"),
        ("README.md", "readme"),
    ]);
    fs::create_dir(folder.path().join("d.md")).unwrap();
    fs::write(folder.path().join("d.md/deep.md"), "deep").unwrap();
    fs::write(folder.path().join("bad.md"), b"ok\xff").unwrap();
    let odd = OsStr::from_bytes(b"odd\xff.md");
    fs::write(folder.path().join(odd), "odd").unwrap();
    symlink("/etc/hostname", folder.path().join("out.md")).unwrap();
    symlink("nowhere", folder.path().join("gone.md")).unwrap();
    let builder = builder_in(folder.path());
    let names: Vec<&str> = builder
        .templates()
        .iter()
        .map(|template| template.name.as_str())
        .collect();
    assert_eq!(names, [".h", "README"]);
    let told = [
        "bad.md: not valid UTF-8 at byte 2",
        "gone.md: does not exist",
        "odd\u{fffd}.md: has a name that is not UTF-8 text",
        "out.md: leads out of the root",
    ];
    assert_eq!(messages(&builder), told);
}

#[test]
fn lines_keep_their_order_and_may_repeat() {
    let mut builder = PromptBuilder::new();
    builder.add_context_lines("system_info", Vec::new());
    let lines = [("1", "a"), ("b", ""), ("1", "x\ny")];
    let lines = lines.map(|(key, text)| (key.to_owned(), text.to_owned()));
    builder.add_context_lines("task_depth", lines.to_vec());
    let expected = "## Task Depth\n- **1:** a\n- **b:** \n- **1:** x\ny";
    assert_eq!(prompt(&builder), expected);
}

#[test]
fn a_placeholder_without_value_is_treated_as_it_was_said_last() {
    let folder = templates(&[("a.md", "[{{v}}]")]);
    let mut builder = builder_in(folder.path());
    let mut rendered = |missing| {
        builder.set_missing(missing);
        builder.render_template("a", &no_variables())
    };
    assert_eq!(rendered(Missing::Keep).unwrap().unwrap(), "[{{v}}]");
    assert!(rendered(Missing::Error).is_err());
    assert_eq!(rendered(Missing::Empty).unwrap().unwrap(), "[]");
}

#[test]
fn templates_are_given_raw_and_rendered() {
    let folder = templates(&[("a.md", "---\nname: x\n---\n\n {{v}}! \n"), ("e.md", "")]);
    let builder = builder_in(folder.path());
    assert_eq!(builder.get_template("x").as_deref(), Some("{{v}}!"));
    let rendered = |name, values| builder.render_template(name, &map(values)).unwrap();
    assert_eq!(rendered("x", json!({"v": "V"})).as_deref(), Some("V!"));
    assert_eq!(rendered("x", json!({})).as_deref(), Some("!"));
    assert_eq!(rendered("e", json!({})).as_deref(), Some(""));
    assert_eq!(rendered("y", json!({})), None);

    let kept = builder_missing(folder.path(), Missing::Keep);
    assert_eq!(
        kept.render_template("x", &no_variables())
            .unwrap()
            .as_deref(),
        Some("{{v}}!")
    );
    let strict = builder_missing(folder.path(), Missing::Error);
    assert_eq!(
        strict
            .render_template("x", &no_variables())
            .unwrap_err()
            .detail(),
        "Required variable 'v' not provided for template 'x'"
    );
}

#[test]
fn an_identity_replaces_the_one_before_also_when_it_is_unknown() {
    let folder = templates(&[("a.md", "A"), ("b.md", "B"), ("e.md", "")]);
    let mut builder = builder_in(folder.path());
    for (name, expected) in [
        ("a", "A"),
        ("b", "B"),
        ("nobody", ""),
        ("a", "A"),
        ("e", ""),
    ] {
        builder.set_identity(name, &no_variables()).unwrap();
        assert_eq!(prompt(&builder), expected, "{name}");
        let told = messages(&builder).len();
        assert_eq!(
            told,
            usize::from(name == "nobody"),
            "what was said of one is not said of the next"
        );
    }
}

#[test]
fn a_strict_identity_that_fails_changes_nothing() {
    let folder = templates(&[("a.md", "A"), ("b.md", "{{x}}")]);
    let mut builder = builder_missing(folder.path(), Missing::Error);
    builder.set_identity("a", &no_variables()).unwrap();
    builder.set_identity("b", &no_variables()).unwrap_err();
    assert_eq!(prompt(&builder), "A");
}

#[test]
fn the_packaged_templates_are_there_and_a_folder_can_stand_over_them() {
    let mut builder = PromptBuilder::new();
    for name in [
        "supervisor",
        "task-agent",
        "hook-executor",
        "plan-structure-guide",
        "controlled-splitting",
        "execution-focus",
    ] {
        assert!(
            builder
                .get_template(name)
                .is_some_and(|body| !body.is_empty()),
            "{name}"
        );
    }
    assert_eq!(packaged().check(), []);
    builder
        .set_identity("supervisor", &map(json!({"workspace_dir": "work"})))
        .unwrap();
    assert!(prompt(&builder).contains("Supervisor"));

    let folder = templates(&[("task-agent.md", "ours")]);
    assert_eq!(builder_in(folder.path()).get_template("supervisor"), None);
}

/// Answers with each entry once, the last one again and again.
#[derive(Debug)]
struct Answers(Vec<Result<Option<&'static str>, &'static str>>, AtomicUsize);

impl Answers {
    fn new(answers: &[Result<Option<&'static str>, &'static str>]) -> Self {
        Self(answers.to_vec(), AtomicUsize::new(0))
    }

    fn next(&self) -> Result<Option<&'static str>, Error> {
        let at = self.1.fetch_add(1, Ordering::Relaxed).min(self.0.len() - 1);
        self.0[at].map_err(bad)
    }
}

impl MemorySource for Answers {
    fn project_context(&self, project_id: &str) -> Result<Option<ProjectContext>, Error> {
        assert_eq!(project_id, "p1");
        Ok(self.next()?.map(ProjectContext::text))
    }
}

impl RuleSource for Answers {
    fn rules(&self, project_id: Option<&str>, query: &str) -> Result<Option<String>, Error> {
        Ok(self
            .next()?
            .map(|rules| format!("{rules} for {query} of {project_id:?}")))
    }
}

#[test]
fn a_memory_that_fails_keeps_what_was_there() {
    let memory = Answers::new(&[Ok(Some("known")), Err("gone"), Ok(None), Ok(Some(" \n"))]);
    let mut builder = PromptBuilder::new()
        .with_project_id("p1")
        .with_memory(memory);
    assert_eq!(
        prompt(&builder),
        "",
        "nothing is asked before it is told to"
    );
    let gone = "the layer `project-context` could not be loaded: gone";
    for (expected, told) in [
        ("known", vec![]),
        ("known", vec![gone]),
        ("", vec![]),
        ("", vec![]),
    ] {
        builder.load_project_context();
        assert_eq!(prompt(&builder), expected);
        assert_eq!(messages(&builder), told);
    }
}

#[test]
fn memory_needs_a_project_and_a_project_needs_memory() {
    let mut without_project = PromptBuilder::new().with_memory(Answers::new(&[Ok(Some("known"))]));
    without_project.load_project_context();
    assert_eq!(prompt(&without_project), "");
    let mut without_memory = PromptBuilder::new().with_project_id("p1");
    without_memory.load_project_context();
    assert_eq!(prompt(&without_memory), "");
}

#[test]
fn file_memory_reads_the_folder_afresh() {
    let folder = templates(&[("README.md", "one")]);
    let memory = FileMemory::new(folder.path());
    let mut builder = PromptBuilder::new()
        .with_project_id("p1")
        .with_memory(memory);
    builder.load_project_context();
    assert_eq!(
        prompt(&builder),
        "## Project Documentation\n### README.md\none"
    );
    fs::write(folder.path().join("README.md"), "two").unwrap();
    assert_eq!(
        prompt(&builder),
        "## Project Documentation\n### README.md\none"
    );
    builder.load_project_context();
    assert_eq!(
        prompt(&builder),
        "## Project Documentation\n### README.md\ntwo"
    );
    fs::remove_dir_all(folder.path()).unwrap();
    builder.load_project_context();
    assert_eq!(
        prompt(&builder),
        "## Project Documentation\n### README.md\ntwo"
    );
}

#[test]
fn rules_are_off_unless_a_source_is_given() {
    let mut builder = PromptBuilder::new().with_project_id("p1");
    builder.load_relevant_rules("login");
    assert_eq!(prompt(&builder), "");
}

#[test]
fn rules_that_fail_leave_the_layer_empty() {
    let rules = Answers::new(&[Ok(Some("rules")), Err("gone"), Ok(None)]);
    let mut builder = PromptBuilder::new().with_rules(rules);
    builder.add_context("task", "T");
    let gone = "the layer `rules` could not be loaded: gone";
    for (expected, told) in [
        (format!("rules for login of None{SEP}T"), vec![]),
        ("T".to_owned(), vec![gone]),
        ("T".to_owned(), vec![]),
    ] {
        builder.load_relevant_rules("login");
        assert_eq!(prompt(&builder), expected);
        assert_eq!(messages(&builder), told);
    }
}

#[test]
fn context_is_appended_as_it_is_unless_it_is_blank() {
    let mut builder = PromptBuilder::new();
    for (name, content) in [
        ("a", "\n A \n"),
        ("b", ""),
        ("c", " \u{1f}\n"),
        ("a", "{{x}}"),
        ("", "N"),
    ] {
        builder.add_context(name, content);
    }
    assert_eq!(prompt(&builder), format!("\n A \n{SEP}{{{{x}}}}{SEP}N"));
    builder.add_context("later", "L");
    assert!(prompt(&builder).ends_with(&format!("N{SEP}L")));
}

#[test]
fn sections_are_lists_and_empty_data_is_none() {
    let mut builder = PromptBuilder::new();
    builder
        .add_context_section("empty", &no_variables())
        .unwrap();
    builder
        .add_context_section("task_depth", &no_variables())
        .unwrap();
    builder
        .add_context_section("it's_mine", &map(json!({"b": 1, "a": null})))
        .unwrap();
    assert_eq!(prompt(&builder), "## It'S Mine\n- **b:** 1\n- **a:** null");
}

#[test]
fn a_bad_depth_adds_nothing() {
    let mut builder = PromptBuilder::new();
    builder.add_context("a", "A");
    let error = builder
        .add_context_section("task_depth", &map(json!({"depth": -1})))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`context[1].data.depth`: expected an integer from 0, found `-1`"
    );
    assert_eq!(prompt(&builder), "A");
}

#[test]
fn tools_are_replaced_and_handed_over_as_they_are() {
    let mut builder = PromptBuilder::new();
    let tools = [
        json!({"z": 1, "a": [1.0, 12_345_678_901_234_567_890_u64]}),
        json!({"z": 1}),
        json!({"z": 1}),
    ];
    builder.set_core_tools([json!({"old": true})]);
    builder.set_tools(tools.clone());
    let (text, handed) = builder.build().unwrap();
    assert_eq!(text, "");
    assert_eq!(json!(handed).to_string(), json!(tools).to_string());
    builder.set_core_tools([]);
    assert_eq!(builder.build().unwrap().1, Vec::<Value>::new());
}

#[test]
fn a_task_prompt_is_the_same_text() {
    let folder = templates(&[("a.md", "A")]);
    let mut builder = builder_in(folder.path());
    builder.add_context("task", "T");
    builder.set_tools([json!({"name": "t"})]);
    builder.set_identity("a", &no_variables()).unwrap();
    assert_eq!(
        prompt(&builder),
        format!("A{SEP}T"),
        "the identity is first, whenever it was set"
    );
    assert_eq!(builder.build_task_prompt().unwrap(), prompt(&builder));
    assert_eq!(builder.build().unwrap(), builder.build().unwrap());
}

#[test]
fn a_builder_that_was_stored_has_its_own_templates_until_it_reloads() {
    let folder = templates(&[("a.md", "---\nvariables: [v]\n---\none {{v}}")]);
    let mut builder = builder_in(folder.path());
    builder.set_identity("a", &map(json!({"v": 1}))).unwrap();
    let stored = serde_json::to_string(&builder.stored()).unwrap();
    fs::write(folder.path().join("a.md"), "two").unwrap();

    let mut again = builder_in(folder.path());
    again.restore(serde_json::from_str(&stored).unwrap());
    assert_eq!(prompt(&again), "one 1");
    assert_eq!(again.get_template("a").as_deref(), Some("one {{v}}"));
    again.add_context("task", "T");
    assert_eq!(prompt(&builder), "one 1", "the other one is not touched");
    again.reload();
    assert_eq!(again.get_template("a").as_deref(), Some("two"));

    let unread = builder_in(folder.path()).stored();
    let mut fresh = builder_in(folder.path());
    fresh.restore(unread);
    assert_eq!(fresh.get_template("a").as_deref(), Some("two"));
}

#[test]
fn an_identity_may_be_a_text_that_somebody_else_rendered() {
    let mut builder = PromptBuilder::new();
    builder.set_identity_text("mine", Some("I am {{x}}."));
    assert_eq!(prompt(&builder), "I am {{x}}.");
    assert_eq!(messages(&builder), Vec::<String>::new());
    builder.set_identity_text("mine", None);
    assert_eq!(prompt(&builder), "");
    assert_eq!(
        messages(&builder),
        ["no template named `mine`; the identity is empty"]
    );
}
