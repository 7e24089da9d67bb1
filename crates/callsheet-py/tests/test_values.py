"""Models and dataclasses where dicts are, and paths of every form."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import os
import threading
from pathlib import Path
from typing import Any

import pydantic
import pytest
from conftest import Write

from callsheet import PromptBuilder, compose, compose_messages, compose_run


class Mode(enum.Enum):
    FAST = "fast"


class Inner(pydantic.BaseModel):
    size: int = 2
    ready: bool = True


class Facts(pydantic.BaseModel):
    name: str = "n"
    mode: Mode = Mode.FAST
    when: datetime.date = datetime.date(2026, 1, 2)
    inner: Inner = Inner()


@dataclasses.dataclass
class Part:
    size: int = 2


@dataclasses.dataclass(frozen=True)
class Record:
    name: str = "n"
    part: Part = dataclasses.field(default_factory=Part)
    parts: tuple[Part, ...] = (Part(3),)
    where: Path = Path("a/b")


class Duck:
    """Has the method of a model and takes no argument."""

    def model_dump(self) -> dict[str, Any]:
        return {"name": "duck", "inner": Record()}


def section(data: Any) -> str:
    builder = PromptBuilder()
    builder.add_context_section("facts", data)
    return builder.build_task_prompt()


def test_a_section_takes_models_and_dataclasses() -> None:
    for data in (Facts(), Record(), Duck()):
        as_dict = data.model_dump() if not isinstance(data, Record) else dataclasses.asdict(data)
        assert section(data) == section(as_dict)
    assert section(Facts()) == (
        "## Facts\n- **name:** n\n- **mode:** Mode.FAST\n- **when:** 2026-01-02\n"
        "- **inner:** {'size': 2, 'ready': True}"
    )
    assert section(Record()).startswith("## Facts\n- **name:** n\n- **part:** {'size': 2}\n- **parts:** ({'size': 3},)")


def test_depths_may_be_a_model() -> None:
    class Depth(pydantic.BaseModel):
        depth: int = 1
        max_depth: int = 3

    def rules(data: Any) -> str:
        builder = PromptBuilder()
        builder.add_context_section("task_depth", data)
        return builder.build_task_prompt()

    assert rules(Depth()) == rules({"depth": 1, "max_depth": 3}) != ""


def test_variables_may_be_models_and_dataclasses(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=write({"t.md": "{{name}} {{mode}} {{where}}"}))
    assert builder.render_template("t", Facts()) == "n Mode.FAST "
    assert builder.render_template("t", Record()) == "n  a/b"
    builder.set_identity("t", Duck())
    assert builder.build_task_prompt() == "duck  "


def test_an_input_may_be_a_model_at_every_depth() -> None:
    class Block(pydantic.BaseModel):
        name: str = "facts"
        data: Facts = Facts()

    class Input(pydantic.BaseModel):
        rules: str = "Be kind."
        context: list[Block] = [Block()]

    expected = 'Be kind.\n\n---\n\n## Facts\n- **name:** n\n- **mode:** fast\n- **when:** 2026-01-02\n- **inner:** {"size":2,"ready":true}'
    assert compose("layers", Input()).text == expected
    assert compose("layers", {"rules": "Be kind.", "context": [Block()]}).text == expected
    assert compose("layers", {"rules": "Be kind.", "context": ({"name": "facts", "data": Facts()},)}).text == expected


def test_an_input_may_be_a_dataclass_at_every_depth() -> None:
    @dataclasses.dataclass
    class Block:
        name: str
        data: Any

    @dataclasses.dataclass
    class Input:
        context: list[Block]

    expected = '## X\n- **name:** n\n- **part:** {"size":2}\n- **parts:** [{"size":3}]\n- **where:** a/b'
    assert compose("layers", Input([Block("x", Record())])).text == expected
    inner = '{"name":"n","part":{"size":2},"parts":[{"size":3}],"where":"a/b"}'
    assert compose("layers", Input([Block("x", Duck())])).text == f"## X\n- **name:** duck\n- **inner:** {inner}"


def test_the_other_functions_take_models_too() -> None:
    class Task(pydantic.BaseModel):
        id: int = 7
        title: str = "Add a login form"

    @dataclasses.dataclass
    class Run:
        task: Task = dataclasses.field(default_factory=Task)

    assert compose_run(Run()) == compose_run({"task": {"id": 7, "title": "Add a login form"}})

    class Persona(pydantic.BaseModel):
        id: str = "a"
        metadata: dict[str, str] = {"name": "A", "title": "T", "icon": "i"}
        systemPrompt: str = "Be exact."

    chat = {"mode": "chat", "activeAgentId": "a", "userInput": "Go."}
    expected = compose_messages({**chat, "agentDefinition": Persona().model_dump()})
    assert compose_messages({**chat, "agentDefinition": Persona()}) == expected


def test_tools_may_be_models() -> None:
    class Tool(pydantic.BaseModel):
        name: str = "t"

    builder = PromptBuilder()
    builder.set_tools([Tool(), Part()])
    assert builder.build()[1] == [Tool(), Part()]
    assert builder.compose().tools == [{"name": "t"}, {"size": 2}]


@pytest.mark.parametrize("value", [Facts, Record, b"x", object(), {1, 2}, threading.Lock(), datetime.date(2026, 1, 2)])
def test_what_is_none_of_these_is_refused_with_its_path(value: Any) -> None:
    @dataclasses.dataclass
    class Holder:
        held: Any

    kind = type(value).__name__
    with pytest.raises(TypeError, match=rf"^`input\.context\[0\]\.data\.held`: JSON has no value for a `{kind}`$"):
        compose("layers", {"context": [{"name": "x", "data": Holder(value)}]})
    for refused in (Facts, Record, 5, "text", [("a", 1)]):
        with pytest.raises(TypeError, match="^data must be a mapping, not a "):
            section(refused)


def test_a_model_of_models_without_end_is_refused() -> None:
    class Endless:
        def model_dump(self) -> Any:
            return Endless()

    with pytest.raises(TypeError, match="^`input`: JSON has no value for a `Endless`$"):
        compose("layers", Endless())
    with pytest.raises(TypeError, match="^data must be a mapping, not a Endless$"):
        section(Endless())


class BytesPath:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> bytes:
        return os.fsencode(self.path)


def test_folders_may_be_bytes(write: Write) -> None:
    root = write({"prompts/t.md": "T", "callsheet/templates/own.md": "own"})
    prompts = root / "prompts"
    for folder in (prompts, str(prompts), os.fsencode(prompts), BytesPath(prompts)):
        builder = PromptBuilder(prompts_dir=folder)
        assert builder.get_template("t") == "T"
        assert repr(builder) == f"PromptBuilder(project_id=None, prompts_dir='{prompts}')"
    for nothing in (None, "", b""):
        assert PromptBuilder(prompts_dir=nothing).get_template("task-agent")
    for place in (os.fsencode(root), BytesPath(root)):
        assert compose("layers", {"identity": {"name": "own"}}, root=place).text == "own"
    with pytest.raises(TypeError):
        PromptBuilder(prompts_dir=5)  # type: ignore[arg-type]


def test_folders_may_have_names_that_are_no_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    with open(folder + b"/t.md", "w") as file:
        file.write("T")
    for place in (folder, os.fsdecode(folder), Path(os.fsdecode(folder))):
        assert PromptBuilder(prompts_dir=place).get_template("t") == "T"
        assert compose("layers", {"rules": "R"}, root=place).text == "R"


def test_a_path_in_an_input_may_be_one_of_bytes(write: Write) -> None:
    root = write({"a.md": "A"})
    input = {"command_name": "dev", "story_keys": [], "additional_files": [BytesPath(Path("a.md"))]}
    assert '<file path="a.md">' in compose("injection", input, root=root).text
