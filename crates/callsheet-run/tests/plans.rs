//! Launch plans of every adapter: the exact command line, variables and files for each choice.

#![expect(
    clippy::unwrap_used,
    reason = "a plan that cannot be made fails its test"
)]

use std::collections::BTreeMap;
use std::path::Path;

use callsheet_run::{Order, Permissions, Plan, PromptBy, RunError, Sheet, adapter};

/// What a case changes of the plainest order.
struct Case<'a> {
    sheet: Sheet,
    model: Option<&'a str>,
    permissions: Permissions,
    allow: Vec<String>,
    deny: Vec<String>,
    prompt: &'a str,
    system: Option<&'a str>,
    isolate: bool,
    sandboxed: bool,
    env: BTreeMap<String, String>,
}

impl Case<'_> {
    fn new(name: &str, changes: &str, profile: Option<&str>) -> Self {
        let changes: toml::Table = toml::from_str(changes).unwrap();
        let sheet = adapter::sheet(name).unwrap();
        Self {
            sheet: Sheet::parse(sheet, Some(&changes), profile).unwrap(),
            model: None,
            permissions: Permissions::Edit,
            allow: Vec::new(),
            deny: Vec::new(),
            prompt: "Do it.",
            system: None,
            isolate: true,
            sandboxed: false,
            env: BTreeMap::new(),
        }
    }

    fn of(name: &str) -> Self {
        Self::new(name, "", None)
    }

    fn plan(&self) -> Result<Plan, RunError> {
        let order = Order {
            sheet: &self.sheet,
            command: &self.sheet.command,
            model: self.model,
            permissions: self.permissions,
            allow: &self.allow,
            deny: &self.deny,
            prompt: self.prompt,
            system: self.system,
            folder: Path::new("/run"),
            cwd: Path::new("/code"),
            isolate: self.isolate,
            env: &self.env,
            prompt_by: PromptBy::Stdin,
            program: Path::new("/bin/callsheet"),
            script: None,
            sandboxed: self.sandboxed,
        };
        adapter::find(&self.sheet.name).unwrap().plan(&order)
    }

    fn shown(&self) -> String {
        match self.plan() {
            Ok(plan) => shown(&plan),
            Err(error) => format!("error: {error}\n"),
        }
    }
}

fn shown(plan: &Plan) -> String {
    let mut out = format!("$ {}\n", plan.argv.join(" "));
    for (name, value) in &plan.env {
        out.push_str(&format!("{name}={value}\n"));
    }
    for (path, text) in &plan.files {
        out.push_str(&format!("--- {}\n{text}", path.display()));
    }
    for note in &plan.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    assert!(plan.prompt_on_stdin, "prompts travel on stdin");
    out
}

/// Returns the plans of an adapter, one choice after the other.
fn table(name: &str) -> String {
    let mut out = String::new();
    let mut add = |title: &str, case: &Case<'_>| {
        out.push_str(&format!("# {title}\n{}\n", case.shown()));
    };
    for permissions in [Permissions::Read, Permissions::Edit, Permissions::Full] {
        let mut case = Case::of(name);
        case.permissions = permissions;
        add(permissions.as_str(), &case);
    }
    let mut case = Case::of(name);
    case.isolate = false;
    add("the user's own state", &case);
    case.system = Some("Be brief.\n");
    add("the user's own state, system text", &case);
    case.isolate = true;
    add("system text", &case);
    let mut case = Case::of(name);
    case.model = Some("-x{state}");
    case.allow = vec!["Bash".to_owned(), "{cwd}".to_owned()];
    case.deny = vec!["WebFetch".to_owned()];
    add("model and lists", &case);
    out
}

#[test]
fn claude() {
    insta::assert_snapshot!(table("claude"));
}

#[test]
fn codex() {
    insta::assert_snapshot!(table("codex"));
}

#[test]
fn gemini() {
    insta::assert_snapshot!(table("gemini"));
}

#[test]
fn opencode() {
    insta::assert_snapshot!(table("opencode"));
}

#[test]
fn the_profile_document_keeps_the_flag_of_the_document() {
    let mut case = Case::new("claude", "", Some("document"));
    case.system = Some("Be brief.\n");
    insta::assert_snapshot!(case.shown(), @r"
    $ claude -p --output-format stream-json --verbose --permission-mode acceptEdits --prompt-system-append /run/system
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
    CLAUDE_CONFIG_DIR=/run/state
    DISABLE_AUTOUPDATER=1
    DISABLE_ERROR_REPORTING=1
    DISABLE_TELEMETRY=1
    ");
}

#[test]
fn an_unknown_profile_is_refused() {
    let sheet = adapter::sheet("claude").unwrap();
    let error = Sheet::parse(sheet, None, Some("paper")).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @"no adapter profile `paper`");
}

#[test]
fn a_project_changes_arguments_variables_and_settings() {
    let changes = r#"
        arguments = ["exec", '{"a": {cwd}}', "{", "}{state}{"]
        [env]
        RUST_LOG = "warn"
        [settings.all]
        model_provider = "mock"
        [settings.all.model_providers.mock]
        base_url = "http://127.0.0.1:1/v1"
    "#;
    insta::assert_snapshot!(Case::new("codex", changes, None).shown(), @r#"
    $ codex exec {"a": /code} { }/run/state{ -s workspace-write -
    CODEX_HOME=/run/state
    RUST_LOG=warn
    --- /run/state/config.toml
    model_provider = "mock"

    [model_providers.mock]
    base_url = "http://127.0.0.1:1/v1"
    "#);
}

#[test]
fn a_variable_of_the_runner_stands_over_one_of_the_sheet_but_not_over_isolation() {
    let mut case = Case::of("gemini");
    for name in [
        "GEMINI_CLI_TRUST_WORKSPACE",
        "GEMINI_CLI_HOME",
        "GEMINI_API_KEY",
    ] {
        case.env.insert(name.to_owned(), "mine".to_owned());
    }
    let env = case.plan().unwrap().env;
    let env: Vec<String> = env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        env,
        ["GEMINI_CLI_HOME=/run/state", "GEMINI_CLI_NO_RELAUNCH=true"]
    );
}

#[test]
fn a_prompt_that_gemini_takes_for_something_else_is_refused_or_noted() {
    let mut case = Case::of("gemini");
    case.prompt = "/memory show";
    case.isolate = false;
    insta::assert_snapshot!(case.shown(), @"error: the prompt begins with `/`, which Gemini CLI takes for a command");
    case.prompt = "look at @a.md";
    insta::assert_snapshot!(case.shown(), @r"
    $ gemini --output-format stream-json --approval-mode auto_edit
    GEMINI_CLI_NO_RELAUNCH=true
    GEMINI_CLI_TRUST_WORKSPACE=true
    note: the prompt has an `@`, which Gemini CLI may take for the name of a file: it may not arrive as it is
    ");
}

#[test]
fn texts_are_never_arguments_or_variables() {
    let text = "a secret text with 'quotes', \"more\" and\r\nlines\u{7f}";
    for name in ["claude", "codex", "gemini", "opencode"] {
        let mut case = Case::of(name);
        case.system = Some(text);
        let plan = case.plan().unwrap();
        assert!(
            plan.argv
                .iter()
                .all(|argument| !argument.contains("secret"))
        );
        assert!(plan.env.values().all(|value| !value.contains("secret")));
        assert!(plan.files.keys().all(|path| path.starts_with("/run/state")));
    }
}

#[test]
fn the_sandbox_changes_what_a_cli_would_refuse_there() {
    let plans = |sandboxed: bool| {
        let mut lines = String::new();
        for name in ["claude", "codex", "gemini", "opencode"] {
            for permissions in [Permissions::Read, Permissions::Edit, Permissions::Full] {
                let mut case = Case::of(name);
                (case.permissions, case.sandboxed, case.isolate) = (permissions, sandboxed, false);
                lines.push_str(&case.shown());
            }
        }
        lines
    };
    let (outside, inside) = (plans(false), plans(true));
    let new = |text: &str, other: &str| {
        let lines = text.lines().filter(|line| !other.contains(line));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(new(&inside, &outside), @"
    IS_SANDBOX=1
    IS_SANDBOX=1
    IS_SANDBOX=1
    ");
    insta::assert_snapshot!(new(&outside, &inside), @"
    $ codex exec --json --skip-git-repo-check -C /code -c analytics.enabled=false --disable plugins -s read-only -
    $ codex exec --json --skip-git-repo-check -C /code -c analytics.enabled=false --disable plugins -s workspace-write -
    ");
    let mut case = Case::of("claude");
    case.sandboxed = true;
    case.env = [("IS_SANDBOX".to_owned(), "0".to_owned())].into();
    assert_eq!(case.plan().unwrap().env.get("IS_SANDBOX"), None);
}
