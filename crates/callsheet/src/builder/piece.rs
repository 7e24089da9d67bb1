//! Input fields as pieces of a prompt.

use crate::prepare::Piece;
use crate::text::title;
use crate::trace::{Origin, OriginKind, Traced, Transform};

/// Returns the text of an input field as a piece.
pub(super) fn input_piece(name: &str, field: &str, text: &str) -> Piece {
    let source = Origin::new(OriginKind::Input, field, text);
    Piece {
        name: name.to_owned(),
        body: Traced::whole(text, &source),
        source,
    }
}

/// Returns named data as Markdown: a title, then a line for each key; `whole` is all of the data as text.
pub(super) fn section_piece(
    name: &str,
    whole: &str,
    lines: impl Iterator<Item = (impl AsRef<str>, String)>,
    field: &str,
) -> Piece {
    let source = Origin::new(OriginKind::Input, format!("{field}.data"), whole);
    let name_origin = Origin::new(OriginKind::Input, format!("{field}.name"), name);
    let mut body = Traced::frame("## ");
    let heading = title(&name.replace('_', " "));
    body.push(&Traced::transformed(
        heading,
        &name_origin,
        name.len(),
        Transform::Converted,
    ));
    for (key, text) in lines {
        let key = key.as_ref();
        body.push_frame("\n- **");
        body.push(&Traced::transformed(
            key,
            &source,
            whole.len(),
            Transform::Converted,
        ));
        body.push_frame(":** ");
        let origin = Origin::new(OriginKind::Input, format!("{field}.data.{key}"), &text);
        body.push(&Traced::whole(text, &origin));
    }
    Piece {
        name: name.to_owned(),
        body,
        source,
    }
}
