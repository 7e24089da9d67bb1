//! Stories: what their files say, and what agents did about them.

use std::collections::BTreeMap;

use callsheet::inputs::Root;
use callsheet::sprint::{Board, Epics, NotFound, find};
use callsheet::story::Match;
use callsheet_store::{BatchPage, Wait};
use serde::Serialize;
use utoipa::ToSchema;

use super::batch::{History, StoryRow};
use super::sprint::no_board;
use crate::error::ApiError;
use crate::site::{Site, SiteSettings};

/// How many of the newest batches are looked at for a story.
const BATCHES: usize = 50;

/// The most characters of a description.
const DESCRIPTION: usize = 500;

/// How many lines after the heading may hold a description.
const AFTER_HEADING: usize = 9;

/// A file of a story.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct StoryFile {
    /// Its path, relative to the root.
    pub(crate) path: String,
    /// What it says; nothing where it cannot be read.
    pub(crate) text: Option<String>,
}

/// A story in one batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct StoryAttempt {
    /// The batch.
    pub(crate) batch_id: String,
    #[serde(flatten)]
    pub(crate) story: StoryRow,
}

/// A story of the board with its files, and what agents did about it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct StoryDetail {
    /// Its key on the board.
    pub(crate) key: String,
    /// The epic that it belongs to.
    pub(crate) epic_id: String,
    /// The word on the board.
    pub(crate) status: String,
    /// What its file says it is about.
    pub(crate) description: Option<String>,
    /// Its file; several where more than one could be meant.
    pub(crate) files: Vec<StoryFile>,
    /// Its tech specs.
    pub(crate) tech_specs: Vec<StoryFile>,
    /// What was found out before it was written.
    pub(crate) discoveries: Vec<StoryFile>,
    /// The batches that took it, the newest first.
    pub(crate) attempts: Vec<StoryAttempt>,
    /// The runs of its agents, the newest batch first.
    pub(crate) runs: Vec<String>,
}

/// Returns a story. This blocks.
pub(crate) fn detail(
    site: &Site,
    settings: &SiteSettings,
    name: &str,
) -> Result<StoryDetail, ApiError> {
    let file = settings.board(&site.root).map_err(no_board)?;
    let board = file.read()?;
    let entry = find(&board, name).map_err(|problem| match problem {
        NotFound::Unknown => ApiError::not_found("story", name),
        NotFound::Ambiguous(keys) => {
            ApiError::validation(format!("`{name}` could mean several stories")).details(keys)
        }
    })?;
    let key = entry.key.clone();
    let root = Root::open(&site.root)?;
    let read = |path: String| {
        let text = root.read(&path).ok();
        let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        StoryFile { path, text }
    };
    let seen = file.story_files(&board)?.remove(&key).unwrap_or_default();
    let files: Vec<StoryFile> = seen.into_iter().map(|seen| read(seen.path)).collect();
    let directory = file.layout(&settings.paths).implementation_artifacts;
    let beside = |word: &str| {
        let rule = Match::new(&[&key], false);
        let listed = root.list_where(&directory, |name| {
            rule.hits(name) && name.to_lowercase().contains(word)
        });
        let names = listed.map_or_else(|_| Vec::new(), |listing| listing.names);
        let paths = names.iter().map(|name| format!("{directory}/{name}"));
        paths.map(&read).collect::<Vec<_>>()
    };
    let attempts = attempts(site, &key)?;
    let commands = attempts.iter().flat_map(|one| one.story.commands.iter());
    let runs = commands.filter_map(|command| command.run.clone()).collect();
    let first = files.first().and_then(|file| file.text.as_deref());
    Ok(StoryDetail {
        epic_id: epic_of(&board, &key),
        status: entry.word.text.clone(),
        description: first.and_then(description),
        tech_specs: beside("tech-spec"),
        discoveries: beside("discovery"),
        key,
        files,
        attempts,
        runs,
    })
}

/// Returns what became of a story in each of the newest batches.
fn attempts(site: &Site, key: &str) -> Result<Vec<StoryAttempt>, ApiError> {
    let page = BatchPage {
        offset: 0,
        limit: BATCHES,
    };
    let mut attempts = Vec::new();
    for batch in site.store.batches(&site.project, page).wait()?.batches {
        let history = History::read(&site.store, &site.project, batch)?;
        let detail = history.detail();
        let mine = detail.stories.into_iter();
        let mine = mine.filter(|story| story.story_key == key);
        attempts.extend(mine.map(|story| StoryAttempt {
            batch_id: detail.batch.id.clone(),
            story,
        }));
    }
    Ok(attempts)
}

fn epic_of(board: &Board, key: &str) -> String {
    Epics::of(board).place(key).epic
}

/// Returns what the files of stories say that they are about, by the key in the name of each. This blocks.
pub(crate) fn descriptions(
    site: &Site,
    settings: &SiteSettings,
) -> Result<BTreeMap<String, String>, ApiError> {
    let directory = settings.layout(&site.root).implementation_artifacts;
    let root = Root::open(&site.root)?;
    let listed = root.list_where(&directory, |name| key_of(name).is_some());
    let mut found = BTreeMap::new();
    for name in listed.map_or_else(|_| Vec::new(), |listing| listing.names) {
        let (Some(key), Ok(bytes)) = (key_of(&name), root.read(&format!("{directory}/{name}")))
        else {
            continue;
        };
        if let Some(text) = description(&String::from_utf8_lossy(&bytes)) {
            // A file that is named by nothing but the key says it best.
            if name.starts_with("sprint-") && found.contains_key(key) {
                continue;
            }
            found.insert(key.to_owned(), text);
        }
    }
    Ok(found)
}

/// Returns the key in the name of a story file: `2a-1-login` of `2a-1-login.md` and of `sprint-2a-1-login.md`.
fn key_of(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".md")?;
    let stem = stem.strip_prefix("sprint-").unwrap_or(stem);
    if stem.ends_with("-discovery-story") {
        return None;
    }
    let digits = stem
        .find(|c: char| !c.is_ascii_digit())
        .filter(|at| *at > 0)?;
    let rest = &stem[digits..];
    let rest = rest
        .strip_prefix(|c: char| c.is_ascii_lowercase())
        .unwrap_or(rest);
    let rest = rest.strip_prefix('-')?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let words = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    (words > 0).then(|| &stem[..stem.len() - rest.len() + words])
}

/// Returns what a story file says that it is about: its section `## Story`, else what follows its title.
fn description(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let story = lines.iter().position(|line| line.starts_with("## Story"));
    let found: Vec<&str> = match story {
        Some(at) => {
            let rest = lines[at + 1..].iter().copied();
            rest.take_while(|line| !line.starts_with("## ")).collect()
        }
        None => {
            let title = lines.iter().position(|line| line.starts_with("# "))?;
            let rest = lines[title + 1..].iter().copied().take(AFTER_HEADING);
            rest.take_while(|line| !line.starts_with('#')).collect()
        }
    };
    let words = found.iter().map(|line| line.trim());
    let words: Vec<&str> = words.filter(|line| !line.is_empty()).collect();
    let plain = without_stars(&words.join(" "));
    let short: String = plain.chars().take(DESCRIPTION).collect();
    let short = short.trim();
    (!short.is_empty()).then(|| short.to_owned())
}

/// Returns a text without the marks of bold words in it.
fn without_stars(text: &str) -> String {
    let parts: Vec<&str> = text.split("**").collect();
    // A mark without its partner is what somebody wrote.
    if parts.len().is_multiple_of(2) {
        let (last, paired) = parts.split_last().unwrap_or((&"", &[]));
        return format!("{}**{last}", paired.concat());
    }
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_story_files_have_their_keys() {
        let found = |name: &'static str| key_of(name).unwrap_or("-");
        let names = [
            "2a-1-login.md",
            "sprint-2a-1-login.md",
            "1-1.md",
            "2a-1 copy.md",
            "tech-spec-2a-1.md",
            "sprint-tech-spec-2a-1.md",
            "sprint-2a-1-discovery-story.md",
            "orchestrator.md",
            "index.md",
            "2ab-1.md",
            "2a-.md",
            "2a-1.txt",
        ];
        let expected = [
            "2a-1-login",
            "2a-1-login",
            "1-1",
            "2a-1",
            "-",
            "-",
            "-",
            "-",
            "-",
            "-",
            "-",
            "-",
        ];
        assert_eq!(names.map(found), expected);
    }

    #[test]
    fn a_description_is_the_section_story_or_what_follows_the_title() {
        let text = "# Login\n\n## Story\n\n**As a** user\nI want\n### More\nthis\n\n## Tasks\nno\n";
        assert_eq!(description(text).unwrap(), "As a user I want ### More this");
        assert_eq!(
            description("x\n# Login\n\nFirst line.\nSecond.\n\n## Next\nno\n").unwrap(),
            "First line. Second."
        );
        assert_eq!(description("no title\n"), None);
        assert_eq!(description("# Login\n## Next\n"), None);
        let long = format!("# A\n{}", "ä".repeat(600));
        assert_eq!(description(&long).unwrap().chars().count(), 500);
    }

    #[test]
    fn only_pairs_of_stars_go() {
        assert_eq!(without_stars("**a** b ** c"), "a b ** c");
        assert_eq!(without_stars("**a** **b**"), "a b");
    }
}
