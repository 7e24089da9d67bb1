"""Measures tasks: a worktree, an agent, facts, a check and a merge, beside the plain git commands for the same job.

The agent is a small program that changes one file: no model is asked.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import inputs
from measure import Contender, line, ms, table
from programs import WORK, say
from runs import ENVIRONMENT

# What the agent changes; everything else below `src` is read-only, and what is below `secret` is not there.
CHANGED = "src/core/changed.rs"

# The agent writes what nobody wrote before, so that there is always something to merge.
SETTINGS = f"""[runners.agent]
adapter = "command"
command = ["sh", "-c", "echo $CALLSHEET_RUN > {CHANGED}"]

[[checks]]
name = "check"
command = ["true"]
"""

IDENTITY = ["-c", "user.name=n", "-c", "user.email=e@x"]

PLAIN, OURS = "floor: plain git", "callsheet run, then merge"


def tasks(ours: Path, turns: int, quick: bool) -> None:
    """Measures whole tasks in a small and in a large repository, and prints the tables."""
    folder = WORK / "tasks"
    shutil.rmtree(folder, ignore_errors=True)
    many = 5_000 if quick else 50_000
    try:
        for name, files, most in [("task, small repository", 30, turns), (f"task, {many:,} files", many, min(turns, 9))]:
            say(f"measuring {name}")
            plain = Plain(folder / f"plain-{files}", files)
            desk = Desk(ours, folder / f"ours-{files}", files)
            took = compare(plain, desk, most)
            print(table(name, took), end="\n\n", flush=True)
            steps(f"{name}: where it goes", desk.turns, took[1].median)
            spent(f"{name}: CPU time", plain, desk)
            desk.verify()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(plain: Plain, desk: Desk, turns: int) -> list[Contender]:
    """Times both in turns; the first turn only warms up, and what a turn leaves is removed outside of its time."""
    contenders = [Contender(PLAIN), Contender(OURS, floor=PLAIN)]
    for turn in range(turns + 1):
        for contender, job in zip(contenders, (plain, desk)):
            contender.times.append(job.turn(turn))
            job.clean(turn)
    for contender, job in zip(contenders, (plain, desk)):
        contender.times = contender.times[1:]
        job.cpu = job.cpu[1:]
    desk.turns = desk.turns[1:]
    return contenders


# Repositories -------------------------------------------------------------------------------------------------------


def make_files(root: Path, count: int) -> None:
    """Writes files of 50 bytes to 4 kB in nested directories; every hundredth is below `secret`."""
    rng = random.Random(5)
    lines = inputs.code_lines(rng, 2_000)
    folders = ["core"]
    for number in range(count // 25):
        folders.append(f"{rng.choice(folders[-30:])}/{rng.choice(inputs.WORDS)}_{number}" if number % 10 else f"part_{number}")
    for number in range(count):
        top = "secret" if number % 100 == 0 else "src"
        path = root / top / rng.choice(folders) / f"{rng.choice(inputs.WORDS)}_{number}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(inputs.source(rng, lines, int(50 * 80 ** rng.random())))
    changed = root / CHANGED
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text("start\n")


class Repository:
    """A repository with nothing loose in it, as one is that was cloned."""

    def __init__(self, folder: Path, files: int) -> None:
        self.folder = folder
        self.cpu: list[float] = []
        folder.mkdir(parents=True)
        (folder / "callsheet.toml").write_text(SETTINGS)
        (folder / ".gitignore").write_text(".callsheet/\n")
        make_files(folder, files)
        self.git("init", "--quiet", "--initial-branch=main")
        # Its own upkeep would fall into somebody's turn.
        self.git("config", "gc.auto", "0")
        self.git("config", "maintenance.auto", "false")
        self.git("add", "--all")
        self.git(*IDENTITY, "commit", "--quiet", "--message", "start")
        self.git("repack", "-adq")
        # What was changed in the moment of the commit is read once more; that is not part of any turn.
        time.sleep(1)
        self.git("status", "--porcelain")

    def git(self, *words: str, at: Path | None = None) -> None:
        command = ["git", *words]
        subprocess.run(command, cwd=at or self.folder, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def turn(self, turn: int) -> float:
        """Does the job once and returns how long it took."""
        before, began = cpu(), time.perf_counter()
        self.work(turn)
        took = time.perf_counter() - began
        self.cpu.append(cpu() - before)
        return took

    def work(self, turn: int) -> None:
        raise NotImplementedError

    def clean(self, turn: int) -> None:
        raise NotImplementedError


def cpu() -> float:
    """Returns the CPU time of all processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Plain(Repository):
    """The job by hand: the git commands that it takes, and nothing else."""

    def worktree(self, turn: int) -> Path:
        return self.folder / ".callsheet" / f"turn-{turn}"

    def work(self, turn: int) -> None:
        tree, branch = self.worktree(turn), f"turn-{turn}"
        self.git("worktree", "add", "--no-track", "-b", branch, str(tree), "main")
        (tree / CHANGED).write_text(f"turn {turn}\n")
        self.git("status", "--porcelain", at=tree)
        self.git("add", "-A", at=tree)
        self.git(*IDENTITY, "commit", "--quiet", "--message", branch, at=tree)
        subprocess.run(["true"], check=True)
        self.git(*IDENTITY, "merge", "--quiet", "--no-ff", "--no-edit", branch)

    def clean(self, turn: int) -> None:
        self.git("worktree", "remove", "--force", str(self.worktree(turn)))


@dataclass
class Turn:
    """What happened in one turn, by the clock of the machine in milliseconds: the two programs, and events of the run."""

    began: int
    ran: int = 0
    merged: int = 0
    task: str = ""
    at: dict[str, int] = field(default_factory=dict)


class Desk(Repository):
    """The job by callsheet: two commands."""

    def __init__(self, ours: Path, folder: Path, files: int) -> None:
        super().__init__(folder, files)
        self.ours = ours
        self.turns: list[Turn] = []
        self.seen = 0

    def call(self, *words: str) -> bytes:
        command = [str(self.ours), "--root", str(self.folder), *words]
        done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            say(done.stderr.decode(errors="replace"))
            raise subprocess.CalledProcessError(done.returncode, command)
        return done.stdout

    def work(self, turn: int) -> None:
        now = Turn(clock())
        scope = ["--write", "src/core/**", "--exclude", "secret/**"]
        ran = json.loads(self.call("run", "--title", f"Turn {turn}", *scope, "--runner", "agent", "--json"))
        now.ran, now.task = clock(), ran["task"]
        self.call("merge", now.task)
        now.merged = clock()
        self.turns.append(now)

    def clean(self, turn: int) -> None:
        self.look()
        last = self.turns[-1]
        text = (self.folder / CHANGED).read_text()
        if text.strip() != last.at.get("run"):
            raise SystemExit(f"tasks: the work of turn {turn} is not in the main checkout")
        self.git("worktree", "remove", "--force", str(self.folder / ".callsheet" / "worktrees" / f"task-{last.task}"))

    def look(self) -> None:
        """Adds what the events say to the last turn."""
        events = [json.loads(text) for text in self.call("events", "--json").splitlines()]
        at = self.turns[-1].at
        for event in events[self.seen:]:
            kind, payload = event["type"], event["payload"]
            if kind == "run:process":
                at[payload["step"]] = payload["at"]
            else:
                at[kind] = event["timestamp"]
            at["run"] = event.get("run") or at.get("run", "")
        self.seen = len(events)

    def verify(self) -> None:
        self.call("--quiet", "verify")


def clock() -> int:
    return time.time_ns() // 1_000_000


# Tables -------------------------------------------------------------------------------------------------------------

# What happens up to a moment, and which moment that is.
STEPS = [
    ("start, and the task is added", "task:added"),
    ("the worktree is made", "prompt:sealed"),
    ("the run is admitted", "run:queued"),
    ("looking at the files before", "run:launched"),
    ("the supervisor and the sandbox", "spawned"),
    ("the agent", "exited"),
    ("looking at the files after", "check:started"),
    ("the check, and the tree that it runs on", "check:finished"),
    ("the main checkout, and the record", "run:finished"),
]


def steps(title: str, turns: list[Turn], whole: float) -> None:
    """Prints how long each step takes in the middle of all turns."""
    took: dict[str, list[float]] = {}
    for turn in turns:
        before = turn.began
        ends = [(name, turn.at[key]) for name, key in STEPS if key in turn.at]
        ends += [("callsheet run ends", turn.ran), ("callsheet merge", turn.merged)]
        for name, at in ends:
            took.setdefault(name, []).append((at - before) / 1000)
            before = at
    rows = [(title, "best", "median", "share")]
    for name, times in took.items():
        middle = statistics.median(times)
        rows.append((name, ms(min(times)), ms(middle), f"{100 * middle / whole:.0f} %"))
    show(rows)


def spent(title: str, plain: Plain, desk: Desk) -> None:
    """Prints the CPU time, which says more than the time where the machine is busy."""
    rows = [(title, "best", "median", "median ÷ floor")]
    floor = statistics.median(plain.cpu)
    for name, times in [(PLAIN, plain.cpu), (OURS, desk.cpu)]:
        middle = statistics.median(times)
        rows.append((name, ms(min(times)), ms(middle), f"{middle / floor:.2f}×"))
    show(rows)


def show(rows: list[tuple[str, ...]]) -> None:
    """Prints rows as a table, the first one as its head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [line(row, widths) for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    print(*lines, sep="\n", end="\n\n", flush=True)
