"""Measures the store: its library by a Rust program, and the whole program on the store that it leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import inputs
from measure import Contender, measure, table
from programs import BENCH, WORK, say

ROOT = BENCH.parent
SERVER = "CALLSHEET_TEST_POSTGRES"


def store(ours: Path, runs: int, quick: bool, verbose: bool) -> None:
    """Measures everything about the store and prints the tables."""
    folder = WORK / "store"
    shutil.rmtree(folder, ignore_errors=True)
    options = ["--folder", str(folder)] + ["--quick"] * quick + ["--verbose"] * verbose
    command = ["cargo", "bench", "--quiet", "--locked", "-p", "callsheet-store", "--bench", "store", "--", *options]
    try:
        with server() as environment:
            subprocess.run(command, cwd=ROOT, env=environment, check=True)
        for title, contenders in [*programs_on(ours, folder / "corpus"), many_files(ours, 10_000 if quick else 100_000)]:
            say(f"measuring {title}")
            measure(contenders, runs, None)
            print(table(title, contenders), end="\n\n", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def server() -> Iterator[dict[str, str]]:
    """Gives an environment with a PostgreSQL server that keeps what a crash keeps, where there is one."""
    if SERVER in os.environ:
        yield dict(os.environ)
        return
    # A folder that outlives a restart is on a disk; one for short-lived files may be in memory.
    steady = Path("/var/tmp")
    folder = Path(tempfile.mkdtemp(dir=steady if steady.is_dir() else None))
    folder.chmod(0o755)
    place, script = str(folder / "server"), str(ROOT / "scripts" / "postgres")
    try:
        started = subprocess.run([script, "start", place], stdout=subprocess.PIPE, text=True)
        if started.returncode != 0:
            say("skipped: PostgreSQL cannot be started")
            yield dict(os.environ)
        else:
            yield {**os.environ, SERVER: started.stdout.strip()}
    finally:
        subprocess.run([script, "stop", place, "immediate"], stderr=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


def programs_on(ours: Path, project: Path) -> Iterator[tuple[str, list[Contender]]]:
    """Gives what the whole program does with a store of many prompts."""
    numbers = count()
    base = [str(ours), "--root", str(project)]

    def run(*words: str) -> None:
        """Runs the program; not finding anything is an answer."""
        done = subprocess.run([*base, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode not in (0, 1):
            raise subprocess.CalledProcessError(done.returncode, [*base, *words])

    def compose(*words: str, task: str | None = None) -> None:
        """Composes a prompt that was never there, unless the task is given."""
        values = {"globs": ["src/**", "docs/**"], "task": task or f"Fix measurement {next(numbers)}.", "digest": "None."}
        given = [part for key, value in values.items() for part in ("-D", f"{key}:={json.dumps(value)}")]
        run("compose", "bench", *given, *words)

    floor = "callsheet compose"
    yield "seal", [
        Contender(floor, function=lambda: compose()),
        Contender("callsheet compose --seal", function=lambda: compose("--seal"), floor=floor),
        Contender("the same once more", function=lambda: compose("--seal", task="Fix nothing."), floor=floor),
    ]

    rare = "Fix what no other prompt is about."
    compose("--seal", task=rare)
    common = next(project.glob("docs/*.md")).read_text()[100:140]
    floor = "floor: callsheet --version"
    kinds = [
        ("why --text, in one prompt", ["why", "--text", rare]),
        ("why --text, in all prompts", ["why", "--text", common]),
        ("why --text, absent", ["why", "--text", "zyx never said wvu"]),
        ("search, in one prompt", ["search", "measurement 0"]),
        ("search, in all prompts", ["search", "session"]),
        ("prompts", ["prompts"]),
    ]
    yield "find", [
        Contender(floor, function=lambda: run("--version")),
        *(Contender(name, function=lambda words=words: run(*words), floor=floor) for name, words in kinds),
    ]


def many_files(ours: Path, files: int) -> tuple[str, list[Contender]]:
    """Gives one prompt of very many small files, packed and sealed; each turn begins without a store."""
    project = inputs.prepared(WORK / f"many-{files}", lambda root: inputs.make_many(root, files))

    def pack(*words: str) -> None:
        shutil.rmtree(project / ".callsheet", ignore_errors=True)
        subprocess.run([str(ours), "pack", *words], cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    floor = "callsheet pack"
    return f"seal {files:,} files", [
        Contender(floor, function=lambda: pack(), most_runs=3),
        Contender("callsheet pack --seal", function=lambda: pack("--seal"), floor=floor, target=5, most_runs=3),
    ]
