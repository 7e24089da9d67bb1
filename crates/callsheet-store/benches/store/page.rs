//! `page`: a long list of runs, read in pages by key, and claims beside as many finished runs.

use std::path::Path;
use std::time::Duration;

use callsheet::Fingerprint;
use callsheet_store::{Id, Project, RunPage, RunState, Store, Wait};

use crate::Settings;
use crate::bench_store::{BenchStore, Database, claim, queue, small_prompt};
use crate::table::{self, median, ms, ratio, timed, worst};
use crate::text::Chance;

const LIMIT: usize = 50;
const TURNS: usize = 200;
const CLAIMS: usize = 200;

/// How many runs one statement makes.
const AT_ONCE: usize = 1000;

pub(crate) fn run(settings: &Settings, folder: &Path, database: &Database) {
    let count = settings.either(1_000_000, 50_000);
    let place = BenchStore::new(database, folder, "page");
    let store = place.open();
    let project = store.project("bench").wait().unwrap();
    small_prompt(&store, &project);
    drop(store);
    let filling = timed(|| fill(&place, count));
    eprintln!(
        "{}: {count} finished runs made in {:.0} s",
        database.name(),
        filling.as_secs_f64()
    );
    let store = place.open();
    pages(&store, &project, database, count);

    let empty = BenchStore::new(database, folder, "empty");
    let short = empty.open();
    short.project("bench").wait().unwrap();
    let title = format!("{}: a claim and the end of a run", database.name());
    let [alone, beside] = claims([&short, &store], &project);
    let row = |name: &str, times: &[Duration]| {
        [
            name.to_owned(),
            ms(median(times)),
            ms(worst(times)),
            ratio(median(times), median(&alone)),
        ]
    };
    let rows = [
        row("beside no finished run", &alone),
        row(&format!("beside {count} finished runs"), &beside),
    ];
    table::print([&title, "median", "worst", "median ÷ first"], &rows);
}

/// Makes finished runs, the fast way: the schema is the product's, the rows are written by us.
///
/// Their marks are empty, so `verify` would complain; nothing that is measured here looks at them.
fn fill(place: &BenchStore, count: usize) {
    let blob = match place.database {
        Database::Sqlite => "x''",
        Database::Postgres(_) => "''::bytea",
    };
    let statement = |from: usize| {
        let ids = (from..count.min(from + AT_ONCE)).map(|number| format!("('{}')", id(number)));
        format!(
            "insert into run (id, project, prompt, kind, queued_at, state, worker, attempt, started_at, finished_at, \
            outcome, records, mark, finish_mark) select column1, p.project, p.key, 'first', 1700000000000, 'finished', \
            'bench', 1, 1700000000000, 1700000000000, '{{\"exit\":0}}', 0, {blob}, {blob} \
            from (values {}) v cross join prompt p;",
            ids.collect::<Vec<_>>().join(",")
        )
    };
    let statements = (0..count).step_by(AT_ONCE).map(statement);
    let begin = std::iter::once("begin".to_owned());
    // What a server does by itself after a while.
    let end = ["commit".to_owned(), "analyze".to_owned()];
    let tidy = matches!(place.database, Database::Postgres(_));
    place.batch(
        &mut begin
            .chain(statements)
            .chain(end.into_iter().take(if tidy { 2 } else { 1 })),
    );
}

/// Returns the id of the run with a number.
fn id(number: usize) -> Id {
    Id::new(
        1_700_000_000_000 + number as i64,
        Fingerprint::of(number.to_le_bytes()),
    )
}

fn pages(store: &Store, project: &Project, database: &Database, count: usize) {
    let depths = [
        ("first page", None),
        ("page in the middle", Some(count / 2)),
        ("deepest page", Some(LIMIT)),
    ];
    let mut times = vec![Vec::new(); depths.len() * 2];
    let mut chance = Chance::new(1);
    for _ in 0..TURNS {
        for (at, (_, depth)) in depths.iter().enumerate() {
            // A page nearby each time: one page over and over would only show its cache.
            let before = depth.map(|depth| id(depth + chance.below(1000)));
            for (half, state) in [None, Some(RunState::Finished)].into_iter().enumerate() {
                let page = RunPage {
                    before,
                    state,
                    limit: LIMIT,
                };
                let read = || assert_eq!(store.runs(project, page).wait().unwrap().len(), LIMIT);
                times[half * depths.len() + at].push(timed(read));
            }
        }
    }
    let title = format!("{}: pages of {count} runs", database.name());
    let mut rows = Vec::new();
    for (at, measured) in times.iter().enumerate() {
        let half = at / depths.len();
        rows.push([
            format!(
                "{}{}",
                depths[at % depths.len()].0,
                ["", ", by state"][half]
            ),
            ms(median(measured)),
            ms(worst(measured)),
            ratio(median(measured), median(&times[half * depths.len()])),
        ]);
    }
    table::print([&title, "median", "worst", "median ÷ first"], &rows);
}

/// Queues runs in two stores, and times claiming and finishing each, in turns.
fn claims(stores: [&Store; 2], project: &Project) -> [Vec<Duration>; 2] {
    for store in stores {
        queue(store, project, CLAIMS);
    }
    let outcome = serde_json::json!({"exit": 0});
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..CLAIMS {
        for (store, times) in stores.into_iter().zip(&mut times) {
            times.push(timed(|| {
                let claim = claim(store, project);
                assert!(store.finish_run(&claim, &outcome).wait().unwrap());
            }));
        }
    }
    times
}
