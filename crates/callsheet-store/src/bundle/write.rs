//! Writing a bundle: always the same bytes for the same contents.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write};

use callsheet::Fingerprint;
use callsheet::redact::Redactor;
use callsheet::seal::DOCUMENTS;

use super::export::{self, Measure, event_lines, log_lines};
use super::read::{MOST_BYTES, MOST_ENTRIES, MOST_LINES};
use super::redact::Cleaner;
use super::{Bundle, Entry, INDEX, Index, LinesDigest, RunEntry};
use crate::project::Project;
use crate::wait::Wait;
use crate::{Store, StoreError};

const LEVEL: i32 = 9;

/// How hard logs are compressed, which may be large.
const QUICK: i32 = 3;

impl Bundle {
    /// Writes a bundle that has no runs.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        if !self.runs.is_empty() {
            return Err(io::Error::other("its runs are in a store"));
        }
        self.archive(out)?.into_inner()?.finish()?.flush()
    }

    /// Writes a bundle whose runs are in a store; it blocks.
    pub fn write_from(
        &self,
        store: &Store,
        project: &Project,
        redactor: Option<&Redactor>,
        out: impl Write,
    ) -> io::Result<()> {
        let mut tar = self.archive(out)?;
        for bundled in &self.runs {
            let folder = format!("runs/{}", bundled.run.id);
            let document = bundled.run.text().map_err(io::Error::other)?;
            add(&mut tar, &format!("{folder}/run.json"), document.as_bytes())?;
            let (id, of) = (bundled.run.id, project.clone());
            let found = store.read(move |tx| export::find(tx, &of, id)).wait();
            let found = found.map_err(io::Error::other)?;
            let key = found.ok_or_else(|| io::Error::other("a run is gone"))?.key;
            let cleaner = Cleaner::new(redactor.cloned(), project.paths.clone());
            let path = format!("{folder}/events.ndjson");
            add_lines(&mut tar, &path, bundled.events, |take| {
                event_lines(&mut &*store, key, &cleaner, bundled.events.lines, take)
            })?;
            let path = format!("{folder}/log.ndjson");
            add_lines(&mut tar, &path, bundled.log, |take| {
                log_lines(&mut &*store, key, cleaner.clone(), take)
            })?;
        }
        tar.into_inner()?.finish()?.flush()
    }

    /// Begins an archive with everything but the runs.
    fn archive<W: Write>(&self, out: W) -> io::Result<Archive<W>> {
        self.check_size()?;
        let level = if self.runs.is_empty() { LEVEL } else { QUICK };
        let mut packed = zstd::stream::Encoder::new(out, level)?;
        packed.include_checksum(true)?;
        let mut tar = tar::Builder::new(packed);
        add(&mut tar, INDEX, self.index()?.as_bytes())?;
        let mut bodies = BTreeMap::new();
        for prompt in &self.prompts {
            let folder = format!("prompts/{}", prompt.id);
            let rendered = prompt.seal.text().map_err(io::Error::other)?;
            add(&mut tar, &format!("{folder}/prompt"), rendered.as_bytes())?;
            for (name, text) in DOCUMENTS.iter().zip(&prompt.seal.documents) {
                add(&mut tar, &format!("{folder}/{name}.json"), text.as_bytes())?;
            }
            bodies.extend(&prompt.seal.bodies);
        }
        for (name, text) in bodies {
            add(&mut tar, &format!("bodies/{}", digits(*name)), text)?;
        }
        Ok(tar)
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
        let documents = self.runs.iter().map(|bundled| bundled.run.text());
        for document in documents {
            bytes += document.map_err(io::Error::other)?.len();
        }
        let entries =
            1 + self.runs.len() * 3 + self.prompts.len() * (1 + DOCUMENTS.len()) + bodies.len();
        // Every entry has a header, and is filled up to a whole block.
        let whole = bytes as u64 + entries as u64 * 1024;
        let lines = self.runs.iter().map(|it| it.events.bytes + it.log.bytes);
        let lines: u64 = lines.sum();
        if whole >= MOST_BYTES || entries > MOST_ENTRIES || lines > MOST_LINES {
            let why = format!(
                "it would have {entries} entries and {} bytes, which is too much for a bundle",
                whole + lines
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
        let runs = self.runs.iter().map(|bundled| {
            let document = bundled.run.text().map_err(io::Error::other)?;
            Ok(RunEntry {
                id: bundled.run.id,
                run: Fingerprint::of(document),
                events: bundled.events.fingerprint,
                log: bundled.log.fingerprint,
            })
        });
        let index = Index {
            schema: self.schema().to_owned(),
            redacted: self.redacted,
            prompts: entries.collect::<io::Result<_>>()?,
            runs: runs.collect::<io::Result<_>>()?,
        };
        Ok(serde_json::to_string_pretty(&index)? + "\n")
    }
}

/// Returns the digits of a fingerprint, which are the name of a file.
pub(super) fn digits(name: Fingerprint) -> String {
    let text = name.to_string();
    text.strip_prefix("b3:").unwrap_or(&text).to_owned()
}

type Archive<W> = tar::Builder<zstd::stream::Encoder<'static, W>>;

fn add(tar: &mut tar::Builder<impl Write>, path: &str, bytes: &[u8]) -> io::Result<()> {
    tar.append_data(&mut header(bytes.len() as u64), path, bytes)
}

fn header(bytes: u64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::Regular);
    header
}

/// Adds lines that come one by one, and have to be those that were measured.
fn add_lines(
    tar: &mut tar::Builder<impl Write>,
    path: &str,
    wanted: LinesDigest,
    lines: impl FnOnce(&mut dyn FnMut(&str) -> Result<(), StoreError>) -> Result<(), StoreError>,
) -> io::Result<()> {
    let mut header = header(wanted.bytes);
    header.set_path(path)?;
    header.set_cksum();
    let out = tar.get_mut();
    out.write_all(header.as_bytes())?;
    let mut found = Measure::default();
    let mut refused = None;
    let read = lines(&mut |line| {
        found.add(line.as_bytes());
        out.write_all(line.as_bytes()).map_err(|cause| {
            let error = StoreError::refused(cause.to_string());
            refused = Some(cause);
            error
        })
    });
    if let Some(cause) = refused {
        return Err(cause);
    }
    read.map_err(io::Error::other)?;
    if found.finish() != wanted {
        let why = format!("`{path}` has changed while it was written");
        return Err(io::Error::other(why));
    }
    // A block of an archive has 512 bytes.
    let rest = wanted.bytes.next_multiple_of(512) - wanted.bytes;
    io::copy(&mut io::repeat(0).take(rest), out).map(|_| ())
}
