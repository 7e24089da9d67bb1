//! `find`: which prompts carried a text, and the search by words, over more and more prompts.

use std::time::Duration;

use callsheet_store::Wait;

use crate::bench_store::{BenchStore, Database};
use crate::corpus::Corpus;
use crate::queries::{self, Kind};
use crate::table::{self, median, met, ms, p95, timed, worst};

/// How many answers a person gets.
const LIMIT: usize = 20;

/// How long 95 of 100 answers may take.
fn target(database: &Database) -> Duration {
    Duration::from_millis(match database {
        Database::Sqlite => 100,
        Database::Postgres(_) => 200,
    })
}

/// How long the answers took, by command.
pub(crate) type Found = [(&'static str, Vec<Duration>); 2];

pub(crate) fn run(place: &BenchStore, corpus: &Corpus) -> Found {
    let store = place.open();
    let carried = |text: &String| {
        let look = store.carriers(&corpus.project, text, LIMIT, None);
        look.wait().unwrap().prompts.len()
    };
    let searched = |text: &String| {
        let look = store.search(&corpus.project, text, LIMIT, None);
        look.wait().unwrap().hits.len()
    };
    let mut rows = Vec::new();
    let mut all = |command: &'static str, kinds: &[Kind], look: &dyn Fn(&String) -> usize| {
        let mut times = Vec::new();
        for kind in kinds {
            rows.push(row(command, kind, look, &mut times, place));
        }
        rows.push(cells(format!("{command}: all"), 0, &times, place));
        (command, times)
    };
    let found = [
        all("why --text", &queries::texts(corpus), &carried),
        all("search", &queries::words(corpus), &searched),
    ];
    let title = format!("{}: over {} prompts", place.database.name(), corpus.count);
    table::print(
        [
            &title, "queries", "wrong", "median", "p95", "worst", "target", "met",
        ],
        &rows,
    );
    found
}

/// Prints how the times grow with the number of prompts: as what power of it.
pub(crate) fn print_growth(place: &BenchStore, found: &[(usize, Found)]) {
    let (Some((first, least)), Some((last, most))) = (found.first(), found.last()) else {
        return;
    };
    let mut rows = Vec::new();
    for ((command, one), (_, other)) in least.iter().zip(most) {
        let factor = *last as f64 / *first as f64;
        let times = |of: fn(&[Duration]) -> Duration| {
            let (one, other) = (of(one), of(other));
            let exponent = (other.as_secs_f64() / one.as_secs_f64()).ln() / factor.ln();
            [ms(one), ms(other), format!("{exponent:.2}")]
        };
        for (what, of) in [
            ("median", median as fn(&[Duration]) -> Duration),
            ("p95", p95),
        ] {
            let [one, other, exponent] = times(of);
            rows.push([format!("{command}, {what}"), one, other, exponent]);
        }
    }
    let title = format!("{}: growth", place.database.name());
    let (first, last) = (format!("{first} prompts"), format!("{last} prompts"));
    table::print([&title, &first, &last, "exponent"], &rows);
}

fn row(
    command: &str,
    kind: &Kind,
    look: &dyn Fn(&String) -> usize,
    all: &mut Vec<Duration>,
    place: &BenchStore,
) -> [String; 8] {
    let mut wrong = 0;
    let mut times = Vec::new();
    for text in &kind.texts {
        let mut found = 0;
        times.push(timed(|| found = look(text)));
        wrong += usize::from((found > 0) != kind.there);
    }
    let row = cells(format!("{command}: {}", kind.name), wrong, &times, place);
    all.extend(times);
    row
}

fn cells(name: String, wrong: usize, times: &[Duration], place: &BenchStore) -> [String; 8] {
    let target = target(&place.database);
    [
        name,
        times.len().to_string(),
        if wrong > 0 {
            wrong.to_string()
        } else {
            String::new()
        },
        ms(median(times)),
        ms(p95(times)),
        ms(worst(times)),
        format!("< {} ms", target.as_millis()),
        met(p95(times) < target),
    ]
}
