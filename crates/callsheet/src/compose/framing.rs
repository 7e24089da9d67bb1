//! Frames around sections, and bodies that could end them early.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::room::Room;
use crate::recipe::{Escape, Frame, Recipe, suffixes};
use crate::section::Section;
use crate::source::Gathered;
use crate::{Error, Event};

/// The event that tells of a body that could end its frame.
const COLLISION: &str = "boundary:collision";

/// Puts every section into the frame of its layer, and reports bodies that hold the end of a frame.
///
/// Returns the suffix that tags got.
pub(super) fn frame(
    recipe: &Recipe,
    fields: &Map<String, Value>,
    gathered: &mut Gathered,
    room: &mut Room,
) -> Result<String, Error> {
    let mut frames = BTreeMap::new();
    let mut longest = recipe.separator.len();
    for layer in &recipe.layers {
        // A message stands in no other frame.
        let rule = layer
            .message
            .as_ref()
            .and_then(|name| recipe.messages.get(name));
        let around = rule.map_or(&recipe.frame, |rule| &rule.frame);
        let own = recipe.frame_of(layer.frame.as_deref(), fields)?;
        let around = recipe.frame_of(around.as_deref(), fields)?;
        let list = recipe.frame_of(layer.list.as_deref(), fields)?;
        for frame in [around, list] {
            room.take(frame.most_bytes(), recipe)?;
            longest = longest.max(recipe.separator_in(frame).len());
        }
        frames.insert(layer.name.as_str(), [own, around]);
    }
    let unique = recipe
        .unique
        .as_ref()
        .map_or(Ok(false), |unique| unique.holds(fields))?;
    let suffix = if unique {
        free_suffix(&frames, &gathered.sections)
    } else {
        String::new()
    };
    room.take(gathered.sections.len().saturating_mul(longest), recipe)?;
    for section in &mut gathered.sections {
        let Some([frame, around]) = frames.get(section.layer.as_str()) else {
            continue;
        };
        gathered
            .events
            .extend(collision(section, &[*frame, *around], &suffix));
        (section.open, section.close) = frame.around(&section.name, section.body.text(), &suffix);
        section.escape = frame.escape;
        room.take(section.open.len() + section.close.len(), recipe)?;
    }
    Ok(suffix)
}

/// Returns the shortest suffix with which no tag occurs in any body.
fn free_suffix(frames: &BTreeMap<&str, [&Frame; 2]>, sections: &[Section]) -> String {
    let free = |suffix: &String| {
        sections.iter().all(|section| {
            let mut frames = frames.get(section.layer.as_str()).into_iter().flatten();
            frames.all(|frame| !frame.tag_occurs(suffix, section.body.text()))
        })
    };
    suffixes().find(free).unwrap_or_default()
}

/// Tells whether an event warns of a section that is in the prompt, or of anything else.
pub(super) fn still_holds(event: &Event, sections: &[Section]) -> bool {
    let says = |key: &str, text: &str| event.payload.get(key).is_some_and(|fact| fact == text);
    let named = |section: &Section| says("layer", &section.layer) && says("path", &section.name);
    event.kind != COLLISION || sections.iter().any(named)
}

/// Returns the longest text that all of some texts begin with.
fn shared_beginning(texts: &[String]) -> &str {
    let first = texts.first().map_or("", String::as_str);
    let begins = |end: &usize| texts.iter().all(|text| text.starts_with(&first[..*end]));
    let ends = first.char_indices().map(|(at, _)| at).chain([first.len()]);
    &first[..ends.take_while(begins).last().unwrap_or(0)]
}

fn collision(section: &Section, frames: &[&Frame], suffix: &str) -> Option<Event> {
    let [own, ..] = frames else {
        return None;
    };
    if own.escape == Escape::Json {
        return None;
    }
    let name = &section.name;
    let facts = |boundary: &str| {
        [
            ("layer", section.layer.clone().into()),
            ("path", name.clone().into()),
            ("boundary", Value::from(boundary)),
        ]
    };
    let body = match own.escape {
        Escape::Xml => Cow::Owned(crate::text::xml_escaped(section.body.text())),
        _ => Cow::Borrowed(section.body.text()),
    };
    let boundaries: Vec<String> = frames
        .iter()
        .filter_map(|frame| frame.boundary(suffix))
        .collect();
    let holds = |text: &str| memchr::memmem::find(body.as_bytes(), text.as_bytes()).is_some();
    // Mostly tags that begin alike: one look at a long body tells that it has none of them.
    let found = holds(shared_beginning(&boundaries))
        .then(|| boundaries.iter().find(|boundary| holds(boundary)))
        .flatten();
    if let Some(boundary) = found {
        let message = format!("`{name}` contains `{boundary}`, which ends its own frame");
        return Some(Event::new(COLLISION, facts(boundary), message));
    }
    let named = frames.iter().any(|frame| frame.open.contains("{{path}}"));
    (named && name.contains(char::is_control)).then(|| {
        let message =
            format!("the name {name:?} contains a control character, which breaks its frame");
        Event::new(COLLISION, facts("path"), message)
    })
}
