//! The tree of paths of another layer's files.

use std::fmt::Write as _;

use super::{Gathered, Read, Source, World};
use crate::Error;
use crate::recipe::Layer;
use crate::template::TemplateSet;
use crate::trace::{Origin, OriginKind, Traced};

/// The paths of the sections of a layer, as an indented tree.
#[derive(Debug)]
struct TreeSource(String);

/// Makes the source of the tree of a layer's files.
pub(crate) fn tree(layer: &str) -> Box<dyn Source> {
    Box::new(TreeSource(layer.to_owned()))
}

impl Source for TreeSource {
    fn gather(&self, layer: &Layer, world: &World<'_>, out: &mut Gathered) -> Result<(), Error> {
        let sections = world
            .before
            .get(&self.0)
            .map(|gathered| gathered.sections.as_slice());
        let paths = sections
            .unwrap_or_default()
            .iter()
            .map(|section| section.name.as_str());
        let text = draw(paths);
        let origin = Origin::new(OriginKind::Derived, format!("tree of {}", self.0), &text);
        out.add_unless_blank(layer, Traced::whole(text, &origin), origin);
        Ok(())
    }

    fn after(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn reads(&self, _: &TemplateSet) -> Option<Vec<Read>> {
        Some(Vec::new())
    }
}

/// Draws sorted paths as a tree: folders end in `/`, two spaces a level, no trailing newline.
pub(crate) fn draw<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for path in paths {
        let mut parts: Vec<&str> = path.split('/').collect();
        let Some(file) = parts.pop() else { continue };
        let shared = open
            .iter()
            .zip(&parts)
            .take_while(|(one, other)| one == other)
            .count();
        for (depth, folder) in parts.iter().enumerate().skip(shared) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "{:indent$}{}/",
                "",
                one_line(folder),
                indent = depth * 2
            );
        }
        let _ = writeln!(
            out,
            "{:indent$}{}",
            "",
            one_line(file),
            indent = parts.len() * 2
        );
        open = parts;
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

/// A name with a line break in it must not look like two.
fn one_line(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_once() {
        let paths = ["a.rs", "b/c/d.rs", "b/c/e.rs", "b/f.rs", "g/c/h.rs", "x\ny"];
        assert_eq!(
            draw(paths.into_iter()),
            "a.rs\nb/\n  c/\n    d.rs\n    e.rs\n  f.rs\ng/\n  c/\n    h.rs\nx\u{fffd}y"
        );
        assert_eq!(draw([].into_iter()), "");
    }
}
