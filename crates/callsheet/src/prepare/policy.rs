//! The function `policy`: which tools may be used, and how far.

use serde_json::{Map, Value};

use super::fields::{FieldText, Fields};
use super::lines::LineValues;
use super::made::Made;
use crate::policy::{ToolPolicy, merge};
use crate::trace::{Origin, OriginKind, Traced};
use crate::{Error, ErrorKind};

/// Where settings say it, and where the agent does; what settings say counts first.
const GIVEN: [&str; 2] = ["toolPolicy", "agentDefinition.tools"];

/// Returns what may be used: what the agent itself says, and only what settings allow as well where there are any.
pub(super) fn policy(
    fields: Fields<'_>,
    lines: &mut LineValues<'_>,
) -> Result<Option<Made>, Error> {
    let [settings, agent] = GIVEN;
    let own = read(fields, agent)?.unwrap_or_default();
    let policy = match read(fields, settings)? {
        Some(settings) => merge(&settings, &own),
        None => own.or_standard(),
    };
    let mut mcp = vec![("enabled", Made::Flag(policy.mcp.enabled == Some(true)))];
    if let Some(names) = policy.mcp.allowed_servers {
        let names = names.iter().map(|name| lines.value(server(fields, name)));
        let names: Vec<Traced> = names.collect::<Result<_, Error>>()?;
        mcp.push(("allowedServers", names.into()));
    }
    let mut fs = vec![("enabled", Made::Flag(policy.fs.enabled == Some(true)))];
    for (name, limit) in [
        ("maxReadBytes", policy.fs.max_read_bytes),
        ("maxWriteBytes", policy.fs.max_write_bytes),
    ] {
        fs.extend(limit.map(|limit| (name, Made::Number(limit, digits(fields, name, limit)))));
    }
    Ok(Some(Made::Fields(vec![
        ("fs", Made::Fields(fs)),
        ("mcp", Made::Fields(mcp)),
    ])))
}

fn read(fields: Fields<'_>, path: &str) -> Result<Option<ToolPolicy>, Error> {
    let given = fields.get(path).cloned().map(without_nulls);
    let read = given.map(serde_json::from_value).transpose();
    // A schema of the same shape takes `1.0` and any number of digits for an integer.
    read.map_err(|_| {
        let detail = format!("`{path}`: a limit is a whole number of bytes, such as `524288`");
        Error::new(ErrorKind::BadInput, detail)
    })
}

/// Returns the name of a server where it was given.
fn server(fields: Fields<'_>, name: &str) -> FieldText {
    let mut lists = GIVEN.into_iter();
    let given = lists.find_map(|tools| {
        let list = format!("{tools}.mcp.allowedServers");
        fields.list(&list).find(|given| given.text.text() == name)
    });
    given.unwrap_or_else(|| fields.known(String::new(), name))
}

/// Returns a limit with where it was given; one that nobody gave is the standard.
fn digits(fields: Fields<'_>, name: &str, limit: u64) -> Traced {
    let digits = limit.to_string();
    let mut given = GIVEN.iter().map(|tools| format!("{tools}.fs.{name}"));
    let given = given.find(|path| fields.get(path).and_then(Value::as_u64) == Some(limit));
    match given {
        Some(path) => fields.known(path, &digits).text,
        None => {
            let origin = Origin::new(OriginKind::Derived, "standard tool policy", &digits);
            Traced::whole(digits, &origin)
        }
    }
}

/// Null is no value at any depth.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name, without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}
