"""The conformance cases of the library; `crates/callsheet/tests/compose/README.md` explains their form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
LIBRARY = REPOSITORY / "crates" / "callsheet"
# The package brings no observer, so it cannot compose what looks at a repository.
OBSERVED = {"review"}
CASES = sorted(
    path for path in (LIBRARY / "tests" / "compose").glob("*/*.json") if path.parent.name not in OBSERVED
)

FIELDS = {
    "description", "files", "folders", "links", "recipe", "input", "options",
    "expected", "messages", "error", "events", "omissions", "tools",
}  # fmt: skip


def read(path: Path) -> dict[str, Any]:
    """Returns a case; a field that nobody knows would be a check that nobody makes."""
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert not case.keys() - FIELDS, path
    return case


def content(text: Any) -> bytes:
    """Returns what a text in one of its written forms means."""
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, list):
        return b"\n".join(content(line) for line in text)
    ((form, value),) = text.items()
    if form == "hex":
        return bytes.fromhex(str(value))
    if form == "repeat":
        times: int = value[1]
        return content(value[0]) * times
    assert form == "template"
    file: Path = LIBRARY / "recipes" / value
    whole = file.read_text(encoding="utf-8")
    return whole.removeprefix("---\n").split("\n---\n", 1)[1].strip().encode()


def lay_out(case: dict[str, Any], root: Path) -> None:
    """Makes the root with everything that the case wants in it."""
    root.mkdir()
    for folder in case.get("folders", []):
        (root / folder).mkdir(parents=True, exist_ok=True)
    files = dict(case.get("files", {}))
    files |= {f"callsheet/recipes/mine/{name}": text for name, text in case.get("recipe", {}).items()}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content(text))
    for name, target in case.get("links", {}).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
