"""The prompt builder as a Python class. It asks managers and makes texts of values; the native half composes."""

from __future__ import annotations

import copy
import numbers
import os
import sys
import warnings
from collections.abc import Iterable
from typing import Any, Literal, SupportsIndex

from . import _managers, _values
from ._errors import TemplateWarning
from ._native import Builder, Composition
from ._values import Fields, StrPath

_TASK_DEPTH = "task_depth"
_DEPTHS = ("depth", "max_depth", "max_steps")


class PromptBuilder:
    """Collects the five layers of a system prompt and assembles them.

    Identity, project context, rules, context and tools; their order is fixed, whatever the order of the calls. Texts
    are joined by an empty line, `---` and an empty line, and layers without text are left out.

    A subclass may override `render_template`, `add_context`, `set_core_tools` and `build`: the other methods call them.

    Args:
        project_id: The project that the managers are asked for.
        memory_manager: Any object with `build_context`, sync or async. Without it layer 2 is empty.
        rule_manager: Any object with `get_rules_for_prompt`. It is asked only if `rules` is true.
        prompts_dir: The folder of the templates. The packaged ones unless it is given. A file in it that cannot be taken,
            such as a link that leads out of it, is told with a `TemplateWarning`.
        strict: Whether a placeholder without a value is an error.
        missing: What it becomes otherwise: `"empty"` text, or `"keep"` to leave it as it stands.
        rules: Whether layer 3 is on.
    """

    def __init__(
        self,
        project_id: str | None = None,
        memory_manager: Any | None = None,
        rule_manager: Any | None = None,
        prompts_dir: StrPath | None = None,
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
        self._prompts_dir = os.fsdecode(prompts_dir) if prompts_dir else None
        self._strict = bool(strict)
        self._missing = missing
        self._rules = bool(rules)
        self._tools: list[Any] = []
        self._templates_read = False
        self._native = Builder(str(project_id), self._prompts_dir)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(project_id={self._project_id!r}, prompts_dir={self._prompts_dir!r})"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Returns what a copy is made of; it goes on from here on its own."""
        reduced: Any = super().__reduce_ex__(max(int(protocol), 2))
        if not isinstance(reduced, tuple) or len(reduced) < 3:
            return reduced
        make, args, state, *rest = reduced
        # The attributes alone, or with those of a subclass that has slots.
        fields, *slots = state if isinstance(state, tuple) else (state,)
        if isinstance(fields, dict) and "_native" in fields:
            fields = {**fields, "_native": copy.copy(self._native)}
        return make, args, (fields, *slots) if slots else fields, *rest

    def set_identity(
        self, name: str, variables: Fields | None = None, *, strict: bool | None = None
    ) -> None:
        """Renders a template as layer 1, in the place of an earlier one; an unknown name leaves the layer empty.

        Raises:
            Error: A placeholder has no value, and the builder or the call is strict; it is a `ValueError`.
        """
        if self._overrides("render_template"):
            rule = {} if strict is None else {"strict": strict}
            self._native.set_identity_text(_name(name), self.render_template(name, variables, **rule))
        else:
            self._read_templates()
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

    def add_context_section(self, name: str, data: Fields | None) -> None:
        """Appends data to layer 4 as Markdown: a title, then a line for each key, with the `str()` of its value.

        A section `task_depth` is replaced by execution rules, chosen by `depth`, `max_depth` and `max_steps`.

        Raises:
            TypeError: `data` is not a mapping, model or dataclass, or a depth is not a number.
            ValueError: A depth is not an integer, or negative.
        """
        if data is None:
            return
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not a {type(name).__name__}")
        items = _values.items("data", data)
        if not items:
            return
        if name != _TASK_DEPTH:
            self._native.add_lines(name, [(str(key), str(value)) for key, value in items])
            return
        numbers = dict(items)
        depths = [(key, _integer(key, numbers[key])) for key in _DEPTHS if key in numbers]
        if self._overrides("render_template") or self._overrides("add_context"):
            template, variables = self._native.execution_rules(depths)
            if rules := self.render_template(template, variables or None):
                self.add_context("execution_rules", rules)
        else:
            self._read_templates()
            self._native.add_depth(depths, self._rule(None))

    def set_core_tools(self, tools: Iterable[Any]) -> None:
        """Sets the tools, layer 5, in the place of earlier ones. They are never part of the text."""
        self._tools = [_copied(tool) for tool in tools]

    def set_tools(self, tools: Iterable[Any]) -> None:
        """Sets the tools; the same as `set_core_tools`."""
        self.set_core_tools(tools)

    def build(self) -> tuple[str, list[dict[str, Any]]]:
        """Assembles the system prompt and the tools; calling it again gives the same, and adding goes on."""
        return self._native.build(), list(map(_copied, self._tools))

    def build_task_prompt(self) -> str:
        """Assembles the flat prompt for a task: the text of `build()`."""
        return self.build()[0]

    def compose(self) -> Composition:
        """Assembles the prompt with everything that explains it; the tools must be JSON values here."""
        return self._native.compose(self._tools)

    def get_template(self, name: str) -> str | None:
        """Returns the raw body of a template, or `None` for an unknown name."""
        self._read_templates()
        return self._native.get_template(_name(name))

    def render_template(
        self, name: str, variables: Fields | None = None, *, strict: bool | None = None
    ) -> str | None:
        """Renders a template, or returns `None` for an unknown name.

        Raises:
            Error: A placeholder has no value, and the builder or the call is strict; it is a `ValueError`.
        """
        self._read_templates()
        return self._native.render_template(_name(name), _texts(variables), self._rule(strict))

    def reload(self) -> None:
        """Forgets the templates that were read; the next access reads them afresh."""
        self._templates_read = False
        self._native.reload()

    def _read_templates(self) -> None:
        """Reads the templates before they are first asked for, and tells of those that cannot be taken."""
        if not self._templates_read:
            self._templates_read = True
            for refused in self._native.read_templates():
                where = os.path.join(self._prompts_dir or "", refused)
                warnings.warn(f"{where}; the template is skipped", TemplateWarning, stacklevel=_callers_level())

    def _overrides(self, method: str) -> bool:
        """Tells whether a method is that of a subclass, or one that was put in the place of ours."""
        return getattr(getattr(self, method), "__func__", None) is not _OWN[method]

    def _rule(self, strict: bool | None) -> str:
        return "error" if (self._strict if strict is None else strict) else self._missing


# The methods that other methods call; a subclass may have its own.
_OWN = {method: getattr(PromptBuilder, method) for method in ("render_template", "add_context")}


def _callers_level() -> int:
    """Returns how many frames up the first one is that is not of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame, level = frame.f_back, level + 1
    return level


def _name(name: Any) -> str:
    return "" if name is None else str(name)


def _texts(variables: Any) -> list[tuple[str, str]]:
    """Returns the values as texts. `None` is not a value, and a name that is not text names no placeholder."""
    items = [] if variables is None else _values.items("variables", variables)
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
