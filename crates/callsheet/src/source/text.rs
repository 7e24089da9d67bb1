//! Texts that the recipe itself brings: written in `recipe.toml`, or in a template beside it.

use serde_json::{Map, Value};

use super::{Gathered, Kind, Read, Source, World, lookup};
use crate::mounts::{Mount, Mounts};
use crate::omission::{Omission, Reason, Refusal};
use crate::recipe::Layer;
use crate::template::{Language, Missing, Rights, Template, TemplateSet, Values, placeholders};
use crate::{Error, ErrorKind};

/// A text written in the recipe file.
#[derive(Debug)]
struct TextSource(Template);

/// Makes the source of a text that stands in a layer of a recipe; `{{name}}` in it is replaced.
pub(crate) fn text(recipe: &str, layer: &str, text: &str) -> Box<dyn Source> {
    Box::new(TextSource(Template::inline(
        &format!("{recipe}/{layer}"),
        text,
    )))
}

impl Source for TextSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        render(&self.0, layer, world, out).map_err(|error| {
            let whose = format!("in the `text` of layer `{}`", layer.name);
            error.moved_to(world.recipe.file()).because(whose)
        })
    }

    fn text(&self) -> Option<&str> {
        Some(self.0.body.text())
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Read::holes(self.0.body.text()))
    }
}

/// A template in the folder of the recipe.
#[derive(Debug)]
struct TemplateSource(String);

/// Makes the source of a template in the folder of the recipe.
pub(crate) fn template(name: &str) -> Box<dyn Source> {
    Box::new(TemplateSource(name.to_owned()))
}

impl Source for TemplateSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let template = world.recipe.templates.get(&self.0).ok_or_else(|| {
            let known = world
                .recipe
                .templates
                .iter()
                .map(|template| template.file.clone());
            Error::new(ErrorKind::BadRecipe, format!("no template `{}`", self.0))
                .expecting(&self.0, known)
        })?;
        render(template, layer, world, out).map_err(|error| error.in_folder(&world.recipe.home))
    }

    fn reads(&self, templates: &TemplateSet) -> Option<Vec<Read>> {
        let template = templates.get(&self.0)?;
        let names = templates.looked_up(template)?.into_iter();
        Some(names.map(|name| Read::new(&name, Kind::Any)).collect())
    }
}

fn render(
    template: &Template,
    layer: &Layer,
    world: &World<'_>,
    out: &mut Gathered,
) -> Result<(), Error> {
    let with_paths = with_paths(template, world.fields);
    let values = Values {
        map: with_paths.as_ref().unwrap_or(world.fields),
        prefix: "",
    };
    let strict = world.recipe.missing == Missing::Error;
    let missing = if strict && layer.optional {
        Missing::Keep
    } else {
        world.recipe.missing
    };
    let project = project(world);
    let rights = Rights {
        harmless: &world.recipe.prepare.harmless(),
        traces: world.traces,
        raw: layer.raw,
        tags: world.recipe.tags(),
        before: &world.recipe.before(layer, world.fields)?,
        mounts: world.mounts.unwrap_or(&project),
        shared: world.shared,
    };
    let templates = &world.recipe.templates;
    let rendered = templates.render_safe(template, values, missing, rights)?;
    let omissions = rendered.omissions.iter().cloned();
    out.omissions.extend(omissions.map(|omission| Omission {
        layer: layer.name.clone(),
        ..omission
    }));
    let lost = rendered.missing.iter();
    for name in lost.filter(|name| strict || template.needs(name)) {
        let asks = format!("`{}` asks for it", template.file);
        out.refuse(layer, name, Refusal::new(Reason::NoValue).because(asks));
    }
    // Only a layer that the prompt can do without gets here with a hole in it.
    if strict && !rendered.missing.is_empty() {
        return Ok(());
    }
    out.events.extend(rendered.events(&template.file));
    out.add_unless_blank(layer, rendered.body, template.source.clone());
    Ok(())
}

/// Returns the folder of the project under its mount.
fn project(world: &World<'_>) -> Mounts {
    let root = world.root.and_then(|root| root.real().to_str());
    let mounts = Mounts::new();
    root.map_or_else(Mounts::new, |root| mounts.with(Mount::Project, root))
}

/// Returns the fields with those in fields under their dotted paths, where a plain template asks for any.
fn with_paths(template: &Template, fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    if template.language != Language::Plain {
        return None;
    }
    let holes = placeholders(template.body.text()).into_iter();
    let names = holes.map(|hole| hole.name);
    let paths = names.filter(|name| name.contains('.') && !fields.contains_key(name));
    let found: Map<String, Value> = paths
        .filter_map(|path| Some((path.clone(), lookup(fields, &path)?.clone())))
        .collect();
    let some = !found.is_empty();
    some.then(|| fields.clone().into_iter().chain(found).collect())
}
