"""Composes the exact prompt that a coding agent gets, and explains every byte of it.

`PromptBuilder` collects a system prompt layer by layer, `build_prompt_system_append` makes the files of stories one XML
text, and `compose` runs any recipe. The same inputs give the same bytes as the program `callsheet` does.
"""

from ._builder import PromptBuilder
from ._compose import build_prompt_system_append, compose, compose_messages, compose_run
from ._errors import Error, TemplateWarning
from ._native import Composition, __version__

__all__ = [
    "Composition",
    "Error",
    "PromptBuilder",
    "TemplateWarning",
    "__version__",
    "build_prompt_system_append",
    "compose",
    "compose_messages",
    "compose_run",
]

# People and pickles know them by where they are imported from.
for _public in (Error, PromptBuilder, TemplateWarning, build_prompt_system_append, compose, compose_messages, compose_run):
    _public.__module__ = __name__
del _public
