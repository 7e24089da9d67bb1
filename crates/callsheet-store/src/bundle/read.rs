//! Reading a bundle: every name, size and fingerprint is checked before anything is believed.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use callsheet::seal::DOCUMENTS;
use callsheet::{Fingerprint, Seal};

use super::write::digits;
use super::{Bundle, Bundled, Entry, INDEX, Index, SCHEMA};
use crate::{Id, StoreError};

/// The most bytes that a bundle may unfold to.
pub(super) const MOST_BYTES: u64 = 512 << 20;

/// The most entries that a bundle may have.
pub(super) const MOST_ENTRIES: usize = 1_000_000;

/// The largest window that unpacking may ask for, as a power of two.
const WINDOW: u32 = 27;

type Files = BTreeMap<String, Vec<u8>>;

impl Bundle {
    /// Reads a bundle and proves everything in it; `name` is how a user calls it.
    pub fn read(name: &str, bytes: impl Read) -> Result<Self, StoreError> {
        let refused = |why: String| StoreError::damaged(name, why);
        let mut files = unpack(bytes).map_err(refused)?;
        let bundle = put_together(&mut files).map_err(refused)?;
        match files.keys().next() {
            Some(other) => Err(refused(format!("`{other}` belongs to no prompt of it"))),
            None => Ok(bundle),
        }
    }
}

/// Unpacks all entries; none has a name that is not one of ours, so that none can lead anywhere.
fn unpack(bytes: impl Read) -> Result<Files, String> {
    let told = |error: io::Error| format!("it is no bundle: {error}");
    let decoder = zstd::stream::Decoder::new(bytes).map_err(told)?;
    let mut decoder = decoder.single_frame();
    decoder.window_log_max(WINDOW).map_err(told)?;
    let mut limited = decoder.take(MOST_BYTES);
    let mut files = Files::new();
    let mut archive = tar::Archive::new(&mut limited);
    // Raw, so that no header changes what another one says.
    for entry in archive.entries().map_err(told)?.raw(true) {
        let mut entry = entry.map_err(told)?;
        let path = entry.path_bytes();
        let path = std::str::from_utf8(&path).map_err(|_| "a name is no UTF-8".to_owned())?;
        let path = path.to_owned();
        if entry.header().entry_type() != tar::EntryType::Regular || !is_ours(&path) {
            return Err(format!(
                "`{}` has no place in a bundle",
                path.escape_debug()
            ));
        }
        if files.is_empty() && path != INDEX {
            return Err(format!("it does not begin with `{INDEX}`"));
        }
        // A size that is not true is met by the end of the archive, not by the memory.
        let mut text = Vec::new();
        entry.read_to_end(&mut text).map_err(told)?;
        if files.len() >= MOST_ENTRIES {
            return Err(format!("it has more than {MOST_ENTRIES} entries"));
        }
        if files.insert(path.clone(), text).is_some() {
            return Err(format!("`{path}` is in it twice"));
        }
    }
    // What follows the archive is read too: its checksum stands at the very end.
    let mut rest = Vec::new();
    limited.read_to_end(&mut rest).map_err(told)?;
    if limited.limit() == 0 {
        return Err(format!("it unfolds to more than {MOST_BYTES} bytes"));
    }
    let mut after = limited.into_inner().finish();
    let more = after.read(&mut [0]).map_err(told)?;
    if more > 0 || rest.iter().any(|byte| *byte != 0) {
        return Err("something follows the archive".to_owned());
    }
    if files.is_empty() {
        return Err("it is empty".to_owned());
    }
    Ok(files)
}

fn is_ours(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        [INDEX] => true,
        ["prompts", id, "prompt"] => id.parse::<Id>().is_ok(),
        ["prompts", id, document] => {
            let document = document.strip_suffix(".json");
            id.parse::<Id>().is_ok() && document.is_some_and(|name| DOCUMENTS.contains(&name))
        }
        ["bodies", name] => format!("b3:{name}").parse::<Fingerprint>().is_ok(),
        _ => false,
    }
}

/// Takes the files of all prompts out of the list and checks them.
fn put_together(files: &mut Files) -> Result<Bundle, String> {
    let text = files.remove(INDEX).unwrap_or_default();
    let index: Index =
        serde_json::from_slice(&text).map_err(|error| format!("`{INDEX}`: {error}"))?;
    if index.schema != SCHEMA {
        let found = index.schema;
        return Err(format!(
            "its schema is `{found}`, this program knows `{SCHEMA}`"
        ));
    }
    let mut bodies = BTreeMap::new();
    let names: Vec<String> = files.keys().cloned().collect();
    for path in names {
        let Some(name) = path.strip_prefix("bodies/") else {
            continue;
        };
        let text = files.remove(&path).unwrap_or_default();
        let found = Fingerprint::of(&text);
        if digits(found) != name {
            return Err(format!("`{path}` is not what its name says"));
        }
        bodies.insert(found, (Arc::from(text), false));
    }
    let prompts = index.prompts.iter();
    let prompts = prompts.map(|entry| prompt(entry, files, &mut bodies));
    let prompts = prompts.collect::<Result<_, String>>()?;
    if let Some((name, _)) = bodies.iter().find(|(_, (_, used))| !used) {
        return Err(format!(
            "`bodies/{}` belongs to no prompt of it",
            digits(*name)
        ));
    }
    let bundle = Bundle {
        redacted: index.redacted,
        prompts,
    };
    let clean = |bundled: &Bundled| bundled.seal.inputs().is_ok_and(|it| it.is_redacted());
    match bundle.prompts.iter().find(|bundled| !clean(bundled)) {
        Some(bundled) if bundle.redacted => {
            let id = bundled.id;
            Err(format!(
                "it says that it is redacted, and prompt {id} is not"
            ))
        }
        _ => Ok(bundle),
    }
}

fn prompt(
    entry: &Entry,
    files: &mut Files,
    bodies: &mut BTreeMap<Fingerprint, (Arc<[u8]>, bool)>,
) -> Result<Bundled, String> {
    let id = &entry.id;
    let mut take = |name: &str| {
        let path = format!("prompts/{id}/{name}");
        let bytes = files
            .remove(&path)
            .ok_or_else(|| format!("`{path}` is not there"))?;
        String::from_utf8(bytes).map_err(|_| format!("`{path}` is no UTF-8"))
    };
    let rendered = take("prompt")?;
    let mut documents = <[String; 4]>::default();
    for (name, document) in DOCUMENTS.iter().zip(&mut documents) {
        *document = take(&format!("{name}.json"))?;
    }
    let mut seal = Seal {
        documents,
        bodies: BTreeMap::new(),
    };
    let wrong = |why: &str| format!("prompt {id}: {why}");
    let manifest = seal.manifest().map_err(|error| wrong(error.detail()))?;
    let numbers = [Some(manifest.bytes), manifest.tokens];
    let counted = |number: &usize| i64::try_from(*number).is_ok();
    if !numbers.iter().flatten().all(counted) || manifest.recipe.name.contains('\0') {
        return Err(wrong("its manifest says what no store can keep"));
    }
    if seal.fingerprint() != entry.seal {
        return Err(wrong("its documents are not what was sealed"));
    }
    for name in seal.named().map_err(|error| wrong(error.detail()))? {
        if let Some((text, used)) = bodies.get_mut(&name) {
            *used = true;
            seal.bodies.insert(name, Arc::clone(text));
        }
    }
    if let Some(fault) = seal.check().first() {
        return Err(wrong(&fault.to_string()));
    }
    let found = seal.rendered().map_err(|error| wrong(error.detail()))?;
    if found != rendered || Fingerprint::of(&rendered) != entry.fingerprint {
        return Err(wrong("its bytes are not what was sealed"));
    }
    if !(0..1 << 45).contains(&entry.sealed_at) {
        return Err(wrong("it was sealed at no time that there is"));
    }
    let bundled = Bundled::new(entry.sealed_at, seal);
    if bundled.id.as_str() != id {
        return Err(wrong("its id is not that of its time and contents"));
    }
    Ok(bundled)
}
