"""What every `Store` promises of passages and vectors."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from frontmind.errors import UsageError
from frontmind.stores.protocols import Store
from frontmind.values.imports import ImportedTurn
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.passages import PASSAGE_LENGTH, NewPassage, Passage, PassageKind, VectorSpace
from frontmind.values.records import Completion, Sent, Step, Turn
from frontmind.values.usage import Usage
from support import passages_with, remember

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
any_text = st.text(st.characters())
in_one_store = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
MEMORY, EXCHANGE, DOCUMENT = PassageKind.MEMORY, PassageKind.EXCHANGE, PassageKind.DOCUMENT


async def begin(store: Store, text: str, *, conversation: str = "main", at: datetime = NINE) -> Turn:
    return await store.begin_turn(conversation, user(text), at, segment_pause=HOUR)


async def exchange(store: Store, asked: str, answered: str, *, conversation: str = "main") -> Turn:
    turn = await begin(store, asked, conversation=conversation)
    return await store.complete_turn(turn.id, completion(assistant(answered)))


def completion(reply: Message) -> Completion:
    return Completion(reply, NINE, "ab12", "echo", Usage(1, 0, 0, 1), False, {})


async def all_passages(store: Store, kind: PassageKind) -> list[Passage]:
    return list(await store.passages_after(0, kind=kind, limit=999))


class TestWords:
    async def test_a_memory_is_found_by_another_form_of_its_word(self, store: Store) -> None:
        memory = await remember(store, "Anna collects antique maps", NINE)
        await remember(store, "The bicycle is in the cellar", NINE)
        (found,) = await passages_with(store, "collecting map", MEMORY)
        assert (found.kind, found.ref, found.text, found.at) == (MEMORY, memory.id, memory.text, NINE)

    async def test_the_better_match_comes_first_with_the_larger_score(self, store: Store) -> None:
        one = await remember(store, "a train, a house, a garden, a dog and a cat", NINE)
        both = await remember(store, "the train to Berlin", NINE)
        hits = await store.search_words(["train", "Berlin"], kind=MEMORY, limit=5)
        assert [passage.ref for passage in await store.passages([hit[0] for hit in hits])] == [both.id, one.id]
        assert hits[0][1] > hits[1][1]

    async def test_ties_are_ordered_by_id_and_the_limit_holds(self, store: Store) -> None:
        for _ in range(5):
            await remember(store, "the same words", NINE)
        hits = await store.search_words(["same", "words"], kind=MEMORY, limit=4)
        assert [hit[0] for hit in hits] == sorted(passage.id for passage in await all_passages(store, MEMORY))[:4]
        for limit in (0, -1):
            assert list(await store.search_words(["same"], kind=MEMORY, limit=limit)) == []

    async def test_a_word_of_the_context_finds_too_and_counts_as_much_as_is_asked(self, store: Store) -> None:
        await exchange(store, "Which trees?", "Chestnuts")
        later = await exchange(store, "And then?", "Then oaks")
        weak, strong = [
            dict(await store.search_words(["chestnut"], kind=EXCHANGE, limit=5, context_weight=weight))
            for weight in (0.1, 1.0)
        ]
        (passage,) = await store.passages_of(EXCHANGE, [later.id])
        assert passage.context == "Chestnuts"
        assert 0 < weak[passage.id] < strong[passage.id]

    async def test_excluded_passages_do_not_use_up_the_limit(self, store: Store) -> None:
        for _ in range(4):
            await remember(store, "train", NINE)
        ids = [passage.id for passage in await all_passages(store, MEMORY)]
        hits = await store.search_words(["train"], kind=MEMORY, limit=2, excluded=ids[:2])
        assert [hit[0] for hit in hits] == ids[2:]

    @pytest.mark.parametrize("words", [[], [""], ["  "], ["?!"], ['"'], ["\0"], ["\ud800"], ["()*:^-"], ["_"]])
    async def test_without_words_nothing_is_found(self, store: Store, words: list[str]) -> None:
        await remember(store, f"some note {words}", NINE)
        assert list(await store.search_words(words, kind=MEMORY, limit=5)) == []

    @pytest.mark.parametrize(
        "query", ["NOT", "a AND b", "near(x y)", "text:word", "OR OR", '"unclosed', "x*", "scope:"]
    )
    async def test_the_language_of_the_index_is_not_spoken(self, store: Store, query: str) -> None:
        memory = await remember(store, f"something {query} else", NINE)
        assert [found.ref for found in await passages_with(store, query, MEMORY)] == [memory.id]

    @pytest.mark.parametrize(
        ("text", "query"),
        [("café", "cafe\u0301"), ("cafe\u0301", "CAFE"), ("Straße", "STRAßE"), ("Zoëlle", "Zoe\u0308lle")],
    )
    async def test_accents_and_case_do_not_matter(self, store: Store, text: str, query: str) -> None:
        memory = await remember(store, text, NINE)
        assert [found.ref for found in await passages_with(store, query, MEMORY)] == [memory.id]

    @in_one_store
    @given(query=any_text, text=any_text)
    @example(query="word " * 4_000, text="word")
    @example(query=" ".join(f"w{i}" for i in range(3_000)), text="w0")
    async def test_search_never_raises(self, store: Store, query: str, text: str) -> None:
        await remember(store, text, NINE)
        await exchange(store, text, query)
        for kind in PassageKind:
            await store.search_words([query, *query.split()], kind=kind, limit=3)

    async def test_words_around_what_cannot_be_indexed_are_found(self, store: Store) -> None:
        memory = await remember(store, "before\0middle \ud800 after", NINE)
        for word in ("before", "middle", "after"):
            (found,) = await passages_with(store, word, MEMORY)
            assert found.ref == memory.id

    async def test_a_number_that_names_a_scope_finds_nothing(self, store: Store) -> None:
        await remember(store, "tea", NINE)
        for kind in PassageKind:
            for number in ("1", "2", "3"):
                assert list(await store.search_words([number * 40], kind=kind, limit=5)) == []


class TestExchanges:
    @pytest.mark.requirement("RECALL-1")
    async def test_an_exchange_is_searchable_as_soon_as_it_is_answered(self, store: Store) -> None:
        turn = await begin(store, "Which train leaves for Berlin?")
        assert await passages_with(store, "train") == []
        await store.complete_turn(turn.id, completion(assistant("The one at six")))
        (passage,) = await passages_with(store, "train")
        assert (passage.ref, passage.conversation, passage.number, passage.at) == (turn.id, "main", 1, NINE)
        assert passage.text == "User: Which train leaves for Berlin?\nAssistant: The one at six"

    async def test_what_was_said_before_a_tool_ran_is_found_and_its_call_is_not(self, store: Store) -> None:
        turn = await begin(store, "hello")
        said = Message(Role.ASSISTANT, (Text("Let me see the timetable."), ToolCall("1", "look", '{"q":"train"}')))
        await store.begin_step(turn.id, Step(said, "ab", "echo", Usage(1, 0, 0, 1)), sent=Sent())
        await store.finish_step(turn.id, Message(Role.USER, (ToolResult("1", "secret platform"),)))
        await store.complete_turn(turn.id, completion(assistant("at six")))
        assert len(await passages_with(store, "timetable")) == 1
        assert await passages_with(store, "train look platform") == []

    async def test_a_message_that_went_along_with_a_later_one_is_found_with_it(self, store: Store) -> None:
        await begin(store, "the chestnut is ill")
        turn = await exchange(store, "what helps?", "patience")
        (passage,) = await passages_with(store, "chestnut")
        assert passage.ref == turn.id

    async def test_a_refused_message_is_not_found(self, store: Store) -> None:
        refused = await begin(store, "train")
        later = await begin(store, "later")
        await store.complete_turn(later.id, replace(completion(assistant("ok")), refuses=(refused.id,)))
        assert await passages_with(store, "train") == []

    async def test_a_long_exchange_is_several_passages_that_lose_no_word(self, store: Store) -> None:
        words = [f"word{number}" for number in range(900)]
        turn = await exchange(store, " ".join(words), "ok")
        passages = await store.passages_of(EXCHANGE, [turn.id])
        assert [passage.part for passage in passages] == list(range(len(passages)))
        assert all(len(passage.text) <= PASSAGE_LENGTH for passage in passages)
        assert " ".join(passage.text for passage in passages).split() == ["User:", *words, "Assistant:", "ok"]
        assert all(passage.context for passage in passages[1:])

    async def test_the_passages_of_the_window_are_told_by_its_first_turn(self, store: Store) -> None:
        turns = [await exchange(store, "train", "ok") for _ in range(4)]
        await exchange(store, "train", "ok", conversation="other")
        in_window = await store.passages_since("main", 3)
        assert {passage.ref for passage in await store.passages(sorted(in_window))} == {turns[2].id, turns[3].id}
        assert await store.passages_since("unknown", 1) == frozenset()

    async def test_what_was_said_elsewhere_is_found_and_is_no_turn(self, store: Store) -> None:
        said = [(NINE + number * HOUR, NewPassage(f"Ada: train {number}", "Bob: hm")) for number in range(2)]
        ids = await store.add_passages("meeting", said)
        ids = [*ids, *await store.add_passages("meeting", said[:1])]
        found = await store.passages(ids)
        assert [(passage.text, passage.at) for passage in found] == [
            *((passage.text, at) for at, passage in said),
            (said[0][1].text, NINE),
        ]
        assert len({passage.ref for passage in found}) == 3
        assert all(passage.ref < 0 for passage in found)
        assert len(await passages_with(store, "hm")) == 3
        assert list(await store.turns("meeting")) == []
        turn = await exchange(store, "train", "ok")
        assert turn.id in {passage.ref for passage in await passages_with(store, "train")}


class TestMemoriesAndDocuments:
    async def test_a_changed_memory_is_found_by_its_new_text_only(self, store: Store) -> None:
        memory = await remember(store, "You live in Bremen", NINE)
        (before,) = await store.passages_of(MEMORY, [memory.id])
        await store.save_memory(replace(memory, text="You live in Lisbon"))
        assert await passages_with(store, "Bremen", MEMORY) == []
        (after,) = await passages_with(store, "Lisbon", MEMORY)
        assert after.id > before.id
        assert list(await store.passages([before.id])) == []

    async def test_a_change_beside_the_text_leaves_the_passage(self, store: Store) -> None:
        memory = await remember(store, "You live in Bremen", NINE)
        before = await store.passages_of(MEMORY, [memory.id])
        await store.save_memory(replace(memory, confidence=0.5))
        assert await store.passages_of(MEMORY, [memory.id]) == before

    async def test_a_document_is_found_by_the_text_that_holds_section_by_section(self, store: Store) -> None:
        await store.put_document("garden", "# Trees\nchestnut\n# Fish\ncarp", NINE)
        (found,) = await passages_with(store, "carp", DOCUMENT)
        assert (found.conversation, found.text) == ("garden", "# Fish\ncarp")
        await store.put_document("garden", "# Trees\noak", NINE)
        assert await passages_with(store, "carp", DOCUMENT) == []
        await store.undo_document("garden")
        assert len(await passages_with(store, "carp", DOCUMENT)) == 1
        await store.remove_document("garden")
        assert await passages_with(store, "carp", DOCUMENT) == []

    async def test_of_an_edited_document_only_the_changed_section_is_made_anew(self, store: Store) -> None:
        await store.put_document("garden", "# Trees\nchestnut\n# Fish\ncarp\n# Birds\nwren", NINE)
        before = {passage.text: passage for passage in await all_passages(store, DOCUMENT)}
        await store.put_document("garden", "# Trees\noak\n# Fish\ncarp\n# Birds\nwren", NINE + timedelta(days=1))
        after = {passage.text: passage for passage in await all_passages(store, DOCUMENT)}
        assert set(after) == {"# Trees\noak", "# Fish\ncarp", "# Birds\nwren"}
        assert [after[text] for text in ("# Fish\ncarp", "# Birds\nwren")] == [
            before[text] for text in ("# Fish\ncarp", "# Birds\nwren")
        ]
        assert after["# Trees\noak"].id > max(passage.id for passage in before.values())
        assert after["# Trees\noak"].at == NINE + timedelta(days=1)
        assert await passages_with(store, "chestnut", DOCUMENT) == []

    async def test_sections_that_are_alike_are_as_many_as_the_document_has(self, store: Store) -> None:
        for count in (2, 3, 1):
            await store.put_document("garden", "# Fish\ncarp\n" * count, NINE)
            assert [passage.text for passage in await all_passages(store, DOCUMENT)] == ["# Fish\ncarp"] * count

    async def test_passages_of_a_time_come_the_newest_first(self, store: Store) -> None:
        hours = [NINE + timedelta(hours=hour) for hour in range(4)]
        ids = await store.add_passages("old", [(at, NewPassage("User: tea", "")) for at in hours])

        async def between(since: datetime | None, until: datetime | None, limit: int = 9) -> list[int]:
            return list(await store.passages_between(EXCHANGE, since=since, until=until, limit=limit))

        assert await between(hours[1], hours[3]) == [ids[2], ids[1]]
        assert await between(None, None) == list(reversed(ids))
        assert await between(hours[2], None) == [ids[3], ids[2]]
        assert await between(None, hours[1]) == [ids[0]]
        assert await between(None, None, limit=2) == [ids[3], ids[2]]
        assert list(await store.passages_between(MEMORY, since=None, until=None, limit=9)) == []

    async def test_words_are_searched_among_the_given_passages_only(self, store: Store) -> None:
        ids = await store.add_passages("old", [(NINE, NewPassage("User: tea", ""))] * 4)
        found = await store.search_words(["tea"], kind=EXCHANGE, limit=9, within=ids[1:3])
        assert [passage_id for passage_id, _ in found] == list(ids[1:3])
        assert list(await store.search_words(["tea"], kind=EXCHANGE, limit=9, within=())) == []
        assert list(await store.search_words(["milk"], kind=EXCHANGE, limit=9, within=ids)) == []

    async def test_ids_of_passages_grow_and_are_not_given_again(self, store: Store) -> None:
        memory = await remember(store, "one", NINE)
        newest = await store.newest_passage()
        await store.remove_memory(memory.id)
        await remember(store, "two", NINE)
        assert await store.newest_passage() > newest

    async def test_passages_of_all_kinds_come_in_the_order_in_which_they_were_stored(self, store: Store) -> None:
        await remember(store, "one", NINE)
        await exchange(store, "two", "ok")
        await store.put_document("d", "three", NINE)
        every = await store.passages_after(0, limit=9)
        assert [passage.kind for passage in every] == [MEMORY, EXCHANGE, DOCUMENT]
        assert list(await store.passages_after(every[0].id, limit=1)) == [every[1]]
        assert await store.newest_passage() == every[-1].id
        assert [await store.count_passages(kind) for kind in PassageKind] == [1, 1, 1]


class TestVectors:
    async def test_vectors_are_kept_in_their_space_and_listed_by_passage(self, store: Store) -> None:
        for text in ("a", "b", "c"):
            await remember(store, text, NINE)
        ids = [passage.id for passage in await all_passages(store, MEMORY)]
        assert await store.begin_space("m", 2) == VectorSpace("m", 2, 0)
        await store.begin_space("other", 2)
        await store.save_vectors("m", [(ids[1], b"bbbb"), (ids[0], b"aaaa")], embedded_to=ids[1])
        assert list(await store.vectors_after("m", 0, kind=MEMORY, limit=9)) == [(ids[0], b"aaaa"), (ids[1], b"bbbb")]
        assert list(await store.vectors_after("m", ids[0], kind=MEMORY, limit=9)) == [(ids[1], b"bbbb")]
        assert list(await store.vectors_after("m", 0, kind=EXCHANGE, limit=9)) == []
        assert list(await store.vectors("m", [ids[1], 999, ids[0]])) == [(ids[1], b"bbbb"), (ids[0], b"aaaa")]
        assert list(await store.vectors_after("other", 0, kind=MEMORY, limit=9)) == []
        assert list(await store.vector_spaces()) == [VectorSpace("m", 2, ids[1]), VectorSpace("other", 2, 0)]

    async def test_how_far_a_space_has_come_never_goes_back(self, store: Store) -> None:
        await store.begin_space("m", 1)
        await store.save_vectors("m", [], embedded_to=7)
        await store.save_vectors("m", [], embedded_to=3)
        assert (await store.begin_space("m", 1)).embedded_to == 7

    async def test_the_vector_of_a_removed_memory_goes_with_it(self, store: Store) -> None:
        memory = await remember(store, "a", NINE)
        (passage,) = await all_passages(store, MEMORY)
        await store.begin_space("m", 1)
        await store.save_vectors("m", [(passage.id, b"aa")], embedded_to=passage.id)
        await store.remove_memory(memory.id)
        await store.save_vectors("m", [(passage.id, b"aa")], embedded_to=passage.id)
        assert list(await store.vectors("m", [passage.id])) == []

    async def test_a_vector_of_another_length_is_refused_and_nothing_is_kept(self, store: Store) -> None:
        await remember(store, "a", NINE)
        (passage,) = await all_passages(store, MEMORY)
        await store.begin_space("m", 2)
        for wrong in (b"", b"aaa", b"aaaaaa"):
            with pytest.raises(UsageError):
                await store.save_vectors("m", [(passage.id, b"aaaa"), (passage.id, wrong)], embedded_to=passage.id)
        assert list(await store.vectors("m", [passage.id])) == []
        with pytest.raises(UsageError):
            await store.begin_space("m", 3)
        with pytest.raises(UsageError):
            await store.save_vectors("unknown", [], embedded_to=1)

    async def test_a_dropped_space_is_gone_with_its_vectors(self, store: Store) -> None:
        await remember(store, "a", NINE)
        (passage,) = await all_passages(store, MEMORY)
        await store.begin_space("m", 1)
        await store.save_vectors("m", [(passage.id, b"aa")], embedded_to=passage.id)
        await store.drop_space("m")
        await store.drop_space("m")
        assert list(await store.vector_spaces()) == []
        assert await store.begin_space("m", 3) == VectorSpace("m", 3, 0)
        assert list(await store.vectors("m", [passage.id])) == []


class TestOwners:
    @pytest.mark.requirement("OWNER-1")
    async def test_passages_and_vectors_of_another_owner_are_not_there(self, store: Store) -> None:
        other = store.of("uid2")
        await remember(other, "locker code 4417", NINE)
        (theirs,) = await all_passages(other, MEMORY)
        await other.begin_space("m", 1)
        await other.save_vectors("m", [(theirs.id, b"aa")], embedded_to=theirs.id)
        await store.begin_space("m", 1)
        await store.save_vectors("m", [(theirs.id, b"bb")], embedded_to=0)
        assert list(await store.passages([theirs.id])) == []
        assert list(await store.passages_after(0, limit=9)) == []
        assert list(await store.passages_of(MEMORY, [theirs.ref])) == []
        assert [await store.newest_passage(), await store.count_passages(MEMORY)] == [0, 0]
        assert list(await store.vectors("m", [theirs.id])) == []
        assert list(await other.vectors("m", [theirs.id])) == [(theirs.id, b"aa")]


class TestImports:
    async def test_a_second_import_adds_only_what_is_new_at_the_end(self, store: Store) -> None:
        turns = [
            ImportedTurn(str(number), user(f"q{number}"), NINE + number * HOUR, assistant("a"), NINE + number * HOUR)
            for number in range(4)
        ]
        assert await store.import_turns("old", turns[:2], source="chatgpt") == 2
        assert await store.import_turns("old", turns, source="chatgpt") == 2
        assert await store.import_turns("old", turns, source="chatgpt") == 0
        assert [turn.user.text for turn in await store.turns("old")] == ["q0", "q1", "q2", "q3"]
        assert [turn.asked_at for turn in await store.turns("old")] == [turn.asked_at for turn in turns]
        assert len(await passages_with(store, "q2")) == 1
        assert await store.import_turns("claude", turns[:1], source="claude") == 1

    async def test_what_is_new_in_a_renamed_chat_joins_the_conversation_that_has_the_rest(self, store: Store) -> None:
        turns = [
            ImportedTurn(str(number), user(f"q{number}"), NINE + number * HOUR, assistant("a"), NINE + number * HOUR)
            for number in range(3)
        ]
        await store.import_turns("old", turns[:2], source="chatgpt")
        assert await store.import_turns("renamed", turns, source="chatgpt") == 1
        assert [turn.user.text for turn in await store.turns("old")] == ["q0", "q1", "q2"]
        assert list(await store.turns("renamed")) == []

    async def test_a_pause_between_imported_exchanges_begins_a_segment(self, store: Store) -> None:
        minutes = (0, 5, 90)
        turns = [
            ImportedTurn(str(minute), user("q"), at := NINE + timedelta(minutes=minute), assistant("a"), at)
            for minute in minutes
        ]
        await store.import_turns("old", turns, source="s")
        assert [segment.turns for segment in await store.segments("old")] == [2, 1]
