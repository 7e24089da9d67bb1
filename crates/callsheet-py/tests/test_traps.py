"""Where a core in another language goes wrong easily, one test for each trap."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
import fractions
import inspect
import json
import pickle
from typing import Any

import pytest
from conftest import Write

from callsheet import PromptBuilder, compose, compose_run


def section(name: str, data: dict[Any, Any]) -> str:
    builder = PromptBuilder()
    builder.add_context_section(name, data)
    return builder.build_task_prompt()


TITLES = [
    ("system_metadata", "System Metadata"),
    ("task-depth", "Task-Depth"),
    ("userAPI", "Userapi"),
    ("ALLCAPS", "Allcaps"),
    ("it's_mine", "It'S Mine"),
    ("3rd_party", "3Rd Party"),
    ("html5parser", "Html5Parser"),
    ("hook.v2", "Hook.V2"),
    ("a__b", "A  B"),
    ("_x_", " X "),
    ("éa_ßx", "Éa Ssx"),
    ("ǆabc", "ǅabc"),
    ("ΟΔΟΣ_ΣΑΣ", "Οδος Σας"),
    ("ﬁsh_ŉa", "Fish ʼNa"),
    ("", ""),
]


@pytest.mark.parametrize(("name", "title"), TITLES)
def test_titles_are_those_of_python(name: str, title: str) -> None:
    assert name.replace("_", " ").title() == title
    assert section(name, {"k": "v"}) == f"## {title}\n- **k:** v"


def test_letters_of_all_alphabets_have_the_titles_of_python() -> None:
    letters = [chr(code) for code in (*range(0x20, 0x180), *range(0x370, 0x590), *range(0x1E00, 0x2000))]
    name = " ".join(f"a{letter}b{letter}" for letter in letters)
    assert section(name, {"k": ""}) == f"## {name.replace('_', ' ').title()}\n- **k:** "


def test_strip_takes_what_python_takes(write: Write) -> None:
    blank = "\u001c\u001d\u001e\u001f \t\n\x0b\x0c\r\x85\u00a0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000"
    assert blank.strip() == ""
    builder = PromptBuilder(prompts_dir=write({"t.md": f"{blank}a{blank}b{blank}", "z.md": "\u200bz\ufeff"}))
    assert builder.get_template("t") == "a" + blank.replace("\r", "\n") + "b"
    assert builder.get_template("z") == "\u200bz\ufeff"
    builder.add_context("blank", blank)
    assert builder.build_task_prompt() == ""


class Colour(enum.Enum):
    RED = 1


class Text(str):
    def __str__(self) -> str:
        return "own"


class Own:
    def __str__(self) -> str:
        return "as I say"


VALUES = [
    (5, "5"), (None, "None"), (True, "True"), (1.0, "1.0"), (0.1 + 0.2, "0.30000000000000004"), (1e16, "1e+16"),
    (1e21, "1e+21"), (["q", 1], "['q', 1]"), ({"k": "v"}, "{'k': 'v'}"), ((1,), "(1,)"), (b"a", "b'a'"),
    (2**70, "1180591620717411303424"), (-(2**64), "-18446744073709551616"), (float("nan"), "nan"), ("", ""),
    (float("inf"), "inf"), (-0.0, "-0.0"), (Colour.RED, "Colour.RED"), (Text("text"), "own"), (Own(), "as I say"),
    (decimal.Decimal("1.10"), "1.10"), (datetime.date(2026, 1, 2), "2026-01-02"), ("a\nb", "a\nb"), (1j, "1j"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), VALUES, ids=[repr(value) for value, _ in VALUES])
def test_values_are_what_str_makes_of_them(write: Write, value: Any, text: str) -> None:
    assert str(value) == text
    assert section("x", {"k": value}) == f"## X\n- **k:** {text}"
    builder = PromptBuilder(prompts_dir=write({"t.md": "[{{x}}]"}))
    # In a template, `None` is not a value.
    rendered = "[]" if value is None else f"[{text}]"
    assert builder.render_template("t", {"x": value}) == rendered
    builder.set_identity("t", {"x": value})
    assert builder.build_task_prompt() == rendered


def test_keys_are_printed_as_they_are_in_their_order() -> None:
    data = {"b": 1, 1: "one", "1": "text", None: 0, ("t",): "", "A_b": True}
    lines = ["- **b:** 1", "- **1:** one", "- **1:** text", "- **None:** 0", "- **('t',):** ", "- **A_b:** True"]
    assert section("x", data) == "\n".join(["## X", *lines])


def test_what_str_raises_reaches_the_caller() -> None:
    class Bad:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with pytest.raises(RuntimeError, match="^no text$"):
        section("x", {"k": Bad()})
    with pytest.raises(RuntimeError, match="^no text$"):
        PromptBuilder().set_identity("supervisor", {"x": Bad()})


@pytest.mark.parametrize(
    "line", ["description: Foo: bar", "description:\tx: y", "name: {{x}}", "name: !!python/object:os.system x"]
)
def test_a_header_that_is_no_yaml_is_part_of_the_body(write: Write, line: str) -> None:
    content = f"---\n{line}\n---\nB"
    builder = PromptBuilder(prompts_dir=write({"stem.md": content}))
    assert builder.get_template("stem") == content
    assert builder.get_template("x") is None
    assert [event["type"] for event in builder.compose().events] == ["template:diagnostic"]


def test_a_placeholder_may_hold_a_line_separator_but_no_newline(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=write({"t.md": "{{a\u2028b}} {{a\nb}}"}))
    assert builder.render_template("t", {"a\u2028b": "v", "a\nb": "w"}) == "v {{a\nb}}"


def test_async_methods_are_coroutines_that_return_none() -> None:
    for method in (PromptBuilder.load_project_context, PromptBuilder.load_relevant_rules):
        assert inspect.iscoroutinefunction(method)
    builder = PromptBuilder()

    for coroutine in (builder.load_project_context(), builder.load_relevant_rules("q")):
        assert inspect.iscoroutine(coroutine)
        result: object = asyncio.run(coroutine)
        assert result is None


def test_build_gives_a_tuple_and_tools_cross_the_border_unchanged() -> None:
    tools = [{"z": 1, "a": 1.0, "big": 2**70, "small": -(2**70), "deep": [{"n": 2**64, "t": True, "x": None}], "": ""}]
    builder = PromptBuilder()
    builder.set_tools(tools)
    built = builder.build()
    assert type(built) is tuple
    composed = compose("layers", {"tools": tools})
    for found in (built[1], builder.compose().tools, composed.tools):
        assert type(found) is list
        assert found == tools
        assert repr(found) == repr(tools), "types and the order of keys are the same"


def test_integers_are_never_floats() -> None:
    data = {"edge": 2**64 - 1, "below": -(2**63), "float": 0.5, "list": [1, 2**64 - 1]}
    text = compose("layers", {"context": [{"name": "x", "data": data}]}).text
    lines = [f"- **edge:** {2**64 - 1}", f"- **below:** {-(2**63)}", "- **float:** 0.5"]
    assert text == "\n".join(["## X", *lines, f"- **list:** [1,{2**64 - 1}]"])


def test_integers_of_any_size_keep_their_digits() -> None:
    class Level(enum.IntEnum):
        HIGH = 2**70

    numbers = [2**63, -(2**63) - 1, 2**64, 10**4000, -(10**30), Level.HIGH]
    expected = [int(number) for number in numbers]
    for number, digits in zip(numbers, map(str, expected), strict=True):
        block = {"name": "x", "data": {"n": number, "list": [number]}}
        composed = compose("layers", {"context": [block], "tools": [{"n": number}]})
        assert composed.text == f"## X\n- **n:** {digits}\n- **list:** [{digits}]"
        assert composed.tools == [{"n": int(digits)}]
        assert pickle.loads(pickle.dumps(composed)) == composed
        assert f"- id: {digits}\n" in compose_run({"task": {"id": number, "title": "T"}})


def test_an_integer_that_python_does_not_print_is_refused() -> None:
    with pytest.raises(ValueError, match="limit"):
        compose("layers", {"context": [{"name": "x", "data": {"n": 10**5000}}]})


def test_floats_have_the_digits_of_python() -> None:
    class Half(float):
        def __repr__(self) -> str:
            return "half"

    for number in (0.5, 1.0, -0.0, 0.1 + 0.2, 1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 123456789.125, Half(0.5)):
        digits = float.__repr__(number)
        composed = compose("layers", {"context": [{"name": "x", "data": {"n": number}}], "tools": [{"n": number}]})
        assert composed.text == f"## X\n- **n:** {digits}"
        assert repr(composed.tools) == f"[{{'n': {digits}}}]"
        assert json.dumps(float(number)) == digits


def test_a_name_is_never_printed_whatever_it_is() -> None:
    builder = PromptBuilder()
    for name in (None, 5, "secret", ("a",)):
        builder.add_context(name, "A")  # type: ignore[arg-type]
    assert builder.build_task_prompt() == "\n\n---\n\n".join("AAAA")
    with pytest.raises(TypeError, match="^name must be a str, not a NoneType$"):
        builder.add_context_section(None, {"k": 1})  # type: ignore[arg-type]


def test_a_lone_surrogate_is_an_error_and_nothing_is_replaced(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=write({"t.md": "{{x}}"}))
    calls: list[Any] = [
        lambda: builder.add_context("a", "\ud800"),
        lambda: builder.add_context_section("a", {"k": "\udfff"}),
        lambda: builder.add_context_section("a\ud800", {"k": ""}),
        lambda: builder.set_identity("t", {"x": "\ud800"}),
        lambda: builder.render_template("t", {"\ud800": ""}),
        lambda: compose("layers", {"rules": "\ud800"}),
    ]
    for call in calls:
        with pytest.raises(UnicodeEncodeError):
            call()
    assert builder.build() == ("", [])


@pytest.mark.parametrize("depth", [decimal.Decimal("1.5"), fractions.Fraction(3, 2), decimal.Decimal("Infinity"), 1.5])
def test_a_depth_that_is_not_whole_is_none(depth: Any) -> None:
    with pytest.raises(ValueError, match="^depth must be an integer, not "):
        PromptBuilder().add_context_section("task_depth", {"depth": depth})
