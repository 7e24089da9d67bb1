//! Words and sentences, as far as telling an order from its opposite needs them.

/// Words that ask for what follows.
const ASKING: &[&str] = &[
    "use", "using", "call", "calling", "run", "running", "invoke", "execute", "try", "prefer",
    "with", "via", "through",
];

/// Words that take an order back, before it or behind it.
const DENYING: &[&str] = &[
    "never",
    "not",
    "no",
    "nor",
    "neither",
    "cannot",
    "avoid",
    "without",
    "dont",
    "instead",
    "rather",
    "except",
    "unlike",
    "denied",
    "denies",
    "disabled",
    "disallowed",
    "forbidden",
    "prohibited",
    "unavailable",
    "blocked",
];

/// Words that make an order a condition.
const CONDITION: &[&str] = &["if", "unless", "whether", "when", "whenever"];

/// Words before which a name in backticks is itself what is asked for, as in "`fs.read` the file".
const OBJECT: &[&str] = &[
    "the", "a", "an", "this", "these", "it", "them", "all", "each", "every", "your",
];

/// Words that may stand before such a name; otherwise it begins its sentence.
const LEADING: &[&str] = &[
    "first", "then", "next", "and", "to", "always", "please", "must", "should",
];

/// So many words may stand between what asks and the name.
const REACH: usize = 6;

/// So many words before what asks, or behind the name, are looked at for their opposite.
const GUARD: usize = 5;

/// So many characters of a sentence are shown.
const SHOWN: usize = 160;

/// A word of a text.
#[derive(Debug)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
    /// The number of its sentence.
    pub(super) sentence: usize,
    /// Whether a comma stands before it.
    after_comma: bool,
    /// Whether it stands in backticks.
    quoted: bool,
}

impl Word<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    fn is(&self, list: &[&str]) -> bool {
        let lower = self.text.to_lowercase();
        list.contains(&lower.as_str())
    }

    fn denies(&self) -> bool {
        self.is(DENYING) || self.text.ends_with("n't") || self.text.ends_with("n’t")
    }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || "_.:*-'’".contains(c)
}

/// Splits a text into its words.
pub(super) fn split(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let (mut sentence, mut done, mut next) = (0, 0, 0);
    for run in text.split_inclusive(|c: char| !in_word(c)) {
        let at_edge = |c: char| !c.is_alphanumeric() && c != '_';
        let word = run.trim_start_matches(at_edge);
        let start = next + run.len() - word.len();
        next += run.len();
        let word = word.trim_end_matches(at_edge);
        if word.is_empty() {
            continue;
        }
        let gap = &text[done..start];
        if ends_sentence(gap) {
            sentence += 1;
        }
        words.push(Word {
            text: word,
            start,
            sentence,
            after_comma: gap.contains(','),
            quoted: gap.ends_with('`') && text[start + word.len()..].starts_with('`'),
        });
        done = start + word.len();
    }
    words
}

/// Tells whether what stands between two words parts sentences: a full stop, an empty line, or a new item.
fn ends_sentence(gap: &str) -> bool {
    let stop = gap
        .char_indices()
        .any(|(at, c)| ".!?;".contains(c) && gap[at + 1..].starts_with(char::is_whitespace));
    let mut lines = gap.split('\n').skip(1);
    stop || gap.contains("```")
        || lines.any(|line| {
            let line = line.trim();
            line.is_empty() && gap.matches('\n').count() > 1
                || line.starts_with(['-', '*', '+', '#', '>', '|', '<'])
        })
}

/// Tells whether the sentence of a word asks for it, and does not take that back.
pub(super) fn asks_for(words: &[Word<'_>], at: usize) -> bool {
    let own = |word: &&Word<'_>| word.sentence == words[at].sentence;
    let asking = words[..at]
        .iter()
        .rev()
        .take_while(own)
        .take(REACH)
        .position(|word| word.is(ASKING))
        .map(|back| at - 1 - back);
    let Some(asking) = asking.or_else(|| is_verb(words, at).then_some(at)) else {
        return false;
    };
    let between = words.get(asking + 1..at).unwrap_or_default();
    // A comma before what asks begins another order.
    let mut begun = words[asking].after_comma;
    let before = words[..asking].iter().rev().take_while(own).take(GUARD);
    let before = before.take_while(|word| {
        let go_on = !begun;
        begun = word.after_comma;
        go_on
    });
    let behind = words[at + 1..].iter().take_while(own).take(GUARD);
    let behind = behind.take_while(|word| !word.after_comma);
    let guarded = before
        .map(|word| word.denies() || word.is(CONDITION))
        .chain(between.iter().chain(behind).map(Word::denies))
        .any(|taken_back| taken_back);
    !guarded
}

/// Tells whether a name in backticks is used as a verb.
fn is_verb(words: &[Word<'_>], at: usize) -> bool {
    let same = |word: &&Word<'_>| word.sentence == words[at].sentence;
    let object = words.get(at + 1).filter(same);
    let before = at.checked_sub(1).map(|before| &words[before]);
    let leads = before.filter(same).is_none_or(|word| word.is(LEADING));
    words[at].quoted && leads && object.is_some_and(|word| word.is(OBJECT))
}

/// Returns a sentence on one line, with as much of it as people read.
pub(super) fn sentence(text: &str, words: &[Word<'_>], number: usize) -> String {
    let mut own = words.iter().filter(|word| word.sentence == number);
    let first = own.next();
    let start = first.map_or(0, |word| word.start);
    let end = own.next_back().or(first).map_or(start, Word::end);
    let line: Vec<&str> = text[start..end].split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}
