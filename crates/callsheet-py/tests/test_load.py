"""Many builds one after another, and many at once: memory stays flat, and results are equal."""

from __future__ import annotations

import asyncio
import gc
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conftest import Write

from callsheet import Error, PromptBuilder, build_prompt_system_append, compose

BUILDS = 10_000
THREADS = 8

# Growth that many times repeated work may leave behind; what leaks for each build leaves far more.
MOST_GROWTH = 2 * 1024 * 1024

TOOLS = [{"name": "t", "input_schema": {"type": "object", "properties": {"n": {"maximum": 2**70}}}}]


class Memory:
    async def build_context(self, project_id: str) -> str:
        return f"About {project_id}. " + "x" * 2_000


def build(folder: Path) -> tuple[str, list[Any]]:
    builder = PromptBuilder("p", Memory(), None, folder)
    builder.set_identity("identity", {"who": "an engineer", "n": 1.5})
    # Without a loop of its own: a coroutine that waits for nothing runs to its end at once.
    try:
        builder.load_project_context().send(None)
    except StopIteration:
        pass
    builder.add_context("task", "Count the open items. " * 20)
    builder.add_context_section("system_info", {"branch": "main", "dirty": False, "n": 2**80})
    builder.add_context_section("task_depth", {"depth": 1})
    builder.set_tools(TOOLS)
    return builder.build()


def work(folder: Path, number: int) -> Any:
    """Does one of everything; errors are work, too."""
    if number % 50:
        return build(folder)
    composition = compose("layers", {"tools": TOOLS, "rules": "Be kind."}, root=folder)
    try:
        compose("layers", {"nothing": number}, root=folder)
    except Error:
        pass
    injected = build_prompt_system_append(folder, "dev", ["a-1"])
    return composition.manifest, composition.source_map, composition.tools, injected


def templates(write: Write) -> Path:
    return write(
        {
            "identity.md": "---\nname: identity\n---\nI am {{who}}, {{n}}.\n" + "More text.\n" * 50,
            "controlled-splitting.md": "At {{current_depth}} of {{max_depth}}.",
            "_bmad-output/implementation-artifacts/a-1.md": "story\n" * 100,
        }
    )


def resident() -> int:
    """Returns the bytes of memory that this process uses now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def test_memory_is_flat_over_many_builds(write: Write) -> None:
    folder = templates(write)
    expected = build(folder), work(folder, 0)
    for number in range(BUILDS // 10):
        work(folder, number)
    before = resident()
    for number in range(BUILDS):
        assert work(folder, number) == expected[number % 50 == 0]
    assert resident() - before < MOST_GROWTH


def test_many_threads_get_equal_results(write: Write) -> None:
    folder = templates(write)
    expected = build(folder), work(folder, 0)
    start = threading.Barrier(THREADS)

    def run(_: int) -> bool:
        start.wait()
        return all(work(folder, number) == expected[number % 50 == 0] for number in range(100))

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(run, range(THREADS))) == [True] * THREADS
        before = resident()
        for _ in range(4):
            assert list(threads.map(run, range(THREADS))) == [True] * THREADS
        assert resident() - before < MOST_GROWTH


def test_one_builder_may_be_shared(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=templates(write))
    builder.add_context("first", "first")
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait()
        for turn in range(100):
            builder.add_context("x", f"{number}-{turn}")
            builder.set_identity("identity", {"who": number})
            builder.reload()
            builder.build()

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(run, range(THREADS)))
    blocks = builder.build_task_prompt().split("\n\n---\n\n")[1:]
    assert blocks[0] == "first"
    assert sorted(blocks[1:]) == sorted(f"{number}-{turn}" for number in range(THREADS) for turn in range(100))
    for number in range(THREADS):
        own = [block for block in blocks[1:] if block.startswith(f"{number}-")]
        assert own == [f"{number}-{turn}" for turn in range(100)]


def test_python_runs_on_while_a_prompt_is_composed(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number}.txt").write_text("word " * 20_000)
    turns, done = 0, threading.Event()

    def compose_all() -> None:
        compose("pack", {"globs": ["*.txt"]}, root=tmp_path)
        done.set()

    thread = threading.Thread(target=compose_all)
    thread.start()
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    thread.join()
    # A call that held on to the interpreter would let nobody else have a turn but before and after it.
    assert turns > 5


def test_coroutines_of_many_builders_share_a_loop(write: Write) -> None:
    class Slow:
        async def build_context(self, project_id: str) -> str:
            await asyncio.sleep(0.001)
            return f"About {project_id}."

    async def prompt(number: int) -> str:
        builder = PromptBuilder(f"p{number}", Slow())
        await builder.load_project_context()
        return builder.build_task_prompt()

    async def together() -> list[str]:
        return await asyncio.gather(*(prompt(number) for number in range(50)))

    assert asyncio.run(together()) == [f"About p{number}." for number in range(50)]
