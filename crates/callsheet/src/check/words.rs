//! Words and sentences, as far as telling an order from its opposite needs them.

/// Words that ask for what follows.
const ASKING: &[&str] = &[
    "use", "using", "call", "calling", "run", "running", "invoke", "execute", "try", "prefer",
    "with", "via", "through",
];

/// Words that take an order back, before the name or behind it.
const DENYING: &[&str] = &[
    "never",
    "not",
    "nor",
    "neither",
    "cannot",
    "dont",
    "denied",
    "denies",
    "disabled",
    "disallowed",
    "forbidden",
    "prohibited",
    "unavailable",
    "blocked",
];

/// Words that take back what follows them; behind a name they speak of something else.
const DENYING_NEXT: &[&str] = &["no", "avoid", "without", "except", "unlike"];

/// Words that do so with a second one. Alone they ask: "use bash instead".
const DENYING_PAIRS: &[[&str; 2]] = &[["instead", "of"], ["rather", "than"]];

/// Words that begin another order in the same sentence.
const BEGINNING: &[&str] = &["but", "instead", "rather"];

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
    /// Whether a colon, a dash or a bracket stands before it, which begin another order as a comma does.
    after_break: bool,
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
            after_break: gap.ends_with('(') || gap.contains([':', '–', '—']) || gap.contains(" - "),
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
    // A comma before what asks begins another order.
    let mut begun = words[asking].after_comma || words[asking].after_break;
    let before = words[..asking].iter().enumerate().rev();
    let before = before.take_while(|(_, word)| own(word)).take(GUARD);
    let mut before = before.take_while(|(at, word)| {
        let go_on = !begun;
        begun = word.after_comma || word.is(BEGINNING) && !is_pair(words, *at);
        go_on
    });
    let behind = words[at + 1..].iter().take_while(own).take(GUARD);
    let mut behind = behind.take_while(|word| !word.after_comma);
    let guarded = before.any(|(at, word)| takes_back(words, at) || word.is(CONDITION))
        || (asking + 1..at).any(|at| takes_back(words, at))
        || behind.any(Word::denies);
    !guarded
}

/// Tells whether a word takes back what follows it.
fn takes_back(words: &[Word<'_>], at: usize) -> bool {
    words[at].denies() || words[at].is(DENYING_NEXT) || is_pair(words, at)
}

fn is_pair(words: &[Word<'_>], at: usize) -> bool {
    let mut pairs = DENYING_PAIRS.iter();
    let Some(next) = words.get(at + 1) else {
        return false;
    };
    pairs.any(|[first, second]| words[at].is(&[first]) && next.is(&[second]))
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
