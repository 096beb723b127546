"""claude.ai's export: what was said, and what is named in its place."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from exports import SAMPLES, conversations, entries, problems, told
from frontmind.continuum.exports import Entry, ExportKind
from frontmind.continuum.exports.pairing import NO_REPLY

NOBODY = "00000000-0000-4000-8000-000000000000"


def message(key: str, sender: str, text: str = "", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}] if text else []
    return {"uuid": key, "sender": sender, "created_at": None, "text": text, "content": content, **more}


def read(*messages: object, **more: Any) -> list[Entry]:
    chat = {"uuid": "c-1", "name": "Trains", "created_at": "2026-02-03T09:00:00Z", "chat_messages": messages, **more}
    return entries(ExportKind.CLAUDE, [chat])


def said(*messages: object, **more: Any) -> list[tuple[str, str]]:
    found = read(*messages, **more)
    assert not problems(found)
    return told(conversations(found)[0])


QUESTION = message("m1", "human", "When does it leave?")
REPLY = message("m2", "assistant", "At nine.")


def test_the_sample_has_no_thinking_and_no_tools_and_names_files() -> None:
    found = entries(ExportKind.CLAUDE, (SAMPLES / "claude_2026_sample.json").read_bytes())
    assert not problems(found)
    (conversation,) = conversations(found)
    assert told(conversation) == [
        (
            "Find docs for uv",
            "I could not fetch the URL, try opening it manually.\n\n(file: notes.txt)\n\n(file: draft.md)",
        )
    ]
    assert conversation.turns[0].asked_at == datetime(2025, 12, 2, 21, 17, 10, 100_000, tzinfo=UTC)
    assert conversation.turns[0].answered_at == datetime(2025, 12, 2, 21, 17, 12, tzinfo=UTC)


def test_scripts_stay_texts_and_an_empty_chat_is_no_problem() -> None:
    found = entries(ExportKind.CLAUDE, (SAMPLES / "claude_export_html_backup_conversations.json").read_bytes())
    assert not problems(found)
    first, second, empty = conversations(found)
    reply = first.turns[0].reply.text
    assert reply.endswith(
        "[клик](javascript:alert(1)) и картинка ![x](javascript:alert(2))\n\n<script>alert(3)</script>"
    )
    assert second.title == "Напиши функцию на Python"
    assert second.turns[0].reply.text == "```python\ndef add(a, b):\n    return a + b\n```"
    assert (empty.title, empty.turns) == ("Пустой чат", ())


def test_an_old_message_without_blocks_says_its_text() -> None:
    assert said(QUESTION, message("m2", "assistant", "At nine.", content=None)) == [("When does it leave?", "At nine.")]


def test_an_unknown_block_is_named() -> None:
    blocks = [{"type": "hologram", "data": 1}, {"type": "text", "text": "At nine."}, {"type": "token_budget"}]
    assert said(QUESTION, message("m2", "assistant", content=blocks))[0][1] == "(hologram)\n\nAt nine."


def test_a_pasted_text_without_a_name_is_named_as_a_file() -> None:
    pasted = message("m1", "human", "Look:", attachments=[{"file_name": "", "extracted_content": "x"}])
    assert said(pasted, REPLY) == [("Look:\n\n(file)", "At nine.")]


def test_only_the_branch_of_the_newest_message_is_read() -> None:
    tree = [
        message("m1", "human", "When does it leaf?", parent_message_uuid=NOBODY, created_at="2026-02-03T09:00:00Z"),
        message("m2", "assistant", "In spring.", parent_message_uuid="m1", created_at="2026-02-03T09:00:10Z"),
        message("m3", "human", "When does it leave?", parent_message_uuid=NOBODY, created_at="2026-02-03T09:01:00Z"),
        message("m4", "assistant", "At nine.", parent_message_uuid="m3", created_at="2026-02-03T09:01:10Z"),
    ]
    assert said(*tree) == [("When does it leave?", "At nine.")]
    assert said(*tree, current_leaf_message_uuid="m2") == [("When does it leaf?", "In spring.")]


def test_a_broken_message_is_reported_with_its_place_and_the_rest_is_read() -> None:
    broken = [7, message("x", "ghost", "Boo"), message("y", "assistant", content=[{"type": "text"}, 5])]
    found = read(QUESTION, *broken, REPLY)
    assert told(conversations(found)[0]) == [("When does it leave?", "At nine.")]
    assert [problem.place for problem in problems(found)] == [
        f"conversation 1 (c-1), message {number}" for number in (2, 3, 4, 4)
    ]


@pytest.mark.parametrize("messages", [None, {}, "text"])
def test_a_chat_without_messages_is_reported(messages: object) -> None:
    found = entries(ExportKind.CLAUDE, [{"uuid": "c-1", "chat_messages": messages}])
    assert not conversations(found)
    assert [problem.place for problem in problems(found)] == ["conversation 1 (c-1)"]


def test_an_unanswered_question_is_not_lost() -> None:
    assert said(QUESTION, REPLY, message("m3", "human", "And then?")) == [
        ("When does it leave?", "At nine."),
        ("And then?", NO_REPLY),
    ]


def test_a_chat_without_a_title_is_called_by_what_was_said_first() -> None:
    (conversation,) = conversations(read(QUESTION, REPLY, name=""))
    assert conversation.title == "When does it leave?"


def test_a_title_stays_on_one_line_and_draws_no_rule() -> None:
    (conversation,) = conversations(read(QUESTION, REPLY, name="Trains\n\x1b[2J═" + "x" * 500))
    assert conversation.title.startswith("Trains \ufffd[2J&#x2550;x")
    assert len(conversation.title) <= 60
