//! The write-ahead log (WAL) beside a database file, checked before SQLite reads it.
//!
//! SQLite takes a log up to the first frame that is not whole and forgets the rest: after a crash that is right, and after
//! damage it loses what was acknowledged without a word. The index that processes share tells how far the log was
//! committed, and outlives a killed process; without it, whole commits behind a broken frame tell. The format is that of
//! <https://sqlite.org/fileformat2.html#walformat> and <https://sqlite.org/walformat.html>.

use std::io::{self, Read};

const HEADER: usize = 32;
const FRAME: usize = 24;

/// The number of the format, in the log and in the index.
const VERSION: u32 = 3_007_000;

/// How many bytes of the index are looked at: its header twice, and how much of the log is in the file.
pub(super) const INDEX: usize = 100;

type Salt = [u8; 8];
type Sum = [u32; 2];

/// How far the index says that the log was committed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WalIndex {
    frames: u32,
    sum: Sum,
    salt: Salt,
}

impl WalIndex {
    /// Reads the start of an index; none where it does not say, or says that the log holds nothing of its own.
    pub(super) fn read(bytes: &[u8; INDEX]) -> Option<Self> {
        let number = |at: usize| u32::from_ne_bytes(four(&bytes[at..]));
        let is_whole = bytes[..48] == bytes[48..96]
            && number(0) == VERSION
            && bytes[12] == 1
            && sum(&bytes[..40], [0, 0], u32::from_ne_bytes) == [number(40), number(44)];
        let (frames, in_file) = (number(16), number(96));
        let index = Self {
            frames,
            sum: [number(24), number(28)],
            salt: eight(&bytes[32..]),
        };
        (is_whole && frames > in_file).then_some(index)
    }
}

/// Returns what is wrong with a log; `index` is how far it was committed, where somebody knows.
pub(super) fn damage(log: &mut dyn Read, index: Option<&WalIndex>) -> io::Result<Option<String>> {
    let mut header = [0; HEADER];
    if !fill(log, &mut header)? {
        return Ok(index.map(|_| "it is cut off".to_owned()));
    }
    let Some((order, page, salt)) = read_header(&header) else {
        return Ok(Some("its header is damaged".to_owned()));
    };
    // An index that is older than the log was not written to the disk before the machine stopped.
    let index = index.filter(|index| !is_newer(salt, index.salt));
    if index.is_some_and(|index| index.salt != salt) {
        return Ok(Some("it is older than what was committed".to_owned()));
    }
    let frames = Frames {
        log,
        order,
        salt,
        last: [read(&header[24..]), read(&header[28..])],
        buffer: vec![0; FRAME + page],
    };
    frames.damage(index)
}

/// Returns the byte order of the sums, the size of a page and the salt of a log.
fn read_header(header: &[u8; HEADER]) -> Option<(Order, usize, Salt)> {
    let order = match read(header) {
        0x377f_0682 => u32::from_le_bytes,
        0x377f_0683 => u32::from_be_bytes,
        _ => return None,
    };
    let page = usize::try_from(read(&header[8..])).ok()?;
    let is_whole = read(&header[4..]) == VERSION
        && page.is_power_of_two()
        && (512..=65536).contains(&page)
        && sum(&header[..24], [0, 0], order) == [read(&header[24..]), read(&header[28..])];
    is_whole.then(|| (order, page, eight(&header[16..])))
}

type Order = fn([u8; 4]) -> u32;

/// The frames of a log, one after the other.
struct Frames<'l> {
    log: &'l mut dyn Read,
    order: Order,
    salt: Salt,
    /// The sum that the frame before has, as it stands there.
    last: Sum,
    buffer: Vec<u8>,
}

impl Frames<'_> {
    fn damage(mut self, index: Option<&WalIndex>) -> io::Result<Option<String>> {
        let mut broken = None;
        for number in 1_u32.. {
            let Some(is_whole) = self.next()? else {
                let ends = broken.unwrap_or(number);
                let cut = index.filter(|index| index.frames >= ends);
                return Ok(cut.map(|index| {
                    format!("frame {ends} of {} is missing or damaged", index.frames)
                }));
            };
            match (broken, is_whole) {
                (None, false) => broken = Some(number),
                // What follows a broken frame is not a commit where the index ends before it.
                (Some(broken), true) if index.is_none() && self.is_commit() => {
                    return Ok(Some(format!("frame {broken} is damaged")));
                }
                _ => {}
            }
            if index.is_some_and(|index| {
                index.frames == number && (broken.is_some() || index.sum != self.last)
            }) {
                let at = broken.unwrap_or(number);
                return Ok(Some(format!("frame {at} of {number} is damaged")));
            }
        }
        Ok(None)
    }

    /// Reads a frame and tells whether it is whole and follows the one before; none at the end.
    fn next(&mut self) -> io::Result<Option<bool>> {
        if !fill(self.log, &mut self.buffer)? {
            return Ok(None);
        }
        let (head, page) = self.buffer.split_at(FRAME);
        let found = [read(&head[16..]), read(&head[20..])];
        let first = sum(&head[..8], self.last, self.order);
        let is_whole = eight(&head[8..]) == self.salt && sum(page, first, self.order) == found;
        self.last = found;
        Ok(Some(is_whole))
    }

    fn is_commit(&self) -> bool {
        read(&self.buffer[4..]) != 0
    }
}

/// Tells whether a log was begun after another one: its first number counts up.
fn is_newer(salt: Salt, than: Salt) -> bool {
    let ahead = read(&salt).wrapping_sub(read(&than));
    ahead != 0 && ahead < 1 << 31
}

/// Goes on with the sum of a log, over pairs of numbers.
fn sum(bytes: &[u8], from: Sum, order: Order) -> Sum {
    let [mut a, mut b] = from;
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(order(four(pair))).wrapping_add(b);
        b = b.wrapping_add(order(four(&pair[4..]))).wrapping_add(a);
    }
    [a, b]
}

/// Fills a buffer and tells whether there was enough.
fn fill(log: &mut dyn Read, buffer: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(damage) if damage.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(damage) => Err(damage),
    }
}

fn read(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(four(bytes))
}

fn four(bytes: &[u8]) -> [u8; 4] {
    bytes.first_chunk().copied().unwrap_or_default()
}

fn eight(bytes: &[u8]) -> Salt {
    bytes.first_chunk().copied().unwrap_or_default()
}
