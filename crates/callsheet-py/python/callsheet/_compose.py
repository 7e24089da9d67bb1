"""Recipes as functions. What they print is decided by the native half; here is how they are called."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal

from . import _native
from ._native import Composition
from ._values import Fields, StrPath

_AS_IT_IS: dict[str, Any] = {
    "byte_budget": None,
    "token_budget": None,
    "encoding": "o200k",
    "count_tokens": False,
    "redact": False,
    "redact_key": None,
}

# What was asked for, is there, and is not in the text; what does not exist or is not text is passed over in silence.
_REFUSED = {
    "outside-root": "leads out of the root",
    "name-not-utf8": "has a name that is not UTF-8 text",
    "too-large": "is over the file size limit",
}


class _Default(int):
    """A truth value that settings of the project may replace, because nobody has given another."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(bool(self))


_TRUE: Any = _Default(True)
_FALSE: Any = _Default(False)


def compose(
    recipe: str,
    input: Fields,
    *,
    root: StrPath | None = None,
    byte_budget: int | None = None,
    token_budget: int | None = None,
    encoding: Literal["o200k", "cl100k"] = "o200k",
    count_tokens: bool = False,
    redact: bool | Literal["entropy"] = False,
    redact_key: str | None = None,
) -> Composition:
    """Composes the prompt of a recipe for an input.

    Args:
        recipe: The name of a recipe: one of the project in `callsheet/recipes/`, else one that comes along
            (`injection`, `layers`, `messages`, `pack`, `review`, `run`).
        input: The fields of the recipe, as they would stand in a JSON document. Paths may be path objects, and objects
            dataclasses or models with `model_dump`.
        root: The folder of the project, the only one that is read. The current folder unless it is given. The settings of
            its `callsheet.toml` apply, and the `CALLSHEET_…` variables that override them.
        byte_budget: The most bytes; optional sections give way, with a record.
        token_budget: The most tokens; optional sections give way, with a record.
        encoding: The vocabulary that tokens are counted with.
        count_tokens: Whether tokens are counted even where no budget asks for them.
        redact: Whether secrets of known formats become pseudonyms; `"entropy"` takes what looks random, too.
        redact_key: What the pseudonyms are derived from. The setting of the project unless it is given.

    Raises:
        Error: A recipe, input or template is wrong, or the prompt does not fit.
        TypeError: The input holds a value that JSON does not have.
        ValueError: A budget is negative, or a number of the input is not finite.
    """
    asked = {
        "byte_budget": _amount("byte_budget", byte_budget),
        "token_budget": _amount("token_budget", token_budget),
        "encoding": _typed("encoding", encoding, str),
        "count_tokens": bool(count_tokens),
        "redact": _typed("redact", redact, (bool, str)),
        "redact_key": redact_key if redact_key is None else _typed("redact_key", redact_key, str),
    }
    return _native.compose(recipe, input, _folder(root), asked)


def compose_messages(input: Fields, *, root: StrPath | None = None) -> list[dict[str, str]]:
    """Composes the recipe `messages` and returns its messages, each with `role` and `content`.

    Args:
        input: The fields of the recipe.
        root: The folder of the project, whose settings apply. The current folder unless it is given.

    Raises:
        Error: The input is wrong.
    """
    return _native.compose("messages", input, _folder(root), _AS_IT_IS).messages


def compose_run(input: Fields) -> str:
    """Composes the recipe `run` and returns the final prompt; no file is read, and no settings apply.

    Args:
        input: The fields of the recipe.

    Raises:
        Error: The input is wrong.
    """
    return _native.draft("run", input, None).text


def build_prompt_system_append(
    project_root: StrPath,
    command_name: str,
    story_keys: Iterable[str],
    include_project_context: bool = _TRUE,
    include_discovery: bool = _FALSE,
    include_tech_spec: bool = _FALSE,
    additional_files: Iterable[StrPath] | None = None,
    *,
    on_event: Callable[[str, dict[str, Any]], object] | None = None,
    match: Literal["key", "substring"] | None = None,
    allow_outside: bool | None = None,
) -> str:
    """Builds the text to append to a system prompt: the files that belong to some stories, as XML.

    Every call reads the files afresh. What does not exist or is not text is passed over. What the call does not say is as
    `[paths]` and `[recipes.injection]` in the `callsheet.toml` of the project say, else as below.

    Args:
        project_root: The folder of the project; one that does not exist has no files.
        command_name: The command that the agent runs; named in events and errors only.
        story_keys: Files whose names match any of these keys are injected.
        include_project_context: Whether `sprint-project-context.md` comes first.
        include_discovery: Whether discovery files of the stories are injected.
        include_tech_spec: Whether tech-spec files of the stories are injected.
        additional_files: More files, in this order; a relative path is relative to the root.
        on_event: Called with type and payload for each event, such as `injection:warning` or `injection:empty`, and with
            `injection:refused` for a file that is there and was not taken, such as one outside the root.
        match: `"key"` takes a key only where no letter or digit touches it, `"substring"` anywhere in a name. `"key"` unless
            it is given.
        allow_outside: Whether additional files may lie outside the root. They may not unless it is given.

    Raises:
        Error: The text is over the limit; it is a `ValueError`.
    """
    input: dict[str, Any] = {"command_name": command_name, "story_keys": _listed("story_keys", story_keys)}
    flags: tuple[tuple[str, Any], ...] = (
        ("include_project_context", include_project_context),
        ("include_discovery", include_discovery),
        ("include_tech_spec", include_tech_spec),
    )
    for name, flag in flags:
        if type(flag) is not _Default:
            input[name] = bool(flag)
    if additional_files is not None:
        files = map(os.fsdecode, _listed("additional_files", additional_files))
        # A path of nothing is the root, and no file.
        input["additional_files"] = [file for file in files if file]
    if match is not None:
        input["match"] = match
    if allow_outside is not None:
        input["allow_outside"] = bool(allow_outside)
    draft = _native.draft("injection", input, os.fsdecode(project_root) or os.curdir)
    if on_event is not None:
        for event in draft.events:
            on_event(event["type"], event["payload"])
        for omission in draft.omissions:
            if omission["reason"] in _REFUSED:
                on_event("injection:refused", _refusal(command_name, omission))
    return draft.text


def _refusal(command_name: str, omission: dict[str, Any]) -> dict[str, Any]:
    path, reason, detail = omission["name"], omission["reason"], omission.get("detail", "")
    message = f"{path} {_REFUSED[reason]}" + (f": {detail}" if detail else "")
    return {"command": command_name, "path": path, "reason": reason, "message": message}


def _folder(root: StrPath | None) -> str:
    return os.curdir if root is None else os.fsdecode(root) or os.curdir


def _amount(name: str, amount: int | None) -> int | None:
    if amount is not None and operator.index(amount) < 0:
        raise ValueError(f"{name} must not be negative")
    # More than there can be is not a limit at all.
    return amount if amount is None else min(operator.index(amount), sys.maxsize)


def _typed(name: str, value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{name} cannot be a {type(value).__name__}")
    return value


def _listed(name: str, items: Iterable[StrPath]) -> list[StrPath]:
    """Returns the items; a text is one, not a list of its letters."""
    if isinstance(items, (str, bytes)):
        raise TypeError(f"{name} must be a list of str, not a {type(items).__name__}")
    return list(items)
