//! Aligned tables for people.

use std::fmt::Write as _;

use crate::output::{Look, one_line};

/// How the cells of a column stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Rows of cells under headings.
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Makes an empty table.
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; control characters in cells are made visible.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| one_line(&cell));
        self.rows.push(cells.collect());
    }

    /// Returns the lines, two spaces between columns, nothing at line ends.
    pub(crate) fn render(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
            widest.max(self.columns[column].0.chars().count())
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |cells: Vec<&str>| {
            let mut line = String::new();
            for (column, cell) in cells.into_iter().enumerate() {
                let width = widths[column];
                // Writing to a string cannot fail.
                let _ = match self.columns[column].1 {
                    Align::Left => write!(line, "{cell:<width$}  "),
                    Align::Right => write!(line, "{cell:>width$}  "),
                };
            }
            line.trim_end().to_owned()
        };
        let heading = line(self.columns.iter().map(|(name, _)| *name).collect());
        let mut out = Look::Bold.on(&heading) + "\n";
        for row in &self.rows {
            out.push_str(&line(row.iter().map(String::as_str).collect()));
            out.push('\n');
        }
        out
    }
}

/// Returns a share of a whole as a bar of ten cells.
pub(crate) fn bar(part: usize, whole: usize) -> String {
    let eighths = (part * 80 + whole / 2).checked_div(whole).unwrap_or(0);
    let partial = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(partial[eighths % 8]);
    }
    bar
}

/// Returns a share of a whole in percent with one digit.
pub(crate) fn percent(part: usize, whole: usize) -> String {
    let per_mille = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    format!("{}.{}%", per_mille / 10, per_mille % 10)
}
