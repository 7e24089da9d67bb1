"""Makes what is measured on: the same bytes on every machine, written once and kept until their recipe changes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

ARTIFACTS = "_bmad-output/implementation-artifacts"
KEY = "7c-42"
ARTIFACT_COUNT = 10_000
MATCHING = 20
TEMPLATES = 20
STORY_BYTES = 117_000
TREE_FILES = 4_000
TREE_BYTES = 20_000_000

# Goes up whenever the files below would come out otherwise.
VERSION = "1"

WORDS = (
    "the story asks for a list of open items and shows how they change when a person "
    "accepts one of them before review while tests keep running in another window"
).split()

CODE = (
    "pub fn {a}_{b}({a}: &Layer) -> Result<Section, Error> {{",
    "    let {a} = {b}.iter().filter(|{c}| {c}.{d}() > {n}).count();",
    "    if {a} == {n} || {b}.is_empty() {{ return Err(Error::new(\"{c} {d}\")); }}",
    "    for {a} in 0..{n} {{ {b}.push({c}_{d}({a})); }}",
    "    // {a} {b} {c} {d}: see Layer for the reason why {n} is enough",
    "    {a}.{b}.insert(\"{c}\".to_owned(), Section::from({n}));",
    "}}",
    "",
)


def prose(rng: random.Random, size: int) -> str:
    """Returns a Markdown text of exactly `size` bytes."""
    lines, length = ["# Story"], 8
    while length < size:
        line = " ".join(rng.choices(WORDS, k=rng.randint(4, 14)))
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[: size - 1] + "\n"


def code_lines(rng: random.Random, count: int) -> list[str]:
    """Returns lines that look like source."""
    lines = []
    for _ in range(count):
        names = {hole: rng.choice(WORDS) for hole in "abcd"}
        lines.append(rng.choice(CODE).format(**names, n=rng.randint(1, 999)))
    return lines


def source(rng: random.Random, lines: list[str], size: int) -> str:
    """Returns a text of exactly `size` bytes out of a stock of lines."""
    text = "\n".join(rng.choices(lines, k=size // 16))
    while len(text) < size:
        text += "\n" + rng.choice(lines)
    return text[: size - 1] + "\n"


def artifact_names(rng: random.Random) -> list[str]:
    """Returns the names of all artifacts; exactly `MATCHING` belong to `KEY`, under either rule of matching."""
    mine = [f"sprint-{KEY}.md", f"sprint-{KEY}-discovery-story.md", f"sprint-tech-spec-{KEY}.md"]
    mine += [f"notes-{KEY.upper()}-{number}.md" for number in range(MATCHING - len(mine))]
    others = set()
    while len(others) < ARTIFACT_COUNT - MATCHING:
        key = f"{rng.randint(1, 99)}{rng.choice('abdefgh')}-{rng.randint(1, 60)}"
        form = rng.choice(("sprint-{}.md", "sprint-{}-discovery-story.md", "sprint-tech-spec-{}.md", "notes-{}.md"))
        others.add(form.format(key))
    names = mine + sorted(others)
    rng.shuffle(names)
    return names


def make_artifacts(root: Path) -> None:
    """Writes a project with many artifacts of which few match."""
    rng = random.Random(1)
    folder = root / ARTIFACTS
    folder.mkdir(parents=True)
    for name in artifact_names(rng):
        (folder / name).write_text(prose(rng, rng.randint(1_000, 4_000)))


def make_templates(root: Path) -> None:
    """Writes templates with headers and placeholders, `TEMPLATES` in all."""
    rng = random.Random(3)
    for number in range(TEMPLATES):
        names = [f"value_{nth}" for nth in range(4)]
        variables = [f"  - name: {name}\n    required: true\n    description: {rng.choice(WORDS)}" for name in names[:3]]
        variables.append(f"  - name: {names[3]}\n    default: {rng.choice(WORDS)} {number}")
        header = [f"name: template-{number}", "category: task", "variables:", *variables]
        body = [f"{line} {{{{{rng.choice(names)}}}}}" for line in prose(rng, 3_000).splitlines()]
        (root / f"file_{number}.md").write_text("\n".join(["---", *header, "---", *body, ""]))


def make_stories(root: Path) -> None:
    """Writes a project in which half of the artifacts belong to one story."""
    rng = random.Random(4)
    folder = root / ARTIFACTS
    folder.mkdir(parents=True)
    for number in range(MATCHING):
        (folder / f"notes-{KEY}-{number}.md").write_text(prose(rng, 3_000))
        (folder / f"notes-9z-{number}.md").write_text(prose(rng, 3_000))


def make_story(root: Path, size: int = STORY_BYTES) -> None:
    """Writes a project with one artifact."""
    folder = root / ARTIFACTS
    folder.mkdir(parents=True)
    (folder / f"sprint-{KEY}.md").write_text(prose(random.Random(5), size))


def make_small_story(root: Path) -> None:
    """Writes the same project with an artifact of one byte."""
    make_story(root, 1)


def make_accented_story(root: Path) -> None:
    """Writes the same project with an artifact that is not ASCII."""
    make_story(root)
    file = root / ARTIFACTS / f"sprint-{KEY}.md"
    file.write_text(accented(file.read_text()), encoding="utf-8")


def accented(text: str) -> str:
    """Returns a text that is not ASCII."""
    return text.replace("e", "é")


def make_settings_story(root: Path) -> None:
    """Writes the same project with settings, which say what holds without them."""
    make_story(root)
    (root / "callsheet.toml").write_text(f'[paths]\nimplementation_artifacts = "{ARTIFACTS}"\n')


def sections() -> list[str]:
    """Returns the texts of a prompt of 7 sections."""
    rng = random.Random(6)
    return [prose(rng, 1_000) for _ in range(7)]


def make_tree(root: Path) -> None:
    """Writes a tree of source-like files in nested folders, `TREE_BYTES` in all."""
    rng = random.Random(2)
    lines = code_lines(rng, 5_000)
    folders = [root]
    for number in range(TREE_FILES // 20):
        folders.append(rng.choice(folders[-40:]) / f"{rng.choice(WORDS)}_{number}")
    mean = TREE_BYTES // TREE_FILES
    for number in range(0, TREE_FILES, 2):
        less = rng.randint(200, mean - 200)
        for nth, size in ((number, mean - less), (number + 1, mean + less)):
            folder = rng.choice(folders)
            folder.mkdir(parents=True, exist_ok=True)
            ending = rng.choice(("rs", "py", "ts", "md"))
            (folder / f"{rng.choice(WORDS)}_{nth}.{ending}").write_text(source(rng, lines, size))


def make_many(root: Path, files: int) -> None:
    """Makes a source tree of small files that share words and no lines."""
    (root / ".git").mkdir()
    for number in range(files):
        folder = root / f"d{number // 1000:03}"
        folder.mkdir(exist_ok=True)
        chance = random.Random(number)
        lines = [" ".join(chance.choices(WORDS, k=9)) for _ in range(6)]
        (folder / f"f{number % 1000:03}.rs").write_text(f"// file {number}\n" + "\n".join(lines) + "\n")


def prepared(root: Path, make: Callable[[Path], None]) -> Path:
    """Returns the folder `root`, made by `make` unless it stands there whole."""
    mark = root.with_suffix(".version")
    if not mark.exists() or mark.read_text() != VERSION:
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        make(root)
        mark.write_text(VERSION)
    return root
