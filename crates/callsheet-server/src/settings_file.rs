//! `callsheet.toml`, changed one value at a time: comments, order and spacing of everything else stay.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Key, RawString, Table, TableLike, Value};

/// What stands where a secret is.
const HIDDEN: &str = "…";

/// What decides which programs run, and with which rights. It is changed in the file, by whoever can write the file.
pub(crate) const LOCKED: [&str; 14] = [
    "adapters",
    "checks.*.command",
    "commands",
    "runners.*.adapter",
    "runners.*.allow",
    "runners.*.command",
    "runners.*.deny",
    "runners.*.env",
    "runners.*.isolate",
    "runners.*.pass_env",
    "runners.*.permissions",
    "runners.*.script",
    "sandbox",
    "workspace.setup",
];

/// What decides where everything is kept, and what secrets become.
const LOCKED_WHOLE: [&str; 4] = ["project", "redact", "redact_key", "store"];

/// Returns the settings in a file as a document.
pub(crate) fn values(text: &str) -> Result<Json, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

/// Returns the settings without what is nobody's business: addresses with passwords, keys, variables of the environment.
pub(crate) fn shown(mut values: Json) -> Json {
    for name in ["store", "redact_key"] {
        if let Some(value) = values.get_mut(name) {
            *value = HIDDEN.into();
        }
    }
    for above in ["runners", "adapters"] {
        let tables = values.get_mut(above).and_then(Json::as_object_mut);
        for (_, table) in tables.into_iter().flatten() {
            let env = table.get_mut("env").and_then(Json::as_object_mut);
            for (_, value) in env.into_iter().flatten() {
                *value = HIDDEN.into();
            }
        }
    }
    values
}

/// Returns the first setting that two files do not have in common, and that is changed in the file only.
pub(crate) fn locked_change(old: &Json, new: &Json) -> Option<String> {
    let (old, new) = (locked(old), locked(new));
    let mut names = old.keys().chain(new.keys());
    names.find(|name| old.get(*name) != new.get(*name)).cloned()
}

fn locked(values: &Json) -> BTreeMap<String, &Json> {
    let mut found = BTreeMap::new();
    for pattern in LOCKED.into_iter().chain(LOCKED_WHOLE) {
        let parts: Vec<&str> = pattern.split('.').collect();
        collect(values, &parts, "", &mut found);
    }
    found
}

fn collect<'v>(
    value: &'v Json,
    parts: &[&str],
    path: &str,
    found: &mut BTreeMap<String, &'v Json>,
) {
    let Some((part, rest)) = parts.split_first() else {
        found.insert(path.to_owned(), value);
        return;
    };
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match (*part, value) {
        ("*", Json::Object(fields)) => {
            for (name, value) in fields {
                collect(value, rest, &below(name), found);
            }
        }
        ("*", Json::Array(items)) => {
            for (nth, value) in items.iter().enumerate() {
                collect(value, rest, &below(&nth.to_string()), found);
            }
        }
        (name, Json::Object(fields)) => {
            if let Some(value) = fields.get(name) {
                collect(value, rest, &below(name), found);
            }
        }
        _ => {}
    }
}

/// Returns a file with some of its settings changed; `null` takes a setting away.
///
/// Settings are named as in TOML: `sprint.runner`, `runners."my runner".model`, `checks.0.required`.
pub(crate) fn edited(text: &str, changes: &Map<String, Json>) -> Result<String, String> {
    let document: Result<DocumentMut, _> = text.parse();
    let mut document = document.map_err(|error| error.message().to_owned())?;
    for (path, value) in changes {
        let keys =
            Key::parse(path).map_err(|_| format!("`{path}` is not the name of a setting"))?;
        let Some((last, above)) = keys.split_last() else {
            return Err("the name of a setting is empty".to_owned());
        };
        let wrong = |why: String| format!("`{path}`: {why}");
        if value.is_null() {
            remove(&mut document, above, last.get());
        } else {
            let value = value_of(value).map_err(wrong)?;
            put(&mut document, above, last.get(), value).map_err(wrong)?;
        }
    }
    Ok(document.to_string())
}

fn remove(document: &mut DocumentMut, above: &[Key], last: &str) {
    let mut item = document.as_item_mut();
    for key in above {
        let nth: Option<usize> = key.get().parse().ok();
        let found = match nth.filter(|_| item.is_array_of_tables()) {
            Some(nth) => item.get_mut(nth),
            None => item.get_mut(key.get()),
        };
        let Some(found) = found else {
            return;
        };
        item = found;
    }
    if let Some(table) = item.as_table_like_mut() {
        table.remove(last);
    }
}

fn put(document: &mut DocumentMut, above: &[Key], last: &str, value: Value) -> Result<(), String> {
    let end = document.trailing().as_str().unwrap_or_default().to_owned();
    let Some((first, _)) = above.split_first() else {
        return put_at_top(document, last, value);
    };
    let is_new = !document.contains_key(first.get());
    let mut item = document.as_item_mut();
    for (depth, key) in above.iter().enumerate() {
        item = step(item, key.get(), depth)?;
    }
    let table = item
        .as_table_like_mut()
        .ok_or_else(|| "it is not a table".to_owned())?;
    put_in(table, last, value);
    if is_new && let Some(table) = document.get_mut(first.get()).and_then(Item::as_table_mut) {
        // What stood at the end of the file stays above the new table.
        table.decor_mut().set_prefix(after(&end));
        document.set_trailing("");
    }
    Ok(())
}

/// Returns what stands before a new table: what was at the end of the file, and an empty line.
fn after(end: &str) -> String {
    match end {
        "" => "\n".to_owned(),
        end if end.ends_with('\n') => format!("{end}\n"),
        end => format!("{end}\n\n"),
    }
}

fn step<'i>(item: &'i mut Item, name: &str, depth: usize) -> Result<&'i mut Item, String> {
    if item.is_array_of_tables() || item.is_array() {
        let nth: Option<usize> = name.parse().ok();
        let found = nth.and_then(|nth| item.get_mut(nth));
        return found.ok_or_else(|| format!("there is no number `{name}` in the list"));
    }
    let table = item
        .as_table_like_mut()
        .ok_or_else(|| format!("`{name}` is below something that is not a table"))?;
    Ok(table.entry(name).or_insert_with(|| {
        let mut table = Table::new();
        // Below another table it is a line of that one: a heading would take over the comments that follow.
        table.set_dotted(depth > 0);
        Item::Table(table)
    }))
}

/// Puts a value that stands in no table: above the first table, and below the comment at the beginning of the file.
fn put_at_top(document: &mut DocumentMut, name: &str, value: Value) -> Result<(), String> {
    let has_values = document.iter().any(|(_, item)| item.is_value());
    if document.contains_key(name) || has_values {
        if document.get(name).is_some_and(|item| !item.is_value()) {
            return Err("it is a table".to_owned());
        }
        put_in(document.as_table_mut(), name, value);
        return Ok(());
    }
    let mut tables: Vec<&mut Table> = Vec::new();
    for (_, item) in document.iter_mut() {
        match item {
            Item::Table(table) => tables.push(table),
            Item::ArrayOfTables(all) => tables.extend(all.iter_mut().take(1)),
            _ => {}
        }
    }
    let first = tables
        .into_iter()
        .min_by_key(|table| table.position().unwrap_or(isize::MAX));
    let Some(first) = first else {
        let end = document.trailing().as_str().unwrap_or_default().to_owned();
        put_in(document.as_table_mut(), name, value);
        document.set_trailing("");
        let above = if end.is_empty() { end } else { after(&end) };
        set_prefix(document, name, &above);
        return Ok(());
    };
    let above = first.decor().prefix().and_then(RawString::as_str);
    let above = above.unwrap_or_default().to_owned();
    let (head, rest) = match above.rfind("\n\n") {
        Some(at) => (&above[..at + 2], &above[at + 1..]),
        None => ("", above.as_str()),
    };
    let gap = if rest.starts_with('\n') { "" } else { "\n" };
    first.decor_mut().set_prefix(format!("{gap}{rest}"));
    put_in(document.as_table_mut(), name, value);
    set_prefix(document, name, head);
    Ok(())
}

fn set_prefix(document: &mut DocumentMut, name: &str, prefix: &str) {
    if let Some(mut key) = document.as_table_mut().key_mut(name) {
        key.leaf_decor_mut().set_prefix(prefix);
    }
}

/// Puts a value into a table; what stood around the old one stays.
fn put_in(table: &mut dyn TableLike, name: &str, mut value: Value) {
    if let Some(old) = table.get(name).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    if let Some(item) = table.get_mut(name) {
        *item = Item::Value(value);
    } else {
        table.insert(name, Item::Value(value));
    }
}

/// Returns a value as TOML has it.
fn value_of(value: &Json) -> Result<Value, String> {
    Ok(match value {
        Json::Null => return Err("TOML has no `null`".to_owned()),
        Json::Bool(is) => (*is).into(),
        Json::Number(number) => {
            let text = number.to_string();
            let is_whole = !text.contains(['.', 'e', 'E']);
            match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => whole.into(),
                (None, Some(float)) if !is_whole && float.is_finite() => float.into(),
                _ => return Err(format!("`{number}` is too large")),
            }
        }
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => {
            let items = items.iter().map(value_of);
            Value::Array(items.collect::<Result<Array, _>>()?)
        }
        Json::Object(fields) => {
            let mut table = InlineTable::new();
            for (name, value) in fields {
                table.insert(name, value_of(value)?);
            }
            Value::InlineTable(table)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(text: &str, changes: Json) -> String {
        let Json::Object(changes) = changes else {
            return String::new();
        };
        edited(text, &changes).unwrap_or_else(|why| format!("! {why}"))
    }

    const FILE: &str = "# Settings of ours.\n\n# Who runs agents.\nrunner = 'fast' # the usual one\n\n\
        [sprint] # of this team\ndefault_max_cycles = 2   # never more\n# runner = \"x\"\n\n[[checks]]\nname = \"test\"\n\
        command = [\"./test\"]\nrequired = true\n# the end\n";

    #[test]
    fn one_value_changes_and_everything_else_stays() {
        let changed = change(
            FILE,
            json!({"runner": "slow", "sprint.default_max_cycles": 3, "checks.0.required": false}),
        );
        let expected = FILE
            .replace("'fast'", "\"slow\"")
            .replace("= 2 ", "= 3 ")
            .replace("= true", "= false");
        assert_eq!(changed, expected);
        let without = change(
            FILE,
            json!({"sprint.default_max_cycles": null, "no.such": null}),
        );
        assert_eq!(
            without,
            FILE.replace("default_max_cycles = 2   # never more\n", "")
        );
    }

    #[test]
    fn what_is_new_stands_below_what_was_there() {
        let changed = change(
            FILE,
            json!({"serve.port": 7000, "sprint.story_budget.cost_usd": 1.5}),
        );
        assert_eq!(
            changed,
            format!(
                "{}\n[serve]\nport = 7000\n",
                FILE.replace(
                    "# runner = \"x\"\n",
                    "story_budget.cost_usd = 1.5\n# runner = \"x\"\n"
                )
            )
        );
    }

    #[test]
    fn a_file_of_comments_keeps_them_at_its_top() {
        let only = "#:schema x\n# Every line is optional.\n";
        assert_eq!(
            change(only, json!({"sprint.stop": "cancel"})),
            format!("{only}\n[sprint]\nstop = \"cancel\"\n")
        );
        assert_eq!(
            change(only, json!({"runner": "a"})),
            format!("{only}\nrunner = \"a\"\n")
        );
        assert_eq!(change("", json!({"runner": "a"})), "runner = \"a\"\n");
        let table = "#:schema x\n\n# Tests.\n[scope]\ndefault_exclude = []\n";
        assert_eq!(
            change(table, json!({"runner": "a"})),
            "#:schema x\n\nrunner = \"a\"\n\n# Tests.\n[scope]\ndefault_exclude = []\n"
        );
    }

    #[test]
    fn what_cannot_be_written_is_told() {
        let wrong = |changes: Json| change(FILE, changes);
        assert_eq!(
            wrong(json!({"a b": 1})),
            "! `a b` is not the name of a setting"
        );
        assert_eq!(wrong(json!({"": 1})), "! `` is not the name of a setting");
        assert_eq!(
            wrong(json!({"runner.x": 1})),
            "! `runner.x`: it is not a table"
        );
        assert_eq!(
            wrong(json!({"checks.7.name": "a"})),
            "! `checks.7.name`: there is no number `7` in the list"
        );
        assert_eq!(
            wrong(json!({"runner": [null]})),
            "! `runner`: TOML has no `null`"
        );
        assert_eq!(
            wrong(json!({"sprint.x": 9_223_372_036_854_775_808_u64})),
            "! `sprint.x`: `9223372036854775808` is too large"
        );
    }

    #[test]
    fn what_runs_is_locked() {
        let old = values(
            "[runners.a]\ncommand = ['x']\nmodel = 'm'\n[[checks]]\nname = 't'\ncommand = ['t']\n",
        );
        let old = old.unwrap();
        let of = |text: &str| locked_change(&old, &values(text).unwrap());
        let same =
            "[runners.a]\ncommand = ['x']\nmodel = 'n'\n[[checks]]\nname = 'u'\ncommand = ['t']\n";
        assert_eq!(of(same), None);
        let differ = [
            (same.replace("'x'", "'y'"), "runners.a.command"),
            (same.replace("['t']", "['u']"), "checks.0.command"),
            (
                format!("{same}[runners.b]\nadapter = 'command'\n"),
                "runners.b.adapter",
            ),
            (
                format!("{same}[workspace]\nsetup = ['x']\n"),
                "workspace.setup",
            ),
            (format!("store = 'postgres://x'\n{same}"), "store"),
            (
                "[runners.a]\ncommand = ['x']\n".to_owned(),
                "checks.0.command",
            ),
        ];
        for (text, name) in differ {
            assert_eq!(of(&text).as_deref(), Some(name), "{text}");
        }
    }

    #[test]
    fn secrets_are_hidden() {
        let text = "store = 'postgres://a:b@c/d'\nredact_key = 'k'\n[runners.a]\nmodel = 'm'\nenv = { KEY = 's' }\n";
        assert_eq!(
            shown(values(text).unwrap()),
            json!({"store": "…", "redact_key": "…", "runners": {"a": {"model": "m", "env": {"KEY": "…"}}}})
        );
    }
}
