//! Layouts: what stands around and between the sections of a text, and how it is cut into messages.

use serde::{Deserialize, Serialize};

use super::{MOST_BYTES, damaged};
use crate::compose::Cut;
use crate::manifest::Manifest;
use crate::recipe::Shape;
use crate::text::json_escaped;
use crate::{Error, Fingerprint};

/// The name and version of the shape of a layout: of a text, and of messages as they were sealed at first. The frames of
/// these stood between contents one after the other, and so manifest and source map spoke of that text.
const TEXT: &str = "callsheet.layout/1";

/// The name and version of the shape of a layout of messages: its frames are those of their JSON.
const MESSAGES: &str = "callsheet.layout/2";

/// What a text is made of besides its sections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Layout {
    pub(super) schema: String,
    /// What stands before the first section, between each two, and after the last.
    pub(super) frames: Vec<String>,
    /// How the text is cut into messages.
    pub(super) cut: Cut,
}

impl Layout {
    pub(super) fn of(text: &str, cut: Cut, manifest: &Manifest) -> Self {
        let starts = manifest.sections.iter().map(|section| section.start);
        let ends = manifest.sections.iter().map(|section| section.end);
        let frames = std::iter::once(0)
            .chain(ends)
            .zip(starts.chain([text.len()]));
        let schema = match cut.shape {
            Shape::Messages => MESSAGES,
            Shape::Text | Shape::System => TEXT,
        };
        Self {
            schema: schema.to_owned(),
            frames: frames
                .map(|(start, end)| text[start..end].to_owned())
                .collect(),
            cut,
        }
    }

    /// Tells whether it is of messages, and of the time when manifest and map spoke of their contents alone.
    pub(super) fn is_of_contents(&self) -> bool {
        self.cut.shape == Shape::Messages && self.schema == TEXT
    }

    /// Returns what is wrong with the name of its shape.
    pub(super) fn unknown_schema(&self) -> Option<String> {
        let found = self.schema.as_str();
        let known = found == TEXT || (found == MESSAGES && self.cut.shape == Shape::Messages);
        (!known).then(|| format!("its schema is `{found}`, not `{TEXT}`"))
    }

    /// Puts together the text that manifest and source map speak of.
    pub(super) fn text<'a>(
        &self,
        manifest: &Manifest,
        body: impl Fn(Fingerprint) -> Result<&'a str, Error>,
    ) -> Result<String, Error> {
        let mut frames = self.frames.iter();
        if frames.len() != manifest.sections.len() + 1 {
            return Err(damaged("layout and manifest differ in their sections"));
        }
        // A few texts named many times would be more than any memory holds.
        let mut size: usize = self.frames.iter().map(String::len).sum();
        let mut bodies = Vec::with_capacity(manifest.sections.len());
        for section in &manifest.sections {
            let body = body(section.fingerprint)?;
            size = size.saturating_add(body.len());
            bodies.push(body);
        }
        if size as u64 > MOST_BYTES {
            return Err(damaged("it is larger than a prompt may be"));
        }
        let mut text = frames.next().cloned().unwrap_or_default();
        text.reserve(size - text.len());
        for (body, frame) in bodies.into_iter().zip(frames) {
            if self.schema == MESSAGES {
                text.push_str(&json_escaped(body));
            } else {
                text.push_str(body);
            }
            text.push_str(frame);
            if text.len() as u64 > MOST_BYTES {
                return Err(damaged("it is larger than a prompt may be"));
            }
        }
        self.check_cut(&text)?;
        Ok(text)
    }

    fn check_cut(&self, text: &str) -> Result<(), Error> {
        if self.cut.fits(text) {
            Ok(())
        } else {
            Err(damaged("the layout cuts messages that are not in the text"))
        }
    }
}
