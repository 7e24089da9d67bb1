//! Programs that do what no program should, asked in all innocence.

use std::fs;
use std::path::Path;

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

fn asked(script: &str, bounds: Bounds) -> Result<String, String> {
    let printed = ask(shell(script), "it", bounds, false);
    printed
        .map(|bytes| String::from_utf8(bytes).unwrap())
        .map_err(|error| error.to_string())
}

const ROOMY: Bounds = Bounds {
    time: Duration::from_secs(20),
    bytes: 100,
};

/// Waits until a process that wrote its number into a file is gone; one that nobody reaps counts as gone.
fn is_gone(file: &Path) -> bool {
    let pid = fs::read_to_string(file).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let gone = fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        if gone || Instant::now() > patience {
            return gone;
        }
        thread::yield_now();
    }
}

#[test]
fn what_is_printed_comes_back_and_failures_have_a_reason() {
    assert_eq!(asked("echo a; echo b >&2", ROOMY), Ok("a\n".to_owned()));
    assert_eq!(
        asked("echo; echo 'no\tway' >&2; exit 3", ROOMY),
        Err("`it` failed with exit code 3: no\u{fffd}way".to_owned())
    );
    assert_eq!(
        asked("kill -9 $$", ROOMY),
        Err("`it` was ended by a signal".to_owned())
    );
    let printed = ask(shell("echo a; exit 1"), "it", ROOMY, true);
    assert_eq!(printed.unwrap(), b"a\n");
    let error = ask(Command::new("/no/such"), "such", ROOMY, false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot run `such`: No such file or directory (os error 2)"
    );
}

#[test]
fn a_flood_is_ended_and_the_edge_is_exact() {
    assert_eq!(
        asked("yes", ROOMY),
        Err("`it` printed more than 100 bytes".to_owned())
    );
    let exact = format!("printf %0{}d 0", ROOMY.bytes);
    assert_eq!(asked(&exact, ROOMY).unwrap().len(), 100);
    let over = format!("printf %0{}d 0", ROOMY.bytes + 1);
    assert!(asked(&over, ROOMY).is_err());
    let loud = asked("yes | head -c 1000000 >&2; exit 1", ROOMY);
    assert!(
        loud.unwrap_err().starts_with("`it` failed"),
        "stderr never blocks"
    );
}

#[test]
fn a_hang_leaves_no_process() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    let script = format!(
        "trap '' TERM; sleep 300 & echo $! > {}; wait",
        file.display()
    );
    let bounds = Bounds {
        time: Duration::from_millis(300),
        ..ROOMY
    };
    assert_eq!(
        asked(&script, bounds),
        Err("`it` took longer than 0.3 s".to_owned())
    );
    assert!(is_gone(&file));
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_does_not_hold_it_up() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("pid");
    let script = format!("sleep 300 & echo $! > {}; echo done", file.display());
    assert_eq!(asked(&script, ROOMY), Ok("done\n".to_owned()));
    assert!(is_gone(&file));
}
