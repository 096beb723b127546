"""ChatGPT's export: which of a tree's messages were said, and when."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from exports import SAMPLES, chat, conversations, entries, node, problems, told
from frontmind.continuum.exports import Entry, ExportKind
from frontmind.continuum.exports.pairing import NO_REPLY
from frontmind.window.normalise import OPENING_PLACEHOLDER
from support import shared

ROOT: dict[str, Any] = {"id": "root", "parent": None, "children": [], "message": None}
QUESTION = node("u1", "root", "user", "When does it leave?", at=1_700_000_001.5)
REPLY = node("a1", "u1", "assistant", "At nine.", at=1_700_000_009)


def read(*chats: dict[str, Any]) -> list[Entry]:
    return entries(ExportKind.CHATGPT, list(chats))


def said(*chats: dict[str, Any]) -> list[tuple[str, str]]:
    """The exchanges of conversations without a problem."""
    found = read(*chats)
    assert not problems(found)
    return [exchange for conversation in conversations(found) for exchange in told(conversation)]


def test_the_sample_has_the_open_branch_and_names_what_it_cannot_tell() -> None:
    found = entries(ExportKind.CHATGPT, (SAMPLES / "chatgpt_2026_sample.json").read_bytes())
    assert not problems(found)
    assert [told(conversation) for conversation in conversations(found)] == [
        [("How do I build an export command?", "Use argparse and subcommands.\n\n(image)")],
        [(OPENING_PLACEHOLDER, "(unknown_type_from_future)")],
        [(OPENING_PLACEHOLDER, "```python\nprint('from metadata')\n```")],
    ]
    assert [conversation.title for conversation in conversations(found)] == [
        "Branching Conversation",
        "Unknown Type Coverage",
        "Code from metadata",
    ]


def test_a_corrupt_entry_is_reported_with_its_place_and_the_rest_is_read() -> None:
    found = entries(ExportKind.CHATGPT, shared("chat_exports", "librechat_chatgpt-modern-export.json").read_bytes())
    assert [told(conversation) for conversation in conversations(found)] == [
        [
            ("How do I roll back the deploy?", "Run `helm rollback staging`."),
            ("And if that fails?", "Restore from the last known-good chart."),
        ],
        [("Something with anchovies?", "Puttanesca.")],
    ]
    (problem,) = problems(found)
    assert problem.place == "conversation 2 (6b0f0d9c-0000-4000-8000-000000000002)"
    assert "mapping" in problem.why


def test_moments_are_kept() -> None:
    (conversation,) = conversations(read(chat(ROOT, QUESTION, REPLY)))
    (turn,) = conversation.turns
    assert turn.asked_at == datetime.fromtimestamp(1_700_000_001.5, UTC)
    assert turn.answered_at == datetime.fromtimestamp(1_700_000_009, UTC)


def test_a_message_without_a_moment_has_that_of_the_message_before_it() -> None:
    timeless = node("u2", "a1", "user", "And then?"), node("a2", "u2", "assistant", "At ten.", at=1_700_000_100)
    (conversation,) = conversations(read(chat(ROOT, QUESTION, REPLY, *timeless)))
    assert conversation.turns[1].asked_at == datetime.fromtimestamp(1_700_000_009, UTC)
    (conversation,) = conversations(read(chat(ROOT, node("u", "root", "user", "Hello?"))))
    assert conversation.turns[0].asked_at == datetime.fromtimestamp(1_700_000_000, UTC)
    assert conversation.turns[0].answered_at == datetime.fromtimestamp(1_700_000_000, UTC)


def test_a_reply_that_is_dated_before_its_question_was_given_when_it_was_asked() -> None:
    (conversation,) = conversations(read(chat(ROOT, QUESTION, node("a1", "u1", "assistant", "At nine.", at=1.6e9))))
    assert conversation.turns[0].answered_at == conversation.turns[0].asked_at


def test_an_edited_prompt_and_a_regenerated_reply_are_left_out() -> None:
    edited = (
        node("u0", "root", "user", "When does it leaf?", at=1_699_999_999),
        node("a0", "u0", "assistant", "Spring."),
    )
    again = node("a2", "u1", "assistant", "At noon.", at=1_700_000_099)
    assert said(chat(ROOT, *edited, QUESTION, REPLY, again, current="a1")) == [("When does it leave?", "At nine.")]


@pytest.mark.parametrize("current", ["", "gone"])
def test_without_the_open_node_the_newest_branch_is_taken(current: str) -> None:
    newer = node("a2", "u1", "assistant", "At noon.", at=1_700_000_099)
    below = node("t", "a2", "tool", "traffic")
    assert said(chat(ROOT, QUESTION, newer, below, REPLY, current=current)) == [("When does it leave?", "At noon.")]


@pytest.mark.parametrize(
    "hidden",
    [
        node("x", "u1", "system", "You are terse."),
        node("x", "u1", "tool", "search results"),
        node("x", "u1", "assistant", "search('trains')", recipient="browser"),
        node("x", "u1", "assistant", "Let me think.", channel="analysis"),
        node("x", "u1", "assistant", "weightless", weight=0),
        node("x", "u1", "user", "hidden", metadata={"is_visually_hidden_from_conversation": True}),
        node("x", "u1", "user", "about me", content={"content_type": "user_editable_context", "user_profile": "SRE"}),
        node("x", "u1", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "hmm"}]}),
        node("x", "u1", "assistant", content=None),
        {"id": "x", "parent": "u1", "children": [], "message": None},
        node("x", "u1", "assistant", " \n"),
    ],
    ids=lambda item: str((item["message"] or {}).get("author", {}).get("role")),
)
def test_what_the_person_never_saw_is_left_out_and_splits_nothing(hidden: dict[str, Any]) -> None:
    assert said(chat(ROOT, QUESTION, hidden, node("a1", "x", "assistant", "At nine."))) == [
        ("When does it leave?", "At nine.")
    ]


def test_messages_of_one_role_in_a_row_become_one() -> None:
    first = node("a0", "u1", "assistant", "Let me look.", at=1_700_000_005)
    call = node("t0", "a0", "assistant", "look()", recipient="browser")
    found = read(chat(ROOT, QUESTION, first, call, node("a1", "t0", "assistant", "At nine.", at=1_700_000_009)))
    (conversation,) = conversations(found)
    assert told(conversation) == [("When does it leave?", "Let me look.\n\nAt nine.")]
    assert conversation.turns[0].answered_at == datetime.fromtimestamp(1_700_000_009, UTC)


def test_nothing_that_was_said_first_or_last_is_lost() -> None:
    assert said(chat(node("a0", None, "assistant", "Welcome!"), node("u1", "a0", "user", "Thanks."))) == [
        (OPENING_PLACEHOLDER, "Welcome!"),
        ("Thanks.", NO_REPLY),
    ]


def test_attached_files_are_named_once() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    other = {"content_type": "audio_asset_pointer", "asset_pointer": "file-service://file-9"}
    attached = {"attachments": [{"id": "file-1", "name": "map.png"}, {"id": "file-2"}]}
    asked = node("u1", "root", "user", picture, other, "Where is it?", metadata=attached)
    assert said(chat(ROOT, asked, REPLY)) == [("(audio)\n\nWhere is it?\n\n(file: map.png)\n\n(file)", "At nine.")]


def test_a_picture_that_a_tool_made_is_named_as_the_assistants() -> None:
    made = node(
        "t1", "u1", "tool", {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}, "done"
    )
    assert said(chat(ROOT, QUESTION, made)) == [("When does it leave?", "(image)")]


def test_an_unknown_content_is_named_and_its_words_are_kept() -> None:
    strange = node("a1", "u1", "assistant", content={"content_type": "hologram", "parts": ["At nine.", {"x": 1}]})
    assert said(chat(ROOT, QUESTION, strange)) == [("When does it leave?", "(hologram)\n\nAt nine.")]


def test_code_that_holds_a_fence_stays_in_its_own() -> None:
    content = {"content_type": "code", "language": "markdown", "text": "```\nx\n```"}
    assert said(chat(ROOT, QUESTION, node("a1", "u1", "assistant", content=content)))[0][1] == (
        "````markdown\n```\nx\n```\n````"
    )


def test_a_script_stays_a_text() -> None:
    text = "<script>alert(1)</script> [x](javascript:alert(2))"
    assert said(chat(ROOT, QUESTION, node("a1", "u1", "assistant", text)))[0][1] == text


def test_a_circle_is_cut_and_told() -> None:
    found = read(chat(node("u1", "a1", "user", "a"), node("a1", "u1", "assistant", "b")), chat(ROOT, QUESTION, REPLY))
    assert [told(conversation) for conversation in conversations(found)] == [
        [("a", "b")],
        [("When does it leave?", "At nine.")],
    ]
    assert [problem.place for problem in problems(found)] == ["conversation 1 (c-1)"]


def test_a_missing_parent_is_told_and_what_is_behind_it_is_read() -> None:
    found = read(chat(node("u1", "gone", "user", "When?"), REPLY))
    assert told(conversations(found)[0]) == [("When?", "At nine.")]
    assert "'gone' is not there" in problems(found)[0].why


def test_a_missing_parent_is_found_where_it_names_its_children() -> None:
    above = {**QUESTION, "children": ["a1"]}
    assert said(chat(ROOT, above, {**REPLY, "parent": "gone"})) == [("When does it leave?", "At nine.")]
    assert said(chat(ROOT, above, {**REPLY, "parent": None})) == [("When does it leave?", "At nine.")]


@pytest.mark.parametrize(
    "message",
    [
        "text",
        {"author": "user"},
        {"author": {"role": "ghost"}, "content": {"parts": ["x"]}},
        {"author": {"role": "user"}, "content": "text"},
        {"author": {"role": "user"}, "content": {"content_type": "text", "parts": "text"}},
        {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [7]}},
    ],
    ids=json.dumps,
)
def test_a_broken_message_is_reported_with_its_place_and_the_rest_is_read(message: object) -> None:
    broken = {"id": "x", "parent": "a1", "children": [], "message": message}
    more = node("u2", "x", "user", "And then?"), node("a2", "u2", "assistant", "At ten.")
    found = read(chat(ROOT, QUESTION, REPLY, broken, *more))
    assert told(conversations(found)[0]) == [("When does it leave?", "At nine."), ("And then?", "At ten.")]
    assert [problem.place for problem in problems(found)] == ["conversation 1 (c-1), message 3"]


def test_an_empty_chat_is_no_problem() -> None:
    found = read(chat(ROOT), chat(key="c-2"), chat(ROOT, node("s", "root", "system", "Be kind."), key="c-3"))
    assert not problems(found)
    assert [conversation.turns for conversation in conversations(found)] == [(), (), ()]


def test_a_later_export_has_the_same_keys_and_new_ones_for_what_is_new() -> None:
    more = node("u2", "a1", "user", "And then?"), node("a2", "u2", "assistant", "At ten.")
    (early,) = conversations(read(chat(ROOT, QUESTION, REPLY)))
    (late,) = conversations(read(chat(ROOT, QUESTION, REPLY, *more)))
    assert [turn.key for turn in late.turns][:1] == [turn.key for turn in early.turns]
    assert len({turn.key for turn in late.turns}) == 2


def test_messages_of_the_same_name_in_two_conversations_have_keys_of_their_own() -> None:
    found = read(chat(ROOT, QUESTION, REPLY), chat(ROOT, QUESTION, REPLY, key="c-2"))
    first, second = conversations(found)
    assert first.turns[0].key != second.turns[0].key
    assert first.title == second.title
    assert first.name(ExportKind.CHATGPT) != second.name(ExportKind.CHATGPT)


def test_two_conversations_of_the_same_name_lose_nothing() -> None:
    other = chat(ROOT, {**QUESTION, "message": node("u1", None, "user", "Where?")["message"]}, REPLY)
    found = conversations(read(chat(ROOT, QUESTION, REPLY), other, chat(ROOT, QUESTION, REPLY)))
    keys = [turn.key for conversation in found for turn in conversation.turns]
    assert len(keys) == 3
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.parametrize("at", [True, "soon", float(10**30), -(10**15), [], 0])
def test_a_moment_that_cannot_be_meant_counts_as_none(at: Any) -> None:
    (conversation,) = conversations(read(chat(ROOT, node("u1", "root", "user", "Hello", at=at), REPLY)))
    assert conversation.turns[0].asked_at == datetime.fromtimestamp(1_700_000_000, UTC)


def test_milliseconds_are_known_by_their_size() -> None:
    (conversation,) = conversations(read(chat(ROOT, node("u1", "root", "user", "Hello", at=1_700_000_001_500), REPLY)))
    assert conversation.turns[0].asked_at == datetime.fromtimestamp(1_700_000_001.5, UTC)
