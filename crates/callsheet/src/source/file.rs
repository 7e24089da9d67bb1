//! One file below the root.

use super::{Gathered, Read, Source, World, fill, lookup};
use crate::inputs::{FileText, Located, Root, TextRule};
use crate::omission::{Reason, Refusal};
use crate::recipe::Layer;
use crate::template::{TemplateSet, placeholders};
use crate::text::value_text;
use crate::{Error, ErrorKind};

/// A file named in the recipe, with `{{field}}` in its path.
#[derive(Debug)]
struct FileSource(String);

/// Makes the source of one file.
pub(crate) fn file(path: &str) -> Box<dyn Source> {
    Box::new(FileSource(path.to_owned()))
}

impl Source for FileSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let named = fill(&self.0, world.fields);
        let holes = placeholders(&self.0).into_iter();
        let absent = holes.map(|hole| hole.name).find(|name| {
            let value = lookup(world.fields, name);
            value.and_then(value_text).is_none()
        });
        let (named, read) = match absent {
            Some(field) => (field, Err(Refusal::new(Reason::NoValue))),
            None => {
                let read = read(&named, world.root()?);
                (named, read)
            }
        };
        match read {
            Ok(file) => {
                let name = file.source.name.clone();
                out.add(layer, name, file.body, file.source);
                Ok(())
            }
            Err(refusal) if layer.must_have(refusal.reason) => {
                let detail = format!(
                    "layer `{}` needs `{named}`, which {}",
                    layer.name,
                    refusal.reason.sentence()
                );
                Err(Error::new(ErrorKind::BadInput, detail))
            }
            Err(refusal) => {
                out.refuse(layer, named, refusal);
                Ok(())
            }
        }
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Read::holes(&self.0))
    }
}

fn read(named: &str, root: &Root) -> Result<FileText, Refusal> {
    match root.locate(named) {
        Located::Inside(path) => FileText::read(root, &path, &path, TextRule::Utf8),
        Located::Outside(_) => Err(Refusal::new(Reason::OutsideRoot)),
    }
}
