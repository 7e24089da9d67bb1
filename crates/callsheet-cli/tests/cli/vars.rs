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

#[test]
fn cycles_and_unresolved_names_are_told() {
    let project = Project::new();
    project.file(
        "workflow.yaml",
        "a: \"{b}\"\nb: \"{c}\"\nc: \"{a}\"\nd: \"{nobody}\"\nconfig_source: nope.yaml\ne: \"{config_source}:key\"\n",
    );
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @r"
    exit: 1
    --- stdout
    a={b}
    b={c}
    c={a}
    d={nobody}
    config_source=nope.yaml
    e={config_source}:key
    --- stderr
    warning: workflow.yaml:1: `a`: refers to itself: `a → b → c → a`
    warning: workflow.yaml:4: `d`: `nobody` has no value
    warning: workflow.yaml:6: `e`: cannot read `nope.yaml`
    error: 3 problems found
    ");
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
      "problems": [
        {
          "key": "a",
          "line": 1,
          "kind": "cycle",
          "message": "refers to itself: `a → b → c → a`"
        },
        {
          "key": "d",
          "line": 4,
          "kind": "unresolved",
          "message": "`nobody` has no value"
        },
        {
          "key": "e",
          "line": 6,
          "kind": "missing_config",
          "message": "cannot read `nope.yaml`"
        }
      ]
    }
    --- stderr
    warning: workflow.yaml:1: `a`: refers to itself: `a → b → c → a`
    warning: workflow.yaml:4: `d`: `nobody` has no value
    warning: workflow.yaml:6: `e`: cannot read `nope.yaml`
    error: 3 problems found
    "#);
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
    insta::assert_snapshot!(project.callsheet(&["template", "vars", "workflow.yaml"]), @r"
    exit: 1
    --- stdout
    config_source=../secret.yaml
    a={config_source}:key
    --- stderr
    warning: workflow.yaml:2: `a`: cannot read `../secret.yaml`
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
    error: workflow.yaml:2: no valid YAML: `[` has no `]`
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
