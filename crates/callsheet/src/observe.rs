//! Observations: what a composition asks about the repository and about programs, as plain values.
//!
//! The library starts no process. The program that composes brings an [`Observer`]; what it answered is sealed with the
//! prompt, and composing again asks nobody.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::inputs::Root;
use crate::omission::Refusal;
use crate::source::lookup;
use crate::trace::{Origin, OriginKind};
use crate::{Error, ErrorKind};

/// Which change of a repository is meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Everything that differs from the last commit, files that git does not know included.
    Worktree,
    /// What the next commit would have.
    Staged,
    /// From one revision to another, such as `main..topic`.
    Range(String),
}

impl Change {
    /// Returns the change that the fields of an input ask for: a range, what is staged, or the work tree.
    pub(crate) fn of_fields(
        fields: &Map<String, Value>,
        range_from: Option<&str>,
        staged_from: Option<&str>,
    ) -> Result<Self, Error> {
        let field = |name: Option<&str>| name.and_then(|name| lookup(fields, name));
        let staged = field(staged_from).and_then(Value::as_bool) == Some(true);
        match field(range_from).and_then(Value::as_str) {
            Some(_) if staged => {
                let (range, staged) = (range_from.unwrap_or(""), staged_from.unwrap_or(""));
                let detail = format!("`{range}` and `{staged}` exclude each other");
                Err(Error::new(ErrorKind::BadInput, detail))
            }
            Some(range) => Self::range(range),
            None if staged => Ok(Self::Staged),
            None => Ok(Self::Worktree),
        }
    }

    /// Makes the change between two revisions; anything that git could take for an option is refused.
    pub fn range(text: &str) -> Result<Self, Error> {
        let odd = |c: char| c.is_whitespace() || c.is_control();
        if text.starts_with('-') || text.contains(odd) || !text.contains("..") {
            let detail = format!(
                "bad range `{}`: expected two revisions, such as `main..topic`",
                text.escape_debug()
            );
            return Err(Error::new(ErrorKind::BadInput, detail));
        }
        Ok(Self::Range(text.to_owned()))
    }

    /// Returns the revision that a range ends at.
    pub fn end(range: &str) -> &str {
        let end = range.rfind("..").map_or("", |at| &range[at + 2..]);
        if end.is_empty() { "HEAD" } else { end }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worktree => f.write_str("HEAD"),
            Self::Staged => f.write_str("--cached"),
            Self::Range(range) => f.write_str(range),
        }
    }
}

/// Something that a composition wants to know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "ask", deny_unknown_fields)]
#[non_exhaustive]
pub enum Question {
    /// What `git status` prints.
    GitStatus,
    /// The text of a change.
    GitDiff {
        /// Which change.
        of: Change,
    },
    /// The newest commits, one line each.
    GitLog {
        /// How many at most.
        count: u32,
        /// The commits of this range alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        range: Option<String>,
    },
    /// A file as a change leaves it.
    GitFile {
        /// Which change.
        of: Change,
        /// Its path relative to the root.
        path: String,
    },
    /// The paths that a change touches: a JSON list of [`ChangedPath`].
    ChangedPaths {
        /// Which change.
        of: Change,
    },
    /// What a command of the project prints.
    Command {
        /// The name that the project gave it.
        name: String,
        /// Whether its output counts although it failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        any_exit: bool,
    },
}

impl Question {
    /// Returns the origin of an answer.
    pub(crate) fn origin(&self, answer: &str) -> std::sync::Arc<Origin> {
        let (kind, name) = self.origin_name();
        Origin::new(kind, name, answer)
    }

    pub(crate) fn origin_name(&self) -> (OriginKind, String) {
        let name = match self {
            Self::GitStatus => "status".to_owned(),
            Self::GitDiff { of } => format!("diff {of}"),
            Self::GitLog { range: None, .. } => "log".to_owned(),
            Self::GitLog {
                range: Some(range), ..
            } => format!("log {range}"),
            Self::GitFile { of, path } => match of {
                Change::Worktree => return (OriginKind::File, path.clone()),
                Change::Staged => format!("show :{path}"),
                Change::Range(range) => format!("show {}:{path}", Change::end(range)),
            },
            Self::ChangedPaths { of } => format!("diff --raw {of}"),
            Self::Command { name, .. } => return (OriginKind::Command, name.clone()),
        };
        (OriginKind::Git, name)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, name) = self.origin_name();
        match kind {
            OriginKind::Git => write!(f, "git {name}"),
            _ => f.write_str(&name),
        }
    }
}

/// A path that a change touches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangedPath {
    /// The path relative to the root.
    pub path: String,
    /// Whether a regular file stands there after the change.
    pub file: bool,
    /// Whether the name is not UTF-8, so that the path is only like it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub odd_name: bool,
}

/// Looks at the world for a composition.
///
/// The same state of the world must give the same bytes: no times, no places, no colours.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Answers a question with at most so many bytes, or says why not.
    fn observe(&self, question: &Question, most: u64) -> Result<Vec<u8>, Refusal>;

    /// Returns the names of the commands that may be asked for.
    fn commands(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Asks a question, or finds what was answered before.
///
/// A refusal is an answer; an error is a question that nobody can be asked.
pub(crate) fn ask(
    root: &Root,
    observer: Option<&dyn Observer>,
    question: &Question,
) -> Result<Result<Vec<u8>, Refusal>, Error> {
    if let Some(answer) = root.disk().observed(question) {
        return Ok(answer);
    }
    let observer = observer.ok_or_else(|| {
        let detail = "this recipe looks at the repository or runs a command, and needs an observer";
        Error::new(ErrorKind::BadInput, detail)
    })?;
    if let Question::Command { name, .. } = question {
        let known = observer.commands();
        if !known.contains(name) {
            return Err(Error::unknown("command", name, known));
        }
    }
    let answer = observer.observe(question, root.max_file_bytes());
    root.disk().keep_observed(question, answer.as_deref());
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_range_has_two_ends_and_cannot_be_an_option() {
        for (range, end) in [
            ("a..b", "b"),
            ("a...b/c", "b/c"),
            ("a..", "HEAD"),
            ("..b", "b"),
        ] {
            let change = Change::range(range).unwrap();
            assert_eq!(change, Change::Range(range.to_owned()));
            assert_eq!(Change::end(range), end, "{range}");
        }
        for range in ["", "main", "--output=x..y", "a.. b", "a..\nb", "a..b\0"] {
            let error = Change::range(range).unwrap_err().to_string();
            assert!(error.starts_with("bad range `"), "{error}");
        }
    }

    #[test]
    fn fields_say_which_change() {
        let of = |fields: Value| {
            let fields = fields.as_object().cloned().unwrap_or_default();
            Change::of_fields(&fields, Some("range"), Some("staged"))
        };
        assert_eq!(of(json!({})), Ok(Change::Worktree));
        assert_eq!(of(json!({"range": null})), Ok(Change::Worktree));
        assert_eq!(of(json!({"staged": true})), Ok(Change::Staged));
        assert_eq!(of(json!({"range": "a..b"})), Change::range("a..b"));
        assert_eq!(
            of(json!({"range": "a..b", "staged": true}))
                .unwrap_err()
                .to_string(),
            "`range` and `staged` exclude each other"
        );
    }

    #[test]
    fn questions_have_one_wire_form() {
        let question = Question::GitDiff {
            of: Change::Range("a..b".to_owned()),
        };
        let wire = json!({"ask": "git-diff", "of": {"range": "a..b"}});
        assert_eq!(serde_json::to_value(&question).unwrap(), wire);
        assert_eq!(serde_json::from_value::<Question>(wire).unwrap(), question);
        let wire = json!({"ask": "changed-paths", "of": "worktree"});
        let question: Question = serde_json::from_value(wire).unwrap();
        assert_eq!(question.to_string(), "git diff --raw HEAD");
    }
}
