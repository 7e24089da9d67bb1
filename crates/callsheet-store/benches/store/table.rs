//! Tables for people: names to the left, figures to the right.

use std::time::{Duration, Instant};

/// Prints a table with a line below its head.
pub(crate) fn print<const COLUMNS: usize>(head: [&str; COLUMNS], rows: &[[String; COLUMNS]]) {
    let head = head.map(str::to_owned);
    let width = |column: usize| {
        let all = std::iter::once(&head).chain(rows);
        all.map(|row| row[column].chars().count()).max().unwrap()
    };
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let line = |row: &[String; COLUMNS]| {
        let mut text = format!("{:<1$}", row[0], widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        text
    };
    println!("{}", line(&head));
    println!("{}", "-".repeat(line(&head).chars().count()));
    for row in rows {
        println!("{}", line(row).trim_end());
    }
    println!();
}

/// Returns how long something takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

/// Returns the time in the middle.
pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// Returns the time that 95 of 100 do not exceed.
pub(crate) fn p95(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted[(sorted.len() * 95).div_ceil(100) - 1]
}

/// Returns the longest time.
pub(crate) fn worst(times: &[Duration]) -> Duration {
    times.iter().copied().max().unwrap()
}

/// Says a time, with more digits where there are few.
pub(crate) fn ms(time: Duration) -> String {
    let value = time.as_secs_f64() * 1000.0;
    match value {
        100.0.. => format!("{value:.0} ms"),
        1.0.. => format!("{value:.2} ms"),
        _ => format!("{value:.3} ms"),
    }
}

/// Says how many times as long one took as the other.
pub(crate) fn ratio(time: Duration, floor: Duration) -> String {
    times(time.as_secs_f64(), floor.as_secs_f64())
}

/// Says how many times as large one number is as the other.
pub(crate) fn times(one: f64, other: f64) -> String {
    let ratio = one / other;
    match ratio {
        100.0.. => format!("{ratio:.0}×"),
        10.0.. => format!("{ratio:.1}×"),
        _ => format!("{ratio:.2}×"),
    }
}

/// Says a size in millions of bytes.
pub(crate) fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Says how much goes through in a second.
pub(crate) fn speed(bytes: usize, time: Duration) -> String {
    format!("{:.1} MB/s", bytes as f64 / 1e6 / time.as_secs_f64())
}

/// Says whether a target is met.
pub(crate) fn met(is_met: bool) -> String {
    if is_met { "yes" } else { "no" }.to_owned()
}
