"""Whatever stands in the place of a value, an entry is read or told, and raises nothing."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, MutableMapping, MutableSequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exports import chat, conversations, entries, node, problems
from frontmind.continuum.exports import ExportKind

JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 10**400, 1e308, "", "x", "\ud800", "\0", "\u2550", [], {}, [None], ["x", 1], {"x": {}}, "u1"]
)
CHAT = chat(
    node("root", None, "system", "Be kind."),
    node("u1", "root", "user", "Hi", metadata={"attachments": [{"id": "f", "name": "a.txt"}]}),
    node("t1", "u1", "tool", {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}),
    node("a1", "t1", "assistant", content={"content_type": "code", "language": "python", "text": "x"}),
)
CLAUDE = {
    "uuid": "c",
    "name": "n",
    "created_at": "2026-01-01T00:00:00Z",
    "current_leaf_message_uuid": "m2",
    "chat_messages": [
        {"uuid": "m1", "parent_message_uuid": "m0", "sender": "human", "text": "Hi", "content": []},
        {
            "uuid": "m2",
            "parent_message_uuid": "m1",
            "sender": "assistant",
            "content": [{"type": "text", "text": "Hello"}, {"type": "x"}],
            "attachments": [{"file_name": "a"}],
            "files": [{"file_name": "b"}],
        },
    ],
}
SESSION = [
    {"type": "summary", "summary": "s", "leafUuid": "a"},
    {
        "type": "user",
        "uuid": "u",
        "parentUuid": None,
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "user", "content": "Hi"},
    },
    {
        "type": "assistant",
        "uuid": "a",
        "parentUuid": "u",
        "sessionId": "s",
        "message": {"id": "r", "model": "m", "content": [{"type": "text", "text": "Hello"}]},
    },
]
MESSAGES = {
    "id": "c",
    "title": "t",
    "messages": [
        {"role": "user", "id": "m", "created_at": 1.0, "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": "Hello", "tool_calls": [{"id": "t", "function": {"name": "f"}}]},
    ],
}
WHOLE: dict[ExportKind, Any] = {
    ExportKind.CHATGPT: [CHAT],
    ExportKind.CLAUDE: [CLAUDE],
    ExportKind.CLAUDE_CODE: SESSION,
    ExportKind.OPENAI_MESSAGES: [MESSAGES],
}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in the value that something else can stand in."""
    if isinstance(value, MutableMapping | MutableSequence):
        for key in list(value) if isinstance(value, MutableMapping) else range(len(value)):
            yield value, key
            yield from places(value[key])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(ExportKind)), st.lists(st.tuples(st.integers(0, 500), JUNK), min_size=1, max_size=3))
def test_nothing_in_the_place_of_a_value_stops_the_reading(kind: ExportKind, changes: list[tuple[int, Any]]) -> None:
    whole = copy.deepcopy(WHOLE[kind])
    for number, junk in changes:
        found = list(places(whole))
        if found:
            inside, key = found[number % len(found)]
            inside[key] = copy.deepcopy(junk)
    if kind is ExportKind.CLAUDE_CODE:
        data = b"\n".join(json.dumps(line).encode() for line in whole)
        data = data if data.lstrip().startswith((b"[", b"{")) else b"{}\n" + data
    else:
        data = json.dumps([whole, *WHOLE[kind]]).encode()
    read = entries(kind, data)
    for conversation in conversations(read):
        assert conversation.name(kind)
        for turn in conversation.turns:
            assert turn.user.text.strip()
            assert turn.reply.text.strip()
            assert turn.asked_at <= turn.answered_at
    for problem in problems(read):
        assert "\n" not in problem.place + problem.why


@pytest.mark.parametrize("kind", list(ExportKind))
def test_a_hundred_thousand_brackets_are_one_broken_entry(kind: ExportKind) -> None:
    read = entries(kind, b"[" * 100_000 if kind is ExportKind.CLAUDE_CODE else b"[" + b"[" * 99_999 + b"]" * 100_000)
    assert len(problems(read)) == 1
    assert not conversations(read)
