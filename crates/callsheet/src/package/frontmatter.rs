//! The header of a Markdown file in a package: strict, unlike that of a template.

use std::fmt;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::document::yaml::yaml;

/// A header and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Frontmatter {
    /// The fields.
    pub(crate) fields: Map<String, Value>,
    /// The bytes of the YAML text.
    pub(crate) header: Range<usize>,
}

/// Why a file has no usable header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadFrontmatter {
    Missing,
    BlankBefore,
    Unclosed,
    NotYaml { line: Option<usize>, reason: String },
    NoMap,
}

impl fmt::Display for BadFrontmatter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => {
                f.write_str("the file has no frontmatter: its first line is not `---`")
            }
            Self::BlankBefore => f.write_str("blank lines stand before the frontmatter"),
            Self::Unclosed => f.write_str("the frontmatter has no closing `---`"),
            Self::NotYaml {
                line: Some(line),
                reason,
            } => {
                write!(
                    f,
                    "line {line}: the frontmatter is not valid YAML: {reason}"
                )
            }
            Self::NotYaml { line: None, reason } => {
                write!(f, "the frontmatter is not valid YAML: {reason}")
            }
            Self::NoMap => f.write_str("the frontmatter is not a mapping"),
        }
    }
}

/// Reads the header of a file; a byte order mark may stand before it.
pub(crate) fn parse(text: &str) -> Result<Frontmatter, BadFrontmatter> {
    let header = find(text)?;
    let value = yaml(&text[header.clone()]).map_err(|error| BadFrontmatter::NotYaml {
        line: error.line.map(|line| line + 1),
        reason: error.reason,
    })?;
    match value {
        Value::Object(fields) => Ok(Frontmatter { fields, header }),
        Value::Null => Ok(Frontmatter {
            fields: Map::new(),
            header,
        }),
        _ => Err(BadFrontmatter::NoMap),
    }
}

fn find(text: &str) -> Result<Range<usize>, BadFrontmatter> {
    let mark = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut lines = text[mark..].split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if !is_fence(first) {
        let next = text[mark..].lines().find(|line| !line.trim().is_empty());
        return Err(match next {
            Some(line) if first.trim().is_empty() && is_fence(line) => BadFrontmatter::BlankBefore,
            _ => BadFrontmatter::Missing,
        });
    }
    let start = mark + first.len();
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            return Ok(start..end);
        }
        end += line.len();
    }
    Err(BadFrontmatter::Unclosed)
}

fn is_fence(line: &str) -> bool {
    line.trim_end_matches([' ', '\t', '\r', '\n']) == "---"
}
