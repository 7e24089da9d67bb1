//! From sections to bytes, and the map back.

use serde_json::{Map, Value};

use crate::Error;
use crate::recipe::{Recipe, Shape};
use crate::section::Section;
use crate::source_map::{SectionPlace, SourceMap};
use crate::trace::Traced;

/// The ordered sections plus tools, before rendering.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// The tools that go with it, in order.
    pub tools: Vec<Value>,
    /// The form in which it is handed over.
    pub shape: Shape,
    /// Whether all system messages are joined into one.
    pub single_system: bool,
    pub(super) outer: Wrap,
    pub(super) lists: Vec<(String, Wrap)>,
}

/// What stands around a list of sections, and between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Wrap {
    pub(super) open: String,
    pub(super) close: String,
    pub(super) separator: String,
}

impl Prompt {
    pub(super) fn new(
        recipe: &Recipe,
        fields: &Map<String, Value>,
        suffix: &str,
        sections: Vec<Section>,
        tools: Vec<Value>,
    ) -> Result<Self, Error> {
        let wrap = |name: Option<&str>, separator: &str| {
            let frame = recipe.frame_of(name, fields)?;
            let (open, close) = frame.around("", "", suffix);
            let separator = frame.separator.unwrap_or_else(|| separator.to_owned());
            Ok::<_, Error>(Wrap {
                open,
                close,
                separator,
            })
        };
        let outer = wrap(recipe.frame.as_deref(), &recipe.separator)?;
        let mut lists = Vec::with_capacity(recipe.layers.len());
        for layer in &recipe.layers {
            lists.push((
                layer.name.clone(),
                wrap(layer.list.as_deref(), &outer.separator)?,
            ));
        }
        Ok(Self {
            sections,
            tools,
            shape: recipe.shape,
            single_system: recipe
                .single_system
                .as_ref()
                .map_or(Ok(false), |condition| condition.holds(fields))?,
            outer,
            lists,
        })
    }

    /// Returns the same prompt with other sections of the same layers.
    pub(super) fn with_sections(&self, sections: Vec<Section>) -> Self {
        Self {
            sections,
            tools: self.tools.clone(),
            shape: self.shape,
            single_system: self.single_system,
            outer: self.outer.clone(),
            lists: self.lists.clone(),
        }
    }

    /// Returns the layers that have sections, with those sections by their place in the list.
    pub(super) fn groups(&self) -> Vec<(&Wrap, Vec<usize>)> {
        let mut groups: Vec<(&Wrap, Vec<usize>)> = self
            .lists
            .iter()
            .map(|(_, wrap)| (wrap, Vec::new()))
            .collect();
        let mut at = 0;
        for (index, section) in self.sections.iter().enumerate() {
            // Sections stand in the order of the layers, so the search never goes back.
            while at < self.lists.len() && self.lists[at].0 != section.layer {
                at += 1;
            }
            if let Some((_, members)) = groups.get_mut(at) {
                members.push(index);
            }
        }
        groups.retain(|(_, members)| !members.is_empty());
        groups
    }

    /// Renders the prompt to its exact bytes and the map of where each came from.
    pub fn render(&self) -> (String, SourceMap) {
        let size: usize = self
            .sections
            .iter()
            .map(|section| section.body.len() + section.open.len() + section.close.len() + 16)
            .sum();
        let mut out = Traced::with_capacity(size + 256);
        let mut mapped = Vec::with_capacity(self.sections.len());
        out.push_frame(&self.outer.open);
        for (nth, (wrap, members)) in self.groups().into_iter().enumerate() {
            if nth > 0 {
                out.push_frame(&self.outer.separator);
            }
            out.push_frame(&wrap.open);
            for (nth, &index) in members.iter().enumerate() {
                if nth > 0 {
                    out.push_frame(&wrap.separator);
                }
                mapped.push(push_section(&mut out, &self.sections[index]));
            }
            out.push_frame(&wrap.close);
        }
        out.push_frame(&self.outer.close);
        let (text, spans) = out.into_parts();
        let map = SourceMap::new(&text, spans, mapped, &self.sections);
        (text, map)
    }
}

fn push_section(out: &mut Traced, section: &Section) -> SectionPlace {
    let start = out.len();
    out.push_frame(&section.open);
    let body_start = out.len();
    out.push(&section.printed());
    let body_end = out.len();
    out.push_frame(&section.close);
    SectionPlace {
        framed: start..out.len(),
        body: body_start..body_end,
    }
}
