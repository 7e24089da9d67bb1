//! Arbitrary bytes as decisions: which word, which kind of file, how much content.

/// Bytes that are used up from the front; when none are left, every decision is the first one.
pub(crate) struct Draw<'a>(&'a [u8]);

impl<'a> Draw<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(crate) fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[usize::from(self.byte()) % words.len()]
    }

    /// Takes up to `most` of them.
    pub(crate) fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// Makes a text: as the bytes stand, or, so that less of them is noise, with a word for every byte.
pub(crate) fn text(data: &[u8], words: &[&str]) -> String {
    let mut draw = Draw::new(data);
    if draw.flag() {
        let rest = draw.take(data.len());
        return String::from_utf8_lossy(rest).into_owned();
    }
    let mut text = String::new();
    while !draw.is_empty() {
        text.push_str(draw.pick(words));
    }
    text
}
