//! The prompt builder: five layers, called one by one, composed by the recipe `layers`.
//!
//! The builder only collects. What it collected is assembled by the same engine as every other recipe, so a prompt
//! from the builder and one from `compose layers` are the same bytes.

mod collected;
mod depth;
mod memory;
mod piece;
mod prepare;
mod prompts;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

pub use collected::Stored;
pub use memory::{FileMemory, MemorySource, ProjectContext, RuleSource};
pub(crate) use prepare::prepare;
pub use prompts::{TEMPLATES, packaged};

use self::collected::Collected;
use self::piece::{input_piece, section_piece};
use self::prompts::{Folder, Prompts};
use crate::compose::{Composition, Inputs, Options, assemble};
use crate::inputs::{Disk, Located, Root};
use crate::omission::{Omission, Reason, Refusal};
use crate::prepare::{Piece, Prepared};
use crate::recipe::built_in;
use crate::template::{Diagnostic, Missing, Rendered, Template, TemplateSet, Values};
use crate::{Error, Event, Recipe};

/// The context section that selects execution rules by depth.
const TASK_DEPTH: &str = "task_depth";

/// The event of a layer that could not be loaded.
const LAYER_FAILED: &str = "layer:failed";

/// Collects the layers of one prompt.
///
/// ```
/// use callsheet::PromptBuilder;
/// use serde_json::json;
///
/// let mut builder = PromptBuilder::new();
/// builder.add_context("task", "Add a login form.");
/// let data = json!({"workspace": "app", "branch": "main"});
/// builder.add_context_section("system_info", data.as_object().unwrap())?;
/// let (prompt, tools) = builder.build()?;
/// assert_eq!(
///     prompt,
///     "Add a login form.\n\n---\n\n## System Info\n- **workspace:** app\n- **branch:** main"
/// );
/// assert!(tools.is_empty());
/// # Ok::<(), callsheet::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct PromptBuilder {
    project_id: Option<String>,
    memory: Option<Box<dyn MemorySource>>,
    rule_source: Option<Box<dyn RuleSource>>,
    prompts: Prompts,
    missing: Missing,
    collected: Collected,
}

impl PromptBuilder {
    /// Makes an empty builder with the packaged templates; nothing is read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the project that memory and rules are asked for.
    #[must_use]
    pub fn with_project_id(mut self, id: impl Into<String>) -> Self {
        self.project_id = Some(id.into());
        self
    }

    /// Sets where the project context comes from.
    #[must_use]
    pub fn with_memory(mut self, memory: impl MemorySource + 'static) -> Self {
        self.memory = Some(Box::new(memory));
        self
    }

    /// Switches the rules layer on.
    #[must_use]
    pub fn with_rules(mut self, rules: impl RuleSource + 'static) -> Self {
        self.rule_source = Some(Box::new(rules));
        self
    }

    /// Takes templates from this folder only; a folder that does not exist has none.
    #[must_use]
    pub fn with_prompts_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.prompts = self.prompts.only(Folder::Named(folder.into()));
        self
    }

    /// Takes templates from this folder first, then the packaged ones.
    #[must_use]
    pub fn with_prompts_over_packaged(mut self, folder: impl Into<PathBuf>) -> Self {
        self.prompts = self.prompts.over_packaged(Folder::Named(folder.into()));
        self
    }

    /// Takes templates from the folder that is named, or else from that of the project first, then the packaged ones.
    pub(crate) fn with_prompts_of(mut self, root: &Root, named: Option<&str>) -> Self {
        let below = |relative: String| Folder::Below(root.path().to_owned(), relative);
        self.prompts = match named.map(|named| root.locate(named)) {
            None => self.prompts.over_packaged(below(TEMPLATES.to_owned())),
            Some(Located::Inside(relative)) => self.prompts.only(below(relative)),
            Some(Located::Outside(folder)) => self.prompts.only(Folder::Named(folder)),
        };
        self
    }

    /// Reads templates from another disk than the real one.
    pub(crate) fn on(mut self, disk: Disk) -> Self {
        self.prompts = self.prompts.on(disk);
        self
    }

    /// Sets what happens to placeholders without a value: empty text by default.
    #[must_use]
    pub fn with_missing(mut self, missing: Missing) -> Self {
        self.set_missing(missing);
        self
    }

    /// Changes what happens to placeholders without a value in what is rendered from here on.
    pub fn set_missing(&mut self, missing: Missing) {
        self.missing = missing;
    }

    /// Renders the template of that name as the identity; an unknown name leaves the identity empty.
    pub fn set_identity(
        &mut self,
        name: &str,
        variables: &Map<String, Value>,
    ) -> Result<(), Error> {
        let (events, lost) = (self.collected.events.len(), self.collected.lost.len());
        self.collected.identity =
            self.render_piece("identity", name, variables, "identity.variables.")?;
        if self.collected.identity.is_none() {
            self.lose_template("identity", name, "the identity is empty");
        }
        self.collected.identity_events = self.collected.events.split_off(events);
        self.collected.identity_lost = self.collected.lost.split_off(lost);
        Ok(())
    }

    /// Sets the identity to a text that somebody else rendered; nothing leaves it empty.
    pub fn set_identity_text(&mut self, name: &str, text: Option<&str>) {
        let piece = text.map(|text| input_piece("identity", "identity", text));
        let told = piece.is_none();
        self.collected.identity = piece;
        let told = told.then(|| unknown(name, "the identity is empty"));
        self.collected.identity_events = told.into_iter().collect();
    }

    /// Asks the memory for the project context; without a memory or a project nothing changes.
    ///
    /// A memory that fails leaves what was there before, and an event.
    pub fn load_project_context(&mut self) {
        let (Some(memory), Some(project)) = (&self.memory, &self.project_id) else {
            return;
        };
        match memory.project_context(project) {
            Ok(context) => {
                // Nothing but refusals is still something to tell.
                self.collected.project_context = context
                    .filter(|context| !context.body.is_blank() || !context.omissions.is_empty());
                self.loaded("project-context");
            }
            Err(error) => self.degrade("project-context", &error),
        }
    }

    /// Asks for the rules that apply to `query`; without a rule source this does nothing.
    pub fn load_relevant_rules(&mut self, query: &str) {
        let Some(source) = &self.rule_source else {
            return;
        };
        match source.rules(self.project_id.as_deref(), query) {
            Ok(rules) => {
                self.set_rules(rules.as_deref().unwrap_or_default());
                self.loaded("rules");
            }
            Err(error) => {
                self.collected.rules = None;
                self.degrade("rules", &error);
            }
        }
    }

    /// Sets the text of the rules layer.
    pub(crate) fn set_rules(&mut self, text: &str) {
        self.collected.rules =
            Some(input_piece("rules", "rules", text)).filter(|piece| !piece.body.is_blank());
    }

    fn degrade(&mut self, layer: &str, error: &Error) {
        self.loaded(layer);
        let message = format!("the layer `{layer}` could not be loaded: {error}");
        let facts = [("layer", Value::from(layer))];
        self.collected
            .events
            .push(Event::new(LAYER_FAILED, facts, message));
        let refusal = Refusal::new(Reason::Unavailable).because(error.to_string());
        self.collected
            .lost
            .push(Omission::refused(layer, layer, refusal));
    }

    /// Tells that there is no template of a name.
    fn lose_template(&mut self, layer: &str, name: &str, consequence: &str) {
        self.collected.events.push(unknown(name, consequence));
        let why = format!("no template has this name; {consequence}");
        let refusal = Refusal::new(Reason::Missing).because(why);
        self.collected
            .lost
            .push(Omission::refused(layer, name, refusal));
    }

    /// Forgets that a layer failed before.
    fn loaded(&mut self, layer: &str) {
        self.collected
            .events
            .retain(|event| event.kind != LAYER_FAILED || event.payload["layer"] != layer);
        let failed = |one: &Omission| one.reason == Reason::Unavailable && one.layer == layer;
        self.collected.lost.retain(|one| !failed(one));
    }

    /// Appends a named block of context; blank content is ignored, and the name is never printed.
    pub fn add_context(&mut self, name: &str, content: &str) {
        let field = format!("context[{}].content", self.collected.sections_added);
        self.collected.sections_added += 1;
        let piece = input_piece(name, &field, content);
        if !piece.body.is_blank() {
            self.collected.context.push(piece);
        }
    }

    /// Appends structured context as Markdown; `task_depth` selects execution rules instead.
    ///
    /// Strings are printed as they are, everything else as compact JSON in key order.
    pub fn add_context_section(
        &mut self,
        name: &str,
        data: &Map<String, Value>,
    ) -> Result<(), Error> {
        let field = format!("context[{}]", self.collected.sections_added);
        self.collected.sections_added += 1;
        if data.is_empty() {
            return Ok(());
        }
        if name == TASK_DEPTH {
            let (template, variables) = depth::select(data, &field)?;
            let prefix = format!("{field}.data.");
            match self.render_piece("execution_rules", template, &variables, &prefix)? {
                Some(piece) => self.collected.context.push(piece),
                None => self.lose_template("context", template, "there are no execution rules"),
            }
            return Ok(());
        }
        let whole = Value::Object(data.clone()).to_string();
        let lines = data.iter().map(|(key, value)| {
            let text = value.as_str().map(str::to_owned);
            (key.as_str(), text.unwrap_or_else(|| value.to_string()))
        });
        self.collected
            .context
            .push(section_piece(name, &whole, lines, &field));
        Ok(())
    }

    /// Returns the template of the execution rules that a depth asks for, and the variables that it gets.
    pub fn execution_rules(
        &self,
        data: &Map<String, Value>,
    ) -> Result<(&'static str, Map<String, Value>), Error> {
        depth::select(data, &format!("context[{}]", self.collected.sections_added))
    }

    /// Appends keys and texts as Markdown, one line for each; a key may come more than once.
    ///
    /// For callers whose values have a text form of their own. No name is special here.
    pub fn add_context_lines(&mut self, name: &str, lines: Vec<(String, String)>) {
        let field = format!("context[{}]", self.collected.sections_added);
        self.collected.sections_added += 1;
        if !lines.is_empty() {
            let whole = json!(lines).to_string();
            self.collected
                .context
                .push(section_piece(name, &whole, lines.into_iter(), &field));
        }
    }

    /// Sets the tools, replacing earlier ones.
    pub fn set_core_tools(&mut self, tools: impl IntoIterator<Item = Value>) {
        self.collected.tools = tools.into_iter().collect();
    }

    /// Sets the tools, replacing earlier ones.
    pub fn set_tools(&mut self, tools: impl IntoIterator<Item = Value>) {
        self.set_core_tools(tools);
    }

    /// Assembles the system prompt and the tools.
    pub fn build(&self) -> Result<(String, Vec<Value>), Error> {
        Ok((self.build_task_prompt()?, self.collected.tools.clone()))
    }

    /// Assembles the flat prompt for a task: the same bytes, without the tools.
    ///
    /// The recipe has no frames and no limits, so that its text is what stands in its layers, with separators between.
    /// Nothing is recorded here, which takes most of the time of a composition.
    pub fn build_task_prompt(&self) -> Result<String, Error> {
        let texts: Vec<&str> = self.collected.texts().collect();
        Ok(texts.join(&recipe()?.separator))
    }

    /// Assembles the prompt with everything that explains it.
    pub fn compose(&self, options: &Options) -> Result<Composition, Error> {
        assemble(
            recipe()?,
            self.prepared(Map::new()),
            &Inputs::nowhere(),
            options,
        )
    }

    /// Returns what the layers of the recipe draw from.
    fn prepared(&self, fields: Map<String, Value>) -> Prepared {
        let mut prepared = Prepared {
            fields,
            tools: self.collected.tools.clone(),
            ..Prepared::default()
        };
        let read = self.prompts.read().map(TemplateSet::diagnostics);
        let told = read.unwrap_or_default().iter().map(Diagnostic::event);
        let own = self
            .collected
            .identity_events
            .iter()
            .chain(&self.collected.events)
            .cloned();
        prepared.events = told.chain(own).collect();
        let lost = self
            .collected
            .identity_lost
            .iter()
            .chain(&self.collected.lost)
            .cloned();
        prepared.omissions = lost.collect();
        let context = self.collected.project_context.as_ref().map(|context| {
            prepared.omissions.extend_from_slice(&context.omissions);
            Piece {
                name: "project-context".to_owned(),
                body: context.body.clone(),
                source: Arc::clone(&context.source),
            }
        });
        for (layer, pieces) in [
            (
                "identity",
                self.collected.identity.iter().cloned().collect(),
            ),
            ("project_context", context.into_iter().collect()),
            ("rules", self.collected.rules.iter().cloned().collect()),
            ("context", self.collected.context.clone()),
        ] {
            prepared.pieces.insert(layer.to_owned(), pieces);
        }
        prepared
    }

    /// Returns the raw body of a template, or nothing for an unknown name.
    pub fn get_template(&self, name: &str) -> Option<String> {
        self.templates()
            .get(name)
            .map(|template| template.body.text().to_owned())
    }

    /// Renders a template, or returns nothing for an unknown name.
    pub fn render_template(
        &self,
        name: &str,
        variables: &Map<String, Value>,
    ) -> Result<Option<String>, Error> {
        let rendered = self.render(name, variables, "")?;
        Ok(rendered.map(|(rendered, _)| rendered.body.text().to_owned()))
    }

    /// Returns what was collected and the templates that were read, as they can be stored.
    pub fn stored(&self) -> Stored {
        Stored {
            collected: self.collected.clone(),
            templates: self.prompts.read().cloned(),
        }
    }

    /// Goes on from what was stored.
    pub fn restore(&mut self, stored: Stored) {
        self.collected = stored.collected;
        self.prompts.set(stored.templates);
    }

    /// Forgets the templates that were read; the next access reads them afresh.
    pub fn reload(&mut self) {
        self.prompts.set(None);
    }

    /// Returns the snapshot of the templates, read at the first access.
    pub fn templates(&self) -> &TemplateSet {
        self.prompts.snapshot()
    }

    fn render(
        &self,
        name: &str,
        variables: &Map<String, Value>,
        prefix: &str,
    ) -> Result<Option<(Rendered, &Template)>, Error> {
        let templates = self.templates();
        let Some(template) = templates.get(name) else {
            return Ok(None);
        };
        let values = Values {
            map: variables,
            prefix,
        };
        let rendered = templates.render(template, values, self.missing)?;
        Ok(Some((rendered, template)))
    }

    fn render_piece(
        &mut self,
        section: &str,
        name: &str,
        variables: &Map<String, Value>,
        prefix: &str,
    ) -> Result<Option<Piece>, Error> {
        let Some((rendered, template)) = self.render(name, variables, prefix)? else {
            return Ok(None);
        };
        let source = Arc::clone(&template.source);
        let layer = match section {
            "identity" => "identity",
            _ => "context",
        };
        let needed = rendered.missing.iter().filter(|name| template.needs(name));
        let asks = format!("`{}` asks for it", source.name);
        let lost = needed.map(|name| {
            let refusal = Refusal::new(Reason::NoValue).because(&asks);
            Omission::refused(layer, name, refusal)
        });
        let lost: Vec<Omission> = lost.collect();
        self.collected.lost.extend(lost);
        self.collected.events.extend(rendered.events(&source.name));
        let piece = Piece {
            name: section.to_owned(),
            body: rendered.body,
            source,
        };
        Ok(Some(piece))
    }
}

fn recipe() -> Result<&'static Recipe, Error> {
    built_in("layers").ok_or_else(|| Error::unknown("recipe", "layers", [""]))?
}

fn unknown(name: &str, consequence: &str) -> Event {
    let message = format!("no template named `{name}`; {consequence}");
    Event::new("template:unknown", [("name", Value::from(name))], message)
}

#[cfg(test)]
mod tests;
