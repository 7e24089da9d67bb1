//! `template vars`: the variables of workflow files.

use crate::project::Project;

#[test]
fn values_are_resolved_in_the_order_of_the_file() {
    let project = Project::new();
    project.file("config.yaml", "output: \"{project-root}/out\"\nuser: me\n");
    project.file(
        "workflow.yaml",
        "config_source: \"{project-root}/config.yaml\"\nuser_name: \"{config_source}:user\"\nout: \"{config_source}:output\"\nfile: \"{out}/{user_name}.md\"\n",
    );
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @r"
    exit: 0
    --- stdout
    config_source=[ROOT]/config.yaml
    user_name=me
    out=[ROOT]/out
    file=[ROOT]/out/me.md
    ");
}

fn with_problems() -> Project {
    let project = Project::new();
    project.file(
        "workflow.yaml",
        "a: \"{b}\"\nb: \"{c}\"\nc: \"{a}\"\nd: \"{nobody}\"\nconfig_source: nope.yaml\ne: \"{config_source}:key\"\n",
    );
    project
}

#[test]
fn cycles_and_unresolved_names_are_reported() {
    let project = with_problems();
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @"
    exit: 1
    --- stdout
    a={b}
    b={c}
    c={a}
    d={nobody}
    config_source=nope.yaml
    e={config_source}:key
    --- stderr
    note: workflow.yaml:4: `d`: `nobody` is left for the run
    warning: workflow.yaml:1: `a`: refers to itself: `a → b → c → a`
    warning: workflow.yaml:6: `e`: cannot read `nope.yaml`: it does not exist
    error: 2 problems found
    ");
}

#[test]
fn cycles_and_unresolved_names_are_in_the_document() {
    let project = with_problems();
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml", "--json"]), @r#"
    exit: 1
    --- stdout
    {
      "schema": "callsheet.vars/1",
      "values": {
        "a": "{b}",
        "b": "{c}",
        "c": "{a}",
        "d": "{nobody}",
        "config_source": "nope.yaml",
        "e": "{config_source}:key"
      },
      "open": [
        {
          "name": "nobody",
          "key": "d",
          "line": 4,
          "required": false
        }
      ],
      "problems": [
        {
          "key": "a",
          "line": 1,
          "kind": "cycle",
          "message": "refers to itself: `a → b → c → a`"
        },
        {
          "key": "e",
          "line": 6,
          "kind": "missing_config",
          "message": "cannot read `nope.yaml`: it does not exist"
        }
      ]
    }
    --- stderr
    note: workflow.yaml:4: `d`: `nobody` is left for the run
    warning: workflow.yaml:1: `a`: refers to itself: `a → b → c → a`
    warning: workflow.yaml:6: `e`: cannot read `nope.yaml`: it does not exist
    error: 2 problems found
    "#);
}

/// A workflow with a block of variables, and names that only a run knows.
fn with_block() -> Project {
    let project = Project::new();
    project.file(
        "config.yaml",
        "out: \"{project-root}/out\"\nagents: [a, b]\n",
    );
    project.file(
        "workflow.yaml",
        "config_source: \"{project-root}/config.yaml\"\ndate: system-generated\nout: \"{config_source}:out\"\n\
         default_output_file: \"{status_file}\"\nreport: \"{test_dir}/{story_id}-{timestamp}.md\"\n\
         variables:\n  status_file: \"{out}/status.yaml\"\n  test_dir: \"{project-root}/tests\"\n  \
         story_key: {description: The story., required: true}\n",
    );
    project
}

#[test]
fn variables_of_the_block_are_names_and_the_rest_is_left_for_the_run() {
    let project = with_block();
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @"
    exit: 0
    --- stdout
    config_source=[ROOT]/config.yaml
    date=system-generated
    out=[ROOT]/out
    default_output_file=[ROOT]/out/status.yaml
    report=[ROOT]/tests/{story_id}-{timestamp}.md
    variables.status_file=[ROOT]/out/status.yaml
    variables.test_dir=[ROOT]/tests
    --- stderr
    note: workflow.yaml:5: `report`: `story_id` is left for the run
    note: workflow.yaml:5: `report`: `timestamp` is left for the run
    note: workflow.yaml:9: `variables.story_key`: `story_key` is left for the run
    ");
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml", "--strict"]), @"
    exit: 1
    --- stdout
    config_source=[ROOT]/config.yaml
    date=system-generated
    out=[ROOT]/out
    default_output_file=[ROOT]/out/status.yaml
    report=[ROOT]/tests/{story_id}-{timestamp}.md
    variables.status_file=[ROOT]/out/status.yaml
    variables.test_dir=[ROOT]/tests
    --- stderr
    warning: workflow.yaml:5: `report`: `story_id` is left for the run
    warning: workflow.yaml:5: `report`: `timestamp` is left for the run
    warning: workflow.yaml:9: `variables.story_key`: `story_key` is left for the run
    error: 3 problems found
    hint: `-D story_id=…` gives a value
    ");
}

#[test]
fn what_is_left_for_the_run_is_in_the_document() {
    let project = with_block();
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "schema": "callsheet.vars/1",
      "values": {
        "config_source": "[ROOT]/config.yaml",
        "date": "system-generated",
        "out": "[ROOT]/out",
        "default_output_file": "[ROOT]/out/status.yaml",
        "report": "[ROOT]/tests/{story_id}-{timestamp}.md",
        "variables.status_file": "[ROOT]/out/status.yaml",
        "variables.test_dir": "[ROOT]/tests"
      },
      "open": [
        {
          "name": "story_id",
          "key": "report",
          "line": 5,
          "required": false
        },
        {
          "name": "timestamp",
          "key": "report",
          "line": 5,
          "required": false
        },
        {
          "name": "story_key",
          "key": "variables.story_key",
          "line": 9,
          "required": true
        }
      ],
      "problems": []
    }
    --- stderr
    note: workflow.yaml:5: `report`: `story_id` is left for the run
    note: workflow.yaml:5: `report`: `timestamp` is left for the run
    note: workflow.yaml:9: `variables.story_key`: `story_key` is left for the run
    "#);
}

#[test]
fn values_can_be_given() {
    let project = with_block();
    let given = [
        "template",
        "vars",
        "workflow.yaml",
        "--strict",
        "-D",
        "story_id=2a-1",
        "-D",
        "timestamp:=1700000000",
        "-D",
        "story_key=2a",
        "-D",
        "date=2026-01-02",
    ];
    insta::assert_snapshot!(project.callsheet(&given), @"
    exit: 0
    --- stdout
    config_source=[ROOT]/config.yaml
    date=2026-01-02
    out=[ROOT]/out
    default_output_file=[ROOT]/out/status.yaml
    report=[ROOT]/tests/2a-1-1700000000.md
    variables.status_file=[ROOT]/out/status.yaml
    variables.test_dir=[ROOT]/tests
    variables.story_key=2a
    ");
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml", "-D", "storyid=1"]), @"
    exit: 0
    --- stdout
    config_source=[ROOT]/config.yaml
    date=system-generated
    out=[ROOT]/out
    default_output_file=[ROOT]/out/status.yaml
    report=[ROOT]/tests/{story_id}-{timestamp}.md
    variables.status_file=[ROOT]/out/status.yaml
    variables.test_dir=[ROOT]/tests
    --- stderr
    note: workflow.yaml:5: `report`: `story_id` is left for the run
    note: workflow.yaml:5: `report`: `timestamp` is left for the run
    note: workflow.yaml:9: `variables.story_key`: `story_key` is left for the run
    warning: `storyid` is not used in `workflow.yaml`
    ");
}

#[test]
fn what_is_there_as_a_list_is_told_as_such() {
    let project = with_block();
    project.file(
        "workflow.yaml",
        "config_source: config.yaml\na: \"{config_source}:agents\"\nb: \"{config_source}:none\"\n",
    );
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @"
    exit: 1
    --- stdout
    config_source=config.yaml
    a={config_source}:agents
    b={config_source}:none
    --- stderr
    warning: workflow.yaml:2: `a`: `agents` of `config.yaml` is a list, and only a text can stand in a text
    warning: workflow.yaml:3: `b`: `config.yaml` has no key `none`
    error: 2 problems found
    ");
}

#[test]
fn a_config_that_cannot_be_read_is_told_with_the_reason() {
    let project = Project::new();
    project
        .file("bytes.yaml", [0xff])
        .file("bad.yaml", "a: 1\nb: [\n");
    let paths = "/etc/passwd ../out.yaml gone.yaml . bytes.yaml bad.yaml";
    let lines = paths
        .split(' ')
        .enumerate()
        .map(|(at, path)| format!("c{at}_source: {path}\nv{at}: \"{{c{at}_source}}:key\"\n"));
    let lines: Vec<String> = lines.collect();
    project.file("workflow.yaml", lines.concat());
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @"
    exit: 1
    --- stdout
    c0_source=/etc/passwd
    v0={c0_source}:key
    c1_source=../out.yaml
    v1={c1_source}:key
    c2_source=gone.yaml
    v2={c2_source}:key
    c3_source=.
    v3={c3_source}:key
    c4_source=bytes.yaml
    v4={c4_source}:key
    c5_source=bad.yaml
    v5={c5_source}:key
    --- stderr
    warning: workflow.yaml:2: `v0`: cannot read `/etc/passwd`: it leads out of the root
    warning: workflow.yaml:4: `v1`: cannot read `../out.yaml`: it leads out of the root
    warning: workflow.yaml:6: `v2`: cannot read `gone.yaml`: it does not exist
    warning: workflow.yaml:8: `v3`: cannot read `.`: it is a folder
    warning: workflow.yaml:10: `v4`: cannot read `bytes.yaml`: it is not UTF-8 text
    warning: workflow.yaml:12: `v5`: `bad.yaml` cannot be used: line 2: not valid YAML: `[` has no `]`
    error: 6 problems found
    ");
}

#[test]
fn a_config_outside_of_the_root_is_not_read() {
    let project = Project::new();
    let outside = project.outside().join("secret.yaml");
    let written = std::fs::write(&outside, "key: secret\n");
    assert!(written.is_ok());
    project.file(
        "workflow.yaml",
        "config_source: ../secret.yaml\na: \"{config_source}:key\"\n",
    );
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @"
    exit: 1
    --- stdout
    config_source=../secret.yaml
    a={config_source}:key
    --- stderr
    warning: workflow.yaml:2: `a`: cannot read `../secret.yaml`: it leads out of the root
    error: 1 problem found
    ");
}

#[test]
fn a_file_that_is_no_yaml() {
    let project = Project::new();
    project.file("workflow.yaml", "a: b\nc: [\n");
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @"
    exit: 2
    --- stderr
    error: workflow.yaml:2: not valid YAML: `[` has no `]`
    ");
}

#[test]
fn a_file_that_is_not_there() {
    insta::assert_snapshot!(Project::new().callsheet(&["template", "vars", "nope.yaml"]), @r"
    exit: 2
    --- stderr
    error: nope.yaml: no such file or directory
    ");
}
