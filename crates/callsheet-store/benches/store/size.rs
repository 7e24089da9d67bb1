//! `size`: how much smaller a store is than the prompts in it.

use std::path::Path;

use crate::Settings;
use crate::bench_store::{BenchStore, Database};
use crate::corpus::Corpus;
use crate::table::{self, mb, met, times};

/// How many times smaller the store has to be where prompts share most of what they say.
fn target(database: &Database) -> f64 {
    match database {
        Database::Sqlite => 20.0,
        Database::Postgres(_) => 15.0,
    }
}

/// What takes a smaller part of the store is not shown.
const LEAST: f64 = 0.005;

pub(crate) fn run(settings: &Settings, folder: &Path, place: &BenchStore, corpus: &Corpus) {
    let target = target(&place.database);
    let mut rows = vec![row("texts in files", place, corpus, target)];
    if settings.verbose {
        print_tables(place, corpus);
    }
    let other = BenchStore::new(&place.database, folder, "inline");
    let inline = Corpus::of_inputs(&other, settings.either(1000, 200));
    if settings.verbose {
        print_tables(&other, &inline);
    }
    rows.push(row("texts in the input document", &other, &inline, target));
    drop(other);
    let other = BenchStore::new(&place.database, folder, "noise");
    let noise = Corpus::of_noise(&other, settings.either(10_000, 500));
    if settings.verbose {
        print_tables(&other, &noise);
    }
    rows.push(row("texts that share nothing", &other, &noise, 1.0));
    let title = format!("{}: sealed prompts", place.database.name());
    let head = [
        &title,
        "count",
        "raw",
        "store",
        "per prompt",
        "raw ÷ store",
        "target",
        "met",
    ];
    table::print(head, &rows);
}

fn row(name: &str, place: &BenchStore, corpus: &Corpus, target: f64) -> [String; 8] {
    let bytes = place.bytes();
    let ratio = corpus.raw as f64 / bytes as f64;
    [
        name.to_owned(),
        corpus.count.to_string(),
        mb(corpus.raw),
        mb(bytes),
        format!("{} B", bytes / corpus.count as u64),
        times(corpus.raw as f64, bytes as f64),
        format!("≥ {target}×"),
        met(ratio >= target),
    ]
}

fn print_tables(place: &BenchStore, corpus: &Corpus) {
    let all = place.bytes() as f64;
    let row = |(name, size): (String, i64)| {
        [
            name,
            mb(size as u64),
            format!("{:.1} %", size as f64 * 100.0 / all),
            format!("{} B", size / corpus.count as i64),
        ]
    };
    let tables = place.tables().into_iter();
    let worth = |(_, size): &(String, i64)| *size as f64 >= all * LEAST;
    let rows: Vec<_> = tables.filter(worth).map(row).collect();
    let title = match place.database {
        Database::Sqlite => "SQLite: tables and indexes",
        Database::Postgres(_) => "PostgreSQL: tables and indexes",
    };
    table::print([title, "size", "of all", "per prompt"], &rows);
}
