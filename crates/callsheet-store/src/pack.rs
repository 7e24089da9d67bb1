//! Compression: a text is packed as it is, by zstd, or by zstd as a delta against a text that resembles it.
//!
//! What is compressed is a frame of Zstandard without its header, which follows from the size that is noted beside it, and
//! after a checksum of its bytes, by which each changed one is found. What is unpacked is not trusted: it never grows
//! beyond the noted size.

use std::cell::RefCell;

use zstd::bulk::Compressor;
use zstd::zstd_safe::{CParameter, DCtx};

/// The largest text that is unpacked.
const LARGEST: u64 = 1 << 30;

/// As it is.
const RAW: u8 = 0;
/// Compressed.
const ZSTD: u8 = 1;
/// A delta: compressed with another text as its dictionary.
const DELTA: u8 = 2;
/// What another text begins with.
const PREFIX: u8 = 3;

/// Texts shorter than this are kept as they are, and others are not packed against them. Packing saves some hundred bytes of
/// each at most, and a prompt of very many takes noticeably longer to seal with it.
pub(crate) const LEAST: usize = 512;

/// Texts shorter than this are compressed fast: there is little in them to be found by looking harder.
const SHORT: usize = 1 << 10;

/// How hard short texts are compressed.
const SHORT_LEVEL: i32 = 3;

/// Texts longer than this have a packer of their own, which works fast.
const LONG: usize = 1 << 20;

/// How hard long texts are compressed. Most of them are documents of prompts with very many files; level 3 takes twice as long
/// and makes these larger.
const LONG_LEVEL: i32 = 1;

/// A frame begins with these bytes.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The least window of a frame, as a power of two.
const LEAST_WINDOW: u32 = 10;

/// The shortest match that a delta takes from its base. Fingerprints have shorter ones in common by chance, which
/// take less as they are.
const MIN_MATCH: u32 = 6;

/// How hard texts are compressed, which are written once and kept for years. Level 9 takes twice as long and makes them a
/// hundredth smaller.
const LEVEL: i32 = 6;

/// How hard deltas are compressed, which are few.
const DELTA_LEVEL: i32 = 9;

/// How hard logs are compressed, which come while an agent works. Level 3 makes them a twentieth smaller and takes a quarter longer.
const QUICK: i32 = 1;

thread_local! {
    /// What unpacks; to make one takes longer than to unpack a short text.
    static UNPACKER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };

    /// What packs texts, for the same reason.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };

    /// What packs short texts.
    static SHORT_PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };

    /// What packs logs.
    static QUICK_PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Packs a text by itself.
pub(crate) fn alone(text: &[u8]) -> Vec<u8> {
    // What packs a long text takes much memory, which is not worth keeping.
    if text.len() > LONG {
        return packed(text, |text| {
            compress(&mut Compressor::new(LONG_LEVEL).ok()?, text)
        });
    }
    let (packer, level) = if text.len() < SHORT {
        (&SHORT_PACKER, SHORT_LEVEL)
    } else {
        (&PACKER, LEVEL)
    };
    packer.with_borrow_mut(|packer| packed(text, |text| compress(compressor(packer, level)?, text)))
}

/// Packs what comes faster than it is worth a second look.
pub(crate) fn quickly(text: &[u8]) -> Vec<u8> {
    QUICK_PACKER
        .with_borrow_mut(|packer| packed(text, |text| compress(compressor(packer, QUICK)?, text)))
}

fn compressor<'p>(
    packer: &'p mut Option<Compressor<'static>>,
    level: i32,
) -> Option<&'p mut Compressor<'static>> {
    if packer.is_none() {
        *packer = Some(Compressor::new(level).ok()?);
    }
    packer.as_mut()
}

fn packed(text: &[u8], compress: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Vec<u8> {
    if text.len() < LEAST {
        return raw(text);
    }
    match compress(text) {
        // A tenth less is worth the time to unpack it.
        Some(frame) if frame.len() < text.len() / 10 * 9 => coded(ZSTD, &frame),
        _ => raw(text),
    }
}

/// Packs a text as a delta against `base`.
pub(crate) fn against(text: &[u8], base: &[u8]) -> Vec<u8> {
    match delta(text, base) {
        Some(frame) => coded(DELTA, &frame),
        None => raw(text),
    }
}

/// Packs a text that its base begins with.
pub(crate) fn prefix() -> Vec<u8> {
    vec![PREFIX]
}

/// Tells whether a text needs its base to be unpacked.
pub(crate) fn needs_base(packed: &[u8]) -> bool {
    matches!(packed.first(), Some(&(DELTA | PREFIX)))
}

/// Tells whether a text is what its base begins with.
pub(crate) fn is_prefix(packed: &[u8]) -> bool {
    packed.first() == Some(&PREFIX)
}

/// Unpacks a text of so many bytes, or says why it is none.
pub(crate) fn unpack(packed: &[u8], bytes: i64, base: &[u8]) -> Result<Vec<u8>, &'static str> {
    let size = u64::try_from(bytes).map_err(|_| "its size is negative")?;
    let (codec, rest) = packed.split_first().ok_or("it is empty")?;
    let text = match *codec {
        RAW => rest.to_vec(),
        ZSTD => decompress(rest, &[], size)?,
        DELTA => decompress(rest, base, size)?,
        PREFIX if rest.is_empty() => first(base, size)?.to_vec(),
        _ => return Err("it is packed in an unknown way"),
    };
    if text.len() as u64 == size {
        Ok(text)
    } else {
        Err("size mismatch")
    }
}

fn first(base: &[u8], size: u64) -> Result<&[u8], &'static str> {
    let size = usize::try_from(size).ok();
    size.and_then(|size| base.get(..size))
        .ok_or("its base is shorter")
}

fn raw(text: &[u8]) -> Vec<u8> {
    [&[RAW], text].concat()
}

fn coded(codec: u8, frame: &[u8]) -> Vec<u8> {
    [&[codec, checksum(frame)], frame].concat()
}

/// Returns a checksum, which every change of a single byte changes.
fn checksum(frame: &[u8]) -> u8 {
    frame
        .iter()
        .fold(0, |checksum, byte| checksum.wrapping_add(*byte))
}

/// Returns how the frame of a text begins that is one window.
fn header(size: u64) -> Vec<u8> {
    let (kind, number, bytes) = match size {
        ..256 => (0x20, size, 1),
        256..65_792 => (0x60, size - 256, 2),
        _ => (0xa0, size, 4),
    };
    [&MAGIC, &[kind][..], &number.to_le_bytes()[..bytes]].concat()
}

fn delta(text: &[u8], base: &[u8]) -> Option<Vec<u8>> {
    let mut packer = Compressor::with_dictionary(DELTA_LEVEL, base).ok()?;
    packer.set_parameter(CParameter::MinMatch(MIN_MATCH)).ok()?;
    compress(&mut packer, text)
}

/// Compresses a text into one frame and takes its header off.
fn compress(packer: &mut Compressor<'_>, text: &[u8]) -> Option<Vec<u8>> {
    let size = text.len() as u64;
    if size > LARGEST {
        return None;
    }
    // The whole text is one window; otherwise the header would have more to say.
    let window = size.next_power_of_two().ilog2().max(LEAST_WINDOW);
    packer.set_parameter(CParameter::WindowLog(window)).ok()?;
    let frame = packer.compress(text).ok()?;
    frame.strip_prefix(&*header(size)).map(<[u8]>::to_vec)
}

/// Unpacks a frame of so many bytes.
fn decompress(packed: &[u8], base: &[u8], bytes: u64) -> Result<Vec<u8>, &'static str> {
    let broken = "it cannot be unpacked";
    let (expected, frame) = packed.split_first().ok_or(broken)?;
    if *expected != checksum(frame) {
        return Err("checksum mismatch");
    }
    if bytes > LARGEST {
        return Err("size mismatch");
    }
    let size = usize::try_from(bytes).map_err(|_| broken)?;
    let frame = [&header(bytes), frame].concat();
    let mut text = Vec::with_capacity(size);
    let unpacked = UNPACKER.with_borrow_mut(|unpacker| {
        let unpacker = match unpacker {
            Some(unpacker) => unpacker,
            None => unpacker.insert(DCtx::try_create()?),
        };
        unpacker.decompress_using_dict(&mut text, &frame, base).ok()
    });
    unpacked.map(|_| text).ok_or(broken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_back(text in prop::collection::vec(any::<u8>(), 0..2000), base in prop::collection::vec(any::<u8>(), 0..2000)) {
            let size = i64::try_from(text.len()).unwrap();
            prop_assert_eq!(unpack(&alone(&text), size, b"").unwrap(), text.clone());
            prop_assert_eq!(unpack(&against(&text, &base), size, &base).unwrap(), text.clone());
            prop_assert_eq!(unpack(&prefix(), size, &[&*text, &base].concat()).unwrap(), text);
        }
    }

    #[test]
    fn every_changed_bit_is_found() {
        let line = |n: usize| format!("The {n}th line, {}.\n", n.pow(3));
        let base: String = (0..80).map(line).collect();
        let text: String = (0..90).map(|n| line(n * 7 % 89)).collect();
        let size = i64::try_from(text.len()).unwrap();
        for packed in [
            alone(text.as_bytes()),
            against(text.as_bytes(), base.as_bytes()),
        ] {
            assert_ne!(packed[0], RAW);
            for bit in 0..packed.len() * 8 {
                let mut flipped = packed.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let back = unpack(&flipped, size, base.as_bytes());
                assert!(
                    back.is_err() || bit < 8 && back.unwrap() != text.as_bytes(),
                    "{bit}"
                );
            }
        }
    }

    #[test]
    fn what_a_frame_begins_with_follows_from_its_size() {
        for size in [
            0, 1, 255, 256, 257, 1024, 1025, 65_791, 65_792, 65_793, 5_000_000,
        ] {
            let text = vec![7; size];
            let packed = against(&text, b"another");
            assert_eq!(packed[0], DELTA, "{size}");
            let size = i64::try_from(size).unwrap();
            assert_eq!(unpack(&packed, size, b"another"), Ok(text), "{size}");
        }
    }

    #[test]
    fn a_text_like_another_takes_next_to_nothing() {
        let numbers = (0..500_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string());
        let base = numbers.collect::<Vec<_>>().join("\n");
        let text = base.replacen('\n', " changed\n", 3);
        assert!(alone(text.as_bytes()).len() > 1000);
        assert!(against(text.as_bytes(), base.as_bytes()).len() < 100);
    }

    #[test]
    fn a_bomb_stops_at_its_noted_size() {
        let packed = alone(&vec![0; 10_000_000]);
        assert!(packed.len() < 2_000);
        for size in [0, 100, 9_999_999, 10_000_001] {
            assert_eq!(unpack(&packed, size, b""), Err("it cannot be unpacked"));
        }
        assert_eq!(
            unpack(&[7, 1], 1, b""),
            Err("it is packed in an unknown way")
        );
        assert_eq!(unpack(&[], 0, b""), Err("it is empty"));
    }

    #[test]
    fn a_prefix_is_no_longer_than_its_base() {
        assert_eq!(unpack(&prefix(), 3, b"text"), Ok(b"tex".to_vec()));
        assert_eq!(unpack(&prefix(), 5, b"text"), Err("its base is shorter"));
        let more = [prefix(), vec![0]].concat();
        assert_eq!(
            unpack(&more, 3, b"text"),
            Err("it is packed in an unknown way")
        );
    }
}
