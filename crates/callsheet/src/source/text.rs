//! Texts that the recipe itself brings: written in `recipe.toml`, or in a template beside it.

use super::{Gathered, Source, World};
use crate::recipe::Layer;
use crate::template::{Template, Values};
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
}

fn render(
    template: &Template,
    layer: &Layer,
    world: &World<'_>,
    out: &mut Gathered,
) -> Result<(), Error> {
    let values = Values {
        map: world.fields,
        prefix: "",
    };
    let rendered = world
        .recipe
        .templates
        .render(template, values, world.recipe.missing)?;
    out.events.extend(rendered.events(&template.file));
    out.add_unless_blank(layer, rendered.body, template.source.clone());
    Ok(())
}
