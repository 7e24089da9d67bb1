//! Limits of a recipe: what is said at which size, and what gives way before it is an error.
//!
//! A budget is what a caller may spend; a limit is what a recipe says about itself.

use serde_json::{Map, Value};

use super::message::Cut;
use super::{Options, Prompt};
use crate::omission::{Omission, Reason};
use crate::reading::Reading;
use crate::recipe::{Limit, Notice, Recipe};
use crate::section::{Priority, Role, Section};
use crate::tokens::{self, Encoding};
use crate::{Error, ErrorKind, Event};

/// A finished prompt with its sizes.
pub(super) struct Measured<'a> {
    /// The bytes that are handed over, and their tokens where they were counted.
    whole: (usize, Option<usize>),
    cut: &'a Cut,
    text: &'a str,
    encoding: Encoding,
}

/// Returns the event for a prompt in which the layers that it is about gave no section.
pub(super) fn nothing_found<'a>(recipe: &'a Recipe, prompt: &Prompt) -> Option<&'a Notice> {
    recipe.empty.as_ref().filter(|notice| {
        let mut sections = prompt.sections.iter();
        !sections.any(|section| notice.is_about(&section.layer))
    })
}

/// The facts of a broken limit.
type Facts = Vec<(&'static str, usize)>;

/// Raises the event of a broken warning limit; a broken error limit is an error.
pub(super) fn check(
    recipe: &Recipe,
    fields: &Map<String, Value>,
    measured: &Measured<'_>,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    if let Some(limit) = &recipe.error
        && let Some(facts) = measured.broken(limit, fields)
    {
        return Err(Error::new(
            ErrorKind::OverBudget,
            limit.message(fields, &facts),
        ));
    }
    if let Some(limit) = &recipe.warning
        && let Some(facts) = measured.broken(limit, fields)
    {
        events.push(limit.event(fields, &facts));
    }
    Ok(())
}

/// Leaves out whole optional layers, the lowest priority first, until the error limit holds or nothing is left to give.
pub(super) fn give_way(
    recipe: &Recipe,
    fields: &Map<String, Value>,
    mut prompt: Prompt,
    options: &Options,
    events: &mut Vec<Event>,
) -> (Prompt, Vec<Omission>) {
    let mut omissions = Vec::new();
    let asked = recipe.error.as_ref().and_then(|limit| {
        let rule = limit.give_way.as_ref()?;
        rule.is_asked(fields).then_some((limit, rule))
    });
    let Some((limit, rule)) = asked else {
        return (prompt, omissions);
    };
    while let Some(facts) = over(limit, fields, &prompt, options.encoding)
        && let Some(layer) = lowest(&prompt.sections, limit.role)
    {
        let (gone, left): (Vec<Section>, Vec<Section>) = prompt
            .sections
            .iter()
            .cloned()
            .partition(|section| section.layer == layer);
        omissions.extend(gone.into_iter().map(|section| Omission {
            layer: section.layer,
            name: section.name,
            reason: Reason::OverBudget,
            bytes: section.body.len() as u64,
            tokens: None,
            detail: String::new(),
            loss: None,
        }));
        events.push(rule.event(&layer, fields, &facts));
        prompt = prompt.with_sections(left);
    }
    (prompt, omissions)
}

fn over(
    limit: &Limit,
    fields: &Map<String, Value>,
    prompt: &Prompt,
    encoding: Encoding,
) -> Option<Facts> {
    let (text, map) = prompt.render();
    let cut = Cut::of(prompt, &map);
    let counted = limit.tokens(fields).is_some();
    let measured = Measured {
        whole: (
            text.len(),
            counted.then(|| Reading::of(&text).all_tokens(encoding)),
        ),
        cut: &cut,
        text: &text,
        encoding,
    };
    measured.broken(limit, fields)
}

/// Returns the layer with the lowest priority that counts; the later one on a tie.
fn lowest(sections: &[Section], role: Option<Role>) -> Option<String> {
    let counts = |section: &&Section| role.is_none_or(|role| section.role == role);
    let optional = sections.iter().rev().filter(counts);
    let optional = optional.filter_map(|section| match section.priority {
        Priority::Optional(priority) => Some((priority, &section.layer)),
        Priority::Required => None,
    });
    optional
        .min_by_key(|(priority, _)| *priority)
        .map(|(_, layer)| layer.clone())
}

impl<'a> Measured<'a> {
    /// Measures a prompt whose tokens were counted, or were not.
    pub(super) fn new(
        tokens: Option<usize>,
        cut: &'a Cut,
        text: &'a str,
        encoding: Encoding,
    ) -> Self {
        Self {
            whole: (text.len(), tokens),
            cut,
            text,
            encoding,
        }
    }

    /// Returns the facts of a limit that is broken.
    fn broken(&self, limit: &Limit, fields: &Map<String, Value>) -> Option<Facts> {
        let most_tokens = limit.tokens(fields);
        let (bytes, tokens) = match limit.role {
            None => self.whole,
            Some(role) => self.of(role, most_tokens.is_some()),
        };
        if let Some(most) = limit.bytes(fields).filter(|&most| bytes > most) {
            return Some(vec![("size_bytes", bytes), ("threshold_bytes", most)]);
        }
        let tokens = tokens?;
        let most = most_tokens.filter(|&most| tokens > most)?;
        Some(vec![("size_tokens", tokens), ("threshold_tokens", most)])
    }

    /// Measures the texts of all messages of a role.
    fn of(&self, role: Role, counted: bool) -> (usize, Option<usize>) {
        let messages = self.cut.messages(self.text);
        let texts = messages.iter().filter(|message| message.role == role);
        let texts = texts.map(|message| message.content.as_str());
        let sizes = texts.map(|text| {
            let tokens = if counted {
                tokens::count(self.encoding, text)
            } else {
                0
            };
            (text.len(), tokens)
        });
        let (bytes, tokens) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        (bytes, counted.then_some(tokens))
    }
}
