"""Every conformance case through the package and through the program: the same bytes, the same errors."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import corpus
import pytest

from callsheet import Composition, Error, compose

PROGRAM = Path(os.environ.get("CALLSHEET_PROGRAM", corpus.REPOSITORY / "target" / "debug" / "callsheet"))

# Fewer cases than these mean that the corpus was not found, not that it is small.
LEAST = {"injection": 45, "layers": 40, "messages": 50, "pack": 12, "run": 40, "user": 10}

# A document that is not an object never gets as far as a recipe in the program.
TOLD_BY_THE_PROGRAM = "injection/error-no-object"

# Program and package look for a profile of that name, and find none.
RESOLVED_BEFORE = "run/error-profile-name"


def test_the_corpus_is_there() -> None:
    found = Counter(path.parent.name for path in corpus.CASES)
    assert found.keys() == LEAST.keys()
    assert all(found[group] >= least for group, least in LEAST.items()), found


def recipe_of(path: Path) -> str:
    return "mine" if path.parent.name == "user" else path.parent.name


def by_program(recipe: str, case: dict[str, Any], root: Path) -> subprocess.CompletedProcess[bytes]:
    """Runs the program, with its events in a file of their own."""
    place = root.parent
    command: list[str | Path] = [PROGRAM, "--root", root, "compose", recipe, "--input", "-"]
    command += ["--events", place / "events.ndjson", "--manifest", place / "manifest.json"]
    for name, amount in case.get("options", {}).items():
        command += [f"--{name.replace('_', '-')}", str(amount)]
    document, only = json.dumps(case["input"]).encode(), {"PATH": os.environ["PATH"]}
    return subprocess.run(command, input=document, capture_output=True, env=only, check=False)


def omissions(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    keys = ("layer", "name", "reason", "loss")
    return [{key: lost[key] for key in keys if key in lost} for lost in manifest["omissions"]]


def messages(case: dict[str, Any]) -> list[dict[str, str]]:
    return [{"role": said["role"], "content": corpus.content(said["content"]).decode()} for said in case["messages"]]


def check(case: dict[str, Any], composition: Composition, printed: bytes, place: Path) -> None:
    """Compares what the case says, what the package gives and what the program printed."""
    if "messages" in case:
        assert composition.messages == messages(case)
    else:
        assert composition.rendered.encode() == corpus.content(case["expected"])
    assert composition.rendered.encode() == printed
    assert composition.events == case.get("events", [])
    written = (place / "events.ndjson").read_text(encoding="utf-8").splitlines()
    assert composition.events == [json.loads(line) for line in written]
    assert json.dumps(composition.tools) == json.dumps(case.get("tools", []))
    assert omissions(composition.manifest) == case.get("omissions", [])
    assert composition.manifest == json.loads((place / "manifest.json").read_text(encoding="utf-8"))
    spans = composition.source_map["spans"]
    exact = composition.text.encode()
    assert b"".join(exact[span["start"] : span["end"]] for span in spans) == exact


@pytest.mark.parametrize("path", corpus.CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_package_and_program_agree(path: Path, tmp_path: Path) -> None:
    case = corpus.read(path)
    root = tmp_path / "root"
    corpus.lay_out(case, root)
    recipe = recipe_of(path)
    done = by_program(recipe, case, root)
    options = case.get("options", {})
    if "error" not in case:
        assert done.returncode == 0, done.stderr.decode()
        check(case, compose(recipe, case["input"], root=root, **options), done.stdout, tmp_path)
        return
    with pytest.raises(Error) as caught:
        compose(recipe, case["input"], root=root, **options)
    name = f"{path.parent.name}/{path.stem}"
    if name != RESOLVED_BEFORE:
        assert str(caught.value) == corpus.content(case["error"]).decode()
    assert (done.returncode, done.stdout) == (2, b"")
    if name != TOLD_BY_THE_PROGRAM:
        hint = "" if caught.value.hint is None else f"hint: {caught.value.hint}\n"
        # Hints about its own commands may follow.
        assert done.stderr.decode().startswith(f"error: {caught.value}\n{hint}")
