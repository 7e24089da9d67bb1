//! The text of a prompt as people read it: lines with the numbers of the whole prompt, in blocks of their sections.

use std::ops::Range;

use callsheet::manifest::SectionRecord;
use callsheet::reading::Reading;
use callsheet::source_map::MapSpan;

use super::prompt::Entry;

/// How many rows are asked for at once.
pub(crate) const CHUNK: usize = 200;

/// How many bytes of a line of a difference are shown.
const LONGEST: usize = 4000;

/// The text, cut into blocks and rows.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The prompt without the escapes of messages.
    pub(crate) read: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) blocks: Vec<Block>,
    /// How many lines there are.
    pub(crate) lines: usize,
}

/// A line, or the part of one that belongs to a block. Places are those of the text to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The number of the line, from 1.
    pub(crate) line: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What stands between two sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// Text of the recipe as a whole.
    Frame(Range<usize>),
    /// A section: the number of its entry, its rows, and where its body stands in the text to read.
    Section {
        entry: usize,
        rows: Range<usize>,
        body: Range<usize>,
    },
    /// What is not there: the number of its entry.
    Omitted(usize),
    /// Where a cache ends.
    Cache,
}

impl Script {
    pub(crate) fn new(
        text: &str,
        spans: &[MapSpan],
        sections: &[SectionRecord],
        entries: &[Entry],
        kept: usize,
    ) -> Self {
        let reading = Reading::of(text);
        let mut script = Self {
            read: reading.text().to_owned(),
            ..Self::default()
        };
        let starts = starts(spans, sections);
        let mut line = 1;
        let mut cache = (kept > 0 && kept < text.len()).then_some(kept);
        let first = starts.first().map_or(text.len(), |start| *start);
        let frame = script.cut(0..reading.to_read(first), &mut line);
        if !frame.is_empty() {
            script.blocks.push(Block::Frame(frame));
        }
        for (number, entry) in entries.iter().enumerate() {
            let Some(section) = entry.section else {
                script.blocks.push(Block::Omitted(number));
                continue;
            };
            if cache.is_some_and(|kept| entry.end > kept) {
                script.blocks.push(Block::Cache);
                cache = None;
            }
            let end = starts.get(section + 1).map_or(text.len(), |next| *next);
            let place = reading.to_read(starts[section])..reading.to_read(end);
            let rows = script.cut(place, &mut line);
            let body = reading.to_read(entry.start)..reading.to_read(entry.end);
            script.blocks.push(Block::Section {
                entry: number,
                rows,
                body,
            });
        }
        script.lines = script.rows.last().map_or(0, |row| row.line);
        script
    }

    /// Cuts a place into rows, and returns which they are.
    fn cut(&mut self, place: Range<usize>, line: &mut usize) -> Range<usize> {
        let first = self.rows.len();
        let mut at = place.start;
        while at < place.end {
            let rest = &self.read.as_bytes()[at..place.end];
            let len = rest.iter().position(|byte| *byte == b'\n');
            let end = at + len.unwrap_or(rest.len());
            let (row, start) = (*line, at);
            self.rows.push(Row {
                line: row,
                start,
                end,
            });
            at = end;
            if len.is_some() {
                *line += 1;
                at += 1;
            }
        }
        first..self.rows.len()
    }

    /// Returns where the body stands that a row belongs to.
    pub(crate) fn body_of(&self, row: usize) -> Range<usize> {
        let found = self.blocks.iter().find_map(|block| match block {
            Block::Section { rows, body, .. } if rows.contains(&row) => Some(body.clone()),
            _ => None,
        });
        found.unwrap_or(0..0)
    }

    /// Returns some rows as HTML.
    pub(crate) fn html(&self, rows: Range<usize>) -> String {
        let rows = rows.start.min(self.rows.len())..rows.end.min(self.rows.len());
        let mut html = String::with_capacity(rows.len() * 120);
        let mut body = self.body_of(rows.start);
        for at in rows {
            let row = self.rows[at];
            if row.start >= body.end || row.end < body.start {
                body = self.body_of(at);
            }
            self.row(&mut html, row, &body);
        }
        html
    }

    fn row(&self, html: &mut String, row: Row, body: &Range<usize>) {
        // Where a body ends before a line end, the empty rest of the line is frame.
        let inside = row.start < body.end && row.end >= body.start && body.start < body.end;
        let class = if inside { "l" } else { "l f" };
        let (line, start) = (row.line, row.start);
        html.push_str(&format!(
            "<span class=\"{class}\" data-n=\"{line}\" data-r=\"{start}\">"
        ));
        if inside {
            let from = body.start.clamp(row.start, row.end);
            let to = body.end.clamp(from, row.end);
            frame(html, &self.read[row.start..from]);
            spell(html, &self.read[from..to]);
            frame(html, &self.read[to..row.end]);
        } else {
            spell(html, &self.read[row.start..row.end]);
        }
        // The end of the line is there for whoever copies.
        html.push_str("\n</span>");
    }
}

fn frame(html: &mut String, text: &str) {
    if !text.is_empty() {
        html.push_str("<span class=\"f\">");
        spell(html, text);
        html.push_str("</span>");
    }
}

/// Writes text from outside as HTML; what cannot be seen is spelled out, and tells how many bytes it is.
pub(crate) fn spell(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            '\n' | '\t' => html.push(c),
            '\u{1b}' => html.push_str("<span class=\"ctl\" data-b=\"1\">ESC</span>"),
            c if crate::pages::show::hides(c) => html.push_str(&format!(
                "<span class=\"ctl\" data-b=\"{}\">U+{:04X}</span>",
                c.len_utf8(),
                u32::from(c)
            )),
            c => html.push(c),
        }
    }
}

/// Writes a line of a difference; of one that nobody reads to its end only the beginning is there.
pub(crate) fn spell_line(html: &mut String, line: &str) {
    let end = line.floor_char_boundary(LONGEST);
    spell(html, &line[..end]);
    if end < line.len() {
        html.push_str(&format!(
            "<span class=\"dim\">… {} more bytes</span>",
            line.len() - end
        ));
    }
}

/// Returns where each section begins with its own frame, in the bytes of the prompt.
pub(crate) fn starts(spans: &[MapSpan], sections: &[SectionRecord]) -> Vec<usize> {
    let mut spans = spans.iter().peekable();
    let mut before = 0;
    let mut starts = Vec::with_capacity(sections.len());
    for section in sections {
        let mut start = None;
        while let Some(span) = spans.next_if(|span| span.start < section.start.max(before)) {
            let own = span.layer == section.layer && span.section.as_deref() == Some(&section.name);
            if own && span.start >= before {
                start = start.or(Some(span.start));
            } else {
                start = None;
            }
        }
        starts.push(start.unwrap_or(section.start).max(before));
        before = section.end.max(before);
        while spans.next_if(|span| span.start < before).is_some() {}
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(read: &str) -> Script {
        Script {
            read: read.to_owned(),
            ..Script::default()
        }
    }

    #[test]
    fn lines_keep_their_numbers_across_blocks() {
        let mut script = script("<a>\nx\ny</a>\nz");
        let mut line = 1;
        assert_eq!(script.cut(0..4, &mut line), 0..1);
        assert_eq!(script.cut(4..8, &mut line), 1..3);
        assert_eq!(script.cut(8..13, &mut line), 3..5);
        let rows = script.rows.iter();
        let shown: Vec<_> = rows
            .map(|row| (row.line, &script.read[row.start..row.end]))
            .collect();
        assert_eq!(
            shown,
            [(1, "<a>"), (2, "x"), (3, "y<"), (3, "/a>"), (4, "z")]
        );
    }

    #[test]
    fn of_a_line_without_end_only_the_beginning_is_shown() {
        let shown = |len: usize| {
            let mut html = String::new();
            spell_line(&mut html, &"ä".repeat(len));
            html
        };
        assert_eq!(shown(2000), "ä".repeat(2000));
        let expected = format!(
            "{}<span class=\"dim\">… 4 more bytes</span>",
            "ä".repeat(2000)
        );
        assert_eq!(shown(2002), expected);
    }

    #[test]
    fn a_row_is_text_whatever_stands_in_it() {
        let mut script = script("<f>a\u{202e}&</f>");
        let mut line = 1;
        let rows = script.cut(0..script.read.len(), &mut line);
        let body = 3..8;
        script.blocks.push(Block::Section {
            entry: 0,
            rows,
            body,
        });
        assert_eq!(
            script.html(0..9),
            "<span class=\"l\" data-n=\"1\" data-r=\"0\"><span class=\"f\">&lt;f&gt;</span>\
            a<span class=\"ctl\" data-b=\"3\">U+202E</span>&amp;<span class=\"f\">&lt;/f&gt;</span>\n</span>"
        );
    }
}
