//! Tails: a file that a process writes to, read in pieces of whole lines while it grows.
//!
//! A file keeps what a pipe would lose when its reader is slow. Memory is bounded by the longest line that is kept whole.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek as _, SeekFrom};
use std::path::Path;

/// The longest line that is kept whole; a longer one is cut into pieces of this size.
pub(super) const LONGEST_LINE: usize = callsheet_store::LARGEST_RECORD;

/// How much is handed out at once, unless one line has more.
pub(super) const PIECE: usize = 64 << 10;

/// How much is read at once.
const READ: usize = 256 << 10;

/// A file that grows, and how far it was read.
#[derive(Debug)]
pub(super) struct Tail {
    file: File,
    /// What was read; the beginning was handed out.
    read: Vec<u8>,
    /// How much of it was.
    taken: usize,
    /// How much of the rest has no newline for certain.
    searched: usize,
}

impl Tail {
    /// Opens a file from an offset on; it has to be there.
    pub(super) fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self {
            file,
            read: Vec::new(),
            taken: 0,
            searched: 0,
        })
    }

    /// Returns the next whole lines; nothing if there are none yet.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(end) = self.end() {
                return Ok(Some(self.take(end)));
            }
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
    }

    /// Returns what is left when nothing more will be written: a line without its end.
    pub(super) fn rest(&mut self) -> Option<Vec<u8>> {
        let end = self.waiting().len();
        (end > 0).then(|| self.take(end))
    }

    /// Returns where the next piece ends: after the last newline within its size, else after the first one at all.
    fn end(&mut self) -> Option<usize> {
        let waiting = &self.read[self.taken..];
        let window = &waiting[..waiting.len().min(PIECE)];
        if let Some(at) = memchr::memrchr(b'\n', window) {
            return Some(at + 1);
        }
        let from = self.searched.max(window.len());
        if let Some(at) = memchr::memchr(b'\n', &waiting[from..]) {
            return Some((from + at + 1).min(LONGEST_LINE));
        }
        self.searched = waiting.len();
        (waiting.len() >= LONGEST_LINE).then_some(LONGEST_LINE)
    }

    /// Returns what was read and not handed out yet.
    fn waiting(&self) -> &[u8] {
        &self.read[self.taken..]
    }

    fn take(&mut self, end: usize) -> Vec<u8> {
        let piece = self.waiting()[..end].to_vec();
        self.taken += end;
        self.searched = 0;
        piece
    }

    fn fill(&mut self) -> io::Result<usize> {
        self.read.drain(..self.taken);
        self.taken = 0;
        if self.read.is_empty() {
            // A long line leaves no room behind.
            self.read.shrink_to(2 * READ);
        }
        let before = self.read.len();
        let mut limited = (&mut self.file).take(READ as u64);
        match limited.read_to_end(&mut self.read) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
            _ => Ok(self.read.len() - before),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn tail() -> (tempfile::NamedTempFile, Tail) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let tail = Tail::open(file.path(), 0).unwrap();
        (file, tail)
    }

    #[test]
    fn a_line_waits_for_its_end() {
        let (mut file, mut tail) = tail();
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(tail.next().unwrap().unwrap(), b"one\n");
        assert_eq!(tail.next().unwrap(), None);
        file.write_all(b"o\nthree\nfo").unwrap();
        assert_eq!(tail.next().unwrap().unwrap(), b"two\nthree\n");
        assert_eq!(tail.next().unwrap(), None);
        assert_eq!(tail.rest().unwrap(), b"fo");
        assert_eq!(tail.rest(), None);
    }

    #[test]
    fn a_line_beyond_all_measure_is_cut() {
        let (mut file, mut tail) = tail();
        file.write_all(&vec![b'x'; LONGEST_LINE + 5]).unwrap();
        file.write_all(b"\ny\n").unwrap();
        assert_eq!(tail.next().unwrap().unwrap().len(), LONGEST_LINE);
        assert_eq!(tail.next().unwrap().unwrap(), b"xxxxx\ny\n");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_pieces_end_with_lines(
            lines in proptest::collection::vec(0usize..40_000, 0..12),
            cuts in proptest::collection::vec(0usize..200_000, 0..6),
        ) {
            let mut bytes = Vec::new();
            for (number, length) in lines.iter().enumerate() {
                bytes.extend(std::iter::repeat_n(b'a' + u8::try_from(number).unwrap(), *length));
                bytes.push(b'\n');
            }
            let (mut file, mut tail) = tail();
            let (mut got, mut done) = (Vec::new(), 0);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| (*cut).min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            for cut in cuts {
                file.write_all(&bytes[done..cut]).unwrap();
                done = cut;
                while let Some(piece) = tail.next().unwrap() {
                    prop_assert!(piece.ends_with(b"\n"));
                    prop_assert!(piece.len() <= PIECE || piece.iter().filter(|byte| **byte == b'\n').count() == 1);
                    got.extend(piece);
                }
            }
            prop_assert_eq!(tail.rest(), None);
            prop_assert_eq!(got, bytes);
        }
    }
}
