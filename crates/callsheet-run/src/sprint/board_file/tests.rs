//! Boards on a real disk: where they are found, links, modes, and what somebody writes in between.

use std::path::PathBuf;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::sprint::SprintPaths;

const BOARD: &str = "# ours\r\nstory_location: x\r\ndevelopment_status:\r\n  epic-1: backlog\r\n  1-1-a: 'drafted' # soon\r\n  1-2-b: done\r\n  1-3-c: superseded";

struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let disk = Self { folder };
        for (path, text) in files {
            let path = disk.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(disk.path(".callsheet")).unwrap();
        disk
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn find(&self, board: Option<&str>) -> Result<BoardFile, RunError> {
        let settings = SprintSettings {
            board: board.map(str::to_owned),
            ..SprintSettings::default()
        };
        BoardFile::find(&self.path(""), &settings, &SprintPaths::default().layout())
    }

    fn set(&self, file: &BoardFile, key: &str, expected: Option<&str>, to: Status) -> Written {
        let home = self.path(".callsheet");
        file.set(&home, key, expected, (to, false)).unwrap()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }
}

#[test]
fn the_most_usual_place_wins_and_the_others_are_reported() {
    let disk = Disk::new(&[
        ("sprint-status.yaml", BOARD),
        ("docs/sprint-status.yaml", BOARD),
        ("docs/stories.yaml", "[]"),
        ("mine/board.yaml", BOARD),
    ]);
    let found = disk.find(None).unwrap();
    assert_eq!(found.path(), "docs/sprint-status.yaml");
    assert_eq!(found.others(), ["sprint-status.yaml", "docs/stories.yaml"]);
    let named = disk.find(Some("mine/board.yaml")).unwrap();
    assert_eq!((named.path(), named.others().len()), ("mine/board.yaml", 0));
    let error = disk.find(Some("other.yaml")).unwrap_err();
    assert_eq!(error.to_string(), "the board `other.yaml` does not exist");
    let error = Disk::new(&[("x", "")]).find(None).unwrap_err();
    assert_eq!(error.to_string(), "no board `sprint-status.yaml`");
}

#[test]
fn a_link_is_followed_inside_the_root_and_stays_a_link() {
    let disk = Disk::new(&[("shared/board.yaml", BOARD), ("docs/x", "")]);
    symlink("../shared/board.yaml", disk.path("docs/sprint-status.yaml")).unwrap();
    let mode = |mode| {
        fs::set_permissions(
            disk.path("shared/board.yaml"),
            fs::Permissions::from_mode(mode),
        )
    };
    mode(0o640).unwrap();
    let file = disk.find(None).unwrap();
    let written = disk.set(&file, "1-1-a", Some("ready-for-dev"), Status::InProgress);
    let (from, path) = ("drafted".to_owned(), "docs/sprint-status.yaml".to_owned());
    assert_eq!(written, Written::Set { from, path });
    assert!(disk.path("docs/sprint-status.yaml").is_symlink());
    let expected = BOARD.replace("'drafted'", "'in-progress'");
    assert_eq!(disk.read("shared/board.yaml"), expected);
    let found = fs::metadata(disk.path("shared/board.yaml")).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(disk.path("shared")).unwrap().count(), 1);

    // A file that nobody may write in place is replaced all the same, and keeps its mode.
    mode(0o440).unwrap();
    let home = disk.path(".callsheet");
    file.set(&home, "1-1-a", None, (Status::Review, false))
        .unwrap();
    let found = fs::metadata(disk.path("shared/board.yaml")).unwrap();
    assert_eq!(found.permissions().mode() & 0o777, 0o440);
    let expected = expected.replace("'in-progress'", "'review'");
    assert_eq!(disk.read("shared/board.yaml"), expected);
}

#[test]
fn a_link_that_leads_out_is_refused() {
    let disk = Disk::new(&[("docs/x", "")]);
    fs::write(disk.folder.path().join("board.yaml"), BOARD).unwrap();
    symlink("../../board.yaml", disk.path("docs/sprint-status.yaml")).unwrap();
    let file = disk.find(None).unwrap();
    let error = file.read().unwrap_err().to_string();
    assert_eq!(
        error,
        "`docs/sprint-status.yaml` leads out of the root: through a link"
    );
}

#[test]
fn what_a_person_wrote_in_between_stays() {
    let disk = Disk::new(&[("sprint-status.yaml", BOARD)]);
    let file = disk.find(None).unwrap();
    let differs = disk.set(&file, "1-1-a", Some("backlog"), Status::InProgress);
    assert_eq!(
        differs,
        Written::Differs {
            found: Some("drafted".to_owned())
        }
    );
    let gone = disk.set(&file, "9-9", Some("backlog"), Status::InProgress);
    assert_eq!(gone, Written::Differs { found: None });
    let refused = disk.set(&file, "1-2-b", None, Status::Review);
    assert!(matches!(
        refused,
        Written::Refused {
            why: SetError::Downgrade { .. },
            ..
        }
    ));
    assert_eq!(disk.set(&file, "1-2-b", None, Status::Done), Written::Same);
    assert_eq!(disk.read("sprint-status.yaml"), BOARD);

    let written = file.write("sprint-status.yaml", "something else", "new");
    assert!(!written.unwrap(), "an editor was faster");
    assert_eq!(disk.read("sprint-status.yaml"), BOARD);
    // A line that was added meanwhile is kept by the next change.
    let edited = BOARD.replace("# ours", "# ours\r\n# a note");
    fs::write(disk.path("sprint-status.yaml"), &edited).unwrap();
    disk.set(&file, "1-1-a", None, Status::Done);
    assert_eq!(
        disk.read("sprint-status.yaml"),
        edited.replace("'drafted'", "'done'")
    );
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let entries: Vec<String> = (0..40).map(|n| format!("  1-{n}: backlog")).collect();
    let entries = entries.join("\n");
    let disk = Disk::new(&[(
        "sprint-status.yaml",
        &format!("development_status:\n{entries}\n"),
    )]);
    std::thread::scope(|scope| {
        for half in [0, 1] {
            let disk = &disk;
            scope.spawn(move || {
                let file = disk.find(None).unwrap();
                for n in (half..40).step_by(2) {
                    disk.set(&file, &format!("1-{n}"), Some("backlog"), Status::Done);
                }
            });
        }
    });
    assert_eq!(
        disk.read("sprint-status.yaml").matches(": done\n").count(),
        40
    );
}

#[test]
fn files_that_are_no_board_are_refused_and_left_alone() {
    let disk = Disk::new(&[("sprint-status.yaml", "epics:\n  - a\n")]);
    let file = disk.find(None).unwrap();
    let error = file.set(&disk.path(".callsheet"), "a", None, (Status::Done, true));
    assert_eq!(
        error.unwrap_err().to_string(),
        "sprint-status.yaml: no `development_status` at the top level; found `epics`"
    );
    fs::write(disk.path("sprint-status.yaml"), [0xff, 0xfe]).unwrap();
    let error = file.read().unwrap_err().to_string();
    assert_eq!(error, "sprint-status.yaml: not valid UTF-8");
    let large = fs::File::create(disk.path("sprint-status.yaml")).unwrap();
    large.set_len(LIMIT + 1).unwrap();
    let error = file.read().unwrap_err().to_string();
    assert!(
        error.starts_with("`sprint-status.yaml` is over the file size limit"),
        "{error}"
    );
}

#[test]
fn a_list_of_stories_has_the_status_of_their_files() {
    let spec = "---\ntitle: x\nstatus: ready-for-dev # a\n---\nText.\n";
    let disk = Disk::new(&[
        (
            "spec/stories.yaml",
            "- id: \"b\"\n- id: \"a\"\n- id: \"c\"\n- id: d\n",
        ),
        ("spec/stories/a-login.md", spec),
        ("spec/stories/b-unresolved.md", ""),
        ("spec/stories/d.md", "---\nstatus: in-review\n---\n"),
    ]);
    let file = disk.find(Some("spec/stories.yaml")).unwrap();
    let board = file.read().unwrap();
    let words: Vec<&str> = board
        .entries()
        .iter()
        .map(|entry| entry.word.text.as_str())
        .collect();
    assert_eq!(
        words,
        ["unresolved", "ready-for-dev", "backlog", "in-review"]
    );
    assert_eq!(callsheet::sprint::next(&board).story_keys, ["a"]);
    let set = disk.set(&file, "a", None, Status::Review);
    let path = "spec/stories/a-login.md".to_owned();
    assert_eq!(
        set,
        Written::Set {
            from: "ready-for-dev".to_owned(),
            path
        }
    );
    assert_eq!(
        disk.read("spec/stories/a-login.md"),
        spec.replace("ready-for-dev", "in-review")
    );
    let error = file.set(&disk.path(".callsheet"), "c", None, (Status::Done, true));
    assert_eq!(
        error.unwrap_err().to_string(),
        "spec/stories.yaml:3: the story `c` has no file in `spec/stories` that could have a status"
    );
    let refused = disk.set(&file, "d", None, Status::Backlog);
    let why = SetError::Downgrade {
        key: "d".to_owned(),
        line: 2,
        from: "in-review".to_owned(),
        to: Status::Backlog,
    };
    let path = "spec/stories/d.md".to_owned();
    assert_eq!(refused, Written::Refused { path, why });
    let files = file.story_files(&board).unwrap();
    assert_eq!(files["a"][0].path, "spec/stories/a-login.md");
    assert!(files["c"].is_empty());
}

#[test]
fn story_files_are_seen_with_their_status() {
    let disk = Disk::new(&[
        ("docs/sprint-status.yaml", BOARD),
        ("docs/stories/1-1-a.md", "# A\n\nStatus: review\n"),
        (
            "_bmad-output/implementation-artifacts/sprint-1-2-b.md",
            "text",
        ),
    ]);
    let file = disk.find(None).unwrap();
    let board = file.read().unwrap();
    let files = file.story_files(&board).unwrap();
    assert_eq!(files["1-1-a"][0].path, "docs/stories/1-1-a.md");
    assert_eq!(files["1-1-a"][0].noted.as_ref().unwrap().line, 3);
    assert_eq!(files["1-2-b"][0].noted, None);
    assert!(files["1-3-c"].is_empty());
}

/// Returns the sample boards that can be read.
fn samples() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../callsheet/tests/boards");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let texts = files.map(|file| fs::read_to_string(file).unwrap());
    texts
        .filter(|text| Board::parse(text.as_str(), "sample").is_ok())
        .collect()
}

#[test]
fn real_boards_are_changed_through_a_link_and_back() {
    let samples = samples();
    assert!(samples.len() >= 18);
    for text in samples
        .into_iter()
        .flat_map(|text| [text.replace('\n', "\r\n"), text])
    {
        let disk = Disk::new(&[("shared/board.yaml", &text), ("docs/x", "")]);
        symlink("../shared/board.yaml", disk.path("docs/sprint-status.yaml")).unwrap();
        let (file, home) = (disk.find(None).unwrap(), disk.path(".callsheet"));
        let board = file.read().unwrap();
        let mut stories = board
            .stories()
            .filter(|story| Status::named(&story.word.text).is_some());
        for story in [stories.next(), stories.last()].into_iter().flatten() {
            let from = story.word.status.unwrap();
            for to in Status::ALL.into_iter().filter(|to| *to != from) {
                file.set(&home, &story.key, None, (to, true)).unwrap();
                let changed = board.set(&story.key, to, true).unwrap();
                assert_eq!(disk.read("shared/board.yaml"), changed);
            }
            file.set(&home, &story.key, None, (from, true)).unwrap();
            assert_eq!(disk.read("shared/board.yaml"), text);
        }
        assert!(disk.path("docs/sprint-status.yaml").is_symlink());
    }
}
