//! What of the user comes along: everything in the user's own state, nothing in a state of the run's own, and the record of it.

use serde_json::{Value, json};

use crate::cli::Cli;
use crate::desk::{Desk, Ran};
use crate::model::{ModelServer, Scenario};
use crate::runner::{settings, written};

every_cli!(with_a_key, without_isolation);

/// What the user's own instructions say; a model that is told it has got them.
const OWN: &str = "Words of the user, for every project.";

/// Returns the files of a user who has instructions, hooks and an MCP server.
pub(crate) fn files(cli: Cli) -> Vec<(&'static str, String)> {
    // The server is one that ends at once, so that no CLI waits for it.
    let servers = json!({"files": {"command": "true"}});
    match cli {
        Cli::Claude => vec![
            (".claude/CLAUDE.md", OWN.to_owned()),
            (
                ".claude/settings.json",
                json!({"hooks": {"Stop": []}}).to_string(),
            ),
            (".claude.json", json!({"mcpServers": servers}).to_string()),
        ],
        Cli::Codex => vec![
            (".codex/AGENTS.md", OWN.to_owned()),
            (
                ".codex/hooks.json",
                json!({"hooks": {"Stop": []}}).to_string(),
            ),
            (
                ".codex/config.toml",
                "[mcp_servers.files]\ncommand = \"true\"\n".to_owned(),
            ),
        ],
        Cli::Gemini => {
            let settings = json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": false},
                "general": {"enableAutoUpdate": false},
                "hooks": {"AfterTool": []},
                "mcpServers": servers,
            });
            vec![
                (".gemini/GEMINI.md", OWN.to_owned()),
                (".gemini/settings.json", settings.to_string()),
            ]
        }
        Cli::Opencode => {
            let server = json!({"type": "local", "command": ["true"], "enabled": false});
            vec![
                (".config/opencode/AGENTS.md", OWN.to_owned()),
                // It has room for the instructions of another CLI.
                (".claude/CLAUDE.md", OWN.to_owned()),
                (
                    ".config/opencode/opencode.json",
                    json!({"mcp": {"files": server}}).to_string(),
                ),
            ]
        }
    }
}

/// Hands a short prompt over, and tells whether the model got the instructions of the user.
fn run(cli: Cli, isolate: Value) -> Option<(Desk, Ran, bool)> {
    let program = cli.program()?;
    let server = ModelServer::start();
    let model = server.model(Scenario::Text);
    let mut settings = settings(cli, &program, &model);
    settings["runners"][cli.name()]["isolate"] = isolate;
    let desk = Desk::new(&written(&settings));
    for (name, text) in files(cli) {
        desk.file_of_user(name, &text);
    }
    desk.file("AGENTS.md", "Words of the project.\n");
    let ran = desk.exec();
    assert_eq!(ran.run["status"], "completed", "{}", ran.shown());
    let is_heard = model.texts().iter().any(|text| text.contains(OWN));
    Some((desk, ran, is_heard))
}

fn with_a_key(cli: Cli) {
    let Some((desk, ran, is_heard)) = run(cli, json!("auto")) else {
        return;
    };
    assert_eq!(ran.run["isolated"], true, "{}", ran.shown());
    assert!(!is_heard, "instructions of the user came along");
    let ambient = &ran.run["ambient"];
    let project: &[&str] = match cli {
        Cli::Codex | Cli::Opencode => &["AGENTS.md"],
        _ => &[],
    };
    assert_eq!(ambient["instructions"], json!(project));
    assert_eq!(ambient["hooks"], json!([]));
    assert_eq!(ambient["mcp_servers"], json!([]));
    let names: Vec<_> = desk.files_of_user().into_values().flatten().collect();
    let mut before: Vec<_> = files(cli).into_iter().map(|file| file.1).collect();
    before.sort();
    let mut after = names;
    after.sort();
    assert_eq!(after, before, "the home is not what it was");
}

fn without_isolation(cli: Cli) {
    let Some((_, ran, is_heard)) = run(cli, json!(false)) else {
        return;
    };
    assert_eq!(ran.run["isolated"], false, "{}", ran.shown());
    assert!(is_heard, "the home of the user was not used");
    let (instructions, hooks) = match cli {
        Cli::Claude => (json!(["~/.claude/CLAUDE.md"]), json!(["Stop"])),
        Cli::Codex => (json!(["~/.codex/AGENTS.md", "AGENTS.md"]), json!(["Stop"])),
        Cli::Gemini => (json!(["~/.gemini/GEMINI.md"]), json!(["AfterTool"])),
        Cli::Opencode => (
            json!(["~/.config/opencode/AGENTS.md", "AGENTS.md"]),
            json!([]),
        ),
    };
    let ambient = &ran.run["ambient"];
    assert_eq!(ambient["instructions"], instructions);
    assert_eq!(ambient["hooks"], hooks);
    assert_eq!(ambient["mcp_servers"], json!(["files"]));
}
