//! Decisions by table. What the kernel does of it is tested with real agents.

use super::*;

#[test]
fn who_is_put_into_the_sandbox() {
    use WorkingDirectory::{Project, Worktree};
    let kernel = Support::Landlock { abi: 7 };
    for (mode, directory, support, is_on) in [
        (Mode::Auto, Project, kernel, Some(false)),
        (Mode::Auto, Project, Support::None, Some(false)),
        (Mode::Auto, Worktree, kernel, Some(true)),
        (Mode::Auto, Worktree, Support::None, Some(false)),
        (Mode::Yes, Project, kernel, Some(true)),
        (Mode::Yes, Project, Support::None, None),
        (Mode::Yes, Worktree, kernel, Some(true)),
        (Mode::Yes, Worktree, Support::None, None),
        (Mode::No, Project, kernel, Some(false)),
        (Mode::No, Worktree, Support::None, Some(false)),
        (Mode::No, Worktree, kernel, Some(false)),
    ] {
        let decided = decide(mode, directory, support);
        assert_eq!(decided.ok(), is_on, "{mode:?} {directory:?} {support:?}");
    }
    let refused = decide(Mode::Yes, Project, Support::None).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the kernel has no Landlock, which the sandbox needs"
    );
}

#[test]
fn the_kernel_tells_its_version_and_nothing_is_restricted() {
    for (status, expected) in [
        (LandlockStatus::NotEnabled, Support::None),
        (LandlockStatus::NotImplemented, Support::None),
        (
            LandlockStatus::Available {
                effective_abi: ABI::V3,
                kernel_abi: None,
            },
            Support::Landlock { abi: 3 },
        ),
        (
            LandlockStatus::Available {
                effective_abi: ABI::V7,
                kernel_abi: Some(40),
            },
            Support::Landlock { abi: 40 },
        ),
    ] {
        assert_eq!(of_status(status), expected);
    }
    let privileges = || {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mut lines = status.lines();
        let line = lines.find(|line| line.starts_with("NoNewPrivs:"));
        line.unwrap().to_owned()
    };
    let before = privileges();
    assert_eq!(support(), support());
    assert_eq!(privileges(), before);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
}

#[test]
fn paths_of_settings_are_those_of_the_agent() {
    let env = [
        ("HOME", "/me"),
        ("CARGO_HOME", "/c"),
        ("EMPTY", ""),
        ("RELATIVE", "x"),
    ];
    let env = env.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let env = env.into();
    for (path, expected) in [
        ("/a/b", Some("/a/b")),
        ("~", Some("/me")),
        ("~/.cache", Some("/me/.cache")),
        ("~you/x", None),
        ("a/b", None),
        ("", None),
        ("${CARGO_HOME}/git", Some("/c/git")),
        ("${CARGO_HOME:-~/.cargo}/git", Some("/c/git")),
        ("${MISSING:-~/.cargo}/git", Some("/me/.cargo/git")),
        ("${MISSING:-~}/.gemini", Some("/me/.gemini")),
        ("${EMPTY:-/d}", Some("/d")),
        ("${EMPTY}", None),
        ("${MISSING}/git", None),
        ("${RELATIVE}/git", None),
        ("${HOME", None),
    ] {
        let found = expand(Path::new(path), &env);
        assert_eq!(found.as_deref(), expected.map(Path::new), "{path}");
    }
    assert_eq!(expand(Path::new("~/x"), &BTreeMap::new()), None);
}

#[test]
fn a_mode_is_a_word_or_a_boolean() {
    let read = |text: &str| toml::from_str::<BTreeMap<String, Mode>>(text);
    for (text, mode) in [
        ("x = \"auto\"", Mode::Auto),
        ("x = true", Mode::Yes),
        ("x = false", Mode::No),
    ] {
        assert_eq!(read(text).unwrap()["x"], mode);
    }
    let refused = read("x = \"yes\"").unwrap_err();
    assert_eq!(
        refused.message(),
        "invalid value: string \"yes\", expected `\"auto\"`, `true` or `false`"
    );
}
