//! Texts to measure on: the same bytes on every machine.

use std::time::Duration;

/// Longer than any measurement takes.
pub(crate) const LEASE: Duration = Duration::from_hours(10);

const WORDS: [&str; 48] = [
    "account", "balance", "branch", "buffer", "cache", "caller", "channel", "check", "client",
    "column", "commit", "config", "cursor", "digest", "driver", "entry", "error", "event", "field",
    "filter", "folder", "handle", "header", "index", "input", "layer", "ledger", "limit", "login",
    "marker", "merge", "module", "number", "option", "parser", "policy", "prompt", "queue",
    "record", "report", "review", "schema", "session", "source", "status", "token", "update",
    "worker",
];

/// Numbers that look like chance and are not.
pub(crate) struct Chance(u64);

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Chance {
    /// Returns the numbers of a seed; those of the next seed have nothing to do with them.
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_mul(0xd129_0ddf_53fb_92b9)))
    }

    /// Returns a number below another.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix(self.0) % end as u64) as usize
    }

    pub(crate) fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    /// Returns a name that hardly any other text has.
    pub(crate) fn name(&mut self) -> String {
        format!("{}_{}{}", self.word(), self.word(), self.below(1000))
    }

    /// Returns a sentence.
    pub(crate) fn sentence(&mut self) -> String {
        let words: Vec<&str> = (0..6 + self.below(9)).map(|_| self.word()).collect();
        format!(
            "The {} must keep `{}` in order.",
            words.join(" "),
            self.name()
        )
    }

    /// Returns sentences in paragraphs, about so many bytes.
    pub(crate) fn prose(&mut self, size: usize) -> String {
        let mut text = String::new();
        while text.len() < size {
            text.push_str(&self.sentence());
            text.push_str(if self.below(4) == 0 { "\n\n" } else { " " });
        }
        text
    }

    /// Returns a line that looks like source.
    pub(crate) fn code_line(&mut self) -> String {
        let (a, b, c, n) = (self.name(), self.word(), self.word(), self.below(10_000));
        match self.below(6) {
            0 => format!("pub fn {a}({b}: &Layer) -> Result<Section, Error> {{"),
            1 => format!("    let {a} = {b}.iter().filter(|item| item.{c}() > {n}).count();"),
            2 => format!("    if {b}.is_empty() {{ return Err(Error::new(\"{a} {c}\")); }}"),
            3 => format!("    // {b} {c}: see {a} for the reason why {n} is enough"),
            4 => format!("    {b}.insert(\"{a}\".to_owned(), Section::from({n}));"),
            _ => "}\n".to_owned(),
        }
    }

    /// Returns words that no other text has, about so many bytes.
    pub(crate) fn noise(&mut self, size: usize) -> String {
        let mut text = String::new();
        while text.len() < size {
            for _ in 0..3 + self.below(7) {
                text.push(char::from(b'a' + self.below(26) as u8));
            }
            text.push(' ');
        }
        text
    }

    /// Returns lines that look like source, about so many bytes.
    pub(crate) fn code(&mut self, size: usize) -> String {
        let mut text = String::new();
        while text.len() < size {
            text.push_str(&self.code_line());
            text.push('\n');
        }
        text
    }

    /// Returns a line of exactly so many bytes, as agents write them.
    pub(crate) fn agent_line(&mut self, size: usize) -> Vec<u8> {
        let (kind, turn) = (
            ["text", "tool_use", "tool_result"][self.below(3)],
            self.below(1000),
        );
        let mut line = format!(
            "{{\"type\":\"{kind}\",\"turn\":{turn},\"id\":\"{:08x}\",\"text\":\"",
            self.below(1 << 32)
        );
        while line.len() < size - 3 {
            line.push_str(&self.sentence());
            line.push(' ');
        }
        line.truncate(size - 3);
        line.push_str("\"}\n");
        line.into_bytes()
    }
}
