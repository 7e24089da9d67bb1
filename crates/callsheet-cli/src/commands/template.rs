//! `template`: list, show, render and check templates, and resolve the variables of workflow files.

use std::path::Path;
use std::process::ExitCode;

use callsheet::inputs::{Disk, Located, read_templates, read_templates_below};
use callsheet::template::{Language, Missing, Template, TemplateSet, Values};
use callsheet::{TEMPLATES, packaged, workflow};
use clap::{Subcommand, ValueEnum};
use serde_json::json;

use crate::failure::Failure;
use crate::input::defined;
use crate::output::{Output, one_line};
use crate::project::Project;
use crate::report::verdict;
use crate::table::{Align, Table};

mod vars;

/// List, show, render and check templates; resolve workflow variables
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  callsheet template list
  callsheet template render supervisor -D workspace_dir=app --strict
  callsheet template render review.md --story 2a-1 --story 2a-2 --review-attempt 2 --missing keep
  callsheet template check --prompts-dir prompts
  callsheet template vars _bmad/workflow.yaml")]
pub(crate) struct Args {
    /// The folder of the templates [default: callsheet/templates, over the packaged ones]
    #[arg(long, value_name = "DIR", global = true)]
    prompts_dir: Option<String>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the templates
    List,
    /// Print the raw body of a template
    Show {
        /// The template, by its name or file name
        name: String,
    },
    /// Print a template filled with values
    Render(Render),
    /// Check the templates: unknown, unused, undeclared, duplicate, unreadable
    Check,
    /// Resolve the variables of a workflow.yaml file
    ///
    /// Names that only a run knows, such as `{story_id}`, are listed as left for the run.
    Vars(vars::Vars),
}

#[derive(Debug, clap::Args)]
struct Render {
    /// The template, by its name or file name
    name: String,

    /// Set a value: text with `=`, JSON with `:=`; `@FILE` or `@-` reads the value from a file or stdin
    #[arg(short = 'D', value_name = "NAME=VALUE")]
    define: Vec<String>,

    /// Fail if a placeholder has no value
    #[arg(long, conflicts_with = "missing")]
    strict: bool,

    /// What a placeholder without a value becomes
    #[arg(long, value_name = "HOW", default_value = "empty")]
    missing: MissingArg,

    /// Set `story_key`, `story_keys` and `epic_id`; may be given several times
    #[arg(long, value_name = "KEY", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    story: Vec<String>,

    /// Set `review_attempt`
    #[arg(long, value_name = "N")]
    review_attempt: Option<u32>,
}

/// What a placeholder without a value becomes.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum MissingArg {
    /// Nothing
    Empty,
    /// Itself
    Keep,
}

impl Args {
    pub(crate) fn run(self, project: &Project, out: Output) -> Result<ExitCode, Failure> {
        let folder = self.prompts_dir.as_deref();
        let templates = || templates(project, folder);
        match self.command {
            Command::List => list(&templates()?, out),
            Command::Show { name } => show(find(&templates()?, &name)?, out),
            Command::Render(render) => render.run(&templates()?, out),
            Command::Check => {
                let set = project.settings.prompt.prompts_dir.as_deref();
                check(&templates()?, folder.or(set).unwrap_or(TEMPLATES), out)
            }
            Command::Vars(vars) => vars.run(project, out),
        }
    }
}

fn templates(project: &Project, named: Option<&str>) -> Result<TemplateSet, Failure> {
    let disk = Disk::default();
    if let Some(named) = named {
        let folder = Path::new(named);
        if !folder.is_dir() {
            return Err(Failure::input(format!("`{named}` is not a folder")));
        }
        return Ok(read_templates(&disk, folder));
    }
    let Some(set) = &project.settings.prompt.prompts_dir else {
        let own = read_templates_below(&disk, project.root(), TEMPLATES);
        return Ok(own.layered_over(packaged()));
    };
    // Settings lead out of the project only where a variable says so.
    let place = project.open()?.locate(set);
    if !project.root().join(set).is_dir() {
        let folder = project.root().join(set);
        let missing = Failure::input(format!("`{}` is not a folder", folder.display()));
        return Err(missing.hint("the setting `prompts_dir` names it"));
    }
    Ok(match place {
        Located::Inside(path) => read_templates_below(&disk, project.root(), &path),
        Located::Outside(folder) => read_templates(&disk, &folder),
    })
}

fn find<'a>(templates: &'a TemplateSet, name: &str) -> Result<&'a Template, Failure> {
    templates.get(name).ok_or_else(|| {
        let known = templates.iter().map(|template| template.name.clone());
        callsheet::Error::unknown("template", name, known).into()
    })
}

fn list(templates: &TemplateSet, out: Output) -> Result<ExitCode, Failure> {
    if out.json {
        let templates: Vec<_> = templates.iter().map(facts).collect();
        out.document(&json!({"schema": "callsheet.templates/1", "templates": templates}))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        ("NAME", Align::Left),
        ("FILE", Align::Left),
        ("ENGINE", Align::Left),
        ("VARIABLES", Align::Left),
        ("DESCRIPTION", Align::Left),
    ]);
    for template in templates.iter() {
        let variables: Vec<&str> = template
            .variables
            .iter()
            .map(|variable| variable.name.as_str())
            .collect();
        table.row([
            template.name.clone(),
            template.file.clone(),
            language(template).to_owned(),
            variables.join(", "),
            template.description.clone().unwrap_or_default(),
        ]);
    }
    out.text(&table.render())?;
    for problem in templates.diagnostics() {
        out.warn(&problem.to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn language(template: &Template) -> &'static str {
    match template.language {
        Language::Plain => "plain",
        Language::Jinja => "jinja",
    }
}

fn facts(template: &Template) -> serde_json::Value {
    json!({
        "name": template.name, "file": template.file, "engine": template.language, "description": template.description,
        "category": template.category, "tags": template.tags, "version": template.version,
        "variables": template.variables, "bytes": template.body.len(), "fingerprint": template.source.fingerprint,
    })
}

fn show(template: &Template, out: Output) -> Result<ExitCode, Failure> {
    if out.json {
        let mut document = facts(template);
        document["schema"] = json!("callsheet.template/1");
        document["body"] = json!(template.body.text());
        out.document(&document)?;
    } else {
        out.data(template.body.text())?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Render {
    fn run(self, templates: &TemplateSet, out: Output) -> Result<ExitCode, Failure> {
        let template = find(templates, &self.name)?;
        let mut values = serde_json::Map::new();
        let attempt = self.review_attempt;
        if !self.story.is_empty() {
            values = workflow::prompt_variables(&self.story, attempt.unwrap_or(1));
        } else if let Some(attempt) = attempt {
            values.insert("review_attempt".to_owned(), json!(attempt.to_string()));
        }
        let given = defined(&self.define)?;
        let named: Vec<String> = given.keys().cloned().collect();
        values.extend(given);
        let missing = match (self.strict, self.missing) {
            (true, _) => Missing::Error,
            (_, MissingArg::Empty) => Missing::Empty,
            (_, MissingArg::Keep) => Missing::Keep,
        };
        let rendered = templates.render(
            template,
            Values {
                map: &values,
                prefix: "",
            },
            missing,
        )?;
        for event in rendered.events(&template.file) {
            out.warn(event.message());
        }
        for name in rendered.unused.iter().filter(|name| named.contains(name)) {
            out.warn(&format!("`{name}` is not used in `{}`", template.file));
        }
        if out.json {
            out.document(&json!({
                "schema": "callsheet.rendered/1", "template": template.name, "text": rendered.body.text(),
                "missing": rendered.missing, "undeclared": rendered.prose, "unused": rendered.unused,
            }))?;
        } else {
            out.data(rendered.body.text())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn check(templates: &TemplateSet, home: &str, out: Output) -> Result<ExitCode, Failure> {
    let problems = templates.check();
    if out.json {
        out.document(&json!({"schema": "callsheet.check/1", "checked": templates.iter().count(), "problems": problems}))?;
    } else {
        for problem in &problems {
            out.text(&format!("{}\n", one_line(&format!("{home}/{problem}"))))?;
        }
    }
    verdict(templates.iter().count(), "template", problems.len(), out)
}
