"""Measures runs: many agents at once, a flood of output from one, and what our own start costs.

The agents are scripts and small programs: no model is asked.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Contender, line, measure, ms, table
from programs import BENCH, WORK, say

ROOT = BENCH.parent
STREAMS = ROOT / "crates" / "callsheet-run" / "tests" / "streams"

# How many agents there are at once, what each says, and how long it waits before each word.
AGENTS, SAYS, PAUSE_MS = 200, 50, 100

TASK = "task:\n  id: '1'\n  title: Count the open items\n  description: All of them.\n  write_scope: ['src/**']\n"

# Nothing of the person who measures: neither keys nor configuration.
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def runs(ours: Path, turns: int, quick: bool) -> None:
    """Measures everything about runs and prints the tables."""
    folder = WORK / "runs"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        say("measuring many agents at once")
        agents = AGENTS // 10 if quick else AGENTS
        many(ours, folder, agents)
        crowd(ours, folder, agents)
        say("measuring a long stream")
        ingest(ours, folder, 100 if quick else 1000, min(turns, 3))
        for name, files in [("start, small repository", 3), ("start, 4,000 files", 4000)]:
            say(f"measuring {name}")
            contenders = start(ours, folder, files)
            measure(contenders, turns, None)
            print(table(name, contenders), end="\n\n", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Desk:
    """A project in a git repository, with runners."""

    def __init__(self, ours: Path, folder: Path, runners: str, files: int = 3) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.ours, self.folder = ours, folder
        self.write("callsheet.toml", runners)
        self.write("task.yaml", TASK)
        self.write(".gitignore", ".callsheet/\n")
        for number in range(files):
            self.write(f"src/{number % 50}/{number}.rs", f"fn f{number}() {{}}\n" * 20)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("add", "--all")
        self.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "--quiet", "--message", "start")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def command(self, *words: str) -> list[str]:
        return [str(self.ours), "--root", str(self.folder), *words]

    def exec(self, runner: str) -> list[str]:
        """Returns the command line that hands the task to a runner."""
        return self.command("exec", "run", "--input", str(self.folder / "task.yaml"), "--runner", runner)

    def events(self) -> list[dict]:
        """Returns all events of the project, in their wire form."""
        done = subprocess.run(self.command("events", "--json"), env=ENVIRONMENT, check=True, stdout=subprocess.PIPE)
        return [json.loads(text) for text in done.stdout.splitlines()]

    def verify(self) -> None:
        subprocess.run(self.command("--quiet", "verify"), env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)


def rows(title: str, facts: list[tuple[str, str]]) -> None:
    """Prints facts, one per line."""
    width = max(len(name) for name, _ in facts)
    print(title, "-" * len(title), *(f"{name.ljust(width)}  {value}" for name, value in facts), sep="\n", end="\n\n")


# Many agents at once ------------------------------------------------------------------------------------------------


def script() -> str:
    """Returns a script that says numbered words, one at a time."""
    steps = [f'[[steps]]\nwait_ms = {PAUSE_MS}\n\n[[steps]]\nsay = "word {number}"\n' for number in range(SAYS)]
    return "[[steps]]\nread_prompt = true\n\n" + "\n".join(steps)


def crowd_desk(ours: Path, folder: Path) -> Desk:
    """Makes a project whose runner plays the script; it has a store."""
    desk = Desk(ours, folder, '[runners.agent]\nadapter = "scripted"\nscript = "agent.toml"\n')
    desk.write("agent.toml", script())
    seal = desk.command("--quiet", "compose", "run", "--input", str(desk.folder / "task.yaml"), "--seal")
    subprocess.run(seal, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return desk


def many(ours: Path, folder: Path, agents: int) -> None:
    """Starts agents at once, each by a process of its own; then checks what is in the store."""
    desk = crowd_desk(ours, folder / "many")
    errors = folder / "errors"
    began = time.perf_counter()
    with errors.open("wb") as talk:
        drivers = [subprocess.Popen(desk.exec("agent"), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=talk)
                   for _ in range(agents)]
        memory = Memory({driver.pid for driver in drivers})
        while any(driver.poll() is None for driver in drivers):
            memory.look()
            time.sleep(0.25)
    wall = time.perf_counter() - began
    failed = sum(driver.returncode != 0 for driver in drivers)
    if failed:
        say(errors.read_text(errors="replace"))
        raise SystemExit(f"runs: {failed} of {agents} runs failed")
    tell_crowd(f"{agents} agents at once, a process each", desk, agents, wall, list(memory.facts()))


def crowd(ours: Path, folder: Path, agents: int) -> None:
    """Starts agents at once from the threads of one process, as a program does that has many runs to look after."""
    desk = crowd_desk(ours, folder / "crowd")
    command = ["cargo", "bench", "--quiet", "--locked", "-p", "callsheet-run", "--bench", "crowd", "--"]
    words = [str(ours), str(desk.folder), str(agents)]
    figures = json.loads(subprocess.run([*command, *words], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    memory = [("memory of the process, at most", f"{figures['peak_kb'] / 1000:.1f} MB")]
    tell_crowd(f"{agents} agents at once, a thread each", desk, agents, figures["seconds"], memory)


def tell_crowd(title: str, desk: Desk, agents: int, wall: float, memory: list[tuple[str, str]]) -> None:
    """Checks what is in the store and prints what it took."""
    late, starts = check_crowd(desk, agents)
    desk.verify()
    rows(title, [
        ("stored, in order, verified", f"{agents} runs of {SAYS} words"),
        ("all of it", f"{wall:.1f} s, of which an agent takes {SAYS * PAUSE_MS / 1000:.1f} s"),
        ("an agent is there after", spread(starts)),
        ("a word is stored after it is due", spread(late)),
        *memory,
    ])


def check_crowd(desk: Desk, agents: int) -> tuple[list[float], list[float]]:
    """Checks that every run has its words in order; returns how late words are, and agents."""
    events = desk.events()
    if [event["seq"] for event in events] != list(range(1, len(events) + 1)):
        raise SystemExit("runs: the numbers of the events have a gap")
    of_run: dict[str, list[dict]] = {}
    for event in events:
        of_run.setdefault(event.get("run", ""), []).append(event)
    of_run.pop("", None)
    if len(of_run) != agents:
        raise SystemExit(f"runs: {len(of_run)} of {agents} runs have events")
    late, starts = [], []
    first = min(events[0]["timestamp"] for events in of_run.values())
    for run, events in of_run.items():
        words = [event for event in events if event["type"] == "agent:text"]
        if [event["payload"]["text"] for event in words] != [f"word {number}" for number in range(SAYS)]:
            raise SystemExit(f"runs: the words of run {run} are not those of its script")
        spawned = next(e["payload"]["at"] for e in events if e["payload"].get("step") == "spawned")
        starts.append((spawned - first) / 1000)
        late += [(e["timestamp"] - spawned - PAUSE_MS * (n + 1)) / 1000 for n, e in enumerate(words)]
    return late, starts


def spread(seconds: list[float]) -> str:
    """Says the middle and the end of some times."""
    cuts = statistics.quantiles(seconds, n=100)
    return f"p50 {ms(cuts[49])}, p99 {ms(cuts[98])}, worst {ms(max(seconds))}"


class Memory:
    """The memory of drivers, and of the supervisors and agents below them."""

    def __init__(self, drivers: set[int]) -> None:
        self.drivers = drivers
        self.peaks: dict[str, int] = {}
        self.sums: dict[str, int] = {}

    def look(self) -> None:
        sums: dict[str, int] = {}
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            try:
                kind = self.kind(int(entry.name))
                status = dict(part.split(":", 1) for part in Path(entry.path, "status").read_text().splitlines())
                peak, private = (int(status[key].split()[0]) for key in ("VmHWM", "RssAnon"))
            except (OSError, KeyError, ValueError):
                continue
            if kind:
                self.peaks[kind] = max(self.peaks.get(kind, 0), peak)
                sums[kind] = sums.get(kind, 0) + private
        for kind, total in sums.items():
            self.sums[kind] = max(self.sums.get(kind, 0), total)

    def kind(self, pid: int) -> str | None:
        if pid in self.drivers:
            return "driver"
        words = Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
        ours = words[0].endswith(b"callsheet") and len(words) > 1
        return {b"supervise": "supervisor", b"play": "agent"}.get(words[1]) if ours else None

    def facts(self) -> Iterator[tuple[str, str]]:
        for kind, peak in sorted(self.peaks.items()):
            yield f"memory of one {kind}, at most", f"{peak / 1000:.1f} MB; private of all {self.sums[kind] / 1000:.0f} MB"


# A long stream ------------------------------------------------------------------------------------------------------


def ingest(ours: Path, folder: Path, megabytes: int, turns: int) -> None:
    """Reads a long stream as text and as that of an agent CLI, beside writing it to a file."""
    folder.mkdir(parents=True, exist_ok=True)
    short, long = folder / "short", folder / "long"
    for path, size in [(short, megabytes // 10), (long, megabytes)]:
        make_stream(path, size * 1_000_000)
    quiet = "limits = { output_mb = 10000 }\n"
    runners = ""
    for name, adapter in [("text", "command"), ("claude", "claude")]:
        for size, path in [("short", short), ("long", long)]:
            # What the adapter adds to the command line is for a shell that does not look at it.
            command = json.dumps(["sh", "-c", f"exec cat {path}", "sh"])
            runners += f'[runners.{name}-{size}]\nadapter = "{adapter}"\ncommand = {command}\n{quiet}\n'
    floor = f"floor: {megabytes} MB to a file, synced"
    written = folder / "written"
    names = [("as text", "text"), ("as Claude Code", "claude")]
    times: dict[str, list[float]] = {floor: [], **{name: [] for name, _ in names}}
    peaks: dict[str, list[str]] = {name: [] for name, _ in names}
    sizes: dict[str, str] = {}
    for _ in range(turns):
        times[floor].append(seconds(lambda: write(long, written)))
        for name, runner in names:
            desk = Desk(ours, folder / "ingest", runners)
            small, _ = peak_of(desk.exec(f"{runner}-short"))
            large, took = peak_of(desk.exec(f"{runner}-long"))
            times[name].append(took)
            peaks[name] = [f"{small:.0f} MB", f"{large:.0f} MB"]
            if name not in sizes:
                check_stream(desk, long)
                store = sum(file.stat().st_size for file in (desk.folder / ".callsheet").glob("callsheet.db*"))
                sizes[name] = f"{store / 1e6:.0f} MB"
    table_of = [("ingest", "best", "median", "runs", "median ÷ floor", "target", "met",
                 f"peak, {megabytes // 10} MB", f"peak, {megabytes} MB", "store")]
    middle = statistics.median(times[floor])
    for name, took in times.items():
        row = [name, ms(min(took)), ms(statistics.median(took)), str(len(took))]
        ratio = statistics.median(took) / middle
        rest = [""] * 6 if name == floor else [
            f"{ratio:.2f}×", "≤ 3×", "yes" if ratio <= 3 else "no", *peaks[name], sizes[name]]
        table_of.append((*row, *rest))
    widths = [max(len(row[column]) for row in table_of) for column in range(len(table_of[0]))]
    lines = [line(row, widths) for row in table_of]
    lines.insert(1, "-" * len(lines[0]))
    print(*lines, sep="\n", end="\n\n", flush=True)


def make_stream(path: Path, size: int) -> None:
    """Writes lines of Claude Code, as long as those of work on real files, which end well; none is there twice."""
    recorded = [json.loads(text) for text in (STREAMS / "claude-tool-write.ndjson").read_text().splitlines()]
    opening, *turn, last = recorded
    words = (STREAMS / "README.md").read_text() + "".join(
        file.read_text() for file in sorted((ROOT / "crates" / "callsheet" / "src").glob("*.rs")))
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(opening) + "\n")
        number = 0
        while file.tell() < size:
            for message in turn:
                number += 1
                at = number * 7919 % (len(words) - 6000)
                said = words[at:at + 100 + number * 31 % 4000]
                text = json.dumps(message).replace("mock00", f"mock{number:08}-")
                # The longest text of a line is as long as a file that an agent reads or writes.
                text = text.replace("I will use a tool.", json.dumps(said)[1:-1])
                text = text.replace("made by mock\\n", json.dumps(said)[1:-1])
                text = text.replace("File created successfully", json.dumps(said)[1:-1])
                file.write(text + "\n")
        file.write(json.dumps(last) + "\n")


def check_stream(desk: Desk, path: Path) -> None:
    """Checks that the last run has every byte of a stream."""
    listed = subprocess.run(desk.command("runs", "-n", "1", "--json"), env=ENVIRONMENT, check=True, stdout=subprocess.PIPE)
    run = json.loads(listed.stdout)["runs"][0]["id"]
    command = desk.command("log", run, "--stream", "stdout")
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE) as log:
        same = subprocess.run(["cmp", "-", str(path)], stdin=log.stdout, stdout=subprocess.DEVNULL).returncode == 0
    if not same:
        raise SystemExit("runs: the log is not the stream")


def write(source: Path, target: Path) -> None:
    """Writes the bytes of one file to another, and waits for the disk."""
    with source.open("rb") as read, target.open("wb") as written:
        while piece := read.read(1 << 20):
            written.write(piece)
        written.flush()
        os.fsync(written.fileno())
    target.unlink()


def seconds(work: Callable[[], object]) -> float:
    """Returns how long something takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def peak_of(command: list[str]) -> tuple[float, float]:
    """Runs a command and returns the most memory that it had in megabytes, without its children, and its time."""
    began = time.perf_counter()
    # Its talk is left out: a pipe that nobody reads would stop it.
    command = [command[0], "--quiet", *command[1:]]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_now(process.pid))
            time.sleep(0.02)
        took = time.perf_counter() - began
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return peak / 1000, took


def peak_now(pid: int) -> int:
    """Returns the most memory that a process had so far, in kilobytes; 0 where it is gone."""
    try:
        status = Path("/proc", str(pid), "status").read_text()
    except OSError:
        return 0
    return sum(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM:"))


# The start ----------------------------------------------------------------------------------------------------------


def start(ours: Path, folder: Path, files: int) -> list[Contender]:
    """What a run costs that does nothing, beside the program that does nothing."""
    runners = '[runners.true]\nadapter = "command"\ncommand = ["true"]\n\n'
    runners += '[runners.script]\nadapter = "scripted"\nscript = "agent.toml"\n'
    desk = Desk(ours, folder / f"start-{files}", runners, files)
    desk.write("agent.toml", "[[steps]]\nread_prompt = true\n")
    compose = desk.command("compose", "run", "--input", str(desk.folder / "task.yaml"))

    def quietly(command: list[str]) -> Callable[[], object]:
        return lambda: subprocess.run(command, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)

    def status() -> None:
        desk.git("status", "--porcelain=v2")

    floor = "floor: true"
    return [
        Contender(floor, function=quietly(["true"])),
        Contender("git status", function=status, floor=floor),
        Contender("callsheet compose", function=quietly(compose), floor=floor),
        Contender("callsheet compose --seal", function=quietly([*compose, "--seal"]), floor=floor),
        Contender("callsheet exec, true", function=quietly(desk.exec("true")), floor=floor),
        Contender("callsheet exec, a script", function=quietly(desk.exec("script")), floor=floor),
    ]
