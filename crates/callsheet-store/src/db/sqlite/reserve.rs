//! A file beside the database that says that there is one, and keeps room for collecting on a full disk.
//!
//! Removing takes room before it gives room back. Whoever collects gives this one to the disk first.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::leftovers::beside;
use crate::folder::{private_file, sync_folder};

/// How the name of the file ends.
pub(super) const END: &str = "-reserve";

/// The least and the most that is kept; in between it is a part of the database.
const LEAST: u64 = 256 << 10;
const MOST: u64 = 16 << 20;
const PART: u64 = 4;

/// What the file says.
const TEXT: &str = "The database beside this file is a store of Callsheet. Where it is missing, restore it from a backup;\n\
    to begin anew, remove this file. The rest of it is room that `callsheet gc` uses when the disk is full.\n";

/// Makes the file, and brings it to the size that the database needs, if there is room.
pub(super) fn keep(path: &Path) -> io::Result<()> {
    let wanted = (fs::metadata(path)?.len() / PART).clamp(LEAST, MOST);
    let reserve = beside(path, END);
    let there = fs::metadata(&reserve).map(|found| found.len());
    if there
        .as_ref()
        .is_ok_and(|there| (wanted / 2..=wanted * 2).contains(there))
    {
        return Ok(());
    }
    let mut file = private_file(&reserve)?;
    file.write_all(TEXT.as_bytes())?;
    if there.is_err() {
        file.sync_all()?;
        sync_folder(reserve.parent());
    }
    if file.write_all(&room(wanted)).is_err() {
        // The last room of a disk is not for this.
        file.set_len(TEXT.len() as u64)?;
    }
    Ok(())
}

/// Gives the room to the disk; the file stays.
pub(super) fn spend(path: &Path) {
    let file = OpenOptions::new().write(true).open(beside(path, END));
    // Where there is none, there is nothing to give.
    let _ = file.and_then(|file| file.set_len(TEXT.len() as u64));
}

/// Returns bytes that no disk can make smaller.
fn room(size: u64) -> Vec<u8> {
    let mut dice = size | 1;
    let words = std::iter::repeat_with(|| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice.to_le_bytes()
    });
    words
        .take(usize::try_from(size / 8).unwrap_or(0))
        .flatten()
        .collect()
}
