"""The prompt builder as a Python class. It asks managers and makes texts of values; the native half composes."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from . import _managers
from ._native import Builder, Composition

_TASK_DEPTH = "task_depth"
_DEPTHS = ("depth", "max_depth", "max_steps")


class PromptBuilder:
    """Collects the five layers of a system prompt and assembles them.

    Identity, project context, rules, context and tools; their order is fixed, whatever the order of the calls. Texts
    are joined by an empty line, `---` and an empty line, and layers without text are left out.

    Args:
        project_id: The project that the managers are asked for.
        memory_manager: Any object with `build_context`, sync or async. Without it layer 2 is empty.
        rule_manager: Any object with `get_rules_for_prompt`. It is asked only if `rules` is true.
        prompts_dir: The folder of the templates. The packaged ones unless it is given.
        strict: Whether a placeholder without a value is an error.
        missing: What it becomes otherwise: `"empty"` text, or `"keep"` to leave it as it stands.
        rules: Whether layer 3 is on.
    """

    def __init__(
        self,
        project_id: str | None = None,
        memory_manager: Any | None = None,
        rule_manager: Any | None = None,
        prompts_dir: str | os.PathLike[str] | None = None,
        *,
        strict: bool = False,
        missing: Literal["empty", "keep"] = "empty",
        rules: bool = False,
    ) -> None:
        if missing not in ("empty", "keep"):
            raise ValueError(f"missing must be 'empty' or 'keep', not {missing!r}")
        self._project_id = project_id
        self._memory_manager = memory_manager
        self._rule_manager = rule_manager
        self._prompts_dir = prompts_dir or None
        self._strict = bool(strict)
        self._missing = missing
        self._rules = bool(rules)
        self._tools: list[Any] = []
        self._native = Builder(str(project_id), self._prompts_dir)

    def __repr__(self) -> str:
        folder = None if self._prompts_dir is None else os.fspath(self._prompts_dir)
        return f"{type(self).__name__}(project_id={self._project_id!r}, prompts_dir={folder!r})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a PromptBuilder is made for one prompt and cannot be pickled; pickle what it builds")

    def set_identity(
        self, name: str, variables: Mapping[str, Any] | None = None, *, strict: bool | None = None
    ) -> None:
        """Renders a template as layer 1, in the place of an earlier one; an unknown name leaves the layer empty.

        Raises:
            Error: A placeholder has no value, and the builder or the call is strict; it is a `ValueError`.
        """
        self._native.set_identity(_name(name), _texts(variables), self._rule(strict))

    async def load_project_context(self) -> None:
        """Asks the memory manager for layer 2.

        Without a manager or a project nothing happens. A manager that fails leaves what was there before, and an event.
        """
        if self._memory_manager is None or not self._project_id:
            return
        try:
            said = await _managers.project_context(self._memory_manager, self._project_id)
        except Exception as error:
            self._native.tell_project_context(None, _told(error))
        else:
            self._native.tell_project_context(said, None)

    async def load_relevant_rules(self, query: str) -> None:
        """Does nothing, unless the builder was made with `rules=True`: then it asks the rule manager for layer 3.

        Without a manager or a project, or with a manager that fails, the layer is empty.
        """
        if not self._rules:
            return
        if self._rule_manager is None or not self._project_id:
            self._native.tell_rules(None, None)
            return
        try:
            said = await _managers.rules(self._rule_manager, self._project_id, query)
        except Exception as error:
            self._native.tell_rules(None, _told(error))
        else:
            self._native.tell_rules(said, None)

    def add_context(self, name: str, content: str | None) -> None:
        """Appends a block to layer 4, as it is; blank content is ignored, and the name is never printed."""
        if content is None:
            return
        if not isinstance(content, str):
            raise TypeError(f"content must be a str, not a {type(content).__name__}")
        self._native.add_context(_name(name), content)

    def add_context_section(self, name: str, data: Mapping[Any, Any] | None) -> None:
        """Appends data to layer 4 as Markdown: a title, then a line for each key, with the `str()` of its value.

        A section `task_depth` is replaced by execution rules, chosen by `depth`, `max_depth` and `max_steps`.

        Raises:
            TypeError: `data` is no mapping, or a depth no number.
            ValueError: A depth is no integer, or negative.
        """
        if data is None:
            return
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not a {type(name).__name__}")
        items = _items("data", data)
        if not items:
            return
        if name == _TASK_DEPTH:
            numbers = dict(items)
            depths = [(key, _integer(key, numbers[key])) for key in _DEPTHS if key in numbers]
            self._native.add_depth(depths, self._rule(None))
        else:
            self._native.add_lines(name, [(str(key), str(value)) for key, value in items])

    def set_core_tools(self, tools: Iterable[Any]) -> None:
        """Sets the tools, layer 5, in the place of earlier ones. They are never part of the text."""
        self._tools = [_copied(tool) for tool in tools]

    def set_tools(self, tools: Iterable[Any]) -> None:
        """Sets the tools; the same as `set_core_tools`."""
        self.set_core_tools(tools)

    def build(self) -> tuple[str, list[dict[str, Any]]]:
        """Assembles the system prompt and the tools; calling it again gives the same, and adding goes on."""
        return self._native.build(), [_copied(tool) for tool in self._tools]

    def build_task_prompt(self) -> str:
        """Assembles the flat prompt for a task: the text of `build()`."""
        return self._native.build()

    def compose(self) -> Composition:
        """Assembles the prompt with everything that explains it; the tools must be JSON values here."""
        return self._native.compose(self._tools)

    def get_template(self, name: str) -> str | None:
        """Returns the raw body of a template, or `None` for an unknown name."""
        return self._native.get_template(_name(name))

    def render_template(
        self, name: str, variables: Mapping[str, Any] | None = None, *, strict: bool | None = None
    ) -> str | None:
        """Renders a template, or returns `None` for an unknown name.

        Raises:
            Error: A placeholder has no value, and the builder or the call is strict; it is a `ValueError`.
        """
        return self._native.render_template(_name(name), _texts(variables), self._rule(strict))

    def reload(self) -> None:
        """Forgets the templates that were read; the next access reads them afresh."""
        self._native.reload()

    def _rule(self, strict: bool | None) -> str:
        return "error" if (self._strict if strict is None else strict) else self._missing


def _name(name: Any) -> str:
    return "" if name is None else str(name)


def _items(what: str, data: Any) -> list[tuple[Any, Any]]:
    if not isinstance(data, Mapping) and not callable(getattr(data, "items", None)):
        raise TypeError(f"{what} must be a mapping, not a {type(data).__name__}")
    return list(data.items())


def _texts(variables: Any) -> list[tuple[str, str]]:
    """Returns the values as texts. `None` is no value, and a name that is no text names no placeholder."""
    items = [] if variables is None else _items("variables", variables)
    return [(name, str(value)) for name, value in items if isinstance(name, str) and value is not None]


def _integer(name: str, value: Any) -> int:
    """Returns what `int()` makes of a depth; a number that is not whole has no depth."""
    try:
        number = int(value)
    except OverflowError:
        raise ValueError(f"{name} must be an integer, not {value!r}") from None
    exact: Any = value
    if isinstance(value, numbers.Number) and exact != number:
        raise ValueError(f"{name} must be an integer, not {value!r}")
    if abs(number) >= 1 << 127:
        raise ValueError(f"{name} is too large")
    return number


def _copied(value: Any) -> Any:
    """Returns a value whose lists and dicts nobody else has."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if type(value) is tuple:
        return tuple(_copied(item) for item in value)
    return value


def _told(error: Exception) -> str:
    """Returns what an exception says, in words that can be printed."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = type(error).__name__
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
