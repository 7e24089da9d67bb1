"""The board by a YAML library: loads it all, picks the next stories or sets one, and dumps it all.

    board.py pyyaml|ruamel next BOARD
    board.py pyyaml|ruamel set BOARD KEY STATUS
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

RUNNABLE = {"backlog", "ready-for-dev", "in-progress", "review"}
STORY = re.compile(r"(\d+)-\d+-")


def library(name: str):
    """Returns how a library loads a text, and how it writes a document to a file."""
    if name == "pyyaml":
        import yaml

        # Its parser in C, where there is one.
        loader, dumper = getattr(yaml, "CSafeLoader", yaml.SafeLoader), getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        return (
            lambda text: yaml.load(text, loader),
            lambda board, file: yaml.dump(board, file, dumper, sort_keys=False),
        )
    from ruamel.yaml import YAML

    # The one that keeps comments and order.
    both = YAML()
    both.preserve_quotes = True
    return both.load, both.dump


def pick(board: dict) -> list[str]:
    """Returns the first story that can run, and the next one of its epic."""
    keys = [key for key, status in board["development_status"].items() if STORY.match(key) and status in RUNNABLE]
    epic = STORY.match(keys[0])[1] if keys else None
    return [key for key in keys if STORY.match(key)[1] == epic][:2]


def main() -> None:
    name, what, path, *words = sys.argv[1:]
    load, dump = library(name)
    file = Path(path)
    board = load(file.read_text())
    if what == "next":
        print(*pick(board), sep="\n")
        return
    key, status = words
    board["development_status"][key] = status
    written = file.with_suffix(".new")
    with written.open("w") as out:
        dump(board, out)
    written.replace(file)


if __name__ == "__main__":
    main()
