//! Stories at every point of the board, people who edit it, and commits that are not what they should be.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::play::{BOARD, IMPL, Sprint, lines};

const PAIR: [(&str, &str); 2] = [("1-1", "backlog"), ("1-2", "backlog")];

/// Runs a sprint of one story that has these files, and returns the phases that it went through.
fn phases(status: &str, files: &[(&str, &str)]) -> String {
    let sprint = Sprint::new(&[("1-1", status)], "");
    for (name, text) in files {
        sprint.desk.project.file(&format!("{IMPL}/{name}"), text);
    }
    sprint.ran(0);
    assert_eq!(sprint.words(), "1-1: done");
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
    let calls = sprint.calls();
    let phases = calls.iter().map(|call| call.split(' ').next().unwrap());
    phases.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_story_begins_where_the_board_says() {
    assert_eq!(
        phases("backlog", &[]),
        "create-story create-story-discovery story-review dev-story code-review commit"
    );
    assert_eq!(phases("in-progress", &[]), "dev-story code-review commit");
    assert_eq!(phases("review", &[]), "code-review commit");
}

#[test]
fn a_story_that_is_ready_gets_a_tech_spec_unless_its_files_say_otherwise() {
    let whole = "create-tech-spec tech-spec-review dev-story code-review commit";
    let short = "dev-story code-review commit";
    assert_eq!(phases("ready-for-dev", &[]), whole);
    let spec = ("sprint-tech-spec-1-1.md", "# Spec\n");
    assert_eq!(phases("ready-for-dev", &[spec]), short);
    let skip = ("sprint-1-1.md", "# Story\n\n[TECH-SPEC-DECISION: SKIP]\n");
    assert_eq!(phases("ready-for-dev", &[skip]), short);
    let required = ("sprint-1-1.md", "[TECH-SPEC-DECISION: REQUIRED]\n");
    assert_eq!(phases("ready-for-dev", &[required]), whole);
}

#[test]
fn what_belongs_to_a_blocked_story_is_not_committed() {
    let hook = "if [ $phase = code-review ] && [ $story = 1-2 ]; then
        echo '- [CRITICAL] src/1-2.txt:1 it is wrong'
        echo 'HIGHEST SEVERITY: CRITICAL'
        ended
    fi";
    let sprint = Sprint::new(&PAIR, hook);
    sprint.ran(1);
    assert_eq!(sprint.words(), "1-1: done, 1-2: blocked");
    insta::assert_snapshot!(sprint.calls().join("\n"), @"
    create-story 1-1,1-2 1
    create-story-discovery 1-1,1-2 1
    story-review 1-1,1-2 1
    dev-story 1-1 1
    code-review 1-1 1
    dev-story 1-2 1
    code-review 1-2 1
    code-review 1-2 2
    code-review 1-2 3
    commit 1-1 1
    ");
    insta::assert_snapshot!(sprint.commits(), @"
    feat: implement 1-1
    _bmad-output/implementation-artifacts/sprint-1-1-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-1-1.md
    _bmad-output/implementation-artifacts/sprint-status.yaml
    src/1-1.txt
    ");
    // Its files stay where whoever looks at it finds them.
    assert!(
        sprint
            .desk
            .project
            .path(&format!("{IMPL}/sprint-1-2.md"))
            .exists()
    );
    assert_eq!(sprint.field("cleanup:file_moved", "file_name").len(), 2);
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
}

#[test]
fn a_commit_agent_that_takes_the_files_of_a_blocked_story_is_told_so() {
    let hook = "if [ $phase = dev-story ] && [ $story = 1-2 ]; then
        echo half > src/1-2.txt
        echo '[DEV-STORY-BLOCKED: YES]'
        ended
    fi
    if [ $phase = commit ] && [ $nth = 1 ]; then git add --all; commit everything; ended; fi";
    let sprint = Sprint::new(&PAIR, hook);
    sprint.ran(1);
    assert_eq!(sprint.words(), "1-1: done, 1-2: blocked");
    insta::assert_snapshot!(sprint.commits(), @"
    feat: implement 1-1
    _bmad-output/implementation-artifacts/sprint-1-1-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-1-1.md
    _bmad-output/implementation-artifacts/sprint-status.yaml
    src/1-1.txt
    ");
    assert_eq!(sprint.desk.project.read("src/1-2.txt"), "half\n");
    sprint.assert_clean();
}

#[test]
fn without_a_finished_story_nothing_is_committed() {
    let hook = "if [ $phase = dev-story ]; then echo '[DEV-STORY-BLOCKED: YES]'; ended; fi";
    let sprint = Sprint::new(&PAIR, hook);
    let head = sprint.desk.git(&["rev-parse", "HEAD"]);
    sprint.ran(1);
    assert_eq!(sprint.words(), "1-1: blocked, 1-2: blocked");
    assert_eq!(sprint.desk.git(&["rev-parse", "HEAD"]), head);
    let calls = sprint.calls();
    assert!(!calls.iter().any(|call| call.starts_with("commit")));
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
}

/// Runs a pair while somebody changes the second story on the board, and returns what agents did for it afterwards.
fn edited(word: &str, code: i32) -> Sprint {
    let hook = format!(
        "if [ $phase = dev-story ] && [ $story = 1-1 ]; then
        sed -i 's/  1-2: .*/  1-2: {word} # mine/; s/^# The sprint/# The sprint, edited/' $board
    fi"
    );
    let sprint = Sprint::new(&PAIR, &hook);
    sprint.ran(code);
    let board = sprint.board();
    assert!(board.starts_with("# The sprint, edited\n"), "{board}");
    assert_eq!(sprint.words(), format!("1-1: done, 1-2: {word} # mine"));
    let calls = sprint.calls();
    let late = calls.iter().filter(|call| call.ends_with(" 1-2 1"));
    assert_eq!(late.count(), 0, "{calls:?}");
    assert_eq!(
        sprint.field("batch:warning", "message"),
        [format!(
            "1-2 was set to `{word}` by somebody else; it is left alone"
        )]
    );
    assert!(sprint.commits().starts_with("feat: implement 1-1\n"));
    sprint.assert_clean();
    sprint
}

#[test]
fn what_a_person_writes_on_the_board_counts() {
    edited("blocked", 1);
    edited("done", 0);
    edited("paused", 1);
}

#[test]
fn a_comment_and_another_story_change_nothing_for_the_sprint() {
    let hook = "if [ $phase = dev-story ]; then
        sed -i 's/  9-1: backlog/  9-1: blocked/; s/^# The sprint/# Edited/' $board
    fi";
    let sprint = Sprint::new(&[("1-1", "backlog"), ("9-1", "backlog")], hook);
    sprint.ran(0);
    insta::assert_snapshot!(sprint.board(), @"
    # Edited
    project: shop

    development_status:
      1-1: done
      9-1: blocked
    ");
    assert_eq!(sprint.payloads("batch:warning").len(), 0);
    sprint.assert_clean();
}

#[test]
fn an_agent_does_not_finish_its_story_by_writing_so() {
    let hook = "if [ $phase = dev-story ]; then sed -i 's/  1-1: .*/  1-1: done/' $board; fi";
    let sprint = Sprint::new(&[("1-1", "ready-for-dev")], hook);
    sprint.ran(0);
    assert!(sprint.calls().contains(&"code-review 1-1 1".to_owned()));
    assert_eq!(
        sprint.field("batch:warning", "message"),
        ["1-1 was set to `done` while an agent worked on it; that is taken back"]
    );
    assert_eq!(
        sprint.field("story:status", "new_status"),
        ["in-progress", "review", "done"]
    );
    sprint.assert_clean();
}

#[test]
fn a_key_is_not_the_beginning_of_a_longer_one() {
    let hook =
        "grep -o '<file path=\"[^\"]*\"' \"$system\" | sed \"s/^/$phase /\" >> \"$out/injected\"";
    let sprint = Sprint::new(&[("2a-1", "backlog"), ("2a-10", "done")], hook);
    let names = ["sprint-2a-10.md", "sprint-2a-10-discovery-story.md"];
    for name in names {
        sprint
            .desk
            .project
            .file(&format!("{IMPL}/{name}"), "other\n");
    }
    sprint.ran(0);
    let injected = lines(&sprint.out("injected"));
    let other = injected.iter().filter(|line| line.contains("2a-10"));
    assert_eq!(other.count(), 0, "{injected:?}");
    insta::assert_snapshot!(sprint.commits(), @"
    feat: implement 2a-1
    _bmad-output/implementation-artifacts/sprint-2a-1-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-2a-1.md
    _bmad-output/implementation-artifacts/sprint-status.yaml
    src/2a-1.txt
    ");
    for name in names {
        assert_eq!(
            sprint.desk.project.read(&format!("{IMPL}/{name}")),
            "other\n"
        );
    }
    assert_eq!(
        sprint.field("cleanup:file_moved", "file_name"),
        ["sprint-2a-1-discovery-story.md", "sprint-2a-1.md"]
    );
    sprint.assert_clean();
}

#[test]
fn files_of_somebody_else_are_neither_committed_nor_lost() {
    let hook = "if [ $phase = commit ] && [ $nth = 1 ]; then git add src/login.rs; fi";
    let sprint = Sprint::new(&[("1-1", "backlog")], hook);
    let project = &sprint.desk.project;
    project.file("src/login.rs", "mine\n");
    project.file("notes.txt", "staged\n");
    sprint.desk.git(&["add", "notes.txt"]);
    project.file("other.txt", "untracked\n");
    sprint.ran(0);
    insta::assert_snapshot!(sprint.commits(), @"
    feat: implement 1-1
    _bmad-output/implementation-artifacts/sprint-1-1-discovery-story.md
    _bmad-output/implementation-artifacts/sprint-1-1.md
    _bmad-output/implementation-artifacts/sprint-status.yaml
    src/1-1.txt
    ");
    assert_eq!(project.read("src/login.rs"), "mine\n");
    assert_eq!(project.read("notes.txt"), "staged\n");
    assert_eq!(project.read("other.txt"), "untracked\n");
    assert_eq!(
        sprint.field("batch:warning", "message"),
        ["the commit has `notes.txt`, `src/login.rs`, which no agent of these stories changed"]
    );
    // The commit that was taken back can still be looked at.
    let refs = [
        "for-each-ref",
        "--format=%(refname)",
        "refs/callsheet/lost/",
    ];
    let lost = sprint.desk.git(&refs);
    assert_eq!(lost.lines().count(), 1, "{lost}");
    let shown = sprint.desk.git(&["show", &format!("{lost}:src/login.rs")]);
    assert_eq!(shown, "mine");
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
}

#[test]
fn there_can_be_nothing_to_commit() {
    let hook = "if [ $phase = dev-story ]; then echo '[DEV-STORY-COMPLETE: YES]'; ended; fi";
    let sprint = Sprint::new(&[], hook);
    sprint.desk.project.file(".gitignore", "_bmad-output\n");
    sprint
        .desk
        .git(&["rm", "-r", "--quiet", "--cached", "_bmad-output"]);
    sprint.desk.commit("start");
    let board = crate::play::board(&[("1-1", "backlog")]);
    sprint.desk.project.file(BOARD, board);
    let head = sprint.desk.git(&["rev-parse", "HEAD"]);
    sprint.ran(0);
    assert_eq!(sprint.desk.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(sprint.words(), "1-1: done");
    assert_eq!(sprint.ends(), "all_done");
    sprint.assert_clean();
}

#[test]
fn a_board_that_nobody_can_read_ends_the_batch() {
    let hook = "if [ $phase = dev-story ] && [ $nth = 1 ]; then
        cp $board \"$out/board\"
        printf '  1-1: done\\n\\tbad\\n' >> $board
        cp $board \"$out/broken\"
    fi";
    let sprint = Sprint::new(&[("1-1", "ready-for-dev")], hook);
    sprint.ran(3);
    assert_eq!(sprint.ends(), "error");
    let read = |name: &str| std::fs::read_to_string(sprint.out(name)).unwrap();
    assert_eq!(sprint.board(), read("broken"));
    sprint.desk.project.file(BOARD, read("board"));
    sprint.ran(0);
    assert_eq!(sprint.words(), "1-1: done");
    assert_eq!(sprint.ends(), "error, all_done");
    insta::assert_snapshot!(sprint.calls().join("\n"), @"
    create-tech-spec 1-1 1
    tech-spec-review 1-1 1
    dev-story 1-1 1
    code-review 1-1 1
    commit 1-1 1
    ");
    sprint.assert_clean();
}

#[test]
fn work_of_a_blocked_story_is_committed_by_the_batch_that_finishes_it() {
    let hook = "if [ $phase = code-review ] && [ ! -e \"$out/seen\" ]; then
        echo '- [HIGH] src/1-1.txt:1 it is wrong'
        echo 'HIGHEST SEVERITY: HIGH'
        ended
    fi";
    let sprint = Sprint::new(&[("1-1", "in-progress")], hook);
    sprint.ran(1);
    assert_eq!(sprint.words(), "1-1: blocked");
    std::fs::write(sprint.out("seen"), "").unwrap();
    let set = ["sprint", "set", "1-1", "review", "--force"];
    assert_eq!(sprint.desk.project.run(&set).code(), Some(0));
    sprint.ran(0);
    insta::assert_snapshot!(sprint.commits(), @"
    feat: implement 1-1
    _bmad-output/implementation-artifacts/sprint-status.yaml
    src/1-1.txt
    ");
    assert_eq!(sprint.ends(), "all_done, all_done");
    sprint.assert_clean();
}

#[test]
fn what_somebody_has_staged_stays_staged_when_a_commit_is_taken_back() {
    let hook = "if [ $phase = commit ] && [ $nth = 1 ]; then
        git add src/1-1.txt src/login.rs
        git -c user.name=n -c user.email=e@x commit --quiet --message partly -- src/1-1.txt src/login.rs
        ended
    fi
    if [ $phase = commit ]; then
        git add src/1-1.txt
        git -c user.name=n -c user.email=e@x commit --quiet --message again -- src/1-1.txt $board
        ended
    fi";
    let sprint = Sprint::new(&[("1-1", "in-progress")], hook);
    let project = &sprint.desk.project;
    project.file("src/login.rs", "mine\n");
    project.file("notes.txt", "staged\n");
    sprint.desk.git(&["add", "notes.txt"]);
    project.file("notes.txt", "staged, and changed again\n");
    sprint.ran(0);
    assert_eq!(sprint.payloads("batch:warning").len(), 1);
    assert_eq!(sprint.desk.git(&["show", ":notes.txt"]), "staged");
    assert_eq!(project.read("notes.txt"), "staged, and changed again\n");
    assert_eq!(project.read("src/login.rs"), "mine\n");
    insta::assert_snapshot!(sprint.commits(), @"
    again
    _bmad-output/implementation-artifacts/sprint-status.yaml
    src/1-1.txt
    ");
    sprint.assert_clean();
}

#[test]
fn code_that_a_person_wrote_is_committed_where_the_story_lists_it() {
    let sprint = Sprint::new(&[("1-1", "review")], "");
    sprint.desk.project.file("src/1-1.txt", "by hand\n");
    let story = "# Story 1-1\n\n### File List\n\n- src/1-1.txt (new)\n";
    sprint
        .desk
        .project
        .file(&format!("{IMPL}/sprint-1-1.md"), story);
    sprint.ran(0);
    assert_eq!(sprint.words(), "1-1: done");
    assert!(
        sprint.commits().contains("src/1-1.txt"),
        "{}",
        sprint.commits()
    );
    sprint.assert_clean();

    // Without the list nobody can tell whose it is.
    let sprint = Sprint::new(&[("1-1", "review")], "");
    sprint.desk.project.file("src/1-1.txt", "by hand\n");
    sprint.ran(1);
    assert!(
        !sprint.commits().contains("src/1-1.txt"),
        "{}",
        sprint.commits()
    );
}

#[test]
fn what_a_killed_writer_left_beside_the_board_gets_into_no_commit() {
    let hook = "if [ $phase = commit ]; then git add --all _bmad-output; fi";
    let sprint = Sprint::new(&[("1-1", "review")], hook);
    sprint
        .desk
        .project
        .file(&format!("{IMPL}/.callsheet-a1B2c3"), "half");
    sprint
        .desk
        .project
        .file(&format!("{IMPL}/.callsheet-notes.md"), "mine");
    sprint.ran(1);
    let left = |name: &str| sprint.desk.project.path(&format!("{IMPL}/{name}")).exists();
    assert!(!left(".callsheet-a1B2c3"));
    // A name that chance does not make is a person's.
    assert!(left(".callsheet-notes.md"));
}
