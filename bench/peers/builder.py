"""The prompt builder as the source document describes it, in plain Python with PyYAML: five layers and templates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

# The parser in C, where PyYAML was built with it.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SEPARATOR = "\n\n---\n\n"
HEADER = re.compile(r"---[ \t]*\n(.*?)(?:^|\n)---[ \t]*(?:\n|\Z)", re.DOTALL)
HOLE = re.compile(r"\{\{([^{}\n]+)\}\}")


class PromptBuilder:
    """Collects the layers of one prompt; templates are read at the first access."""

    def __init__(self, prompts_dir: Path) -> None:
        self.prompts_dir = prompts_dir
        self.templates: dict[str, tuple[dict[str, str], str]] | None = None
        self.identity = ""
        self.context: list[str] = []
        self.tools: list[dict[str, Any]] = []

    def load(self) -> dict[str, tuple[dict[str, str], str]]:
        """Returns defaults and body of every template, by name."""
        if self.templates is None:
            self.templates = {}
            for path in sorted(self.prompts_dir.glob("*.md")):
                content = path.read_text(encoding="utf-8")
                header: dict[str, Any] = {}
                if match := HEADER.match(content):
                    header = yaml.load(match[1], LOADER) or {}
                    content = content[match.end() :]
                declared = header.get("variables", [])
                defaults = {one["name"]: str(one["default"]) for one in declared if "default" in one}
                self.templates.setdefault(header.get("name", path.stem), (defaults, content.strip()))
        return self.templates

    def render_template(self, name: str, variables: dict[str, Any]) -> str | None:
        """Returns a template with its placeholders filled; what has no value becomes empty."""
        if name not in self.load():
            return None
        defaults, body = self.load()[name]

        def value(match: re.Match[str]) -> str:
            hole = match[1].strip()
            return str(variables[hole]) if hole in variables else defaults.get(hole, "")

        return HOLE.sub(value, body)

    def set_identity(self, name: str, variables: dict[str, Any]) -> None:
        """Renders a template as the first layer."""
        self.identity = self.render_template(name, variables) or ""

    def add_context(self, name: str, content: str) -> None:
        """Appends a block."""
        if content.strip():
            self.context.append(content)

    def add_context_section(self, name: str, data: dict[str, Any]) -> None:
        """Appends data as Markdown."""
        lines = [f"- **{key}:** {value}" for key, value in data.items()]
        self.context.append("\n".join([f"## {name.replace('_', ' ').title()}", *lines]))

    def set_tools(self, tools: list[dict[str, Any]]) -> None:
        """Sets the tools."""
        self.tools = list(tools)

    def build(self) -> tuple[str, list[dict[str, Any]]]:
        """Returns prompt and tools."""
        layers = [self.identity, *self.context]
        return SEPARATOR.join(layer for layer in layers if layer), list(self.tools)
