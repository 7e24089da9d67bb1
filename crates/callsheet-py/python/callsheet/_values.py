"""Values of Python programs in the forms that the package works with."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol


class Model(Protocol):
    """An object that can be a dict, as models of pydantic can."""

    def model_dump(self) -> Any: ...


class Dataclass(Protocol):
    """An object of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


StrPath = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Fields = Mapping[Any, Any] | Model | Dataclass


def plain(value: Any) -> Any:
    """Returns a model or a dataclass as a dict and a path as its text; anything else as it is."""
    if isinstance(value, type):
        return value
    if callable(dump := getattr(value, "model_dump", None)):
        return call_with_known(dump, {"mode": "json"})
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return os.fsdecode(value) if isinstance(value, os.PathLike) else value


def items(what: str, data: Any) -> list[tuple[Any, Any]]:
    """Returns keys and values of a mapping, a model or a dataclass, as Python has them."""
    if not isinstance(data, (Mapping, type)):
        if callable(dump := getattr(data, "model_dump", None)):
            data = dump()
        elif dataclasses.is_dataclass(data) and not isinstance(data, type):
            data = dataclasses.asdict(data)
    if isinstance(data, type) or not callable(getattr(data, "items", None)):
        raise TypeError(f"{what} must be a mapping, not a {type(data).__name__}")
    return list(data.items())


def call_with_known(function: Callable[..., Any], offered: dict[str, Any], *args: Any) -> Any:
    """Calls with the keywords that the callee has a name for."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function(*args, **offered)
    if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
        named = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        offered = {name: value for name, value in offered.items() if name in named}
    return function(*args, **offered)
