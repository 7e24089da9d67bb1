//! What a text is in a prompt. A text may have several roles; they are bits of one number.

/// The text of a section.
pub(crate) const SECTION: i64 = 1;
/// Something that the prompt was made from.
pub(crate) const INPUT: i64 = 2;
/// A tool that goes with the prompt.
pub(crate) const TOOL: i64 = 4;
/// All that a prompt without sections shows.
pub(crate) const FRAME: i64 = 8;

/// What stands around a boundary of sections.
pub(crate) const BOUNDARY: i64 = 16;
