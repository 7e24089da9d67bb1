"""Measures programs against each other: all take turns, so that a busy moment hits all alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Contender:
    """Something that is timed: a command line, or a function of this process."""

    name: str
    command: list[str] | None = None
    function: Callable[[], object] | None = None
    cwd: Path | None = None
    # What its times are compared with, and how many times as long it may take.
    floor: str | None = None
    target: float | None = None
    # Another floor, for a line below the table.
    second_floor: str | None = None
    # How often a function is called in one turn, where once is too short for the clock; times are those of one call.
    calls: int = 1
    # Programs that take seconds get fewer turns.
    most_runs: int | None = None
    times: list[float] = field(default_factory=list)
    output_bytes: int | None = None

    def run(self, sink: int) -> float:
        """Takes one turn and returns how long it took."""
        start = time.perf_counter()
        if self.function:
            for _ in range(self.calls):
                self.function()
        else:
            subprocess.run(self.command, cwd=self.cwd, stdout=sink, stderr=subprocess.DEVNULL, check=True)
        return (time.perf_counter() - start) / self.calls

    def output(self) -> bytes:
        """Runs it once and returns what it prints."""
        done = subprocess.run(self.command, cwd=self.cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise SystemExit(f"{self.name} failed: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    @property
    def best(self) -> float:
        return min(self.times)

    @property
    def median(self) -> float:
        return statistics.median(self.times)


def measure(contenders: list[Contender], runs: int, sink_path: Path | None) -> None:
    """Times all contenders in turns; the first turn only warms up.

    All print to the same place: a file that is emptied before each run, or nowhere.
    """
    for contender in contenders:
        if contender.command:
            contender.output_bytes = len(contender.output())
    for turn in range(runs):
        for contender in contenders:
            if contender.most_runs is None or turn < contender.most_runs:
                contender.times.append(timed(contender, sink_path))


def timed(contender: Contender, sink_path: Path | None) -> float:
    """Times one run with a fresh sink, whose opening is not counted."""
    flags = os.O_WRONLY if sink_path is None else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    sink = os.open(sink_path or os.devnull, flags, 0o644)
    try:
        return contender.run(sink)
    finally:
        os.close(sink)


def table(title: str, contenders: list[Contender]) -> str:
    """Returns the times as a table: best and median, and both as multiples of a floor."""
    by_name = {contender.name: contender for contender in contenders}
    rows = [(title, "best", "median", "runs", "output", "best ÷ floor", "median ÷ floor", "target", "met")]
    for contender in contenders:
        row = [contender.name, ms(contender.best), ms(contender.median), str(len(contender.times))]
        row.append("" if contender.output_bytes is None else f"{contender.output_bytes:,} B")
        rows.append((*row, *against(contender, by_name.get(contender.floor or ""))))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [line(row, widths) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    for contender in contenders:
        if second := by_name.get(contender.second_floor or ""):
            best, median, target, met = against(contender, second)
            lines.append(f"{contender.name} ÷ {second.name}: best {best}, median {median}, target {target}: {met}")
    return "\n".join(lines)


def against(contender: Contender, floor: Contender | None) -> list[str]:
    """Returns the cells that compare with the floor; the target is met when the median meets it."""
    if floor is None:
        return ["", "", "", ""]
    best, median = contender.best / floor.best, contender.median / floor.median
    cells = [f"{best:.2f}×", f"{median:.2f}×"]
    if contender.target is None:
        return [*cells, "", ""]
    return [*cells, f"≤ {contender.target:g}×", "yes" if median <= contender.target else "no"]


def line(row: tuple[str, ...], widths: list[int]) -> str:
    """Returns one line: the name to the left, numbers to the right."""
    cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
    return "  ".join(cells).rstrip()


def ms(seconds: float) -> str:
    """Returns a time in milliseconds, with more digits where there are few; a very short one in microseconds."""
    value = seconds * 1000
    if value < 0.1:
        return f"{value * 1000:.2f} µs"
    return f"{value:.2f} ms" if value < 100 else f"{value:.0f} ms"
