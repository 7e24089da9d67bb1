//! What a model does in one run.

use std::path::PathBuf;

/// What a model does in one run.
#[derive(Clone, Debug)]
pub(crate) enum Scenario {
    /// It says something.
    Text,
    /// It calls a tool that changes a file, and says something when it has the result.
    Edit(Edit),
    /// It calls a tool that runs a line of shell, and says something when it has the result.
    Command(String),
    /// It does what an agent does in a phase of a sprint, which it finds out from its prompt.
    Phases(fn(&Asked) -> PhaseScript),
    /// It refuses every request.
    Refused(Refusal),
    /// It speaks and never ends.
    Slow,
    /// It is cut off in the middle of its first answers, so many times.
    Broken { times: usize },
}

/// A change of a file that is there.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// The file, as an absolute path. A `*` in it stands for the name that the CLI told its model: that of the task's worktree.
    pub(crate) file: PathBuf,
    /// Everything in it before, with a newline at the end.
    pub(crate) old: String,
    /// Everything in it afterwards, with a newline at the end.
    pub(crate) new: String,
}

/// What a model is asked, as far as a phase of a sprint is concerned.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Every text of the request.
    texts: Vec<String>,
}

impl Asked {
    /// Reads the body of a request.
    pub(crate) fn of(body: &[u8]) -> Self {
        let mut texts = Vec::new();
        super::collect(serde_json::from_slice(body).unwrap_or_default(), &mut texts);
        Self { texts }
    }

    /// Returns what stands in the prompt of a phase behind a name, on a line of its own.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let lines = self.texts.iter().flat_map(|text| text.lines());
        let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        values.next()
    }

    /// Returns the commit that a command has printed last.
    pub(crate) fn commit(&self) -> Option<&str> {
        let is_hash = |word: &&str| word.len() == 40 && word.bytes().all(|c| c.is_ascii_hexdigit());
        let texts = self.texts.iter();
        let words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()));
        words.rev().find(is_hash)
    }
}

/// What a model does in a phase: a line of shell that it runs first, and what it says at the end.
#[derive(Debug)]
pub(crate) struct PhaseScript {
    pub(crate) command: Option<String>,
    pub(crate) said: String,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Refusal {
    /// 401: the key is wrong.
    Key,
    /// 429: too many requests, for a moment.
    Rate,
    /// 429: the quota is used up until a time, in seconds since 1970.
    Quota { until: u64 },
    /// 529: the servers are overloaded.
    Overload,
    /// 500: a fault of the server.
    Fault,
}

impl Edit {
    /// Returns the change with its file as the texts of a request name it.
    ///
    /// A model knows the directory that it works in from its CLI only.
    pub(crate) fn told_by(&self, texts: &[String]) -> Self {
        let mut edit = self.clone();
        let file = self.file.to_string_lossy();
        let Some((before, after)) = file.split_once('*') else {
            return edit;
        };
        let named = texts.iter().find_map(|text| text.split_once(before));
        let end = |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric());
        if let Some((_, rest)) = named {
            let name = &rest[..end(rest).unwrap_or(rest.len())];
            edit.file = format!("{before}{name}{after}").into();
        }
        edit
    }
}

impl Scenario {
    /// Returns the word that its URLs begin with.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Edit(_) => "edit",
            Self::Command(_) => "command",
            Self::Phases(_) => "phases",
            Self::Refused(Refusal::Key) => "401",
            Self::Refused(Refusal::Rate) => "429",
            Self::Refused(Refusal::Quota { .. }) => "429-until",
            Self::Refused(Refusal::Overload) => "529",
            Self::Refused(Refusal::Fault) => "500",
            Self::Slow => "slow",
            Self::Broken { .. } => "broken",
        }
    }
}

impl Refusal {
    /// Returns the status of the answer.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Key => 401,
            Self::Rate | Self::Quota { .. } => 429,
            Self::Overload => 529,
            Self::Fault => 500,
        }
    }

    /// Returns the seconds until the reset, where there is one.
    pub(crate) fn wait(self) -> Option<u64> {
        let Self::Quota { until } = self else {
            return None;
        };
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        Some(until.saturating_sub(now.as_secs()))
    }
}
