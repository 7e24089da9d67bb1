"""What Python programs do with classes: override methods, copy, pickle."""

from __future__ import annotations

import asyncio
import copy
import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from conftest import Write

import callsheet
from callsheet import Error, PromptBuilder, TemplateWarning, compose

SEP = "\n\n---\n\n"


class Loud(PromptBuilder):
    """Renders in capital letters, and has templates of its own."""

    def render_template(self, name: str, variables: Any = None, **options: Any) -> str | None:
        if name == "own":
            return f"own {variables} {options}"
        rendered = super().render_template(name, variables, **options)
        return rendered and rendered.upper()


def test_an_identity_is_rendered_by_the_method_of_the_subclass(write: Write) -> None:
    builder = Loud(prompts_dir=write({"t.md": "I am {{who}}."}))
    builder.set_identity("t", {"who": "you"})
    assert builder.build_task_prompt() == "I AM YOU."
    builder.set_identity("own")
    assert builder.build()[0] == "own None {}"
    builder.set_identity("own", {"a": 1}, strict=True)
    assert builder.compose().text == "own {'a': 1} {'strict': True}"
    builder.set_identity("nobody")
    assert builder.build_task_prompt() == ""
    assert [event["type"] for event in builder.compose().events] == ["template:unknown"]
    with pytest.raises(Error, match="^Required variable 'who' not provided for template 't'$"):
        builder.set_identity("t", strict=True)


@pytest.mark.parametrize(
    ("data", "asked"),
    [
        ({"depth": 0, "max_steps": 7}, ("plan-structure-guide", {"max_steps": "7"})),
        ({"depth": 1, "max_depth": 3}, ("controlled-splitting", {"current_depth": "1", "max_depth": "3"})),
        ({"depth": 2}, ("execution-focus", None)),
        ({"foo": 1}, ("plan-structure-guide", {"max_steps": "20"})),
    ],
)
def test_execution_rules_are_rendered_and_added_by_the_methods_of_the_subclass(data: Any, asked: Any) -> None:
    class Own(PromptBuilder):
        calls: list[Any] = []

        def render_template(self, name: str, variables: Any = None, **options: Any) -> str | None:
            self.calls.append((name, variables))
            return "rules"

        def add_context(self, name: str, content: str | None) -> None:
            self.calls.append((name, content))
            super().add_context(name, f"{content}!")

    builder = Own()
    builder.add_context_section("task_depth", data)
    assert builder.calls == [asked, ("execution_rules", "rules")]
    assert builder.build_task_prompt() == "rules!"


def test_each_of_these_methods_alone_is_called() -> None:
    class Renders(PromptBuilder):
        def render_template(self, name: str, variables: Any = None, **options: Any) -> str | None:
            return None if name == "execution-focus" else name

    builder = Renders()
    builder.add_context_section("task_depth", {"depth": 0})
    builder.add_context_section("task_depth", {"depth": 2})
    assert builder.build_task_prompt() == "plan-structure-guide"

    class Adds(PromptBuilder):
        def add_context(self, name: str, content: str | None) -> None:
            super().add_context(name, f"<{name}>")

    other = Adds()
    other.add_context_section("task_depth", {"depth": 2})
    other.add_context_section("facts", {"a": 1})
    assert other.build_task_prompt() == f"<execution_rules>{SEP}## Facts\n- **a:** 1"
    with pytest.raises(ValueError, match="expected an integer from 0, found `-1`"):
        other.add_context_section("task_depth", {"depth": -1})


def test_a_task_prompt_is_what_the_method_of_the_subclass_builds() -> None:
    class Own(PromptBuilder):
        def build(self) -> tuple[str, list[dict[str, Any]]]:
            prompt, tools = super().build()
            return f"<{prompt}>", tools

        def set_core_tools(self, tools: Any) -> None:
            super().set_core_tools([*tools, {"name": "more"}])

    builder = Own()
    builder.add_context("task", "T")
    builder.set_tools([{"name": "t"}])
    assert builder.build_task_prompt() == "<T>"
    assert builder.build() == ("<T>", [{"name": "t"}, {"name": "more"}])


def test_a_method_that_is_put_in_place_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = PromptBuilder()
    builder.render_template = lambda name, variables=None: f"{name}?"  # type: ignore[method-assign, assignment, misc]
    builder.set_identity("a")
    assert builder.build_task_prompt() == "a?"
    with mock.patch.object(PromptBuilder, "render_template", return_value="patched"):
        other = PromptBuilder()
        other.set_identity("a")
    assert other.build_task_prompt() == "patched"
    monkeypatch.setattr(PromptBuilder, "build", lambda self: ("built", []))
    assert other.build_task_prompt() == "built"


def test_without_a_subclass_templates_are_the_source() -> None:
    builder = PromptBuilder()
    builder.set_identity("task-agent")
    builder.add_context_section("task_depth", {"depth": 2})
    sources = [section["source"] for section in builder.compose().sections]
    assert sources == ["template:task-agent.md", "template:execution-focus.md"]


class Memory:
    """A manager that can be copied."""

    def __init__(self) -> None:
        self.known = ["orders are large"]

    def build_context(self, project_id: str) -> str:
        return f"{project_id}: {self.known[0]}"


class Kept(PromptBuilder):
    __slots__ = ("slot",)

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.notes = ["note"]
        self.slot = "slot"


def pickled(protocol: int, value: Any) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


PICKLED = [functools.partial(pickled, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, *PICKLED]


@pytest.mark.parametrize("twin", COPIES)
def test_a_builder_is_copied_with_all_that_it_has(write: Write, twin: Callable[[Any], Any]) -> None:
    folder = write({"t.md": "---\nname: t\n---\nI am {{who}}.", "j.md": "---\nengine: jinja\n---\n{{ who }}"})
    builder = Kept("shop", Memory(), prompts_dir=folder, missing="keep", rules=True)
    builder.set_identity("t", {"who": "me"})
    asyncio.run(builder.load_project_context())
    builder.add_context("task", "T")
    builder.add_context_section("facts", {"a": 1})
    builder.add_context_section("task_depth", {"depth": 2})
    tools = [{"name": "t", "most": 2**70}]
    builder.set_tools(tools)
    (folder / "t.md").write_text("---\nname: t\n---\nchanged")

    again = twin(builder)
    assert type(again) is Kept
    assert again.build() == builder.build()
    assert again.build()[0] == f"I am me.{SEP}shop: orders are large{SEP}T{SEP}## Facts\n- **a:** 1"
    assert again.compose() == builder.compose()
    assert (again.notes, again.slot, repr(again)) == (["note"], "slot", repr(builder))
    assert again.render_template("t") == "I am {{who}}.", "the templates are those that were read"
    assert again.render_template("j", {"who": "you"}) == "you"

    again.add_context("more", "M")
    again.set_tools([])
    assert builder.build()[1] == tools
    assert builder.build_task_prompt().endswith("- **a:** 1"), "each goes on on its own"
    builder.set_identity("nobody")
    asyncio.run(again.load_project_context())
    assert again.build_task_prompt().startswith("I am me.")
    again.reload()
    assert again.get_template("t") == "changed"


@pytest.mark.parametrize("twin", COPIES)
def test_a_new_builder_is_copied_before_it_has_read_anything(tmp_path: Path, twin: Callable[[Any], Any]) -> None:
    builder = PromptBuilder(prompts_dir=tmp_path)
    again = twin(builder)
    (tmp_path / "late.md").write_text("late")
    assert again.get_template("late") == builder.get_template("late") == "late"
    assert again.build() == ("", [])


def test_a_shallow_copy_shares_its_managers_and_a_deep_one_does_not() -> None:
    memory = Memory()
    builder = PromptBuilder("p", memory)
    shallow, deep = copy.copy(builder), copy.deepcopy(builder)
    memory.known[0] = "changed"
    for one, expected in ((shallow, "p: changed"), (deep, "p: orders are large")):
        asyncio.run(one.load_project_context())
        assert one.build_task_prompt() == expected


@pytest.mark.parametrize("twin", COPIES)
def test_every_class_of_the_package_can_be_copied(twin: Callable[[Any], Any]) -> None:
    with pytest.raises(Error) as caught:
        compose("layer", {})
    error = twin(caught.value)
    assert type(error) is Error
    assert vars(error) == vars(caught.value)
    assert str(error) == str(caught.value)
    assert (error.kind, error.hint) == ("unknown-name", "did you mean `layers`?")
    composition = compose("layers", {"rules": "R", "tools": [{"most": 2**70}]})
    assert twin(composition) == composition
    assert str(twin(TemplateWarning("told"))) == "told"
    classes = {name for name in callsheet.__all__ if isinstance(getattr(callsheet, name), type)}
    assert classes == {"Composition", "Error", "PromptBuilder", "TemplateWarning"}


def test_what_is_no_stored_builder_is_refused() -> None:
    make, args = PromptBuilder()._native.__reduce__()
    for stored in ("", "{}", args[2].replace("context", "contexts")):
        with pytest.raises(ValueError, match="^not a stored builder: "):
            make(args[0], args[1], stored)
