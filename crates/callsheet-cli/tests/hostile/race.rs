//! A directory and a link to the outside change places all the time; nothing of the outside is ever in a prompt.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::project::Project;

const ARTIFACTS: &str = "_bmad-output/implementation-artifacts";

#[test]
fn nothing_of_the_outside_comes_in() {
    let project = Project::new();
    project
        .file(&format!("{ARTIFACTS}/1-1-a.md"), "INSIDE")
        .file("callsheet/templates/mine.md", "INSIDE");
    let outside = project.outside().join("out");
    std::fs::create_dir(&outside).unwrap();
    for name in ["1-1-a.md", "mine.md"] {
        std::fs::write(outside.join(name), "OUTSIDE").unwrap();
    }
    let pairs = [ARTIFACTS, "callsheet/templates"].map(|folder| {
        let link = project.path(&format!("{folder}-link"));
        symlink(&outside, &link).unwrap();
        (project.path(folder), link)
    });
    let named = format!("{ARTIFACTS}/1-1-a.md");
    let commands: [&[&str]; 5] = [
        &[
            "inject",
            "--command",
            "dev",
            "--story",
            "1-1",
            "--file",
            &named,
        ],
        &["pack", "_bmad-output"],
        &["pack", &named],
        &["pack", "_bmad-output", "--seal"],
        &["compose", "layers", "-D", "identity.name=mine"],
    ];
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                for (folder, link) in &pairs {
                    renameat_with(CWD, folder, CWD, link, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        for round in 0..1_000 {
            let args = commands[round % commands.len()];
            let run = project.run(args);
            let leaked = [&run.stdout, &run.stderr]
                .into_iter()
                .any(|bytes| String::from_utf8_lossy(bytes).contains("OUTSIDE"));
            if leaked {
                over.store(true, Ordering::Relaxed);
                panic!("{args:?}: {}", project.shown(&run));
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}
