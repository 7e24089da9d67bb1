"""Settings of `callsheet.toml` apply as in the program, and no call keeps what an earlier one read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Write

from callsheet import Error, build_prompt_system_append, compose, compose_messages, compose_run

SETTINGS = """
prompts_dir = "templates"
max_file_bytes = 100
redact_key = "ours"

[paths]
implementation_artifacts = "stories"
sprint_project_context = "context.md"

[recipes.injection]
include_discovery = true
match = "substring"
limits.warning_bytes = 10

[recipes.pack]
format = "markdown"
"""

FILES: dict[str, str | bytes] = {
    "callsheet.toml": SETTINGS,
    "templates/mine.md": "I am {{who}}.",
    "stories/a-1.md": "story",
    "stories/a-10-discovery.md": "found",
    "stories/a-1-large.md": "x" * 101,
    "context.md": "context",
}

INPUTS: list[tuple[str, dict[str, Any]]] = [
    ("injection", {"command_name": "dev", "story_keys": ["a-1"]}),
    ("injection", {"command_name": "dev", "story_keys": ["a-1"], "match": "key", "limits": {"error_bytes": 1000}}),
    ("layers", {"identity": {"name": "mine", "variables": {"who": "you"}}}),
    ("pack", {"globs": ["stories/*"]}),
    ("pack", {"globs": ["stories/*"], "format": "xml"}),
]


def program(root: Path, recipe: str, input: dict[str, Any], *more: str, **variables: str) -> str:
    """Returns what the program prints."""
    file = root.parent / "input.json"
    file.write_text(json.dumps(input))
    command = [os.environ["CALLSHEET_PROGRAM"], "--root", str(root), "compose", recipe, "--input", str(file), *more]
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout


@pytest.mark.parametrize(("recipe", "input"), INPUTS)
def test_a_composition_is_that_of_the_program(write: Write, recipe: str, input: dict[str, Any]) -> None:
    root = write(FILES)
    assert compose(recipe, input, root=root).text == program(root, recipe, input)


RUN_SETTINGS = """
[scope]
default_exclude = ["secrets/**"]

[profiles.coder]
runner = "claude"
prompt_template = "You work on {{task.title}}."
default_exclude = ["docs/**"]
"""


@pytest.mark.parametrize("profile", ["coder", "other"])
def test_profiles_and_scope_of_the_project_are_in_a_run(write: Write, profile: str) -> None:
    other = 'runner = "codex"\nprompt_template = "Another one."\n'
    root = write({"callsheet.toml": RUN_SETTINGS, "callsheet/profiles/other.toml": other})
    task = {"id": 1, "title": "the login", "write_scope": ["src/**"]}
    input = {"task": task, "profile": profile, "scope": {"exclude": ["a"]}}
    text = compose("run", input, root=root).text
    assert text == program(root, "run", input)
    assert "secrets/**" in text
    assert ("You work on the login." in text) is (profile == "coder")
    with pytest.raises(Error, match="^no profile named `codr`") as caught:
        compose("run", {**input, "profile": "codr"}, root=root)
    assert caught.value.hint == "did you mean `coder`?"


def test_the_key_of_pseudonyms_is_that_of_the_project(write: Write) -> None:
    root = write(FILES)
    input = {"rules": "token ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"}
    text = compose("layers", input, root=root, redact=True).text
    assert "ghp_" not in text
    assert text == program(root, "layers", input, "--redact")
    assert text != compose("layers", input, root=root, redact=True, redact_key="other").text
    assert text == compose("layers", input, root=root, redact=True, redact_key="ours").text


def test_variables_win_over_the_file_and_arguments_over_both(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write({**FILES, "other/a-1.md": "other", "more/mine.md": "You are {{who}}."})
    recipe, input = INPUTS[0]
    monkeypatch.setenv("CALLSHEET_PATHS_IMPLEMENTATION_ARTIFACTS", "other")
    text = compose(recipe, input, root=root).text
    assert "other/a-1.md" in text
    assert text == program(root, recipe, input, CALLSHEET_PATHS_IMPLEMENTATION_ARTIFACTS="other")
    recipe, input = INPUTS[2]
    monkeypatch.setenv("CALLSHEET_PROMPTS_DIR", "more")
    assert compose(recipe, input, root=root).text == "You are you."
    assert compose(recipe, {**input, "prompts_dir": "templates"}, root=root).text == "I am you."
    monkeypatch.setenv("CALLSHEET_MAX_FILE_BYTES", "many")
    with pytest.raises(Error, match="^the variable `CALLSHEET_MAX_FILE_BYTES` is not a number of bytes: `many`$"):
        compose(recipe, input, root=root)


def heard(root: Path, *args: Any, **named: Any) -> tuple[list[str], list[str]]:
    events: list[str] = []
    text = build_prompt_system_append(root, *args, **named, on_event=lambda kind, facts: events.append(kind))
    return [line.split('"')[1] for line in text.splitlines() if line.startswith("  <file path=")], events


def test_the_function_of_the_document_takes_what_nobody_said_from_the_settings(write: Write) -> None:
    root = write(FILES)
    context, story, discovery = "context.md", "stories/a-1.md", "stories/a-10-discovery.md"
    events = ["injection:warning", "injection:refused"]
    assert heard(root, "dev", ["a-1"]) == ([context, story, discovery], events)
    assert heard(root, "dev", ["a-1"], False, False)[0] == [story]
    assert heard(root, "dev", ["a-1"], True, True, match="key")[0] == [context, story]
    text = build_prompt_system_append(root, "dev", ["a-1"])
    assert text == program(root, "injection", {"command_name": "dev", "story_keys": ["a-1"]})
    off = SETTINGS.replace("include_discovery = true", "include_project_context = false")
    write({"callsheet.toml": off})
    assert heard(root, "dev", ["a-1"])[0] == [story]
    assert heard(root, "dev", ["a-1"], True)[0] == [context, story]


def test_limits_of_the_settings_hold(write: Write) -> None:
    root = write({**FILES, "callsheet.toml": "[recipes.injection.limits]\nerror_bytes = 93\n"})
    message = r"^Injection size \(94 bytes\) exceeds maximum \(93 bytes\)\. Consider reducing included files for command 'dev'\.$"
    with pytest.raises(ValueError, match=message):
        build_prompt_system_append(root, "dev", ["a-1"])
    write({"callsheet.toml": "max_file_bytes = 3\n[paths]\nimplementation_artifacts = 'stories'\n"})
    assert heard(root, "dev", ["a-1"]) == ([], ["injection:empty", "injection:refused", "injection:refused"])
    write({"callsheet.toml": "max_file_bytes = 3\n[paths]\nimplementation_artifacts = 'stories'\n"
           "[recipes.injection.limits]\nerror_bytes = 100\n"})  # fmt: skip
    with pytest.raises(ValueError, match=r"^Injection size \(200 bytes\) exceeds maximum \(100 bytes\)\."):
        build_prompt_system_append(root, "dev", ["a-1"])


def test_settings_are_read_with_every_call(write: Write) -> None:
    root = write({"callsheet.toml": "prompts_dir = 'one'", "one/t.md": "1", "two/t.md": "2"})
    input = {"identity": {"name": "t"}}
    assert compose("layers", input, root=root).text == "1"
    write({"callsheet.toml": "prompts_dir = 'two'"})
    assert compose("layers", input, root=root).text == "2"
    (root / "callsheet.toml").unlink()
    assert compose("layers", input, root=root).text == ""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (b"[pahts]\n", "callsheet.toml:1: unknown field `pahts`, expected one of"),
        (b"\n[paths]\nimplementation = 'x'\n", "callsheet.toml:3: unknown field `implementation`, expected one of"),
        (b"[recipes.injektion]\n", "callsheet.toml: no recipe named `injektion`"),
        (b"prompts_dir = 5\n", "callsheet.toml:1: expected text, found `5`"),
        (b"x = [\n", "callsheet.toml:"),
        (b"\xff", "callsheet.toml: not UTF-8 text"),
    ],
)
def test_settings_that_are_wrong_are_reported(write: Write, settings: bytes, message: str) -> None:
    root = write({"callsheet.toml": settings})
    calls: list[Any] = [
        lambda: compose("layers", {}, root=root),
        lambda: compose_messages({}, root=root),
        lambda: build_prompt_system_append(root, "dev", ["a"]),
    ]
    for call in calls:
        with pytest.raises(Error) as caught:
            call()
        assert str(caught.value).startswith(message)
        assert caught.value.kind == ("unknown-name" if b"injektion" in settings else "bad-input")
        assert caught.value.file == "callsheet.toml"


def test_a_directory_in_the_place_of_settings_is_reported(write: Write) -> None:
    root = write({"callsheet.toml/x": ""})
    with pytest.raises(Error, match="^callsheet.toml: is a folder$"):
        compose("layers", {}, root=root)


def test_a_bad_field_of_the_settings_has_a_hint(write: Write) -> None:
    root = write({"callsheet.toml": "[recipes.injection]\nmatch = 'word'\n"})
    for call in (
        lambda: build_prompt_system_append(root, "dev", ["a"]),
        lambda: compose("injection", {"command_name": "dev", "story_keys": []}, root=root),
    ):
        with pytest.raises(Error, match="^`match`: expected one of `key`, `substring`, found `word`") as caught:
            call()
        assert caught.value.hint == "`callsheet.toml` sets fields of this recipe, too"


def test_without_a_root_no_settings_apply(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write({"callsheet.toml": "[pahts]\n"}))
    assert compose_run({"task": {"id": 1, "title": "T"}})
    with pytest.raises(Error, match="^callsheet.toml:1: unknown field `pahts`"):
        compose("layers", {})
