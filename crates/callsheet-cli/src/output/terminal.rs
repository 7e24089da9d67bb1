//! The one place that prints, and the one function that makes text fit for a terminal.
//!
//! Names and texts of a project, of an agent or of a bundle are anybody's. A terminal would obey their escape
//! sequences, and show what is after a bidirectional control elsewhere; so nothing of them arrives there as it is.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};

/// A style of ours. Inside of a text it is a character that Unicode keeps for a program's own use, so that whatever
/// else is in the text can at most switch between these styles.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Look {
    Bold = 0xfdd1,
    Dim,
    Red,
    Yellow,
    Blue,
    Cyan,
    Green,
}

const LOOKS: [Look; 7] = [
    Look::Bold,
    Look::Dim,
    Look::Red,
    Look::Yellow,
    Look::Blue,
    Look::Cyan,
    Look::Green,
];

/// The character that ends a style.
const PLAIN: char = '\u{fdd0}';

impl Look {
    /// Returns a text in this style.
    pub(crate) fn on(self, text: &str) -> String {
        format!("{}{text}{PLAIN}", self.mark())
    }

    /// Returns the character that begins this style.
    fn mark(self) -> char {
        char::from_u32(self as u32).unwrap_or(PLAIN)
    }

    /// Returns the style that a character begins.
    fn of(mark: char) -> Option<Self> {
        LOOKS.into_iter().find(|look| look.mark() == mark)
    }

    fn style(self) -> Style {
        let bold = |color: AnsiColor| Style::new().bold().fg_color(Some(color.into()));
        match self {
            Self::Bold => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
            Self::Red => bold(AnsiColor::Red),
            Self::Yellow => bold(AnsiColor::Yellow),
            Self::Blue => bold(AnsiColor::Blue),
            Self::Cyan => bold(AnsiColor::Cyan),
            Self::Green => bold(AnsiColor::Green),
        }
    }
}

/// Tells whether a terminal would obey or hide a character instead of showing it.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns a text on one line, with everything visible that a terminal would obey or hide.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) || c == PLAIN || Look::of(c).is_some() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Returns a text of several lines as a terminal may have it: with styles of ours, and none of somebody else's.
fn fit(text: &str) -> String {
    let mut fit = String::with_capacity(text.len());
    for c in text.chars() {
        if let Some(look) = Look::of(c) {
            fit.push_str(&look.style().render().to_string());
        } else if c == PLAIN {
            fit.push_str(&anstyle::Reset.render().to_string());
        } else if is_obeyed(c) && !matches!(c, '\n' | '\t') {
            fit.extend(c.escape_default());
        } else {
            fit.push(c);
        }
    }
    fit
}

/// Returns a JSON text in which nothing is left that a terminal would obey or hide; it means the same.
pub(crate) fn fit_json(text: String) -> String {
    if !text.chars().any(|c| is_obeyed(c) && c != '\n') {
        return text;
    }
    let mut fit = String::with_capacity(text.len());
    for c in text.chars() {
        // A serialiser has escaped what is below a space, and prints newlines between values only.
        if is_obeyed(c) && c != '\n' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                fit.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            fit.push(c);
        }
    }
    fit
}

/// Prints a text for people to stdout.
pub(crate) fn print_text(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(fit(text).as_bytes())?;
    out.flush()
}

/// Prints exact bytes to stdout; on a terminal they are shown instead.
pub(crate) fn print_data(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let shown = if out.is_terminal() {
        Cow::Owned(fit(&String::from_utf8_lossy(bytes)).into_bytes())
    } else {
        Cow::Borrowed(bytes)
    };
    out.write_all(&shown)?;
    out.flush()
}

/// Prints a line to stderr.
pub(crate) fn print_talk(line: &str) {
    // Nobody listens: the work goes on.
    let _ = writeln!(anstream::stderr(), "{}", fit(line));
}

/// Puts a line on stderr in the place of the one that moves; an empty one takes it away.
pub(crate) fn print_moving(line: &str) {
    // The line is a courtesy; a terminal that is gone does not stop the work.
    let _ = write!(io::stderr(), "\r\x1b[2K{}", one_line(line));
}

/// Tells whether a terminal shows stdout.
pub(crate) fn is_shown() -> bool {
    io::stdout().is_terminal()
}

/// Tells whether somebody watches stderr.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a terminal would obey or hide, in the ways that it can be written.
    const HOSTILE: &str = "a\x1b[31mb\x1b]0;t\x07c\rd\u{9b}2Je\u{202e}f\u{2066}g\u{7f}h\u{feff}i\u{200b}j\u{e0041}k\u{fdd3}l\u{2028}";

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let shown = r"a\u{1b}[31mb\u{1b}]0;t\u{7}c\rd\u{9b}2Je\u{202e}f\u{2066}g\u{7f}h\u{feff}i\u{200b}j\u{e0041}k";
        let text = format!("{HOSTILE}\n\tm");
        let line = format!("{shown}{}", r"\u{fdd3}l\u{2028}\n\tm");
        assert_eq!(one_line(&text), line);
        let lines = format!("{shown}\x1b[1m\x1b[31ml{}\n\tm", r"\u{2028}");
        assert_eq!(fit(&text), lines);
        assert_eq!(one_line("héllo 👩‍💻 می‌خواهم"), "héllo 👩‍💻 می‌خواهم");
    }

    #[test]
    fn styles_are_ours() {
        assert_eq!(fit(&Look::Bold.on("x")), "\x1b[1mx\x1b[0m");
        assert_eq!(fit(&Look::Green.on("x")), "\x1b[1m\x1b[32mx\x1b[0m");
        let all = LOOKS.map(|look| fit(&look.on("x")));
        assert!(all.iter().all(|text| text.ends_with("x\x1b[0m")), "{all:?}");
    }

    #[test]
    fn a_document_means_the_same() {
        let value = serde_json::json!({HOSTILE: [HOSTILE, "\n"]});
        for text in [
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
        ] {
            let fit = fit_json(text);
            assert!(!fit.chars().any(|c| is_obeyed(c) && c != '\n'), "{fit:?}");
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&fit).unwrap(),
                value
            );
        }
    }
}
