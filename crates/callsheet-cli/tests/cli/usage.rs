//! Usage errors: exit 2, the reason on stderr, nothing on stdout.

use crate::project::Project;

#[test]
fn an_unknown_command() {
    insta::assert_snapshot!(Project::new().callsheet(&["composs"]), @"
    exit: 2
    --- stderr
    error: unrecognized subcommand 'composs'

      tip: some similar subcommands exist: 'prompts', 'completions', 'compose'

    Usage: callsheet [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn a_missing_recipe() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose"]), @r"
    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      <RECIPE>

    Usage: callsheet compose <RECIPE>

    For more information, try '--help'.
    ");
}

#[test]
fn missing_flags() {
    insta::assert_snapshot!(Project::new().callsheet(&["inject"]), @r"
    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      --command <NAME>
      --story <KEY>

    Usage: callsheet inject --command <NAME> --story <KEY>

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_flag() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "--tokns"]), @r"
    exit: 2
    --- stderr
    error: unexpected argument '--tokns' found

      tip: a similar argument exists: '--tokens'

    Usage: callsheet pack --tokens [GLOB]...

    For more information, try '--help'.
    ");
}

#[test]
fn quiet_and_verbose() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "-q", "-v"]), @r"
    exit: 2
    --- stderr
    error: the argument '--quiet' cannot be used with '--verbose'

    Usage: callsheet pack --quiet [GLOB]...

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_encoding() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "--encoding", "gpt2"]), @r"
    exit: 2
    --- stderr
    error: invalid value 'gpt2' for '--encoding <NAME>': expected `o200k` or `cl100k`

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_format() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "pack", "--format", "yaml"]), @r"
    exit: 2
    --- stderr
    error: invalid value 'yaml' for '--format <FORM>'
      [possible values: text, json, messages]

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_form_of_a_pack() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "--format", "yaml"]), @r"
    exit: 2
    --- stderr
    error: invalid value 'yaml' for '--format <FORM>'
      [possible values: xml, markdown, json]

      tip: a similar value exists: 'xml'

    For more information, try '--help'.
    ");
}

#[test]
fn a_budget_that_is_no_number() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "--token-budget", "many"]), @r"
    exit: 2
    --- stderr
    error: invalid value 'many' for '--token-budget <N[k]>': expected a number, such as `8000` or `8k`

    For more information, try '--help'.
    ");
}

#[test]
fn a_budget_beyond_all_numbers() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "--byte-budget", "99999999999999999999k"]), @r"
    exit: 2
    --- stderr
    error: invalid value '99999999999999999999k' for '--byte-budget <N>': expected a number, such as `8000` or `8k`

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_colour_choice() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "--color", "red"]), @r"
    exit: 2
    --- stderr
    error: invalid value 'red' for '--color <WHEN>'
      [possible values: auto, always, never]

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_shell() {
    insta::assert_snapshot!(Project::new().callsheet(&["completions", "tcsh"]), @r"
    exit: 2
    --- stderr
    error: invalid value 'tcsh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
}

#[test]
fn a_schema_of_nothing() {
    insta::assert_snapshot!(Project::new().callsheet(&["schema"]), @r"
    exit: 2
    --- stderr
    error: the following required arguments were not provided:
      <RECIPE>

    Usage: callsheet schema <RECIPE>

    For more information, try '--help'.
    ");
}

#[test]
fn an_unknown_recipe_with_a_near_name() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "laers"]), @r"
    exit: 2
    --- stderr
    error: no recipe named `laers`
    hint: did you mean `layers`?
    ");
}

#[test]
fn an_unknown_recipe_that_is_the_beginning_of_one() {
    insta::assert_snapshot!(Project::new().callsheet(&["schema", "inject"]), @r"
    exit: 2
    --- stderr
    error: no recipe named `inject`
    hint: did you mean `injection`?
    ");
}

#[test]
fn an_unknown_recipe_like_no_other() {
    insta::assert_snapshot!(Project::new().callsheet(&["explain", "zzz"]), @"
    exit: 2
    --- stderr
    error: no recipe named `zzz`
    hint: allowed are `injection`, `layers`, `messages`, `pack`, `review`, `run`, `sprint/code-review`, `sprint/commit`, `sprint/create-story`, `sprint/dev-story`, `sprint/discovery`, `sprint/project-context`, `sprint/resolve-conflict`, `sprint/story-review`, `sprint/tech-spec`, `sprint/tech-spec-review`
    ");
}

#[test]
fn a_recipe_of_the_project_is_among_the_known_ones_once() {
    let project = Project::new();
    project.file(
        "callsheet/recipes/layers/recipe.toml",
        "[[layers]]\nname = 'a'\ntext = 'a'\n",
    );
    insta::assert_snapshot!(project.callsheet(&["recipe", "show", "zzz"]), @"
    exit: 2
    --- stderr
    error: no recipe named `zzz`
    hint: allowed are `injection`, `layers`, `messages`, `pack`, `review`, `run`, `sprint/code-review`, `sprint/commit`, `sprint/create-story`, `sprint/dev-story`, `sprint/discovery`, `sprint/project-context`, `sprint/resolve-conflict`, `sprint/story-review`, `sprint/tech-spec`, `sprint/tech-spec-review`
    ");
}

#[test]
fn a_bad_glob() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "src/["]), @r"
    exit: 2
    --- stderr
    error: bad glob `src/[`: unclosed character class; missing ']'
    hint: `callsheet schema pack` prints what the recipe takes
    ");
}

#[test]
fn a_bad_glob_in_an_exclusion() {
    insta::assert_snapshot!(Project::new().callsheet(&["pack", "--exclude", "{a"]), @r"
    exit: 2
    --- stderr
    error: bad glob `{a`: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
    hint: `callsheet schema pack` prints what the recipe takes
    ");
}

#[test]
fn a_recipe_without_templates_takes_no_folder_of_them() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "pack", "--prompts-dir", "."]), @r"
    exit: 2
    --- stderr
    error: recipe `pack` takes no `--prompts-dir`
    ");
}

#[test]
fn a_prompts_folder_that_is_not_there() {
    insta::assert_snapshot!(Project::new().callsheet(&["compose", "layers", "--prompts-dir", "nope"]), @r"
    exit: 2
    --- stderr
    error: `nope` is not a folder
    ");
}
