//! `find`: which prompts carried a text, and the search by words, over many prompts.

use std::time::Duration;

use callsheet_store::{Store, block_on};

use crate::corpus::Corpus;
use crate::place::Place;
use crate::queries::{self, Kind};
use crate::table::{self, median, met, ms, timed, worst};

/// How long an answer may take.
const TARGET: Duration = Duration::from_millis(100);

/// How many answers a person gets.
const LIMIT: usize = 20;

pub(crate) fn run(place: &Place, corpus: &Corpus) {
    let store = place.open();
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for kind in queries::texts(corpus) {
        let look = |text: &String| {
            let found = block_on(store.carriers(&corpus.project, text, LIMIT)).unwrap();
            found.prompts.len()
        };
        rows.push(row("why --text", &kind, look, &mut all));
    }
    rows.push(summary("why --text", &all));
    all.clear();
    for kind in queries::words(corpus) {
        rows.push(row(
            "search",
            &kind,
            |text| searched(&store, corpus, text),
            &mut all,
        ));
    }
    rows.push(summary("search", &all));
    let title = format!("{}: over {} prompts", place.database.name(), corpus.count);
    table::print(
        [
            &title, "queries", "wrong", "median", "worst", "target", "met",
        ],
        &rows,
    );
}

fn searched(store: &Store, corpus: &Corpus, text: &str) -> usize {
    block_on(store.search(&corpus.project, text, LIMIT))
        .unwrap()
        .len()
}

fn row(
    command: &str,
    kind: &Kind,
    look: impl Fn(&String) -> usize,
    all: &mut Vec<Duration>,
) -> [String; 7] {
    let mut wrong = 0;
    let mut times = Vec::new();
    for text in &kind.texts {
        let mut found = 0;
        times.push(timed(|| found = look(text)));
        wrong += usize::from((found > 0) != kind.there);
    }
    let row = cells(format!("{command}: {}", kind.name), wrong, &times);
    all.extend(times);
    row
}

fn summary(command: &str, all: &[Duration]) -> [String; 7] {
    cells(format!("{command}: all"), 0, all)
}

fn cells(name: String, wrong: usize, times: &[Duration]) -> [String; 7] {
    [
        name,
        times.len().to_string(),
        if wrong > 0 {
            wrong.to_string()
        } else {
            String::new()
        },
        ms(median(times)),
        ms(worst(times)),
        format!("< {} ms", TARGET.as_millis()),
        met(worst(times) < TARGET),
    ]
}
