"""What managers of other programs say, whatever form they say it in."""

from __future__ import annotations

import inspect
from typing import Any

from ._values import call_with_known


async def project_context(manager: Any, project_id: Any) -> str | None:
    """Returns what a memory manager knows of a project, or nothing.

    The answer is a text, or an object with `to_context_block` and, as property or method, `is_empty`. Each may be
    a coroutine.
    """
    offered = {"task": None, "workspace_path": ""}
    answer = await _awaited(call_with_known(manager.build_context, offered, project_id))
    if not answer:
        return None
    if isinstance(answer, str):
        return answer
    if await _value(getattr(answer, "is_empty", False)):
        return None
    return _text(await _value(answer.to_context_block))


async def rules(manager: Any, project_id: Any, query: str) -> str | None:
    """Returns the rules that a rule manager finds for a query, or nothing."""
    return _text(await _awaited(manager.get_rules_for_prompt(project_id, query)))


async def _value(member: Any) -> Any:
    """Returns the value of a property or method."""
    return await _awaited(member() if callable(member) else member)


async def _awaited(answer: Any) -> Any:
    return await answer if inspect.isawaitable(answer) else answer


def _text(answer: Any) -> str | None:
    if answer is not None and not isinstance(answer, str):
        raise TypeError(f"expected a str, found a {type(answer).__name__}")
    return answer
