"""`compose` and its relatives: compositions, inputs and errors."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import re
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pytest
from conftest import Write

import callsheet
from callsheet import Composition, Error, compose, compose_messages, compose_run

LAYERS = {
    "rules": "Be kind.",
    "context": [{"name": "task", "content": "Count é."}, {"name": "facts", "data": {"n": 1, "on": True, "no": None}}],
    "tools": [{"name": "t"}],
}
TEXT = "Be kind.\n\n---\n\nCount é.\n\n---\n\n## Facts\n- **n:** 1\n- **on:** true\n- **no:** null"

MESSAGES = {
    "mode": "chat",
    "agentDefinition": {"id": "a", "metadata": {"name": "A", "title": "T", "icon": "i"}, "systemPrompt": "Be exact."},
    "activeAgentId": "a",
    "userInput": "Go.",
}


def test_a_composition_has_everything() -> None:
    composition = compose("layers", LAYERS)
    assert isinstance(composition, Composition)
    assert composition.text == composition.rendered == TEXT
    assert composition.messages == [{"role": "system", "content": TEXT}]
    assert composition.tools == [{"name": "t"}]
    assert composition.events == []
    assert [(section["layer"], section["name"]) for section in composition.sections] == [
        ("rules", "rules"),
        ("context", "task"),
        ("context", "facts"),
    ]
    for section in composition.sections:
        assert {"layer", "name", "role", "source", "bytes", "tokens", "fingerprint"} <= section.keys()
        assert section["tokens"] is None
    assert composition.manifest["schema"] == "callsheet.manifest/1"
    assert composition.manifest["bytes"] == len(TEXT.encode())
    assert composition.fingerprint == composition.manifest["fingerprint"]
    assert composition.fingerprint.startswith("b3:")
    assert len(composition.fingerprint) == 3 + hashlib.sha256().digest_size * 2
    spans = composition.source_map["spans"]
    assert composition.source_map["schema"] == "callsheet.source_map/1"
    joined = b"".join(TEXT.encode()[span["start"] : span["end"]] for span in spans)
    assert joined == TEXT.encode()


def test_nothing_of_it_can_be_changed() -> None:
    composition = compose("layers", LAYERS)
    for name in ("text", "tools", "manifest", "new"):
        with pytest.raises(AttributeError):
            setattr(composition, name, "x")
    composition.tools[0]["name"] = "changed"
    composition.manifest.clear()
    composition.sections.clear()
    assert composition == compose("layers", LAYERS)
    with pytest.raises(TypeError):
        Composition()


def test_tokens_are_counted_on_request() -> None:
    composition = compose("layers", LAYERS, count_tokens=True)
    assert all(section["tokens"] > 0 for section in composition.sections)
    assert composition.manifest["encoding"] == "o200k"
    assert compose("layers", LAYERS, count_tokens=True, encoding="cl100k").manifest["encoding"] == "cl100k"


def test_budgets_make_sections_give_way() -> None:
    composition = compose("layers", LAYERS, byte_budget=len(TEXT.encode()) - 1)
    assert [lost["layer"] for lost in composition.manifest["omissions"]] == ["rules"]
    assert compose("layers", LAYERS, token_budget=1000).text == TEXT
    with pytest.raises(Error) as caught:
        compose("layers", LAYERS, byte_budget=5)
    assert caught.value.kind == "over-budget"
    with pytest.raises(ValueError, match="^byte_budget must not be negative$"):
        compose("layers", LAYERS, byte_budget=-1)
    with pytest.raises(ValueError, match="^token_budget must not be negative$"):
        compose("layers", LAYERS, token_budget=-1)
    with pytest.raises(TypeError):
        compose("layers", LAYERS, byte_budget="5")  # type: ignore[arg-type]


def test_secrets_become_pseudonyms_on_request() -> None:
    secret = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fL3hJ6"
    levels: list[bool | Literal["entropy"]] = [True, "entropy"]
    for level in levels:
        text = compose("layers", {"rules": secret}, redact=level).text
        assert secret not in text
        assert text != compose("layers", {"rules": secret}, redact=level, redact_key="k").text
    assert compose("layers", {"rules": secret}).text == secret
    with pytest.raises(Error) as caught:
        compose("layers", {}, redact="much")  # type: ignore[arg-type]
    assert (str(caught.value), caught.value.hint) == ("no redaction named `much`", "allowed are `entropy`")


def test_the_root_is_the_current_folder_unless_it_is_given(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write({"a.txt": "A", "callsheet/recipes/mine/recipe.toml": '[[layers]]\nname = "a"\ntext = "Go."\n'})
    (root / "empty").mkdir()
    monkeypatch.chdir(root)
    expected = '<tree>\na.txt\n</tree>\n<file path="a.txt">\nA\n</file>\n'
    input = {"globs": ["*.txt"]}
    assert compose("pack", input).text == expected
    for place in (root, str(root), os.curdir):
        assert compose("pack", input, root=place).text == expected
    assert compose("mine", {}).text == "Go."
    assert compose("pack", {}, root="empty").text == compose("pack", {}, root=root / "empty").text
    with pytest.raises(Error) as caught:
        compose("mine", {}, root="empty")
    assert str(caught.value) == "no recipe named `mine`"


def test_paths_may_be_path_objects(write: Write) -> None:
    root = write({"prompts/a.md": "A"})
    input = {"prompts_dir": Path("prompts"), "identity": {"name": "a"}}
    assert compose("layers", MappingProxyType(input), root=root).text == "A"


def test_messages_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    messages = compose_messages(MESSAGES)
    assert messages[-1] == {"role": "user", "content": "USER_INPUT\nGo."}
    assert all(message.keys() == {"role", "content"} for message in messages)
    composition = compose("messages", MESSAGES)
    assert composition.messages == messages == compose_messages(MESSAGES, root=tmp_path)
    assert json.loads(composition.text) == messages
    assert composition.rendered == composition.text
    spans = composition.source_map["spans"]
    assert [span["end"] for span in spans][-1] == len(composition.text.encode())
    assert {span["source"] for span in spans if span["layer"] == "user-input"} == {"template:user-input.md", "input:userInput"}
    run = {"task": {"id": 2**60, "title": "Count"}}
    assert compose_run(run) == compose("run", run).text
    assert f"- id: {2**60}\n- title: Count\n" in compose_run(run)
    with pytest.raises(Error, match="^missing field `task`$"):
        compose_run({})
    with pytest.raises(Error, match="^missing field `mode`"):
        compose_messages({})


def test_it_says_what_it_is() -> None:
    composition = compose("layers", LAYERS)
    shown = f"<Composition of 'layers': 3 sections, {len(TEXT.encode())} bytes, {composition.fingerprint}>"
    assert repr(composition) == shown
    assert repr(compose("layers", {"rules": "x"})).startswith("<Composition of 'layers': 1 section, 1 bytes, b3:")
    assert Composition.__module__ == "callsheet"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_compositions_are_pickled_and_compared(protocol: int) -> None:
    for composition in (
        compose("layers", LAYERS | {"tools": [{"wide": 2**70}]}),
        compose("messages", MESSAGES),
        compose("layers", {}),
    ):
        again = pickle.loads(pickle.dumps(composition, protocol))
        assert again == composition
        assert hash(again) == hash(composition)
        assert repr(again) == repr(composition)
        for name in ("text", "rendered", "messages", "tools", "sections", "events", "manifest", "source_map"):
            assert getattr(again, name) == getattr(composition, name)
        assert copy.copy(composition) == copy.deepcopy(composition) == composition
    assert compose("layers", LAYERS) != compose("layers", {})
    assert compose("layers", LAYERS) != "text"


@pytest.mark.parametrize(
    ("input", "error", "message"),
    [
        ({"context": [{"name": "x", "data": {"k": object()}}]}, TypeError,
         "`input.context[0].data.k`: JSON has no value for a `object`"),
        ({"tools": [{1: 2}]}, TypeError, "`input.tools[0]`: a key must be a `str`, not a `int`"),
        ({"rules": {"a", "b"}}, TypeError, "`input.rules`: JSON has no value for a `set`"),
        ({"rules": b"x"}, TypeError, "`input.rules`: JSON has no value for a `bytes`"),
        ({"rules": float("inf")}, ValueError, "`input.rules`: inf is not a JSON number"),
        ([], Error, "the input: expected object, found array"),
        (None, Error, "the input: expected object, found null"),
    ],
)  # fmt: skip
def test_inputs_that_are_no_json(input: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        compose("layers", input)
    assert str(caught.value) == message


def test_a_value_within_itself_is_refused() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="^`input`: nested more than 32 levels deep$"):
        compose("layers", {"tools": circle})


def caught_by(recipe: str, input: Any, root: Path) -> Error:
    with pytest.raises(Error) as caught:
        compose(recipe, input, root=root)
    return caught.value


def test_errors_carry_file_line_and_hint(write: Write) -> None:
    root = write({"callsheet/recipes/mine/recipe.toml": '[[layers]]\nname = "a"\ntxt = "Go."\n'})
    error = caught_by("mine", {}, root)
    assert (error.kind, error.file, error.line) == ("bad-recipe", "callsheet/recipes/mine/recipe.toml", 3)
    assert error.hint == "did you mean `text`?"
    assert str(error) == f"{error.file}:3: {error.detail}"

    error = caught_by("layer", {}, root)
    assert (error.kind, error.file, error.line) == ("unknown-name", None, None)
    assert (str(error), error.hint) == ("no recipe named `layer`", "did you mean `layers`?")
    error = caught_by("zzz", {}, root)
    hint = error.hint or ""
    assert hint.startswith("allowed are `injection`, `layers`, `messages`, `mine`, `pack`, `review`, `run`, `sprint/code-review`")

    error = caught_by("review", {}, root)
    assert error.kind == "bad-input"
    assert error.detail == "this recipe looks at the repository or runs a command, and needs an observer"

    error = caught_by("layers", {"rule": "x", "strict": 1}, root)
    assert error.kind == "bad-input"
    assert error.causes
    assert str(error) == "\n  ".join([error.detail, *error.causes])
    assert isinstance(error, ValueError)


def test_errors_are_pickled_and_show_their_hint(tmp_path: Path) -> None:
    error = caught_by("layer", {}, tmp_path)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is Error
    assert (again.args, vars(again)) == (error.args, vars(error))
    assert repr(error) == "Error('no recipe named `layer`')"
    if sys.version_info >= (3, 11):
        assert error.__notes__ == ["hint: did you mean `layers`?"]
    plain = Error("x")
    assert (plain.detail, plain.kind, plain.causes) == ("x", "other", ())
    assert (plain.file, plain.line, plain.hint) == (None, None, None)


def test_the_package_says_what_it_offers() -> None:
    for name in callsheet.__all__:
        assert hasattr(callsheet, name)
        if name != "__version__":
            assert getattr(callsheet, name).__doc__
    assert callsheet.__version__.count(".") == 2
    for name, member in vars(callsheet.PromptBuilder).items():
        assert name.startswith("_") or member.__doc__, name


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"encoding": None}, "encoding cannot be a NoneType"),
        ({"redact": 1}, "redact cannot be a int"),
        ({"redact_key": 5}, "redact_key cannot be a int"),
        ({"byte_budget": 1.5}, "'float' object cannot be interpreted as an integer"),
    ],
)
def test_keywords_of_a_wrong_type_are_reported(named: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        compose("layers", {"rules": "a"}, **named)


def test_a_budget_beyond_everything_is_none() -> None:
    assert compose("layers", {"rules": "a"}, byte_budget=2**70).text == "a"
