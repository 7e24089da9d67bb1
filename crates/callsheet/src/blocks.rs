//! The three blocks of messages that programs read back: `RUN_DIRECTIVE`, `NODE_BRIEF` and `USER_INPUT`.
//!
//! A marker counts only as the first line of a whole message. Values are single lines, so none can add one; where a
//! value could be taken for the end of itself it is quoted. Templates print the blocks; nothing here does.

use serde::Serialize;

use crate::mounts::is_final;

/// What a turn of a run is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDirective {
    /// Whether the run begins, goes on, or was opened again.
    pub intent: String,
    /// The id of the workflow, or its file in the package.
    pub workflow: String,
    /// The graph of the workflow, with its mount.
    pub graph: String,
    /// The node that is worked on; none after the workflow has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_node_id: Option<String>,
    /// The agent of the turn.
    pub effective_agent_id: String,
    /// Whether the agent goes on by itself.
    pub autopilot: bool,
}

impl RunDirective {
    /// Reads the block of a message; nothing if the message is another.
    pub fn parse(message: &str) -> Option<Self> {
        let mut lines = BlockLines::of(message, "RUN_DIRECTIVE")?;
        lines
            .value("runType")
            .filter(|kind| *kind == "bmad-micro")?;
        let intent = lines.value("intent")?.to_owned();
        let workflow = lines.value("workflow")?.to_owned();
        lines.value("state")?;
        let graph = lines.value("graph")?.to_owned();
        lines.value("artifactsRoot")?;
        Some(Self {
            intent,
            workflow,
            graph,
            current_node_id: lines.value("currentNodeId").map(str::to_owned),
            effective_agent_id: lines.value("effectiveAgentId")?.to_owned(),
            autopilot: lines.value("autopilot")? == "true",
        })
    }
}

/// A file of a node: how the node names it, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NodeFile {
    /// The name that the node uses.
    pub name: String,
    /// The path with its mount.
    pub path: String,
}

impl NodeFile {
    /// Makes the file of a safe name: one that is no mount is below the project.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let path = if is_final(&name) {
            name.clone()
        } else {
            format!("@project/{name}")
        };
        Self { name, path }
    }

    fn parse(line: &str) -> Option<Self> {
        line.match_indices(" -> ")
            .map(|(at, arrow)| (Self::new(&line[..at]), &line[at + arrow.len()..]))
            .find_map(|(file, path)| (file.path == path).then_some(file))
    }
}

/// A way from a node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// The next node.
    pub to: String,
    /// What the way is called.
    pub label: String,
    /// Whether it is taken when no condition decides.
    pub is_default: bool,
    /// When to take it, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition_text: Option<String>,
}

const DEFAULT: &str = ", default=true";
const CONDITION: &str = ", conditionText=\"";

impl Transition {
    fn parse(line: &str) -> Option<Self> {
        let (to, rest) = line.strip_suffix(')')?.split_once(" (label=")?;
        let (label, rest) = match rest.strip_prefix('"') {
            Some(_) => json_text(rest)?,
            None => {
                let ends = [DEFAULT, CONDITION].into_iter();
                let end = ends.filter_map(|end| rest.find(end)).min();
                let (label, rest) = rest.split_at(end.unwrap_or(rest.len()));
                (label.to_owned(), rest)
            }
        };
        let (is_default, rest) = match rest.strip_prefix(DEFAULT) {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let condition_text = match rest {
            "" => None,
            rest => Some(unquoted(rest.strip_prefix(CONDITION)?.strip_suffix('"')?)),
        };
        Some(Self {
            to: to.to_owned(),
            label,
            is_default,
            condition_text,
        })
    }
}

/// Takes the backslash before every double quote away.
fn unquoted(text: &str) -> String {
    text.replace("\\\"", "\"")
}

/// Reads the JSON string that begins a text; returns it with what follows.
fn json_text(text: &str) -> Option<(String, &str)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let read = stream.next()?.ok()?;
    Some((read, &text[stream.byte_offset()..]))
}

/// A node of a workflow: its files, and where it may lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeBrief {
    /// The node.
    pub node_id: String,
    /// What kind of node it is.
    pub node_type: String,
    /// Its step file, with its mount.
    pub step_file: String,
    /// The files that it reads.
    pub inputs: Vec<NodeFile>,
    /// The files that it makes.
    pub outputs: Vec<NodeFile>,
    /// The rules that its results have to pass.
    pub validation: Vec<String>,
    /// Where it may lead, in the order of the graph.
    pub transitions: Vec<Transition>,
}

impl NodeBrief {
    /// Reads the block of a message; nothing if the message is another.
    pub fn parse(message: &str) -> Option<Self> {
        let mut lines = BlockLines::of(message, "NODE_BRIEF")?;
        let node = lines.value("currentNodeId")?.strip_suffix(')')?;
        let (node_id, node_type) = node.rsplit_once(" (type=")?;
        let step_file = lines.value("stepFile")?.to_owned();
        let files = |items: Vec<&str>| items.into_iter().map(NodeFile::parse).collect();
        let inputs: Option<Vec<NodeFile>> = files(lines.list("inputs").unwrap_or_default());
        let outputs: Option<Vec<NodeFile>> = files(lines.list("outputsMap")?);
        let validation = lines.list("validation").unwrap_or_default();
        let next = lines.list("allowedNext")?;
        let transitions: Option<Vec<Transition>> = match next.as_slice() {
            ["(none)"] => Some(Vec::new()),
            next => next.iter().map(|line| Transition::parse(line)).collect(),
        };
        Some(Self {
            node_id: node_id.to_owned(),
            node_type: node_type.to_owned(),
            step_file,
            inputs: inputs?,
            outputs: outputs?,
            validation: validation.into_iter().map(str::to_owned).collect(),
            transitions: transitions?,
        })
    }
}

/// What a user wrote, untouched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInput {
    /// The node that it is for; only while a workflow is going on.
    pub for_node_id: Option<String>,
    /// The text.
    pub text: String,
}

impl UserInput {
    /// Reads the block of a message; nothing if the message is another.
    pub fn parse(message: &str) -> Option<Self> {
        let body = message.strip_prefix("USER_INPUT\n")?;
        if let Some(rest) = body.strip_prefix("- forNodeId: ") {
            let (node, text) = rest.split_once('\n')?;
            return Some(Self {
                for_node_id: Some(node.to_owned()),
                text: text.to_owned(),
            });
        }
        let text = match body.strip_prefix('\n') {
            Some(text) if looks_like_header(text) => text,
            _ => body,
        };
        Some(Self {
            for_node_id: None,
            text: text.to_owned(),
        })
    }
}

/// Empty lines before it count too, so that the one that a template puts there can be told from those of the text.
fn looks_like_header(text: &str) -> bool {
    text.trim_start_matches('\n').starts_with("- ")
}

/// The lines of a block, read in their fixed order.
struct BlockLines<'a> {
    lines: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> BlockLines<'a> {
    fn of(message: &'a str, marker: &str) -> Option<Self> {
        let mut lines = message.split('\n').peekable();
        (lines.next()? == marker).then_some(Self { lines })
    }

    /// Returns the value of the next line if it has this key.
    fn value(&mut self, key: &str) -> Option<&'a str> {
        let line = self.lines.peek()?;
        let value = line
            .strip_prefix("- ")?
            .strip_prefix(key)?
            .strip_prefix(": ")?;
        self.lines.next();
        Some(value)
    }

    /// Returns the items below the next line if it has this key.
    fn list(&mut self, key: &str) -> Option<Vec<&'a str>> {
        let line = self.lines.peek()?;
        line.strip_prefix("- ")?
            .strip_suffix(':')
            .filter(|name| *name == key)?;
        self.lines.next();
        let mut items = Vec::new();
        while let Some(item) = self.lines.peek().and_then(|line| line.strip_prefix("  - ")) {
            items.push(item);
            self.lines.next();
        }
        Some(items)
    }
}
