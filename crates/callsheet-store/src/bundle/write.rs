//! Writing a bundle: always the same bytes for the same prompts.

use std::collections::BTreeMap;
use std::io::{self, Write};

use callsheet::Fingerprint;
use callsheet::seal::DOCUMENTS;

use super::read::{MOST_BYTES, MOST_ENTRIES};
use super::{Bundle, Entry, INDEX, Index, SCHEMA};

const LEVEL: i32 = 9;

impl Bundle {
    /// Writes the bundle.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        self.check_size()?;
        let mut packed = zstd::stream::Encoder::new(out, LEVEL)?;
        packed.include_checksum(true)?;
        let mut tar = tar::Builder::new(packed);
        add(&mut tar, INDEX, self.index()?.as_bytes())?;
        let mut bodies = BTreeMap::new();
        for prompt in &self.prompts {
            let folder = format!("prompts/{}", prompt.id);
            let rendered = prompt.seal.rendered().map_err(io::Error::other)?;
            add(&mut tar, &format!("{folder}/prompt"), rendered.as_bytes())?;
            for (name, text) in DOCUMENTS.iter().zip(&prompt.seal.documents) {
                add(&mut tar, &format!("{folder}/{name}.json"), text.as_bytes())?;
            }
            bodies.extend(&prompt.seal.bodies);
        }
        for (name, text) in bodies {
            add(&mut tar, &format!("bodies/{}", digits(*name)), text)?;
        }
        tar.into_inner()?.finish()?.flush()
    }

    /// Refuses what nobody could read again.
    fn check_size(&self) -> io::Result<()> {
        let mut bodies = BTreeMap::new();
        let mut bytes = 0;
        for prompt in &self.prompts {
            bytes += prompt.seal.manifest().map_err(io::Error::other)?.bytes;
            bytes += prompt.seal.documents.iter().map(String::len).sum::<usize>();
            bodies.extend(&prompt.seal.bodies);
        }
        bytes += bodies.values().map(|text| text.len()).sum::<usize>();
        let entries = 1 + self.prompts.len() * (1 + DOCUMENTS.len()) + bodies.len();
        // Every entry has a header, and is filled up to a whole block.
        let whole = bytes as u64 + entries as u64 * 1024;
        if whole >= MOST_BYTES || entries > MOST_ENTRIES {
            let why = format!(
                "it would have {entries} entries and {whole} bytes, which is too much for a bundle"
            );
            return Err(io::Error::other(why));
        }
        Ok(())
    }

    fn index(&self) -> io::Result<String> {
        let entries = self.prompts.iter().map(|prompt| {
            let manifest = prompt.seal.manifest().map_err(io::Error::other)?;
            Ok(Entry {
                id: prompt.id.to_string(),
                sealed_at: prompt.sealed_at,
                fingerprint: manifest.fingerprint,
                seal: prompt.seal.fingerprint(),
            })
        });
        let index = Index {
            schema: SCHEMA.to_owned(),
            redacted: self.redacted,
            prompts: entries.collect::<io::Result<_>>()?,
        };
        Ok(serde_json::to_string_pretty(&index)? + "\n")
    }
}

/// Returns the digits of a fingerprint, which are the name of a file.
pub(super) fn digits(name: Fingerprint) -> String {
    let text = name.to_string();
    text.strip_prefix("b3:").unwrap_or(&text).to_owned()
}

fn add(tar: &mut tar::Builder<impl Write>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    tar.append_data(&mut header, path, bytes)
}
