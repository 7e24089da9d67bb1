"""The prompt builder: layers, context, tools and what `build` gives."""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from conftest import Write

from callsheet import Error, PromptBuilder

SEP = "\n\n---\n\n"


def prompt(name: str, data: Any, **options: Any) -> str:
    builder = PromptBuilder(**options)
    builder.add_context_section(name, data)
    return builder.build_task_prompt()


def test_nothing_set_gives_nothing() -> None:
    assert PromptBuilder().build() == ("", [])
    assert PromptBuilder().build_task_prompt() == ""


def test_the_constructor_takes_four_arguments_in_order(write: Write) -> None:
    names = list(inspect.signature(PromptBuilder).parameters)
    assert names[:4] == ["project_id", "memory_manager", "rule_manager", "prompts_dir"]
    folder = write({"a.md": "A"})
    for builder in (PromptBuilder("p", None, None, folder), PromptBuilder(prompts_dir=str(folder))):
        assert builder.get_template("a") == "A"


@pytest.mark.parametrize("folder", [None, ""])
def test_a_falsy_folder_means_the_packaged_templates(folder: str | None) -> None:
    builder = PromptBuilder(prompts_dir=folder)
    assert "Supervisor" in (builder.get_template("supervisor") or "")


def test_making_one_reads_nothing(tmp_path: Path) -> None:
    later = tmp_path / "later"
    builder = PromptBuilder(prompts_dir=later)
    later.mkdir()
    (later / "a.md").write_text("A")
    assert builder.get_template("a") == "A"


def test_layers_stand_in_their_order_whatever_the_calls(write: Write) -> None:
    class Memory:
        def build_context(self, project_id: str) -> str:
            return f"about {project_id}"

    class Rules:
        def get_rules_for_prompt(self, project_id: str, query: str) -> str:
            return f"rules of {project_id} for {query}"

    builder = PromptBuilder("p", Memory(), Rules(), write({"i.md": "I am {{who}}"}), rules=True)
    builder.set_tools([{"name": "t"}])
    builder.add_context("task", "first")
    builder.add_context_section("system_info", {"workspace": "/home", "branch": "main"})
    asyncio.run(builder.load_relevant_rules("q"))
    asyncio.run(builder.load_project_context())
    builder.set_identity("i", {"who": "X"})
    builder.add_context("task", "second")
    expected = SEP.join(
        [
            "I am X",
            "about p",
            "rules of p for q",
            "first",
            "## System Info\n- **workspace:** /home\n- **branch:** main",
            "second",
        ]
    )
    assert builder.build() == (expected, [{"name": "t"}])
    assert builder.build() == (expected, [{"name": "t"}])
    assert builder.build_task_prompt() == expected
    builder.add_context("late", "third")
    assert builder.build_task_prompt() == expected + SEP + "third"


def test_an_identity_is_replaced_and_an_unknown_one_clears_it(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=write({"a.md": "A", "b.md": "B", "e.md": "", "x.md": "{{x}}"}))
    builder.set_identity("a")
    builder.set_identity("b")
    assert builder.build_task_prompt() == "B"
    for unknown in ("nobody", "e", None):
        builder.set_identity("a")
        builder.set_identity(unknown)  # type: ignore[arg-type]
        assert builder.build_task_prompt() == ""
    builder.set_identity("x", {"x": " \t"})
    builder.add_context("a", "A")
    assert builder.build_task_prompt() == "A", "blank sections are left out"


def test_identities_of_the_document_have_templates() -> None:
    for name in ("supervisor", "task-agent", "hook-executor"):
        builder = PromptBuilder()
        builder.set_identity(name)
        assert builder.build_task_prompt()


def test_context_is_taken_as_it_is() -> None:
    builder = PromptBuilder()
    for content in ("\n A \n", "", " \u00a0\u001c\n", None, "{{x}}", f"a{SEP}b"):
        builder.add_context("same", content)
    assert builder.build_task_prompt() == SEP.join(["\n A \n", "{{x}}", f"a{SEP}b"])


@pytest.mark.parametrize("content", [5, b"bytes", ["a"], {"a": 1}, True, object()])
def test_content_that_is_no_text_is_refused(content: Any) -> None:
    builder = PromptBuilder()
    with pytest.raises(TypeError, match=rf"^content must be a str, not a {type(content).__name__}$"):
        builder.add_context("name", content)
    assert builder.build_task_prompt() == ""


@pytest.mark.parametrize("data", [None, {}, MappingProxyType({})])
def test_no_data_is_no_section(data: Any) -> None:
    assert prompt("system_info", data) == ""
    assert prompt("task_depth", data) == ""


@pytest.mark.parametrize("data", [[("a", 1)], "text", 5, {"a"}])
def test_data_that_is_no_mapping_is_refused(data: Any) -> None:
    for name in ("system_info", "task_depth"):
        with pytest.raises(TypeError, match=r"^data must be a mapping, not a "):
            prompt(name, data)


def test_any_mapping_will_do() -> None:
    for data in (OrderedDict(b=1, a=2), MappingProxyType({"b": 1, "a": 2})):
        assert prompt("x", data) == "## X\n- **b:** 1\n- **a:** 2"


def test_tools_are_kept_and_never_printed() -> None:
    builder = PromptBuilder()
    schema = {"type": "object", "required": []}
    tools: list[dict[str, Any]] = [{"name": "b", "input_schema": schema}, {"name": "a"}, {"name": "a"}]
    builder.set_core_tools(tools)
    text, found = builder.build()
    assert text == ""
    assert found == tools
    assert [list(tool) for tool in found] == [list(tool) for tool in tools]
    builder.set_tools(iter([{"name": "only"}]))
    assert builder.build()[1] == [{"name": "only"}]
    builder.set_tools(())
    assert builder.build()[1] == []
    with pytest.raises(TypeError):
        builder.set_tools(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        builder.set_core_tools(5)  # type: ignore[arg-type]


def test_tools_are_not_looked_into() -> None:
    marker = object()
    builder = PromptBuilder()
    builder.set_tools(["text", 1, None, marker, ({"a": 1},)])
    assert builder.build()[1] == ["text", 1, None, marker, ({"a": 1},)]
    with pytest.raises(TypeError, match=r"^`tools\[3\]`: JSON has no value for a `object`$"):
        builder.compose()


def test_what_was_handed_over_cannot_be_changed_from_outside() -> None:
    builder = PromptBuilder()
    tool = {"name": "t", "input_schema": {"required": ["a"]}}
    tools, data, variables = [tool], {"k": ["v"]}, {"x": "X"}
    builder.set_tools(tools)
    builder.add_context_section("s", data)
    builder.set_identity("supervisor", variables)
    before = builder.build()
    tools.append({})
    tool["name"] = "changed"
    tool["input_schema"]["required"].append("b")  # type: ignore[index]
    data["k"].append("w")
    variables["x"] = "Y"
    assert builder.build() == before
    first = builder.build()
    first[1][0]["input_schema"]["required"].append("c")
    first[1].append({})
    assert builder.build() == before
    assert builder.build()[1] is not builder.build()[1]


def plan(steps: int | str) -> str:
    return PromptBuilder().render_template("plan-structure-guide", {"max_steps": steps}) or ""


def split(depth: int | str, most: int | str) -> str:
    values = {"current_depth": depth, "max_depth": most}
    return PromptBuilder().render_template("controlled-splitting", values) or ""


def focus() -> str:
    return PromptBuilder().render_template("execution-focus") or ""


class Three:
    def __int__(self) -> int:
        return 3


DEPTHS = [
    ({"depth": 0, "max_depth": 2}, plan(20)),
    ({"depth": 0, "max_depth": 1}, plan(20)),
    ({"depth": 0, "max_steps": 7}, plan(7)),
    ({"depth": 0, "max_steps": "7"}, plan(7)),
    ({"max_steps": 0}, plan(0)),
    ({"max_steps": 2**70}, plan(2**70)),
    ({"max_depth": 2}, plan(20)),
    ({"foo": 1}, plan(20)),
    ({"depth": 1, "max_depth": 2}, split(1, 2)),
    ({"depth": "1", "max_depth": "3"}, split(1, 3)),
    ({"depth": 1}, split(1, 2)),
    ({"depth": True}, split(1, 2)),
    ({"depth": " 1 "}, split(1, 2)),
    ({"depth": 1.0, "max_depth": 3.0}, split(1, 3)),
    ({"depth": 1, "max_depth": Three()}, split(1, 3)),
    ({"depth": 1, "max_depth": 2**70}, split(1, 2**70)),
    ({"depth": 2, "max_depth": 2}, focus()),
    ({"depth": 3, "max_depth": 2}, focus()),
    ({"depth": 2}, focus()),
    ({"depth": 1, "max_depth": 1}, focus()),
    ({"depth": 0, "max_depth": 0}, focus()),
    ({"depth": 0, "max_depth": -1}, focus()),
    ({"depth": 2**70}, focus()),
]


@pytest.mark.parametrize(("data", "expected"), DEPTHS, ids=[str(data) for data, _ in DEPTHS])
def test_depth_chooses_the_rules(data: dict[str, Any], expected: str) -> None:
    assert len({plan(20), split(1, 2), focus()}) == 3
    assert prompt("task_depth", data) == expected


def test_depth_blocks_stand_in_the_order_of_the_calls() -> None:
    builder = PromptBuilder()
    builder.add_context("a", "A")
    builder.add_context_section("task_depth", {"depth": 1})
    builder.add_context("b", "B")
    builder.add_context_section("task_depth", {"depth": 2})
    assert builder.build_task_prompt() == SEP.join(["A", split(1, 2), "B", focus()])
    assert [section["name"] for section in builder.compose().sections][1] == "execution_rules"


def test_rules_without_template_add_nothing(write: Write) -> None:
    assert prompt("task_depth", {"depth": 0}, prompts_dir=write({"a.md": "A"})) == ""
    assert prompt("task_depth", {"depth": 0}, prompts_dir=write({"plan-structure-guide.md": " \n"})) == ""


@pytest.mark.parametrize("name", ["depth", "max_depth", "max_steps"])
def test_a_depth_that_is_none_is_refused(name: str) -> None:
    wrong: list[tuple[type[Exception], list[Any]]] = [
        (TypeError, [None, [1], {}]),
        (ValueError, ["x", "1.5", "", 1.5, float("nan")]),
    ]
    for error, values in wrong:
        for value in values:
            with pytest.raises(error):
                prompt("task_depth", {name: value})
    with pytest.raises(ValueError, match=f"^{name} is too large$"):
        prompt("task_depth", {name: 1 << 127})


def test_a_negative_depth_is_refused() -> None:
    with pytest.raises(ValueError) as caught:
        prompt("task_depth", {"depth": -1})
    assert str(caught.value) == "`context[0].data.depth`: expected an integer from 0, found `-1`"
    assert isinstance(caught.value, Error)


def test_a_builder_explains_its_prompt() -> None:
    builder = PromptBuilder()
    builder.set_identity("nobody")
    builder.add_context("task", "Do it.")
    builder.set_tools([{"name": "t", "most": 2**70}])
    composition = builder.compose()
    assert composition.text == builder.build_task_prompt() == "Do it."
    assert composition.tools == builder.build()[1]
    assert [(section["layer"], section["name"]) for section in composition.sections] == [("context", "task")]
    message = "no template named `nobody`; the identity is empty"
    assert composition.events == [{"type": "template:unknown", "payload": {"name": "nobody", "message": message}}]


def test_it_says_what_it_is(tmp_path: Path) -> None:
    class Own(PromptBuilder):
        pass

    assert repr(PromptBuilder("p")) == "PromptBuilder(project_id='p', prompts_dir=None)"
    assert repr(Own(prompts_dir=tmp_path)) == f"Own(project_id=None, prompts_dir='{tmp_path}')"
    with pytest.raises(ValueError, match="^missing must be 'empty' or 'keep', not 'drop'$"):
        PromptBuilder(missing="drop")  # type: ignore[arg-type]
