//! One rendering: what is known of its texts, and where what it prints goes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use minijinja::value::{Object, ValueKind};
use minijinja::{AutoEscape, Error, State, Value};

use super::page::{Page, Safety};
use super::text::Text;
use super::values::{Known, address};
use crate::mounts::Mounts;
use crate::omission::Omission;
use crate::template::bounds::{Site, keep_parts, refused, spend};
use crate::template::jinja::OUTPUT_LIMIT;
use crate::template::numbers::Figures;
use crate::trace::{Origin, OriginKind, Traced, Transform};

/// The name under which a context holds what a rendering was given; no template can say it.
const GIVEN: &str = "callsheet.given";

/// What a derived text is called as long as nobody knows what it was made of.
const UNNAMED: &str = "values";

/// So many texts are looked at for what a derived text is made of.
const MOST_NAMED: usize = 64;

/// So many bytes of their names are kept: a text that is derived from derived ones would double them in each turn.
const MOST_NAMES: usize = 500;

/// The body of a template, and what its compilation found out.
#[derive(Debug)]
pub(crate) struct SourceText {
    pub(crate) body: Traced,
    sites: OnceLock<Vec<Site>>,
}

impl SourceText {
    pub(crate) fn new(body: Traced) -> Self {
        Self {
            body,
            sites: OnceLock::new(),
        }
    }

    /// Keeps what the compilation found out.
    pub(crate) fn compiled(&self, sites: Vec<Site>) {
        // Whoever compiles it again finds out the same.
        let _ = self.sites.set(sites);
    }

    pub(crate) fn sites(&self) -> &[Site] {
        self.sites.get().map_or(&[], Vec::as_slice)
    }
}

/// What a rendering begins with.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Where the texts of the input came from.
    pub(crate) known: Arc<Known>,
    /// The fields of the input, as the engine has them.
    pub(crate) fields: Value,
    /// What stands before a name to make the path of its field.
    pub(crate) prefix: String,
    /// Texts that know where they came from, by the paths of the fields in which they stand.
    pub(crate) traces: Arc<BTreeMap<String, Traced>>,
    /// The templates, by their numbers.
    pub(crate) sources: Vec<Arc<SourceText>>,
    /// What values may do.
    pub(crate) safety: Safety,
    /// How numbers were written.
    pub(crate) figures: Figures,
    /// The real folders that have names.
    pub(crate) mounts: Mounts,
}

impl Object for Given {}

impl Given {
    /// Returns the context of a rendering of these fields.
    pub(crate) fn context(mut self, mut fields: Vec<(String, Value)>) -> Value {
        self.fields = Value::from_pairs(fields.iter().cloned());
        fields.push((GIVEN.to_owned(), Value::from_object(self)));
        Value::from_pairs(fields)
    }
}

/// What is known while a template is rendered.
#[derive(Debug, Default)]
pub(crate) struct Rendering {
    pub(super) given: Arc<Given>,
    /// What is known of the texts of the input that were asked for, by their numbers.
    asked: Vec<Option<Arc<Text>>>,
    /// Texts that were made, by the addresses of their buffers, which the values hold on to.
    made: BTreeMap<usize, (Value, Arc<Text>)>,
    /// The constants of templates, by template and site.
    constants: BTreeMap<(usize, usize), Value>,
    page: Page,
    /// What is captured, from the outside in; nothing stands for what is thrown away.
    captures: Vec<Option<Text>>,
    /// What filters left out.
    pub(super) omissions: Vec<Omission>,
    /// What names of origins take that nobody has paid for yet.
    unpaid: u64,
}

impl Rendering {
    /// Returns the rendering that a state belongs to.
    pub(super) fn of<'a>(state: &'a mut State<'_, '_>) -> &'a mut Self {
        if state.get_extension::<Self>().is_none() {
            let given = state.lookup(GIVEN);
            let given = given.and_then(|given| given.downcast_object::<Given>());
            let given = given.unwrap_or_default();
            let page = Page::new(given.safety.clone());
            let asked = vec![None; given.known.len()];
            state.get_or_insert_extension(Self {
                given,
                asked,
                page,
                ..Self::default()
            });
        }
        state.get_or_insert_extension_with(Self::default)
    }

    /// Takes the finished text out of a state, and what filters left out.
    pub(crate) fn finish(state: &mut State<'_, '_>) -> (Traced, Vec<Omission>) {
        let rendering = Self::of(state);
        let page = std::mem::take(&mut rendering.page);
        (page.finish(), std::mem::take(&mut rendering.omissions))
    }

    /// Returns what is known of a string of the engine.
    pub(super) fn known(&mut self, text: &str) -> Option<Arc<Text>> {
        let Some((nth, place)) = self.given.known.find(text) else {
            let (_, known) = self.made.get(&address(text))?;
            return (known.len() == text.len()).then(|| Arc::clone(known));
        };
        let asked = self.asked.get_mut(nth)?;
        if let Some(known) = asked {
            return Some(Arc::clone(known));
        }
        let path = self.given.known.path(place);
        self.unpaid += path.len() as u64;
        let traced = self.given.traces.get(&path);
        let body = match traced.filter(|traced| traced.text() == text && !place.is_name) {
            Some(traced) => traced.clone(),
            None => {
                let origin = Origin::new(OriginKind::Input, path.as_str(), text);
                if place.is_name {
                    Traced::transformed(text, &origin, text.len(), Transform::Converted)
                } else {
                    Traced::whole(text, &origin)
                }
            }
        };
        let known = Arc::new(Text::new(body, self.given.safety.kind_of(&path)));
        *asked = Some(Arc::clone(&known));
        Some(known)
    }

    fn keep(&mut self, text: Arc<Text>, safe: bool) -> Value {
        let value = if safe {
            Value::from_safe_string(text.as_str().to_owned())
        } else {
            Value::from(Arc::<str>::from(text.as_str()))
        };
        let at = value.as_str().map_or(0, address);
        self.made.insert(at, (value.clone(), text));
        value
    }

    /// Notes that the name of the origin of a text was made for it.
    pub(super) fn owe(&mut self, text: &Text) {
        self.unpaid += text.body().origin().map_or(0, |origin| origin.name.len()) as u64;
    }

    /// Returns the site of a template.
    pub(super) fn site(&self, template: usize, site: usize) -> Option<&Site> {
        self.given.sources.get(template)?.sites().get(site)
    }

    /// Returns a constant of a template as a string of the engine.
    pub(super) fn constant(&mut self, template: usize, site: usize) -> Value {
        if let Some(value) = self.constants.get(&(template, site)) {
            return value.clone();
        }
        let Some(Site::Own(text)) = self.site(template, site) else {
            return Value::from("");
        };
        let value = self.keep(Arc::clone(text), false);
        self.constants.insert((template, site), value.clone());
        value
    }

    pub(super) fn begin(&mut self) {
        self.captures.push(Some(Text::default()));
    }

    pub(super) fn mute(&mut self) {
        self.captures.push(None);
    }

    /// Ends what was begun last.
    pub(super) fn end(&mut self) -> Option<Text> {
        self.captures.pop().flatten()
    }

    /// Goes on printing if that was turned off last.
    pub(super) fn unmute(&mut self) {
        if matches!(self.captures.last(), Some(None)) {
            self.captures.pop();
        }
    }

    /// Prints a text to where the template prints.
    pub(super) fn put(&mut self, text: &Arc<Text>) -> Result<(), Error> {
        match self.captures.last_mut() {
            Some(Some(captured)) => captured.push(text),
            Some(None) => {}
            None => {
                if self.page.len() + text.len() > OUTPUT_LIMIT {
                    let detail = format!("prints more than {OUTPUT_LIMIT} bytes");
                    return Err(refused(detail));
                }
                self.page.put(text);
            }
        }
        Ok(())
    }
}

/// Pays for the names of origins that were made meanwhile.
pub(super) fn pay(state: &mut State<'_, '_>) -> Result<(), Error> {
    let unpaid = std::mem::take(&mut Rendering::of(state).unpaid);
    spend(state, unpaid)
}

/// Returns a text as a string of the engine.
pub(super) fn made(state: &mut State<'_, '_>, text: Text) -> Result<Value, Error> {
    made_as(state, text, false)
}

/// Returns a text as a string of the engine that is not escaped again where it is `safe`.
pub(super) fn made_as(state: &mut State<'_, '_>, text: Text, safe: bool) -> Result<Value, Error> {
    keep_parts(state, text.parts() as u64)?;
    pay(state)?;
    Ok(Rendering::of(state).keep(Arc::new(text), safe))
}

/// Returns what was captured as a string of the engine.
pub(super) fn captured(state: &mut State<'_, '_>, text: Text) -> Result<Value, Error> {
    let safe = !matches!(state.auto_escape(), AutoEscape::None);
    made_as(state, text, safe)
}

/// Returns what a value is as a text, with what is known of it.
pub(super) fn text_of(state: &mut State<'_, '_>, value: &Value) -> Arc<Text> {
    if value.kind() == ValueKind::String
        && let Some(text) = value.as_str()
    {
        let known = Rendering::of(state).known(text);
        return known.unwrap_or_else(|| Arc::new(unnamed(text)));
    }
    let rendering = Rendering::of(state);
    let printed = match rendering.given.figures.written(value) {
        Some(written) => written.to_owned(),
        None => value.to_string(),
    };
    let mut from = Vec::new();
    collect(rendering, value, &mut from);
    let text = derived(&printed, &from);
    rendering.owe(&text);
    Arc::new(text)
}

/// Returns a text of which nobody knows what it was made of.
fn unnamed(text: &str) -> Text {
    let origin = Origin::new(OriginKind::Derived, UNNAMED, text);
    Text::value(Traced::whole(text, &origin))
}

/// Adds what is known of the strings in a value.
pub(super) fn collect(rendering: &mut Rendering, value: &Value, found: &mut Vec<Arc<Text>>) {
    if found.len() >= MOST_NAMED {
        return;
    }
    match value.kind() {
        ValueKind::String => {
            let text = value.as_str().and_then(|text| rendering.known(text));
            found.extend(text);
        }
        ValueKind::Seq => {
            let items = value.try_iter().into_iter().flatten();
            for item in items.take(MOST_NAMED) {
                collect(rendering, &item, found);
            }
        }
        ValueKind::Map => {
            let keys = value.try_iter().into_iter().flatten();
            for key in keys.take(MOST_NAMED) {
                let field = value.get_item(&key).unwrap_or_default();
                collect(rendering, &field, found);
            }
        }
        _ => {}
    }
}

/// Returns a new text that was made of others: it is own where all of them are.
pub(super) fn derived(text: &str, from: &[Arc<Text>]) -> Text {
    if from.is_empty() {
        return unnamed(text);
    }
    if from.iter().all(|one| one.is_own())
        && let Some(first) = from.iter().find(|one| one.len() > 0)
    {
        let whole: Range<usize> = 0..first.len();
        let parts = [(whole, text.to_owned())];
        return Text::own(first.body().replaced(&parts, Transform::Converted));
    }
    let mut seen = BTreeSet::new();
    let spans = from.iter().flat_map(|one| one.body().spans());
    let origins = spans.filter_map(|span| Some(&span.link.as_ref()?.origin));
    let names = origins.filter(|origin| !is_own(origin)).map(|origin| {
        let named = matches!(origin.kind, OriginKind::Input | OriginKind::Derived);
        if named {
            origin.name.clone()
        } else {
            origin.to_string()
        }
    });
    let mut names = listed(names.filter(|name| seen.insert(name.clone())));
    if names.is_empty() {
        UNNAMED.clone_into(&mut names);
    }
    let origin = Origin::new(OriginKind::Derived, names, text);
    Text::value(Traced::whole(text, &origin))
}

/// Returns names in one line, as many as may be kept.
pub(super) fn listed(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut listed = String::new();
    for name in names {
        if !listed.is_empty() {
            listed.push_str(", ");
        }
        let left = MOST_NAMES.saturating_sub(listed.len());
        let name = name.as_ref();
        listed.push_str(&name[..name.floor_char_boundary(left)]);
        if left < name.len() {
            listed.push('…');
            break;
        }
    }
    listed
}

fn is_own(origin: &Origin) -> bool {
    matches!(origin.kind, OriginKind::Template | OriginKind::Recipe)
}

/// Tells whether nobody knows what some of a text was made of.
pub(super) fn is_unnamed(text: &Text) -> bool {
    let links = text
        .body()
        .spans()
        .iter()
        .filter_map(|span| span.link.as_ref());
    let mut origins = links.map(|link| &link.origin);
    origins.any(|origin| is_nameless(origin))
}

fn is_nameless(origin: &Origin) -> bool {
    origin.kind == OriginKind::Derived && origin.name == UNNAMED
}

/// Gives what nobody has named yet the names of what an expression asks for.
pub(super) fn name(text: &mut Text, names: &str) {
    if names.is_empty() {
        return;
    }
    text.map_origins(|origin| {
        if is_nameless(origin) {
            Arc::new(Origin {
                name: names.to_owned(),
                ..Origin::clone(origin)
            })
        } else {
            Arc::clone(origin)
        }
    });
}

/// Returns the name of the field that an expression prints, if a value that is no text is what stands there.
pub(super) fn field(
    state: &mut State<'_, '_>,
    (template, site): (usize, usize),
    value: &Value,
) -> Option<String> {
    let scalar = matches!(
        value.kind(),
        ValueKind::Number | ValueKind::Bool | ValueKind::Plain
    );
    if !scalar {
        return None;
    }
    let given = Arc::clone(&Rendering::of(state).given);
    let site = given.sources.get(template)?.sites().get(site)?;
    let Site::Print { path, list, .. } = site else {
        return None;
    };
    let follow = |from: Value, path: &[String]| {
        path.iter()
            .try_fold(from, |value, step| value.get_attr(step).ok())
    };
    let (found, name) = if list.is_empty() {
        let name = (!path.is_empty()).then(|| path.join("."))?;
        (follow(given.fields.clone(), path)?, name)
    } else {
        // Only the innermost loop can be asked where it is.
        let nth = state.lookup("loop")?.get_attr("index0").ok()?.as_usize()?;
        let item = follow(given.fields.clone(), list)?;
        let within = path.get(1..).unwrap_or_default();
        let found = follow(item.get_item_by_index(nth).ok()?, within)?;
        let steps = within.iter().map(|step| format!(".{step}"));
        let name = format!("{}[{nth}]{}", list.join("."), steps.collect::<String>());
        (found, name)
    };
    let same = found.kind() == value.kind() && found.to_string() == value.to_string();
    same.then(|| format!("{}{name}", given.prefix))
}
