"""A turn from message to stored reply, and what is left when something breaks in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from frontmind.assistant.orchestrator import Orchestrator
from frontmind.errors import ModelError, RequestRefused, RequiredSectionFailed, UsageError, WindowTooLarge
from frontmind.events import TurnCompletedEvent, TurnContext
from frontmind.providers.protocol import Request, StreamEvent, TextDelta
from frontmind.providers.scripted import ScriptedModel
from frontmind.trinkets import EventAwareTrinket, TrinketPlacement
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall
from frontmind.values.passages import PassageKind
from frontmind.values.records import TurnState, WindowOpening
from frontmind.values.section import RULE
from frontmind.window.canonical import canonical_json, digest
from frontmind.working_memory.base_prompt import ANNOUNCEMENT
from support import Bench, bench, texts


class Failing(ScriptedModel):
    """Says the first words of its reply and fails; afterwards it plays its script."""

    def __init__(self, error: BaseException, words: str = "", then: list[str] | None = None) -> None:
        super().__init__(then or [])
        self._error: BaseException | None = error
        self._words = words

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        error, self._error = self._error, None
        if error is not None:
            if self._words:
                yield TextDelta(self._words)
            raise error
        async for event in super().stream(request):
            yield event


class Waiting(ScriptedModel):
    """Says a word, tells that it has, and waits for ever."""

    def __init__(self, words: str) -> None:
        super().__init__([])
        self.spoke = asyncio.Event()
        self.closed = False
        self._words = words

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        try:
            if self._words:
                yield TextDelta(self._words)
            self.spoke.set()
            await asyncio.Event().wait()
        finally:
            self.closed = True


class Mood(EventAwareTrinket):
    section_name = "mood"
    cache_policy = True

    def __init__(self) -> None:
        self.text: str | Exception = "calm"

    async def generate_content(self, context: TurnContext) -> str:
        if isinstance(self.text, Exception):
            raise self.text
        return self.text


def question(request: Mapping[str, Any]) -> str:
    return texts(request["messages"][-1])


def history(request: Mapping[str, Any]) -> list[str]:
    """The texts between the system prompt and the rule."""
    said = [texts(message) for message in request["messages"] if message["role"] != "system"]
    return said[: said.index(RULE)]


async def states(bench_: Bench) -> list[TurnState]:
    return [turn.state for turn in await bench_.store.turns("main")]


@pytest.mark.requirement("STORE-1")
async def test_the_message_is_on_disk_before_the_model_is_called(tmp_path: Path) -> None:
    path = str(tmp_path / "mind.db")
    seen: list[str] = []

    def reply(request: Request) -> str:
        # A second look at the file, as another process would have it.
        import sqlite3  # noqa: PLC0415

        with sqlite3.connect(path) as connection:
            seen.extend(str(row) for row in connection.execute("SELECT * FROM turns"))
        connection.close()
        return "yes"

    async with bench(ScriptedModel(reply), db=path) as bench_:
        await bench_.orchestrator.run_turn("is it written down?")
    assert len(seen) == 1
    assert "is it written down?" in seen[0]


@pytest.mark.requirement("RULE-2")
async def test_the_notification_center_is_never_stored_in_the_conversation() -> None:
    async with bench(ScriptedModel(["one", "two"])) as bench_:
        await bench_.orchestrator.run_turn("first")
        await bench_.orchestrator.run_turn("second")
        turns = await bench_.store.turns("main")
    assert [turn.user for turn in turns] == [user("first"), user("second")]
    assert [turn.reply for turn in turns] == [assistant("one"), assistant("two")]


@pytest.mark.requirement("STORE-2")
async def test_a_past_request_is_shown_again_byte_for_byte() -> None:
    sent: list[bytes] = []

    def reply(request: Request) -> str:
        sent.append(canonical_json(request))
        return f"reply {len(sent)}"

    async with bench(ScriptedModel(reply)) as bench_:
        reports = [await bench_.orchestrator.run_turn(f"message {number}") for number in range(4)]
        stored = [canonical_json(await bench_.store.load_request(report.request)) for report in reports]
    assert stored == sent
    assert [report.request for report in reports] == [digest(data) for data in sent]


@pytest.mark.requirement("SEED-7")
async def test_the_end_of_a_turn_is_announced_with_what_was_said() -> None:
    announced: list[TurnCompletedEvent] = []
    async with bench(ScriptedModel(["hello"])) as bench_:
        bench_.mind.bus.subscribe(TurnCompletedEvent, announced.append)
        await bench_.orchestrator.run_turn("hi")
    assert [(event.user, event.reply, event.context.turn) for event in announced] == [
        (user("hi"), assistant("hello"), 1)
    ]


@pytest.mark.requirement("SEED-11")
async def test_the_first_system_prompt_already_announces_the_notification_center() -> None:
    async with bench(ScriptedModel(["hello"])) as bench_:
        await bench_.orchestrator.run_turn("hi")
        system = texts((await bench_.sent())[0]["messages"][0])
    assert ANNOUNCEMENT in system
    assert system.startswith("<base_prompt>\n")


async def test_a_blank_message_is_refused_and_nothing_is_stored() -> None:
    async with bench(ScriptedModel([])) as bench_:
        with pytest.raises(UsageError, match="empty"):
            await bench_.orchestrator.run_turn("  \n ")
        assert not await bench_.store.turns("main")


@pytest.mark.requirement("STORE-1")
async def test_a_message_whose_model_failed_goes_along_with_the_next_one_and_stays_in_the_history() -> None:
    model = Failing(ModelError("no line", model="m"), then=["both answered", "third answered"])
    async with bench(model) as bench_:
        with pytest.raises(ModelError, match="no line"):
            await bench_.orchestrator.run_turn("lost?")
        report = await bench_.orchestrator.run_turn("are you back?")
        await bench_.orchestrator.run_turn("third")
        second, third = await bench_.sent()
    assert report.joined == 1
    assert history(second) == []
    assert question(second) == "lost?\n\nare you back?"
    assert history(third) == ["lost?\n\nare you back?", "both answered"]


async def test_a_reply_that_breaks_off_is_kept_as_interrupted() -> None:
    model = Failing(ModelError("cut", model="m"), words="half a rep", then=["whole"])
    async with bench(model) as bench_:
        with pytest.raises(ModelError, match="cut"):
            await bench_.orchestrator.run_turn("tell me")
        await bench_.orchestrator.run_turn("go on")
        first, second = await bench_.store.turns("main")
        request = (await bench_.sent())[1]
    assert (first.reply, first.interrupted) == (assistant("half a rep"), True)
    assert first.usage is not None
    assert first.usage.estimated
    assert not second.interrupted
    assert history(request) == ["tell me", "half a rep"]


def refusing(word: str) -> ScriptedModel:
    """Refuses every request whose question has the word, and answers the others."""

    def reply(request: Request) -> str:
        if word in question(request):
            raise RequestRefused("bad", model="m", status=400)
        return "fine"

    return ScriptedModel(reply)


async def test_a_message_that_the_provider_refuses_is_kept_and_not_sent_again() -> None:
    async with bench(refusing("poison")) as bench_:
        with pytest.raises(RequestRefused):
            await bench_.orchestrator.run_turn("poison")
        assert await states(bench_) == [TurnState.OPEN]
        report = await bench_.orchestrator.run_turn("good")
        turns = await bench_.store.turns("main")
        request = (await bench_.sent())[0]
    assert [turn.state for turn in turns] == [TurnState.REFUSED, TurnState.DONE]
    assert turns[0].user == user("poison")
    assert (report.joined, report.set_aside) == (0, 1)
    assert question(request) == "good"


async def test_a_refusal_that_is_not_about_the_messages_costs_none_of_them() -> None:
    model = Failing(RequestRefused("no credit", model="m", status=400), then=["all three"])
    async with bench(model) as bench_:
        with pytest.raises(RequestRefused):
            await bench_.orchestrator.run_turn("one")
        report = await bench_.orchestrator.run_turn("two")
        request = (await bench_.sent())[0]
    assert (report.joined, report.set_aside) == (1, 0)
    assert question(request) == "one\n\ntwo"


async def test_a_provider_that_alone_knows_its_limit_gets_a_smaller_window() -> None:
    def reply(request: Request) -> str:
        if len(canonical_json(request["messages"])) > 4000:
            raise WindowTooLarge("too long", model="m", tokens=1000, limit=800)
        return "answer " * 40

    async with bench(ScriptedModel(reply)) as bench_:
        reports = [await bench_.orchestrator.run_turn(f"question {number}") for number in range(14)]
    assert sum(report.left_out for report in reports) > 0


async def test_a_tool_call_that_nothing_answers_is_kept_as_text() -> None:
    call = Message(Role.ASSISTANT, (Text("let me look"), ToolCall("c1", "weather", '{"city": "Lisbon"}')))
    async with bench(ScriptedModel([call, "sunny"])) as bench_:
        without_tools = Orchestrator(
            store=bench_.store,
            model=bench_.model,
            bus=bench_.mind.bus,
            builder=bench_.mind.builder,
            clock=bench_.clock,
            conversation="main",
        )
        await without_tools.run_turn("weather?")
        await without_tools.run_turn("and now?")
        request = (await bench_.sent())[1]
    assert all("tool_calls" not in message for message in request["messages"])
    assert "call of the tool weather" in history(request)[1]


@pytest.mark.parametrize("words", ["", "half"])
async def test_a_cancelled_turn_keeps_what_was_said_and_closes_the_stream(words: str) -> None:
    model = Waiting(words)
    async with bench(model) as bench_:
        task = asyncio.create_task(bench_.orchestrator.run_turn("long story"))
        await model.spoke.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        turn = (await bench_.store.turns("main"))[0]
    assert model.closed
    assert turn.state is (TurnState.DONE if words else TurnState.OPEN)
    assert turn.interrupted is bool(words)


async def test_cancelling_again_does_not_undo_what_the_first_cancelling_kept() -> None:
    model = Waiting("half")
    async with bench(model) as bench_:
        task = asyncio.create_task(bench_.orchestrator.run_turn("long story"))
        await model.spoke.wait()
        task.cancel()
        for _ in range(50):
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        turn = (await bench_.store.turns("main"))[0]
    assert turn.reply == assistant("half")


async def test_a_reply_without_text_is_an_error_and_the_message_is_kept() -> None:
    async with bench(ScriptedModel(["   ", "now"])) as bench_:
        with pytest.raises(ModelError, match="empty reply"):
            await bench_.orchestrator.run_turn("say something")
        assert await states(bench_) == [TurnState.OPEN]
        assert (await bench_.orchestrator.run_turn("again")).joined == 1


async def test_two_turns_at_once_run_one_after_the_other() -> None:
    async with bench(ScriptedModel(lambda request: f"to {question(request)}")) as bench_:
        await asyncio.gather(*(bench_.orchestrator.run_turn(f"m{number}") for number in range(5)))
        turns = await bench_.store.turns("main")
        last = (await bench_.sent())[-1]
    assert [turn.number for turn in turns] == [1, 2, 3, 4, 5]
    assert all(turn.reply == assistant(f"to {turn.user.text}") for turn in turns)
    assert len(history(last)) == 8


async def test_old_turns_leave_the_window_in_one_large_step_when_it_is_full_and_stay_in_the_search() -> None:
    model = ScriptedModel(lambda request: "answer " * 60, context_limit=3400, max_output_tokens=100)
    async with bench(model) as bench_:
        reports = [await bench_.orchestrator.run_turn(f"question {number} zebra{number}") for number in range(24)]
        hits = await bench_.store.search_words(["zebra0"], kind=PassageKind.EXCHANGE, limit=3)
        found = await bench_.store.passages([passage for passage, _ in hits])
        sent = await bench_.sent()
    left = [report.left_out for report in reports]
    assert sum(left) > 0
    assert max(left) >= 3, "a step leaves out several turns"
    assert sum(bool(count) for count in left) <= 4, "and is rare"
    assert [passage.text.splitlines()[0] for passage in found] == ["User: question 0 zebra0"]
    assert history(sent[-1])[0].startswith("<earlier_segments ")


async def test_what_left_the_window_comes_back_as_a_relevant_memory() -> None:
    model = ScriptedModel(lambda request: "answer " * 60, context_limit=3400, max_output_tokens=100)
    async with bench(model) as bench_:
        for number in range(24):
            await bench_.orchestrator.run_turn(f"question {number} zebra{number}")
        await bench_.orchestrator.run_turn("what about zebra0?")
        center = texts((await bench_.sent())[-1]["messages"][-2])
    assert "question 0 zebra0" in center


async def test_a_message_that_cannot_fit_leaves_the_window_as_it_was() -> None:
    async with bench(ScriptedModel(lambda request: "ok", context_limit=5000)) as bench_:
        for number in range(3):
            await bench_.orchestrator.run_turn(f"question {number}")
        with pytest.raises(WindowTooLarge):
            await bench_.orchestrator.run_turn("word " * 20_000)
        assert await bench_.store.window_opening("main") == WindowOpening()
        await bench_.orchestrator.run_turn("short")
        assert len(history((await bench_.sent())[-1])) == 6


async def test_an_earlier_message_that_the_provider_refuses_does_not_block_the_later_ones() -> None:
    down = True

    def reply(request: Request) -> str:
        if down:
            raise ModelError("no network", model="m")
        if "BAD" in question(request):
            raise RequestRefused("bad", model="m", status=400)
        return "fine"

    async with bench(ScriptedModel(reply)) as bench_:
        with pytest.raises(ModelError, match="no network"):
            await bench_.orchestrator.run_turn("BAD")
        down = False
        report = await bench_.orchestrator.run_turn("hello")
        assert await states(bench_) == [TurnState.REFUSED, TurnState.DONE]
    assert (report.reply, report.joined, report.set_aside) == ("fine", 0, 1)


async def test_a_refusal_behind_the_first_words_keeps_them() -> None:
    model = Failing(RequestRefused("policy", model="m", status=400), words="hello there")
    async with bench(model) as bench_:
        with pytest.raises(ModelError, match="broke off: policy"):
            await bench_.orchestrator.run_turn("hi")
        turn = (await bench_.store.turns("main"))[0]
    assert (turn.state, turn.reply, turn.interrupted) == (TurnState.DONE, assistant("hello there"), True)


class Endless(ScriptedModel):
    """Says something, and its stream ends without an end."""

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        yield TextDelta("unfin")


async def test_a_stream_without_an_end_keeps_what_it_said() -> None:
    async with bench(Endless([])) as bench_:
        with pytest.raises(ModelError, match="broke off"):
            await bench_.orchestrator.run_turn("hi")
        assert (await bench_.store.turns("main"))[0].reply == assistant("unfin")


async def test_a_listener_that_fails_does_not_cost_the_words_it_was_given() -> None:
    def gone(text: str) -> None:
        raise BrokenPipeError

    async with bench(ScriptedModel(["hello you"])) as bench_:
        with pytest.raises(BrokenPipeError):
            await bench_.orchestrator.run_turn("hi", on_text=gone)
        assert (await bench_.store.turns("main"))[0].reply == assistant("hello ")


async def test_a_message_larger_than_the_context_is_refused_with_the_figures() -> None:
    async with bench(ScriptedModel(["ok"], context_limit=5000)) as bench_:
        with pytest.raises(WindowTooLarge) as caught:
            await bench_.orchestrator.run_turn("word " * 20_000)
        assert caught.value.tokens is not None
        assert caught.value.tokens > 5000 == caught.value.limit
        report = await bench_.orchestrator.run_turn("short")
        assert await states(bench_) == [TurnState.REFUSED, TurnState.DONE]
    assert (report.reply, report.set_aside) == ("ok", 1)


@pytest.mark.requirement("RULE-10")
async def test_a_failing_trinket_does_not_fail_the_turn_and_is_in_the_report() -> None:
    async with bench(ScriptedModel(["fine"])) as bench_:
        mood = Mood()
        mood.text = RuntimeError("broken")
        bench_.mind.memory.register_trinket(mood, placement=TrinketPlacement.NOTIFICATION_CENTER)
        report = await bench_.orchestrator.run_turn("hi")
    assert [(failure.section, failure.reason) for failure in report.failures] == [("mood", "RuntimeError: broken")]
    assert "<mood>\nUnavailable since 2026-11-30 09:15.\n</mood>" in report.window.notification_center


@pytest.mark.requirement("RULE-10")
async def test_a_failing_required_trinket_fails_the_turn_visibly_and_keeps_the_message() -> None:
    async with bench(ScriptedModel(["fine"])) as bench_:
        mood = Mood()
        mood.text = RuntimeError("broken")
        bench_.mind.memory.register_trinket(mood, required=True)
        with pytest.raises(RequiredSectionFailed, match=r"mood.*broken"):
            await bench_.orchestrator.run_turn("hi")
        assert await states(bench_) == [TurnState.OPEN]
        mood.text = "better"
        assert (await bench_.orchestrator.run_turn("again")).joined == 1


@pytest.mark.requirement("RULE-9")
async def test_a_changed_system_section_is_named_with_its_cost() -> None:
    async with bench(ScriptedModel(["a", "b", "c", "d"])) as bench_:
        mood = Mood()
        bench_.mind.memory.register_trinket(mood)
        first = await bench_.orchestrator.run_turn("1")
        second = await bench_.orchestrator.run_turn("2")
        mood.text = "excited"
        third = await bench_.orchestrator.run_turn("3")
        bench_.clock.advance(minutes=61)
        fourth = await bench_.orchestrator.run_turn("4")
    assert [report.system_change for report in (first, second, third)] == [None, None, None]
    assert fourth.system_change is not None
    assert fourth.system_change.sections == ("mood",)
    assert fourth.system_change.tokens > 100


@pytest.mark.requirement("RULE-9")
async def test_a_failing_system_trinket_leaves_the_system_prompt_as_it_was() -> None:
    async with bench(ScriptedModel(["a", "b"])) as bench_:
        mood = Mood()
        bench_.mind.memory.register_trinket(mood)
        first = await bench_.orchestrator.run_turn("1")
        mood.text = RuntimeError("broken")
        second = await bench_.orchestrator.run_turn("2")
    assert second.window.cached_system == first.window.cached_system
    assert [failure.section for failure in second.failures] == ["mood"]


async def test_a_restarted_assistant_sends_the_same_prefix(tmp_path: Path) -> None:
    path = str(tmp_path / "mind.db")
    async with bench(ScriptedModel(["one", "two"]), db=path) as bench_:
        await bench_.orchestrator.run_turn("first")
        await bench_.orchestrator.run_turn("second")
        before = (await bench_.sent())[-1]["messages"]
    async with bench(ScriptedModel(["three"]), db=path) as bench_:
        await bench_.orchestrator.run_turn("third")
        after = (await bench_.sent())[-1]["messages"]
    assert after[:3] == before[:3]
    assert [texts(message) for message in after[3:5]] == ["second", "two"]
