//! What is looked for in many prompts: texts of every kind that an index may find easy or hard.

use crate::corpus::{Corpus, task};
use crate::text::Chance;

/// How many texts there are of each kind.
pub(crate) const EACH: usize = 40;

/// Texts of one kind.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) texts: Vec<String>,
    /// Whether they are there to be found.
    pub(crate) there: bool,
}

fn kind(name: &'static str, there: bool, text: impl FnMut(usize) -> String) -> Kind {
    let texts = (0..EACH).map(text).collect();
    Kind { name, texts, there }
}

/// Returns texts to find exactly.
pub(crate) fn texts(corpus: &Corpus) -> Vec<Kind> {
    let (mut chance, mut pairs) = (Chance::new(11), Chance::new(14));
    let text = &corpus.last.text;
    let sections = &corpus.last.manifest.sections;
    // The last two sections are the task and the digest, which belong to one prompt alone.
    let shared = &sections[..sections.len() - 2];
    let within = |at: usize, length: usize| {
        let section = &shared[at % shared.len()];
        let start = section.start + (at * 37) % (section.end - section.start - length);
        text[start..start + length].to_owned()
    };
    let across = |at: usize, before: usize, after: usize| {
        let at = at % (shared.len() - 1);
        text[shared[at].end - before..shared[at + 1].start + after].to_owned()
    };
    vec![
        kind("in one prompt", true, |_| {
            let number = chance.below(corpus.count);
            task(number).lines().next().unwrap().to_owned()
        }),
        kind("in all prompts", true, |at| within(at, 40)),
        kind("three letters in all prompts", true, |at| within(at, 3)),
        kind("two words in some prompts", true, |_| {
            format!("{} {}", pairs.word(), pairs.word())
        }),
        kind("where sections meet", true, |at| across(at, 20, 20)),
        kind("far across sections", true, |at| across(at, 200, 200)),
        kind("far across, in one old prompt", true, |at| {
            let (text, sections) = (&corpus.old.text, &corpus.old.manifest.sections);
            let task = &sections[sections.len() - 2];
            text[task.start - 80 - at..task.start + 30].to_owned()
        }),
        kind("absent", false, |at| {
            format!("zyx{at}wvu never said qqq{at}")
        }),
        kind("absent, three letters", false, |at| {
            let letter = |nth: usize| char::from(b"QXZJKVWY"[nth % 8]);
            [letter(at), letter(at / 8 + 3), letter(at * 3)]
                .iter()
                .collect()
        }),
        kind("absent, of common words", false, |at| {
            let mut words: Vec<String> = within(at, 60).split(' ').map(str::to_owned).collect();
            words.reverse();
            format!("{}#", words.join(" "))
        }),
        kind("absent, common beginning", false, |at| {
            within(at, 100) + " zyxwvu"
        }),
    ]
}

/// Returns words to search for.
pub(crate) fn words(corpus: &Corpus) -> Vec<Kind> {
    let mut chance = Chance::new(12);
    let mut two = Chance::new(13);
    vec![
        kind("words of one prompt", true, |_| {
            let number = chance.below(corpus.count);
            format!("ticket {number:05}")
        }),
        kind("a word of all prompts", true, |_| two.word().to_owned()),
        kind("words of all prompts", true, |at| {
            format!("{} return section", ["error", "let", "iter"][at % 3])
        }),
        kind("the beginning of words", true, |at| {
            ["ses", "pro", "upd"][at % 3].to_owned()
        }),
        kind("absent words", false, |at| format!("zyxwvu{at} session")),
    ]
}
