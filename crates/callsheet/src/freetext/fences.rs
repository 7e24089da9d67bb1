//! Code blocks: where they stand, if that is plain, and else that they are tangled.

use super::line::{Kind, Line, Special};

/// What a line stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Text, or the fence of a code block, in a text whose code blocks are plain.
    Plain,
    /// A code block.
    Code,
    /// A text in which nobody can tell by the lines alone what is a code block.
    Tangled,
}

/// Returns the context of every line.
///
/// Code blocks are plain if each fence stands at the margin and is closed. A fence that is indented or in a list or
/// quote may end with what it stands in, one behind a tag or near a line break that Markdown does not know may be no
/// fence, and one that is never closed swallows all that follows: then none of them counts as one.
pub(super) fn contexts(text: &str, lines: &[Line], specials: &[Option<Special>]) -> Vec<Context> {
    plain(text, lines, specials).unwrap_or_else(|| vec![Context::Tangled; lines.len()])
}

fn plain(text: &str, lines: &[Line], specials: &[Option<Special>]) -> Option<Vec<Context>> {
    let mut open: Option<(u8, usize)> = None;
    let mut contexts = Vec::with_capacity(lines.len());
    let (mut hidden, mut fences) = (false, false);
    for (line, special) in lines.iter().zip(specials) {
        let fence = fence(special.as_ref());
        if let Some(fence) = fence
            && !(fence.at_margin && line.in_markdown)
        {
            return None;
        }
        let (context, next) = match (open, fence) {
            (Some((sign, len)), Some(fence)) if fence.closes(sign, len) => (Context::Plain, None),
            (Some(open), _) => (Context::Code, Some(open)),
            (None, Some(fence)) if !fence.plain => return None,
            (None, Some(fence)) => (Context::Plain, Some((fence.sign, fence.len))),
            (None, None) => {
                hidden |= line.begins_with_tag(text);
                (Context::Plain, None)
            }
        };
        hidden |= !line.in_markdown;
        fences |= fence.is_some();
        open = next;
        contexts.push(context);
    }
    (open.is_none() && !(hidden && fences)).then_some(contexts)
}

#[derive(Clone, Copy)]
struct Fence {
    sign: u8,
    len: usize,
    bare: bool,
    plain: bool,
    at_margin: bool,
}

impl Fence {
    fn closes(&self, sign: u8, len: usize) -> bool {
        self.sign == sign && self.len >= len && self.bare
    }
}

/// Returns the fence that a line is, unless it is escaped.
fn fence(special: Option<&Special>) -> Option<Fence> {
    match special?.kind {
        Kind::Fence {
            sign,
            len,
            bare,
            plain,
        } if special?.escapes == 0 => Some(Fence {
            sign,
            len,
            bare,
            plain,
            at_margin: special?.at_margin,
        }),
        _ => None,
    }
}
