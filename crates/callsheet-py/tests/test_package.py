"""The package as it is installed: what it says of itself, and which interpreters it can be used in."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import corpus
import pytest

import callsheet

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

METADATA = importlib.metadata.metadata("callsheet")


def toml(path: str) -> dict[str, Any]:
    return tomllib.loads((corpus.REPOSITORY / path).read_text(encoding="utf-8"))


def test_the_metadata_says_what_it_is() -> None:
    workspace = toml("Cargo.toml")["workspace"]["package"]
    assert METADATA["Name"] == "callsheet"
    assert METADATA["Version"] == workspace["version"] == callsheet.__version__
    assert METADATA["License-Expression"] == workspace["license"] == "MIT OR Apache-2.0"
    assert METADATA.get_all("License-File") == ["LICENSE-APACHE", "LICENSE-MIT"]
    assert METADATA["Requires-Python"] == ">=3.10"
    assert METADATA.get_all("Requires-Dist") is None
    files = importlib.metadata.files("callsheet") or []
    texts = {file.name: file.read_text() for file in files if "licenses" in file.parts}
    assert texts == {name: (corpus.REPOSITORY / name).read_text() for name in ("LICENSE-APACHE", "LICENSE-MIT")}


def test_the_readme_is_that_of_the_package() -> None:
    readme = (corpus.REPOSITORY / "crates/callsheet-py/README.md").read_text(encoding="utf-8")
    assert METADATA["Description-Content-Type"].startswith("text/markdown")
    assert str(METADATA.json["description"]).strip() == readme.strip()
    # A registry shows it alone, so that no link may be relative.
    assert [link for link in re.findall(r"\]\((.*?)\)", readme) if not link.startswith("https://")] == []


def test_the_examples_of_the_readme_run(tmp_path: Path) -> None:
    readme = (corpus.REPOSITORY / "crates/callsheet-py/README.md").read_text(encoding="utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("print(1)\n")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE))
    command = [sys.executable, "-W", "error", "-c", f"{code}\nprint(prompt.count('---'), len(text))"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    printed = '<tree>\nsrc/\n  a.py\n</tree>\n<file path="src/a.py">\nprint(1)\n\n</file>\n\n2 94\n'
    assert (done.stdout, done.stderr) == (printed, "")


def test_the_addresses_are_those_of_the_workspace() -> None:
    package = toml("Cargo.toml")["workspace"]["package"]
    urls = {url.split(", ", 1)[1] for url in METADATA.get_all("Project-URL") or []}
    assert urls >= {package[name] for name in ("repository", "homepage", "documentation") if name in package}


def test_a_classifier_for_each_version_that_is_checked() -> None:
    classifiers = METADATA.get_all("Classifier") or []
    versions = [one.rsplit(" ", 1)[1] for one in classifiers if re.search(r":: Python :: 3\.\d+$", one)]
    check = (corpus.REPOSITORY / "crates/callsheet-py/check").read_text(encoding="utf-8")
    found = re.search(r"^versions=\((.*)\)$", check, re.MULTILINE)
    assert found and found[1].split() == versions == ["3.10", "3.11", "3.12", "3.13"]
    assert "Typing :: Typed" in classifiers


INTERPRETERS = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SAYS = '''
try:
    import callsheet
except ImportError as error:
    print("ImportError:", error, flush=True)
else:
    print(callsheet.compose("layers", {"rules": "Be kind."}).text, flush=True)
'''

def other(isolated):
    if hasattr(interpreters, "exec"):
        one = interpreters.create("isolated" if isolated else "legacy")
        failed = interpreters.exec(one, SAYS)
        assert failed is None, failed
    else:
        one = interpreters.create(isolated=isolated)
        interpreters.run_string(one, SAYS)

for word in sys.argv[1:]:
    exec(SAYS) if word == "main" else other(word == "isolated")
"""

HAS_INTERPRETERS = any(importlib.util.find_spec(name) for name in ("_interpreters", "_xxsubinterpreters"))
REFUSED = (
    "ImportError: callsheet is in use in another interpreter of this process, and can be used in one only; "
    "use threads or processes instead of subinterpreters"
)
# Since 3.12, Python itself refuses it in an interpreter with a lock of its own.
ISOLATED = "ImportError: module callsheet._native does not support loading in subinterpreters"


@pytest.mark.skipif(not HAS_INTERPRETERS, reason="this Python has no subinterpreters")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["main", "shared", "main"], ["Be kind.", REFUSED, "Be kind."]),
        (["main", "isolated", "main"], ["Be kind.", ISOLATED if sys.version_info >= (3, 12) else REFUSED, "Be kind."]),
        (["shared", "main", "shared"], ["Be kind.", REFUSED, REFUSED]),
    ],
)
def test_one_interpreter_of_a_process_can_use_it(where: list[str], expected: list[str]) -> None:
    command = [sys.executable, "-W", "ignore", "-c", INTERPRETERS, *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.returncode) == (expected, 0), done.stderr


def test_a_module_that_is_imported_again_works() -> None:
    code = (
        "import sys, callsheet; first = callsheet.compose('layers', {'rules': 'R'}).text\n"
        "for name in [name for name in sys.modules if name.startswith('callsheet')]: del sys.modules[name]\n"
        "import callsheet as again; print(first, again.compose('layers', {'rules': 'R'}).text)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "R R\n", done.stderr
