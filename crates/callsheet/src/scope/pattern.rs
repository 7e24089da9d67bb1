//! What two patterns have in common, decided from the patterns alone.
//!
//! [`meet`] never misses a path that both match; [`covers`] is true only if it is certain. Between them lies what
//! nobody decides here.

/// More alternatives than these are not written out.
const MOST_ALTERNATIVES: usize = 64;

/// A pattern, taken apart.
#[derive(Debug)]
pub(super) struct Pattern {
    text: String,
    /// One per alternative; nothing if the pattern is beyond what is decided here.
    alternatives: Option<Vec<Vec<PathSegment>>>,
}

/// What stands between two separators.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathSegment {
    /// Any number of parts.
    Any,
    /// One part.
    One(Vec<Token>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `?`
    AnyChar,
    /// `*`
    AnyChars,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Pattern {
    /// Takes a pattern apart.
    pub(super) fn parse(text: &str) -> Self {
        let mut expanded = Vec::new();
        let alternatives = expand(text, &mut expanded)
            .and_then(|()| expanded.iter().map(|one| parts(one)).collect());
        Self {
            text: text.to_owned(),
            alternatives,
        }
    }
}

/// Writes out every alternative of `{a,b}`; nothing if there are too many or a brace is not closed.
fn expand(text: &str, out: &mut Vec<String>) -> Option<()> {
    if out.len() >= MOST_ALTERNATIVES {
        return None;
    }
    let (open, close, commas) = match braces(text) {
        Braces::None => {
            out.push(text.to_owned());
            return Some(());
        }
        Braces::Unclosed => return None,
        Braces::Pair {
            open,
            close,
            commas,
        } => (open, close, commas),
    };
    let mut starts = vec![open + 1];
    starts.extend(commas.iter().map(|comma| comma + 1));
    let ends = commas.iter().copied().chain([close]);
    for (start, end) in starts.into_iter().zip(ends) {
        let one = format!(
            "{}{}{}",
            &text[..open],
            &text[start..end],
            &text[close + 1..]
        );
        expand(&one, out)?;
    }
    Some(())
}

/// What a pattern has of braces.
enum Braces {
    None,
    /// The first pair, and the commas between its alternatives.
    Pair {
        open: usize,
        close: usize,
        commas: Vec<usize>,
    },
    /// Braces or a class that do not end are read by nobody the same way.
    Unclosed,
}

fn braces(text: &str) -> Braces {
    let (mut open, mut depth, mut commas) = (0, 0_usize, Vec::new());
    let (mut escaped, mut in_class) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ']' if in_class => in_class = false,
            _ if in_class => {}
            '[' => in_class = true,
            '{' => {
                open = if depth == 0 { at } else { open };
                depth += 1;
            }
            '}' if depth == 0 => return Braces::Unclosed,
            '}' if depth == 1 => {
                return Braces::Pair {
                    open,
                    close: at,
                    commas,
                };
            }
            '}' => depth -= 1,
            ',' if depth == 1 => commas.push(at),
            _ => {}
        }
    }
    if depth == 0 && !in_class {
        Braces::None
    } else {
        Braces::Unclosed
    }
}

fn parts(text: &str) -> Option<Vec<PathSegment>> {
    let mut parts = Vec::new();
    for part in text.split('/') {
        parts.push(match part {
            "**" => PathSegment::Any,
            _ => PathSegment::One(tokens(part)?),
        });
    }
    // At the end, `**` means at least one part.
    if parts.last() == Some(&PathSegment::Any) {
        parts.insert(parts.len() - 1, PathSegment::One(vec![Token::AnyChars]));
    }
    Some(parts)
}

fn tokens(part: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut chars = part.chars().peekable();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '\\' => Token::Char(chars.next()?),
            '?' => Token::AnyChar,
            '*' => {
                while chars.next_if_eq(&'*').is_some() {}
                Token::AnyChars
            }
            '[' => class(&mut chars)?,
            c => Token::Char(c),
        });
    }
    Some(tokens)
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let negated = chars.next_if(|c| matches!(c, '!' | '^')).is_some();
    let mut ranges = Vec::new();
    loop {
        let low = chars.next()?;
        if low == ']' && !ranges.is_empty() {
            return Some(Token::Class { negated, ranges });
        }
        if chars.peek() != Some(&'-') {
            ranges.push((low, low));
            continue;
        }
        chars.next();
        if chars.peek() == Some(&']') {
            ranges.extend([(low, low), ('-', '-')]);
        } else {
            ranges.push((low, chars.next()?));
        }
    }
}

/// Tells whether some path could match both patterns; what cannot be decided counts as yes.
pub(super) fn meet(one: &Pattern, other: &Pattern) -> bool {
    let (Some(one), Some(other)) = (&one.alternatives, &other.alternatives) else {
        return true;
    };
    one.iter()
        .any(|one| other.iter().any(|other| parts_meet(one, other)))
}

fn parts_meet(one: &[PathSegment], other: &[PathSegment]) -> bool {
    both_ways(
        one,
        other,
        &|part| matches!(part, PathSegment::Any),
        &|a, b| {
            let (PathSegment::One(a), PathSegment::One(b)) = (a, b) else {
                return true;
            };
            both_ways(
                a,
                b,
                &|token| matches!(token, Token::AnyChars),
                &token_meets,
            )
        },
    )
}

/// Tells whether two sequences can spell the same, where a `wild` item spells any number of others.
fn both_ways<T>(
    one: &[T],
    other: &[T],
    wild: &dyn Fn(&T) -> bool,
    same: &dyn Fn(&T, &T) -> bool,
) -> bool {
    let width = other.len() + 1;
    let mut table = vec![false; (one.len() + 1) * width];
    for a in (0..=one.len()).rev() {
        for b in (0..=other.len()).rev() {
            let at = |a: usize, b: usize| table[a * width + b];
            let (left, right) = (one.get(a), other.get(b));
            let found = match (left, right) {
                (None, None) => true,
                (Some(left), _) if wild(left) => at(a + 1, b) || right.is_some() && at(a, b + 1),
                (_, Some(right)) if wild(right) => at(a, b + 1) || left.is_some() && at(a + 1, b),
                (Some(left), Some(right)) => same(left, right) && at(a + 1, b + 1),
                _ => false,
            };
            table[a * width + b] = found;
        }
    }
    table[0]
}

fn token_meets(one: &Token, other: &Token) -> bool {
    match (one, other) {
        (Token::Char(one), Token::Char(other)) => one == other,
        (Token::Char(c), Token::Class { negated, ranges })
        | (Token::Class { negated, ranges }, Token::Char(c)) => {
            *negated != ranges.iter().any(|(low, high)| (low..=high).contains(&c))
        }
        // Two classes that may have a sign in common are taken to have one.
        _ => true,
    }
}

/// Tells whether every path that `inner` matches is matched by `outer`, as far as that is certain.
pub(super) fn covers(outer: &Pattern, inner: &Pattern) -> bool {
    if outer.text == inner.text {
        return true;
    }
    let (Some(outer), Some(inner)) = (&outer.alternatives, &inner.alternatives) else {
        return false;
    };
    inner
        .iter()
        .all(|inner| outer.iter().any(|outer| parts_cover(outer, inner)))
}

fn parts_cover(outer: &[PathSegment], inner: &[PathSegment]) -> bool {
    let width = inner.len() + 1;
    let mut table = vec![false; (outer.len() + 1) * width];
    for a in (0..=outer.len()).rev() {
        for b in (0..=inner.len()).rev() {
            let at = |a: usize, b: usize| table[a * width + b];
            let found = match (outer.get(a), inner.get(b)) {
                (None, None) => true,
                (Some(PathSegment::Any), right) => at(a + 1, b) || right.is_some() && at(a, b + 1),
                (Some(PathSegment::One(outer)), Some(PathSegment::One(inner))) => {
                    tokens_cover(outer, inner) && at(a + 1, b + 1)
                }
                _ => false,
            };
            table[a * width + b] = found;
        }
    }
    table[0]
}

fn tokens_cover(outer: &[Token], inner: &[Token]) -> bool {
    let literal = inner.iter().all(|token| matches!(token, Token::Char(_)));
    outer == [Token::AnyChars]
        || outer == inner
        || literal
            && both_ways(
                outer,
                inner,
                &|token| matches!(token, Token::AnyChars),
                &token_meets,
            )
}
