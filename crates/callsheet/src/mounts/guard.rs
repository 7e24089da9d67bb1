//! Whole sections: folders get their names, and at last no real path is in any.

use super::Mounts;
use crate::section::Section;
use crate::{Error, ErrorKind};

impl Mounts {
    /// Puts the names of mounts in the place of their folders, wherever a section came from.
    pub(crate) fn name(&self, sections: &mut [Section]) {
        for section in sections {
            if self.known(section.body.text()).is_some()
                && let Ok(named) = self.mounted_text(section.body.clone())
            {
                section.body = named;
            }
        }
    }

    /// Fails if a section holds a real path, in whatever form it is written; the error names the layer and never the path.
    pub fn guard(&self, sections: &[Section]) -> Result<(), Error> {
        for section in sections {
            let mut texts = [
                section.open.as_str(),
                section.body.text(),
                section.close.as_str(),
            ]
            .into_iter();
            if let Some(leak) = texts.find_map(|text| self.leak(text)) {
                let layer = &section.layer;
                let detail = format!("layer `{layer}` holds {leak}, which no message may");
                return Err(Error::new(ErrorKind::BadInput, detail));
            }
        }
        Ok(())
    }
}
