"""The native half of the package; programs import `callsheet` instead."""

import os
from typing import Any, final

__all__ = ["Builder", "Composition", "Draft", "__version__", "compose", "draft", "restored", "restored_builder"]

__version__: str

@final
class Composition:
    """A composed prompt with everything that explains it.

    Nothing of it can be changed: each access gives new lists and dicts.
    """

    @property
    def text(self) -> str:
        """The exact text that is handed over: all sections in order, or for a recipe of messages their compact JSON."""

    @property
    def rendered(self) -> str:
        """The same as `text`."""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The prompt as messages with `role` and `content`."""

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that go with the prompt."""

    @property
    def sections(self) -> list[dict[str, Any]]:
        """The sections that made the prompt, in order; `tokens` is `None` where they were not counted."""

    @property
    def events(self) -> list[dict[str, Any]]:
        """What happened that a person should hear of: `type` and `payload`."""

    @property
    def manifest(self) -> dict[str, Any]:
        """The record of the composition: every section, what was left out and why."""

    @property
    def source_map(self) -> dict[str, Any]:
        """Where each byte of `text` came from: `spans` in order, without gaps."""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the exact bytes, `b3:` and 64 digits."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __reduce__(self, /) -> tuple[Any, ...]: ...

@final
class Draft:
    """What a prompt says, of which nothing is put on record."""

    @property
    def text(self) -> str: ...
    @property
    def events(self) -> list[dict[str, Any]]: ...
    @property
    def omissions(self) -> list[dict[str, Any]]: ...

@final
class Builder:
    """Collects the layers of one prompt."""

    def __new__(cls, project_id: str, prompts_dir: str | os.PathLike[str] | None) -> Builder: ...
    def read_templates(self, /) -> list[str]: ...
    def set_identity(self, /, name: str, variables: list[tuple[str, str]], missing: str) -> None: ...
    def set_identity_text(self, /, name: str, text: str | None) -> None: ...
    def render_template(self, /, name: str, variables: list[tuple[str, str]], missing: str) -> str | None: ...
    def get_template(self, /, name: str) -> str | None: ...
    def reload(self, /) -> None: ...
    def tell_project_context(self, /, said: str | None, failure: str | None) -> None: ...
    def tell_rules(self, /, said: str | None, failure: str | None) -> None: ...
    def add_context(self, /, name: str, content: str) -> None: ...
    def add_lines(self, /, name: str, lines: list[tuple[str, str]]) -> None: ...
    def add_depth(self, /, numbers: list[tuple[str, int]], missing: str) -> None: ...
    def execution_rules(self, /, numbers: list[tuple[str, int]]) -> tuple[str, dict[str, str]]: ...
    def build(self, /) -> str: ...
    def compose(self, /, tools: list[Any]) -> Composition: ...
    def __reduce__(self, /) -> tuple[Any, ...]: ...

def compose(recipe: str, input: object, root: str | os.PathLike[str] | None, asked: dict[str, Any]) -> Composition: ...
def draft(recipe: str, input: object, root: str | os.PathLike[str] | None) -> Draft: ...
def restored(record: str) -> Composition: ...
def restored_builder(
    project_id: str, prompts_dir: str | os.PathLike[str] | None, stored: str
) -> Builder: ...
