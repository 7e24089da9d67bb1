//! The lines that recipe files are made of, right ones and wrong ones.

use super::draw::Draw;

/// Keys of the recipe itself. Of every group at most one line is taken, and rarely the last one.
const TOP: &[&[&str]] = &[
    &["shape = \"system\"", "shape = \"text\"", "shape = \"cube\""],
    &["prepare = []", "prepare = [\"stories\"]"],
    &[
        "separator = \"\"",
        "separator = \"\\n--\\n\"",
        "separator = 1",
    ],
    &[
        "missing = \"keep\"",
        "missing = \"empty\"",
        "missing = \"error\"",
    ],
    &[
        "frame = \"xml\"",
        "frame = \"mine\"",
        "frame = \"{{who}}\"",
        "frame = \"nope\"",
    ],
    &[
        "unique = \"true\"",
        "unique = \"who == 'xml'\"",
        "unique = \"who ==\"",
    ],
    &[
        "marker = \"[cut {{path}} {{first}} {{last}}]\"",
        "marker = \"\"",
    ],
    &["schema = \"input.schema.json\"", "schema = \"none.json\""],
];

const TABLES: &[&[&str]] = &[
    &[
        "[warning]\nbytes = 20\nevent = \"x:y\"\nmessage = \"{{size_bytes}} of {{who}}\"",
        "[warning]\nbytes_from = \"who\"",
    ],
    &[
        "[error]\nbytes = 500\nmessage = \"{{size_bytes}}\"",
        "[error]\ntokens = 9\nmessage = \"m\"",
        "[error]\nbytes = -1",
    ],
    &[
        "[empty]\nevent = \"x:empty\"\nfacts = { a = \"who\" }\nmessage = \"m\"",
        "[empty]",
    ],
    &[
        "[frames.mine]\ntag = \"t\"\nopen = \"<{{tag}} {{path}} {{fence}}{{language}}>\"\nclose = \"</{{tag}}>\"",
        "[frames.mine]\nopen = \"{\\\"\"\nescape = \"json\"",
        "[frames.mine]\nclosed = 1",
    ],
];

const NAMES: &[&str] = &["a", "b", "c", "d", "frame"];

const SOURCES: &[&str] = &[
    "text = \"x {{who}}\\nlast\"",
    "text = \"plain {{nobody}}\"",
    "text = \"\"",
    "template = \"one\"",
    "template = \"none\"",
    "value = \"who\"",
    "value = \"deep.er\"",
    "file = \"a.md\"",
    "file = \"{{who}}\"",
    "files = { globs = [\"**\"] }",
    "files = { globs = [\"b\", \"*.txt\"], leave_out = [\"**/d*\"], binary = true }",
    "files = { paths_from = \"list\" }",
    "files = { globs = [\"a[\"] }",
    "files = { globz = 1 }",
    "tree = \"a\"",
    "tree = \"b\"",
    "source = \"git\"",
];

const OPTIONS: &[&[&str]] = &[
    &[
        "when = \"who\"",
        "when = \"who is defined and not other\"",
        "when = \"nobody\"",
        "when = \"1 +\"",
    ],
    &[
        "frame = \"xml\"",
        "frame = \"markdown\"",
        "frame = \"json\"",
        "frame = \"mine\"",
        "frame = \"{{who}}\"",
    ],
    &["list = \"mine\"", "list = \"xml\"", "list = \"nope\""],
    &[
        "priority = 3",
        "priority = 0",
        "priority = \"required\"",
        "priority = -1",
        "priority = \"some\"",
    ],
    &["cut = true", "cut = true", "cut = 1"],
    &["role = \"user\"", "role = \"nobody\""],
    &["trust = \"own\"", "volatility = \"turn\"", "trust = 1"],
];

const SCHEMAS: &[&str] = &[
    "{\"type\": \"object\", \"properties\": {\"who\": {\"default\": \"json\"}, \"list\": {\"default\": [\"a.md\", \"../x\"]}}}",
    "{\"type\": \"object\", \"required\": [\"who\"], \"additionalProperties\": false}",
    "{\"$ref\": \"#/nowhere\"}",
    "{\"$ref\": \"https://example.com/x\"}",
    "{\"type\":\n3}",
    "{",
    "true",
    "",
];

const TEMPLATES: &[&str] = &[
    "Hello {{who}}, {{nobody}}.",
    "---\nengine: jinja\n---\n{{ who }}{% for i in range(3) %}\n{{ i }}{% endfor %}",
    "---\nengine: jinja\n---\n{% include \"one\" %}",
    "---\nengine: jinja\n---\n{% if",
    "---\n\tname: [\n---\n{{who}}",
    "",
];

/// Makes the three files of a recipe: itself, a template and a schema.
pub(crate) fn folder(draw: &mut Draw<'_>) -> [String; 3] {
    let mut lines = Vec::new();
    maybe(draw, TOP, &mut lines);
    maybe(draw, TABLES, &mut lines);
    for nth in 0..=draw.byte() % 4 {
        let name = mostly(draw, NAMES, usize::from(nth));
        lines.push(format!("[[layers]]\nname = \"{name}\""));
        let first = draw.byte().into();
        lines.push(mostly(draw, SOURCES, first).to_owned());
        maybe(draw, OPTIONS, &mut lines);
    }
    [
        lines.join("\n"),
        draw.pick(TEMPLATES).to_owned(),
        draw.pick(SCHEMAS).to_owned(),
    ]
}

/// Takes a line of every third group or so.
fn maybe(draw: &mut Draw<'_>, groups: &[&[&str]], lines: &mut Vec<String>) {
    for group in groups {
        if draw.byte() % 3 == 1 {
            let nth = draw.byte().into();
            lines.push(mostly(draw, group, nth).to_owned());
        }
    }
}

/// Returns one of the words that are right, and once in a while the last one, which is wrong.
fn mostly<'w>(draw: &mut Draw<'_>, words: &[&'w str], nth: usize) -> &'w str {
    let last = words.len() - 1;
    if draw.byte() % 32 == 31 {
        words[last]
    } else {
        words[nth % last]
    }
}
