//! Sprints whose store is a PostgreSQL server: to the end, and continued after a kill.

use crate::database::Database;
use crate::desk::wait_for;
use crate::play::{Sprint, lines};

#[test]
fn a_server_keeps_sprints_as_a_file_does() {
    let Some(database) = Database::new() else {
        return;
    };
    let hook = "if [ $phase = code-review ] && [ $story = 1-2 ] && [ $nth = 1 ]; then hold; fi";
    let mut sprint = Sprint::new(&[("1-1", "backlog"), ("1-2", "backlog")], hook);
    let project = &mut sprint.desk.project;
    project.variable("CALLSHEET_STORE", &database.url());
    let mut child = sprint.start();
    wait_for("the review has begun", || sprint.out("there").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    sprint.ran(0);
    assert_eq!(sprint.words(), "1-1: done, 1-2: done");
    assert_eq!(sprint.ends(), "all_done");
    let ends = lines(&sprint.out("ends"));
    assert_eq!(ends.len(), 8, "{ends:?}");
    assert_eq!(sprint.calls().len(), 9);
    assert!(sprint.commits().starts_with("feat: implement 1-1,1-2\n"));
    sprint.assert_clean();

    // The next one has nothing to do, and says so.
    sprint.ran(0);
    assert_eq!(sprint.ends(), "all_done, all_done");
}
