//! One file below the root.

use super::{Gathered, Source, World, fill};
use crate::inputs::{FileText, Located, TextRule};
use crate::omission::{Reason, Refusal};
use crate::recipe::Layer;
use crate::section::Priority;
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
        let root = world.root()?;
        let read = match root.locate(&named) {
            Located::Inside(path) => FileText::read(root, &path, &path, TextRule::Utf8),
            Located::Outside(_) => Err(Refusal::new(Reason::OutsideRoot)),
        };
        match read {
            Ok(file) => {
                let name = file.source.name.clone();
                out.add(layer, name, file.body, file.source);
                Ok(())
            }
            Err(refusal) if layer.priority == Priority::Required => {
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
}
