"""Measures the server: very many listeners while many agents work."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from pathlib import Path

from programs import WORK, say
from runs import AGENTS, ENVIRONMENT, PAUSE_MS, ROOT, SAYS, crowd_desk, rows

# How many browsers look on, and how many agents work meanwhile.
CLIENTS, WORKERS = 1000, AGENTS // 4


def serve(ours: Path, quick: bool) -> None:
    """Measures how late events are at each of the listeners, beside a server without a store."""
    clients, agents = (CLIENTS // 10, WORKERS // 5) if quick else (CLIENTS, WORKERS)
    enough = clients * 2 + 200
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < enough:
        say(f"serve: {enough} open files are needed, and {most} are allowed; skipping it")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (enough, most))
    folder = WORK / "serve"
    shutil.rmtree(folder, ignore_errors=True)
    command = ["cargo", "bench", "--quiet", "--locked", "-p", "callsheet-server", "--bench", "listeners"]
    subprocess.run([*command, "--no-run"], cwd=ROOT, check=True)
    listeners = [*command, "--", str(clients)]
    try:
        say(f"measuring {clients} listeners while {agents} agents work")
        figures, memory, events = served(ours, folder, listeners, agents)
        say("measuring the floor: as many events to as many listeners, without a store")
        plain, floor = echoed(listeners, events, max(1, events * 1000 // (SAYS * PAUSE_MS)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if figures["gaps"] or figures["events"] < clients * events:
        raise SystemExit(f"serve: events were lost: {figures}, {events} were stored")
    rows(f"{clients} listeners, {agents} agents", [
        ("received, none lost, none twice", f"{events} events by each listener"),
        ("from stored to received", late(figures)),
        ("floor: plain axum, no store", late(plain)),
        ("p50 ÷ floor, p99 ÷ floor", " and ".join(
            f"{figures[share] / max(plain[share], 1):.1f}×" for share in ("p50_ms", "p99_ms"))),
        ("memory per listener", each(memory, clients)),
        ("floor", each(floor, clients)),
        ("memory of the server, at most", f"{memory[2] / 1000:.1f} MB"),
    ])


def late(figures: dict) -> str:
    return f"p50 {figures['p50_ms']} ms, p99 {figures['p99_ms']} ms, worst {figures['worst_ms']} ms"


def each(memory: list[int], clients: int) -> str:
    return f"{(memory[1] - memory[0]) / clients:.1f} kB"


def echoed(listeners: list[str], events: int, per_second: int) -> tuple[dict, list[int]]:
    """Returns the figures of listeners to a plain server, and its memory before and with them."""
    command = [*listeners, "echo", str(events), str(per_second)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        address, pid = server.stdout.readline().split()
        before = memory_of(int(pid), "VmRSS")
        with subprocess.Popen([*listeners, address, "none"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hearers:
            if hearers.stdout.readline() != "ready\n":
                raise SystemExit("serve: the listeners could not connect")
            connected = memory_of(int(pid), "VmRSS")
            told, _ = hearers.communicate(f"{events}\n")
        server.communicate()
    return json.loads(told.splitlines()[-1]), [before, connected]


def served(ours: Path, folder: Path, listeners: list[str], agents: int) -> tuple[dict, list[int], int]:
    """Returns the figures of the listeners, the memory of the server before, with them and at most, and how many events there were."""
    desk = crowd_desk(ours, folder)
    command = desk.command("--json", "serve", "--port", "0", "--no-worker")
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as server:
        try:
            head = number(desk)
            running = document(server)
            words = [running["address"].removeprefix("http://"), running["token"]]
            before = memory_of(server.pid, "VmRSS")
            with subprocess.Popen([*listeners, *words], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as hearers:
                if hearers.stdout.readline() != "ready\n":
                    raise SystemExit("serve: the listeners could not connect")
                connected = memory_of(server.pid, "VmRSS")
                drivers = [subprocess.Popen(desk.exec("agent"), env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL) for _ in range(agents)]
                failed = sum(driver.wait() != 0 for driver in drivers)
                if failed:
                    raise SystemExit(f"serve: {failed} of {agents} runs failed")
                last = number(desk)
                told, _ = hearers.communicate(f"{last}\n")
            figures = json.loads(told.splitlines()[-1])
            memory = [before, connected, memory_of(server.pid, "VmHWM")]
        finally:
            server.terminate()
    desk.verify()
    return figures, memory, last - head


def document(server: subprocess.Popen) -> dict:
    """Reads the document that says where the server is."""
    text = ""
    for line in server.stdout:
        text += line
        if line == "}\n":
            return json.loads(text)
    raise SystemExit("serve: the server did not start")


def number(desk) -> int:
    """Returns how many events the project has."""
    done = subprocess.run(desk.command("--json", "head"), env=ENVIRONMENT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["seq"]


def memory_of(pid: int, field: str) -> int:
    """Returns a figure about the memory of a process, in kB."""
    status = Path("/proc", str(pid), "status").read_text()
    return next(int(text.split()[1]) for text in status.splitlines() if text.startswith(field))
