"""A conversation with changing sections and tool loops, as each framing sends it; and short forms of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import (
    PLACEMENT_NOTIFICATION,
    PLACEMENT_SYSTEM,
    Author,
    Section,
    join_sections,
    render_notification_center,
)
from frontmind.values.tool import Tool
from frontmind.window.choice import Framing
from frontmind.window.framing import closed
from frontmind.window.window import Window

MODELS = (
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-5-5"),
    ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("openai", "gpt-5.6"),
    ("openai", "gpt-5.5"),
    ("gemini", "gemini-2.5-pro"),
    ("deepseek", "deepseek-chat"),
    ("openrouter", "anthropic/claude-sonnet-4.6"),
    ("compatible", "qwen3"),
)
FRAMED = [
    (provider, model, framing)
    for provider, model in MODELS
    for framing in Framing
    if framing in resolve_profile(provider, model).framings
]


def section(name: str, text: str, placement: str, author: Author = Author.OTHERS) -> Section:
    return Section(name, f"<{name}>\n{text}\n</{name}>", placement, placement == PLACEMENT_SYSTEM, author)


def sent(provider: str, model: str, framing: Framing, *, turns: int = 5, loops: Sequence[int] = (1, 3)) -> list[Any]:
    """The requests of a conversation in the order in which they are sent.

    Args:
        loops: the turns in which a tool is called three times; a reminder changes meanwhile.
    """
    profile = resolve_profile(provider, model)
    choice = choose_framing(profile, framing)
    system = (section("base_prompt", "You help. " * 50, "system"), section("domaindoc", "Tea is hot.", "system"))
    history: Sequence[Message] = ()
    requests = []
    for turn in range(turns):
        center = (
            section("datetime_section", f"2026-11-30T09:1{turn}", PLACEMENT_NOTIFICATION, Author.APPLICATION),
            section("active_reminders", f"reminder {turn // 2}", PLACEMENT_NOTIFICATION),
        )
        window = Window(
            join_sections(system),
            "",
            history,
            render_notification_center(center),
            (user(f"question {turn}"),),
            sections=(*system, *center),
            tools=(Tool("look"), Tool("remind", description="Reminds.")),
            framing=choice,
            conversation="main",
        )
        requests.append(encode_window(window, profile, max_output_tokens=100))
        for step in range(3 if turn in loops else 0):
            call = f"call_{turn}_{step}"
            window = window.extended(
                Message(Role.ASSISTANT, (Text("One moment."), ToolCall(call, "look", "{}"))),
                Message(Role.USER, (ToolResult(call, f"result {step}"),)),
                changed=(section("active_reminders", "done", PLACEMENT_NOTIFICATION),) if step == 1 else (),
            )
            requests.append(encode_window(window, profile, max_output_tokens=100))
        history = closed(window, assistant(f"reply {turn}"))
    return requests


def said(*texts: str | tuple[str, Any]) -> list[dict[str, Any]]:
    """Messages that alternate from the user on; a pair names another role in front of its content."""
    messages: list[dict[str, Any]] = []
    for item in texts:
        role, content = ("assistant" if messages and messages[-1]["role"] == "user" else "user", item)
        if isinstance(item, tuple):
            role, content = item
        messages.append({"role": role, "content": content})
    return messages


def claude(*messages: str | tuple[str, Any], system: Any = "You help.", **body: Any) -> dict[str, Any]:
    """An Anthropic request."""
    return {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": system, "messages": said(*messages), **body}


def marked(text: str, ttl: str = "5m") -> list[dict[str, Any]]:
    """One text with a cache marker, as content."""
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}}]
