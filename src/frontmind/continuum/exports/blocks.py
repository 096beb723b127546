"""What a message's content says, where it is a text or a list of typed blocks, as Anthropic and claude.ai write it.

Reasoning and the traffic of tools are left out; what cannot be told in words is named, such as ``(image)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from frontmind.values.harmless import one_line

_LEFT_OUT: Final = frozenset(
    {
        "thinking",
        "redacted_thinking",
        "tool_use",
        "tool_result",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_result",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "token_budget",
        "flag",
    }
)
_SHOWN_OF_A_NAME: Final = 120


def block_texts(content: object, broken: Callable[[str], None]) -> tuple[str, ...]:
    """The texts of the content, without blank ones.

    Args:
        broken: called with why for each part that cannot be read; the others are still told.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return without_blank((content,))
    if not isinstance(content, list):
        broken("its content is neither a text nor a list of parts")
        return ()
    texts: list[str] = []
    for number, block in enumerate(content, start=1):
        if isinstance(block, str):
            texts.append(block)
            continue
        kind = block.get("type") if isinstance(block, Mapping) else None
        if not isinstance(block, Mapping) or not isinstance(kind, str):
            broken(f"part {number} of its content is not an object with a type")
            continue
        if kind in _LEFT_OUT:
            continue
        if kind != "text":
            texts.append(named(kind))
        if isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif kind == "text":
            broken(f"part {number} of its content is a text part without a text")
    return without_blank(texts)


def named(kind: str) -> str:
    """A line in the place of something that cannot be told in words."""
    return f"({one_line(kind, _SHOWN_OF_A_NAME)})"


def file_names(files: object, *keys: str) -> tuple[str, ...]:
    """A line for each file that was attached, with its name under the first of the keys that it has."""
    if not isinstance(files, list):
        return ()
    lines = []
    for file in files:
        names = [file.get(key) for key in keys] if isinstance(file, Mapping) else [file]
        name = next((name for name in names if isinstance(name, str) and name.strip()), "")
        lines.append(named(f"file: {name}" if name else "file"))
    return tuple(lines)


def without_blank(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts that have a visible character."""
    return tuple(text for text in texts if text.strip())
