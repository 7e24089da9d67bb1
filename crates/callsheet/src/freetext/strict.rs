//! The strict rules, for values anywhere in a text that somebody else wrote.
//!
//! [`neutralise`](super::neutralise) is for texts that blank lines keep apart. Where nobody knows what stands around a
//! value, a tag that begins a line is dangerous, too, and so are list items, quotes and rules where they would go on with a
//! list of the recipe. It stays visible and reversible: one more backslash, before the same signs, everywhere where there
//! is one already.

use std::collections::BTreeSet;

use super::fences::{self, Context};
use super::line::{Kind, container, lines, special_at};
use crate::text::is_space;

/// A sign that makes a line special, by the strict rules.
struct Sign {
    /// Where backslashes go.
    at: usize,
    /// Whether some stand there.
    escaped: bool,
    form: Form,
}

/// What makes a line special.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// What the other rules know, too.
    Known(Kind),
    Tag,
    Rule,
    /// A link by its name: Markdown shows no such line, and links what has that name.
    Definition,
    Item,
    /// What the text behind it may make special.
    Unfinished,
}

/// Returns where a backslash goes in a value of one line, behind `before`, of which the first `own` bytes are the recipe's.
pub(crate) fn in_line(before: &str, own: usize, value: &str) -> Option<usize> {
    if begins_with_a_word(before, own, value) {
        return None;
    }
    let line = format!("{before}{value}");
    let sign = sign(&line, own, true).or_else(|| unfinished(&line, own))?;
    // What the line is without the value, no backslash in the value takes back.
    let was = self::sign(before, own, true);
    let is_old = was.is_some_and(|was| was.at == sign.at && was.form == sign.form);
    (!is_old).then(|| sign.at.saturating_sub(before.len()))
}

/// Tells whether a line begins with a word, behind list items and quote signs of the recipe, so that no sign is at its start.
fn begins_with_a_word(before: &str, own: usize, value: &str) -> bool {
    let mut rest = before.trim_start_matches(is_space);
    loop {
        let begins = if rest.is_empty() {
            value.trim_start_matches(is_space)
        } else {
            rest
        };
        let first = begins.chars().next();
        if first.is_none_or(|c| c.is_ascii_alphabetic() || !c.is_ascii()) {
            return first.is_some();
        }
        let is_own = before.len() - rest.len() < own;
        let Some(sign) = container(rest).filter(|_| is_own) else {
            return false;
        };
        rest = rest[sign..].trim_start_matches(is_space);
    }
}

/// Returns where backslashes go in a value of several lines; `items` tells whether list items are dangerous, and
/// `tangled` whether nobody can tell what a fence in it would do.
pub(crate) fn in_block(value: &str, items: bool, tangled: bool) -> Vec<usize> {
    let all: Vec<_> = lines(value).collect();
    let specials: Vec<_> = all.iter().map(|line| line.special(value)).collect();
    let contexts = if tangled {
        vec![Context::Tangled; all.len()]
    } else {
        fences::contexts(value, &all, &specials)
    };
    let found = all.iter().zip(contexts).filter_map(|(line, context)| {
        let range = line.range();
        let sign = sign(&value[range.clone()], 0, items)?;
        let dangerous = match sign.form {
            Form::Known(kind) => super::is_dangerous(kind, context),
            _ => context != Context::Code,
        };
        (sign.escaped || dangerous).then_some(range.start + sign.at)
    });
    found.collect()
}

/// Returns where backslashes go in a value that stands in a code block, so that no line of it closes one where it is not
/// `longer` than all that are in it; for readers that go line by line, no line is a heading of the recipe's level either.
pub(crate) fn in_fence(value: &str, longer: bool) -> Vec<usize> {
    let found = lines(value).filter_map(|line| {
        let special = line.special(value)?;
        let closes = matches!(special.kind, Kind::Fence { .. }) && !longer;
        let forges = super::is_dangerous(special.kind, Context::Code) || special.escapes > 0;
        (closes || forges).then_some(special.sign)
    });
    found.collect()
}

/// Returns where backslashes go so that a value has none of these tags, opening or closing; `open` is what values before
/// it have of a tag.
pub(crate) fn tags(open: &str, value: &str, names: &BTreeSet<String>) -> Vec<usize> {
    let none = open.is_empty() && memchr::memchr(b'<', value.as_bytes()).is_none();
    if names.is_empty() || none {
        return Vec::new();
    }
    let text = format!("{open}{value}");
    let signs = memchr::memchr_iter(b'<', text.as_bytes());
    let found = signs.filter_map(|at| {
        let inner = text[at + 1..].trim_start_matches('\\');
        let escapes = text.len() - at - 1 - inner.len();
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        let is_tag = names.contains(tag_name(inner.trim_start_matches('\\')));
        is_tag.then(|| (at + 1 + escapes).saturating_sub(open.len()))
    });
    found.collect()
}

/// Returns the name that a text begins with, as tags have them.
pub(crate) fn tag_name(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')));
    &text[..end.unwrap_or(text.len())]
}

/// Returns the names of the tags that a text has.
pub(crate) fn tag_names(text: &str) -> impl Iterator<Item = &str> {
    let found = memchr::memchr_iter(b'<', text.as_bytes());
    let names = found.map(|at| {
        let inner = &text[at + 1..];
        tag_name(inner.strip_prefix('/').unwrap_or(inner))
    });
    names.filter(|name| name.starts_with(|c: char| c.is_alphabetic()))
}

/// Returns a value with backslashes put into it, as [`in_block`] does it, as it was before.
#[cfg(test)]
pub(crate) fn restore(value: &str, items: bool) -> String {
    let mut out = String::new();
    let mut copied = 0;
    for line in lines(value) {
        let range = line.range();
        if let Some(sign) = sign(&value[range.clone()], 0, items).filter(|sign| sign.escaped) {
            out.push_str(&value[copied..range.start + sign.at - 1]);
            copied = range.start + sign.at;
        }
    }
    out.push_str(&value[copied..]);
    out
}

/// Returns what makes a line special, unless the first `own` bytes do.
fn sign(line: &str, own: usize, items: bool) -> Option<Sign> {
    let mut at = 0;
    let rules = rules_from(line);
    loop {
        at += line[at..].len() - line[at..].trim_start_matches(is_space).len();
        let rest = &line[at..];
        if let Some((kind, sign, escapes)) = special_at(rest) {
            let sign = Sign {
                at: at + sign,
                escaped: escapes > 0,
                form: Form::Known(kind),
            };
            return (sign.at >= own).then_some(sign);
        }
        let found = tag(rest).map(|found| (found, Form::Tag));
        let found = found.or_else(|| Some((rule(rest, rules.saturating_sub(at))?, Form::Rule)));
        let found = found.or_else(|| Some((definition(rest)?, Form::Definition)));
        let found = found.or_else(|| Some((item(rest).filter(|_| items)?, Form::Item)));
        if let Some(((sign, escapes), form)) = found
            && at + sign >= own
        {
            return Some(Sign {
                at: at + sign,
                escaped: escapes > 0,
                form,
            });
        }
        at += container(rest)?;
    }
}

/// Returns a sign at the end of a line that what follows it may make special.
fn unfinished(line: &str, own: usize) -> Option<Sign> {
    let sign = line.trim_start_matches(is_space);
    let at = line.len() - sign.len();
    let same = |sign: &str, wanted: char| !sign.is_empty() && sign.chars().all(|c| c == wanted);
    let open = sign == "<"
        || ['`', '~', '*', '_', '#', '-', '=']
            .iter()
            .any(|c| same(sign, *c));
    (open && at >= own).then_some(Sign {
        at,
        escaped: false,
        form: Form::Unfinished,
    })
}

/// Returns where the name of a tag stands, and how many backslashes are before it.
///
/// They go behind the `<`, so that who looks for the tag as a text does not find it either.
fn tag(rest: &str) -> Option<(usize, usize)> {
    let inner = rest.strip_prefix('<')?;
    let bare = inner.trim_start_matches('\\');
    let escapes = inner.len() - bare.len();
    let begins = bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    begins.then_some((1 + escapes, escapes))
}

/// Returns from where on a line is nothing but signs of one kind and blanks, so that a rule can begin there.
fn rules_from(line: &str) -> usize {
    let before = |sign| line.trim_end_matches(|c| c == sign || is_space(c)).len();
    before('*').min(before('_'))
}

/// Returns where the first sign of a rule stands, which is `from` at the earliest: three or more of one sign, and blanks.
///
/// A line of very many list items is not read anew for each of them.
fn rule(rest: &str, from: usize) -> Option<(usize, usize)> {
    let bare = rest.trim_start_matches('\\');
    let escapes = rest.len() - bare.len();
    if escapes < from {
        return None;
    }
    let sign = bare.chars().next().filter(|c| matches!(c, '*' | '_'))?;
    let signs = bare.chars().filter(|c| *c == sign).count();
    let only = bare.chars().all(|c| c == sign || is_space(c));
    (only && signs >= 3).then_some((escapes, escapes))
}

/// Returns where the definition of a link stands, or what may become one: `[name]: target`.
fn definition(rest: &str) -> Option<(usize, usize)> {
    let bare = rest.trim_start_matches('\\');
    let escapes = rest.len() - bare.len();
    let name = bare.strip_prefix('[')?;
    let mut is_escaped = false;
    let end = name.find(|c| {
        let ends = c == ']' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    let behind = end.map_or("", |end| &name[end + 1..]);
    (behind.is_empty() || behind.starts_with(':')).then_some((escapes, escapes))
}

/// Returns where the sign of a list item or a quote stands.
fn item(rest: &str) -> Option<(usize, usize)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let bare = rest[digits..].trim_start_matches('\\');
    let escapes = rest.len() - digits - bare.len();
    let mut chars = bare.chars();
    let (sign, after) = (chars.next()?, chars.as_str());
    let spaced = after.is_empty() || after.starts_with(is_space);
    let found = match sign {
        '.' | ')' => (1..=9).contains(&digits) && spaced,
        '-' | '+' | '*' => digits == 0 && spaced,
        '>' => digits == 0,
        _ => false,
    };
    found.then_some((digits + escapes, escapes))
}

/// A line that opens or closes a code block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fence {
    sign: u8,
    len: usize,
    bare: bool,
    /// Whether it can open a code block.
    pub(crate) opens: bool,
    /// Whether the line begins with it.
    pub(crate) at_margin: bool,
    /// Where its signs end in the line.
    pub(crate) end: usize,
}

impl Fence {
    /// Tells whether it closes the code block of another.
    pub(crate) fn closes(&self, open: &Self) -> bool {
        self.sign == open.sign && self.len >= open.len && self.bare
    }
}

/// Returns the fence that a line is.
pub(crate) fn fence(line: &str) -> Option<Fence> {
    memchr::memchr2(b'`', b'~', line.as_bytes())?;
    let special = lines(line).next()?.special(line)?;
    match special.kind {
        Kind::Fence {
            sign,
            len,
            bare,
            plain,
        } if special.escapes == 0 => Some(Fence {
            sign,
            len,
            bare,
            opens: plain,
            at_margin: special.at_margin,
            end: special.sign + len,
        }),
        _ => None,
    }
}

/// Tells whether no line behind this one goes on with a paragraph before it: it is a heading, or opens a code block.
pub(crate) fn ends_paragraph(line: &str) -> bool {
    let found = special_at(line.trim_start_matches(is_space));
    let known = found.filter(|(_, _, escapes)| *escapes == 0);
    known.is_some_and(|(kind, ..)| {
        matches!(kind, Kind::Heading(_) | Kind::Fence { plain: true, .. })
    })
}

/// Tells whether a line at the margin ends a list right before it.
pub(crate) fn ends_list(line: &str) -> bool {
    let bare = line.trim_end_matches(is_space);
    let is_rule = bare.len() >= 3 && bare.bytes().all(|byte| byte == b'-');
    ends_paragraph(line) || is_rule || rule(line, 0).is_some() || line.starts_with('>')
}

/// Tells whether some line of a text is a list item or a quote.
pub(crate) fn has_items(text: &str) -> bool {
    lines(text).any(|line| item(text[line.range()].trim_start_matches(is_space)).is_some())
}

/// Returns where backslashes go so that a value ends no cell of a table.
pub(crate) fn in_row(value: &str) -> Vec<usize> {
    let bytes = value.as_bytes();
    let ends = memchr::memchr_iter(b'|', bytes).chain([bytes.len()]);
    let found = ends.flat_map(|end| {
        let signs = bytes[..end].iter().rev().take_while(|byte| **byte == b'\\');
        let signs = signs.count();
        // What escapes the sign must not be escaped itself.
        std::iter::repeat_n(end, signs + usize::from(end < bytes.len()))
    });
    found.collect()
}

/// Tells whether a line is a list item.
pub(crate) fn is_item(line: &str) -> bool {
    let inner = line.trim_start_matches(is_space);
    item(inner).is_some_and(|(_, escapes)| escapes == 0) && !inner.starts_with('>')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn with(value: &str, places: &[usize]) -> String {
        let mut out = String::new();
        let mut done = 0;
        for at in places {
            out.push_str(&value[done..*at]);
            out.push('\\');
            done = *at;
        }
        out + &value[done..]
    }

    #[test]
    fn a_line_of_very_many_items_is_read_once() {
        let items = "* ".repeat(500_000);
        assert_eq!(in_block(&format!("{items}x"), false, false), [0; 0]);
        assert_eq!(in_block(&items, false, false), [0]);
        let mixed = format!("{items}_ _ _");
        assert_eq!(in_block(&mixed, false, false), [1_000_000]);
    }

    #[test]
    fn what_begins_a_line_makes_nothing() {
        for (before, own, value, at) in [
            ("", 0, "## x", Some(1)),
            ("", 0, "- x", Some(0)),
            ("", 0, "12. x", Some(2)),
            ("", 0, "> x", Some(0)),
            ("", 0, "* * *", Some(0)),
            ("", 0, "<div>", Some(1)),
            ("", 0, "</x>", Some(1)),
            ("", 0, "<", Some(0)),
            ("", 0, "``", Some(0)),
            ("", 0, "x - y", None),
            ("- ", 2, "- x", Some(0)),
            ("- ", 2, "# x", Some(0)),
            ("# ", 2, "# x", None),
            ("Title: ", 7, "# x", None),
            // What another value has begun is gone on with.
            ("1", 0, ". x", Some(0)),
            ("``", 0, "` x", Some(0)),
            ("* *", 0, " *", Some(0)),
            // What was there before it is no work of the value.
            ("1. ", 0, "x", None),
            ("- - x ", 2, "y", None),
            ("<", 0, "!-- x", Some(0)),
        ] {
            assert_eq!(in_line(before, own, value), at, "{before}|{value}");
        }
    }

    #[test]
    fn blocks_keep_their_lists_unless_they_stand_in_one() {
        let value = "- a\n1. b\n<p>\n***\n## c";
        let with = |items| with(value, &in_block(value, items, false));
        assert_eq!(with(false), "- a\n1. b\n<\\p>\n\\***\n#\\# c");
        assert_eq!(with(true), "\\- a\n1\\. b\n<\\p>\n\\***\n#\\# c");
    }

    #[test]
    fn a_tag_that_two_values_make_is_undone() {
        let names = BTreeSet::from(["task".to_owned()]);
        assert_eq!(tags("<", "/task>", &names), [0]);
        assert_eq!(tags("</ta", "sk>", &names), [0]);
        assert_eq!(tags("<\\/", "task>", &names), [0]);
    }

    #[test]
    fn tags_of_the_recipe_are_undone_wherever_they_stand() {
        let names = BTreeSet::from(["task".to_owned()]);
        let value = "a </task> <task id=\"1\"> <tasks> <\\/task> Vec<task>";
        assert_eq!(
            with(value, &tags("", value, &names)),
            "a <\\/task> <\\task id=\"1\"> <tasks> <\\\\/task> Vec<\\task>"
        );
    }

    proptest! {
        #[test]
        fn a_line_that_begins_with_a_word_has_no_sign(
            parts in prop::collection::vec(prop::sample::select(vec![
                "#", "- ", "-", "1", ". ", "> ", "* ", "_", "<", "a", "é", "\\", "```", " ", "---", "=",
            ]), 0..10),
            cuts in any::<[prop::sample::Index; 2]>(),
        ) {
            let line = parts.concat();
            let ends: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            let mut cuts = cuts.map(|cut| *cut.get(&ends));
            cuts.sort_unstable();
            let [own, before] = cuts;
            if begins_with_a_word(&line[..before], own, &line[before..]) {
                prop_assert!(sign(&line, own, true).is_none());
                prop_assert!(unfinished(&line, own).is_none());
            }
        }

        #[test]
        fn a_block_comes_back_as_it_was(
            parts in prop::collection::vec(prop::sample::select(vec![
                "#", "- ", "1", ". ", "> ", "*", "_", "<", "/", "a", "\\", "`", "~~~", "\n", "\r", " ", "---", "=",
            ]), 0..24),
            items in any::<bool>(),
            tangled in any::<bool>(),
        ) {
            let value = parts.concat();
            let harmless = with(&value, &in_block(&value, items, tangled));
            prop_assert_eq!(restore(&harmless, items), value);
        }
    }
}
