//! Keys that stand between marker lines, such as `-----BEGIN PRIVATE KEY-----`, whatever stands around their lines.
//!
//! A diff, a comment, a quote, a table, a log or source code puts something before or behind each line. A key may lack
//! its last marker, or its first one. The lines in between decide: what does not look like a line of a key stays.

mod line;
mod pieces;

use std::ops::Range;

use line::{Around, Content};
use pieces::{Piece, Pieces};

/// A key has at least one line of so many characters.
const LONG: usize = 32;

/// Short lines between two markers are a key, too, if they have so many characters together.
const TOGETHER: usize = 64;

/// So many lines without a letter or digit may stand in a row.
const MOST_BLANK: usize = 8;

/// So many headers, such as `Proc-Type: 4,ENCRYPTED`, may stand before a key.
const MOST_HEADERS: usize = 12;

/// So many lines may stand between one that nobody understands and the last marker.
const MOST_UNKNOWN: usize = 3;

/// So many short lines may stand before the last marker where the first one is missing: the rest and a checksum.
const MOST_SHORT: usize = 2;

/// The most bytes that are searched before a last marker.
const REACH: usize = 64 << 10;

/// A marker line.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    pub(super) range: Range<usize>,
    /// Whether it is the last line of a key.
    pub(super) ends: bool,
}

/// A key that was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) range: Range<usize>,
    /// The markers and the key itself, without line ends and without what stands around the lines.
    pub(super) essence: String,
}

/// Finds the keys around markers, which are in order.
pub(super) fn find(text: &str, markers: &[Marker]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let (mut done, mut at) = (0, 0);
    while let Some(marker) = markers.get(at) {
        let rest = &markers[at + 1..];
        let block = if marker.ends {
            before(text, marker, done)
        } else {
            after(text, marker, rest)
        };
        // No line is looked at for two markers, so that many markers take no longer than one.
        done = marker.range.end;
        at += 1;
        if let Some(block) = block {
            done = done.max(block.range.end);
            let inside = rest.iter().take_while(|next| next.range.start < done);
            at += inside.count();
            blocks.push(block);
        }
    }
    blocks
}

/// Returns the key that begins with a marker.
fn after(text: &str, begin: &Marker, markers: &[Marker]) -> Option<Block> {
    let around = Around::of(text, begin);
    let mut key = Key::default();
    let mut from = begin.range.end;
    for marker in markers {
        if !key.read(&around, Pieces::new(&text[..marker.range.start], from)) {
            return key.cut(text, begin);
        }
        if marker.ends {
            return key.is_whole().then(|| key.block(text, begin, marker));
        }
        // Another key begins. Its lines may stand beside those of this one, in a diff.
        if key.longest < LONG {
            return None;
        }
        from = marker.range.end;
    }
    key.read(&around, Pieces::new(text, from));
    key.cut(text, begin)
}

/// Returns the key that ends with a marker and lacks its first one; nothing before `done` belongs to it.
fn before(text: &str, end: &Marker, done: usize) -> Option<Block> {
    let from = done.max(end.range.start.saturating_sub(REACH));
    let around = Around::of(text, end);
    let pieces = Pieces::new(&text[..end.range.start], text.ceil_char_boundary(from));
    let pieces: Vec<Piece<'_>> = pieces.collect();
    let mut lines: Vec<Content> = Vec::new();
    let (mut blank, mut short, mut longest) = (0, 0, 0);
    for piece in pieces.iter().rev() {
        if piece.is_blank() || around.is_before(piece) {
            blank += 1;
            if blank > MOST_BLANK {
                break;
            }
            continue;
        }
        let Some(content) = around.content(piece) else {
            break;
        };
        if content.plain.len() >= LONG {
            longest = longest.max(content.plain.len());
        } else {
            short += 1;
            if longest > 0 || short > MOST_SHORT {
                break;
            }
        }
        blank = 0;
        lines.push(content);
    }
    let start = lines.last()?.range.start;
    let plain = lines.iter().rev().map(|line| line.plain.as_str());
    (longest >= LONG).then(|| Block {
        range: start..end.range.end,
        essence: plain.collect::<String>() + &bare(text, end),
    })
}

/// The lines of a key that begins with a marker.
#[derive(Default)]
struct Key {
    content: String,
    longest: usize,
    blank: usize,
    headers: usize,
    unknown: usize,
    /// Whether an empty line stands after the last one.
    apart: bool,
    /// Whether what follows belongs to the key only if it has a last marker.
    closed: bool,
    /// How much of the content belongs to the key in any case, and where that ends.
    sure: (usize, usize),
}

impl Key {
    /// Takes lines; tells whether another may follow.
    fn read<'t>(&mut self, around: &Around<'t>, pieces: Pieces<'t>) -> bool {
        for (number, piece) in (0..).zip(pieces) {
            // What follows a marker in its line is mostly the end of a string.
            let is_rest = number == 0 && around.content(&piece).is_none();
            if !is_rest && !around.is_before(&piece) && !self.takes(around, &piece) {
                return false;
            }
        }
        true
    }

    /// Takes a line; tells whether another may follow.
    fn takes(&mut self, around: &Around<'_>, piece: &Piece<'_>) -> bool {
        if piece.is_blank() {
            self.blank += 1;
            self.apart |= piece.text.trim().is_empty();
            return self.blank <= MOST_BLANK;
        }
        let content = around.content(piece);
        if content.is_none() && self.content.is_empty() && piece.is_header() {
            self.headers += 1;
            return self.headers <= MOST_HEADERS;
        }
        if content.is_none() || self.unknown > 0 {
            self.unknown += 1;
            self.closed = true;
        }
        if let Some(content) = content {
            self.add(&content);
        }
        self.unknown == 0 || self.longest >= LONG && self.unknown <= MOST_UNKNOWN
    }

    fn add(&mut self, line: &Content) {
        let long = line.plain.len() >= LONG;
        self.longest = self.longest.max(line.plain.len());
        self.content.push_str(&line.plain);
        // A key has lines of one length, and a shorter one at its end.
        let is_rest = self.sure.0 > 0 && !self.apart && !line.is_word();
        if !self.closed && (long || is_rest) {
            self.sure = (self.content.len(), line.range.end);
        }
        self.closed |= !long && self.sure.0 > 0;
        self.blank = 0;
        self.apart = false;
    }

    /// Tells whether this is a key between its markers; a text that only speaks of keys has nothing there.
    fn is_whole(&self) -> bool {
        self.longest >= LONG || self.content.len() >= TOGETHER
    }

    /// Returns the key between two markers.
    fn block(&self, text: &str, begin: &Marker, end: &Marker) -> Block {
        Block {
            range: begin.range.start..end.range.end,
            essence: bare(text, begin) + &self.content + &bare(text, end),
        }
    }

    /// Returns the key that has no last marker, as far as it goes.
    fn cut(&self, text: &str, begin: &Marker) -> Option<Block> {
        let (content, end) = self.sure;
        (content > 0).then(|| Block {
            range: begin.range.start..end,
            essence: bare(text, begin) + &self.content[..content],
        })
    }
}

fn bare(text: &str, marker: &Marker) -> String {
    text[marker.range.clone()].split_whitespace().collect()
}

#[cfg(test)]
mod tests;
