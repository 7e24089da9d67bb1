//! Bundles, unpacked and packed by hand.

#![expect(
    clippy::unwrap_used,
    reason = "a bundle that cannot be made fails the test"
)]

use std::io::Read as _;

/// The entries of a bundle in their order.
pub(crate) type Files = Vec<(String, Vec<u8>)>;

/// Unpacks a bundle without any check.
pub(crate) fn unpack(bytes: &[u8]) -> Files {
    let tar = zstd::decode_all(bytes).unwrap();
    let mut archive = tar::Archive::new(tar.as_slice());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (path, bytes)
    });
    entries.collect()
}

/// Packs files as they are.
pub(crate) fn pack(files: &Files) -> Vec<u8> {
    pack_with(files, |_| {})
}

/// Packs files, and whatever else somebody puts behind them.
pub(crate) fn pack_with(files: &Files, more: impl FnOnce(&mut tar::Builder<Vec<u8>>)) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let index = files.iter().filter(|(path, _)| path == "bundle.json");
    let rest = files.iter().filter(|(path, _)| path != "bundle.json");
    for (path, bytes) in index.chain(rest) {
        add(&mut tar, path, tar::EntryType::Regular, bytes);
    }
    more(&mut tar);
    zstd::encode_all(tar.into_inner().unwrap().as_slice(), 3).unwrap()
}

/// Adds an entry under any name, also one that no tool would write.
pub(crate) fn add(tar: &mut tar::Builder<Vec<u8>>, path: &str, kind: tar::EntryType, bytes: &[u8]) {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_entry_type(kind);
    if kind == tar::EntryType::Symlink || kind == tar::EntryType::Link {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_cksum();
    tar.append(&header, bytes).unwrap();
}
