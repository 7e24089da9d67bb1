//! From TOML to a profile.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::{Profile, ProfileLines};
use crate::document::keep_digits;
use crate::error::line_of;
use crate::{Error, ErrorKind, Place};

/// A profile as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileFile {
    description: Option<String>,
    runner: Spanned<String>,
    model: Option<String>,
    prompt_template: Option<Spanned<String>>,
    #[serde(default)]
    default_exclude: Vec<Spanned<String>>,
    #[serde(default)]
    default_write_scope: Vec<Spanned<String>>,
    config: Option<Spanned<toml::Table>>,
}

/// What a settings file says of profiles; everything else in it is somebody else's.
#[derive(Deserialize)]
struct SettingsFile {
    #[serde(default)]
    profiles: BTreeMap<String, Spanned<ProfileFile>>,
}

impl Profile {
    /// Reads a profile from a file of its own.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self, Error> {
        let read: ProfileFile = toml(file, text)?;
        profile(name, file, text, 0, read)
    }

    /// Reads the profiles of a settings file, in the order of their names; what else stands there is not looked at.
    pub fn parse_settings(file: &str, text: &str) -> Result<Vec<Self>, Error> {
        let read: SettingsFile = toml(file, text)?;
        let profiles = read.profiles.into_iter();
        profiles
            .map(|(name, found)| {
                let start = found.span().start;
                profile(&name, file, text, start, found.into_inner())
            })
            .collect()
    }
}

fn toml<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| Error::toml(ErrorKind::BadInput, file, text, &error))
}

fn profile(
    name: &str,
    file: &str,
    text: &str,
    start: usize,
    read: ProfileFile,
) -> Result<Profile, Error> {
    let line = |span: Range<usize>| line_of(text, span.start);
    if read.runner.get_ref().trim().is_empty() {
        let error = Error::new(ErrorKind::BadInput, "`runner` must not be empty");
        return Err(error.at(file, line(read.runner.span())));
    }
    let config = match read.config {
        None => Map::new(),
        Some(config) => {
            let at = line(config.span());
            let mut config = table(config.get_ref(), "config")
                .map_err(|detail| Error::new(ErrorKind::BadInput, detail).at(file, at))?;
            keep_digits(text, &["config"], &mut config);
            keep_digits(text, &["profiles", name, "config"], &mut config);
            config
        }
    };
    let lines = |list: &[Spanned<String>]| list.iter().map(|item| line(item.span())).collect();
    let texts = |list: Vec<Spanned<String>>| list.into_iter().map(Spanned::into_inner).collect();
    Ok(Profile {
        name: name.to_owned(),
        description: read.description,
        runner: read.runner.into_inner(),
        model: read.model,
        lines: ProfileLines {
            template: read
                .prompt_template
                .as_ref()
                .map_or(0, |template| line(template.span())),
            exclude: lines(&read.default_exclude),
            write: lines(&read.default_write_scope),
        },
        prompt_template: read.prompt_template.map(Spanned::into_inner),
        default_exclude: texts(read.default_exclude),
        default_write_scope: texts(read.default_write_scope),
        config,
        place: Place {
            file: file.to_owned(),
            line: Some(line_of(text, start)),
        },
    })
}

fn table(table: &toml::Table, path: &str) -> Result<Map<String, Value>, String> {
    let fields = table.iter();
    fields
        .map(|(name, value)| Ok((name.clone(), json(value, &format!("{path}.{name}"))?)))
        .collect()
}

fn json(value: &toml::Value, path: &str) -> Result<Value, String> {
    let no_json = |what: &str| format!("`{path}`: {what} is not JSON; write it as text");
    Ok(match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        toml::Value::Float(number) => {
            let number = serde_json::Number::from_f64(*number)
                .ok_or_else(|| no_json(&format!("`{}`", number.to_string().to_lowercase())))?;
            Value::Number(number)
        }
        toml::Value::Datetime(_) => return Err(no_json("a date")),
        toml::Value::Array(items) => {
            let items = items.iter().enumerate();
            let items: Result<Vec<Value>, String> = items
                .map(|(at, item)| json(item, &format!("{path}[{at}]")))
                .collect();
            Value::Array(items?)
        }
        toml::Value::Table(inner) => Value::Object(table(inner, path)?),
    })
}
