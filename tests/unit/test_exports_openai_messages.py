"""Conversations that are lists of role/content messages, alone and many in one file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from exports import conversations, entries, problems, told
from frontmind.continuum.exports import Entry, ExportKind
from support import START

MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "When does it leave?"},
    {"role": "assistant", "content": "At nine."},
]
EXCHANGE = ("When does it leave?", "At nine.")


def read(data: object, name: str = "chats.json") -> list[Entry]:
    return entries(ExportKind.OPENAI_MESSAGES, data, name)


def by_line(*values: object) -> bytes:
    return b"\n".join(json.dumps(value).encode() for value in values)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (MESSAGES, "one.json"),
        ({"messages": MESSAGES}, "one.json"),
        (json.dumps({"messages": MESSAGES}, indent=2).encode(), "one.json"),
        ([{"messages": MESSAGES}], "many.json"),
        ([MESSAGES], "many.json"),
        ({"conversations": [{"messages": MESSAGES}]}, "many.json"),
        (by_line({"messages": MESSAGES}), "many.jsonl"),
        (by_line(MESSAGES), "many.jsonl"),
        (by_line(MESSAGES, []), "many.json"),
        (by_line(*MESSAGES), "one.jsonl"),
        (by_line(*MESSAGES), "one.json"),
        (b"\xef\xbb\xbf" + by_line({"messages": MESSAGES}), "many.jsonl"),
        (b"\xef\xbb\xbf" + json.dumps([MESSAGES]).encode(), "many.json"),
    ],
)
def test_every_way_to_write_a_conversation_is_read(data: object, name: str) -> None:
    found = read(data, name)
    assert not problems(found)
    assert [told(conversation) for conversation in conversations(found) if conversation.turns] == [[EXCHANGE]]


def test_lines_are_conversations_of_their_own_even_where_they_begin_alike() -> None:
    longer = [*MESSAGES, {"role": "user", "content": "Thanks."}, {"role": "assistant", "content": "Welcome."}]
    data = by_line({"messages": MESSAGES}, {"messages": longer}, {"messages": MESSAGES})
    found = conversations(read(data, "x.jsonl"))
    assert len({conversation.key for conversation in found}) == 3
    assert len({turn.key for conversation in found for turn in conversation.turns}) == 4
    assert [conversation.key for conversation in found] == [
        conversation.key for conversation in conversations(read(data, "x.jsonl"))
    ]


def test_a_conversation_without_a_name_keeps_its_keys_while_it_grows() -> None:
    longer = [*MESSAGES, {"role": "user", "content": "Thanks."}, {"role": "assistant", "content": "Welcome."}]
    (early,), (late,) = conversations(read([MESSAGES])), conversations(read([longer]))
    assert early.key == late.key
    assert early.turns[0].key == late.turns[0].key


def test_names_titles_and_moments_are_kept() -> None:
    dated = [
        {"role": "user", "content": "Hi", "created_at": "2026-01-02T03:04:05Z"},
        {"role": "assistant", "content": "Hello", "timestamp": 1_770_000_000},
    ]
    (conversation,) = conversations(read([{"id": "c-7", "title": "Greeting", "messages": dated}]))
    assert (conversation.key, conversation.title) == ("c-7", "Greeting")
    assert conversation.turns[0].asked_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert conversation.turns[0].answered_at == datetime.fromtimestamp(1_770_000_000, UTC)


def test_what_has_no_moment_at_all_has_that_of_the_import() -> None:
    (conversation,) = conversations(read([MESSAGES]))
    assert conversation.turns[0].asked_at == conversation.turns[0].answered_at == START


def test_tools_are_left_out_and_pictures_named() -> None:
    messages: list[dict[str, Any]] = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {"type": "hologram"},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "t", "content": "a cat"},
        {"role": "function", "name": "look", "content": "a cat"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A cat."}]},
    ]
    found = read([messages])
    assert not problems(found)
    assert told(conversations(found)[0]) == [("What is it?\n\n(image)\n\n(hologram)", "A cat.")]


def test_a_broken_message_is_reported_with_its_place_and_the_rest_is_read() -> None:
    broken = {"id": "c-2", "messages": [*MESSAGES, {"role": "ghost", "content": "Boo"}, 7]}
    found = read([{"messages": MESSAGES}, broken, {"id": "c-3"}, {"messages": MESSAGES}])
    assert [told(conversation) for conversation in conversations(found)] == [[EXCHANGE]] * 3
    assert [problem.place for problem in problems(found)] == [
        "conversation 2 (c-2), message 4",
        "conversation 2 (c-2), message 5",
        "conversation 3 (c-3)",
    ]
