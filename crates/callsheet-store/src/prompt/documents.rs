//! The four documents of a prompt, joined and kept as a delta against those of a prompt like it.
//!
//! The base is a body, which may be a delta against an older one itself. Nothing here proves that they are the sealed ones;
//! the seal does.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use callsheet::Fingerprint;
use callsheet::seal::DOCUMENTS;

use super::SealedPrompt;
use crate::body::{self, Base, BaseName, DeltaBases, NewBody};
use crate::db::{Row, Tx};
use crate::project::Project;
use crate::{StoreError, pack};

const INSERT: &str = "insert into document (key, base, bytes, packed) values ($1, $2, $3, $4)";

const READ: &str = "select base, bytes, packed from document where key = $1";

/// Stands between two documents; no text has this byte.
const BETWEEN: u8 = 0xff;

/// So many kinds of prompts that one recipe makes have a base each.
const KINDS: usize = 3;

/// Keeps the documents of a prompt; those that resemble none become the base of those to come.
pub(super) fn put(
    tx: &mut dyn Tx,
    project: &Project,
    prompt: &SealedPrompt,
    documents: &[String; 4],
) -> Result<(), StoreError> {
    let joined = documents.each_ref().map(String::as_bytes).join(&BETWEEN);
    let packed = |base: &[u8]| pack::against(&joined, &hinted(base, prompt));
    let alone = LazyCell::new(|| pack::alone(&joined));
    let bases = DeltaBases {
        project: project.key,
    };
    let name = |kind: usize| BaseName::of(&format!("documents of {} {kind}", prompt.recipe));
    let names: [BaseName; KINDS] = std::array::from_fn(name);
    let (mut free, mut far) = (None, Vec::new());
    for name in names {
        let Some(base) = bases.bases(tx, &[name])?.remove(&name) else {
            free = free.or(Some(name));
            continue;
        };
        let packed = packed(&base.text);
        if base.is_near(packed.len(), || alone.len()) {
            bases.note(tx, (name, &base), packed.len())?;
            return insert(tx, prompt, base.key, (joined.len(), packed));
        }
        far.push((packed.len(), name, base));
    }
    let nearest = far.into_iter().min_by_key(|(took, ..)| *took);
    let (name, last) = match nearest {
        Some((took, name, base)) if took <= alone.len() / 2 => (name, Some(base)),
        _ => {
            let any = usize::try_from(prompt.key).unwrap_or(0) % KINDS;
            (free.unwrap_or(names[any]), None)
        }
    };
    let base = put_base(tx, last, (&joined, &alone))?;
    bases.set(tx, &BTreeMap::from([(name, base)]))?;
    insert(tx, prompt, base, (joined.len(), pack::prefix()))
}

fn insert(
    tx: &mut dyn Tx,
    prompt: &SealedPrompt,
    base: i64,
    (size, packed): (usize, Vec<u8>),
) -> Result<(), StoreError> {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let values = [prompt.key.into(), base.into(), size.into(), packed.into()];
    tx.execute(INSERT, &values)?;
    Ok(())
}

/// Keeps joined documents as the base of those to come, as a delta against the whole ones that the last base is one against.
fn put_base(
    tx: &mut dyn Tx,
    last: Option<Base>,
    (joined, alone): (&[u8], &[u8]),
) -> Result<i64, StoreError> {
    let whole = match last {
        // A damaged one is left alone, and reported by `verify`.
        Some(Base {
            whole: Some(key), ..
        }) => match body::get_key(tx, key) {
            Ok(text) => Some((key, text)),
            Err(StoreError::Damaged { .. }) => None,
            Err(other) => return Err(other),
        },
        Some(last) => Some((last.key, last.text)),
        None => None,
    };
    // Where little of the whole documents is left, new ones soon pay.
    let whole = whole.filter(|(_, text)| pack::against(joined, text).len() <= alone.len() / 3);
    let name = Fingerprint::of(joined);
    if let Some(key) = body::find(tx, name)? {
        return Ok(key);
    }
    let whole = whole.as_ref().map(|(key, text)| (*key, text.as_slice()));
    let packed = NewBody::new(name, joined, alone.to_vec(), whole);
    let keys = body::insert(tx, &[packed])?;
    keys.get(&name)
        .copied()
        .ok_or_else(|| body::not_there(tx, name))
}

/// Adds to a base what the row of a prompt says already and its manifest says again.
fn hinted(base: &[u8], prompt: &SealedPrompt) -> Vec<u8> {
    [base, prompt.fingerprint.to_string().as_bytes()].concat()
}

/// The bases of documents, each unpacked once.
#[derive(Default)]
pub(super) struct UnpackedBases {
    texts: BTreeMap<i64, Arc<Vec<u8>>>,
    bytes: usize,
}

/// So many bytes are kept for the next prompt.
const MOST_BYTES: usize = 16 << 20;

impl UnpackedBases {
    /// Returns the documents of a prompt, or what of them is not in order.
    pub(super) fn documents(
        &mut self,
        tx: &mut dyn Tx,
        prompt: &SealedPrompt,
    ) -> Result<Result<[String; 4], String>, StoreError> {
        let Some(row) = tx.first(READ, &[prompt.key.into()])? else {
            return Ok(Err("its documents are not there".to_owned()));
        };
        match self.joined(tx, prompt, &row) {
            Ok(joined) => Ok(split(&joined)),
            Err(StoreError::Damaged { why, .. }) => Ok(Err(format!("its documents: {why}"))),
            Err(other) => Err(other),
        }
    }

    fn joined(
        &mut self,
        tx: &mut dyn Tx,
        prompt: &SealedPrompt,
        row: &Row,
    ) -> Result<Arc<Vec<u8>>, StoreError> {
        let (base, packed) = (self.get(tx, row.int(0)?)?, row.bytes(2)?);
        // Long ones are not copied more often than it takes.
        if packed == pack::prefix() && usize::try_from(row.int(1)?) == Ok(base.len()) {
            return Ok(base);
        }
        let joined = if pack::is_prefix(packed) {
            pack::unpack(packed, row.int(1)?, &base)
        } else {
            pack::unpack(packed, row.int(1)?, &hinted(&base, prompt))
        };
        joined.map(Arc::new).map_err(|why| row.damaged(why))
    }

    fn get(&mut self, tx: &mut dyn Tx, key: i64) -> Result<Arc<Vec<u8>>, StoreError> {
        if let Some(text) = self.texts.get(&key) {
            return Ok(Arc::clone(text));
        }
        let text = Arc::new(body::get_key(tx, key)?);
        if self.bytes > MOST_BYTES {
            *self = Self::default();
        }
        self.bytes += text.len();
        self.texts.insert(key, Arc::clone(&text));
        Ok(text)
    }
}

/// Takes joined documents apart.
fn split(joined: &[u8]) -> Result<[String; 4], String> {
    let ends = memchr::memchr_iter(BETWEEN, joined).chain([joined.len()]);
    let mut start = 0;
    let documents = ends.map(|end| {
        let document = &joined[start..end];
        start = end + 1;
        document
    });
    let documents: Vec<&[u8]> = documents.collect();
    let count = documents.len();
    let documents: [&[u8]; 4] = documents.try_into().map_err(|_| {
        format!(
            "its documents: they are {count} and not {}",
            DOCUMENTS.len()
        )
    })?;
    let mut texts = <[String; 4]>::default();
    for ((name, document), text) in DOCUMENTS.iter().zip(documents).zip(&mut texts) {
        let read = str::from_utf8(document).map_err(|_| format!("{name}: it is not UTF-8"))?;
        read.clone_into(text);
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn joined_documents_are_four_texts() {
        let read = split(b"{}\xff\xff[\"\xc3\xa9\"]\xff1");
        let wanted = ["{}", "", "[\"\u{e9}\"]", "1"].map(str::to_owned);
        assert_eq!(read, Ok(wanted));
        let why = |joined: &[u8]| split(joined).unwrap_err();
        assert_eq!(why(b""), "its documents: they are 1 and not 4");
        assert_eq!(
            why(b"\xff\xff\xff\xff"),
            "its documents: they are 5 and not 4"
        );
        assert_eq!(why(b"\xff\xff\xc3\xff"), "layout: it is not UTF-8");
    }
}
