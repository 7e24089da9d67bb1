//! Orders and what only looks like one, by table.

use serde_json::json;

use super::*;
use crate::recipe::Folder;
use crate::{Inputs, Options, compose};

fn tools(text: &str) -> Vec<String> {
    let denied = ["fs.*", "bash", "mcp__*__search"].map(str::to_owned);
    let found = mentions(text, &denied).into_iter();
    found.map(|mention| mention.tool).collect()
}

#[test]
fn an_order_is_found() {
    for (text, expected) in [
        ("Use fs.read.", &["fs.read"][..]),
        ("use `fs.read` first", &["fs.read"]),
        ("Please call the `fs.write` tool to save.", &["fs.write"]),
        ("Run bash.", &["bash"]),
        ("Search with mcp__github__search!", &["mcp__github__search"]),
        ("Edit files via `fs.apply_patch`.", &["fs.apply_patch"]),
        ("Read it using fs.read(path).", &["fs.read"]),
        ("Use `fs.read` and `fs.write`.", &["fs.read", "fs.write"]),
        ("Use git, bash or make.", &["bash"]),
        ("Never guess. Use `fs.read`.", &["fs.read"]),
        ("Never guess; use `fs.read`.", &["fs.read"]),
        ("Do not use zsh, use bash.", &["bash"]),
        ("Use bash, not zsh.", &["bash"]),
        ("You must not use zsh; use bash instead.", &["bash"]),
        ("You must not use `fs.read`; use `bash` instead.", &["bash"]),
        ("Do not use fs.read, use bash instead.", &["bash"]),
        ("Never use fs.read: use bash instead.", &["bash"]),
        ("Never use fs.read — use bash instead!", &["bash"]),
        ("Never use fs.read - use bash instead!", &["bash"]),
        ("Never use fs.read (use bash instead).", &["bash"]),
        ("Do not use fs.read but use bash instead.", &["bash"]),
        ("Do not use fs.read. Instead, use bash.", &["bash"]),
        ("Do not use fs.read, instead use bash.", &["bash"]),
        ("Don't call fs.read; rather call bash.", &["bash"]),
        ("Use bash instead of fs.read.", &["bash"]),
        ("Use bash rather than fs.read.", &["bash"]),
        ("Instead of fs.read, use bash.", &["bash"]),
        ("Use bash without asking.", &["bash"]),
        ("Use bash except on Windows.", &["bash"]),
        ("When a test fails, run bash.", &["bash"]),
        ("Do not push\n\nUse bash", &["bash"]),
        ("- never push\n- use bash", &["bash"]),
        ("You may use\n`bash`", &["bash"]),
        ("**Use** **`bash`**", &["bash"]),
        ("`fs.read` the file.", &["fs.read"]),
        (
            "First `fs.read` the file, then `fs.write` it.",
            &["fs.read", "fs.write"],
        ),
    ] {
        assert_eq!(tools(text), expected, "{text}");
    }
}

#[test]
fn what_is_no_order_is_left_alone() {
    for text in [
        "Never use fs.read.",
        "Do not use `bash`.",
        "Don't run bash.",
        "You don’t call fs.write.",
        "You must not call or run `bash`.",
        "Never use fs.read, fs.write or bash.",
        "Avoid using bash.",
        "Use no bash.",
        "Use make instead of bash.",
        "Use make rather than bash.",
        "Use anything except bash.",
        "If you use bash, say so.",
        "Do not use bash instead.",
        "Instead of using bash, ask.",
        "Do not use make but ask before you do not use bash.",
        "Use bash (not allowed).",
        "Rather than run bash, ask.",
        "Using bash is not allowed.",
        "Use of bash is forbidden.",
        "- fs: disabled",
        "`fs.read` reads a file.",
        "fs.read the file.",
        "What `fs.read` the file means.",
        "Do not first `fs.read` the file.",
        "`fs.read` it is not.",
        "fs.read",
        "Use bashful words.",
        "Use fs to mean file system.",
        "Use offs.read.",
        "Use mcp__search.",
        "Never\nuse bash.",
        "",
    ] {
        assert_eq!(tools(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, name, fits) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("*", "anything", true),
        ("fs.*", "fs.read", true),
        ("fs.*", "fs", false),
        ("*.read", "fs.read", true),
        ("a*b*c", "aXbYc", true),
        ("a*b*c", "abc", true),
        ("a*b*c", "acb", false),
        ("a*a", "a", false),
        ("*é*", "café.x", true),
    ] {
        assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
    }
}

#[test]
fn a_mention_has_its_place_and_sentence() {
    let text = "One.\n\n  Then use\n  `bash`, twice: `bash`. End.";
    let found = mentions(text, &["bash".to_owned()]);
    let [only] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(&text[only.start..only.end], "bash");
    assert_eq!(only.line, 4);
    assert_eq!(only.sentence, "Then use `bash`, twice: `bash");
    assert!(mentions(text, &[]).is_empty());
}

#[test]
fn a_policy_denies_by_list_or_by_group() {
    let recipe = |denies: &str| {
        let toml =
            format!("{denies}\n[[layers]]\nname = 'a'\ntext = \"Use fs.read.\\nUse bash.\"\n");
        let folder = Folder::from([("recipe.toml".to_owned(), toml)]);
        Recipe::parse("mine", "recipes/mine", folder).unwrap()
    };
    for (denies, input, expected) in [
        (
            "denies = 'tools.off'",
            json!({"tools": {"off": ["bash", "x"]}}),
            &["bash"][..],
        ),
        ("denies = 'off'", json!({"off": "fs.*"}), &["fs.read"]),
        (
            "denies = 'off'",
            json!({"off": {"fs": {"enabled": false}, "bash": false}}),
            &["fs.read", "bash"],
        ),
        ("denies = 'off'", json!({}), &[]),
        (
            "",
            json!({"toolPolicy": {"fs": {"enabled": false}, "mcp": {"enabled": true}}}),
            &["fs.read"],
        ),
        (
            "",
            json!({"toolPolicy": {"fs": {"enabled": true}}, "agentDefinition": {"tools": {"fs": {"enabled": false}}}}),
            &["fs.read"],
        ),
        ("", json!({"denied_tools": ["bash"]}), &["bash"]),
        ("", json!({"agentDefinition": {"tools": ["bash"]}}), &[]),
        ("", json!({}), &[]),
    ] {
        let composed = compose(
            &recipe(denies),
            &input,
            &Inputs::nowhere(),
            &Options::default(),
        );
        let found = coherence(&composed.unwrap());
        let tools: Vec<&str> = found.iter().map(|one| one.mention.tool.as_str()).collect();
        assert_eq!(tools, expected, "{denies} {input}");
        for finding in found {
            assert_eq!(
                (finding.layer.as_str(), finding.source.as_str()),
                ("a", "recipe:mine/a")
            );
            assert_eq!(finding.source_line, Some(finding.mention.line));
        }
    }
}
