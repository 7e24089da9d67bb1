//! Room: how large a prompt may become, counted while it is gathered and not when memory is gone.
//!
//! The text of a file is not counted the first time: it is as large as what somebody has on the disk and asked for.

use std::collections::BTreeSet;

use crate::recipe::Recipe;
use crate::section::Section;
use crate::trace::{OriginKind, Span};
use crate::{Error, ErrorKind};

/// The bytes that are left for a prompt.
#[derive(Debug)]
pub(super) struct Room {
    most: u64,
    left: u64,
    /// The files whose text is in the prompt.
    files: BTreeSet<String>,
}

impl Room {
    /// Makes room for so many bytes.
    pub(super) fn of(most: u64) -> Self {
        Self {
            most,
            left: most,
            files: BTreeSet::new(),
        }
    }

    /// Takes room for the bodies of a layer, with the record of where each part of them came from.
    pub(super) fn take_bodies(
        &mut self,
        sections: &[Section],
        recipe: &Recipe,
    ) -> Result<(), Error> {
        for section in sections {
            let source = &section.source;
            let new = source.kind == OriginKind::File && self.files.insert(source.name.clone());
            if !new {
                let spans = section.body.spans().len().saturating_sub(1);
                self.take(section.body.len() + spans * size_of::<Span>(), recipe)?;
            }
        }
        Ok(())
    }

    /// Takes room for so many bytes.
    pub(super) fn take(&mut self, bytes: usize, recipe: &Recipe) -> Result<(), Error> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(|| {
            let most = self.most;
            let detail = format!("the prompt would have more than {most} bytes besides its files");
            Error::new(ErrorKind::OverBudget, detail).at(recipe.file(), None)
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::recipe::Folder;
    use crate::{Composition, Error, ErrorKind, Inputs, Options, Recipe, Root, compose};

    fn composed(toml: &str, inputs: Inputs, most: u64) -> Result<Composition, Error> {
        let toml = format!("{toml}\n[[layers]]\nname = 'never'\nvalue = 'long'\nwhen = 'false'\n");
        let folder = Folder::from([("recipe.toml".to_owned(), toml)]);
        let recipe = Recipe::parse("mine", "recipes/mine", folder)?;
        let inputs = Inputs {
            most_bytes: most,
            ..inputs
        };
        let input: Value = json!({"long": "x".repeat(1000)});
        compose(&recipe, &input, &inputs, &Options::default())
    }

    fn layers(count: usize, what: &str) -> String {
        let layer = |number| format!("[[layers]]\nname = 'l{number}'\n{what}\n");
        (0..count).map(layer).collect()
    }

    fn refused(composed: Result<Composition, Error>) -> u64 {
        let error = composed.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OverBudget);
        let text = error.to_string();
        let most = text.strip_prefix("recipes/mine/recipe.toml: the prompt would have more than ");
        let most = most.and_then(|rest| rest.strip_suffix(" bytes besides its files"));
        most.and_then(|most| most.parse().ok()).unwrap()
    }

    #[test]
    fn a_value_that_is_printed_by_many_layers_fills_the_room() {
        let most = 100 * 1000 + 100 * 2;
        for (count, fits) in [(100, true), (101, false)] {
            let composed = composed(&layers(count, "value = 'long'"), Inputs::nowhere(), most);
            if fits {
                assert_eq!(composed.unwrap().text.len(), 100 * 1000 + 99 * 2);
            } else {
                assert_eq!(refused(composed), most);
            }
        }
    }

    #[test]
    fn a_file_has_room_once_however_large_it_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "x".repeat(5000)).unwrap();
        let inputs = || Inputs::new(Root::open(folder.path()).unwrap());
        let once = composed(&layers(1, "file = 'a.txt'"), inputs(), 100).unwrap();
        assert_eq!(once.text.len(), 5000);
        assert_eq!(
            refused(composed(&layers(2, "file = 'a.txt'"), inputs(), 5000)),
            5000
        );
    }

    #[test]
    fn frames_and_separators_take_room_too() {
        let value = "value = 'long'\nframe = 'f'";
        let toml = format!(
            "{}[frames.f]\nopen = '{}'\n",
            layers(9, value),
            "-".repeat(9000)
        );
        assert_eq!(refused(composed(&toml, Inputs::nowhere(), 50_000)), 50_000);
        let toml = format!(
            "separator = '{}'\n{}",
            "-".repeat(9000),
            layers(9, "value = 'long'")
        );
        assert_eq!(refused(composed(&toml, Inputs::nowhere(), 50_000)), 50_000);
    }

    #[test]
    fn what_a_frame_prints_is_short() {
        let tag = format!(
            "[frames.f]\ntag = '{}'\nopen = '{}'\n",
            "t".repeat(999),
            "{{tag}}".repeat(99)
        );
        let fence = format!("[frames.f]\nclose = '{}'\n", "{{fence}}".repeat(99));
        for (toml, what) in [
            (layers(1, "value = 'long'") + &tag, "what frame `f` prints"),
            (
                layers(1, "value = 'long'") + &fence,
                "what frame `f` prints",
            ),
            (
                format!("separator = '{}'\n", "-".repeat(99_999)) + &layers(1, "value = 'long'"),
                "`separator`",
            ),
        ] {
            let error = composed(&toml, Inputs::nowhere(), 1 << 20)
                .unwrap_err()
                .to_string();
            assert_eq!(
                error,
                format!("recipes/mine/recipe.toml: {what} may have more than 65536 bytes")
            );
        }
    }
}
