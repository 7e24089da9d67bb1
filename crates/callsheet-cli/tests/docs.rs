//! The documentation is true: every command in it is run, and prints what the page says.
//!
//! `CONTRIBUTING.md` explains the convention. With `UPDATE_DOCS=1` the blocks that differ are written anew instead.

#![expect(
    clippy::unwrap_used,
    reason = "a page that cannot be run fails the test"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use callsheet_store::Id;
use tempfile::TempDir;

/// Fewer blocks than this mean that they are no longer found, not that they are gone.
const FEWEST_BLOCKS: usize = 40;

/// Pages whose links are followed but whose blocks are for other commands than ours.
const WITHOUT_BLOCKS: [&str; 4] = [
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
];

/// What stands for any text within a line, and on a line of its own for any lines.
const ANYTHING: char = '…';

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the pages with blocks, in the order of their paths.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            pages.push(format!("docs/{name}"));
        }
    }
    pages.sort();
    pages
}

/// What a page tells a reader to do, in order.
#[derive(Debug, PartialEq)]
enum Instruction {
    /// Start over in a new folder of this kind.
    Project { line: usize, kind: String },
    /// Write a file.
    File { path: String, text: String },
    /// Run commands.
    Console { first: usize, lines: Vec<String> },
}

/// Takes the parts out of a page; a problem names its line.
fn instructions(page: &str) -> Result<Vec<Instruction>, String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut instructions = Vec::new();
    let mut named = None;
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(kind) = comment(line, "project") {
            let kind = kind.to_owned();
            instructions.push(Instruction::Project { line: at, kind });
        } else if let Some(path) = comment(line, "file") {
            named = Some(path.to_owned());
        } else if let Some(fence) = fence(line) {
            let first = at;
            let end = lines[first..].iter().position(|line| *line == fence);
            let end = first + end.ok_or(format!("{first}: the block has no end"))?;
            at = end + 1;
            instructions.extend(block(
                &line[fence.len()..],
                first,
                &lines[first..end],
                named.take(),
            ));
        }
    }
    Ok(instructions)
}

fn comment<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let inner = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    inner.strip_prefix(key)?.strip_prefix(": ")
}

fn fence(line: &str) -> Option<&str> {
    let len = line.bytes().take_while(|&byte| byte == b'`').count();
    (len >= 3).then(|| &line[..len])
}

fn block(kind: &str, first: usize, lines: &[&str], named: Option<String>) -> Option<Instruction> {
    if kind == "console" {
        let lines = lines.iter().map(ToString::to_string).collect();
        return Some(Instruction::Console { first, lines });
    }
    let heading = lines
        .first()
        .and_then(|line| line.strip_prefix("# file: "))
        .filter(|_| named.is_none());
    let (path, lines) = match heading {
        Some(path) => (path.to_owned(), &lines[1..]),
        None => (named?, lines),
    };
    let text = lines.iter().flat_map(|line| [*line, "\n"]).collect();
    Some(Instruction::File { path, text })
}

/// A command with what it should print.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    expected: Vec<String>,
}

/// Cuts a console block at its `$` lines; a line that ends in `\` goes on in the next.
fn steps(lines: &[String]) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for line in lines {
        if let Some(step) = steps.last_mut().filter(|_| goes_on) {
            step.command.push('\n');
            step.command.push_str(line);
            goes_on = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            goes_on = command.ends_with('\\');
            steps.push(Step {
                command: command.to_owned(),
                expected: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            step.expected.push(line.clone());
        } else {
            return Err("the block does not begin with `$ `".to_owned());
        }
    }
    if steps.is_empty() {
        return Err("the block is empty".to_owned());
    }
    Ok(steps)
}

/// The ids of a page, and those that the program gave in their place.
type Ids = BTreeMap<String, String>;

/// What a line is expected to have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Text(&'a str),
    /// Any text.
    Anything,
    /// An id: whatever stands there when it first comes up, and the same from then on.
    Id(&'a str),
}

/// Cuts a text into what stands for itself and what stands for something else.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (nth, piece) in text.split(ANYTHING).enumerate() {
        if nth > 0 {
            tokens.push(Token::Anything);
        }
        for word in piece.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
            let letters = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            if is_id(letters) {
                tokens.push(Token::Id(letters));
                tokens.push(Token::Text(&word[letters.len()..]));
            } else {
                tokens.push(Token::Text(word));
            }
        }
    }
    tokens
}

/// Tells whether a word is an id of a time in which prompts were sealed; any other word looks like one by chance.
fn is_id(word: &str) -> bool {
    let id: Result<Id, _> = word.parse();
    id.is_ok_and(|id| (1_600_000_000_000..2_200_000_000_000).contains(&id.at()))
}

/// Tells whether the lines are those expected, `…` and ids aside, and which ids stand for which.
fn agree(expected: &[String], actual: &[&str], ids: &Ids) -> Option<Ids> {
    match expected.split_first() {
        None => actual.is_empty().then(|| ids.clone()),
        Some((line, rest)) if line.strip_prefix(ANYTHING) == Some("") => {
            (1..=actual.len()).find_map(|skip| agree(rest, &actual[skip..], ids))
        }
        Some((line, rest)) => {
            let (first, others) = actual.split_first()?;
            agree(rest, others, &line_agrees(&tokens(line), first, ids)?)
        }
    }
}

fn line_agrees(expected: &[Token<'_>], actual: &str, ids: &Ids) -> Option<Ids> {
    let Some((token, rest)) = expected.split_first() else {
        return actual.is_empty().then(|| ids.clone());
    };
    match token {
        Token::Text(text) => line_agrees(rest, actual.strip_prefix(text)?, ids),
        Token::Anything => (0..=actual.len())
            .filter(|at| actual.is_char_boundary(*at))
            .find_map(|at| line_agrees(rest, &actual[at..], ids)),
        Token::Id(id) => {
            let (found, left) = actual.split_at_checked(id.len())?;
            let known = ids.get(*id).is_none_or(|known| known == found);
            let mut ids = ids.clone();
            ids.insert((*id).to_owned(), found.to_owned());
            line_agrees(rest, left, &ids).filter(|_| known && is_id(found))
        }
    }
}

/// Puts ids in the place of others.
fn replaced<'a>(text: &str, ids: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    ids.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The variable with the URL of a server on which databases may be made.
const SERVER: &str = "CALLSHEET_TEST_POSTGRES";

/// What stands for that server in a page.
const SERVER_OF_PAGES: &str = "postgres://ada:secret@db.example.com";

/// The database that a page makes there.
const DATABASE: &str = "callsheet";

/// The folder that the blocks of a page run in.
struct PageFolder {
    folder: TempDir,
    ids: Ids,
    /// Where the reader is by now, below the folder.
    cwd: PathBuf,
    /// What the reader has exported.
    variables: BTreeMap<String, String>,
    /// The URL of a server, without a database.
    server: Option<String>,
}

impl PageFolder {
    fn new(kind: &str) -> Result<Self, String> {
        let folder = Self {
            folder: tempfile::tempdir().unwrap(),
            ids: Ids::new(),
            cwd: PathBuf::new(),
            variables: BTreeMap::new(),
            server: (kind == "postgres").then(server).flatten(),
        };
        match kind {
            "empty" | "postgres" => {}
            "demo" => {
                let (_, code) = folder.run("callsheet demo --compose .", 0);
                assert_eq!(code, 0, "`callsheet demo --compose .` makes the project");
            }
            other => return Err(format!("no project of kind `{other}`")),
        }
        Ok(folder)
    }

    /// Does what concerns all that follows: `cd` and `export`, alone on their line.
    fn turn(&mut self, command: &str) -> bool {
        let argument = |name: &str| {
            let word = command.strip_prefix(name)?.strip_prefix(' ')?;
            (!word.contains(' ')).then_some(word)
        };
        if let Some(folder) = argument("cd") {
            self.cwd = self.cwd.join(folder);
            assert!(self.folder.path().join(&self.cwd).is_dir(), "`{command}`");
        } else if let Some((name, value)) = argument("export").and_then(|it| it.split_once('=')) {
            self.variables
                .insert(name.to_owned(), self.with_server(value));
        } else {
            return false;
        }
        true
    }

    /// Puts the address of the server in the place of that of the page.
    fn with_server(&self, text: &str) -> String {
        match &self.server {
            Some(server) => text.replace(SERVER_OF_PAGES, server),
            None => text.to_owned(),
        }
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Runs a command line as a shell does, without any variable of ours; `$?` is the last exit code.
    fn run(&self, command: &str, last: i32) -> (String, i32) {
        let program = Path::new(env!("CARGO_BIN_EXE_callsheet"));
        let mut path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        if self.server.is_some() {
            // The tools of PostgreSQL are where its packages put them.
            path.extend([":", &std::env::var("PATH").unwrap_or_default()]);
        }
        let output = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!(
                "exec 2>&1\n(exit {last})\n{}",
                self.with_server(command)
            ))
            .current_dir(self.folder.path().join(&self.cwd))
            .env_clear()
            .env("PATH", path)
            .envs(&self.variables)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (text, output.status.code().unwrap_or(-1))
    }
}

impl Drop for PageFolder {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            drop_database(server);
        }
    }
}

/// Returns the URL of a server of our own, without a database; the database that a page makes is not there.
fn server() -> Option<String> {
    let url = std::env::var(SERVER).ok()?;
    let server = url.rsplit_once('/').unwrap().0.to_owned();
    drop_database(&server);
    Some(server)
}

fn drop_database(server: &str) {
    let url = format!("{server}/postgres");
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let sql = format!("drop database if exists {DATABASE} with (force)");
    client.batch_execute(&sql).unwrap();
}

/// Tells that a page was not run; in CI nothing is skipped.
fn skip(page: &str) {
    let why = format!("{page}, because `{SERVER}` is not set, see `scripts/postgres --help`");
    assert!(std::env::var_os("CI").is_none(), "skipped: {why}");
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("skipped: {why}\n"));
}

/// What a page looked like when it was run.
#[derive(Default)]
struct Outcome {
    blocks: usize,
    /// What nobody can mend but its author.
    problems: Vec<String>,
    updates: Vec<Update>,
}

/// A block that differs: where it stands, what is wrong, and the lines it should have.
struct Update {
    first: usize,
    len: usize,
    complaint: String,
    lines: Vec<String>,
}

fn run_page(name: &str, page: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let mut folder = None;
    let instructions = instructions(page).unwrap_or_else(|problem| {
        outcome.problems.push(format!("{name}:{problem}"));
        Vec::new()
    });
    for instruction in instructions {
        let result = match instruction {
            Instruction::Project { kind, .. }
                if kind == "postgres" && std::env::var_os(SERVER).is_none() =>
            {
                skip(name);
                return outcome;
            }
            Instruction::Project { line, kind } => PageFolder::new(&kind)
                .map(|new| folder = Some(new))
                .map_err(|problem| format!("{name}:{line}: {problem}")),
            Instruction::File { path, text } => match &folder {
                Some(folder) => {
                    folder.write(&path, &text);
                    Ok(())
                }
                None => Err(format!(
                    "{name}: the file `{path}` stands before any project"
                )),
            },
            Instruction::Console { first, lines } => {
                outcome.blocks += 1;
                run_block(folder.as_mut(), first, &lines)
                    .map(|update| outcome.updates.extend(update))
                    .map_err(|problem| format!("{name}:{first}: {problem}"))
            }
        };
        outcome.problems.extend(result.err());
    }
    outcome
}

/// Runs a block; returns what to change, if it differs.
fn run_block(
    folder: Option<&mut PageFolder>,
    first: usize,
    lines: &[String],
) -> Result<Option<Update>, String> {
    let folder = folder.ok_or("no project is chosen before this block")?;
    let steps = steps(lines)?;
    let mut complaint = String::new();
    let mut update = Vec::new();
    let mut last = 0;
    for (nth, step) in steps.iter().enumerate() {
        let command = replaced(&step.command, folder.ids.iter());
        let (text, code) = if folder.turn(&command) {
            (String::new(), 0)
        } else {
            folder.run(&command, last)
        };
        let actual: Vec<&str> = text.lines().collect();
        update.extend(format!("$ {}", step.command).lines().map(str::to_owned));
        if let Some(ids) = agree(&step.expected, &actual, &folder.ids) {
            update.extend(step.expected.iter().cloned());
            folder.ids = ids;
        } else {
            let known = folder.ids.iter().map(|(of_page, given)| (given, of_page));
            update.extend(replaced(&text, known).lines().map(str::to_owned));
            // Writing to a string cannot fail.
            let _ = write!(complaint, "`{}` printed\n{text}\n", step.command);
        }
        let asked = steps
            .get(nth + 1)
            .is_some_and(|next| next.command == "echo $?");
        if code != 0 && !asked {
            let command = &step.command;
            return Err(format!(
                "`{command}` exits with {code}; say so with `$ echo $?` below it\n{text}"
            ));
        }
        last = code;
    }
    Ok((!complaint.is_empty()).then_some(Update {
        first,
        len: lines.len(),
        complaint,
        lines: update,
    }))
}

fn updated(page: &str, updates: Vec<Update>) -> String {
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    for update in updates.into_iter().rev() {
        lines.splice(update.first..update.first + update.len, update.lines);
    }
    lines
        .into_iter()
        .flat_map(|line| [line, "\n".to_owned()])
        .collect()
}

#[test]
fn every_block_prints_what_the_page_says() {
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut blocks = 0;
    let mut problems = Vec::new();
    for name in pages() {
        let file = root().join(&name);
        let page = fs::read_to_string(&file).unwrap();
        let outcome = run_page(&name, &page);
        blocks += outcome.blocks;
        problems.extend(outcome.problems);
        if update && !outcome.updates.is_empty() {
            fs::write(&file, updated(&page, outcome.updates)).unwrap();
        } else {
            let differ = outcome.updates.iter();
            problems.extend(differ.map(|it| format!("{name}:{}: {}", it.first, it.complaint)));
        }
    }
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    assert!(
        blocks >= FEWEST_BLOCKS,
        "{blocks} blocks are fewer than {FEWEST_BLOCKS}"
    );
}

#[test]
fn every_link_leads_to_a_file() {
    let mut broken = Vec::new();
    for name in pages().into_iter().chain(WITHOUT_BLOCKS.map(str::to_owned)) {
        let file = root().join(&name);
        let page = fs::read_to_string(&file).unwrap();
        for link in links(&page) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match path {
                "" => file.clone(),
                path => file.parent().unwrap().join(path),
            };
            let heading_found = || {
                let text = fs::read_to_string(&target).unwrap_or_default();
                anchors(&text).any(|found| found == anchor)
            };
            if !target.exists() || !anchor.is_empty() && !heading_found() {
                broken.push(format!("{name}: `{link}` leads nowhere"));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

/// Returns the targets of links within the repository.
fn links(page: &str) -> impl Iterator<Item = &str> {
    page.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')').map(|(link, _)| link))
        .filter(|link| !link.contains("://") && !link.contains(['\n', ' ', '`']))
}

/// Returns the anchors that a page's headings have.
fn anchors(page: &str) -> impl Iterator<Item = String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let words = line.trim_start_matches('#').trim().to_lowercase();
        words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect()
    })
}

#[test]
fn a_page_that_is_wrong_is_named_with_its_place() {
    let page = "\
```console
$ callsheet --version
```

<!-- project: empty -->

```toml
# file: a/b.toml
x = 1
```

```console
$ cat a/b.toml
x = 2
$ cat a/*.toml | sed 's/x/y/'
…
$ callsheet nothing >/dev/null 2>&1
```

```console
output
```
";
    let outcome = run_page("page.md", page);
    assert_eq!(
        outcome.problems,
        [
            "page.md:1: no project is chosen before this block",
            "page.md:12: `callsheet nothing >/dev/null 2>&1` exits with 2; say so with `$ echo $?` below it\n",
            "page.md:20: the block does not begin with `$ `",
        ]
    );
    let fixed = page.replace("nothing >/dev/null 2>&1", "--version >/dev/null");
    let outcome = run_page("page.md", &fixed);
    assert_eq!(
        outcome.updates[0].complaint,
        "`cat a/b.toml` printed\nx = 1\n\n"
    );
    let again = run_page("page.md", &updated(&fixed, outcome.updates));
    assert_eq!((again.updates.len(), again.blocks), (0, 3));
}

#[test]
fn dots_match_what_they_stand_for_and_nothing_else() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (expected, actual, agrees) in [
        ("a\n…\nc", "a\nb\nb\nc", true),
        ("a\n…\nc", "a\nc", false),
        ("a\n…", "a\nb", true),
        ("a\n…", "a", false),
        ("b3:…, x", "b3:12, x", true),
        ("b3:…, x", "b3:12, y", false),
        ("a…b…c", "a1b2c", true),
        ("a…b…c", "ac", false),
        ("a", "a\nb", false),
        ("", "", true),
        ("sealed 1hf7yat00efp05", "sealed 1m7f7ztb8m0qva", true),
        ("sealed 1hf7yat00efp05", "sealed 1m7f7ztb8m0qv", false),
        ("sealed 1hf7yat00efp05", "sealed 9m7f7ztb8m0qva", false),
        (
            "1hf7yat00efp05, 1hf7yat00efp05",
            "1m7f7ztb8m0qva, 1m7f7ztb8m0qva",
            true,
        ),
        (
            "1hf7yat00efp05, 1hf7yat00efp05",
            "1m7f7ztb8m0qva, 1m7f7zt9sk5gme",
            false,
        ),
        ("…1hf7yat00efp05…", "a 1m7f7ztb8m0qva b", true),
    ] {
        let actual: Vec<&str> = actual.lines().collect();
        let found = agree(&lines(expected), &actual, &Ids::new());
        assert_eq!(found.is_some(), agrees, "{expected:?}");
    }
    assert_eq!(
        steps(&lines("$ a \\\n  b\nc")).unwrap()[0].command,
        "a \\\n  b"
    );
    assert_eq!(
        anchors("## Exit `codes` now").next().unwrap(),
        "exit-codes-now"
    );
    assert_eq!(
        links("[a](b.md#c) [d](https://x)").collect::<Vec<_>>(),
        ["b.md#c"]
    );
}
