//! The formats of secrets, as one table, and the search for them.
//!
//! A keyword search over the whole text decides which expressions run at all. Nothing is compiled before the first
//! search. No rule of the table guesses: a text that holds none of these formats stays as it is.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

/// One format: its name, the words without which it does not occur, and its expression.
///
/// The secret is the group `s`, or everything where there is none.
struct Rule {
    kind: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    /// Looks at what the expression cannot say.
    accepts: fn(&str) -> bool,
}

const fn rule(
    kind: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
) -> Rule {
    Rule {
        kind,
        keywords,
        pattern,
        accepts: any,
    }
}

/// All formats. On a tie the earlier one names the secret.
static RULES: &[Rule] = &[
    Rule {
        kind: "private-key",
        keywords: &["private key"],
        // A key without its end is one that was cut: it goes as far as its lines look like one.
        pattern: r#"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:(?:[A-Za-z0-9+/= \t\r\n\\,"':;.()_@<>]|-[A-Za-z0-9])*-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|(?:(?:[ \t\r\n]|\\r|\\n)*[A-Za-z0-9+/=]{32,})+)"#,
        accepts: is_key,
    },
    rule(
        "aws-access-key-id",
        &["akia", "asia", "abia", "acca"],
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
    ),
    rule(
        "aws-secret-access-key",
        &["secret"],
        r#"(?i-u:(?:aws_?)?secret_?(?:access_?)?key)\\?["']?[ \t]*(?:=>|:=|=|:)[ \t]*\\?["']?(?P<s>[A-Za-z0-9/+]{40})"#,
    ),
    rule(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        "gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,}",
    ),
    rule(
        "gitlab-token",
        &["glpat-", "glptt-", "gldt-", "glrt-"],
        "gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{20,}",
    ),
    rule(
        "slack-token",
        &["xox", "xapp-", "hooks.slack.com"],
        r"xox[abeoprs](?:\.xox[a-z])?-[A-Za-z0-9-]{20,}|xapp-[0-9]-[A-Za-z0-9-]{20,}|hooks\.slack\.com/services/(?P<s>T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,})",
    ),
    rule(
        "stripe-key",
        &["sk_live_", "rk_live_"],
        "[sr]k_live_[A-Za-z0-9]{16,}",
    ),
    rule("anthropic-key", &["sk-ant-"], "sk-ant-[A-Za-z0-9_-]{20,}"),
    rule(
        "openai-key",
        &["sk-"],
        "sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{32,}",
    ),
    rule(
        "google-key",
        &["aiza", "gocspx-"],
        "AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28}",
    ),
    rule("npm-token", &["npm_"], "npm_[A-Za-z0-9]{36}"),
    rule("pypi-token", &["pypi-age"], "pypi-AgE[A-Za-z0-9_-]{50,}"),
    rule("huggingface-token", &["hf_"], "hf_[A-Za-z0-9]{34,}"),
    rule(
        "sendgrid-key",
        &["sg."],
        r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    ),
    rule(
        "jwt",
        &["eyj"],
        r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    Rule {
        kind: "url-password",
        keywords: &["://"],
        pattern: r#"[A-Za-z][A-Za-z0-9+.-]*://[^ \t\r\n/:@"'`<>\\‹›]*:(?P<s>[^ \t\r\n/@"'`‹›\\]+)@"#,
        accepts: is_password,
    },
];

fn any(_: &str) -> bool {
    true
}

/// A text that only speaks of keys has the borders and no key between them.
fn is_key(text: &str) -> bool {
    let longest = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)))
        .map(str::len)
        .max();
    longest.unwrap_or(0) >= 32
}

/// Returns what makes a secret the one it is: a key is the same one however its lines are broken and indented.
pub(super) fn essence<'a>(kind: &str, secret: &'a str) -> Cow<'a, str> {
    if kind != "private-key" {
        return Cow::Borrowed(secret);
    }
    let mut plain = secret.to_owned();
    for line_end in ["\\r", "\\n", "\\t"] {
        plain = plain.replace(line_end, "");
    }
    plain.retain(|c| !c.is_whitespace());
    Cow::Owned(plain)
}

/// A placeholder stands for a password and is none.
fn is_password(text: &str) -> bool {
    let placeholder = ["${", "$(", "{", "<", "%(", "["]
        .iter()
        .any(|start| text.starts_with(start));
    let variable = text.strip_prefix('$').is_some_and(|name| {
        name.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_' || byte.is_ascii_digit())
    });
    let masked = text
        .chars()
        .all(|c| matches!(c, '*' | 'x' | 'X' | '.' | '…' | '•'));
    !(placeholder || variable || masked)
}

/// The keyword search, with the rule of each keyword.
struct Keywords {
    search: AhoCorasick,
    rules: Vec<usize>,
}

/// A table that does not compile finds nothing; a test makes sure that ours does.
static KEYWORDS: LazyLock<Option<Keywords>> = LazyLock::new(|| {
    let words = RULES
        .iter()
        .enumerate()
        .flat_map(|(at, rule)| rule.keywords.iter().map(move |word| (at, *word)));
    let (rules, words): (Vec<usize>, Vec<&str>) = words.unzip();
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .build(words)
        .ok()?;
    Some(Keywords { search, rules })
});

static EXPRESSIONS: [OnceLock<Option<Regex>>; RULES.len()] =
    [const { OnceLock::new() }; RULES.len()];

fn expression(at: usize) -> Option<&'static Regex> {
    let compile = || Regex::new(RULES[at].pattern).ok();
    EXPRESSIONS[at].get_or_init(compile).as_ref()
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) kind: &'static str,
    pub(super) range: Range<usize>,
}

/// Finds all secrets of a text, in order and without overlap.
pub(super) fn find(text: &str) -> Vec<Hit> {
    let Some(keywords) = KEYWORDS.as_ref() else {
        return Vec::new();
    };
    let mut wanted = [false; RULES.len()];
    for found in keywords.search.find_overlapping_iter(text) {
        wanted[keywords.rules[found.pattern().as_usize()]] = true;
    }
    let mut hits = Vec::new();
    for (at, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        if let Some(expression) = expression(at) {
            search(&RULES[at], expression, text, &mut hits);
        }
    }
    merged(hits)
}

fn search(rule: &Rule, expression: &Regex, text: &str, hits: &mut Vec<Hit>) {
    let mut from = 0;
    while let Some(found) = expression.captures_at(text, from) {
        let Some(whole) = found.get(0) else {
            return;
        };
        let secret = found.name("s").unwrap_or(whole);
        if !stands_alone(text, &secret.range()) {
            // The next one may begin inside, but not before these letters and digits end: they would touch it too.
            let rest = &text.as_bytes()[secret.start()..];
            let letters = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric());
            from = secret.start() + letters.count().max(1);
            continue;
        }
        if (rule.accepts)(secret.as_str()) {
            hits.push(Hit {
                kind: rule.kind,
                range: secret.range(),
            });
        }
        from = whole.end();
    }
}

/// Tells whether a secret begins and ends where words do; an escaped newline is no letter.
fn stands_alone(text: &str, secret: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let letter_at = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let before = match &bytes[..secret.start] {
        [.., b'\\', b'n' | b'r' | b't'] | [] => false,
        [.., last] => last.is_ascii_alphanumeric() && letter_at(secret.start),
    };
    let after = letter_at(secret.end) && letter_at(secret.end - 1);
    !before && !after
}

/// Sorts hits and joins those that overlap, so that no part of a secret stays.
fn merged(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.range.start, std::cmp::Reverse(hit.range.end)));
    let mut out: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match out.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
            }
            _ => out.push(hit),
        }
    }
    out
}

#[cfg(test)]
mod tests;
