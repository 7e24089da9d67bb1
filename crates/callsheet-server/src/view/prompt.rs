//! A sealed prompt, opened: its bytes, its sections with the numbers of their layers, and what a cache keeps of it.
//!
//! A sealed prompt never changes, so what was opened is kept for the next request, as long as there is room.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use callsheet::cache::{self, CachePlan, Side};
use callsheet::manifest::SectionRecord;
use callsheet::recipe::Recipe;
use callsheet::tokens::Encoding;
use callsheet::{Manifest, Omission, Priority, Reason, Seal, SourceMap};
use callsheet_store::{Id, SealedPrompt};
use serde::Serialize;
use serde_json::Value;

use super::script::Script;
use crate::error::ApiError;
use crate::server::Server;

/// How many bytes of prompts are kept open.
const ROOM: usize = 24 << 20;

/// Prompts up to this size are composed again to prove them.
const REPLAYED: usize = 256 << 10;

/// How many sections a gutter tells apart.
const COLOURS: usize = 16;

/// A sealed prompt with everything that explains it.
pub(crate) struct Opened {
    pub(crate) sealed: SealedPrompt,
    pub(crate) seal: Seal,
    /// The exact bytes.
    pub(crate) text: String,
    pub(crate) manifest: Manifest,
    pub(crate) map: SourceMap,
    pub(crate) entries: Vec<Entry>,
    pub(crate) layers: usize,
    pub(crate) script: Script,
    pub(crate) plan: CachePlan,
    /// Whether composing again gives the same bytes; nothing where that was not tried.
    pub(crate) replays: Option<bool>,
    pub(crate) tools: Vec<Value>,
}

/// A section, or what is not there in the place where it would stand.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Entry {
    /// The number of its layer, with a letter where the layer has several.
    pub(crate) no: String,
    /// The number of its layer in the recipe.
    pub(crate) layer_no: usize,
    /// Which colour it has, from 1.
    pub(crate) colour: usize,
    pub(crate) layer: String,
    pub(crate) name: String,
    /// What people call it: the last part of a path, or the layer.
    pub(crate) title: String,
    pub(crate) source: String,
    pub(crate) volatility: &'static str,
    pub(crate) trust: &'static str,
    pub(crate) role: &'static str,
    pub(crate) priority: Option<u32>,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) bytes: usize,
    pub(crate) tokens: usize,
    /// Its share of the prompt, in percent.
    pub(crate) share: f64,
    /// What of it is not there, and why.
    pub(crate) cut: Option<Lost>,
    /// Why all of it is not there.
    pub(crate) omitted: Option<Lost>,
    /// Its place among the sections of the manifest.
    pub(crate) section: Option<usize>,
}

/// What is not in the prompt.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Lost {
    pub(crate) why: String,
    pub(crate) bytes: u64,
    pub(crate) tokens: Option<usize>,
    /// Whether it is for want of room.
    pub(crate) over_budget: bool,
    /// Whether somebody asked for it.
    pub(crate) loss: bool,
}

impl Entry {
    /// Returns what of it is not in the prompt.
    pub(crate) fn lost(&self) -> Option<&Lost> {
        self.cut.as_ref().or(self.omitted.as_ref())
    }

    /// Tells whether it gave way to a budget.
    pub(crate) fn gave_way(&self) -> bool {
        self.lost().is_some_and(|lost| lost.over_budget)
    }
}

/// Prompts that were opened lately.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<VecDeque<Arc<Opened>>>);

impl Shelf {
    fn find(&self, id: Id) -> Option<Arc<Opened>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|opened| opened.sealed.id == id)?;
        let found = kept.remove(at)?;
        kept.push_front(Arc::clone(&found));
        Some(found)
    }

    fn keep(&self, opened: &Arc<Opened>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front(Arc::clone(opened));
        let mut room = ROOM;
        let fits = |opened: &Arc<Opened>| {
            let left = room.checked_sub(opened.text.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let most = kept.iter().map(fits).take_while(|fits| *fits).count();
        kept.truncate(most.max(1));
    }
}

/// Opens the prompt that an id, or a prefix that no other has, means.
pub(crate) async fn open(
    server: &Server,
    shelf: &Shelf,
    id: &str,
) -> Result<Arc<Opened>, ApiError> {
    let (store, project) = (&server.site.store, &server.site.project);
    let sealed = store.prompt(project, id).await?;
    if let Some(found) = shelf.find(sealed.id) {
        return Ok(found);
    }
    let seal = store.sealed(&sealed).await?;
    let opened = server.blocking(move |_| Opened::new(sealed, seal)).await?;
    let opened = Arc::new(opened);
    shelf.keep(&opened);
    Ok(opened)
}

impl Opened {
    fn new(sealed: SealedPrompt, seal: Seal) -> Result<Self, ApiError> {
        let explained = seal.explained()?;
        let (text, mut manifest, map) = (explained.text, explained.manifest, explained.source_map);
        let encoding = manifest.encoding.unwrap_or_default();
        if manifest.tokens.is_none() || manifest.sections.iter().any(|part| part.tokens.is_none()) {
            manifest.count(encoding, &text);
        }
        let recipe = seal.inputs().and_then(|inputs| inputs.recipe()).ok();
        let entries = entries(
            &manifest.sections,
            &manifest.omissions,
            manifest.bytes,
            recipe.as_ref(),
        );
        let side = Side {
            text: text.clone(),
            own: false,
            sections: manifest.sections.iter().map(Into::into).collect(),
            spans: map.spans.clone(),
        };
        let replays = (text.len() <= REPLAYED).then(|| {
            let replay = seal.replay();
            replay.is_ok_and(|replay| replay.is_equal())
        });
        let document = seal.document()?;
        let tools = document["tools"].as_array().cloned().unwrap_or_default();
        let plan = cache::plan(&side, None, Some(encoding));
        let script = Script::new(
            &text,
            &map.spans,
            &manifest.sections,
            &entries,
            plan.prefix.bytes,
        );
        Ok(Self {
            layers: recipe.map_or(0, |recipe| recipe.layers.len()),
            sealed,
            seal,
            manifest,
            map,
            entries,
            script,
            plan,
            replays,
            tools,
            text,
        })
    }

    /// Returns the vocabulary of the counts.
    pub(crate) fn encoding(&self) -> Encoding {
        self.manifest.encoding.unwrap_or_default()
    }

    /// Returns the entry whose section holds a byte.
    pub(crate) fn entry_at(&self, byte: usize) -> Option<&Entry> {
        let holds =
            |entry: &&Entry| entry.section.is_some() && entry.start <= byte && byte < entry.end;
        self.entries.iter().find(holds)
    }
}

/// Returns the sections of a manifest, and what gave way in its place, with their numbers.
pub(crate) fn entries(
    sections: &[SectionRecord],
    omissions: &[Omission],
    bytes: usize,
    recipe: Option<&Recipe>,
) -> Vec<Entry> {
    let mut order: Vec<&str> = Vec::new();
    let known = recipe.iter().flat_map(|recipe| &recipe.layers);
    order.extend(known.map(|layer| layer.name.as_str()));
    for section in sections {
        if !order.contains(&section.layer.as_str()) {
            order.push(&section.layer);
        }
    }
    let number = |layer: &str| {
        order
            .iter()
            .position(|name| *name == layer)
            .map(|at| at + 1)
    };
    let mut all: Vec<Entry> = Vec::new();
    let whole = bytes.max(1);
    for (at, section) in sections.iter().enumerate() {
        let layer_no = number(&section.layer).unwrap_or(order.len() + 1);
        all.push(Entry {
            no: String::new(),
            layer_no,
            colour: (layer_no - 1) % COLOURS + 1,
            layer: section.layer.clone(),
            name: section.name.clone(),
            title: title(&section.layer, &section.name),
            source: shown_source(&section.source).to_owned(),
            volatility: section.volatility.name(),
            trust: match section.trust {
                callsheet::Trust::Own => "own",
                callsheet::Trust::Untrusted => "untrusted",
            },
            role: section.role.name(),
            priority: section.priority,
            start: section.start,
            end: section.end,
            bytes: section.bytes,
            tokens: section.tokens.unwrap_or(0),
            share: percent(section.bytes, whole),
            cut: None,
            omitted: None,
            section: Some(at),
        });
    }
    for omission in omissions {
        add_lost(&mut all, omission, recipe, &number);
    }
    give_numbers(&mut all);
    all
}

/// Puts what is not there on its section, or in its place.
fn add_lost(
    all: &mut Vec<Entry>,
    omission: &Omission,
    recipe: Option<&Recipe>,
    number: &impl Fn(&str) -> Option<usize>,
) {
    let lost = Lost {
        why: why(omission),
        bytes: omission.bytes,
        tokens: omission.tokens,
        over_budget: omission.reason == Reason::OverBudget,
        loss: omission.is_loss(),
    };
    let same = |entry: &&mut Entry| {
        entry.layer == omission.layer && entry.name == omission.name && entry.cut.is_none()
    };
    if let Some(entry) = all
        .iter_mut()
        .filter(|entry| entry.section.is_some())
        .find(same)
    {
        entry.cut = Some(lost);
        return;
    }
    let mut layers = recipe.iter().flat_map(|recipe| &recipe.layers);
    let layer = layers.find(|layer| layer.name == omission.layer);
    let layer_no = number(&omission.layer).unwrap_or(0);
    let after = |entry: &Entry| entry.layer == omission.layer;
    let place = match all.iter().rposition(after) {
        Some(at) => at + 1,
        None => all
            .iter()
            .position(|entry| entry.layer_no > layer_no)
            .unwrap_or(all.len()),
    };
    let start = place.checked_sub(1).map_or(0, |before| all[before].end);
    let entry = Entry {
        no: String::new(),
        layer_no,
        colour: layer_no.saturating_sub(1) % COLOURS + 1,
        layer: omission.layer.clone(),
        name: omission.name.clone(),
        title: title(&omission.layer, &omission.name),
        source: String::new(),
        volatility: layer.map_or("", |layer| layer.volatility.name()),
        trust: "",
        role: "",
        priority: layer.and_then(|layer| match layer.priority {
            Priority::Optional(number) => Some(number),
            Priority::Required => None,
        }),
        start,
        end: start,
        bytes: 0,
        tokens: 0,
        share: 0.0,
        cut: None,
        omitted: Some(lost),
        section: None,
    };
    all.insert(place, entry);
}

fn why(omission: &Omission) -> String {
    match (omission.reason, omission.detail.as_str()) {
        (reason, "") => reason.sentence().to_owned(),
        (Reason::OverBudget, detail) => detail.to_owned(),
        (reason, detail) => format!("{}: {detail}", reason.sentence()),
    }
}

/// Numbers entries by their layers; layers with several have letters as well.
fn give_numbers(all: &mut [Entry]) {
    let mut of_layer: BTreeMap<usize, usize> = BTreeMap::new();
    for entry in all.iter() {
        *of_layer.entry(entry.layer_no).or_default() += 1;
    }
    let mut nth: BTreeMap<usize, usize> = BTreeMap::new();
    for entry in all {
        let at = nth.entry(entry.layer_no).or_default();
        entry.no = entry.layer_no.to_string();
        if of_layer
            .get(&entry.layer_no)
            .is_some_and(|count| *count > 1)
        {
            entry.no.push_str(&letters(*at));
        }
        *at += 1;
    }
}

/// Returns `A`, `B`, … `Z`, `AA`, `AB`, ….
fn letters(mut nth: usize) -> String {
    let mut text = Vec::new();
    loop {
        text.push(char::from(b'A' + u8::try_from(nth % 26).unwrap_or(0)));
        match (nth / 26).checked_sub(1) {
            Some(rest) => nth = rest,
            None => return text.into_iter().rev().collect(),
        }
    }
}

/// Returns the short name of a section: the last part of its path, or its layer.
fn title(layer: &str, name: &str) -> String {
    if layer == name {
        return layer.to_owned();
    }
    let last = name.trim_end_matches('/').rsplit('/').next();
    last.filter(|last| !last.is_empty())
        .unwrap_or(name)
        .to_owned()
}

/// Returns a source as people write it: a file by its path alone.
pub(crate) fn shown_source(source: &str) -> &str {
    source.strip_prefix("file:").unwrap_or(source)
}

/// Returns a part of a whole in percent, with three digits after the point.
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a length on the screen is no exact number"
    )]
    let share = part as f64 * 100.0 / whole.max(1) as f64;
    (share * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_behind_z() {
        let shown = [0, 1, 25, 26, 27, 701, 702].map(letters);
        assert_eq!(shown, ["A", "B", "Z", "AA", "AB", "ZZ", "AAA"]);
    }

    #[test]
    fn a_section_is_called_by_the_end_of_its_path() {
        assert_eq!(title("story", "story"), "story");
        assert_eq!(title("files", "src/a.rs"), "a.rs");
        assert_eq!(shown_source("file:src/a.rs"), "src/a.rs");
        assert_eq!(percent(1, 3).to_string(), "33.333");
    }
}
