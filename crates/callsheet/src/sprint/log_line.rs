//! Log lines: `timestamp,epic,story,command,task-id,status,"message"`, what an agent says about its progress.
//!
//! One line of CSV by RFC 4180, written and read. Reading takes no clock: whoever reads says what time it is.

use std::fmt;

use serde_json::{Value, json};

use crate::Event;

/// How far back a line may be dated, in seconds: one year.
const OLDEST: i64 = 31_536_000;

/// How far ahead a line may be dated, in seconds: one hour.
const NEWEST: i64 = 3600;

/// What an agent says about its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When, in seconds since 1970.
    pub at: i64,
    /// The epic.
    pub epic: String,
    /// The story, or several with a comma between them.
    pub story: String,
    /// The command, such as `sprint-dev-story`.
    pub command: String,
    /// The part of the command, such as `implement`.
    pub task: String,
    /// How it is going, in the agent's word.
    pub status: String,
    /// A sentence for people.
    pub message: String,
}

impl LogLine {
    /// Reads a line; `now` is the time in seconds since 1970. What is not a log line is nothing.
    ///
    /// It has seven columns or more, of which the first is an integer between a year ago and an hour from now.
    pub fn read(line: &str, now: i64) -> Option<Self> {
        let line = line.trim();
        // Nearly every line of an agent's output ends here.
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || !line[digits..].trim_start().starts_with(',') {
            return None;
        }
        let mut columns = columns(line)?.into_iter();
        let at: i64 = columns.next()?.trim().parse().ok()?;
        if at < now.saturating_sub(OLDEST) || at > now.saturating_add(NEWEST) {
            return None;
        }
        Some(Self {
            at,
            epic: columns.next()?,
            story: columns.next()?,
            command: columns.next()?,
            task: columns.next()?,
            status: columns.next()?,
            message: columns.next()?,
        })
    }

    /// Returns the event that it is.
    ///
    /// `start` begins a command, and a word for the end ends it, good or bad: the payload has the word. Any other word is
    /// progress, and kept where it says more than that.
    pub fn event(&self) -> Event {
        let word = self.status.trim().to_ascii_lowercase();
        let (kind, status) = match word.as_str() {
            "start" | "started" => ("command:start", None),
            "end" | "ended" | "complete" | "completed" | "done" | "success" | "succeeded"
            | "error" | "fail" | "failed" => ("command:end", Some(&self.status)),
            "progress" => ("command:progress", None),
            _ => ("command:progress", Some(&self.status)),
        };
        let mut facts: Vec<(&str, Value)> = vec![
            ("epic_id", json!(self.epic)),
            ("story_key", json!(self.story)),
            ("command", json!(self.command)),
            ("task_id", json!(self.task)),
        ];
        facts.extend(status.map(|status| ("status", json!(status))));
        facts.push(("logged_at", json!(self.at)));
        Event::new(kind, facts, self.message.clone())
    }

    /// Returns the line with every line break as the two characters `\n`, as reading it back gives it.
    #[must_use]
    pub fn on_one_line(&self) -> Self {
        Self {
            at: self.at,
            epic: one_line(&self.epic),
            story: one_line(&self.story),
            command: one_line(&self.command),
            task: one_line(&self.task),
            status: one_line(&self.status),
            message: one_line(&self.message),
        }
    }
}

impl fmt::Display for LogLine {
    /// Writes the line without its end. Fields are quoted where they have to be, the message always.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.at)?;
        for field in [
            &self.epic,
            &self.story,
            &self.command,
            &self.task,
            &self.status,
        ] {
            let field = one_line(field);
            if field.contains([',', '"']) || field.trim() != field {
                write!(f, ",\"{}\"", field.replace('"', "\"\""))?;
            } else {
                write!(f, ",{field}")?;
            }
        }
        let message = one_line(&self.message);
        write!(f, ",\"{}\"", message.replace('"', "\"\""))
    }
}

fn one_line(text: &str) -> String {
    text.replace("\r\n", "\\n").replace(['\r', '\n'], "\\n")
}

/// Returns the columns of a line; nothing where a quote is not closed, or something follows a closed one.
fn columns(line: &str) -> Option<Vec<String>> {
    let mut columns = Vec::new();
    let mut rest = line;
    loop {
        let (column, after) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        columns.push(column);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None if after.is_empty() => return Some(columns),
            None => return None,
        }
    }
}

/// Returns a quoted column whose first quote is read, and what follows its last one.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut column = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        column.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                column.push('"');
                rest = next;
            }
            None => return Some((column, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_790_000_000;

    fn line(text: &str) -> LogLine {
        LogLine::read(text, NOW).unwrap()
    }

    #[test]
    fn a_line_has_seven_columns_and_a_time_that_can_be() {
        let read = line("1790000000,2a,2a-1,sprint-dev-story,implement,end,\"done (files:2)\"");
        assert_eq!(read.story, "2a-1");
        assert_eq!(read.message, "done (files:2)");
        for good in [
            "  1790000000,,,,,,",
            "1790000000,e,s,c,t,start,m,more,\"and more\"",
            "1758464000,e,s,c,t,start,m",
            "1790003600,e,s,c,t,start,m\r",
        ] {
            assert!(LogLine::read(good, NOW).is_some(), "{good}");
        }
        for bad in [
            "",
            "hello",
            "1790000000,e,s,c,t,start",
            "1790000000.5,e,s,c,t,start,m",
            "-1790000000,e,s,c,t,start,m",
            "99999999999999999999,e,s,c,t,start,m",
            "1758463999,e,s,c,t,start,m",
            "1790003601,e,s,c,t,start,m",
            "1790000000,e,s,c,t,start,\"open",
            "1790000000,e,s,c,t,start,\"m\"x",
            "| 1790000000,e,s,c,t,start,m",
        ] {
            assert_eq!(LogLine::read(bad, NOW), None, "{bad}");
        }
        assert!(LogLine::read("5,,,,,,", i64::MIN).is_none());
        assert!(LogLine::read("5,,,,,,", i64::MAX).is_none());
    }

    #[test]
    fn fields_are_quoted_where_they_have_to_be() {
        let mut log = line("1790000000,2a,\"2a-1,2a-2\",c,t,start,\"\"");
        log.message = "he said \"no\",\r\nthen left".to_owned();
        assert_eq!(
            log.to_string(),
            "1790000000,2a,\"2a-1,2a-2\",c,t,start,\"he said \"\"no\"\",\\nthen left\""
        );
    }

    #[test]
    fn the_status_says_which_event_it_is() {
        let event = |status: &str| {
            let event = line(&format!("1790000000,2a,2a-1,c,t,{status},m")).event();
            format!("{} {}", event.kind, Value::Object(event.payload))
        };
        let payload = |status: &str| {
            format!(
                "{{\"epic_id\":\"2a\",\"story_key\":\"2a-1\",\"command\":\"c\",\"task_id\":\"t\",{status}\
                 \"logged_at\":1790000000,\"message\":\"m\"}}"
            )
        };
        let none = payload("");
        assert_eq!(event("Start "), format!("command:start {none}"));
        assert_eq!(event("progress"), format!("command:progress {none}"));
        for word in [
            "end",
            "complete",
            "Completed",
            "done",
            "success",
            "error",
            "failed",
        ] {
            let status = payload(&format!("\"status\":\"{word}\","));
            assert_eq!(event(word), format!("command:end {status}"));
        }
        let skipped = payload("\"status\":\"skipped\",");
        assert_eq!(event("skipped"), format!("command:progress {skipped}"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            at in NOW - OLDEST..=NOW + NEWEST,
            fields in proptest::array::uniform6(any::<String>()),
        ) {
            let [epic, story, command, task, status, message] = fields;
            let log = LogLine { at, epic, story, command, task, status, message };
            let written = log.to_string();
            prop_assert_eq!(written.lines().count(), 1);
            prop_assert_eq!(LogLine::read(&written, NOW), Some(log.on_one_line()));
        }

        #[test]
        fn reading_never_panics(line in "[0-9 ]{0,12}[,\"a-z\\\\é ]{0,40}", now in any::<i64>()) {
            let _ = LogLine::read(&line, now);
        }
    }
}
