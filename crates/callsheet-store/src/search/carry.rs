//! Which prompts carried a text, exactly.

use std::collections::BTreeSet;

use crate::db::{Dialect, Tx};
use crate::project::Project;
use crate::prompt::{self, COLUMNS, REACH, SealedPrompt};
use crate::{Store, StoreError, body};

/// The shortest text that the index finds.
const LEAST_CHARS: usize = 3;

/// So many texts are looked at, the newest first.
const MOST_TEXTS: i64 = 2000;

/// After so many texts it is enough to have found more prompts than were asked for.
const ENOUGH_TEXTS: usize = 64;

/// The prompts that carried a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Carriers {
    /// The newest of them, the newest first.
    pub prompts: Vec<SealedPrompt>,
    /// Whether there may be more.
    pub more: bool,
}

impl Store {
    /// Returns up to `limit` prompts that carried a text of at least three characters, the newest first.
    pub async fn carriers(
        &self,
        project: &Project,
        text: &str,
        limit: usize,
    ) -> Result<Carriers, StoreError> {
        if text.chars().count() < LEAST_CHARS {
            return Err(StoreError::refused(
                "a text that is looked for in all prompts has at least three characters",
            ));
        }
        let (project, text) = (project.clone(), text.to_owned());
        self.read(move |tx| carriers(tx, &project, &text, limit))
            .await
    }
}

fn carriers(
    tx: &mut dyn Tx,
    project: &Project,
    text: &str,
    limit: usize,
) -> Result<Carriers, StoreError> {
    // The beginning of the text is in a section or an edge, wherever the rest is.
    let beginning = &text[..text.floor_char_boundary(REACH)];
    let bodies = holders(tx, beginning)?;
    let mut more = i64::try_from(bodies.len()) == Ok(MOST_TEXTS);
    let mut found: BTreeSet<std::cmp::Reverse<crate::Id>> = BTreeSet::new();
    let mut prompts: Vec<SealedPrompt> = Vec::new();
    let most = i64::try_from(limit + 1).unwrap_or(i64::MAX);
    for (nth, body) in bodies.into_iter().enumerate() {
        // Texts come newest first, so that what follows is rarely in a newer prompt.
        if nth >= ENOUGH_TEXTS && prompts.len() > limit {
            more = true;
            break;
        }
        let held = body::get_key(tx, body)?;
        let held = String::from_utf8_lossy(&held);
        if !held.contains(beginning) {
            continue;
        }
        let whole = held.contains(text);
        let sql = format!(
            "select {COLUMNS} from part a join prompt p on p.key = a.prompt \
            where a.body = $1 and p.project = $2 and a.roles <> 2 order by p.id desc limit $3"
        );
        for row in tx.query(&sql, &[body.into(), project.key.into(), most.into()])? {
            let prompt = prompt::read(&row)?;
            let known = found.contains(&std::cmp::Reverse(prompt.id));
            if known || !whole && !carries(tx, &prompt, text)? {
                continue;
            }
            found.insert(std::cmp::Reverse(prompt.id));
            prompts.push(prompt);
        }
        if prompts.len() > limit * 4 {
            prompts.sort_unstable_by_key(|prompt| std::cmp::Reverse(prompt.id));
            prompts.truncate(limit + 1);
        }
    }
    prompts.sort_unstable_by_key(|prompt| std::cmp::Reverse(prompt.id));
    more |= prompts.len() > limit;
    prompts.truncate(limit);
    Ok(Carriers { prompts, more })
}

/// Tells whether a text that runs over several sections is in a prompt.
fn carries(tx: &mut dyn Tx, prompt: &SealedPrompt, text: &str) -> Result<bool, StoreError> {
    let seal = prompt::load(tx, prompt)?;
    Ok(seal.text().is_ok_and(|whole| whole.contains(text)))
}

/// Returns the texts that may hold a beginning, the newest first.
fn holders(tx: &mut dyn Tx, beginning: &str) -> Result<Vec<i64>, StoreError> {
    let (sql, pattern) = match tx.dialect() {
        Dialect::Sqlite => (
            "select c.body from chunk_grams join chunk c on c.key = chunk_grams.rowid \
            where chunk_grams match $1 order by chunk_grams.rowid desc limit $2",
            grams(beginning),
        ),
        Dialect::Postgres => (
            "select c.body from chunk c where c.grams like $1 order by c.key desc limit $2",
            like(beginning),
        ),
    };
    let rows = tx.query(sql, &[pattern.into(), MOST_TEXTS.into()])?;
    let mut bodies = Vec::with_capacity(rows.len());
    for row in rows {
        let body = row.int(0)?;
        if bodies.last() != Some(&body) {
            bodies.push(body);
        }
    }
    Ok(bodies)
}

/// Returns the query for all groups of three characters of a text; one after the other, and the last one.
fn grams(text: &str) -> String {
    let chars: Vec<char> = text.replace('\0', "\u{1}").chars().collect();
    let mut grams: Vec<String> = chars
        .chunks_exact(3)
        .map(|three| three.iter().collect())
        .collect();
    grams.push(chars[chars.len().saturating_sub(3)..].iter().collect());
    let quoted = grams
        .iter()
        .map(|gram| format!("\"{}\"", gram.replace('"', "\"\"")));
    quoted.collect::<Vec<_>>().join(" AND ")
}

fn like(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.replace('\0', "\u{1}").chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "%"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_hold_every_sign_as_it_is() {
        assert_eq!(grams("a\"bcd"), "\"a\"\"b\" AND \"bcd\"");
        assert_eq!(like("5%_\\"), "%5\\%\\_\\\\%");
    }
}
