//! The last look at a prompt: no real path is in it.

use super::Mounts;
use crate::section::Section;
use crate::{Error, ErrorKind};

/// Refuses a prompt that holds a real path, in whatever form it is written.
#[derive(Clone, Debug)]
pub struct Guard {
    mounts: Mounts,
}

impl Guard {
    /// Makes the guard of some mounts.
    pub fn new(mounts: Mounts) -> Self {
        Self { mounts }
    }

    /// Fails if a section holds a real path; the error names the layer and never the path.
    pub fn check(&self, sections: &[Section]) -> Result<(), Error> {
        for section in sections {
            let mut texts = [
                section.open.as_str(),
                section.body.text(),
                section.close.as_str(),
            ]
            .into_iter();
            if let Some(leak) = texts.find_map(|text| self.mounts.leak(text)) {
                let layer = &section.layer;
                let detail = format!("layer `{layer}` holds {leak}, which no message may");
                return Err(Error::new(ErrorKind::BadInput, detail));
            }
        }
        Ok(())
    }
}
