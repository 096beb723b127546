"""Faults that people have reported on imports of other programs' histories, each as a test of the right behaviour."""

from __future__ import annotations

import io

import pytest

from exports import chat, conversations, entries, node, problems, told, zipped
from frontmind.continuum.exports import Export, ExportKind
from frontmind.stores.sqlite import SqliteStore
from support import START

ROOT = {"id": "root", "parent": None, "children": ["ctx"], "message": None}
CONTEXT = node(
    "ctx",
    "root",
    "user",
    content={"content_type": "user_editable_context", "user_profile": "An SRE.", "user_instructions": "Be brief."},
    metadata={"is_visually_hidden_from_conversation": True, "is_user_system_message": True},
    weight=0,
)
# No message has a metadata.model_slug, as in exports since 2025.
MODERN = (
    ROOT,
    CONTEXT,
    node("u1", "ctx", "user", "How do I roll back?", metadata={}, recipient="all"),
    node("s1", "u1", "system", "A system message in the middle."),
    node("a1", "s1", "assistant", "Run helm rollback.", metadata={}, recipient="all", channel="final"),
    node("s2", "a1", "system", ""),
    node("u2", "s2", "user", "And if that fails?"),
    node("a2", "u2", "assistant", "Restore the chart."),
)
EXCHANGES = [("How do I roll back?", "Run helm rollback."), ("And if that fails?", "Restore the chart.")]


@pytest.mark.case("X2")
async def test_a_system_message_in_the_middle_does_not_split_a_conversation() -> None:
    found = entries(ExportKind.CHATGPT, [chat(*MODERN)])
    assert not problems(found)
    (conversation,) = conversations(found)
    assert told(conversation) == EXCHANGES
    store = SqliteStore.open(":memory:")
    try:
        assert await store.import_turns("chatgpt/x", conversation.turns, source="chatgpt") == 2
        turns = await store.turns("chatgpt/x")
        assert [(turn.user.text, turn.reply.text if turn.reply else "") for turn in turns] == EXCHANGES
    finally:
        await store.close()


@pytest.mark.case("X2")
def test_hidden_context_is_never_the_users_message() -> None:
    (conversation,) = conversations(entries(ExportKind.CHATGPT, [chat(*MODERN)]))
    assert not [turn for turn in conversation.turns if "SRE" in turn.user.text or "brief" in turn.user.text]
    (empty,) = conversations(entries(ExportKind.CHATGPT, [chat(ROOT, CONTEXT)]))
    assert empty.turns == ()


@pytest.mark.case("X2")
def test_more_than_fifty_files_in_a_zip_are_all_read_and_one_bad_conversation_loses_no_other() -> None:
    files: dict[str, object] = {
        f"conversations-{number:03}.json": [chat(*MODERN, key=f"c-{number}"), {"title": "Corrupt", "id": f"b-{number}"}]
        for number in range(57)
    }
    files["conversations-029.json"] = b"[{" + b"nonsense"
    export = Export(io.BytesIO(zipped(files)), "export.zip", ExportKind.CHATGPT, at=START)
    found = list(export.entries())
    assert [told(conversation) for conversation in conversations(found)] == [EXCHANGES] * 56
    places = [problem.place for problem in problems(found)]
    assert len(places) == 57
    assert places[28:30] == ["conversations-028.json, conversation 2 (b-28)", "conversations-029.json, conversation 1"]
