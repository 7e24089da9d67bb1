//! The function `data`: the data of a menu command, no longer than what one read may be.

use super::fields::{FieldText, Fields};
use super::lines::LineValues;
use super::made::Made;
use crate::Error;
use crate::omission::Reason;
use crate::trace::Traced;

/// Returns the data of a menu command.
pub(super) fn data(fields: Fields<'_>, lines: &mut LineValues<'_>) -> Result<Option<Made>, Error> {
    if fields.get("dataContext").is_none() {
        return Ok(None);
    }
    let preview = preview(fields, lines)?;
    let path = lines.file(fields.any_text("dataContext.path"))?;
    let label = lines.value(fields.any_text("dataContext.label"))?;
    Ok(Some(Made::Fields(vec![
        ("label", label.into()),
        ("path", LineValues::placed(&path).into()),
        ("preview", preview.into()),
        ("readable", Made::Flag(fields.flag("policy.fs.enabled"))),
    ])))
}

/// Returns the lines of the preview.
fn preview(fields: Fields<'_>, lines: &mut LineValues<'_>) -> Result<Vec<Traced>, Error> {
    let FieldText { path, text } = fields.any_text("dataContext.preview");
    let most = fields.get("policy.fs.maxReadBytes");
    let most = most.and_then(|most| usize::try_from(most.as_u64()?).ok());
    let most = text.text().floor_char_boundary(most.unwrap_or(usize::MAX));
    let end = lines.mounts.cut_at(text.text(), most);
    if end < text.len() {
        lines.lost(&path, Reason::Capped, text.len() - end);
    }
    let text = text.slice(0..end);
    let told = |text: Traced| FieldText {
        path: path.clone(),
        text,
    };
    // As a whole it may hold what no line of it does.
    lines.text(told(text.clone()))?;
    let all = text.lines().into_iter();
    all.map(|line| lines.line(told(line))).collect()
}
