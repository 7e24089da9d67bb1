"""`build_prompt_system_append`: exact bytes, order, events and limits."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Write

from callsheet import Error, build_prompt_system_append

IMPLEMENTATION = "_bmad-output/implementation-artifacts"
CONTEXT = "_bmad-output/planning-artifacts/sprint-project-context.md"
OPEN = '<file_injections rule="DO NOT read these files - content already provided">'
EMPTY = f"{OPEN}\n</file_injections>"


def injected(*files: tuple[str, str]) -> str:
    """Returns the text as the source document puts it together."""
    parts = [part for path, content in files for part in (f'  <file path="{path}">', content, "  </file>")]
    return "\n".join([OPEN, *parts, "</file_injections>"])


def paths(text: str) -> list[str]:
    return [line.split('"')[1] for line in text.splitlines() if line.startswith("  <file path=")]


def heard(root: Path, *args: Any, **named: Any) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    events: list[tuple[str, dict[str, Any]]] = []
    text = build_prompt_system_append(root, *args, **named, on_event=lambda kind, facts: events.append((kind, facts)))
    return text, events


def test_the_signature_is_that_of_the_document() -> None:
    parameters = inspect.signature(build_prompt_system_append).parameters.values()
    found = [(one.name, one.default) for one in parameters if one.kind != one.KEYWORD_ONLY]
    nothing = inspect.Parameter.empty
    assert found == [
        ("project_root", nothing),
        ("command_name", nothing),
        ("story_keys", nothing),
        ("include_project_context", True),
        ("include_discovery", False),
        ("include_tech_spec", False),
        ("additional_files", None),
    ]


def test_exact_bytes_in_the_order_of_the_groups(write: Write) -> None:
    root = write(
        {
            CONTEXT: "context\n",
            f"{IMPLEMENTATION}/sprint-a-1.md": "story",
            f"{IMPLEMENTATION}/a-1-b.txt": "b\r\nc\rd <&>",
            f"{IMPLEMENTATION}/a-1-discovery.md": "",
            f"{IMPLEMENTATION}/tech-spec-A-1.md": "spec",
            f"{IMPLEMENTATION}/tech-spec-discovery-A-1.md": "both",
            f"{IMPLEMENTATION}/a-10.md": "another story",
            f"{IMPLEMENTATION}/a-1/inner.md": "not taken",
            "docs/x.md": "x",
            'docs/"q".md': "q",
        }
    )
    more: list[str | Path] = ["docs/x.md", root / "docs" / '"q".md', f"./{CONTEXT}", "docs/../docs/x.md", "missing.md"]
    story = [
        (CONTEXT, "context\n"),
        (f"{IMPLEMENTATION}/a-1-b.txt", "b\nc\nd <&>"),
        (f"{IMPLEMENTATION}/sprint-a-1.md", "story"),
    ]
    discovery = [
        (f"{IMPLEMENTATION}/a-1-discovery.md", ""),
        (f"{IMPLEMENTATION}/tech-spec-discovery-A-1.md", "both"),
    ]
    spec = [(f"{IMPLEMENTATION}/tech-spec-A-1.md", "spec")]
    rest = [("docs/x.md", "x"), ("docs/&quot;q&quot;.md", "q")]
    text = build_prompt_system_append(root, "dev", ["A-1", "a-1"], True, True, True, more)
    assert text == injected(*story, *discovery, *spec, *rest)
    assert build_prompt_system_append(str(root), "dev", ("a-1",)) == injected(*story)
    assert build_prompt_system_append(root, "dev", ["a-1"], False) == injected(*story[1:])
    keyed = build_prompt_system_append(root, "dev", ["a-1"], include_project_context=False, include_tech_spec=True)
    assert keyed == injected(*story[1:], *spec)
    anywhere = build_prompt_system_append(root, "dev", ["a-1"], False, match="substring")
    assert paths(anywhere) == [f"{IMPLEMENTATION}/{name}" for name in ("a-1-b.txt", "a-10.md", "sprint-a-1.md")]


def test_every_call_reads_afresh(write: Write) -> None:
    root = write({f"{IMPLEMENTATION}/a-1.md": "one"})
    assert "one" in build_prompt_system_append(root, "dev", ["a-1"])
    write({f"{IMPLEMENTATION}/a-1.md": "two"})
    assert "two" in build_prompt_system_append(root, "dev", ["a-1"])


def test_nothing_found_is_an_event_and_no_error(tmp_path: Path) -> None:
    text, events = heard(tmp_path, "dev", ["a-1"], additional_files=["missing.md"])
    assert text == EMPTY
    assert len(text) == 94
    message = "No file was found to inject for command 'dev'"
    assert events == [("injection:empty", {"command": "dev", "story_keys": ["a-1"], "message": message})]
    assert heard(tmp_path, "dev", [])[0] == EMPTY


@pytest.mark.parametrize("place", ["missing", "missing/below", "file", "file/below", "dangling", "circle"])
def test_a_root_that_does_not_exist_has_no_files(write: Write, place: str) -> None:
    folder = write({"file": "x", "outside.md": "out"})
    (folder / "dangling").symlink_to("nowhere")
    (folder / "circle").symlink_to("circle")
    text, events = heard(folder / place, "dev", ["a-1"], True, True, True, ["b.md"])
    assert text == EMPTY
    message = "No file was found to inject for command 'dev'"
    assert events == [("injection:empty", {"command": "dev", "story_keys": ["a-1"], "message": message})]
    outside = folder / "outside.md"
    text = build_prompt_system_append(folder / place, "dev", [], additional_files=[outside], allow_outside=True)
    assert text == injected((str(outside), "out"))
    for wrong in ([5], [" "]):
        with pytest.raises(Error, match=r"^`story_keys\[0\]`"):
            build_prompt_system_append(folder / place, "dev", wrong)  # type: ignore[arg-type]


def test_an_empty_root_is_the_current_directory(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write({f"{IMPLEMENTATION}/a-1.md": "one"}))
    for root in ("", b"", ".", Path()):
        assert build_prompt_system_append(root, "dev", ["a-1"]) == injected((f"{IMPLEMENTATION}/a-1.md", "one"))


class BytesPath:
    """A path that `os.fspath` makes bytes of."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


def test_paths_of_bytes_are_paths(write: Write) -> None:
    root = write({f"{IMPLEMENTATION}/a-1.md": "one", "b é.md": "b"})
    expected = injected((f"{IMPLEMENTATION}/a-1.md", "one"), ("b é.md", "b"))
    for place in (os.fsencode(root), BytesPath(root)):
        for file in ("b é.md".encode(), BytesPath(root / "b é.md"), os.fsencode(root / "b é.md")):
            assert build_prompt_system_append(place, "dev", ["a-1"], additional_files=[file, b""]) == expected
    with pytest.raises(TypeError, match="^additional_files must be a list of str, not a bytes$"):
        build_prompt_system_append(root, "dev", [], additional_files=b"x")  # type: ignore[arg-type]


def test_a_root_may_have_a_name_that_is_no_text(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path) + b"/\xff"
    os.makedirs(root + b"/" + IMPLEMENTATION.encode())
    with open(root + b"/" + IMPLEMENTATION.encode() + b"/a-1.md", "w") as file:
        file.write("one")
    for place in (root, os.fsdecode(root), Path(os.fsdecode(root))):
        assert build_prompt_system_append(place, "dev", ["a-1"]) == injected((f"{IMPLEMENTATION}/a-1.md", "one"))


def test_what_is_no_text_is_passed_over(write: Write) -> None:
    root = write({f"{IMPLEMENTATION}/a-1.md": "one", f"{IMPLEMENTATION}/a-1-bad.md": b"\xff"})
    (root / IMPLEMENTATION / "a-1-gone.md").symlink_to("nowhere")
    assert heard(root, "dev", ["a-1"]) == (injected((f"{IMPLEMENTATION}/a-1.md", "one")), [])


def sized(write: Write, size: int) -> Path:
    """Makes a project whose injection has exactly so many bytes."""
    overhead = len(injected((f"{IMPLEMENTATION}/a-1.md", "")))
    return write({f"{IMPLEMENTATION}/a-1.md": "x" * (size - overhead)})


@pytest.mark.parametrize("size", [102_400, 102_401, 153_600])
def test_a_large_text_is_an_event(write: Write, size: int) -> None:
    text, events = heard(sized(write, size), "dev", ["a-1"])
    assert len(text) == size
    message = f"Injection size ({size} bytes) exceeds warning threshold"
    facts = {"command": "dev", "size_bytes": size, "threshold_bytes": 102_400, "message": message}
    assert events == ([("injection:warning", facts)] if size > 102_400 else [])


def test_a_text_over_the_limit_is_an_error_and_no_event(write: Write) -> None:
    events: list[str] = []
    root = sized(write, 153_601)
    with pytest.raises(ValueError) as caught:
        build_prompt_system_append(root, "dev", ["a-1"], on_event=lambda kind, facts: events.append(kind))
    assert str(caught.value) == (
        "Injection size (153601 bytes) exceeds maximum (153600 bytes). "
        "Consider reducing included files for command 'dev'."
    )
    assert isinstance(caught.value, Error)
    assert caught.value.kind == "over-budget"
    assert events == []


def test_a_file_outside_needs_permission(write: Write) -> None:
    place = write({"outside.md": "out", "root/in.md": "in"})
    files: list[str | Path] = [place / "outside.md", "in.md"]
    assert paths(build_prompt_system_append(place / "root", "dev", [], additional_files=files)) == ["in.md"]
    text = build_prompt_system_append(place / "root", "dev", [], additional_files=files, allow_outside=True)
    assert paths(text) == [str(place / "outside.md"), "in.md"]


def test_a_handler_that_fails_is_heard(tmp_path: Path) -> None:
    def fail(kind: str, facts: dict[str, Any]) -> None:
        raise LookupError(kind)

    with pytest.raises(LookupError, match="injection:empty"):
        build_prompt_system_append(tmp_path, "dev", ["a-1"], on_event=fail)


def test_arguments_of_a_wrong_type_are_refused(tmp_path: Path) -> None:
    wrong: Any = "a-1"
    for named in ({"story_keys": wrong}, {"story_keys": [], "additional_files": wrong}):
        with pytest.raises(TypeError, match="must be a list of str, not a str$"):
            build_prompt_system_append(tmp_path, "dev", **named)
    for keys in ([5], [None], [" "]):
        with pytest.raises(Error, match=r"^`story_keys\[0\]`"):
            build_prompt_system_append(tmp_path, "dev", keys)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        build_prompt_system_append(tmp_path, "dev", None)  # type: ignore[arg-type]
    with pytest.raises(Error, match="^`match`: expected one of `key`, `substring`, found `word`$"):
        build_prompt_system_append(tmp_path, "dev", ["a"], match="word")  # type: ignore[arg-type]
    for root in (None, 5):
        with pytest.raises(TypeError):
            build_prompt_system_append(root, "dev", ["a"])  # type: ignore[arg-type]


def test_what_is_there_and_not_taken_is_reported(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = write({f"{IMPLEMENTATION}/a-1.md": "story"})
    outside = tmp_path_factory.mktemp("elsewhere") / "outside.md"
    outside.write_text("x")
    files = [outside, "", "no-such.md", f"{IMPLEMENTATION}/a-1.md"]
    text, events = heard(root, "dev", ["a-1"], additional_files=files)
    assert paths(text) == [f"{IMPLEMENTATION}/a-1.md"]
    message = f"{outside} leads out of the root: set `allow_outside` to take it anyway"
    payload = {"command": "dev", "path": str(outside), "reason": "outside-root", "message": message}
    assert events == [("injection:refused", payload)]


def test_a_file_that_is_too_large_to_be_read_is_over_the_limit(write: Write) -> None:
    root = write({f"{IMPLEMENTATION}/a-1.md": "story"})
    huge = root / IMPLEMENTATION / "a-1-huge.md"
    with huge.open("wb") as file:
        file.truncate(33 << 20)
    with pytest.raises(ValueError, match=r"^Injection size \([0-9]+ bytes\) exceeds maximum \(153600 bytes\)\."):
        build_prompt_system_append(root, "dev", ["a-1"])
