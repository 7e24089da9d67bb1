//! The prompt builder: five layers, called one by one, composed by the recipe `layers`.
//!
//! The builder only collects. What it collected is assembled by the same engine as every other recipe, so a prompt
//! from the builder and one from `compose layers` are the same bytes.

mod collected;
mod memory;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

pub use collected::Stored;
pub use memory::{MemorySource, RuleSource};

use self::collected::Collected;
use crate::compose::{Composition, Inputs, Options, assemble};
use crate::omission::{Omission, Reason};
use crate::prepare::{
    LAYER_FAILED, NO_IDENTITY, Named, Prepared, Prompts, Said, TASK_DEPTH, data_piece, failed,
    input_piece, object_piece, rules, select, unknown,
};
use crate::recipe::built_in;
use crate::template::{Missing, TemplateSet, Values};
use crate::{Error, Recipe};

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
        self.prompts = Prompts::in_folder(folder.into());
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
        let named = Named {
            name,
            variables,
            prefix: "identity.variables.",
            layer: "identity",
            section: "identity",
            without: NO_IDENTITY,
        };
        self.collected.identity = named.render(self.templates(), self.missing)?;
        Ok(())
    }

    /// Sets the identity to a text that somebody else rendered; nothing leaves it empty.
    pub fn set_identity_text(&mut self, name: &str, text: Option<&str>) {
        let told = text.is_none().then(|| unknown(name, NO_IDENTITY));
        self.collected.identity = Said {
            piece: text.and_then(|text| input_piece("identity", "identity", text)),
            events: told.into_iter().collect(),
            omissions: Vec::new(),
        };
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
                let text = rules.unwrap_or_default();
                self.collected.rules = input_piece("rules", "rules", &text);
                self.loaded("rules");
            }
            Err(error) => {
                self.collected.rules = None;
                self.degrade("rules", &error);
            }
        }
    }

    fn degrade(&mut self, layer: &str, error: &Error) {
        self.loaded(layer);
        self.hear(failed(layer, error));
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
        self.collected.context.extend(piece);
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
            let said = rules(data, &field, "context", self.templates(), self.missing)?;
            self.hear(said);
        } else {
            let piece = object_piece(recipe()?, name, data, &field)?;
            self.collected.context.push(piece);
        }
        Ok(())
    }

    fn hear(&mut self, said: Said) {
        self.collected.context.extend(said.piece);
        self.collected.events.extend(said.events);
        self.collected.lost.extend(said.omissions);
    }

    /// Returns the template of the execution rules that a depth asks for, and the variables that it gets.
    pub fn execution_rules(
        &self,
        data: &Map<String, Value>,
    ) -> Result<(&'static str, Map<String, Value>), Error> {
        select(data, &format!("context[{}]", self.collected.sections_added))
    }

    /// Appends keys and texts as Markdown, one line for each; a key may come more than once.
    ///
    /// For callers whose values have a text form of their own. No name is special here.
    pub fn add_context_lines(&mut self, name: &str, lines: Vec<(String, String)>) {
        let field = format!("context[{}]", self.collected.sections_added);
        self.collected.sections_added += 1;
        if lines.is_empty() {
            return;
        }
        let whole = json!(lines).to_string();
        let piece = recipe().and_then(|recipe| {
            let lines = lines.into_iter();
            data_piece(recipe, name, &whole, lines, &field)
        });
        // Without its recipe nothing can be built, and `build` says so.
        self.collected.context.extend(piece.ok());
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
        assemble(recipe()?, self.prepared(), &Inputs::nowhere(), options)
    }

    /// Returns what the layers of the recipe draw from.
    fn prepared(&self) -> Prepared {
        let collected = &self.collected;
        let mut prepared = Prepared {
            tools: collected.tools.clone(),
            ..Prepared::default()
        };
        let events = collected.identity.events.iter().chain(&collected.events);
        prepared.events = self.prompts.events().chain(events.cloned()).collect();
        let lost = collected.identity.omissions.iter().chain(&collected.lost);
        prepared.omissions = lost.cloned().collect();
        let mut pieces = |field: &str, pieces| prepared.pieces.insert(field.to_owned(), pieces);
        pieces(
            "identity",
            collected.identity.piece.iter().cloned().collect(),
        );
        pieces("rules", collected.rules.iter().cloned().collect());
        pieces("context", collected.context.clone());
        let (mut context, mut left_out) = (Vec::new(), Vec::new());
        if let Some(known) = collected.project_context.clone() {
            left_out.clone_from(&known.omissions);
            context.push(known.into_piece("project-context"));
        }
        pieces("project_context", context);
        let left_out = [("project_context".to_owned(), left_out)];
        prepared.left_out = left_out.into();
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
        let templates = self.templates();
        let Some(template) = templates.get(name) else {
            return Ok(None);
        };
        let values = Values {
            map: variables,
            prefix: "",
        };
        let rendered = templates.render(template, values, self.missing)?;
        Ok(Some(rendered.body.text().to_owned()))
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
}

fn recipe() -> Result<&'static Recipe, Error> {
    built_in("layers").ok_or_else(|| Error::unknown("recipe", "layers", [""]))?
}

#[cfg(test)]
mod tests;
