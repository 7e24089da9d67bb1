"""Measures sprints: a long board, beside YAML libraries, and what the driver costs beside its agents.

The agent is a script that only says that all is done: no model is asked.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from measure import ms
from programs import BENCH, WORK, say, yaml_libraries
from runs import ENVIRONMENT, Desk
from tasks import cpu, show

PLACE = "_bmad-output/implementation-artifacts/sprint-status.yaml"
CONTEXT = "_bmad-output/planning-artifacts/project-context.md"

# How long selecting from a long board, and writing it, may take; and how much a phase may cost beside its agent.
BOARD_S, PHASE_S = 0.050, 0.020

STORIES = 10_000

# It says what every phase wants to hear, so that a sprint goes on and a plain run ends as well.
AGENT = r"""
[[scenes]]
steps = [{ say = "ZERO ISSUES\n[DEV-STORY-COMPLETE: YES]\n[NO-CHANGES-TO-COMMIT]" }]
"""

RUNNER = '[runners.agent]\nadapter = "scripted"\nscript = "agent.toml"\n'


def sprint(ours: Path, turns: int, quick: bool) -> None:
    """Measures the board and the driver, and prints the tables."""
    folder = WORK / "sprint"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        say("measuring a long board")
        long_board(ours, folder / "board", STORIES // 10 if quick else STORIES, turns)
        say("measuring the driver")
        driver(ours, folder / "driver", 4 if quick else 20, 3 if quick else 5)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def board(stories: int, status: Callable[[int], str]) -> str:
    """Returns a board with ten stories in each epic, and a comment now and then."""
    lines = ["# Sprint status", "generated: 2026-01-01", "project: bench", "", "development_status:"]
    for number in range(stories):
        epic, story = number // 10 + 1, number % 10 + 1
        if story == 1:
            lines.append(f"  # Epic {epic}")
            lines.append(f"  epic-{epic}: in-progress")
        lines.append(f"  {epic}-{story}-story-number-{number}: {status(number)}")
        if story == 10:
            lines.append(f"  epic-{epic}-retrospective: optional")
    return "\n".join(lines) + "\n"


# A long board -------------------------------------------------------------------------------------------------------


def long_board(ours: Path, folder: Path, stories: int, turns: int) -> None:
    """Times `sprint next` and `sprint set` where all stories but the last ones are done."""
    text = board(stories, lambda number: "backlog" if number >= stories - 4 else "done")
    key = next(line for line in text.splitlines() if line.endswith(": backlog")).split(":")[0].strip()
    desk = Desk(ours, folder / "ours", RUNNER)
    desk.write(PLACE, text)
    peers = {}
    if python := yaml_libraries():
        for name in ("pyyaml", "ruamel"):
            (folder / name).mkdir()
            (folder / name / "board.yaml").write_text(text)
            peers[name] = [str(python), str(BENCH / "peers" / "board.py"), name]

    def of(name: str, what: str, *words: str) -> list[str]:
        return [*peers[name], what, str(folder / name / "board.yaml"), *words]

    select = [("callsheet sprint next", [desk.command("sprint", "next")])]
    write = [("callsheet sprint set", [desk.command("-q", "sprint", "set", key, word, "--force") for word in WORDS])]
    for name, shown in [("pyyaml", "PyYAML, its parser in C"), ("ruamel", "ruamel.yaml, comments kept")]:
        if name in peers:
            select.append((shown, [of(name, "next")]))
            write.append((shown, [of(name, "set", key, word) for word in WORDS]))
    answers = {subprocess.run(commands[0], env=ENVIRONMENT, check=True, stdout=subprocess.PIPE).stdout
               for _, commands in select}
    if len(answers) != 1:
        raise SystemExit(f"sprint: the programs do not choose the same stories: {answers}")
    boards(f"next of {stories:,} stories", select, turns)
    boards(f"set one of {stories:,} stories", write, turns)
    after = (desk.folder / PLACE).read_text().splitlines()
    changed = [line for line, before in zip(after, text.splitlines(), strict=True) if line != before]
    if len(changed) > 1:
        raise SystemExit(f"sprint: {len(changed)} lines have changed")


# What a turn of writing sets, one after the other, so that each turn has something to change.
WORDS = ("ready-for-dev", "backlog")


def boards(title: str, programs: list[tuple[str, list[list[str]]]], turns: int) -> None:
    """Times programs in turns and prints wall and CPU time; those that take seconds get fewer turns."""
    wall: dict[str, list[float]] = {name: [] for name, _ in programs}
    used: dict[str, list[float]] = {name: [] for name, _ in programs}
    for turn in range(turns + 1):
        for name, commands in programs:
            if turn > 3 and statistics.median(wall[name]) > 0.5:
                continue
            before, began = cpu(), time.perf_counter()
            subprocess.run(commands[turn % len(commands)], env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
            took = time.perf_counter() - began
            # The first turn only warms up.
            if turn > 0:
                wall[name].append(took)
                used[name].append(cpu() - before)
    rows = [(title, "best", "median", "CPU, median", "median ÷ ours", "target", "met")]
    ours = statistics.median(wall[programs[0][0]])
    for name, times in wall.items():
        middle = statistics.median(times)
        row = [name, ms(min(times)), ms(middle), ms(statistics.median(used[name])), f"{middle / ours:.2f}×"]
        target = [f"≤ {ms(BOARD_S)}", "yes" if middle <= BOARD_S else "no"] if name == programs[0][0] else ["", ""]
        rows.append((*row, *target))
    show(rows)


# The driver ---------------------------------------------------------------------------------------------------------


def driver(ours: Path, folder: Path, stories: int, turns: int) -> None:
    """Times a sprint whose agent does nothing, beside as many plain runs of the same agent."""
    wall, used, gaps = ({name: [] for name in (PLAIN, SPRINT)} for _ in range(3))
    phases = 0
    for turn in range(turns):
        for name in (PLAIN, SPRINT):
            desk = sprint_desk(ours, folder / "desk", stories)
            count = phases or 1
            before, began = cpu(), time.perf_counter()
            if name == SPRINT:
                run(desk.command("-q", "sprint", "run", "all", "--runner", "agent"))
            else:
                for _ in range(count):
                    run(desk.exec("agent"))
            took, spent = time.perf_counter() - began, cpu() - before
            found = sorted(json.loads(run(desk.command("runs", "--json", "-n", "10000")))["runs"], key=lambda one: one["id"])
            if name == SPRINT:
                phases = len(found)
                check(desk, stories)
            # The first turn only tells how many phases there are.
            if turn > 0:
                wall[name].append(took / len(found))
                used[name].append(spent / len(found))
                between = zip(found, found[1:])
                gaps[name] += [(after["started_at"] - one["finished_at"]) / 1000 for one, after in between]
    rows = [(f"a phase of {phases}, agents that do nothing", "best", "median", "CPU, median", "between two agents")]
    for name in (PLAIN, SPRINT):
        times = wall[name]
        rows.append((name, ms(min(times)), ms(statistics.median(times)), ms(statistics.median(used[name])),
                     ms(statistics.median(gaps[name]))))
    show(rows)
    more = statistics.median(wall[SPRINT]) - statistics.median(wall[PLAIN])
    best = min(wall[SPRINT]) - min(wall[PLAIN])
    work = statistics.median(used[SPRINT]) - statistics.median(used[PLAIN])
    between = statistics.median(gaps[SPRINT])
    met = "yes" if more <= PHASE_S else "no"
    print(f"the driver costs {ms(more)} per phase beside the runs, target ≤ {ms(PHASE_S)}: {met}; best {ms(best)}, CPU {ms(work)}")
    print(f"from the end of an agent to the start of the next: median {ms(between)}, worst {ms(max(gaps[SPRINT]))}", end="\n\n",
          flush=True)


PLAIN, SPRINT = "callsheet exec", "callsheet sprint run"


def sprint_desk(ours: Path, folder: Path, stories: int) -> Desk:
    """Makes a project with stories that are to be developed; what a sprint writes there is not in git."""
    desk = Desk(ours, folder, RUNNER)
    desk.write("agent.toml", AGENT)
    desk.write(".gitignore", ".callsheet/\n_bmad-output/\n")
    desk.git("add", "--all")
    desk.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "--quiet", "--message", "agent")
    desk.write(CONTEXT, "It does nothing.\n")
    desk.write(PLACE, board(stories, lambda _: "in-progress"))
    return desk


def check(desk: Desk, stories: int) -> None:
    """Checks that the sprint did what it had to do."""
    words = (desk.folder / PLACE).read_text().splitlines()
    done = sum(line.endswith(": done") for line in words)
    if done != stories:
        raise SystemExit(f"sprint: {done} of {stories} stories are done")
    desk.verify()


def run(command: list[str]) -> bytes:
    """Runs a command that has to succeed, and returns what it prints."""
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        say(done.stderr.decode(errors="replace"))
        raise subprocess.CalledProcessError(done.returncode, command)
    return done.stdout
