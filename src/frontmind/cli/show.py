"""``frontmind window show``: the window of the next turn, without sending anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from frontmind.assistant.looking_ahead import Preview
from frontmind.cli.options import (
    DbOption,
    FramingOption,
    JsonOption,
    LayoutOption,
    ModelOption,
    NowOption,
    ProfileOption,
    TimezoneOption,
)
from frontmind.cli.preview import Asked, look_ahead
from frontmind.cli.terminal import emit, json_text, note, say
from frontmind.providers.estimate import estimate_tokens
from frontmind.providers.opening import Selection
from frontmind.values.parts import part_text
from frontmind.values.section import PLACEMENT_SYSTEM
from frontmind.values.tool import AnyTool, ProviderTool
from frontmind.window.canonical import parse_json
from frontmind.window.framing import FramedMessage, Origin, frame
from frontmind.window.sizes import estimate_part

MessageOption = Annotated[
    str | None, typer.Option("--message", metavar="TEXT", help="The next user message.", show_default=False)
]
ConversationOption = Annotated[
    Path | None,
    typer.Option(
        "--conversation",
        metavar="FILE",
        help="A JSON list of role/content messages in place of the stored conversation.",
        show_default=False,
    ),
]


def show(
    message: MessageOption = None,
    conversation: ConversationOption = None,
    model: ModelOption = None,
    framing: FramingOption = None,
    layout: LayoutOption = None,
    profile: ProfileOption = None,
    request: Annotated[bool, typer.Option("--request", help="Print the exact request as JSON.")] = False,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the window of the next turn without sending anything, and without writing to the database."""
    asked = Asked(message, conversation, model, framing, layout, profile, db, now, timezone)
    selection, found = look_ahead(asked)
    for failure in found.built.failures:
        note(f"{failure.section} is unavailable: {failure.reason}")
    if found.known.left_out:
        note(f"{found.known.left_out} old turn(s) are not sent any more: a summary stands for them")
    if request:
        emit(json_text(found.request) + "\n")
    elif as_json:
        emit(json_text(window_json(found, selection)) + "\n")
    else:
        _print_window(found, selection)


def window_json(found: Preview, selection: Selection) -> dict[str, object]:
    """The window as a JSON object, every section and message with its place and size."""
    window, learned = found.built.window, found.prediction.calibration
    choice = window.framing or selection.framing
    framed = frame(window, choice)
    sizes = [learned.corrected(_size(item)) for item in framed]
    sections = [learned.corrected(estimate_tokens(section.content)) for section in window.sections]
    system = sum(
        size for section, size in zip(window.sections, sections, strict=True) if section.placement == PLACEMENT_SYSTEM
    )
    tools = [learned.corrected(_tool_size(tool)) for tool in window.tools]
    total = found.prediction.expected.input
    return {
        "model": str(selection.name),
        "framing": choice.framing.value,
        "framing_reason": choice.reason,
        "closed_thinking": choice.closed_thinking.value,
        "tokens": {
            "total": total,
            "residual": total - sum(tools) - system - sum(sizes),
            "exact": False,
            "factor": round(learned.factor, 4),
            "learned_from_replies": learned.replies,
        },
        "sections": [
            {
                "name": section.name,
                "placement": section.placement,
                "cache_policy": section.cache_policy,
                "author": section.author.value,
                "tokens": size,
                "content": section.content,
            }
            for section, size in zip(window.sections, sections, strict=True)
        ],
        "tools": [{**_tool_json(tool), "tokens": size} for tool, size in zip(window.tools, tools, strict=True)],
        "system": {"cached": window.cached_system, "uncached": window.uncached_system},
        "notification_center": window.notification_center,
        "messages": [
            {"role": item.voice.value, "origin": item.origin.value, "tokens": size, "text": framed_text(item)}
            for item, size in zip(framed, sizes, strict=True)
        ],
    }


def _tool_json(tool: AnyTool) -> dict[str, object]:
    if isinstance(tool, ProviderTool):
        return {"name": tool.name, "wire": tool.wire, "data": parse_json(tool.data)}
    known = {"name": tool.name, "description": tool.description, "parameters": parse_json(tool.parameters)}
    return known if tool.strict is None else {**known, "strict": tool.strict}


def framed_text(item: FramedMessage) -> str:
    """All that a framed message says."""
    return "\n\n".join(part_text(part) for part in item.parts)


_ORIGINS = {
    Origin.HISTORY: "conversation history",
    Origin.RULE: "the rule that opens the notification center",
    Origin.NOTIFICATION: "notification center",
    Origin.TURN: "current turn",
}


def _print_window(found: Preview, selection: Selection) -> None:
    window, learned = found.built.window, found.prediction.calibration
    choice = window.framing or selection.framing
    total = found.prediction.expected.input
    say(f"# The next window for {selection.name}: ~{total:,} tokens, framing {choice.framing.value} ({choice.reason})")
    if window.tools:
        size = sum(learned.corrected(_tool_size(tool)) for tool in window.tools)
        names = ", ".join(tool.name for tool in window.tools)
        say(f"\n## tools · ~{size:,} tokens\n{names}")
    for text, what in ((window.cached_system, "cached"), (window.uncached_system, "not cached")):
        if text:
            say(f"\n## system · {what} · ~{learned.corrected(estimate_tokens(text)):,} tokens\n{text}")
    for item in frame(window, choice):
        size = learned.corrected(_size(item))
        say(f"\n## {item.voice.value} · {_ORIGINS[item.origin]} · ~{size:,} tokens\n{framed_text(item)}")


def _size(item: FramedMessage) -> int:
    return sum(estimate_part(part) for part in item.parts)


def _tool_size(tool: AnyTool) -> int:
    if isinstance(tool, ProviderTool):
        return estimate_tokens(tool.data)
    # As it stands in a request.
    parameters = json.dumps(parse_json(tool.parameters), ensure_ascii=False)
    return sum(estimate_tokens(text) for text in (tool.name, tool.description or "", parameters))
