//! The formats of secrets as data: what a rule is, and a table of them that is ready to be searched with.
//!
//! The rules that everybody has are in `rules.toml`; a project adds its own. No rule guesses: a text that holds none of
//! these formats stays as it is. Nothing is read or compiled before the first search.

mod block;
mod check;
mod placeholder;
mod search;

use std::fmt;
use std::sync::{Arc, LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

pub(super) use search::Hit;
use search::Keywords;

use crate::{Error, ErrorKind};

/// The rules that everybody has.
const BUILT_IN: &str = include_str!("rules.toml");

/// The most bytes that a compiled expression may take.
const SIZE_LIMIT: usize = 4 << 20;

/// Text that stands in expressions under a name, such as `{is}`.
const PARTS: [(&str, &str); 4] = [
    (
        "{is}",
        concat!(
            // What closes a name, what says that a value follows, and what opens the value.
            r#"(?:\\*["'`]|%(?:25)*2[27]|\\+u002[27]|&(?:quot|apos|#3[49]);|[\])]){0,4}"#,
            r"(?:[ \t]*(?:=>|[:?+]?=|==|:|->|[>,|]|%(?:25)*3[AaDd]|\\+[ux](?:00)?3[AaDdEe])",
            r#"|[,;]?(?:[ \t\r\n]|\\+[nrt]){1,40}(?:-[ \t]*)?\\*["']?(?i:value)\\*["']?[ \t]*[:=]|[ \t])"#,
            r#"(?:[ \t+]|%20|\\+u0020){0,8}(?:\\*["'`]|%(?:25)*2[27]|\\+u002[27]|&(?:quot|apos|#3[49]);|[\[({<]){0,4}"#,
        ),
    ),
    (
        "{left}",
        r"(?:\A|%(?:25)*[0-9A-Fa-f]{2}|\\+(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-7]{3}|[a-z0])|=3D|\[[0-9;]*m|[^A-Za-z0-9])",
    ),
    ("{b64}", r"(?:[A-Za-z0-9+/]|%2[BbFf]|\\+/|\\+u002[BbFf])"),
    ("{pad}", r"(?:=|%3[Dd]|\\+u003[Dd])"),
];

/// One format of secrets, as it is written.
///
/// The secret is the first group of the expression that takes part in a match, or else all of the match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rule {
    /// The name of the rule, which is the kind of what it finds.
    pub id: String,
    /// The expression.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub regex: String,
    /// Words, in any case, without which the expression is not tried; it always is where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The least Shannon entropy of the secret, in bits for each character.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<f64>,
    /// Whether the secret has letters and digits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixed: bool,
    /// Whether the expression finds the marker lines around a key, and the key goes with them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub block: bool,
    /// Whether the rule counts; one that does not takes a built-in rule of its name away.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub enabled: bool,
    /// Examples that the rule finds, with `‹` and `›` around the secret.
    #[serde(default, skip_serializing)]
    pub hits: Vec<String>,
    /// Examples in which the rule finds nothing.
    #[serde(default, skip_serializing)]
    pub misses: Vec<String>,
}

fn yes() -> bool {
    true
}

impl Rule {
    /// Compiles the expression.
    fn compile(&self) -> Result<Regex, regex::Error> {
        let mut pattern = self.regex.clone();
        for (name, part) in PARTS {
            pattern = pattern.replace(name, &format!("(?-x:{part})"));
        }
        // Secrets are ASCII, and so are the letters and digits of an expression.
        RegexBuilder::new(&pattern)
            .unicode(false)
            .size_limit(SIZE_LIMIT)
            .build()
    }
}

/// A table of rules: the built-in ones, and those that a project adds.
///
/// ```
/// use callsheet::redact::{Key, Redactor, Rule, Rules};
///
/// # fn main() -> Result<(), callsheet::Error> {
/// let own: Rule = toml::from_str("id = 'acme-token'\nregex = 'acme_[a-z0-9]{8}'\nkeywords = ['acme_']").unwrap();
/// let redactor = Redactor::new(Key::default()).with_rules(Rules::with(vec![own])?);
/// assert!(redactor.text("use acme_k7q2z9m4 here").starts_with("use ‹secret:acme-token:"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Rules(Option<Arc<Table>>);

struct Table {
    entries: Vec<Entry>,
    keywords: Option<Keywords>,
    own: Vec<Rule>,
}

/// A rule, with its expression once somebody needed it.
struct Entry {
    rule: Rule,
    expression: OnceLock<Option<Regex>>,
}

impl Entry {
    /// Returns the expression; one that does not compile finds nothing, and a test makes sure that ours do.
    fn expression(&self) -> Option<&Regex> {
        let compiled = || self.rule.compile().ok();
        self.expression.get_or_init(compiled).as_ref()
    }
}

/// The rules in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Vec<Rule>,
}

/// The built-in table; one that cannot be read is empty, and a test makes sure that ours is not.
static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let file = toml::from_str::<File>(BUILT_IN);
    Table::of(file.map(|file| file.rules).unwrap_or_default(), Vec::new())
});

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.own().iter().map(|rule| &rule.id);
        f.debug_set().entries(own).finish()
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        self.own() == other.own()
    }
}

impl Table {
    fn of(rules: Vec<Rule>, own: Vec<Rule>) -> Self {
        let keywords = Keywords::of(&rules);
        let entries = rules.into_iter().map(|rule| Entry {
            rule,
            expression: OnceLock::new(),
        });
        Self {
            entries: entries.collect(),
            keywords,
            own,
        }
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.rule.id.as_str())
    }
}

impl Rules {
    /// Returns the built-in rules and those of a project; one replaces the built-in rule of its name.
    pub fn with(own: Vec<Rule>) -> Result<Self, Error> {
        if own.is_empty() {
            return Ok(Self::default());
        }
        if let Some((_, error)) = Self::fault(&own) {
            return Err(error);
        }
        let built_in = TABLE.entries.iter().map(|entry| entry.rule.clone());
        let mut rules: Vec<Rule> = built_in.collect();
        for rule in &own {
            match rules.iter_mut().find(|other| other.id == rule.id) {
                Some(other) => other.clone_from(rule),
                None => rules.push(rule.clone()),
            }
        }
        rules.retain(|rule| rule.enabled);
        Ok(Self(Some(Arc::new(Table::of(rules, own)))))
    }

    /// Returns the index of the first rule of a project that cannot be used, and why.
    pub fn fault(own: &[Rule]) -> Option<(usize, Error)> {
        own.iter().enumerate().find_map(|(index, rule)| {
            let id = &rule.id;
            let error = if let Err(error) = rule.check() {
                error
            } else if own[..index].iter().any(|other| other.id == *id) {
                let detail = format!("there is another rule named `{id}`; each needs its own name");
                Error::new(ErrorKind::BadInput, detail)
            } else if !rule.enabled && !TABLE.ids().any(|other| other == id) {
                Error::unknown("rule", id, TABLE.ids())
            } else {
                return None;
            };
            Some((index, error))
        })
    }

    fn table(&self) -> &Table {
        self.0.as_deref().unwrap_or_else(|| &TABLE)
    }

    /// Returns the names of all rules; of several that find the same secret, the first one names it.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.table().ids()
    }

    /// Returns the rules that a project added.
    pub fn own(&self) -> &[Rule] {
        self.0.as_ref().map_or(&[], |table| &table.own)
    }
}

#[cfg(test)]
mod tests;
