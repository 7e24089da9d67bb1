//! The last look at a prompt: no real folder is in it.

use super::Mounts;
use crate::section::Section;
use crate::trace::OriginKind;
use crate::{Error, ErrorKind};

/// Refuses a prompt that holds a real folder, in whatever form it is written.
#[derive(Clone, Debug)]
pub struct Guard {
    mounts: Mounts,
    exempt: Vec<String>,
}

impl Guard {
    /// Makes the guard of some mounts; text of the `exempt` input fields is not looked at.
    pub fn new<S: Into<String>>(mounts: Mounts, exempt: impl IntoIterator<Item = S>) -> Self {
        let exempt = exempt.into_iter().map(Into::into).collect();
        Self { mounts, exempt }
    }

    /// Fails if a section holds a real folder; the error names the layer and never the folder.
    pub fn check(&self, sections: &[Section]) -> Result<(), Error> {
        for section in sections {
            let found = [section.open.as_str(), section.close.as_str()]
                .into_iter()
                .chain(self.parts(section))
                .find_map(|text| self.mounts.leak(text));
            if let Some(what) = found {
                let layer = &section.layer;
                let detail =
                    format!("layer `{layer}` holds the real path of {what}, which no message may");
                return Err(Error::new(ErrorKind::BadInput, detail));
            }
        }
        Ok(())
    }

    /// Returns the longest runs of a body that are not exempt.
    fn parts<'a>(&self, section: &'a Section) -> Vec<&'a str> {
        let text = section.body.text();
        let mut parts = Vec::new();
        let mut start = 0;
        for span in section.body.spans() {
            let exempt = span.link.as_ref().is_some_and(|link| {
                link.origin.kind == OriginKind::Input && self.exempt.contains(&link.origin.name)
            });
            if exempt {
                parts.push(&text[start..span.range.start]);
                start = span.range.end;
            }
        }
        parts.push(&text[start..]);
        parts
    }
}
