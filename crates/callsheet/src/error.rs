//! The one error type of the engine: a kind for code, a sentence for people, a place for both.
//!
//! Hints and "did you mean" are not made here; [`Error::allowed`] gives the edge what it needs for them.

use std::fmt;

/// What a caller can branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A recipe file is wrong.
    BadRecipe,
    /// The input document does not fit the recipe.
    BadInput,
    /// A template cannot be rendered.
    BadTemplate,
    /// A recipe, template or encoding of that name does not exist.
    UnknownName,
    /// The prompt does not fit its budget or limit.
    OverBudget,
    /// The disk refused.
    Unreadable,
    /// There is no change to compose a prompt for.
    NoChange,
    /// A glob of the input matches no file.
    NoMatch,
    /// A file belongs to a user whose word is not taken.
    Untrusted,
}

/// Where in which file an error was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The file as the user would name it.
    pub file: String,
    /// The line, counted from 1, where it is known.
    pub line: Option<usize>,
}

/// An error of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    detail: String,
    place: Option<Place>,
    causes: Vec<String>,
    found: Option<String>,
    allowed: Vec<String>,
}

impl Error {
    /// Makes an error: lower case, no period, user values in backticks.
    pub fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            detail: detail.into(),
            place: None,
            causes: Vec::new(),
            found: None,
            allowed: Vec::new(),
        }))
    }

    /// Makes the error for a name that does not exist among `allowed`.
    pub fn unknown<S: Into<String>>(
        what: &str,
        found: &str,
        allowed: impl IntoIterator<Item = S>,
    ) -> Self {
        Self::new(ErrorKind::UnknownName, format!("no {what} named `{found}`"))
            .expecting(found, allowed)
    }

    /// Makes the error of a TOML text that does not fit its type.
    pub fn toml(kind: ErrorKind, file: &str, text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start);
        let message = error.message().trim().replace('\n', ", ");
        let message = crate::document::plain_words(&message, "a table");
        let mut names = message.split('`').skip(1).step_by(2).map(str::to_owned);
        let unknown = message
            .starts_with("unknown field")
            .then(|| names.next())
            .flatten();
        let told = Self::new(kind, message.clone()).at(file, line_of(text, at));
        match unknown {
            Some(found) => told.expecting(&found, names),
            None => told,
        }
    }

    /// Adds what was found and what would have been allowed.
    #[must_use]
    pub fn expecting<S: Into<String>>(
        mut self,
        found: &str,
        allowed: impl IntoIterator<Item = S>,
    ) -> Self {
        self.0.found = Some(found.to_owned());
        self.0.allowed = allowed.into_iter().map(Into::into).collect();
        self
    }

    /// Adds the place; the innermost place wins.
    #[must_use]
    pub fn at(mut self, file: impl Into<String>, line: impl Into<Option<usize>>) -> Self {
        self.0.place.get_or_insert(Place {
            file: file.into(),
            line: line.into(),
        });
        self
    }

    /// Puts a folder before the file of the place, where a place is known.
    #[must_use]
    pub(crate) fn in_folder(mut self, folder: &str) -> Self {
        if let Some(place) = &mut self.0.place {
            place.file = format!("{folder}/{}", place.file);
        }
        self
    }

    /// Changes what a caller can branch on.
    #[must_use]
    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Moves the error to another place, which says more to a user than the old one.
    #[must_use]
    pub(crate) fn moved_to(mut self, file: String) -> Self {
        self.0.place = Some(Place { file, line: None });
        self
    }

    /// Adds a line that says why.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.0.causes.push(cause.into());
        self
    }

    /// Puts other texts in the place of all that this error says.
    #[must_use]
    pub(crate) fn map_texts(mut self, change: impl Fn(&str) -> String) -> Self {
        let details = &mut self.0;
        details.detail = change(&details.detail);
        details.found = details.found.as_deref().map(&change);
        for text in details.causes.iter_mut().chain(&mut details.allowed) {
            *text = change(text);
        }
        if let Some(place) = &mut details.place {
            place.file = change(&place.file);
        }
        self
    }

    /// Returns what a caller can branch on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns where and what is wrong, without its causes.
    pub fn headline(&self) -> String {
        let detail = &self.0.detail;
        match &self.0.place {
            None => detail.clone(),
            Some(Place { file, line: None }) => format!("{file}: {detail}"),
            Some(Place {
                file,
                line: Some(line),
            }) => format!("{file}:{line}: {detail}"),
        }
    }

    /// Returns the sentence without place and causes.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Returns the place, where one is known.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Returns the lines that say why.
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// Returns the name that was found where another was expected.
    pub fn found(&self) -> Option<&str> {
        self.0.found.as_deref()
    }

    /// Returns the names that would have been allowed.
    pub fn allowed(&self) -> &[String] {
        &self.0.allowed
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.headline())?;
        for cause in &self.0.causes {
            write!(f, "\n  {}", cause.replace('\n', "\n  "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Returns the line, counted from 1, in which the byte at `offset` stands.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    let end = offset.min(text.len());
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..end]).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_place_wins_and_causes_are_indented() {
        let error = Error::new(ErrorKind::BadRecipe, "`layers` is empty")
            .at("a.toml", 3)
            .at("outer.toml", None)
            .because("one\ntwo");
        assert_eq!(
            error.to_string(),
            "a.toml:3: `layers` is empty\n  one\n  two"
        );
    }
}
