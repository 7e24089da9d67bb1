"""Memory managers and rule managers of other programs: sync or async, method or property, working or not."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest

from callsheet import PromptBuilder


class Answer:
    """What the memory class of the source document returns: `is_empty` as a method."""

    def __init__(self, text: Any, empty: Any = False) -> None:
        self.text, self.empty = text, empty

    def is_empty(self) -> Any:
        return self.empty

    def to_context_block(self) -> Any:
        return self.text


class WithProperty(Answer):
    @property
    def is_empty(self) -> Any:
        return self.empty


class Async(Answer):
    async def is_empty(self) -> Any:
        return self.empty

    async def to_context_block(self) -> Any:
        return self.text


class WithAttributes:
    def __init__(self, text: str, is_empty: bool) -> None:
        self.to_context_block, self.is_empty = text, is_empty


class Bare:
    def to_context_block(self) -> str:
        return "bare"


class Memory:
    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, []  # type: ignore[var-annotated]

    def build_context(self, project_id: str, task: Any, workspace_path: str) -> Any:
        self.asked.append((project_id, task, workspace_path))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class AsyncMemory(Memory):
    async def build_context(self, project_id: str, task: Any, workspace_path: str) -> Any:
        await asyncio.sleep(0)
        return super().build_context(project_id, task, workspace_path)


def loaded(manager: Any, project_id: Any = "p") -> PromptBuilder:
    builder = PromptBuilder(project_id, manager)
    assert asyncio.run(builder.load_project_context()) is None
    return builder


ANSWERS = [
    ("text", "text"),
    (Answer("block"), "block"),
    (WithProperty("block"), "block"),
    (Async("block"), "block"),
    (WithAttributes("block", False), "block"),
    (Bare(), "bare"),
    (Answer("block", True), ""),
    (WithProperty("block", True), ""),
    (Async("block", True), ""),
    (WithAttributes("block", True), ""),
    (Answer(None), ""),
    (Answer(" \n"), ""),
    (None, ""),
    ("", ""),
]


@pytest.mark.parametrize(("answer", "expected"), ANSWERS)
@pytest.mark.parametrize("memory", [Memory, AsyncMemory])
def test_every_form_of_an_answer(memory: type[Memory], answer: Any, expected: str) -> None:
    manager = memory(answer)
    builder = loaded(manager)
    assert builder.build_task_prompt() == expected
    assert builder.compose().events == []
    assert manager.asked == [("p", None, "")]


def test_mocks_are_managers() -> None:
    manager, answer = MagicMock(), MagicMock()
    answer.is_empty.return_value = False
    answer.to_context_block.return_value = "block"
    manager.build_context = AsyncMock(return_value=answer)
    assert loaded(manager).build_task_prompt() == "block"
    manager.build_context.assert_awaited_once_with("p", task=None, workspace_path="")


def test_a_manager_gets_what_it_has_a_name_for() -> None:
    class Few:
        def build_context(self, project_id: str) -> str:
            return f"about {project_id}"

    class Other:
        async def build_context(self, project: str, *, workspace_path: str = "x") -> str:
            return f"about {project} in {workspace_path!r}"

    class Any_:
        def build_context(self, *args: Any, **named: Any) -> str:
            return f"{args} {named}"

    assert loaded(Few()).build_task_prompt() == "about p"
    assert loaded(Other()).build_task_prompt() == "about p in ''"
    assert loaded(Any_()).build_task_prompt() == "('p',) {'task': None, 'workspace_path': ''}"


@pytest.mark.parametrize("project_id", [None, ""])
def test_nobody_is_asked_without_a_project_or_a_manager(project_id: str | None) -> None:
    manager = Memory("text")
    assert loaded(manager, project_id).build_task_prompt() == ""
    assert manager.asked == []
    assert loaded(None).build_task_prompt() == ""


FAILURES = [OSError("disk"), TypeError("x"), RuntimeError("\ud800"), Answer(5), Answer(b"x"), 5]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("memory", [Memory, AsyncMemory])
def test_a_failure_leaves_what_was_there_before(memory: type[Memory], failure: Any) -> None:
    manager = memory("first")
    builder = loaded(manager)
    manager.answer = failure
    asyncio.run(builder.load_project_context())
    assert builder.build_task_prompt() == "first"
    assert [event["type"] for event in builder.compose().events] == ["layer:failed"]
    manager.answer = "second"
    asyncio.run(builder.load_project_context())
    assert builder.build_task_prompt() == "second"
    assert builder.compose().events == []


def test_a_failure_says_what_it_was() -> None:
    events = loaded(Memory(OSError("disk"))).compose().events
    message = "the layer `project-context` could not be loaded: OSError: disk"
    assert events == [{"type": "layer:failed", "payload": {"layer": "project-context", "message": message}}]
    assert loaded(object()).build_task_prompt() == ""


@pytest.mark.parametrize("stop", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_stops_a_program_stops_it(stop: type[BaseException]) -> None:
    builder = PromptBuilder("p", Memory(stop()))
    with pytest.raises(stop):
        builder.load_project_context().send(None)


class Rules:
    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, []  # type: ignore[var-annotated]

    def get_rules_for_prompt(self, project_id: str, query: str) -> Any:
        self.asked.append((project_id, query))
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_rules_are_off_unless_they_are_asked_for() -> None:
    manager = Rules("## Applicable Rules")
    builder = PromptBuilder("p", None, manager)
    assert asyncio.run(builder.load_relevant_rules("q")) is None
    assert builder.build_task_prompt() == ""
    assert manager.asked == []


def test_rules_on_request() -> None:
    manager = Rules("## Applicable Rules")
    builder = PromptBuilder("p", rule_manager=manager, rules=True)
    asyncio.run(builder.load_relevant_rules("q"))
    assert builder.build_task_prompt() == "## Applicable Rules"
    assert manager.asked == [("p", "q")]
    for answer in ("", None, OSError("disk"), 5):
        manager.answer = "again"
        asyncio.run(builder.load_relevant_rules("q"))
        manager.answer = answer
        asyncio.run(builder.load_relevant_rules("q"))
        assert builder.build_task_prompt() == "", "a failure empties the layer"
    assert [event["type"] for event in builder.compose().events] == ["layer:failed"]
    manager.answer = AsyncMock(return_value="later")()
    asyncio.run(builder.load_relevant_rules("q"))
    assert builder.build_task_prompt() == "later"
    for empty in (PromptBuilder("p", rules=True), PromptBuilder(rule_manager=Rules("r"), rules=True)):
        asyncio.run(empty.load_relevant_rules("q"))
        assert empty.build_task_prompt() == ""


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_a_failure_without_words_is_swallowed_too() -> None:
    builder = loaded(Memory(Mute()))
    assert builder.build_task_prompt() == ""
    events = builder.compose().events
    assert [event["type"] for event in events] == ["layer:failed"]
