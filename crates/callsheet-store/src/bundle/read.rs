//! Reading a bundle: every name, size and fingerprint is checked before anything is believed.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;

use callsheet::seal::DOCUMENTS;
use callsheet::{Fingerprint, Seal};

use super::document::is_time;
use super::lines::{self, BundleError, Counting, Discard, Visitor};
use super::write::digits;
use super::{
    Bundle, Bundled, BundledRun, Entry, INDEX, Index, LinesDigest, RunDocument, RunEntry, SCHEMA,
    SCHEMA_RUNS, SCHEMA_TASKS,
};
use crate::{Id, StoreError};

/// The most bytes that a bundle may unfold to, but for the events and logs of its runs.
pub(super) const MOST_BYTES: u64 = 512 << 20;

/// The most entries that a bundle may have.
pub(super) const MOST_ENTRIES: usize = 1_000_000;

/// The largest window that unpacking may ask for, as a power of two.
const WINDOW: u32 = 27;

/// The most bytes that the events and logs of its runs may have together; they are not held in memory.
pub(super) const MOST_LINES: u64 = 16 << 30;

type Files = BTreeMap<String, Vec<u8>>;

/// What is in an archive: files that are held, and what is known of those that are not.
#[derive(Default)]
struct Contents {
    files: Files,
    lines: BTreeMap<String, LinesDigest>,
}

impl Contents {
    fn count(&self) -> usize {
        self.files.len() + self.lines.len()
    }

    fn has(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.lines.contains_key(path)
    }
}

impl Bundle {
    /// Reads a bundle and proves everything in it; `name` is how a user calls it.
    ///
    /// Prompts are held in memory. Of the events and the log of a run only one line at a time is.
    pub fn read(name: &str, bytes: impl Read) -> Result<Self, StoreError> {
        visit(name, bytes, &mut Discard)
    }
}

/// Reads a bundle, and hands on the events and logs of its runs as they come, before all of them are proven.
pub(super) fn visit(
    name: &str,
    bytes: impl Read,
    visit: &mut dyn Visitor,
) -> Result<Bundle, StoreError> {
    let refused = |why: String| StoreError::damaged(name, why);
    let mut counting = Counting::new(visit);
    let mut contents = unpack(bytes, &mut counting).map_err(|wrong| match wrong {
        BundleError::Bundle(why) => refused(why),
        BundleError::Store(error) => error,
    })?;
    let bundle = put_together(&mut contents).map_err(refused)?;
    for bundled in &bundle.runs {
        counting.check(&bundled.run).map_err(refused)?;
    }
    let loose = contents.files.keys().chain(contents.lines.keys()).next();
    match loose {
        Some(other) if other.starts_with("runs/") => {
            Err(refused(format!("`{other}` belongs to no run of it")))
        }
        Some(other) => Err(refused(format!("`{other}` belongs to no prompt of it"))),
        None => Ok(bundle),
    }
}

/// Reads no more than it may; how much that is can grow meanwhile.
struct Limited<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left.get()).unwrap_or(usize::MAX);
        let length = buffer.len().min(most);
        let read = self.inner.read(&mut buffer[..length])?;
        self.left.set(self.left.get() - read as u64);
        Ok(read)
    }
}

/// Unpacks all entries; none has a name that is not one of ours, so that none can lead anywhere.
fn unpack(bytes: impl Read, visit: &mut dyn Visitor) -> Result<Contents, BundleError> {
    let not_a_bundle = |error: io::Error| format!("it is not a bundle: {error}");
    let decoder = zstd::stream::Decoder::new(bytes).map_err(not_a_bundle)?;
    let mut decoder = decoder.single_frame();
    decoder.window_log_max(WINDOW).map_err(not_a_bundle)?;
    let left = Rc::new(Cell::new(MOST_BYTES));
    let mut limited = Limited {
        inner: decoder,
        left: Rc::clone(&left),
    };
    let mut lines_left = MOST_LINES;
    let mut contents = Contents::default();
    let mut archive = tar::Archive::new(&mut limited);
    // Raw, so that no header changes what another one says.
    for entry in archive.entries().map_err(not_a_bundle)?.raw(true) {
        let mut entry = entry.map_err(not_a_bundle)?;
        let path = entry_name(&entry)?;
        if contents.count() == 0 && path != INDEX {
            return Err(format!("it does not begin with `{INDEX}`").into());
        }
        if contents.count() >= MOST_ENTRIES {
            return Err(format!("it has more than {MOST_ENTRIES} entries").into());
        }
        if contents.has(&path) {
            return Err(format!("`{path}` is in it twice").into());
        }
        if let Some(what) = lines::of_path(&path) {
            let size = entry.size();
            lines_left = lines_left.checked_sub(size).ok_or_else(|| {
                format!("its events and logs unfold to more than {MOST_LINES} bytes")
            })?;
            left.set(left.get() + size);
            let read = lines::read(&path, what, &mut entry, visit)?;
            if read.bytes != size {
                return Err(format!("`{path}` is cut short").into());
            }
            contents.lines.insert(path, read);
            continue;
        }
        // A size that is not true is met by the end of the archive, not by the memory.
        let mut text = Vec::new();
        entry.read_to_end(&mut text).map_err(not_a_bundle)?;
        contents.files.insert(path, text);
    }
    // What follows the archive is read too: its checksum stands at the very end.
    let blank = only_zeros(&mut limited).map_err(not_a_bundle)?;
    if left.get() == 0 {
        return Err(format!("it unfolds to more than {MOST_BYTES} bytes").into());
    }
    let mut after = limited.inner.finish();
    let more = after.read(&mut [0]).map_err(not_a_bundle)?;
    if more > 0 || !blank {
        return Err("something follows the archive".to_owned().into());
    }
    if contents.count() == 0 {
        return Err("it is empty".to_owned().into());
    }
    Ok(contents)
}

/// Returns the name of an entry that has a place in a bundle.
fn entry_name(entry: &tar::Entry<'_, impl Read>) -> Result<String, String> {
    let path = entry.path_bytes();
    let path = std::str::from_utf8(&path).map_err(|_| "a name is not UTF-8".to_owned())?;
    if entry.header().entry_type() != tar::EntryType::Regular || !is_ours(path) {
        return Err(format!(
            "`{}` has no place in a bundle",
            path.escape_debug()
        ));
    }
    Ok(path.to_owned())
}

/// Reads to the end and tells whether there was nothing but zeros.
fn only_zeros(reader: &mut impl Read) -> io::Result<bool> {
    let mut buffer = [0; 8192];
    let mut blank = true;
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Ok(blank);
        }
        blank &= buffer[..read].iter().all(|byte| *byte == 0);
    }
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
        ["runs", id, "run.json" | "events.ndjson" | "log.ndjson"] => id.parse::<Id>().is_ok(),
        ["bodies", name] => format!("b3:{name}").parse::<Fingerprint>().is_ok(),
        _ => false,
    }
}

fn index(files: &mut Files) -> Result<Index, String> {
    let text = files.remove(INDEX).unwrap_or_default();
    let index: Index =
        serde_json::from_slice(&text).map_err(|error| format!("`{INDEX}`: {error}"))?;
    if ![SCHEMA, SCHEMA_RUNS, SCHEMA_TASKS].contains(&index.schema.as_str()) {
        let found = index.schema;
        return Err(format!(
            "its schema is `{found}`, this program knows `{SCHEMA}`, `{SCHEMA_RUNS}` and `{SCHEMA_TASKS}`"
        ));
    }
    Ok(index)
}

/// Takes the files of a run out of the list and checks them.
fn run(entry: &RunEntry, contents: &mut Contents) -> Result<BundledRun, String> {
    let path = |name: &str| format!("runs/{}/{name}", entry.id);
    let missing = |path: &str| format!("`{path}` is not there");
    let changed = |path: &str, wanted: Fingerprint, found: Fingerprint| {
        if wanted == found {
            return Ok(());
        }
        Err(format!(
            "`{path}`: hash mismatch: expected {wanted}, found {found}"
        ))
    };
    let document = path("run.json");
    let text = contents.files.remove(&document);
    let text = text.ok_or_else(|| missing(&document))?;
    changed(&document, entry.run, Fingerprint::of(&text))?;
    let run = RunDocument::read(&text).map_err(|why| format!("`{document}`: {why}"))?;
    let mut take = |name: &str, wanted| {
        let path = path(name);
        let found = contents.lines.remove(&path);
        let found = found.ok_or_else(|| missing(&path))?;
        changed(&path, wanted, found.fingerprint).map(|()| found)
    };
    let events = take("events.ndjson", entry.events)?;
    let log = take("log.ndjson", entry.log)?;
    if run.id != entry.id || u64::try_from(run.records) != Ok(log.lines) {
        return Err(format!(
            "`{document}`: it is not about this run and its log"
        ));
    }
    Ok(BundledRun { run, events, log })
}

/// Takes the files of all runs out of the list and checks them, and what they refer to.
fn runs(
    entries: &[RunEntry],
    contents: &mut Contents,
    prompts: &[Bundled],
) -> Result<Vec<BundledRun>, String> {
    let prompts: BTreeSet<Id> = prompts.iter().map(|prompt| prompt.id).collect();
    let mut before = BTreeSet::new();
    let mut tasks = BTreeMap::new();
    let mut runs = Vec::new();
    for entry in entries {
        let bundled = run(entry, contents)?;
        let wrong = |why: &str| Err(format!("run {}: {why}", entry.id));
        if !prompts.contains(&bundled.run.prompt) {
            return wrong("its prompt is not in the bundle");
        }
        let parent = bundled.run.parent;
        if parent.is_some_and(|parent| !before.contains(&parent)) {
            return wrong("its parent does not come before it");
        }
        if let Some(task) = &bundled.run.task {
            let first = tasks.entry(task.id).or_insert_with(|| task.clone());
            if !first.is_like(task) {
                return wrong("its task is another one than that of a run before it");
            }
        }
        before.insert(entry.id);
        runs.push(bundled);
    }
    Ok(runs)
}

/// Takes the files of all prompts out of the list and checks them.
fn put_together(contents: &mut Contents) -> Result<Bundle, String> {
    let index = index(&mut contents.files)?;
    let files = &mut contents.files;
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
    let prompts: Vec<Bundled> = prompts;
    let bundle = Bundle {
        redacted: index.redacted,
        runs: runs(&index.runs, contents, &prompts)?,
        prompts,
    };
    let (found, wanted) = (index.schema, bundle.schema());
    if found != wanted {
        return Err(format!(
            "its schema is `{found}`, but its contents are those of `{wanted}`"
        ));
    }
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
        String::from_utf8(bytes).map_err(|_| format!("`{path}` is not UTF-8"))
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
    let found = seal.text().map_err(|error| wrong(error.detail()))?;
    if found != rendered || Fingerprint::of(&rendered) != entry.fingerprint {
        return Err(wrong("its bytes are not what was sealed"));
    }
    if !is_time(entry.sealed_at) {
        return Err(wrong("it was sealed at no time that there is"));
    }
    let bundled = Bundled::new(entry.sealed_at, seal);
    if bundled.id.as_str() != id {
        return Err(wrong("its id is not that of its time and contents"));
    }
    Ok(bundled)
}
