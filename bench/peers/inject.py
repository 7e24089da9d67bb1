"""Injection as the source document describes it, in plain Python: files of story keys as one XML text.

Usage: inject.py ROOT COMMAND KEY[,KEY…] [--no-project-context] [--discovery] [--tech-spec] [--file PATH]…
The text goes to stdout without a newline at its end.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

ARTIFACTS = Path("_bmad-output/implementation-artifacts")
CONTEXT = Path("_bmad-output/planning-artifacts/sprint-project-context.md")
WARNING_BYTES = 100 * 1024
ERROR_BYTES = 150 * 1024
OPEN = '<file_injections rule="DO NOT read these files - content already provided">'
CLOSE = "</file_injections>"


def kind_of(lower_name: str) -> str:
    """Tells what a file is to a story; `discovery` wins over `tech-spec`."""
    if "discovery" in lower_name:
        return "discovery"
    return "tech-spec" if "tech-spec" in lower_name else "story"


def grouped(folder: Path, keys: list[str]) -> dict[str, list[Path]]:
    """Returns the files whose names contain any key, by kind, in the order of their names."""
    groups: dict[str, list[Path]] = {"story": [], "discovery": [], "tech-spec": []}
    lowered = [key.lower() for key in keys]
    files = folder.iterdir() if folder.is_dir() else iter(())
    for path in sorted(files, key=lambda path: (path.name.lower(), path.name)):
        name = path.name.lower()
        if any(key in name for key in lowered) and path.is_file():
            groups[kind_of(name)].append(path)
    return groups


def wanted(root: Path, args: argparse.Namespace) -> Iterator[Path]:
    """Yields every file that is asked for, in the order of the document."""
    if args.project_context:
        yield root / CONTEXT
    groups = grouped(root / ARTIFACTS, args.keys.split(","))
    yield from groups["story"]
    if args.discovery:
        yield from groups["discovery"]
    if args.tech_spec:
        yield from groups["tech-spec"]
    yield from (root / name for name in args.file)


def build(root: Path, args: argparse.Namespace) -> str:
    """Returns the whole text; what is missing or no text is passed over."""
    lines = [OPEN]
    seen = set()
    for path in wanted(root, args):
        shown = str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
        if shown in seen:
            continue
        seen.add(shown)
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        escaped = shown.replace('"', "&quot;")
        lines += [f'  <file path="{escaped}">', content, "  </file>"]
    return "\n".join([*lines, CLOSE])


def parse(argv: list[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("command")
    parser.add_argument("keys")
    parser.add_argument("--no-project-context", dest="project_context", action="store_false")
    parser.add_argument("--discovery", action="store_true")
    parser.add_argument("--tech-spec", action="store_true")
    parser.add_argument("--file", action="append", default=[])
    return parser.parse_args(argv)


def main() -> None:
    """Prints the text, unless it is too large."""
    args = parse(sys.argv[1:])
    text = build(args.root, args)
    if text == f"{OPEN}\n{CLOSE}":
        print(f"injection:empty for {args.command}", file=sys.stderr)
    encoded = text.encode()
    if len(encoded) > ERROR_BYTES:
        sys.exit(
            f"Injection size ({len(encoded)} bytes) exceeds maximum ({ERROR_BYTES} bytes). "
            f"Consider reducing included files for command '{args.command}'."
        )
    if len(encoded) > WARNING_BYTES:
        print(f"Injection size ({len(encoded)} bytes) exceeds warning threshold", file=sys.stderr)
    sys.stdout.buffer.write(encoded)


if __name__ == "__main__":
    main()
