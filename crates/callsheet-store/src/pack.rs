//! How texts are packed: as they are, compressed, or as what differs from a text that resembles them.
//!
//! What is unpacked is not trusted: it never grows beyond the size that was noted for it.

use zstd::zstd_safe::{CParameter, DParameter};

/// The largest text that is unpacked.
const LARGEST: u64 = 1 << 30;

/// As it is.
const RAW: u8 = 0;
/// Compressed.
const ZSTD: u8 = 1;
/// Compressed with the help of another text.
const DELTA: u8 = 2;

/// Texts shorter than this are not worth it.
const LEAST: usize = 256;

/// The largest window that unpacking may ask for, as a power of two; what we pack needs less.
const WINDOW: u32 = 27;

/// How hard texts are compressed, which are written once and kept for years.
const LEVEL: i32 = 9;

/// How hard logs are compressed, which come while an agent works.
const QUICK: i32 = 3;

/// Packs a text by itself.
pub(crate) fn alone(text: &[u8]) -> Vec<u8> {
    packed(text, LEVEL)
}

/// Packs what comes faster than it is worth a second look.
pub(crate) fn quickly(text: &[u8]) -> Vec<u8> {
    packed(text, QUICK)
}

fn packed(text: &[u8], level: i32) -> Vec<u8> {
    let raw = || coded(RAW, text);
    if text.len() < LEAST {
        return raw();
    }
    match zstd::bulk::compress(text, level).ok() {
        // A tenth less is worth the time to unpack it.
        Some(packed) if packed.len() < text.len() / 10 * 9 => coded(ZSTD, &packed),
        _ => raw(),
    }
}

/// Packs a text as what differs from `base`.
pub(crate) fn against(text: &[u8], base: &[u8]) -> Vec<u8> {
    match compress(text, base) {
        Some(packed) => coded(DELTA, &packed),
        None => coded(RAW, text),
    }
}

/// Tells whether a text needs its base to be unpacked.
pub(crate) fn needs_base(packed: &[u8]) -> bool {
    packed.first() == Some(&DELTA)
}

/// Unpacks a text of so many bytes, or says why it is none.
pub(crate) fn unpack(packed: &[u8], bytes: i64, base: &[u8]) -> Result<Vec<u8>, &'static str> {
    let size = u64::try_from(bytes).map_err(|_| "its size is negative")?;
    let (codec, rest) = packed.split_first().ok_or("it is empty")?;
    let text = match *codec {
        RAW => rest.to_vec(),
        ZSTD => decompress(rest, &[], size)?,
        DELTA => decompress(rest, base, size)?,
        _ => return Err("it is packed in an unknown way"),
    };
    if text.len() as u64 == size {
        Ok(text)
    } else {
        Err("its size is another")
    }
}

fn coded(codec: u8, bytes: &[u8]) -> Vec<u8> {
    let mut coded = Vec::with_capacity(bytes.len() + 1);
    coded.push(codec);
    coded.extend_from_slice(bytes);
    coded
}

/// Compresses with a checksum, by which a changed byte is found.
fn compress(text: &[u8], base: &[u8]) -> Option<Vec<u8>> {
    let mut packer = zstd::bulk::Compressor::with_dictionary(LEVEL, base).ok()?;
    packer.set_parameter(CParameter::ChecksumFlag(true)).ok()?;
    packer.compress(text).ok()
}

/// Unpacks what says of itself that it has so many bytes.
fn decompress(packed: &[u8], base: &[u8], bytes: u64) -> Result<Vec<u8>, &'static str> {
    let broken = "it cannot be unpacked";
    let told = zstd::zstd_safe::get_frame_content_size(packed).map_err(|_| broken)?;
    if told != Some(bytes) || bytes > LARGEST {
        return Err("its size is another");
    }
    let size = usize::try_from(bytes).map_err(|_| broken)?;
    let unpacker = zstd::bulk::Decompressor::with_dictionary(base);
    let mut unpacker = unpacker.map_err(|_| broken)?;
    unpacker
        .set_parameter(DParameter::WindowLogMax(WINDOW))
        .map_err(|_| broken)?;
    unpacker.decompress(packed, size).map_err(|_| broken)
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
            prop_assert_eq!(unpack(&against(&text, &base), size, &base).unwrap(), text);
        }

        #[test]
        fn a_changed_byte_is_an_error_or_another_text(at in 0_usize..200, flip in 1..=255_u8) {
            let text = "The same words come again and again. ".repeat(20).into_bytes();
            let mut packed = against(&text, b"The same words come again");
            let at = at % packed.len();
            packed[at] ^= flip;
            let size = i64::try_from(text.len()).unwrap();
            let back = unpack(&packed, size, b"The same words come again");
            prop_assert!(back.is_err() || back.unwrap() != text || at < 14, "only header bytes may be idle");
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
        assert_eq!(unpack(&packed, 100, b""), Err("its size is another"));
        assert_eq!(
            unpack(&[7, 1], 1, b""),
            Err("it is packed in an unknown way")
        );
        assert_eq!(unpack(&[], 0, b""), Err("it is empty"));
    }
}
