//! What becomes of the things that go wrong, and of the names that git gives.

use super::*;

const MOST: u64 = 1000;

fn observer(toml: &str, root: &Path) -> ProjectObserver {
    ProjectObserver::new(root, toml::from_str(toml).unwrap())
}

fn command(name: &str, any_exit: bool) -> Question {
    Question::Command {
        name: name.to_owned(),
        any_exit,
    }
}

#[test]
fn a_command_is_written_with_bounds() {
    let commands: BTreeMap<String, CommandSetting> = toml::from_str(
        "a.command = ['x', 'y']\nb = { command = ['x'], timeout_s = 1, max_bytes = 2 }",
    )
    .unwrap();
    assert_eq!(commands["a"].command, ["x", "y"]);
    let (time, bytes) = (Duration::from_secs(10), 1024 * 1024);
    assert_eq!(commands["a"].bounds, Bounds { time, bytes });
    let (time, bytes) = (Duration::from_secs(1), 2);
    assert_eq!(commands["b"].bounds, Bounds { time, bytes });
    for toml in [
        "a.command = []",
        "a.command = ['']",
        "a = { command = ['x'], shell = true }",
    ] {
        assert!(
            toml::from_str::<BTreeMap<String, CommandSetting>>(toml).is_err(),
            "{toml}"
        );
    }
}

#[test]
fn what_goes_wrong_becomes_a_reason() {
    let place = tempfile::tempdir().unwrap();
    let toml = "
        fails = { command = ['sh', '-c', 'echo out; echo why >&2; exit 4'] }
        gone = { command = ['./no/such/program'] }
        hangs = { command = ['sleep', '60'], timeout_s = 0 }
        floods = { command = ['yes'], max_bytes = 10 }
        here = { command = ['sh', '-c', 'pwd; env | sort | cut -d= -f1 | tr \"\\n\" \" \"; echo $1', '-', '$(id) `id` *'] }
    ";
    let observer = observer(toml, place.path());
    assert_eq!(
        observer.commands(),
        ["fails", "floods", "gone", "hangs", "here"]
    );
    let reason = |name: &str| {
        let refusal = observer.observe(&command(name, false), MOST).unwrap_err();
        format!("{} {}", refusal.reason.sentence(), refusal.detail)
    };
    assert_eq!(reason("fails"), "failed exit code 4: why");
    assert_eq!(reason("gone"), "is not available there is no such program");
    assert_eq!(reason("hangs"), "took too long it has 0 s");
    assert_eq!(reason("floods"), "printed too much more than 10 bytes");
    assert_eq!(reason("other"), "is not available no command of that name");
    let refusal = observer.observe(&Question::GitStatus, MOST).unwrap_err();
    assert_eq!(
        (refusal.reason, refusal.detail.as_str()),
        (Reason::Unavailable, "not a git repository")
    );
    let output = observer.observe(&command("fails", true), MOST).unwrap();
    assert_eq!(output, b"out\n", "asked for in any case");
    let output =
        String::from_utf8(observer.observe(&command("here", false), MOST).unwrap()).unwrap();
    let real = place.path().canonicalize().unwrap();
    assert!(output.starts_with(real.to_str().unwrap()), "{output}");
    assert!(output.ends_with(" $(id) `id` *\n"), "no shell: {output}");
    let names = output.lines().nth(1).unwrap();
    for name in names.split(' ').take_while(|name| !name.starts_with('$')) {
        assert!(
            ["HOME", "LC_ALL", "OLDPWD", "PATH", "PWD", "SHLVL", "_"].contains(&name),
            "{name}"
        );
    }
}

#[test]
fn raw_lines_become_paths() {
    let raw = b":100644 100644 1 0 M\0a b.txt\0:100644 000000 1 0 D\0gone\0:000000 120000 0 0 A\0link\0:160000 160000 1 2 M\0sub\0:000000 100755 0 0 A\0n\nl\0:000000 100644 0 0 A\0\xff\0:000000 000000 0 0 U\0c\0:100644 100644 1 0 M\0c\0";
    let paths: Vec<(String, bool, bool)> = changed_paths(raw)
        .into_iter()
        .map(|path| (path.path, path.file, path.odd_name))
        .collect();
    let expected = [
        ("a b.txt", true, false),
        ("gone", false, false),
        ("link", false, false),
        ("sub", false, false),
        ("n\nl", true, false),
        ("\u{fffd}", true, true),
        ("c", true, false),
    ];
    assert_eq!(
        paths,
        expected.map(|(path, file, odd)| (path.to_owned(), file, odd))
    );
    assert_eq!(changed_paths(b""), []);
}
