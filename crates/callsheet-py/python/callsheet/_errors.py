"""The exception and the warning of the package."""

from __future__ import annotations


class Error(ValueError):
    """Something in an input, a recipe or a template is wrong, or a prompt is over its limit.

    Attributes:
        kind: What a program can branch on: `bad-recipe`, `bad-input`, `bad-template`, `unknown-name`, `over-budget`,
            `no-match`, `no-change`, `untrusted` or `unreadable`.
        detail: The sentence without place and causes.
        file: The file that is wrong, where one is known.
        line: The line in it, counted from 1, where it is known.
        hint: What may help, such as the name that was probably meant.
        causes: The lines that say why.
    """

    kind: str
    detail: str
    file: str | None
    line: int | None
    hint: str | None
    causes: tuple[str, ...]

    def __init__(
        self,
        message: str,
        *,
        kind: str = "other",
        detail: str | None = None,
        file: str | None = None,
        line: int | None = None,
        hint: str | None = None,
        causes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.detail = message if detail is None else detail
        self.file = file
        self.line = line
        self.hint = hint
        self.causes = causes
        # A traceback shows notes below the message; Python has them since 3.11.
        if hint is not None and hasattr(self, "add_note"):
            self.add_note(f"hint: {hint}")


class TemplateWarning(UserWarning):
    """A file of `prompts_dir` is there and is not taken: a link that leads out of it, or what is not text."""
