//! The prompt builder: five layers, called one by one, composed by the recipe `layers`.
//!
//! The builder only collects. What it collected is assembled by the same engine as every other recipe, so a prompt
//! from the builder and one from `compose layers` are the same bytes.

mod depth;
mod memory;
mod prepare;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

pub use memory::{FileMemory, MemorySource, ProjectContext, RuleSource};
pub(crate) use prepare::prepare;

use crate::compose::{Composition, Inputs, Options, assemble};
use crate::prepare::{Piece, Prepared};
use crate::recipe::built_in;
use crate::template::{Diagnostic, Missing, Rendered, TemplateSet, Values};
use crate::text::title;
use crate::trace::{Origin, OriginKind, Traced, Transform};
use crate::{Error, Event};

/// The context section that selects execution rules by depth.
const TASK_DEPTH: &str = "task_depth";

/// Where a builder finds its templates.
#[derive(Clone, Debug, Default)]
enum Prompts {
    /// The ones that come with the library.
    #[default]
    Packaged,
    /// A folder and nothing else.
    Folder(PathBuf),
    /// A folder whose templates win over the packaged ones of the same name.
    Over(PathBuf),
}

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
    templates: OnceLock<TemplateSet>,
    identity: Option<Piece>,
    identity_events: Vec<Event>,
    project_context: Option<ProjectContext>,
    rules: Option<Piece>,
    context: Vec<Piece>,
    sections_added: usize,
    tools: Vec<Value>,
    events: Vec<Event>,
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
        self.prompts = Prompts::Folder(folder.into());
        self
    }

    /// Takes templates from this folder first, then the packaged ones.
    #[must_use]
    pub fn with_prompts_over_packaged(mut self, folder: impl Into<PathBuf>) -> Self {
        self.prompts = Prompts::Over(folder.into());
        self
    }

    /// Sets what happens to placeholders without a value: empty text by default.
    #[must_use]
    pub fn with_missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Renders the template of that name as the identity; an unknown name leaves the identity empty.
    pub fn set_identity(
        &mut self,
        name: &str,
        variables: &Map<String, Value>,
    ) -> Result<(), Error> {
        let others = self.events.len();
        self.identity = self.render_piece("identity", name, variables, "identity.variables.")?;
        if self.identity.is_none() {
            let message = format!("no template named `{name}`; the identity is empty");
            self.events.push(Event::new(
                "identity:unknown",
                [("name", Value::from(name))],
                message,
            ));
        }
        self.identity_events = self.events.split_off(others);
        Ok(())
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
                self.project_context = context.filter(|context| !context.body.is_blank());
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
            Ok(rules) => self.set_rules(rules.as_deref().unwrap_or_default()),
            Err(error) => {
                self.rules = None;
                self.degrade("rules", &error);
            }
        }
    }

    /// Sets the text of the rules layer.
    pub(crate) fn set_rules(&mut self, text: &str) {
        self.rules =
            Some(input_piece("rules", "rules", text)).filter(|piece| !piece.body.is_blank());
    }

    fn degrade(&mut self, layer: &str, error: &Error) {
        let message = format!("the layer `{layer}` could not be loaded: {error}");
        self.events.push(Event::new(
            "layer:failed",
            [("layer", Value::from(layer))],
            message,
        ));
    }

    /// Appends a named block of context; blank content is ignored, and the name is never printed.
    pub fn add_context(&mut self, name: &str, content: &str) {
        let field = format!("context[{}].content", self.sections_added);
        self.sections_added += 1;
        let piece = input_piece(name, &field, content);
        if !piece.body.is_blank() {
            self.context.push(piece);
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
        let field = format!("context[{}]", self.sections_added);
        self.sections_added += 1;
        if data.is_empty() {
            return Ok(());
        }
        if name == TASK_DEPTH {
            let (template, variables) = depth::select(data, &field)?;
            let prefix = format!("{field}.data.");
            if let Some(piece) =
                self.render_piece("execution_rules", template, &variables, &prefix)?
            {
                self.context.push(piece);
            }
            return Ok(());
        }
        self.context.push(section_piece(name, data, &field));
        Ok(())
    }

    /// Sets the tools, replacing earlier ones.
    pub fn set_core_tools(&mut self, tools: impl IntoIterator<Item = Value>) {
        self.tools = tools.into_iter().collect();
    }

    /// Sets the tools, replacing earlier ones.
    pub fn set_tools(&mut self, tools: impl IntoIterator<Item = Value>) {
        self.set_core_tools(tools);
    }

    /// Assembles the system prompt and the tools.
    pub fn build(&self) -> Result<(String, Vec<Value>), Error> {
        let composition = self.compose(&Options::default())?;
        Ok((composition.text, composition.prompt.tools))
    }

    /// Assembles the flat prompt for a task: the same bytes, without the tools.
    pub fn build_task_prompt(&self) -> Result<String, Error> {
        Ok(self.build()?.0)
    }

    /// Assembles the prompt with everything that explains it.
    pub fn compose(&self, options: &Options) -> Result<Composition, Error> {
        let recipe =
            built_in("layers").ok_or_else(|| Error::unknown("recipe", "layers", [""]))??;
        assemble(
            recipe,
            self.prepared(Map::new()),
            &Inputs::nowhere(),
            options,
        )
    }

    /// Returns what the layers of the recipe draw from.
    fn prepared(&self, fields: Map<String, Value>) -> Prepared {
        let mut prepared = Prepared {
            fields,
            tools: self.tools.clone(),
            ..Prepared::default()
        };
        let read = self.templates.get().map(TemplateSet::diagnostics);
        let told = read.unwrap_or_default().iter().map(Diagnostic::event);
        let own = self.identity_events.iter().chain(&self.events).cloned();
        prepared.events = told.chain(own).collect();
        let context = self.project_context.as_ref().map(|context| {
            prepared.omissions.clone_from(&context.omissions);
            Piece {
                name: "project-context".to_owned(),
                body: context.body.clone(),
                source: Arc::clone(&context.source),
            }
        });
        for (layer, pieces) in [
            ("identity", self.identity.iter().cloned().collect()),
            ("project_context", context.into_iter().collect()),
            ("rules", self.rules.iter().cloned().collect()),
            ("context", self.context.clone()),
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

    /// Forgets the templates that were read; the next access reads them afresh.
    pub fn reload(&mut self) {
        self.templates = OnceLock::new();
    }

    /// Returns the snapshot of the templates, read at the first access.
    pub fn templates(&self) -> &TemplateSet {
        self.templates.get_or_init(|| match &self.prompts {
            Prompts::Packaged => packaged(),
            Prompts::Folder(folder) => crate::inputs::read_templates(folder),
            Prompts::Over(folder) => crate::inputs::read_templates(folder).layered_over(packaged()),
        })
    }

    fn render(
        &self,
        name: &str,
        variables: &Map<String, Value>,
        prefix: &str,
    ) -> Result<Option<(Rendered, Arc<Origin>)>, Error> {
        let templates = self.templates();
        let Some(template) = templates.get(name) else {
            return Ok(None);
        };
        let values = Values {
            map: variables,
            prefix,
        };
        let rendered = templates.render(template, values, self.missing)?;
        Ok(Some((rendered, Arc::clone(&template.source))))
    }

    fn render_piece(
        &mut self,
        section: &str,
        name: &str,
        variables: &Map<String, Value>,
        prefix: &str,
    ) -> Result<Option<Piece>, Error> {
        let Some((rendered, source)) = self.render(name, variables, prefix)? else {
            return Ok(None);
        };
        for missing in &rendered.missing {
            let message = format!("`{{{{{missing}}}}}` in `{}` has no value", source.name);
            let facts = [
                ("template", Value::from(name)),
                ("name", Value::from(missing.as_str())),
            ];
            self.events
                .push(Event::new("template:missing", facts, message));
        }
        let piece = Piece {
            name: section.to_owned(),
            body: rendered.body,
            source,
        };
        Ok(Some(piece))
    }
}

/// Returns the templates that come with the library.
pub fn packaged() -> TemplateSet {
    let files = PACKAGED
        .iter()
        .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    TemplateSet::parse(files)
}

macro_rules! packaged_templates {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../templates/", $name)))),*]
    };
}

const PACKAGED: [(&str, &str); 6] = packaged_templates![
    "controlled-splitting.md",
    "execution-focus.md",
    "hook-executor.md",
    "plan-structure-guide.md",
    "supervisor.md",
    "task-agent.md",
];

fn input_piece(name: &str, field: &str, text: &str) -> Piece {
    let source = Origin::new(OriginKind::Input, field, text);
    Piece {
        name: name.to_owned(),
        body: Traced::whole(text, &source),
        source,
    }
}

fn section_piece(name: &str, data: &Map<String, Value>, field: &str) -> Piece {
    let whole = Value::Object(data.clone()).to_string();
    let source = Origin::new(OriginKind::Input, format!("{field}.data"), &whole);
    let name_origin = Origin::new(OriginKind::Input, format!("{field}.name"), name);
    let mut body = Traced::frame("## ");
    let heading = title(&name.replace('_', " "));
    body.push(&Traced::transformed(
        heading,
        &name_origin,
        name.len(),
        Transform::Converted,
    ));
    for (key, value) in data {
        body.push_frame("\n- **");
        body.push(&Traced::transformed(
            key.as_str(),
            &source,
            whole.len(),
            Transform::Converted,
        ));
        body.push_frame(":** ");
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let origin = Origin::new(OriginKind::Input, format!("{field}.data.{key}"), &text);
        body.push(&Traced::whole(text, &origin));
    }
    Piece {
        name: name.to_owned(),
        body,
        source,
    }
}

#[cfg(test)]
mod tests;
