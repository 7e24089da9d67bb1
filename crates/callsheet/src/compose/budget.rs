//! What gives way when a budget is tight.
//!
//! Whole optional sections go first, lowest priority first and later ones first on a tie; the last one that would go
//! may be cut at a line end instead, where its layer allows it. Required text is never touched.

use serde_json::json;

use crate::omission::{Omission, Reason};
use crate::reading::Reading;
use crate::recipe::{Recipe, Shape};
use crate::section::{Priority, Section};
use crate::template::interpolate;
use crate::tokens::{self, Encoding};
use crate::trace::Traced;
use crate::{Error, ErrorKind};

use super::{Options, Prompt};

/// What may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The most bytes that the prompt may have.
    pub bytes: Option<usize>,
    /// The most tokens that the prompt may have.
    pub tokens: Option<usize>,
}

/// A size in both measures; tokens are zero where nobody limits them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Size {
    bytes: usize,
    tokens: usize,
}

impl Size {
    fn with(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            tokens: self.tokens + other.tokens,
        }
    }

    fn without(self, other: Self) -> Self {
        let bytes = self.bytes.saturating_sub(other.bytes);
        Self {
            bytes,
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }
}

impl Budget {
    fn allows(self, size: Size) -> bool {
        self.bytes.is_none_or(|most| size.bytes <= most)
            && self.tokens.is_none_or(|most| size.tokens <= most)
    }
}

/// Measures texts in what the budget limits.
#[derive(Clone, Copy)]
struct Ruler {
    encoding: Encoding,
    tokens: bool,
    /// Whether bytes are those of messages as JSON; tokens are those of their contents.
    messages: bool,
}

impl Ruler {
    fn measure(self, text: &str) -> Size {
        let tokens = if self.tokens {
            tokens::count(self.encoding, text)
        } else {
            0
        };
        Size {
            bytes: text.len(),
            tokens,
        }
    }

    /// Measures what stands between two sections.
    fn between(self, separator: &str) -> Size {
        if self.messages {
            return Size {
                bytes: 1,
                tokens: 0,
            };
        }
        self.measure(separator)
    }

    fn section(self, section: &Section) -> Size {
        if self.tokens || self.messages {
            let whole = format!(
                "{}{}{}",
                section.open,
                section.printed().text(),
                section.close
            );
            let size = self.measure(&whole);
            let message = json!({"role": section.role, "content": whole});
            let bytes = if self.messages {
                message.to_string().len()
            } else {
                size.bytes
            };
            Size { bytes, ..size }
        } else {
            let bytes = section.open.len() + section.printed().len() + section.close.len();
            Size { bytes, tokens: 0 }
        }
    }
}

/// Makes the prompt fit the budget; returns it with what gave way.
pub(super) fn apply(
    recipe: &Recipe,
    prompt: Prompt,
    options: &Options,
) -> Result<(Prompt, Vec<Omission>), Error> {
    let budget = options.budget;
    if budget == Budget::default() {
        return Ok((prompt, Vec::new()));
    }
    let ruler = Ruler {
        encoding: options.encoding,
        tokens: budget.tokens.is_some(),
        messages: prompt.shape == Shape::Messages,
    };
    let mut plan = Plan::new(prompt, ruler);
    let order = drop_order(&plan.prompt.sections);
    let mut dropped = Vec::new();
    let mut order = order.into_iter();
    // The whole is not exactly the sum of its parts: what counts is what is handed over.
    plan.total = plan.real();
    loop {
        while !budget.allows(plan.total) {
            let next = order
                .next()
                .ok_or_else(|| required_is_too_much(&plan, budget))?;
            plan.drop_section(next);
            dropped.push(next);
            // Several sections in one message have a size that is not the sum of theirs.
            if plan.prompt.has_joins() {
                plan.total = plan.real();
            }
        }
        plan.total = plan.real();
        if budget.allows(plan.total) {
            break;
        }
    }
    Ok(plan.finish(recipe, &dropped, budget))
}

fn required_is_too_much(plan: &Plan, budget: Budget) -> Error {
    let (size, most, unit) = match (budget.bytes, budget.tokens) {
        (Some(most), _) if plan.total.bytes > most => (plan.total.bytes, most, "bytes"),
        (_, most) => (plan.total.tokens, most.unwrap_or_default(), "tokens"),
    };
    let detail = format!("the required text alone has {size} {unit}, the budget is {most}");
    Error::new(ErrorKind::OverBudget, detail)
}

/// Returns the optional sections in the order in which they give way.
fn drop_order(sections: &[Section]) -> Vec<usize> {
    let mut order: Vec<(u32, usize)> = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        if let Priority::Optional(priority) = section.priority {
            order.push((priority, index));
        }
    }
    order.sort_by_key(|&(priority, index)| (priority, std::cmp::Reverse(index)));
    order.into_iter().map(|(_, index)| index).collect()
}

/// A prompt of which sections can be taken away one by one, with the size of what is left.
struct Plan {
    prompt: Prompt,
    ruler: Ruler,
    sizes: Vec<Size>,
    kept: Vec<bool>,
    total: Size,
    /// Per section: which group it is in.
    group_of: Vec<usize>,
    /// Per group: how many sections are left, its own frame and separator.
    groups: Vec<(usize, Size, Size)>,
    separator: Size,
}

impl Plan {
    fn new(prompt: Prompt, ruler: Ruler) -> Self {
        let sizes: Vec<Size> = prompt
            .sections
            .iter()
            .map(|section| ruler.section(section))
            .collect();
        let mut plan = Self {
            ruler,
            kept: vec![true; sizes.len()],
            total: ruler
                .measure(&prompt.outer.open)
                .with(ruler.measure(&prompt.outer.close)),
            group_of: vec![0; sizes.len()],
            groups: Vec::new(),
            separator: ruler.between(&prompt.outer.separator),
            sizes,
            prompt,
        };
        let lists = plan
            .prompt
            .blocks()
            .into_iter()
            .flat_map(|block| block.lists);
        for (number, (wrap, members)) in lists.enumerate() {
            let frame = ruler.measure(&wrap.open).with(ruler.measure(&wrap.close));
            plan.groups.push((0, frame, ruler.between(&wrap.separator)));
            for index in members {
                plan.group_of[index] = number;
            }
        }
        for index in 0..plan.sizes.len() {
            plan.groups[plan.group_of[index]].0 += 1;
            plan.total = plan.total.with(plan.sizes[index]).with(plan.beside(index));
        }
        plan
    }

    fn drop_section(&mut self, index: usize) {
        let beside = self.beside(index);
        for size in [self.sizes[index], beside] {
            self.total = self.total.without(size);
        }
        self.kept[index] = false;
        self.groups[self.group_of[index]].0 -= 1;
    }

    fn restore_section(&mut self, index: usize, section: Section) {
        self.sizes[index] = self.ruler.section(&section);
        self.prompt.sections[index] = section;
        self.kept[index] = true;
        self.groups[self.group_of[index]].0 += 1;
        self.total = self.total.with(self.sizes[index]).with(self.beside(index));
    }

    /// Returns the size of what stands in the prompt only because this section, which counts as there, does.
    fn beside(&self, index: usize) -> Size {
        let (left, frame, between) = self.groups[self.group_of[index]];
        if left > 1 {
            return between;
        }
        let others = self.groups.iter().filter(|group| group.0 > 0).count() > 1;
        if others {
            frame.with(self.separator)
        } else {
            frame
        }
    }

    /// Measures what is left, by the whole of it where the sum of the parts may differ.
    fn real(&self) -> Size {
        if !self.ruler.tokens && !self.ruler.messages {
            return self.total;
        }
        let (text, _) = self.remaining().render();
        let tokens = if self.ruler.tokens {
            Reading::of(&text).all_tokens(self.ruler.encoding)
        } else {
            0
        };
        let bytes = text.len();
        Size { bytes, tokens }
    }

    fn remaining(&self) -> Prompt {
        let sections = self.prompt.sections.iter().zip(&self.kept);
        let sections = sections
            .filter(|(_, kept)| **kept)
            .map(|(section, _)| section.clone());
        self.prompt.with_sections(sections.collect())
    }

    fn finish(
        mut self,
        recipe: &Recipe,
        dropped: &[usize],
        budget: Budget,
    ) -> (Prompt, Vec<Omission>) {
        let mut omissions = Vec::new();
        for (nth, &index) in dropped.iter().enumerate() {
            if nth + 1 == dropped.len()
                && let Some(lost) = self.cut_instead(index, recipe, budget)
            {
                omissions.push(lost);
                continue;
            }
            let section = &self.prompt.sections[index];
            omissions.push(self.omission(section, section.body.text(), String::new()));
        }
        // They are moved: a copy of a long prompt would take as much memory as the prompt.
        let sections = std::mem::take(&mut self.prompt.sections).into_iter();
        let kept = sections.zip(&self.kept).filter(|(_, kept)| **kept);
        let kept = kept.map(|(section, _)| section).collect();
        (self.prompt.with_sections(kept), omissions)
    }

    fn omission(&self, section: &Section, lost: &str, detail: String) -> Omission {
        Omission {
            layer: section.layer.clone(),
            name: section.name.clone(),
            reason: Reason::OverBudget,
            bytes: lost.len() as u64,
            tokens: self
                .ruler
                .tokens
                .then(|| tokens::count(self.ruler.encoding, lost)),
            detail,
            loss: None,
        }
    }

    /// Keeps as many whole lines of a dropped section as fit, with a marker, and returns what is lost.
    fn cut_instead(&mut self, index: usize, recipe: &Recipe, budget: Budget) -> Option<Omission> {
        let section = self.prompt.sections[index].clone();
        if !section.may_cut {
            return None;
        }
        let text = section.body.text();
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let ends: Vec<usize> = ends.filter(|&end| end < text.len()).collect();
        let try_lines = |lines: usize, plan: &mut Self| {
            let body = shortened(
                &section,
                ends[lines - 1],
                lines,
                recipe,
                plan.ruler.encoding,
            );
            plan.restore_section(
                index,
                Section {
                    body,
                    ..section.clone()
                },
            );
            budget.allows(plan.total)
        };
        // The longest beginning that fits, by halving.
        let (mut fitting, mut too_long) = (0, ends.len() + 1);
        while too_long - fitting > 1 {
            let middle = usize::midpoint(fitting, too_long);
            if try_lines(middle, self) {
                fitting = middle;
            } else {
                too_long = middle;
            }
            self.drop_section(index);
        }
        // The sum of the parts may differ a little from the whole: the real text has the last word.
        while fitting > 0 {
            if try_lines(fitting, self) && budget.allows(self.real()) {
                let detail = format!("cut after line {fitting} of {}", text.lines().count());
                return Some(self.omission(&section, &text[ends[fitting - 1]..], detail));
            }
            self.drop_section(index);
            fitting -= 1;
        }
        self.prompt.sections[index] = section;
        None
    }
}

/// Returns the first lines of a body, followed by the recipe's marker.
fn shortened(
    section: &Section,
    end: usize,
    lines: usize,
    recipe: &Recipe,
    encoding: Encoding,
) -> Traced {
    let text = section.body.text();
    let lost = &text[end..];
    let marker = interpolate(&recipe.marker, |name| match name {
        "path" => Some(section.name.clone()),
        "first" => Some((lines + 1).to_string()),
        "last" => Some(text.lines().count().to_string()),
        "bytes" => Some(lost.len().to_string()),
        "tokens" => Some(tokens::count(encoding, lost).to_string()),
        _ => None,
    });
    let mut body = section.body.slice(0..end);
    body.push_frame(&marker);
    body
}
