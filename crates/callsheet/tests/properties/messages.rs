//! What holds for every list of messages: structure cannot be forged, and no real folder is ever seen.

use callsheet::blocks::{NodeBrief, NodeFile, RunDirective, Transition, UserInput};
use callsheet::mounts::{Mount, Mounts};
use callsheet::recipe::built_in;
use callsheet::{Error, ErrorKind, Inputs, Message, Options, Role, compose};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cases;

/// Texts with markers, header lines, separators and any characters at all.
fn plain() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => any::<String>(),
        3 => "[a-z ,=()\"\\\\-]{0,8}",
        1 => prop::sample::select(vec![
            "\n", "\r\n", "\n- autopilot: false", "RUN_DIRECTIVE\n", "USER_INPUT", "- forNodeId: x\n", "\n\n- ",
            ", default=true", ", conditionText=\"", "\")", " -> ", " (label=", "\u{2028}", "\u{85}", "{{userInput}}",
            "@pkg/", "./", "{project-root}", "(none)", "[redacted]", "- ", "/api/users", "https://x.y/home/z",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

/// The same with the folder of the project here and there.
fn nasty() -> impl Strategy<Value = String> {
    let shop = prop::sample::select(vec![
        "/srv/shop",
        "/srv/shop/a b",
        "\\srv\\shop",
        "%2Fsrv%2Fshop",
        " /srv/shop/x\n",
    ]);
    (plain(), prop::option::weighted(0.3, shop), plain())
        .prop_map(|(before, shop, after)| format!("{before}{}{after}", shop.unwrap_or_default()))
}

/// Paths of files: relative, below the project, and by its mount.
fn file() -> impl Strategy<Value = String> {
    let folder = prop::sample::select(vec![
        "f",
        "./f",
        "{project-root}/",
        "{artifacts-root}/",
        "/srv/shop/",
        "@pkg/",
        "%2Fsrv%2Fshop/",
    ]);
    (folder, plain()).prop_map(|(folder, name)| format!("{folder}{name}"))
}

fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9._:-]{0,6}"
}

fn any_edge() -> impl Strategy<Value = Value> {
    (id(), nasty(), any::<bool>(), prop::option::of(nasty())).prop_map(
        |(to, label, default, condition)| {
            let label = format!("l{label}");
            json!({"to": to, "label": label, "isDefault": default, "conditionText": condition})
        },
    )
}

fn any_run() -> impl Strategy<Value = Value> {
    let edges = prop::collection::vec(any_edge(), 0..3);
    let files = || prop::collection::vec(file(), 0..3);
    let rules = prop::collection::vec(nasty(), 0..3);
    let node = (
        id(),
        "s[a-z .é-]{0,8}(/[a-z]{1,5})?",
        files(),
        files(),
        rules,
        edges,
    );
    (node, nasty(), nasty(), prop::sample::select(vec!["start", "continue", "resume"]), any::<bool>()).prop_map(
        |((id, step, inputs, outputs, rules, edges), workflow, identity, intent, autopilot)| {
            json!({
                "mode": "run", "projectRoot": "/srv/shop", "intent": intent, "autopilot": autopilot, "runId": "run-7f",
                "workflowRef": {"type": "workflowId", "value": format!("w{workflow}")},
                "graphRelPath": "workflow.graph.json", "activeAgentId": "ann",
                "agentDefinition": {"id": "ann", "persona": {"identity": identity, "principles": [identity]}},
                "nodeBrief": {
                    "nodeId": id, "nodeType": "step", "stepFilePathInPkg": step, "inputs": inputs,
                    "outputs": outputs, "validation": rules, "transitions": edges,
                },
            })
        },
    )
}

fn messages(input: &Value) -> Result<Vec<Message>, Error> {
    let recipe = built_in("messages").unwrap()?;
    let composition = compose(recipe, input, &Inputs::nowhere(), &Options::default())?;
    let messages = composition.messages();
    assert_eq!(serde_json::to_string(&messages).unwrap(), composition.text);
    Ok(messages)
}

/// Composes; nothing if the input holds a real path, which random texts do now and then.
fn composed(input: &Value) -> Option<Vec<Message>> {
    let composed = messages(input);
    if let Err(error) = &composed {
        assert_eq!(error.kind(), ErrorKind::BadInput, "{error}");
        assert!(error.to_string().contains(" path "), "{error}");
    }
    composed.ok()
}

fn shop() -> Mounts {
    Mounts::new().with(Mount::Project, "/srv/shop")
}

/// The rule for a path, written down a second time.
fn safe_path(path: &str) -> String {
    let path = path
        .replace("{project-root}", "@project")
        .replace("{artifacts-root}", "@project/artifacts")
        .replace("{package-root}", "@pkg")
        .replace("{state-root}", "@state");
    let safe = shop().value(&path).unwrap();
    safe.strip_prefix("./").unwrap_or(&safe).to_owned()
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

fn expected_brief(node: &Value) -> NodeBrief {
    let text = |key: &str| node[key].as_str().unwrap();
    let files = |key: &str| {
        texts(&node[key])
            .into_iter()
            .map(|name| NodeFile::new(safe_path(name)))
            .collect()
    };
    let transition = |edge: &Value| Transition {
        to: edge["to"].as_str().unwrap().to_owned(),
        label: shop().value(edge["label"].as_str().unwrap()).unwrap(),
        is_default: edge["isDefault"].as_bool().unwrap(),
        condition_text: edge["conditionText"]
            .as_str()
            .filter(|text| !text.is_empty())
            .map(|text| shop().value(text).unwrap()),
    };
    NodeBrief {
        node_id: text("nodeId").to_owned(),
        node_type: "step".to_owned(),
        step_file: format!("@pkg/{}", text("stepFilePathInPkg")),
        inputs: files("inputs"),
        outputs: files("outputs"),
        validation: texts(&node["validation"])
            .into_iter()
            .map(|rule| shop().value(rule).unwrap())
            .collect(),
        transitions: node["transitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(transition)
            .collect(),
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn blocks_read_back_as_what_was_put_in(input in any_run(), user in nasty()) {
        let mut input = input;
        input["userInput"] = json!(user);
        let messages = composed(&input);
        prop_assume!(messages.is_some());
        let messages = messages.unwrap();
        let workflow = input["workflowRef"]["value"].as_str().unwrap();
        let directive = RunDirective::parse(&messages[3].content).unwrap();
        prop_assert_eq!(directive, RunDirective {
            intent: input["intent"].as_str().unwrap().to_owned(),
            workflow: shop().value(workflow).unwrap(),
            graph: "@pkg/workflow.graph.json".to_owned(),
            current_node_id: input["nodeBrief"]["nodeId"].as_str().map(str::to_owned),
            effective_agent_id: "ann".to_owned(),
            autopilot: input["autopilot"].as_bool().unwrap(),
        });
        let brief = NodeBrief::parse(&messages[4].content).unwrap();
        prop_assert_eq!(&brief, &expected_brief(&input["nodeBrief"]));
        // A value cannot add a line.
        let lines = 5
            + usize::from(!brief.inputs.is_empty()) + brief.inputs.len() + brief.outputs.len()
            + usize::from(!brief.validation.is_empty()) + brief.validation.len()
            + brief.transitions.len().max(1);
        prop_assert_eq!(messages[4].content.split('\n').count(), lines);
        match messages.get(5) {
            Some(message) => {
                let read = UserInput::parse(&message.content).unwrap();
                prop_assert_eq!(read.text, shop().mounted(&user).unwrap());
                prop_assert_eq!(read.for_node_id, Some(brief.node_id));
            }
            None => prop_assert!(callsheet::text::strip(&user).is_empty()),
        }
        prop_assert!(messages.iter().all(|message| !message.content.contains("run-7f")));
    }

    #[test]
    fn user_text_reads_back_untouched_in_every_mode(user in plain(), chat in any::<bool>()) {
        let mode = if chat { "chat" } else { "agent" };
        let input = json!({"mode": mode, "agentDefinition": {"systemPrompt": "P"}, "userInput": user});
        let messages = composed(&input);
        prop_assume!(messages.is_some());
        let messages = messages.unwrap();
        match messages.get(if chat { 2 } else { 3 }) {
            Some(message) => {
                let read = UserInput::parse(&message.content).unwrap();
                prop_assert_eq!(read, UserInput { for_node_id: None, text: user });
            }
            None => prop_assert!(callsheet::text::strip(&user).is_empty()),
        }
    }

    #[test]
    fn order_and_count_depend_on_mode_completion_and_blankness_alone(
        input in any_run(), mode in 0..4_usize, user in nasty(),
    ) {
        let mut input = input;
        let (name, counts) = [("run", (3, 2)), ("run", (3, 1)), ("agent", (3, 0)), ("chat", (2, 0))][mode];
        input["mode"] = json!(name);
        input["workflowCompleted"] = json!(mode == 1);
        input["userInput"] = json!(user);
        let with = composed(&input);
        prop_assume!(with.is_some());
        let with = with.unwrap();
        let blank = callsheet::text::strip(&user).is_empty();
        let roles: Vec<Role> = with.iter().map(|message| message.role).collect();
        let mut expected = vec![Role::System; counts.0];
        expected.extend(vec![Role::User; counts.1 + usize::from(!blank)]);
        prop_assert_eq!(roles, expected);
        // Adding user input changes nothing before it, and composing twice is equal.
        input.as_object_mut().unwrap().remove("userInput");
        let without = messages(&input).unwrap();
        prop_assert_eq!(&with[..without.len()], without.as_slice());
        prop_assert_eq!(messages(&input).unwrap(), without);
        let markers: Vec<&str> = with[counts.0..].iter().map(|m| m.content.split('\n').next().unwrap()).collect();
        let all: &[&str] = match mode {
            0 => &["RUN_DIRECTIVE", "NODE_BRIEF", "USER_INPUT"],
            1 => &["RUN_DIRECTIVE", "USER_INPUT"],
            _ => &["USER_INPUT"],
        };
        prop_assert_eq!(markers, &all[..all.len() - usize::from(blank)]);
    }

    #[test]
    fn the_first_three_messages_are_the_same_for_every_turn_of_an_agent(one in any_run(), other in any_run()) {
        let mut other = other;
        other["agentDefinition"] = one["agentDefinition"].clone();
        other["workflowCompleted"] = json!(true);
        other["userInput"] = json!("hello");
        let both = composed(&one).zip(composed(&other));
        prop_assume!(both.is_some());
        let (one, other) = both.unwrap();
        prop_assert_eq!(&one[..3], &other[..3]);
    }

    #[test]
    fn one_system_message_holds_them_all(input in any_run()) {
        let mut input = input;
        let apart = composed(&input);
        prop_assume!(apart.is_some());
        let apart = apart.unwrap();
        input["single_system"] = json!(true);
        let joined = messages(&input).unwrap();
        let system: Vec<&str> = apart[..3].iter().map(|message| message.content.as_str()).collect();
        prop_assert_eq!(&joined[0].content, &system.join("\n\n---\n\n"));
        prop_assert_eq!(&joined[1..], &apart[3..]);
    }

    #[test]
    fn no_root_is_in_any_message(
        root in "(/[a-zA-Zé0-9 .'\"_%+-]{1,6}){2,4}", home in "(/[a-z]{1,5}){2}", value in plain(), tail in "(/[a-z]{0,3})?",
        hidden in any::<bool>(),
    ) {
        let root = root.trim_end();
        let home = if hidden { home.as_str() } else { "" };
        let held = format!("{value} {root}{tail} {home}{tail} {}", root.replace('/', "\\"));
        let file = format!("{root}/x");
        let input = json!({
            "mode": "run", "projectRoot": root, "homeDir": home, "intent": "start", "graphRelPath": "g.json",
            "workflowRef": {"type": "workflowId", "value": format!("{held}#")}, "activeAgentId": "ann",
            "agentDefinition": {"persona": {"identity": held}, "metadata": {"name": held}, "userPromptTemplate": "{{variables.v}}: {{userInput}}"},
            "stateSummary": {"variables": {"v": {"deep": held}}},
            "dataContext": {"label": held, "path": file, "preview": format!("{held}\n{held}")},
            "nodeBrief": {
                "nodeId": "n", "nodeType": "step", "stepFilePathInPkg": "s.md", "inputs": [file], "outputs": [file],
                "validation": [held], "transitions": [{"to": "m", "label": held, "conditionText": held}],
            },
            "userInput": held,
        });
        let mounts = Mounts::new().with(Mount::Project, root).with_hidden("home", home);
        match messages(&input) {
            Ok(messages) => for message in messages {
                prop_assert_eq!(mounts.leak(&message.content), None, "{}", message.content);
                let slashed = format!("{root}/");
                prop_assert!(!message.content.contains(&slashed), "{}", message.content);
            },
            Err(error) => prop_assert!(!error.to_string().contains(root), "{error}"),
        }
        if hidden {
            prop_assert!(messages(&input).is_err());
        }
    }
}
