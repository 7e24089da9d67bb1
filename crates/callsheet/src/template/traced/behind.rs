//! What follows a value: whether a list in it would go on in the text behind it.
//!
//! In Markdown a list goes on over blank lines, and it takes in lines that are indented or stand right behind one of its own.
//! Values behind a value decide nothing, and neither does a tag: what comes after them does.

use crate::freetext::strict;
use crate::text::is_space;

/// How much of a line is kept to tell what it is.
const HEAD: usize = 64;

/// The text behind a value, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Behind {
    /// Whether the line in which the value ends is over.
    begun: bool,
    /// How the line begins.
    head: String,
    /// Whether a value begins it.
    is_value: bool,
    /// Whether a blank line stands right before it.
    apart: bool,
}

impl Behind {
    /// Goes on with text of the recipe; tells whether a list goes on in it, once that is clear.
    pub(super) fn own(&mut self, text: &str) -> Option<bool> {
        for (nth, line) in text.split('\n').enumerate() {
            if nth > 0 {
                self.end_line();
            }
            self.push(line);
            let told = self.judged();
            if told.is_some() {
                return told;
            }
        }
        None
    }

    /// Goes on with a value.
    pub(super) fn value(&mut self, text: &str) -> Option<bool> {
        let bare = text.trim_start_matches([' ', '\t', '\n']);
        self.is_value |= self.is_blank();
        self.push(if bare.len() < text.len() { " " } else { "" });
        self.push(if bare.is_empty() { "" } else { "x" });
        self.judged()
    }

    fn is_blank(&self) -> bool {
        self.head.trim_matches(is_space).is_empty()
    }

    fn push(&mut self, line: &str) {
        let kept = line.floor_char_boundary(HEAD.saturating_sub(self.head.len()));
        self.head.push_str(&line[..kept]);
    }

    fn end_line(&mut self) {
        self.apart = self.begun && self.is_blank();
        (self.begun, self.is_value) = (true, false);
        self.head.clear();
    }

    fn judged(&self) -> Option<bool> {
        let line = self.head.as_str();
        if !self.begun || self.is_blank() {
            return None;
        }
        let at_margin = !line.starts_with(is_space);
        if self.is_value || at_margin && line.starts_with('<') && !self.apart {
            return (at_margin && self.apart).then_some(false);
        }
        // Digits may be the beginning of a list item.
        let may_be_item = line
            .trim_matches(is_space)
            .bytes()
            .all(|byte| byte.is_ascii_digit());
        let ends = at_margin && !may_be_item && (self.apart || strict::ends_list(line));
        Some(strict::is_item(line) || !ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_goes_on_unless_text_at_the_margin_ends_it() {
        for (text, goes_on) in [
            ("\n- x", Some(true)),
            ("\n\n\n1. x", Some(true)),
            ("\nlazy", Some(true)),
            ("\n\n  more", Some(true)),
            ("\n\n12", Some(true)),
            ("\n</x>\n- y", Some(true)),
            ("\n## x", Some(false)),
            ("\n```", Some(false)),
            ("\n---", Some(false)),
            ("\n\nx", Some(false)),
            ("\n</x>\n\ny", Some(false)),
            ("\n</x>\n", None),
            ("\n \n", None),
            (" - x", None),
        ] {
            assert_eq!(Behind::default().own(text), goes_on, "{text:?}");
        }
    }

    #[test]
    fn values_behind_a_value_decide_only_where_they_stand_apart() {
        let mut behind = Behind::default();
        assert_eq!(behind.own("\n"), None);
        assert_eq!(behind.value("- x"), None);
        assert_eq!(behind.own("\n\n"), None);
        assert_eq!(behind.value(" - x"), None);
        assert_eq!(behind.own(" rest\n\n"), None);
        assert_eq!(behind.value("- x"), Some(false));
    }
}
