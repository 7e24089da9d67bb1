//! `template list|show|render|check`.

use crate::project::{Project, words};

/// Templates with one of every kind of problem.
fn problems() -> Project {
    let project = Project::new();
    let files = [
        (
            "a.md",
            "---\nname: greet\nvariables: [who, never]\n---\nHi {{who}}, {{whom}} {{}}.\n",
        ),
        ("b.md", "---\nname: greet\n---\nagain\n"),
        ("c.md", "---\ndescription: x\nname: [a\n---\nbroken\n"),
        (
            "d.md",
            "---\nengine: jinja\n---\n\n{% include 'nope.md' %}\n",
        ),
        ("e.md", "---\nengine: jinja\n---\n{% if %}\n"),
        ("f.md", "---\nengine: perl\n---\nno such engine\n"),
    ];
    for (name, text) in files {
        project.file(&format!("prompts/{name}"), text);
    }
    project.file("prompts/g.md", b"\xff");
    project
}

#[test]
fn a_check_tells_every_problem_with_its_line() {
    insta::assert_snapshot!(problems().callsheet(&["template", "check", "--prompts-dir", "prompts"]), @"
    exit: 1
    --- stdout
    prompts/a.md:3: `never` is declared and never used
    prompts/a.md:5: `{{}}` is not a placeholder and stays as it is
    prompts/a.md:5: `{{whom}}` is not declared and stays as it is
    prompts/b.md: the name `greet` of `b.md` is already taken by `a.md`
    prompts/c.md:3: the frontmatter is not valid YAML: `[` has no `]`
    prompts/d.md:5: no template named `nope.md`
    prompts/e.md:4: syntax error: unexpected end of block
    prompts/f.md:2: `engine` is `plain` or `jinja`, not `perl`
    prompts/g.md: not valid UTF-8 at byte 0
    --- stderr
    error: 6 templates checked, 9 problems found
    ");
}

#[test]
fn a_check_for_programs() {
    let run = problems().run(&["template", "check", "--prompts-dir", "prompts", "--json"]);
    assert_eq!(run.code(), Some(1));
    let document = run.json();
    let kinds = document["problems"].as_array().into_iter().flatten();
    let kinds: Vec<String> = kinds
        .map(|problem| {
            format!(
                "{}:{} {}",
                problem["file"], problem["line"], problem["kind"]
            )
        })
        .collect();
    insta::assert_snapshot!(kinds.join("\n"), @r#"
    "a.md":3 "unused"
    "a.md":5 "syntax"
    "a.md":5 "undeclared"
    "b.md":null "duplicate"
    "c.md":3 "frontmatter"
    "d.md":5 "unknown"
    "e.md":4 "syntax"
    "f.md":2 "frontmatter"
    "g.md":null "unreadable"
    "#);
}

#[test]
fn problems_do_not_hide_the_templates_that_work() {
    insta::assert_snapshot!(problems().callsheet(&["template", "list", "--prompts-dir", "prompts"]), @"
    exit: 0
    --- stdout
    NAME   FILE  ENGINE  VARIABLES   DESCRIPTION
    greet  a.md  plain   who, never
    greet  b.md  plain
    c      c.md  plain
    d      d.md  jinja
    e      e.md  jinja
    f      f.md  plain
    --- stderr
    warning: c.md:3: the frontmatter is not valid YAML: `[` has no `]`
    warning: f.md:2: `engine` is `plain` or `jinja`, not `perl`
    warning: g.md: not valid UTF-8 at byte 0
    warning: b.md: the name `greet` of `b.md` is already taken by `a.md`
    ");
}

#[test]
fn the_packaged_ones_have_no_problem() {
    insta::assert_snapshot!(Project::new().callsheet(&["template", "check"]), @r"
    exit: 0
    --- stderr
    6 templates checked, no problem found
    ");
    insta::assert_snapshot!(Project::new().callsheet(&["template", "list"]), @r"
    exit: 0
    --- stdout
    NAME                  FILE                     ENGINE  VARIABLES                                               DESCRIPTION
    controlled-splitting  controlled-splitting.md  plain   current_depth, max_depth                                Rules for a step that may be split once more.
    execution-focus       execution-focus.md       plain                                                           Rules for a step that must be carried out as it is.
    hook-executor         hook-executor.md         plain   hook_name, project_name, trigger_reason, event_context  Reasons about what a hook reported and decides what follows.
    plan-structure-guide  plan-structure-guide.md  plain   max_steps                                               Rules for a task that may be split into a plan.
    supervisor            supervisor.md            plain   workspace_dir                                           The agent that people talk to; it plans, delegates and reports.
    task-agent            task-agent.md            plain                                                           A coding agent that carries out one task in a worktree.
    ");
}

/// A project with one template of its own and one that replaces a packaged one.
fn own() -> Project {
    let project = Project::new();
    project.file(
        "callsheet/templates/review.md",
        "Review {{story_keys}} of {{epic_id}}, attempt {{review_attempt}}, {{who}}",
    );
    project.file("callsheet/templates/supervisor.md", "Ours.\n");
    project
}

#[test]
fn own_templates_win_over_packaged_ones() {
    let project = own();
    assert_eq!(
        project.run(&["template", "show", "supervisor"]).text(),
        "Ours."
    );
    assert_eq!(
        project
            .run(&["compose", "layers", "-D", "identity.name=supervisor"])
            .code(),
        Some(0)
    );
    let names = project.run(&["template", "list", "--json"]).json();
    let names: Vec<&str> = names["templates"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| t["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "controlled-splitting",
            "execution-focus",
            "hook-executor",
            "plan-structure-guide",
            "review",
            "supervisor",
            "task-agent"
        ]
    );
}

#[test]
fn names_that_mean_the_same_find_one_template() {
    let project = own();
    for name in ["supervisor-system", "chat_agent_system"] {
        let shown = project.run(&["template", "show", name]).text();
        assert_eq!(shown, "Ours.", "{name}");
    }
    let args = words("template render hook_context -D hook_name=build");
    let rendered = project.run(&args).text();
    assert!(
        rendered.contains("You handle the hook `build`"),
        "{rendered}"
    );
}

#[test]
fn a_template_is_filled_with_values_and_stories() {
    let project = own();
    let args =
        words("template render review --story 2a-1 --story 2a-2 --review-attempt 2 -D who=you");
    assert_eq!(
        project.run(&args).text(),
        "Review 2a-1,2a-2 of 2a, attempt 2, you"
    );
}

#[test]
fn missing_and_unused_values_are_reported() {
    let project = own();
    insta::assert_snapshot!(project.callsheet(&["template", "render", "review", "--story", "2a-1", "-D", "whom=you"]), @r"
    exit: 0
    --- stdout
    Review 2a-1 of 2a, attempt 1, 
    --- stderr
    warning: `{{who}}` in `review.md` has no value
    warning: `whom` is not used in `review.md`
    ");
    insta::assert_snapshot!(project.callsheet(&["template", "render", "review.md", "--missing", "keep", "-q"]), @r"
    exit: 0
    --- stdout
    Review {{story_keys}} of {{epic_id}}, attempt {{review_attempt}}, {{who}}
    ");
    insta::assert_snapshot!(project.callsheet(&["template", "render", "review", "--strict"]), @r"
    exit: 2
    --- stderr
    error: review.md:1: Required variable 'story_keys' not provided for template 'review' (also missing: 'epic_id', 'review_attempt', 'who')
    ");
}

#[test]
fn strict_and_missing_exclude_each_other() {
    insta::assert_snapshot!(own().callsheet(&["template", "render", "review", "--strict", "--missing", "keep"]), @r"
    exit: 2
    --- stderr
    error: the argument '--strict' cannot be used with '--missing <HOW>'

    Usage: callsheet template render --strict <NAME>

    For more information, try '--help'.
    ");
}

#[test]
fn a_story_without_a_name() {
    insta::assert_snapshot!(own().callsheet(&["template", "render", "review", "--story", ""]), @r"
    exit: 2
    --- stderr
    error: a value is required for '--story <KEY>' but none was supplied

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_template() {
    insta::assert_snapshot!(own().callsheet(&["template", "show", "supervsor"]), @r"
    exit: 2
    --- stderr
    error: no template named `supervsor`
    hint: did you mean `supervisor`?
    ");
    insta::assert_snapshot!(own().callsheet(&["template", "render", "zzz"]), @r"
    exit: 2
    --- stderr
    error: no template named `zzz`
    hint: allowed are `controlled-splitting`, `execution-focus`, `hook-executor`, `plan-structure-guide`, `review`, `supervisor`, `task-agent`
    ");
}

#[test]
fn a_folder_that_is_none() {
    insta::assert_snapshot!(own().callsheet(&["template", "list", "--prompts-dir", "nope"]), @r"
    exit: 2
    --- stderr
    error: `nope` is not a folder
    ");
}

#[test]
fn an_include_that_is_not_there() {
    insta::assert_snapshot!(problems().callsheet(&["template", "render", "d", "--prompts-dir", "prompts"]), @r"
    exit: 2
    --- stderr
    error: d.md:5: no template named `nope.md` (there are: `a.md`, `b.md`, `c.md`, `d.md`, `e.md`, `f.md`)
    ");
}

#[test]
fn ten_thousand_placeholders() {
    let project = Project::new();
    project.file("prompts/many.md", "{{a}}{{b}}".repeat(5_000));
    let args = words("template render many --prompts-dir prompts -D a=x -D b=yz");
    let run = project.run(&args);
    assert_eq!(run.text(), "xyz".repeat(5_000));
    assert_eq!(run.stderr, b"");
}
