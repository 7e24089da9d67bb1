"""Measures the Python package beside plain Python, all inside one Python that already runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inputs
import programs
from measure import Contender, line, measure, ms, table
from programs import WORK, say

SEPARATOR = "\n\n---\n\n"

# How many times as long as plain Python it may take to build a prompt of some sections, and to inject one large file.
BUILD, INJECT = 5, 1


class Pair:
    """One job, in plain Python and by the package. Both have to come to the same."""

    def __init__(self, name: str, plain: Callable[[], Any], ours: Callable[[], Any], calls: int = 1) -> None:
        if plain() != ours():
            raise SystemExit(f"python: for {name}, our bytes and those of plain Python are different")
        self.plain = Contender(f"{name}: plain Python", function=plain, calls=calls)
        self.ours = Contender(f"{name}: callsheet", function=ours, calls=calls, floor=self.plain.name)
        self.name = name

    def at_most(self, target: float) -> Pair:
        """Sets how many times as long the package may take."""
        self.ours.target = target
        return self


def python(turns: int) -> None:
    """Measures the package, and prints what it costs and where that goes."""
    packages = programs.python_packages()
    if packages is None:
        return
    sys.path.insert(0, str(packages))
    texts = inputs.sections()
    (empty := WORK / "empty").mkdir(exist_ok=True)
    seven = built("7 sections, 1 kB each", texts).at_most(BUILD)
    large = injected("117 kB", inputs.prepared(WORK / "story", inputs.make_story)).at_most(INJECT)
    accented = inputs.prepared(WORK / "accented-story", inputs.make_accented_story)
    compared = [
        loaded(),
        injected("20 files", inputs.prepared(WORK / "stories", inputs.make_stories)),
        seven,
        built("7 sections, not ASCII", list(map(inputs.accented, texts))).at_most(BUILD),
        large,
        injected("117 kB, not ASCII", accented).at_most(INJECT),
    ]
    # Each does more than the one before.
    building = [built("no section", []), built("7 sections, 1 byte each", ["x"] * len(texts)), seven]
    injecting = [
        nothing(),
        injected("no such directory", WORK / "nowhere"),
        injected("an empty directory", empty),
        injected("1 byte", inputs.prepared(WORK / "small-story", inputs.make_small_story)),
        large,
        injected("117 kB, callsheet.toml", inputs.prepared(WORK / "settings-story", inputs.make_settings_story)),
    ]
    say("python: our bytes and those of plain Python are equal")
    say("measuring python")
    pairs = dict.fromkeys([*compared, *building, *injecting])
    measure([one for pair in pairs for one in (pair.plain, pair.ours)], turns, None)
    print(table("python", [one for pair in compared for one in (pair.plain, pair.ours)]), end="\n\n")
    print(ladder("where build() goes", building), end="\n\n")
    print(ladder("where an injection goes", injecting), end="\n\n", flush=True)


def loaded() -> Pair:
    """Loads 20 templates and builds a prompt with two of them."""
    import callsheet
    from peers import builder as document

    templates = inputs.prepared(WORK / "templates", inputs.make_templates)
    return Pair(
        "20 templates",
        lambda: build_prompt(document.PromptBuilder(templates)),
        lambda: build_prompt(callsheet.PromptBuilder(prompts_dir=templates)),
    )


def nothing() -> Pair:
    """Composes a recipe that has nothing to say: the way into Rust and back, and the engine."""
    from callsheet import _native

    return Pair("a recipe without text", str, lambda: _native.draft("layers", {}, WORK / "nowhere").text, calls=20)


def build_prompt(builder: Any) -> tuple[str, list[dict[str, Any]]]:
    """Builds one prompt with a new builder, which loads its templates first."""
    values = {f"value_{nth}": f"{nth} of 3" for nth in range(3)}
    builder.set_identity("template-0", values)
    builder.add_context("task", "Count the open items.")
    builder.add_context("rules", builder.render_template("template-19", values) or "")
    builder.add_context_section("system_metadata", {"branch": "main", "dirty": False})
    builder.set_tools([{"name": "run_tests", "input_schema": {"type": "object"}}])
    return builder.build()


def built(name: str, texts: list[str]) -> Pair:
    """Assembles sections that are there. Plain Python joins a list, and does nothing else."""
    import callsheet

    builder = callsheet.PromptBuilder()
    for number, text in enumerate(texts):
        builder.add_context(f"section-{number}", text)
    return Pair(name, lambda: (SEPARATOR.join(texts), []), builder.build, calls=1000)


def injected(name: str, root: Path) -> Pair:
    """Injects the files of one story."""
    import callsheet
    from peers import inject as document

    args = document.parse([str(root), "bench", inputs.KEY])
    ours = callsheet.build_prompt_system_append
    return Pair(name, lambda: document.build(root, args), lambda: ours(root, "bench", [inputs.KEY]), calls=20)


def ladder(title: str, pairs: list[Pair]) -> str:
    """Returns the times of jobs that each do more than the one before, and what each step costs."""
    rows = [(title, "plain Python", "more", "callsheet", "more")]
    before = (0.0, 0.0)
    for pair in pairs:
        plain, ours = pair.plain.best, pair.ours.best
        cells = (ms(plain), signed(plain - before[0]), ms(ours), signed(ours - before[1]))
        rows.append((pair.name, *cells))
        before = (plain, ours)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [line(row, widths) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    return "\n".join(lines)


def signed(seconds: float) -> str:
    return ("−" if seconds < 0 else "+") + ms(abs(seconds))
