//! From sections to bytes, and the map back.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::handed_over::as_messages;
use crate::Error;
use crate::recipe::{Recipe, Shape};
use crate::section::{Role, Section};
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
    lists: Vec<List>,
    joins: Vec<Join>,
}

/// What stands around the sections of one layer.
#[derive(Clone, Debug)]
struct List {
    layer: String,
    wrap: Wrap,
    /// The message that the layer makes together with others, by its place in the list of them.
    join: Option<usize>,
}

/// A message that several layers make together.
#[derive(Clone, Debug)]
struct Join {
    role: Role,
    wrap: Wrap,
    /// Whether it is there even without any section.
    always: bool,
}

/// What stands between two separators of the whole prompt: the sections of a layer, or of a message.
#[derive(Debug)]
pub(super) struct Block<'a> {
    join: Option<&'a Join>,
    pub(super) lists: Vec<(&'a Wrap, Vec<usize>)>,
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
            let separator = frame.separator.as_deref().unwrap_or(separator).to_owned();
            Ok::<_, Error>(Wrap {
                open,
                close,
                separator,
            })
        };
        let outer = wrap(recipe.frame.as_deref(), &recipe.separator)?;
        let mut lists = Vec::with_capacity(recipe.layers.len());
        let mut joins: Vec<Join> = Vec::new();
        let mut last: Option<&str> = None;
        for layer in &recipe.layers {
            let rule = layer
                .message
                .as_ref()
                .and_then(|name| recipe.messages.get(name));
            if let Some(rule) = rule.filter(|_| last != layer.message.as_deref()) {
                joins.push(Join {
                    role: layer.role,
                    wrap: wrap(rule.frame.as_deref(), &outer.separator)?,
                    always: rule.always,
                });
            }
            last = layer.message.as_deref();
            let join = rule.map(|_| joins.len() - 1);
            let around = join.map_or(&outer, |join| &joins[join].wrap);
            lists.push(List {
                layer: layer.name.clone(),
                wrap: wrap(layer.list.as_deref(), &around.separator)?,
                join,
            });
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
            joins,
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
            joins: self.joins.clone(),
        }
    }

    /// Tells whether any message has several layers.
    pub(super) fn has_joins(&self) -> bool {
        !self.joins.is_empty()
    }

    /// Returns the layers and messages that are there, with their sections by their place in the list.
    pub(super) fn blocks(&self) -> Vec<Block<'_>> {
        let mut members = vec![Vec::new(); self.lists.len()];
        let mut at = 0;
        for (index, section) in self.sections.iter().enumerate() {
            // Sections stand in the order of the layers, so the search never goes back.
            while at < self.lists.len() && self.lists[at].layer != section.layer {
                at += 1;
            }
            if let Some(members) = members.get_mut(at) {
                members.push(index);
            }
        }
        let mut blocks: Vec<Block<'_>> = Vec::new();
        let mut last = None;
        for (list, members) in self.lists.iter().zip(members) {
            if list.join.is_none() || list.join != last {
                let join = list.join.map(|join| &self.joins[join]);
                let lists = Vec::new();
                blocks.push(Block { join, lists });
            }
            last = list.join;
            if let Some(block) = blocks.last_mut().filter(|_| !members.is_empty()) {
                block.lists.push((&list.wrap, members));
            }
        }
        blocks
            .retain(|block| !block.lists.is_empty() || block.join.is_some_and(|join| join.always));
        blocks
    }

    /// Renders the prompt to the exact bytes that are handed over, and the map of where each came from.
    pub fn render(&self) -> (String, SourceMap) {
        self.rendered(|index| Cow::Borrowed(&self.sections[index].body))
    }

    /// Renders the prompt and gives its bodies up one by one, so that no two of all bytes are held at once.
    pub(super) fn render_away(&mut self) -> (String, SourceMap) {
        let sections = self.sections.iter_mut();
        let mut bodies: Vec<Traced> = sections
            .map(|section| std::mem::take(&mut section.body))
            .collect();
        let size = bodies.iter().map(Traced::len).sum();
        self.rendered_in(size, |index| Cow::Owned(std::mem::take(&mut bodies[index])))
    }

    fn rendered<'b>(&self, body: impl FnMut(usize) -> Cow<'b, Traced>) -> (String, SourceMap) {
        let size = self.sections.iter().map(|section| section.body.len()).sum();
        self.rendered_in(size, body)
    }

    fn rendered_in<'b>(
        &self,
        size: usize,
        body: impl FnMut(usize) -> Cow<'b, Traced>,
    ) -> (String, SourceMap) {
        let (text, map) = self.render_text(size, body);
        match self.shape {
            Shape::Text | Shape::System => (text, map),
            Shape::Messages => {
                let join = self.single_system.then_some(self.outer.separator.as_str());
                as_messages(&text, &map, join)
            }
        }
    }

    /// Renders the sections one after the other.
    fn render_text<'b>(
        &self,
        size: usize,
        mut body: impl FnMut(usize) -> Cow<'b, Traced>,
    ) -> (String, SourceMap) {
        let frames: usize = self
            .sections
            .iter()
            .map(|section| section.open.len() + section.close.len() + 16)
            .sum();
        let mut out = Traced::with_capacity(size + frames + 256);
        let mut mapped = Vec::with_capacity(self.sections.len());
        let mut placed = Vec::with_capacity(self.sections.len());
        out.push_frame(&self.outer.open);
        for (nth, block) in self.blocks().into_iter().enumerate() {
            if nth > 0 {
                out.push_frame(&self.outer.separator);
            }
            let (start, first) = (out.len(), mapped.len());
            self.push_block(&block, &mut body, &mut out, &mut mapped);
            match block.join {
                Some(join) => placed.push((join.role, start..out.len())),
                None => {
                    let sections = self.sections[first..].iter().zip(&mapped[first..]);
                    let alone = sections.map(|(section, at)| (section.role, at.framed.clone()));
                    placed.extend(alone);
                }
            }
        }
        out.push_frame(&self.outer.close);
        let (text, spans) = out.into_parts();
        let mut map = SourceMap::new(&text, spans, mapped, &self.sections);
        map.messages = placed;
        (text, map)
    }

    fn push_block<'b>(
        &self,
        block: &Block<'_>,
        body: &mut impl FnMut(usize) -> Cow<'b, Traced>,
        out: &mut Traced,
        mapped: &mut Vec<SectionPlace>,
    ) {
        let around = block.join.map(|join| &join.wrap);
        out.push_frame(around.map_or("", |wrap| &wrap.open));
        for (nth, (wrap, members)) in block.lists.iter().enumerate() {
            if nth > 0 {
                out.push_frame(around.map_or("", |wrap| &wrap.separator));
            }
            out.push_frame(&wrap.open);
            for (nth, &index) in members.iter().enumerate() {
                if nth > 0 {
                    out.push_frame(&wrap.separator);
                }
                let section = &self.sections[index];
                mapped.push(push_section(out, section, &section.print(body(index))));
            }
            out.push_frame(&wrap.close);
        }
        out.push_frame(around.map_or("", |wrap| &wrap.close));
    }
}

fn push_section(out: &mut Traced, section: &Section, body: &Traced) -> SectionPlace {
    let start = out.len();
    out.push_frame(&section.open);
    let body_start = out.len();
    out.push(body);
    let body_end = out.len();
    out.push_frame(&section.close);
    SectionPlace {
        framed: start..out.len(),
        body: body_start..body_end,
    }
}
