//! Blocks of context: a text as it is, or data in the frames of the recipe.

use serde_json::{Map, Value};

use super::given::{field, misfit, taken_as};
use super::{Piece, Prepared, Surroundings};
use crate::recipe::Recipe;
use crate::text::title;
use crate::trace::{Origin, OriginKind, Traced, Transform};
use crate::{Error, ErrorKind};

/// The frames that data is printed in: around all of it, and around each value.
pub(super) const DATA: &str = "data";
pub(super) const ENTRY: &str = "entry";

/// One entry of the field `context`.
pub(super) enum Block<'a> {
    /// It says itself that it has nothing.
    Nothing,
    Text(&'a str, &'a str),
    Data(&'a str, &'a Map<String, Value>),
}

impl<'a> Block<'a> {
    fn read(index: usize, block: &'a Value) -> Result<Self, Error> {
        let whole = format!("context[{index}]");
        let bad = |detail: String| Err(Error::new(ErrorKind::BadInput, detail));
        let Some(fields) = block.as_object() else {
            return Err(misfit(&whole, "object", block));
        };
        let path = |name: &str| format!("{whole}.{name}");
        let text = |name: &str| taken_as(fields.get(name), || path(name), "string", Value::as_str);
        let name = text("name")?.unwrap_or_default();
        let data = taken_as(
            fields.get("data"),
            || path("data"),
            "object",
            Value::as_object,
        )?;
        let text = text("content")?;
        match (text, data) {
            (Some(_), Some(_)) => bad(format!(
                "`{whole}`: `content` and `data` exclude each other"
            )),
            (Some(text), None) => Ok(Self::Text(name, text)),
            (None, Some(data)) => Ok(Self::Data(name, data)),
            (None, None) if fields.contains_key("content") || fields.contains_key("data") => {
                Ok(Self::Nothing)
            }
            (None, None) => bad(format!("missing field `{whole}.content` or `{whole}.data`")),
        }
    }

    fn piece(&self, field: &str, recipe: &Recipe) -> Result<Option<Piece>, Error> {
        Ok(match self {
            Self::Text(name, text) => input_piece(name, &format!("{field}.content"), text),
            Self::Data(name, data) if !data.is_empty() => {
                Some(object_piece(recipe, name, data, field)?)
            }
            Self::Data(..) | Self::Nothing => None,
        })
    }
}

/// Returns the blocks of an input, in order.
pub(super) fn blocks(
    fields: &Map<String, Value>,
) -> Result<impl Iterator<Item = Result<Block<'_>, Error>>, Error> {
    let blocks = field(fields, "context", "array", Value::as_array)?;
    let blocks = blocks.into_iter().flatten().enumerate();
    Ok(blocks.map(|(index, block)| Block::read(index, block)))
}

/// Makes the texts of `context`; one that a function before has made stays.
pub(super) fn context(prepared: &mut Prepared, around: Surroundings<'_>) -> Result<(), Error> {
    let mut pieces = Vec::new();
    for (index, block) in blocks(&prepared.fields)?.enumerate() {
        let field = format!("context[{index}]");
        match prepared.pieces.remove(&field) {
            Some(made) => pieces.extend(made),
            None => pieces.extend(block?.piece(&field, around.recipe)?),
        }
    }
    prepared.pieces.insert("context".to_owned(), pieces);
    Ok(())
}

/// Returns the text of an input field as a piece, unless it is blank.
pub(crate) fn input_piece(name: &str, field: &str, text: &str) -> Option<Piece> {
    let source = Origin::new(OriginKind::Input, field, text);
    let piece = Piece {
        name: name.to_owned(),
        body: Traced::whole(text, &source),
        source,
    };
    Some(piece).filter(|piece| !piece.body.is_blank())
}

/// Returns an object as a piece: strings as they are, everything else as compact JSON.
pub(crate) fn object_piece(
    recipe: &Recipe,
    name: &str,
    data: &Map<String, Value>,
    field: &str,
) -> Result<Piece, Error> {
    let whole = Value::Object(data.clone()).to_string();
    let lines = data.iter().map(|(key, value)| {
        let text = value.as_str().map(str::to_owned);
        (key.as_str(), text.unwrap_or_else(|| value.to_string()))
    });
    data_piece(recipe, name, &whole, lines, field)
}

/// Returns keys with their texts in the frames of a recipe; `whole` is all of it as one text.
pub(crate) fn data_piece(
    recipe: &Recipe,
    name: &str,
    whole: &str,
    lines: impl Iterator<Item = (impl AsRef<str>, String)>,
    field: &str,
) -> Result<Piece, Error> {
    let (data, entry) = (recipe.frame(DATA)?, recipe.frame(ENTRY)?);
    let (around, entry) = (data.printer(), entry.printer());
    let converted =
        |text: &str, origin, len| Traced::transformed(text, origin, len, Transform::Converted);
    let origin = Origin::new(OriginKind::Input, format!("{field}.name"), name);
    let heading = converted(&title(&name.replace('_', " ")), &origin, name.len());
    let holes = [("title", &heading), ("path", &Traced::whole(name, &origin))];
    let source = Origin::new(OriginKind::Input, format!("{field}.data"), whole);
    let mut body = Traced::new();
    around.open(&mut body, &holes, "");
    let mut separator = "";
    for (key, text) in lines {
        let key = key.as_ref();
        let origin = Origin::new(OriginKind::Input, format!("{field}.data.{key}"), &text);
        let key = converted(key, &source, whole.len());
        body.push_frame(separator);
        entry.put(&mut body, &[("key", &key)], &Traced::whole(text, &origin));
        separator = recipe.separator_in(data);
    }
    around.close(&mut body, &holes, "");
    Ok(Piece {
        name: name.to_owned(),
        body,
        source,
    })
}
