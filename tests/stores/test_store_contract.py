"""What every `Store` promises, whatever it is built on.

Another implementation joins by one more entry in ``STORES`` of this folder's conftest. Reminders, notes and documents
have a file of their own.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.stores.protocols import Store
from frontmind.values.imports import ImportedTurn
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
from frontmind.values.passages import PassageKind
from frontmind.values.records import Completion, Sent, SentSection, Step, Turn, TurnState, WindowOpening
from frontmind.values.usage import Usage
from frontmind.window.canonical import Json, JsonObject, canonical_json, digest
from support import passages_with, remember

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
USAGE = Usage(120, 100, 20, 7, estimated=True, written_by_ttl=(("1h", 15), ("5m", 5)))
SENT = Sent(
    (Notice("n", Voice.OPERATOR, (("a", "1"),)), Notice("m")), {"a": "1"}, window_start=3, framing_reason="asked for"
)

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
    any_text,
    st.lists(st.builds(SentSection, any_text, any_text, st.booleans()), max_size=2).map(tuple[SentSection, ...]),
)
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=10,
)
AWKWARD_TEXTS = ["", "\0", "a\0b", "\ud800", "\udfff\ud800", "\ud83d\ude00", "😀", '"\\u0000\\', "x" * 200_000]


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


async def refuse(store: Store, turn: Turn) -> Turn:
    """Refuse the turn as it happens: a later message, sent without it, is answered."""
    later = await begin(store, "later", turn.asked_at, conversation=turn.conversation)
    answer = completion(assistant("ok"), turn.asked_at)
    return await store.complete_turn(later.id, replace(answer, refuses=(turn.id,)))


class TestTurns:
    async def test_unnamed_conversation_is_empty(self, store: Store) -> None:
        assert list(await store.turns("main")) == []
        assert list(await store.segments("main")) == []
        assert await store.window_opening("main") == WindowOpening()

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
        answered = await refuse(store, turn)
        kept, done = await store.turns("main")
        assert (kept.state, kept.user, kept.reply) == (TurnState.REFUSED, user("Hello"), None)
        assert done == answered

    async def test_a_reply_is_stored_with_all_that_becomes_true_with_it_or_not_at_all(self, store: Store) -> None:
        refused, turn = await begin(store, "a"), await begin(store, "b")
        done, elsewhere = await exchange(store, "c", "d"), await begin(store, "e", conversation="other")
        before = await store.turns("main")
        for impossible in (done.id, turn.id, elsewhere.id, 99):
            everything = replace(
                completion(assistant("train")), refuses=(refused.id, impossible), opening=WindowOpening(turn.number)
            )
            with pytest.raises(UsageError):
                await store.complete_turn(turn.id, everything)
            assert await store.turns("main") == before
            assert await store.window_opening("main") == WindowOpening()
            assert await passages_with(store, "train") == []
        await store.complete_turn(
            turn.id, replace(completion(assistant("train")), refuses=(refused.id,), opening=WindowOpening(2))
        )
        states = [stored.state for stored in await store.turns("main")]
        assert states == [TurnState.REFUSED, TurnState.DONE, TurnState.DONE]
        assert (await store.window_opening("main")).start == 2
        assert len(await passages_with(store, "train")) == 1

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
        await refuse(store, refused)
        before = await store.turns("main")
        for turn in (done, refused):
            with pytest.raises(UsageError):
                await store.complete_turn(turn.id, completion(assistant("no")))
        assert await store.turns("main") == before

    @pytest.mark.parametrize("unknown", [0, -1, 77, 10**30])
    async def test_a_turn_that_is_not_there_cannot_end(self, store: Store, unknown: int) -> None:
        with pytest.raises(UsageError):
            await store.complete_turn(unknown, completion(assistant("no")))

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
        note = await remember(store, text, NINE)
        reminder = await store.add_reminder(text, NINE, zone=text, at=NINE)
        document = await store.put_document(text, text, NINE)
        turn = await exchange(store, text, text, conversation=text)
        assert list(await store.memories()) == [note]
        assert list(await store.active_reminders()) == [reminder]
        assert list(await store.documents()) == [document]
        assert list(await store.turns(text)) == [turn]
        assert note.text == reminder.text == reminder.zone == document.name == document.text == text
        assert turn.user == user(text)


class TestSteps:
    CALLED = Message(Role.ASSISTANT, (Text("Let me see."), ToolCall("c1", "add", "{}")))
    RESULTS = Message(Role.USER, (ToolResult("c1", "Done.\ud800"), Notice("n")))
    STEP = Step(CALLED, "ab12", "echo", USAGE)

    async def test_what_the_model_said_is_kept_before_its_tools_run(self, store: Store) -> None:
        turn = await begin(store, "a")
        begun = await store.begin_step(turn.id, self.STEP, sent=SENT)
        assert begun == replace(turn, steps=(self.STEP,), sent=SENT)
        assert list(await store.turns("main")) == [begun]

    async def test_the_results_belong_to_the_last_step(self, store: Store) -> None:
        turn = await begin(store, "a")
        other = await begin(store, "b")
        await store.begin_step(turn.id, self.STEP, sent=SENT)
        await store.finish_step(turn.id, self.RESULTS)
        second = replace(self.STEP, request="cd34")
        await store.begin_step(turn.id, second, sent=SENT)
        finished = await store.finish_step(turn.id, self.RESULTS)
        assert finished.steps == (replace(self.STEP, results=self.RESULTS), replace(second, results=self.RESULTS))
        completed = await store.complete_turn(turn.id, completion(assistant("ok")))
        assert completed.steps == finished.steps
        assert list(await store.turns("main")) == [completed, other]

    async def test_results_are_replaced_while_the_turn_is_open(self, store: Store) -> None:
        turn = await begin(store, "a")
        await store.begin_step(turn.id, self.STEP, sent=SENT)
        await store.finish_step(turn.id, Message(Role.USER, (ToolResult("c1", "first"),)))
        assert (await store.finish_step(turn.id, self.RESULTS)).steps == (replace(self.STEP, results=self.RESULTS),)

    async def test_results_of_an_earlier_step_are_replaced_by_its_number(self, store: Store) -> None:
        turn = await begin(store, "a")
        for _ in range(2):
            await store.begin_step(turn.id, self.STEP, sent=SENT)
            await store.finish_step(turn.id, self.RESULTS)
        first = Message(Role.USER, (ToolResult("c1", "first"),))
        replaced = await store.finish_step(turn.id, first, step=1)
        assert [step.results for step in replaced.steps] == [first, self.RESULTS]
        for unknown in (0, 3, -1):
            with pytest.raises(UsageError):
                await store.finish_step(turn.id, first, step=unknown)
        assert list(await store.turns("main")) == [replaced]

    async def test_a_turn_does_not_end_between_a_call_and_its_results(self, store: Store) -> None:
        turn = await begin(store, "a")
        await store.begin_step(turn.id, self.STEP, sent=SENT)
        with pytest.raises(UsageError):
            await store.complete_turn(turn.id, completion(assistant("ok")))
        with pytest.raises(UsageError):
            await store.begin_step(turn.id, self.STEP, sent=SENT)
        assert [stored.state for stored in await store.turns("main")] == [TurnState.OPEN]

    async def test_results_without_a_call_are_not_taken(self, store: Store) -> None:
        turn = await begin(store, "a")
        with pytest.raises(UsageError):
            await store.finish_step(turn.id, self.RESULTS)
        with pytest.raises(UsageError):
            await store.begin_step(turn.id, replace(self.STEP, results=self.RESULTS), sent=SENT)
        assert list(await store.turns("main")) == [turn]

    async def test_a_turn_that_has_ended_gets_no_steps(self, store: Store) -> None:
        done = await exchange(store, "a", "b")
        for turn_id in (done.id, 99):
            with pytest.raises(UsageError):
                await store.begin_step(turn_id, self.STEP, sent=SENT)
            with pytest.raises(UsageError):
                await store.finish_step(turn_id, self.RESULTS)

    async def test_two_usages_are_told_apart_by_every_figure(self, store: Store) -> None:
        turn = await begin(store, "a")
        begun = await store.begin_step(turn.id, self.STEP, sent=SENT)
        assert begun.steps[0].usage == USAGE


class TestOwners:
    @pytest.mark.requirement("OWNER-1")
    async def test_nothing_of_another_owner_is_found(self, store: Store) -> None:
        other = store.of("uid2")
        await exchange(other, "the locker code is 4417", "noted")
        await remember(other, "locker code 4417", NINE)
        await other.add_reminder("locker", NINE, zone="UTC", at=NINE)
        await other.put_document("locker", "4417", NINE)
        (text_id,) = await other.save_texts(["4417"])
        for kind in PassageKind:
            assert await passages_with(store, "locker code 4417", kind) == []
        assert [*await store.turns("main"), *await store.segments("main"), *await store.memories()] == []
        assert [*await store.reminders(), *await store.documents(), *await store.document_versions("locker")] == []
        with pytest.raises(UsageError):
            await store.load_text(text_id)
        for taken in (
            store.reminder(1),
            store.remove_memory(1),
            store.remove_reminder(1),
            store.undo_document("locker"),
        ):
            with pytest.raises(UsageError):
                await taken
            assert len(await passages_with(other, "locker code 4417", kind)) == 1

    async def test_two_owners_use_the_same_names(self, store: Store) -> None:
        other = store.of("uid2")
        mine, theirs = await exchange(store, "tea", "a"), await exchange(other, "tea", "b")
        await store.put_document("work", "mine", NINE)
        await other.put_document("work", "theirs", NINE)
        assert (mine.number, theirs.number) == (1, 1)
        assert list(await store.turns("main")) == [mine]
        assert [document.text for document in await other.documents()] == ["theirs"]
        async with store.turn_lock("main"), other.turn_lock("main"):
            pass

    async def test_the_best_matches_of_others_do_not_use_up_the_limit(self, store: Store) -> None:
        other = store.of("uid2")
        for _ in range(20):
            await exchange(other, "tea tea tea", "tea")
            await remember(other, "tea tea tea", NINE)
        await exchange(store, "some tea in a long message about other things", "yes")
        await remember(store, "some tea in a long note about other things", NINE)
        for kind in (PassageKind.EXCHANGE, PassageKind.MEMORY):
            assert len(await store.search_words(["tea"], kind=kind, limit=1)) == 1


class TestTexts:
    @in_one_store
    @given(texts=st.lists(any_text, max_size=4))
    async def test_every_text_comes_back_by_its_id(self, store: Store, texts: list[str]) -> None:
        ids = await store.save_texts(texts)
        assert ids == await store.save_texts(texts)
        assert [await store.load_text(text_id) for text_id in ids] == texts

    @pytest.mark.parametrize("unknown", ["", "0" * 16, "\0", "\ud800"])
    async def test_an_unknown_id_is_a_usage_error(self, store: Store, unknown: str) -> None:
        with pytest.raises(UsageError):
            await store.load_text(unknown)


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
        unsent = await begin(store, "b", NINE + 50 * MINUTE)
        answering = await begin(store, "c", NINE)
        await store.complete_turn(answering.id, replace(completion(assistant("ok")), refuses=(unsent.id,)))
        assert (await begin(store, "d", NINE + 100 * MINUTE)).segment == 1

    async def test_a_clock_that_went_back_opens_no_segment(self, store: Store) -> None:
        await begin(store, "a", NINE)
        assert (await begin(store, "b", NINE - 5 * HOUR)).segment == 1

    async def test_a_clock_that_was_ahead_hides_no_pause(self, store: Store) -> None:
        await begin(store, "a", NINE)
        ahead = await begin(store, "b", NINE + 3650 * timedelta(days=1))
        back = await begin(store, "c", NINE + 10 * MINUTE)
        await store.complete_turn(back.id, completion(assistant("ok"), NINE + 20 * MINUTE))
        later = [await begin(store, "d", NINE + 79 * MINUTE), await begin(store, "e", NINE + 139 * MINUTE)]
        assert [turn.segment for turn in (ahead, back, *later)] == [2, 2, 2, 3]

    async def test_an_imported_exchange_of_a_wrong_time_hides_no_pause(self, store: Store) -> None:
        times = [NINE, NINE + 3650 * timedelta(days=1), NINE + HOUR, NINE + 2 * HOUR]
        exchanges = [ImportedTurn(str(number), user("a"), at, assistant("b"), at) for number, at in enumerate(times)]
        await store.import_turns("old", exchanges, source="test")
        assert [turn.segment for turn in await store.turns("old")] == [1, 2, 2, 3]

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
        refused = [await begin(store, "never sent", NINE), await begin(store, "nor this", NINE + 9 * HOUR)]
        sent = await begin(store, "sent", NINE + 9 * HOUR + MINUTE)
        refuses = tuple(turn.id for turn in refused)
        await store.complete_turn(
            sent.id, replace(completion(assistant("ok"), NINE + 9 * HOUR + MINUTE), refuses=refuses)
        )
        (segment,) = await store.segments("main")
        assert (segment.number, segment.title, segment.turns) == (2, "sent", 1)
        assert segment.started_at == NINE + 9 * HOUR + MINUTE
        assert list(await store.segments("main", before=3)) == []

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


class TestWindowOpening:
    async def test_it_only_moves_on_and_its_summary_stays_until_it_does(self, store: Store) -> None:
        seen = []
        for number, summary in ((0, "a"), (1, "b"), (4, "c"), (3, "d"), (4, "e"), (-5, "f"), (9, "g\0\ud800")):
            await answer_from(store, WindowOpening(number, summary))
            seen.append(await store.window_opening("main"))
        assert [(opening.start, opening.summary) for opening in seen] == [
            *((1, "") for _ in range(2)),
            *((4, "c") for _ in range(4)),
            (9, "g\0\ud800"),
        ]

    async def test_it_belongs_to_one_conversation(self, store: Store) -> None:
        await answer_from(store, WindowOpening(5), conversation="a")
        assert [(await store.window_opening(conversation)).start for conversation in "ab"] == [5, 1]


async def answer_from(store: Store, opening: WindowOpening, *, conversation: str = "main") -> None:
    """An exchange in whose request the turns before ``start`` were left out."""
    turn = await begin(store, "a", conversation=conversation)
    await store.complete_turn(turn.id, replace(completion(assistant("b")), opening=opening))


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
            await store.memories()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with store.turn_lock("main"):
            pass


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
            await store.memories()
        await store.close()
