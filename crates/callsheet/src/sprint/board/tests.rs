//! What a board may look like, what is refused and with which words, and that a change touches one line.

use super::*;

fn refused(text: &str) -> String {
    Board::parse(text, "b.yaml").unwrap_err().to_string()
}

fn words(board: &Board) -> Vec<(&str, &str)> {
    let entries = board.entries().iter();
    entries
        .map(|entry| (entry.key.as_str(), entry.word.text.as_str()))
        .collect()
}

#[test]
fn both_layouts_are_read_with_quotes_and_comments() {
    let text = "\u{feff}---\r\n# development_status: x\r\nproject: \"a: b\"\r\nnote: 'one\r\n  it''s two'\r\nlist:\r\n- development_status: x\r\ndevelopment_status: # all of it\r\n\r\n    epic-1: contexted   # 1\r\n    # 1-0: done\r\n    1-1-a: \"in-progress\" # a #b\r\n    '1-2-b' : 'won''t do'\r\n    \"1-3: c\": done#1\r\n    34.1: done ✅ yes\r\n    1-4:\r\n    1-5:\r\n      name: \"x\r\n      status: done\"\r\n      tasks:\r\n      - status: x\r\n      deep:\r\n          status: y\r\n      status: review\r\n    1-6:\r\n      name: x\r\nafter:\r\n  epic-1: done";
    let board = Board::parse(text, "b.yaml").unwrap();
    let expected = [
        ("epic-1", "contexted"),
        ("1-1-a", "in-progress"),
        ("1-2-b", "won't do"),
        ("1-3: c", "done#1"),
        ("34.1", "done ✅ yes"),
        ("1-4", ""),
        ("1-5", "review"),
        ("1-6", ""),
    ];
    assert_eq!(words(&board), expected);
    let lines: Vec<usize> = board.entries().iter().map(|entry| entry.line).collect();
    assert_eq!(lines, [10, 12, 13, 14, 15, 16, 17, 25]);
    let changed = |key: &str| {
        let new = board.set(key, Status::Blocked, true).unwrap();
        let pairs = text.split('\n').zip(new.split('\n'));
        let mut lines = pairs.filter(|(old, new)| old != new).map(|(_, new)| new);
        let line = lines.next().unwrap().to_owned();
        assert_eq!(lines.next(), None);
        line
    };
    assert_eq!(changed("1-1-a"), "    1-1-a: \"blocked\" # a #b\r");
    assert_eq!(changed("1-2-b"), "    '1-2-b' : 'blocked'\r");
    assert_eq!(changed("1-3: c"), "    \"1-3: c\": blocked\r");
    assert_eq!(changed("34.1"), "    34.1: blocked\r");
    assert_eq!(changed("1-4"), "    1-4: blocked\r");
    assert_eq!(changed("1-5"), "      status: blocked\r");
    assert_eq!(changed("epic-1"), "    epic-1: blocked   # 1\r");
}

#[test]
fn files_without_a_board_are_refused() {
    insta::assert_snapshot!([
        refused(""),
        refused("# only a comment\n"),
        refused("project: x\nepics:\n  - id: 1\n"),
        refused("- development_status: x\n"),
        refused("../other/sprint-status.yaml"),
        refused("development_status: {a: done}\n"),
        refused("development_status: &x\n  a: done\n"),
        refused("development_status: done\n"),
        refused("development_status:\n  a: done\ndevelopment_status:\n  b: done\n"),
        refused("a: 1\n---\ndevelopment_status:\n  a: done\n"),
        refused("a: \"1\ndevelopment_status:\n  a: done\n"),
        refused("a: 1\rdevelopment_status:\n"),
    ].join("\n"), @"
    b.yaml: no `development_status` at the top level; there are no keys at all
    b.yaml: no `development_status` at the top level; there are no keys at all
    b.yaml: no `development_status` at the top level; found `project`, `epics`
    b.yaml:1: this is a list; `development_status` has to be a map of `key: status`
    b.yaml:1: this line is not `key: value`
    b.yaml:1: `development_status` has to be a map: one `key: status` per line below it
    b.yaml:1: `development_status` has to be a map: one `key: status` per line below it
    b.yaml:1: `development_status` has to be a map: one `key: status` per line below it
    b.yaml:3: `development_status` is in line 1 already
    b.yaml:2: a second document begins here
    b.yaml:1: the quoted value never ends
    b.yaml:1: there is a carriage return within the line
    ");
}

#[test]
fn malformed_layouts_are_refused_with_the_line() {
    let block = |entries: &str| refused(&format!("a: 1\ndevelopment_status:\n{entries}"));
    insta::assert_snapshot!([
        block("- a: done\n"),
        block("  - a: done\n"),
        block("  1-1: done\n  1-2: done\n  1-1: review\n"),
        block("  1-1: done\n   1-2: done\n"),
        block("   1-1: done\n  1-2: done\n"),
        block("  1-1: done\n    1-1-1: done\n"),
        block("  1-1:\n      a: b\n    status: done\n"),
        block("  1-1:\n    status: done\n    status: review\n"),
        block("  1-1:\n    - a\n"),
        block("\t1-1: done\n"),
    ].join("\n"), @"
    b.yaml:3: this is a list; `development_status` has to be a map of `key: status`
    b.yaml:3: this is a list; `development_status` has to be a map of `key: status`
    b.yaml:5: `1-1` is in line 3 already
    b.yaml:4: this line is indented by 3 spaces, below `1-1`, which has a status and no fields; the entries above are indented by 2
    b.yaml:4: this line is indented by 2 spaces; the entries above are indented by 3
    b.yaml:4: this line is indented by 4 spaces, below `1-1`, which has a status and no fields; the entries above are indented by 2
    b.yaml:5: this line is indented by 4 spaces; the fields above are indented by 6
    b.yaml:5: `status` is in line 4 already
    b.yaml:4: an entry has to be a status or a map with `status`
    b.yaml:3: there is a tab in front; use spaces
    ");
}

#[test]
fn malformed_lines_are_refused_with_the_line() {
    let block = |entries: &str| refused(&format!("a: 1\ndevelopment_status:\n{entries}"));
    insta::assert_snapshot!([
        block("  1-1:\tdone\n"),
        block("  1-1: do\tne\n"),
        block("  1-1: done 1-2: done\n"),
        block("  1-1: {status: done}\n"),
        block("  1-1: [done]\n"),
        block("  1-1: *x\n"),
        block("  1-1: !!str done\n"),
        block("  1-1: >-\n    done\n"),
        block("  ? 1-1\n"),
        block("  1-1: \"done\n"),
        block("  1-1: \"done\" x\n"),
        block("  1-1: \"do\\ne\"\n"),
        block("  1-1: do\u{1b}ne\n"),
        block("  1\u{7}: done\n"),
        block("  : done\n"),
        block("  just text\n"),
        block("  1-1:done\n"),
        block("  1-1: done\n## Heading\ntext of a page\n"),
    ].join("\n"), @r"
    b.yaml:3: there is a tab behind the key; use spaces
    b.yaml:3: the value contains a tab
    b.yaml:3: there are two `key: value` in one line
    b.yaml:3: a map or list in one line is not understood; write `key: status`
    b.yaml:3: a map or list in one line is not understood; write `key: status`
    b.yaml:3: anchors and aliases are not understood
    b.yaml:3: `!` at the start has a meaning in YAML that is not understood
    b.yaml:3: a text of several lines is not a status
    b.yaml:3: `?` at the start has a meaning in YAML that is not understood
    b.yaml:3: the quoted value does not end in this line
    b.yaml:3: there is something behind the quoted value
    b.yaml:3: there is a `\` in double quotes; use a plain word
    b.yaml:3: the value contains a control character
    b.yaml:3: the key contains a control character
    b.yaml:3: the key is empty
    b.yaml:3: this line is not `key: value`
    b.yaml:3: this line is not `key: value`
    b.yaml:5: this line is not `key: value`
    ");
    let long = format!("  {}: done\n", "x".repeat(KEY_LIMIT + 1));
    assert_eq!(block(&long), "b.yaml:3: the key is longer than 500 bytes");
}

#[test]
fn a_variable_without_quotes_is_read_with_a_warning() {
    let text = "story_location: {project-root}/docs\nother: {implementation_artifacts}\nmap: {a: 1} # x\ndevelopment_status: {}\n";
    let board = Board::parse(text, "b.yaml").unwrap();
    assert_eq!(
        board.warnings(),
        [Warning {
            line: 1,
            message: "the value of `story_location` is not valid YAML; put it in quotes".to_owned()
        }]
    );
    assert!(board.entries().is_empty());
}

#[test]
fn nothing_goes_back_and_no_unknown_word_is_overwritten_unasked() {
    let text = "development_status:\n  1-1: review\n  1-2: superseded\n  1-3: drafted\n  1-4: blocked\n  1-5: Done\n  1-6:\n  1-7:\n    name: x\n  epic-1-retrospective: optional\n";
    let board = Board::parse(text, "b.yaml").unwrap();
    let refused = |key: &str, to| {
        let error = board.set(key, to, false).unwrap_err();
        format!("{:?} {} {error}", error.line(), error.yields_to_force())
    };
    insta::assert_snapshot!([
        refused("1-1", Status::InProgress),
        refused("1-2", Status::Done),
        refused("1-5", Status::Blocked),
        refused("1-6", Status::Done),
        refused("1-7", Status::Done),
        refused("1-8", Status::Done),
    ].join("\n"), @"
    Some(2) true `1-1` is `review`, which is past `in-progress`
    Some(3) true `1-2` is `superseded`, which is not a known status
    Some(6) true `1-5` is `Done`, which is past `blocked`
    Some(7) true `1-6` has an empty status
    Some(8) false `1-7` has no `status`
    None false no entry `1-8` below `development_status`
    ");
    let line = |key: &str, to, force| {
        let new = board.set(key, to, force).unwrap();
        let line = board.get(key).unwrap().line;
        new.lines().nth(line - 1).unwrap().to_owned()
    };
    assert_eq!(line("1-1", Status::Review, false), "  1-1: review");
    assert_eq!(line("1-1", Status::Blocked, false), "  1-1: blocked");
    assert_eq!(line("1-1", Status::Backlog, true), "  1-1: backlog");
    assert_eq!(line("1-2", Status::Done, true), "  1-2: done");
    assert_eq!(
        line("1-3", Status::ReadyForDev, false),
        "  1-3: ready-for-dev"
    );
    assert_eq!(line("1-4", Status::Backlog, false), "  1-4: backlog");
    assert_eq!(line("1-5", Status::Done, false), "  1-5: done");
    let retrospective = "epic-1-retrospective";
    assert_eq!(
        line(retrospective, Status::Done, false),
        "  epic-1-retrospective: done"
    );
}

#[test]
fn keys_are_told_apart() {
    for (key, kind) in [
        ("epic-1", Kind::Epic),
        ("epic-0-copper", Kind::Epic),
        ("supp-epic-1", Kind::Epic),
        ("cleanup-sprint", Kind::Epic),
        ("zz-beacon-phase1", Kind::Epic),
        ("mvp-phase-2", Kind::Epic),
        ("epic-1-retrospective", Kind::Retrospective),
        ("ABC-001-retrospective", Kind::Retrospective),
        ("4-1-plan-next-sprint", Kind::Story),
        ("4-2-phase-2", Kind::Story),
        ("epicurean-1-x", Kind::Story),
        ("supp-epic-1-login", Kind::Story),
        ("hotfix-1-x", Kind::Story),
        ("1-1", Kind::Story),
        ("spike", Kind::Story),
    ] {
        assert_eq!(Kind::of(key), kind, "{key}");
    }
}

#[test]
fn any_word_can_be_put_that_is_read_as_it_was_given() {
    let text = "development_status:\n  1-1: backlog # a\n  1-2: 'done'\n";
    let board = Board::parse(text, "board").unwrap();
    let put = |key: &str, word: &str| board.put(key, word).map_err(|error| error.to_string());
    assert_eq!(
        put("1-1", "won't do").unwrap(),
        text.replace("backlog", "won't do")
    );
    assert_eq!(
        put("1-2", "merged").unwrap(),
        text.replace("done", "merged")
    );
    for (key, word) in [
        ("1-1", ""),
        ("1-1", "a # b"),
        ("1-1", "a: b"),
        ("1-1", "{a"),
        ("1-1", "a\n  1-3: done"),
        ("1-2", "won't do"),
        ("1-2", "a' # '"),
    ] {
        let error = format!("`{word}` cannot stand there as a status");
        assert_eq!(put(key, word), Err(error), "{key}");
    }
    assert!(put("9-9", "done").is_err());
}
