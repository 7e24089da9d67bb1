//! Scripts and recordings that are played: exact output, exact ends.

#![expect(
    clippy::unwrap_used,
    reason = "a player that cannot be started has nothing to test"
)]

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::agent::{PROGRAM, until};

/// A folder with a script or a recording in it.
struct Player(TempDir);

impl Player {
    fn new(files: &[(&str, &str)]) -> Self {
        let player = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            let path = player.path(name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).unwrap();
            std::fs::write(path, text).unwrap();
        }
        player
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .arg("play")
            .args(args)
            .env_clear()
            .current_dir(self.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Plays, with a prompt to read, and returns everything that can be seen from outside.
    fn play(&self, args: &[&str]) -> String {
        let mut child = self.command(args).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        // Who does not read its prompt may be gone already.
        let _ = pipe.write_all(b"the prompt");
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        let mut seen = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        if !stderr.is_empty() {
            seen += &format!("--- stderr\n{stderr}");
        }
        match output.status.signal() {
            Some(signal) => seen + &format!("--- signal {signal}"),
            None => seen + &format!("--- exit {}", output.status.code().unwrap()),
        }
    }
}

/// Plays a script.
fn script(text: &str) -> String {
    Player::new(&[("s.toml", text)]).play(&["--script", "s.toml"])
}

#[test]
fn every_step_is_an_event() {
    let text = r#"
        model = "none"
        [[steps]]
        read_prompt = true
        [[steps]]
        think = "what now?"
        [[steps]]
        say = "Two lines,\none \"text\"."
        [[steps]]
        call = { tool = "Bash", input = { command = "ls", n = 1, at = 2026-01-02, deep = [{ x = 1.5 }] }, output = "a\n", exit_code = 0 }
        [[steps]]
        call = { tool = "Bash", output = "no", exit_code = 1 }
        [[steps]]
        call = { tool = "Read", ok = false }
        [[steps]]
        usage = { input_tokens = 10, output_tokens = 2, cost_usd = 0.5 }
        [[steps]]
        limit = { status = "warning", window = "week", used = 0.9, resets_at = 7 }
        [[steps]]
        wait_ms = 1
        [[steps]]
        stderr = "careful"
        [[steps]]
        raw = "as it is"
    "#;
    insta::assert_snapshot!(script(text), @r#"
    {"kind":"session_started","session":null,"model":"none","version":null}
    {"kind":"thinking","text":"what now?"}
    {"kind":"text","text":"Two lines,\none \"text\"."}
    {"kind":"tool_call","id":"call-1","name":"Bash","input":{"at":"2026-01-02","command":"ls","deep":[{"x":1.5}],"n":1}}
    {"kind":"tool_result","id":"call-1","ok":true,"exit_code":0,"output":"a\n"}
    {"kind":"tool_call","id":"call-2","name":"Bash","input":{}}
    {"kind":"tool_result","id":"call-2","ok":false,"exit_code":1,"output":"no"}
    {"kind":"tool_call","id":"call-3","name":"Read","input":{}}
    {"kind":"tool_result","id":"call-3","ok":false,"exit_code":null,"output":""}
    {"kind":"usage","input_tokens":10,"output_tokens":2,"cached_tokens":0,"cost_usd":0.5}
    {"kind":"limit","status":"warning","window":"week","used":0.9,"resets_at":7}
    as it is
    {"kind":"finished","ok":true,"reason":null,"text":"Two lines,\none \"text\"."}
    --- stderr
    careful
    --- exit 0
    "#);
}

#[test]
fn files_are_changed_and_said_to_be() {
    let player = Player::new(&[
        ("old", "gone soon"),
        (
            "s.toml",
            r#"
            [[steps]]
            write = { path = "src/a.rs", text = "fn a() {}\n" }
            [[steps]]
            write = { path = "src/a.rs", text = "fn b() {}\n" }
            [[steps]]
            replace = { path = "src/a.rs", from = "b()", to = "c()" }
            [[steps]]
            delete = "old"
            "#,
        ),
    ]);
    insta::assert_snapshot!(player.play(&["--script", "s.toml"]), @r#"
    {"kind":"session_started","session":null,"model":null,"version":null}
    {"kind":"tool_call","id":"call-1","name":"write","input":{"path":"src/a.rs","text":"fn a() {}\n"}}
    {"kind":"file_change","path":"src/a.rs","change":"add"}
    {"kind":"tool_result","id":"call-1","ok":true,"exit_code":null,"output":""}
    {"kind":"tool_call","id":"call-2","name":"write","input":{"path":"src/a.rs","text":"fn b() {}\n"}}
    {"kind":"file_change","path":"src/a.rs","change":"update"}
    {"kind":"tool_result","id":"call-2","ok":true,"exit_code":null,"output":""}
    {"kind":"tool_call","id":"call-3","name":"replace","input":{"path":"src/a.rs","from":"b()","to":"c()"}}
    {"kind":"file_change","path":"src/a.rs","change":"update"}
    {"kind":"tool_result","id":"call-3","ok":true,"exit_code":null,"output":""}
    {"kind":"tool_call","id":"call-4","name":"delete","input":{"path":"old"}}
    {"kind":"file_change","path":"old","change":"delete"}
    {"kind":"tool_result","id":"call-4","ok":true,"exit_code":null,"output":""}
    {"kind":"finished","ok":true,"reason":null,"text":null}
    --- exit 0
    "#);
    assert_eq!(player.read("src/a.rs"), "fn c() {}\n");
    assert!(!player.path("old").exists());
}

#[test]
fn an_edit_that_fails_ends_the_script() {
    let text = "[[steps]]\nreplace = { path = \"a\", from = \"b\", to = \"c\" }\n\
        [[steps]]\nsay = \"never\"\n";
    let player = Player::new(&[("a", "x"), ("s.toml", text)]);
    insta::assert_snapshot!(player.play(&["--script", "s.toml"]), @r#"
    {"kind":"session_started","session":null,"model":null,"version":null}
    {"kind":"tool_call","id":"call-1","name":"replace","input":{"path":"a","from":"b","to":"c"}}
    {"kind":"tool_result","id":"call-1","ok":false,"exit_code":null,"output":"`a` does not have `b`"}
    --- stderr
    error: s.toml:1: `a` does not have `b`
    --- exit 2
    "#);
}

#[test]
fn an_error_fails_the_run() {
    let text = "[[steps]]\nerror = { class = \"quota\", text = \"no more\", resets_at = 5 }\n";
    insta::assert_snapshot!(script(text), @r#"
    {"kind":"session_started","session":null,"model":null,"version":null}
    {"kind":"limit","status":"rejected","window":null,"used":null,"resets_at":5}
    {"kind":"error","class":"quota","status":null,"text":"no more"}
    {"kind":"finished","ok":false,"reason":null,"text":null}
    --- exit 0
    "#);
}

#[test]
fn a_script_can_end_badly() {
    let end = |step: &str| script(&format!("raw_only = true\n[[steps]]\n{step}\n"));
    assert_eq!(end("exit = 0"), "--- exit 0");
    assert_eq!(end("exit = 101"), "--- exit 101");
    for (name, number) in [
        ("ABRT", 6),
        ("BUS", 7),
        ("FPE", 8),
        ("HUP", 1),
        ("ILL", 4),
        ("INT", 2),
        ("KILL", 9),
        ("PIPE", 13),
        ("QUIT", 3),
        ("SEGV", 11),
        ("TERM", 15),
    ] {
        let crash = end(&format!("crash = \"{name}\""));
        assert_eq!(crash, format!("--- signal {number}"));
    }
    let events = script("[[steps]]\nexit = 1\n");
    insta::assert_snapshot!(events, @r#"
    {"kind":"session_started","session":null,"model":null,"version":null}
    --- exit 1
    "#);
}

#[test]
fn only_raw_lines_are_printed_where_a_script_says_so() {
    let text = "raw_only = true\n[[steps]]\nsay = \"x\"\n[[steps]]\nraw = \"{}\"\n\
        [[steps]]\nwrite = { path = \"a\", text = \"b\" }\n";
    let player = Player::new(&[("s.toml", text)]);
    assert_eq!(player.play(&["--script", "s.toml"]), "{}\n--- exit 0");
    assert_eq!(player.read("a"), "b");
}

#[test]
fn a_script_can_hang() {
    let player = Player::new(&[("s.toml", "[[steps]]\nhang = true\n")]);
    let mut child = player.command(&["--script", "s.toml"]).spawn().unwrap();
    // Sleeping, and not only slow to start: what it says first was said.
    let mut first = [0; 10];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    let state = format!("/proc/{}/stat", child.id());
    until("it sleeps", || {
        std::fs::read_to_string(&state).unwrap().contains(") S ")
    });
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_bad_script_is_refused_before_anything_is_done() {
    let write = "[[steps]]\nwrite = { path = \"made\", text = \"\" }\n";
    let refused = |text: &str| {
        let player = Player::new(&[("s.toml", &format!("{write}{text}"))]);
        let seen = player.play(&["--script", "s.toml"]);
        assert!(!player.path("made").exists());
        let error = seen.strip_prefix("--- stderr\nerror: ").unwrap();
        error.strip_suffix("\n--- exit 2").unwrap().to_owned()
    };
    let texts = [
        "[[steps]]\nsya = \"x\"\n",
        "[[steps]]\nsay = \"x\"\nthink = \"y\"\n",
        "[[steps]]\n",
        "[[steps]]\nsay = 1\n",
        "[[steps]]\nexit = 256\n",
        "[[steps]]\ncrash = \"STOP\"\n",
        "[[steps]]\nhang = false\n",
        "[[steps]]\nerror = { class = \"bad\" }\n",
        "[[steps]]\ncall = { name = \"Bash\" }\n",
        "[[steps]]\nexit = 0\n[[steps]]\nsay = \"x\"\n",
        "[[steps]]\ndelete = \"../x\"\n",
        "[[steps]]\nwrite = { path = \"/x\", text = \"\" }\n",
        "[[steps]\n",
        "[[stepps]]\n",
    ];
    insta::assert_snapshot!(texts.map(refused).join("\n"), @"
    s.toml:4: unknown name `sya`, expected one of `say`, `think`, `call`, `run`, `write`, `replace`, `delete`, `wait_ms`, `usage`, `error`, `limit`, `stderr`, `raw`, `read_prompt`, `exit`, `crash`, `hang`
    s.toml:3: a step needs exactly one key, such as `say`
    s.toml:3: a step needs exactly one key, such as `say`
    s.toml:4: expected text, found `1`
    s.toml:4: expected a whole number from 0 to 255, found `256`
    s.toml:3: unknown signal `STOP`, expected one of `ABRT`, `BUS`, `FPE`, `HUP`, `ILL`, `INT`, `KILL`, `PIPE`, `QUIT`, `SEGV`, `TERM`
    s.toml:3: only `true` makes sense here
    s.toml:4: unknown name `bad`, expected one of `quota`, `overload`, `auth`, `context`, `request`, `network`, `budget`, `turns`, `denied`, `cancelled`, `incomplete`, `environment`, `unknown`
    s.toml:4: unknown field `name`, expected one of `tool`, `input`, `output`, `exit_code`, `ok`
    s.toml:5: nothing can follow `exit`
    s.toml:3: `../x` is not the path of a file below the working directory
    s.toml:3: `/x` is not the path of a file below the working directory
    s.toml:3: unclosed array table, expected `]`
    s.toml:3: unknown field `stepps`, expected one of `raw_only`, `model`, `steps`, `scenes`
    ");
}

#[test]
fn a_script_that_is_not_there_is_reported() {
    let player = Player::new(&[]);
    insta::assert_snapshot!(player.play(&["--script", "s.toml"]), @r"
    --- stderr
    error: cannot read `s.toml`: no such file or directory
    --- exit 3
    ");
}

#[test]
fn a_recording_is_played_byte_by_byte() {
    let player = Player::new(&[
        ("r/stdout", "{\"type\":\"x\"}\nhalf a line"),
        ("r/stderr", "careful\n"),
        (
            "r/ending.json",
            "{\"exit_code\": 3, \"signal\": null, \"adapter\": \"claude\"}",
        ),
    ]);
    insta::assert_snapshot!(player.play(&["--recording", "r"]), @r#"
    {"type":"x"}
    half a line--- stderr
    careful
    --- exit 3
    "#);
    std::fs::remove_file(player.path("r/stderr")).unwrap();
    let ending = |text: &str| {
        std::fs::write(player.path("r/ending.json"), text).unwrap();
        player.play(&["--recording", "r"])
    };
    let stdout = "{\"type\":\"x\"}\nhalf a line";
    let killed = ending("{\"signal\": 9}");
    assert_eq!(killed, format!("{stdout}--- signal 9"));
    insta::assert_snapshot!(
        ["{}", "{\"signal\": 19}", "{\"exit_code\": 300}", "{"].map(ending).join("\n"),
        @"
    --- stderr
    error: r/ending.json: exactly one of `exit_code` and `signal` is needed
    --- exit 2
    --- stderr
    error: r/ending.json: signal 19 does not end a process
    --- exit 2
    --- stderr
    error: r/ending.json:1: expected a whole number from 0 to 255, found `300`
    --- exit 2
    --- stderr
    error: r/ending.json:1: EOF while parsing an object
    --- exit 2
    "
    );
}
