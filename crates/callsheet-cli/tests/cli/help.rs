//! The help of every command, whole.

use crate::project::Project;

fn help(command: &[&str]) -> String {
    let mut args = command.to_vec();
    args.push("--help");
    Project::new().callsheet(&args)
}

/// Makes one test per command; its snapshot has the name of the command.
macro_rules! help_of {
    ($($name:ident: $($word:literal)*;)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(stringify!($name), help(&[$($word),*]));
            }
        )*
    };
}

help_of! {
    program:;
    demo: "demo";
    init: "init";
    compose: "compose";
    inject: "inject";
    pack: "pack";
    explain: "explain";
    why: "why";
    diff: "diff";
    cache: "cache";
    task: "task";
    task_add: "task" "add";
    task_list: "task" "list";
    task_show: "task" "show";
    task_cancel: "task" "cancel";
    task_depend: "task" "depend";
    exec: "exec";
    runs: "runs";
    run: "run";
    retry: "retry";
    continue_run: "continue";
    approve: "approve";
    reject: "reject";
    checks: "checks";
    checks_rerun: "checks" "rerun";
    merge: "merge";
    proof: "proof";
    sprint: "sprint";
    sprint_run: "sprint" "run";
    sprint_status: "sprint" "status";
    sprint_stop: "sprint" "stop";
    sprint_archive: "sprint" "archive";
    sprint_batches: "sprint" "batches";
    sprint_report: "sprint" "report";
    sprint_next: "sprint" "next";
    sprint_set: "sprint" "set";
    sprint_check: "sprint" "check";
    worker: "worker";
    serve: "serve";
    log: "log";
    events: "events";
    log_event: "log-event";
    sprint_parse: "sprint" "parse";
    stop: "stop";
    prompts: "prompts";
    show: "show";
    search: "search";
    reindex: "reindex";
    verify: "verify";
    head: "head";
    replay: "replay";
    export: "export";
    import: "import";
    gc: "gc";
    template: "template";
    template_list: "template" "list";
    template_show: "template" "show";
    template_render: "template" "render";
    template_check: "template" "check";
    template_vars: "template" "vars";
    recipe: "recipe";
    recipe_list: "recipe" "list";
    recipe_show: "recipe" "show";
    recipe_eject: "recipe" "eject";
    recipe_check: "recipe" "check";
    recipe_new: "recipe" "new";
    recipe_test: "recipe" "test";
    profile: "profile";
    profile_list: "profile" "list";
    profile_show: "profile" "show";
    profile_check: "profile" "check";
    adapter: "adapter";
    adapter_list: "adapter" "list";
    adapter_show: "adapter" "show";
    adapter_parse: "adapter" "parse";
    package: "package";
    package_check: "package" "check";
    state: "state";
    state_show: "state" "show";
    state_set: "state" "set";
    schema: "schema";
    doctor: "doctor";
    completions: "completions";
}

#[test]
fn no_command_is_without_its_help_here() {
    let listed = |text: &str| -> Vec<String> {
        let from = text.split("Commands:\n").nth(1).unwrap_or_default();
        let lines = from.lines().take_while(|line| !line.is_empty());
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !name.is_empty() && *name != "help");
        names.map(str::to_owned).collect()
    };
    assert_eq!(
        listed(&help(&[])).join(" "),
        "demo init compose inject pack explain why diff cache task run retry continue approve reject checks merge proof sprint worker serve exec runs log events log-event stop prompts show search reindex verify head replay export import gc template recipe profile adapter package state schema doctor completions"
    );
    assert_eq!(
        listed(&help(&["template"])).join(" "),
        "list show render check vars"
    );
    assert_eq!(
        listed(&help(&["recipe"])).join(" "),
        "list show eject new test check"
    );
    assert_eq!(
        listed(&help(&["task"])).join(" "),
        "add list show cancel depend"
    );
    assert_eq!(
        listed(&help(&["sprint"])).join(" "),
        "run status stop next set check parse archive batches report"
    );
    assert_eq!(listed(&help(&["checks"])).join(" "), "rerun");
    assert_eq!(listed(&help(&["profile"])).join(" "), "list show check");
    assert_eq!(listed(&help(&["adapter"])).join(" "), "list show parse");
    assert_eq!(listed(&help(&["package"])).join(" "), "check");
    assert_eq!(listed(&help(&["state"])).join(" "), "show set");
}

#[test]
fn the_width_of_help_does_not_depend_on_the_terminal() {
    let mut project = Project::new();
    let usual = project.callsheet(&["pack", "--help"]);
    project.variable("COLUMNS", "300").variable("TERM", "xterm");
    assert_eq!(project.callsheet(&["pack", "--help"]), usual);
}

#[test]
fn a_program_without_arguments_prints_its_help_to_stderr() {
    let run = Project::new().run(&[]);
    assert_eq!((run.code(), run.text().as_str()), (Some(2), ""));
    let whole = Project::new().run(&["--help"]);
    assert!(!whole.text().is_empty() && whole.code() == Some(0));
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.starts_with("Composes the exact prompt"), "{said}");
}

#[test]
fn the_version_is_reported() {
    insta::assert_snapshot!(Project::new().callsheet(&["--version"]), @r"
    exit: 0
    --- stdout
    callsheet 0.1.0
    ");
}
