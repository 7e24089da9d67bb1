"""The page about the package is true: its programs are run, and its examples print what it says."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import corpus
import pytest

import callsheet

PAGE = (corpus.REPOSITORY / "docs" / "python.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"^<!-- output: (?P<programs>.+) -->\n\n```text\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"# file: (?P<path>.+)\n")


def lay_out(place: Path) -> None:
    """Writes the files of the page."""
    for block in BLOCK.finditer(PAGE):
        if heading := HEADING.match(block["text"]):
            file = place / heading["path"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block["text"][heading.end() :], encoding="utf-8")


def test_the_programs_print_what_the_page_says(tmp_path: Path) -> None:
    lay_out(tmp_path)
    ran = []
    for output in OUTPUT.finditer(PAGE):
        for program in output["programs"].split():
            command = [sys.executable, "-W", "error", program]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (done.stdout, done.stderr) == (output["text"], "")
            ran.append(program)
    assert ran == ["by_hand.py", "by_callsheet.py"]


def test_the_example_is_short() -> None:
    block = next(block["text"] for block in BLOCK.finditer(PAGE) if block["text"].startswith("# file: by_callsheet.py"))
    written = [line for line in block.splitlines()[1:] if line]
    assert len(written) <= 20


def test_the_examples_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    examples = "\n".join(block["text"] for block in BLOCK.finditer(PAGE) if block["kind"] == "pycon")
    test = doctest.DocTestParser().get_doctest(examples, {}, "docs/python.md", "docs/python.md", 0)
    assert len(test.examples) > 15
    output: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=output.append)
    assert result.failed == 0, "".join(output)


def test_every_name_of_the_package_is_on_the_page() -> None:
    names = [name for name in callsheet.__all__ if not name.startswith("_")]
    names += [name for name in vars(callsheet.PromptBuilder) if not name.startswith("_")]
    names += [name for name in vars(callsheet.Composition) if not name.startswith("_")]
    names += list(callsheet.Error.__annotations__)
    assert [name for name in names if not re.search(rf"`(await |callsheet\.)?{name}\b", PAGE)] == []
