//! Where a rendering prints to: own text makes structure, and values are made harmless for the place they stand in.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::behind::Behind;
use super::scene::{Scene, ValueContext, begins_underline, underlines};
use super::text::{Kind, Text};
use crate::freetext::{on_one_line, strict, with_backslashes};
use crate::prepare::Harmless;
use crate::text::is_space;
use crate::trace::{Traced, Transform};

/// What the values of a rendering may do.
#[derive(Clone, Debug, Default)]
pub(crate) enum Safety {
    /// They are printed as they are.
    #[default]
    Verbatim,
    /// They make no structure.
    Safe {
        /// The fields in which every text is fit for a line already.
        harmless: Arc<[Harmless]>,
        /// The tags that the templates have.
        tags: Arc<BTreeSet<String>>,
        /// Whether the recipe may print values as they are.
        raw: bool,
        /// What frames of the recipe have right before the text, in whole lines.
        before: Arc<str>,
    },
}

impl Safety {
    /// Returns what the value of a field is.
    pub(super) fn kind_of(&self, path: &str) -> Kind {
        let first = path.split(['.', '[']).next().unwrap_or(path);
        let Self::Safe { harmless, .. } = self else {
            return Kind::Value;
        };
        let kind = harmless.iter().find_map(|known| match known {
            Harmless::Lines(field) => (*field == first).then_some(Kind::FitLine),
            Harmless::Texts(field) => (*field == first).then_some(Kind::Fit),
        });
        kind.unwrap_or(Kind::Value)
    }

    /// Returns where backslashes go so that a value has no tag of the templates; `open` is what values before it have.
    fn tags(&self, open: &str, value: &str) -> Vec<usize> {
        match self {
            Self::Safe { tags, .. } => strict::tags(open, value, tags),
            Self::Verbatim => Vec::new(),
        }
    }

    /// Returns a value as part of a JSON string; what would begin a tag of the templates, or a line for any reader, is an
    /// escape in it.
    pub(super) fn in_json(&self, value: &Traced) -> Traced {
        let text = value.text();
        let mut signs: Vec<usize> = self.tags("", text);
        signs = signs
            .iter()
            .filter_map(|at| text[..*at].rfind('<'))
            .collect();
        let breaks = text.match_indices(['\u{85}', '\u{2028}', '\u{2029}']);
        signs.extend(breaks.map(|(at, _)| at));
        signs.sort_unstable();
        signs.dedup();
        let ends = |at: &usize| text[*at..].chars().next().map_or(0, char::len_utf8);
        let cuts: Vec<usize> = signs.iter().flat_map(|at| [*at, at + ends(at)]).collect();
        let mut out = Traced::with_capacity(value.len());
        for (nth, piece) in value.cut(&cuts).iter().enumerate() {
            if nth % 2 == 0 {
                out.push(&piece.json_escaped());
                continue;
            }
            let sign = piece.text().chars().next().map_or(0, u32::from);
            let parts = [(0..piece.len(), format!("\\u{sign:04x}"))];
            out.push(&piece.replaced(&parts, Transform::JsonString));
        }
        out
    }

    /// Tells whether values may be printed as they are.
    pub(super) fn allows_raw(&self) -> bool {
        matches!(self, Self::Verbatim | Self::Safe { raw: true, .. })
    }
}

/// A text that grows by own text and by values.
#[derive(Debug, Default)]
pub(crate) struct Page {
    out: Traced,
    safety: Safety,
    scene: Scene,
    /// A value whose place depends on what follows it, and what does so far; each of it is one thing.
    held: Vec<Arc<Text>>,
    held_len: usize,
    behind: Behind,
    /// Whether the first of it waits for what tells whether a list in it goes on.
    waits: bool,
}

impl Page {
    pub(crate) fn new(safety: Safety) -> Self {
        let mut scene = Scene::default();
        if let Safety::Safe { before, .. } = &safety {
            scene.own(before);
        }
        Self {
            safety,
            scene,
            ..Self::default()
        }
    }

    /// Returns what the value of a field is.
    pub(crate) fn kind_of(&self, path: &str) -> Kind {
        self.safety.kind_of(path)
    }

    pub(crate) fn len(&self) -> usize {
        self.out.len() + self.held_len
    }

    pub(crate) fn finish(mut self) -> Traced {
        self.settle(None, true);
        self.out
    }

    /// Adds a text, run by run.
    pub(crate) fn put(&mut self, text: &Arc<Text>) {
        if matches!(self.safety, Safety::Verbatim) {
            self.out.push(text.body());
            return;
        }
        let Some(kind) = text.kind() else {
            for run in text.taken_apart() {
                self.put(&Arc::new(run));
            }
            return;
        };
        // What prints nothing matters only where signs are left alone with the line before them.
        if text.len() == 0 && (kind == Kind::Own || !self.may_underline()) {
            return;
        }
        let told = match kind {
            _ if self.held.is_empty() => None,
            Kind::Value => self.behind.value(text.as_str()),
            _ => self.behind.own(text.as_str()),
        };
        self.held.push(Arc::clone(text));
        self.held_len += text.len();
        if told.is_some() || !self.waits {
            self.settle(told, false);
        }
    }

    /// Adds text of the recipe's author.
    pub(crate) fn own(&mut self, text: &Traced) {
        if matches!(self.safety, Safety::Verbatim) {
            self.out.push(text);
        } else if self.held.is_empty() {
            self.say(text);
        } else {
            self.put(&Arc::new(Text::own(text.clone())));
        }
    }

    fn say(&mut self, text: &Traced) {
        self.out.push(text);
        self.scene.own(text.text());
    }

    /// Tells whether the line so far, or the one behind it, may make a heading of the line before.
    fn may_underline(&self) -> bool {
        let last = self.held.iter().rfind(|text| text.len() > 0);
        let Some(last) = last else {
            return self.scene.at_start() || self.scene.is_underline();
        };
        let line = last.as_str().rsplit('\n').next().unwrap_or_default();
        line.trim_matches(is_space).is_empty() || begins_underline(line)
    }

    /// Prints what is held as far as its place is clear; `goes_on` tells whether a list in a value goes on behind it, and
    /// `end` that nothing follows any more.
    fn settle(&mut self, goes_on: Option<bool>, end: bool) {
        let held = std::mem::take(&mut self.held);
        let mut done = 0;
        while let Some(text) = held.get(done) {
            match text.kind() {
                Some(Kind::Own) => self.say(text.body()),
                Some(Kind::Value) => {
                    let mut behind = held[done + 1..].iter().map(|next| next.as_str());
                    let next = behind.find(|next| !next.is_empty());
                    if next.is_none() && !end {
                        break;
                    }
                    let place = self.scene.place(next, goes_on.unwrap_or_default());
                    let waits = matches!(place, ValueContext::Block { items: false, .. });
                    if waits && goes_on.is_none() && !end && strict::has_items(text.as_str()) {
                        self.waits = done == 0;
                        break;
                    }
                    let printed = self.made_harmless(text.body(), place, next);
                    self.scene.value(printed.text());
                    self.out.push(&printed);
                }
                kind => self.harmless(text.body(), kind),
            }
            done += 1;
        }
        if done > 0 {
            (self.behind, self.waits) = (Behind::default(), false);
        }
        self.held = held;
        let printed = self
            .held
            .drain(..done)
            .map(|text| text.len())
            .sum::<usize>();
        self.held_len -= printed;
    }

    /// Adds a value that is harmless in most places.
    fn harmless(&mut self, text: &Traced, kind: Option<Kind>) {
        let place = self.scene.place(None, false);
        let done = match (place, kind) {
            (ValueContext::Attribute { .. }, Some(Kind::Attribute)) => Cow::Borrowed(text),
            (
                ValueContext::Attribute { .. }
                | ValueContext::Json
                | ValueContext::Fence
                | ValueContext::Info,
                _,
            ) => self.made_harmless(text, place, None),
            (_, Some(Kind::Json)) => Cow::Borrowed(text),
            _ if text.is_empty() && self.scene.is_underline() => Cow::Owned(quoted(text)),
            _ => {
                let mut tags = self.safety.tags(&self.scene.open, text.text());
                tags.retain(|at| !text.text()[..*at].ends_with('\\'));
                if kind == Some(Kind::FitLine) && self.scene.head.is_empty() {
                    tags.extend(strict::in_line("", 0, text.text()));
                }
                let row = self.scene.in_table() && !text.text().contains('\n');
                self.without(Cow::Borrowed(text), tags, row)
            }
        };
        self.scene.value(done.text());
        self.out.push(&done);
    }

    fn made_harmless<'v>(
        &self,
        value: &'v Traced,
        place: ValueContext,
        next: Option<&str>,
    ) -> Cow<'v, Traced> {
        let text = value.text();
        let places = match place {
            ValueContext::Json => return Cow::Owned(self.safety.in_json(value)),
            ValueContext::Attribute { quoted } => return Cow::Owned(attribute(value, quoted)),
            ValueContext::Info => return Cow::Owned(info(value)),
            ValueContext::Line => return self.in_line(value, next),
            ValueContext::Block { items, tangled } => strict::in_block(text, items, tangled),
            ValueContext::Fence => strict::in_fence(text, false),
        };
        let tags = self.safety.tags(&self.scene.open, text);
        signed(Cow::Borrowed(value), &once([places, tags].concat()))
    }

    /// Returns a value as part of a line.
    fn in_line<'v>(&self, value: &'v Traced, next: Option<&str>) -> Cow<'v, Traced> {
        let text = value.text();
        let is_last =
            next.is_none_or(|next| next.trim_start_matches([' ', '\t']).starts_with('\n'));
        let is_blank = text.trim_matches(is_space).is_empty();
        let is_lost = is_blank && is_last && self.scene.is_underline();
        let moves_in = self.scene.moves_in(text);
        let is_title = is_blank && self.scene.at_start() && next.is_some_and(underlines);
        if is_lost || moves_in || is_title {
            return self.without(Cow::Owned(quoted(value)), Vec::new(), self.scene.in_table());
        }
        let line = on_one_line(value);
        let mut places = Vec::new();
        places.extend(strict::in_line(
            &self.scene.head,
            self.scene.own,
            line.text(),
        ));
        places.extend(self.safety.tags(&self.scene.open, line.text()));
        self.without(line, places, self.scene.in_table())
    }

    /// Returns a value of one line with backslashes at some places, and as part of the row of a table where it stands in one. In
    /// a JSON string these are escapes of JSON.
    fn without<'v>(
        &self,
        line: Cow<'v, Traced>,
        mut places: Vec<usize>,
        row: bool,
    ) -> Cow<'v, Traced> {
        if !is_json_string(line.text()) {
            places = once(places);
            if row {
                places.extend(strict::in_row(line.text()));
                places.sort_unstable();
            }
            return signed(line, &places);
        }
        let text = line.text();
        let tags = self.safety.tags("", text).into_iter();
        let mut signs: Vec<usize> = tags.filter_map(|at| text[..at].rfind('<')).collect();
        if row {
            signs.extend(memchr::memchr_iter(b'|', text.as_bytes()));
        }
        if signs.is_empty() {
            return line;
        }
        let sign = |at: usize| (at..at + 1, format!("\\u{:04x}", text.as_bytes()[at]));
        let parts: Vec<_> = once(signs).into_iter().map(sign).collect();
        Cow::Owned(line.replaced(&parts, Transform::JsonString))
    }
}

/// Returns places in order, each of them once.
fn once(mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable();
    places.dedup();
    places
}

/// Tells whether a text is a JSON string.
fn is_json_string(text: &str) -> bool {
    text.starts_with('"') && serde_json::from_str::<String>(text).is_ok()
}

/// Returns a value as a JSON string, which needs no escapes for it.
pub(super) fn quoted(value: &Traced) -> Traced {
    let mut out = Traced::frame("\"");
    out.push(&value.json_escaped());
    out.push_frame("\"");
    out
}

/// Returns a value with backslashes at some places, which most values do not need.
fn signed<'v>(value: Cow<'v, Traced>, places: &[usize]) -> Cow<'v, Traced> {
    if places.is_empty() {
        return value;
    }
    Cow::Owned(with_backslashes(&value, places))
}

/// Returns a value as part of a tag: it ends neither the tag nor a quoted attribute of it.
pub(super) fn attribute(value: &Traced, quoted: bool) -> Traced {
    escaped(value, |c| {
        let bare = c.is_whitespace() || matches!(c, '=' | '`' | '/');
        let special = matches!(c, '&' | '<' | '>' | '"' | '\'') || c.is_control();
        let breaks = matches!(c, '\u{2028}' | '\u{2029}');
        match c {
            '&' => Some("&amp;".to_owned()),
            '<' => Some("&lt;".to_owned()),
            '>' => Some("&gt;".to_owned()),
            '"' => Some("&quot;".to_owned()),
            _ if special || breaks || bare && !quoted => Some(format!("&#{};", u32::from(c))),
            _ => None,
        }
    })
}

/// Returns a value as the language of a code block: it stays on its line and does not undo the fence.
fn info(value: &Traced) -> Traced {
    escaped(&on_one_line(value), |c| match c {
        '`' => Some("&#96;".to_owned()),
        '<' => Some("&lt;".to_owned()),
        _ => None,
    })
}

/// Returns a text with some characters escaped, each byte with its origin.
fn escaped(text: &Traced, escape: impl Fn(char) -> Option<String>) -> Traced {
    let found = text.text().char_indices();
    let parts: Vec<_> = found
        .filter_map(|(at, c)| Some((at..at + c.len_utf8(), escape(c)?)))
        .collect();
    text.replaced(&parts, Transform::XmlText)
}
