//! Sieves: which groups of three characters a text has, and some longer ones, in a few bits for each.
//!
//! A text that has a group is always told to have it. One that has not is seldom told to, so that whoever asks for many
//! groups at once is seldom sent to a text in vain.

use std::collections::HashSet;

/// How many bits a sieve has for each group, and how many of them are set. A text that is looked for has several long groups,
/// so that each may let more through.
const SHORT_BITS: (usize, u64) = (8, 5);
const LONG_BITS: (usize, u64) = (3, 2);

/// How many characters a long group has, and among how many one is taken.
const LONG: usize = 8;
const AMONG: usize = 4;

/// The groups of one or several texts, each once.
#[derive(Default)]
pub(crate) struct Groups(HashSet<u64>);

impl Groups {
    /// Adds the groups of three characters of a text.
    pub(crate) fn add(&mut self, text: &str) {
        self.0.extend(groups(text));
    }

    /// Adds the long groups of a text.
    pub(crate) fn add_long(&mut self, text: &str) {
        self.0.extend(long_groups(text));
    }

    /// Returns the sieve of all groups.
    pub(crate) fn sieve(&self) -> Vec<u8> {
        let size: usize = self.0.iter().map(|group| bits(*group).0).sum();
        let mut sieve = vec![0; size.div_ceil(8).max(1)];
        for group in &self.0 {
            for (byte, mask) in places(*group, sieve.len()) {
                sieve[byte] |= mask;
            }
        }
        sieve
    }
}

fn bits(group: u64) -> (usize, u64) {
    if group >> 63 == 1 {
        LONG_BITS
    } else {
        SHORT_BITS
    }
}

/// Returns the groups of three characters of a text, one after the other.
pub(crate) fn groups(text: &str) -> impl Iterator<Item = u64> {
    let mut seen = 0_u32;
    let mut group = 0_u64;
    text.chars().filter_map(move |c| {
        // A character has 21 bits, so that three of them fit.
        group = (group << 21 | u64::from(u32::from(c))) & (u64::MAX >> 1);
        seen = (seen + 1).min(3);
        (seen == 3).then_some(group)
    })
}

/// Returns some of the groups of eight characters of a text: of every four that follow each other, the one with the least number.
///
/// Common words have the same three characters everywhere; what stands together seldom has the same eight. Whatever is long
/// enough to have four of them has the same least one wherever it stands.
pub(crate) fn long_groups(text: &str) -> impl Iterator<Item = u64> {
    let (mut last, mut numbers) = ([0_u32; LONG], [u64::MAX; AMONG]);
    let mut seen = 0;
    text.chars().filter_map(move |c| {
        last.rotate_left(1);
        last[LONG - 1] = c.into();
        let fold = |group: u64, c: &u32| {
            group
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .wrapping_add(u64::from(*c) + 1)
        };
        numbers.rotate_left(1);
        numbers[AMONG - 1] = mix(last.iter().fold(0, fold));
        seen = (seen + 1).min(LONG + AMONG - 1);
        let least = numbers.iter().min().filter(|_| seen == LONG + AMONG - 1);
        // The highest bit tells it from a short one.
        least.map(|group| group | 1 << 63)
    })
}

/// Tells whether a text with this sieve can have a group.
pub(crate) fn can_have(sieve: &[u8], group: u64) -> bool {
    !sieve.is_empty() && places(group, sieve.len()).all(|(byte, mask)| sieve[byte] & mask != 0)
}

/// Returns the places of the bits of a group.
fn places(group: u64, bytes: usize) -> impl Iterator<Item = (usize, u8)> {
    let mixed = mix(group);
    let (start, step) = (mixed & 0xffff_ffff, mixed >> 32 | 1);
    let size = bytes as u64 * 8;
    (0..bits(group).1).map(move |nth| {
        let bit = (start + nth * step) % size;
        let byte = usize::try_from(bit / 8).unwrap_or(0);
        (byte, 1 << (bit % 8))
    })
}

/// Spreads a number over all bits, the same way on every machine.
fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sieve(text: &str) -> Vec<u8> {
        let mut groups = Groups::default();
        groups.add(text);
        groups.add_long(text);
        groups.sieve()
    }

    proptest! {
        #[test]
        fn every_part_of_a_text_is_told(text in "\\PC{0,60}[a-z ]{0,300}", from in 0..400_usize, len in 0..60_usize) {
            let from = text.floor_char_boundary(from.min(text.len()));
            let to = text.ceil_char_boundary((from + len).min(text.len()));
            let bits = sieve(&text);
            let part = &text[from..to];
            prop_assert!(groups(part).chain(long_groups(part)).all(|group| can_have(&bits, group)));
        }
    }

    #[test]
    fn groups_are_told_apart() {
        let all: Vec<u64> = groups("aab\0é日").collect();
        let distinct: HashSet<u64> = all.iter().copied().collect();
        assert_eq!((all.len(), distinct.len()), (4, 4));
        assert_eq!(groups("ab").count() + groups("").count(), 0);
        assert_eq!(long_groups("1234567890").count(), 0);
        assert_eq!(long_groups("12345678901").count(), 1);
        let numbers: Vec<String> = (0..400).map(|n| n.to_string()).collect();
        let long: HashSet<u64> = long_groups(&numbers.join(" ")).collect();
        assert!((500..700).contains(&long.len()), "of 1480: {}", long.len());
        assert!(long.iter().all(|group| group >> 63 == 1));
    }

    #[test]
    fn what_is_not_there_is_seldom_told() {
        let words: Vec<String> = (0..400).map(|n| format!("word{n}")).collect();
        let bits = sieve(&words.join(" "));
        let letters = || ('A'..='Z').chain('À'..='Ý');
        let absent = letters().flat_map(|one| letters().map(move |two| format!("Q{one}{two}")));
        let told = |text: &String| groups(text).all(|group| can_have(&bits, group));
        let (all, told) = (letters().count().pow(2), absent.filter(told).count());
        assert!(told * 20 < all, "{told} of {all}");
        assert!(!can_have(&[], 7));
    }
}
