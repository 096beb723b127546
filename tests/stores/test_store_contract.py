"""What every `Store` promises, whatever it is built on.

Another implementation joins by one more entry in ``STORES``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.stores.protocols import Store
from frontmind.stores.sqlite import IN_MEMORY, SqliteStore
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import (
    Document,
    Image,
    Notice,
    Part,
    ProviderBlock,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Voice,
)
from frontmind.values.records import Completion, HitKind, SearchHit, Sent, Turn, TurnState
from frontmind.values.usage import Usage
from frontmind.window.canonical import Json, JsonObject, canonical_json, digest

STORES: dict[str, Callable[[Path], Store]] = {
    "sqlite file": lambda folder: SqliteStore.open(folder / "store.db"),
    "sqlite memory": lambda folder: SqliteStore.open(IN_MEMORY),
}

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
USAGE = Usage(120, 100, 20, 7, estimated=True, written_by_ttl=(("1h", 15), ("5m", 5)))
SENT = Sent((Notice("n", Voice.OPERATOR, (("a", "1"),)), Notice("m")), {"a": "1"}, window_start=3)

# The examples of one test share a store: a round trip does not depend on what else is there.
in_one_store = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
any_text = st.text(st.characters())
any_moment = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.timezones(),
)
any_file = st.builds(Image, any_text, any_text, any_text) | st.builds(Document, any_text, any_text, any_text, any_text)
any_notice = st.builds(
    Notice,
    any_text,
    st.sampled_from([Voice.USER, Voice.OPERATOR]),
    st.lists(st.tuples(any_text, any_text), max_size=2).map(tuple[tuple[str, str], ...]),
    st.booleans(),
)
any_part = st.one_of(
    st.builds(Text, any_text),
    any_file,
    st.builds(Thinking, any_text, any_text, any_text),
    st.builds(ProviderBlock, any_text, any_text, any_text),
    any_notice,
    st.builds(ToolCall, any_text, any_text, any_text, any_text),
    st.builds(
        ToolResult,
        any_text,
        any_text,
        st.booleans(),
        st.lists(any_file, max_size=2).map(tuple[Image | Document, ...]),
        any_text,
        any_text,
    ),
)
any_sent = st.builds(
    Sent,
    st.lists(any_notice, max_size=2).map(tuple[Notice, ...]),
    st.dictionaries(any_text, any_text, max_size=2),
    st.integers(1, 9),
)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=10,
)
AWKWARD_TEXTS = ["", "\0", "a\0b", "\ud800", "\udfff\ud800", "\ud83d\ude00", "😀", '"\\u0000\\', "x" * 200_000]


@pytest.fixture(params=list(STORES.values()), ids=list(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store = request.param(tmp_path)
    yield opened
    await opened.close()


def completion(reply: Message, at: datetime = NINE) -> Completion:
    return Completion(
        reply=reply,
        answered_at=at,
        request="ab12",
        model="echo",
        usage=USAGE,
        interrupted=True,
        system_fingerprint={"domaindoc": "2", "base_prompt": "1"},
        sent=SENT,
    )


async def begin(store: Store, text: str, at: datetime = NINE, *, conversation: str = "main") -> Turn:
    return await store.begin_turn(conversation, user(text), at, segment_pause=HOUR)


async def exchange(store: Store, asked: str, answered: str, *, conversation: str = "main") -> Turn:
    turn = await begin(store, asked, conversation=conversation)
    return await store.complete_turn(turn.id, completion(assistant(answered)))


def found(hits: list[SearchHit]) -> list[tuple[int, str]]:
    return [(hit.ref, hit.speaker) for hit in hits]


class TestTurns:
    async def test_unnamed_conversation_is_empty(self, store: Store) -> None:
        assert list(await store.turns("main")) == []
        assert list(await store.segments("main")) == []
        assert await store.window_start("main") == 1

    async def test_accepted_message_is_an_open_turn(self, store: Store) -> None:
        turn = await begin(store, "Hello")
        assert turn == Turn(
            id=turn.id,
            conversation="main",
            number=1,
            segment=1,
            state=TurnState.OPEN,
            user=user("Hello"),
            asked_at=NINE,
        )
        assert list(await store.turns("main")) == [turn]

    async def test_completed_turn_has_all_that_belongs_to_it(self, store: Store) -> None:
        turn = await begin(store, "Hello")
        done = await store.complete_turn(turn.id, completion(assistant("Good morning"), NINE + MINUTE))
        assert done == Turn(
            id=turn.id,
            conversation="main",
            number=1,
            segment=1,
            state=TurnState.DONE,
            user=user("Hello"),
            asked_at=NINE,
            reply=assistant("Good morning"),
            answered_at=NINE + MINUTE,
            request="ab12",
            model="echo",
            usage=USAGE,
            interrupted=True,
            system_fingerprint={"base_prompt": "1", "domaindoc": "2"},
            sent=SENT,
        )
        assert list(await store.turns("main")) == [done]

    async def test_refused_turn_is_kept_without_a_reply(self, store: Store) -> None:
        turn = await begin(store, "Hello")
        await store.refuse_turn(turn.id)
        (kept,) = await store.turns("main")
        assert (kept.state, kept.user, kept.reply) == (TurnState.REFUSED, user("Hello"), None)

    async def test_turns_are_numbered_without_gaps_in_each_conversation(self, store: Store) -> None:
        for conversation in ("a", "b", "a", "a", "b"):
            await begin(store, "Hello", conversation=conversation)
        assert [turn.number for turn in await store.turns("a")] == [1, 2, 3]
        assert [turn.number for turn in await store.turns("b")] == [1, 2]

    async def test_turns_begun_at_once_are_numbered_without_gaps(self, store: Store) -> None:
        await asyncio.gather(*(begin(store, str(i)) for i in range(20)))
        turns = await store.turns("main")
        assert [turn.number for turn in turns] == list(range(1, 21))
        assert {turn.user.text for turn in turns} == {str(i) for i in range(20)}

    async def test_a_turn_ends_only_once(self, store: Store) -> None:
        done, refused = await begin(store, "a"), await begin(store, "b")
        await store.complete_turn(done.id, completion(assistant("yes")))
        await store.refuse_turn(refused.id)
        before = await store.turns("main")
        for turn in (done, refused):
            with pytest.raises(UsageError):
                await store.complete_turn(turn.id, completion(assistant("no")))
            with pytest.raises(UsageError):
                await store.refuse_turn(turn.id)
        assert await store.turns("main") == before

    @pytest.mark.parametrize("unknown", [0, -1, 77, 10**30])
    async def test_a_turn_that_is_not_there_cannot_end(self, store: Store, unknown: int) -> None:
        with pytest.raises(UsageError):
            await store.complete_turn(unknown, completion(assistant("no")))
        with pytest.raises(UsageError):
            await store.refuse_turn(unknown)

    async def test_moments_come_back_in_utc(self, store: Store) -> None:
        berlin = datetime(2026, 7, 1, 11, 0, 0, 123456, tzinfo=ZoneInfo("Europe/Berlin"))
        turn = await begin(store, "Hello", berlin)
        assert turn.asked_at == berlin
        assert turn.asked_at.tzinfo is UTC

    async def test_a_moment_without_zone_is_not_taken(self, store: Store) -> None:
        naive = NINE.replace(tzinfo=None)
        with pytest.raises(UsageError, match="time zone"):
            await begin(store, "Hello", naive)
        with pytest.raises(UsageError, match="time zone"):
            await store.add_reminder("post", naive, zone="UTC", at=NINE)
        assert list(await store.turns("main")) == []

    @in_one_store
    @given(
        conversation=any_text,
        user_parts=st.lists(any_part),
        reply_parts=st.lists(any_part),
        at=any_moment,
        sent=st.none() | any_sent,
    )
    @example(conversation="x", user_parts=[Text(text) for text in AWKWARD_TEXTS], reply_parts=[], at=NINE, sent=None)
    async def test_every_message_comes_back_as_it_was(
        self,
        store: Store,
        conversation: str,
        user_parts: list[Part],
        reply_parts: list[Part],
        at: datetime,
        sent: Sent | None,
    ) -> None:
        asked, answered = Message(Role.USER, tuple(user_parts)), Message(Role.ASSISTANT, tuple(reply_parts))
        turn = await store.begin_turn(conversation, asked, at, segment_pause=HOUR)
        await store.complete_turn(turn.id, replace(completion(answered, at), sent=sent))
        last = (await store.turns(conversation))[-1]
        assert last.sent == sent
        assert (last.id, last.conversation, last.user, last.reply) == (turn.id, conversation, asked, answered)
        # In UTC, since Python holds a time in the hour that a clock repeats to equal none of another zone.
        assert last.asked_at == last.answered_at == at.astimezone(UTC)

    @pytest.mark.parametrize("text", AWKWARD_TEXTS, ids=range(len(AWKWARD_TEXTS)))
    async def test_awkward_text_is_kept_in_every_place(self, store: Store, text: str) -> None:
        note = await store.add_note(text, NINE)
        reminder = await store.add_reminder(text, NINE, zone=text, at=NINE)
        document = await store.put_document(text, text, NINE)
        turn = await exchange(store, text, text, conversation=text)
        assert list(await store.notes()) == [note]
        assert list(await store.active_reminders()) == [reminder]
        assert list(await store.documents()) == [document]
        assert list(await store.turns(text)) == [turn]
        assert note.text == reminder.text == reminder.zone == document.name == document.text == text
        assert turn.user == user(text)


class TestSegments:
    async def test_a_pause_begins_a_new_segment(self, store: Store) -> None:
        first = await begin(store, "a", NINE)
        just_before = await begin(store, "b", NINE + HOUR - timedelta(microseconds=1))
        exactly = await begin(store, "c", just_before.asked_at + HOUR)
        assert [first.segment, just_before.segment, exactly.segment] == [1, 1, 2]

    async def test_the_pause_counts_from_the_reply(self, store: Store) -> None:
        turn = await begin(store, "a", NINE)
        await store.complete_turn(turn.id, completion(assistant("b"), NINE + 30 * MINUTE))
        assert (await begin(store, "c", NINE + 89 * MINUTE)).segment == 1

    async def test_a_refused_message_is_a_stored_message_too(self, store: Store) -> None:
        await begin(store, "a", NINE)
        await store.refuse_turn((await begin(store, "b", NINE + 50 * MINUTE)).id)
        assert (await begin(store, "c", NINE + 100 * MINUTE)).segment == 1

    async def test_a_clock_that_went_back_opens_no_segment(self, store: Store) -> None:
        await begin(store, "a", NINE)
        assert (await begin(store, "b", NINE - 5 * HOUR)).segment == 1

    async def test_segments_tell_when_they_were_and_how_many_turns_they_have(self, store: Store) -> None:
        await begin(store, "Trains", NINE)
        turn = await begin(store, "to Berlin", NINE + MINUTE)
        await store.complete_turn(turn.id, completion(assistant("at six"), NINE + 2 * MINUTE))
        await begin(store, "Dinner", NINE + 3 * HOUR)
        await begin(store, "elsewhere", conversation="other")
        first, second = await store.segments("main")
        assert (first.conversation, first.number, first.title, first.turns) == ("main", 1, "Trains", 2)
        assert (first.started_at, first.ended_at) == (NINE, NINE + 2 * MINUTE)
        assert (second.number, second.title, second.turns) == (2, "Dinner", 1)
        assert second.started_at == second.ended_at == NINE + 3 * HOUR
        (earlier,) = await store.segments("main", before=3)
        assert (earlier.title, earlier.turns) == ("Trains", 2)
        (only,) = await store.segments("main", before=2)
        assert (only.turns, only.ended_at) == (1, NINE)
        assert list(await store.segments("main", before=1)) == []

    async def test_refused_turns_are_in_no_segment(self, store: Store) -> None:
        await store.refuse_turn((await begin(store, "never sent", NINE)).id)
        assert list(await store.segments("main")) == []
        await begin(store, "sent", NINE + MINUTE)
        (segment,) = await store.segments("main")
        assert (segment.number, segment.title, segment.turns) == (1, "sent", 1)
        assert segment.started_at == NINE + MINUTE

    @pytest.mark.parametrize(
        ("text", "title"),
        [
            ("Hello", "Hello"),
            ("", "(no text)"),
            (" \n\t\u2028 ", "(no text)"),
            (" two\n\n lines\there ", "two lines here"),
            ("x" * 60, "x" * 60),
            ("x" * 61, "x" * 59 + "…"),
            ("word " * 12, ("word " * 12).strip()),
            ("word " * 13, "word " * 11 + "word…"),
            ("a " + "y" * 57 + " more words", "a " + "y" * 57 + "…"),
            ("a " + "y" * 58 + " more words", "a…"),
        ],
    )
    async def test_title_is_the_beginning_on_one_line(self, store: Store, text: str, title: str) -> None:
        await begin(store, text)
        (segment,) = await store.segments("main")
        assert segment.title == title

    @in_one_store
    @given(text=any_text)
    async def test_no_text_breaks_the_title(self, store: Store, text: str) -> None:
        await begin(store, text, conversation=f"about {text}")
        (segment,) = (await store.segments(f"about {text}"))[:1]
        assert 1 <= len(segment.title) <= 60
        assert len(segment.title.splitlines()) == 1


class TestWindowStart:
    async def test_it_only_grows(self, store: Store) -> None:
        seen = []
        for number in (0, 1, 4, 3, -5, 9):
            await store.move_window_start("main", number)
            seen.append(await store.window_start("main"))
        assert seen == [1, 1, 4, 4, 4, 9]

    async def test_it_belongs_to_one_conversation(self, store: Store) -> None:
        await store.move_window_start("a", 5)
        assert await store.window_start("b") == 1


class TestTurnLock:
    async def test_turns_of_one_conversation_never_overlap(self, store: Store) -> None:
        events: list[str] = []

        async def turn(name: str) -> None:
            async with store.turn_lock("main"):
                events.append(f"{name} begins")
                await exchange(store, name, name)
                events.append(f"{name} ends")

        await asyncio.gather(*(turn(name) for name in "abcd"))
        for begins, ends in zip(events[::2], events[1::2], strict=True):
            assert begins.split()[0] == ends.split()[0]

    async def test_another_conversation_does_not_wait(self, store: Store) -> None:
        async with store.turn_lock("a"), store.turn_lock("b"):
            pass

    async def test_a_failed_turn_lets_go(self, store: Store) -> None:
        with pytest.raises(ZeroDivisionError):
            async with store.turn_lock("main"):
                raise ZeroDivisionError
        async with store.turn_lock("main"):
            pass

    async def test_a_waiting_turn_can_be_cancelled(self, store: Store) -> None:
        async def wait() -> None:
            async with store.turn_lock("main"):
                raise AssertionError("got a lock that is held")

        async with store.turn_lock("main"):
            waiting = asyncio.create_task(wait())
            await store.notes()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with store.turn_lock("main"):
            pass


class TestReminders:
    async def test_a_date_stays_a_date_and_a_moment_a_moment(self, store: Store) -> None:
        moment = datetime(2026, 12, 1, 8, 30, tzinfo=timezone(timedelta(hours=1)))
        by_date = await store.add_reminder("post", date(2026, 12, 1), zone="Europe/Berlin", at=NINE)
        by_moment = await store.add_reminder("call", moment, zone="Europe/Berlin", at=NINE)
        assert list(await store.active_reminders()) == [by_date, by_moment]
        assert type(by_date.due) is date
        assert by_date.due == date(2026, 12, 1)
        assert type(by_moment.due) is datetime
        assert by_moment.due == moment
        assert by_moment.due.tzinfo is UTC
        assert (by_date.text, by_date.zone, by_date.created_at) == ("post", "Europe/Berlin", NINE)

    async def test_completed_reminder_is_no_longer_active(self, store: Store) -> None:
        kept = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        done = await store.add_reminder("b", NINE, zone="UTC", at=NINE)
        completed = await store.complete_reminder(done.id, NINE + HOUR)
        assert (completed.id, completed.text, completed.done_at) == (done.id, "b", NINE + HOUR)
        assert list(await store.active_reminders()) == [kept]

    async def test_a_reminder_is_completed_once(self, store: Store) -> None:
        reminder = await store.add_reminder("a", NINE, zone="UTC", at=NINE)
        await store.complete_reminder(reminder.id, NINE)
        for unknown in (reminder.id, 0, 99, 10**30):
            with pytest.raises(UsageError):
                await store.complete_reminder(unknown, NINE)

    @in_one_store
    @given(due=any_moment | st.dates())
    async def test_every_due_time_comes_back(self, store: Store, due: date) -> None:
        reminder = await store.add_reminder("a", due, zone="UTC", at=NINE)
        (active,) = await store.active_reminders()
        await store.complete_reminder(reminder.id, NINE)
        assert active == reminder
        assert active.due == (due.astimezone(UTC) if isinstance(due, datetime) else due)


class TestNotes:
    async def test_notes_are_listed_by_id(self, store: Store) -> None:
        notes = [await store.add_note(text, NINE) for text in ("b", "a", "c")]
        assert list(await store.notes()) == notes
        assert notes == sorted(notes, key=lambda note: note.id)

    async def test_removed_note_is_gone_from_the_list_and_the_search(self, store: Store) -> None:
        note = await store.add_note("The key is under the mat", NINE)
        assert await store.remove_note(note.id) == note
        assert list(await store.notes()) == []
        assert list(await store.search_notes("key", limit=5)) == []

    async def test_the_id_of_a_removed_note_is_not_given_again(self, store: Store) -> None:
        removed = await store.add_note("a", NINE)
        await store.remove_note(removed.id)
        assert (await store.add_note("b", NINE)).id != removed.id

    async def test_a_note_that_is_not_there_cannot_be_removed(self, store: Store) -> None:
        for unknown in (0, 5, 10**30):
            with pytest.raises(UsageError):
                await store.remove_note(unknown)


class TestDocuments:
    async def test_documents_are_listed_by_name(self, store: Store) -> None:
        names = ["b", "", "é", "B", "\ud800", "😀", "a\0", "a"]
        for name in names:
            await store.put_document(name, name, NINE)
        assert [document.name for document in await store.documents()] == sorted(names)

    async def test_a_new_text_replaces_the_old_one_and_is_enabled(self, store: Store) -> None:
        await store.put_document("work", "old", NINE)
        await store.enable_document("work", False)
        replaced = await store.put_document("work", "new", NINE + HOUR)
        assert (replaced.text, replaced.enabled, replaced.updated_at) == ("new", True, NINE + HOUR)
        assert list(await store.documents()) == [replaced]

    async def test_a_document_is_switched_off_and_on(self, store: Store) -> None:
        await store.put_document("work", "text", NINE)
        assert (await store.enable_document("work", False)).enabled is False
        assert [document.enabled for document in await store.documents()] == [False]
        assert (await store.enable_document("work", True)).enabled is True

    async def test_a_document_that_is_not_there_cannot_be_switched(self, store: Store) -> None:
        with pytest.raises(UsageError):
            await store.enable_document("work", True)


class TestSearch:
    async def test_a_note_is_found_by_another_form_of_its_word(self, store: Store) -> None:
        note = await store.add_note("Anna collects antique maps", NINE)
        await store.add_note("The bicycle is in the cellar", NINE)
        (hit,) = await store.search_notes("Who was collecting a map?", limit=5)
        assert (hit.kind, hit.ref, hit.speaker) == (HitKind.NOTE, note.id, "")
        assert (hit.text, hit.at) == (note.text, NINE)

    async def test_the_better_match_comes_first_with_the_larger_score(self, store: Store) -> None:
        one = await store.add_note("a train, a house, a garden, a dog and a cat", NINE)
        both = await store.add_note("the train to Berlin", NINE)
        hits = await store.search_notes("train Berlin", limit=5)
        assert [hit.ref for hit in hits] == [both.id, one.id]
        assert hits[0].score > hits[1].score

    async def test_ties_are_ordered_by_id(self, store: Store) -> None:
        notes = [await store.add_note("the same words", NINE) for _ in range(5)]
        hits = await store.search_notes("same words", limit=4)
        assert [hit.ref for hit in hits] == [note.id for note in notes[:4]]

    async def test_no_limit_below_one_finds_anything(self, store: Store) -> None:
        await exchange(store, "train", "train")
        await store.add_note("train", NINE)
        for limit in (0, -1):
            assert list(await store.search_notes("train", limit=limit)) == []
            assert list(await store.search_messages("train", limit=limit)) == []

    async def test_filler_words_find_nothing_beside_a_telling_word(self, store: Store) -> None:
        await store.add_note("what is the point of it", NINE)
        berlin = await store.add_note("Berlin", NINE)
        hits = await store.search_notes("what is the way to Berlin", limit=5)
        assert [hit.ref for hit in hits] == [berlin.id]

    async def test_a_query_of_filler_words_only_is_searched_as_it_is(self, store: Store) -> None:
        note = await store.add_note("what is it", NINE)
        await store.add_note("Berlin", NINE)
        assert [hit.ref for hit in await store.search_notes("What is it?", limit=5)] == [note.id]

    @pytest.mark.parametrize("query", ["", "  ", "?!", '"', "\0", "\ud800", "()*:^-", "_"])
    async def test_a_query_without_words_finds_nothing(self, store: Store, query: str) -> None:
        await store.add_note(f"some note {query}", NINE)
        await exchange(store, f"hello {query}", "hello")
        assert list(await store.search_notes(query, limit=5)) == []
        assert list(await store.search_messages(query, limit=5)) == []

    @pytest.mark.parametrize("query", ["NOT", "a AND b", "near(x y)", "text:word", "OR OR", '"unclosed', "x*"])
    async def test_the_language_of_the_index_is_not_spoken_in_a_query(self, store: Store, query: str) -> None:
        note = await store.add_note(f"something {query} else", NINE)
        assert [hit.ref for hit in await store.search_notes(query, limit=5)] == [note.id]

    @pytest.mark.parametrize(
        ("text", "query"),
        [("café", "cafe\u0301"), ("cafe\u0301", "CAFE"), ("Straße", "STRAßE"), ("Zoëlle", "Zoe\u0308lle")],
    )
    async def test_accents_and_case_do_not_matter(self, store: Store, text: str, query: str) -> None:
        note = await store.add_note(text, NINE)
        assert [hit.ref for hit in await store.search_notes(query, limit=5)] == [note.id]

    @in_one_store
    @given(query=any_text, text=any_text)
    @example(query="word " * 40_000, text="word")
    @example(query=" ".join(f"w{i}" for i in range(30_000)), text="w0")
    async def test_search_never_raises(self, store: Store, query: str, text: str) -> None:
        await store.add_note(text, NINE)
        await exchange(store, text, query)
        await store.search_notes(query, limit=3)
        await store.search_messages(query, limit=3, conversation=query, before=1)

    async def test_words_around_what_cannot_be_indexed_are_found(self, store: Store) -> None:
        note = await store.add_note("before\0middle \ud800 after", NINE)
        for word in ("before", "middle", "after"):
            (hit,) = await store.search_notes(word, limit=5)
            assert (hit.ref, hit.text) == (note.id, note.text)

    async def test_completed_turn_is_in_the_search(self, store: Store) -> None:
        turn = await begin(store, "Which train leaves for Berlin?", NINE)
        assert list(await store.search_messages("train", limit=5)) == []
        await store.complete_turn(turn.id, completion(assistant("The train at six"), NINE + MINUTE))
        hits = sorted(await store.search_messages("train", limit=5), key=lambda hit: hit.at)
        assert [(hit.kind, hit.ref, hit.speaker) for hit in hits] == [
            (HitKind.MESSAGE, turn.id, "user"),
            (HitKind.MESSAGE, turn.id, "assistant"),
        ]
        assert [(hit.text, hit.at) for hit in hits] == [
            ("Which train leaves for Berlin?", NINE),
            ("The train at six", NINE + MINUTE),
        ]

    async def test_refused_turn_is_not_in_the_search(self, store: Store) -> None:
        await store.refuse_turn((await begin(store, "train")).id)
        assert list(await store.search_messages("train", limit=5)) == []

    async def test_tool_calls_are_not_in_the_search(self, store: Store) -> None:
        turn = await begin(store, "hello")
        reply = Message(Role.ASSISTANT, (ToolCall("1", "lookup", '{"q":"train"}'), Text("at six")))
        await store.complete_turn(turn.id, completion(reply))
        assert list(await store.search_messages("train lookup", limit=5)) == []

    async def test_turns_in_the_window_are_left_out(self, store: Store) -> None:
        here = [await exchange(store, "train", "ok") for _ in range(4)]
        other = await exchange(store, "train", "ok", conversation="other")
        all_of_it = [(turn.id, "user") for turn in [*here, other]]
        assert found(list(await store.search_messages("train", limit=9))) == all_of_it
        hits = await store.search_messages("train", limit=9, conversation="main", before=3)
        assert found(list(hits)) == [(here[0].id, "user"), (here[1].id, "user"), (other.id, "user")]
        hits = await store.search_messages("train", limit=9, conversation="unknown", before=1)
        assert found(list(hits)) == all_of_it
        hits = await store.search_messages("train", limit=9, conversation="main")
        assert found(list(hits)) == all_of_it

    async def test_the_limit_counts_what_is_left(self, store: Store) -> None:
        for _ in range(3):
            await exchange(store, "train", "ok")
        other = await exchange(store, "train", "ok", conversation="other")
        hits = await store.search_messages("train", limit=1, conversation="main", before=1)
        assert found(list(hits)) == [(other.id, "user")]


class TestRequests:
    @in_one_store
    @given(request_=st.dictionaries(any_text | st.just("messages"), any_json, max_size=4))
    @example(request_={})
    @example(request_={"messages": []})
    @example(request_={"messages": None})
    @example(request_={"messages": "text"})
    @example(request_={"messages": {"0": "x"}})
    @example(request_={"messages": [[], None, "\ud83d\ude00", {"content": "\0\ud800"}], "model": "m"})
    async def test_loaded_request_has_the_bytes_that_were_saved(self, store: Store, request_: JsonObject) -> None:
        request_hash = await store.save_request(request_)
        assert request_hash == digest(canonical_json(request_))
        loaded = await store.load_request(request_hash)
        assert loaded == request_
        assert canonical_json(loaded) == canonical_json(request_)

    async def test_requests_that_share_a_beginning_are_kept_apart(self, store: Store) -> None:
        messages: list[Json] = [{"role": "user", "content": str(i)} for i in range(6)]
        requests: list[JsonObject] = [
            {"model": model, "messages": chosen}
            for model in ("m", "n")
            for chosen in (messages, messages[:3], messages[3:], [*messages[:3], messages[0]], messages[:1] * 4)
        ]
        hashes = [await store.save_request(request) for request in requests]
        assert len(set(hashes)) == len(requests)
        assert [await store.load_request(one) for one in hashes] == requests

    async def test_a_request_is_saved_twice_under_one_hash(self, store: Store) -> None:
        assert await store.save_request({"b": 1, "a": [2]}) == await store.save_request({"a": (2,), "b": 1})

    @pytest.mark.parametrize("unknown", ["", "00" * 32, "\ud800", "x\0"])
    async def test_an_unknown_hash_is_a_usage_error(self, store: Store, unknown: str) -> None:
        with pytest.raises(UsageError):
            await store.load_request(unknown)

    async def test_what_is_not_json_is_not_stored(self, store: Store) -> None:
        with pytest.raises(ValueError, match="JSON"):
            await store.save_request({"temperature": float("nan")})


class TestClose:
    async def test_a_closed_store_says_so(self, store: Store) -> None:
        await store.close()
        with pytest.raises(UsageError, match="closed"):
            await store.notes()
        await store.close()
