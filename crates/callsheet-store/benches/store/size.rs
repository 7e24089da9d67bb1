//! `size`: how much smaller a store is than the prompts in it.

use std::path::Path;

use crate::Settings;
use crate::corpus::Corpus;
use crate::place::{Database, Place};
use crate::table::{self, mb, met, times};

/// How many times smaller the store has to be.
const TARGET: f64 = 20.0;

/// What takes a smaller part of the store is not shown.
const LEAST: f64 = 0.005;

pub(crate) fn run(settings: &Settings, folder: &Path, place: &Place, corpus: &Corpus) {
    let mut rows = vec![row("texts in files", place, corpus)];
    if settings.verbose {
        print_tables(place, corpus);
    }
    let other = Place::new(&place.database, folder, "inline");
    let inline = Corpus::of_inputs(&other, settings.either(1000, 200));
    if settings.verbose {
        print_tables(&other, &inline);
    }
    rows.push(row("texts in the input document", &other, &inline));
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

fn row(name: &str, place: &Place, corpus: &Corpus) -> [String; 8] {
    let bytes = place.bytes();
    let ratio = corpus.raw as f64 / bytes as f64;
    [
        name.to_owned(),
        corpus.count.to_string(),
        mb(corpus.raw),
        mb(bytes),
        format!("{} B", bytes / corpus.count as u64),
        times(corpus.raw as f64, bytes as f64),
        format!("≥ {TARGET}×"),
        met(ratio >= TARGET),
    ]
}

fn print_tables(place: &Place, corpus: &Corpus) {
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
