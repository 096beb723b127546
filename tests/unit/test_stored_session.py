"""A stored conversation comes back as a session that sends, under the same layout, what was sent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from frontmind.cachelab.session import Fixed, Plan, Session, play
from frontmind.cachelab.stored import stored_session
from frontmind.errors import ModelError
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.tools.function import tool
from frontmind.values.message import Message
from frontmind.values.parts import Notice
from frontmind.values.section import Author
from frontmind.window.choice import Framing
from frontmind.window.layout import Layout
from support import EVERY_WAY, START, Bench, HandClock, bench, calling, playing

CLAUDE = "anthropic:claude-opus-4-8"
LONG = "The herons stand in the reeds and wait for the frogs. " * 60


class Script:
    """Answers, and in some turns calls tools first, one of which changes the reminders."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: Request) -> str | Message:
        self.asked += 1
        match self.asked:
            case 2:
                return calling(("look", {"at": "a"}), ("look", {"at": "b"}))
            case 3:
                return calling(("add_reminder", {"text": "call Anna", "due": "2026-12-01T09:00"}))
            case 5:
                raise ModelError("the network was down", model="scripted")
            case _:
                return f"Reply {self.asked}. {LONG}"


@tool
def look(at: str) -> str:
    """Look somewhere.

    Args:
        at: where.
    """
    return f"{at} was seen"


async def talk(bench_: Bench) -> None:
    """Two turns, a third that is lost, and more after a pause with which the older ones leave the window."""
    for number in range(1, 8):
        bench_.clock.advance(minutes=1 if number != 5 else 90)
        try:
            await bench_.orchestrator.run_turn(f"Message {number}. {LONG}")
        except ModelError:
            continue


def without_limits(request: Any) -> Any:
    """The request as a layout, without what depends on the size of a reply."""
    layout: Layout = read_request(request)
    return [(block.key, block.marker, block.in_center, block.cleared) for block in layout.blocks]


async def held(name: str, framing: Framing | None = None) -> tuple[Session, list[Any], Profile]:
    model = playing(name, Script(), framing)
    async with bench(model, clock=HandClock(), tools=(look,)) as bench_:
        await talk(bench_)
        sent = []
        for turn in await bench_.store.turns("main"):
            hashes = [*(step.request for step in turn.steps), *([turn.request] if turn.request else [])]
            sent += [await bench_.store.load_request(request) for request in hashes]
        return await stored_session(bench_.store, "main"), sent, model.profile


@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
async def test_played_in_the_layout_that_it_had_it_sends_what_was_sent(name: str, framing: Framing) -> None:
    session, sent, profile = await held(name, framing)
    assert any(turn.summary for turn in session.turns)
    assert any(step.changed for turn in session.turns for step in turn.steps)
    played = [call.request for call in play(session, profile, Fixed(Plan(framing)))]
    assert [without_limits(request) for request in played] == [without_limits(request) for request in sent]


async def test_a_message_that_got_no_answer_stands_in_front_of_the_next() -> None:
    session, _, _ = await held(CLAUDE)
    assert len(session.turns) == 6
    said = ["".join(getattr(part, "text", "") for part in turn.user)[:10] for turn in session.turns]
    assert said[2] == "Message 3."
    assert len(session.turns[2].user) == 2


async def test_what_a_framing_kept_is_no_part_of_what_was_said() -> None:
    session, _, _ = await held(CLAUDE, Framing.APPEND)
    messages = [message for turn in session.turns for step in turn.steps for message in (step.said, step.results)]
    assert messages
    parts = [part for turn in session.turns for part in turn.user] + [part for one in messages for part in one.parts]
    assert not any(isinstance(part, Notice) for part in parts)


async def test_only_the_time_is_said_by_the_application() -> None:
    session, _, _ = await held(CLAUDE, Framing.ASSISTANT)
    own = {section.name for turn in session.turns for section in turn.sections if section.author is Author.APPLICATION}
    assert own == {"datetime_section"}


async def test_the_newest_turns_alone_begin_a_session() -> None:
    async with bench(playing(CLAUDE, Script()), clock=HandClock(), tools=(look,)) as bench_:
        await talk(bench_)
        whole = await stored_session(bench_.store, "main")
        newest = await stored_session(bench_.store, "main", newest=2)
    assert [turn.user for turn in newest.turns] == [turn.user for turn in whole.turns[-2:]]
    assert [turn.sections for turn in newest.turns] == [turn.sections for turn in whole.turns[-2:]]
    assert [turn.start for turn in newest.turns] == [0, 0]
    assert len(list(play(newest, resolve_profile("anthropic", "claude-opus-4-8"), Fixed(Plan(Framing.APPEND))))) == 2


async def test_steps_have_the_moments_at_which_the_ledger_says_that_their_calls_were_sent() -> None:
    clock = HandClock()

    def slowly(request: Request) -> str | Message:
        clock.advance(seconds=10)
        return calling(("look", {"at": "a"})) if clock.now() == START + timedelta(seconds=10) else "done"

    async with bench(playing("echo", slowly), clock=clock, tools=(look,)) as bench_:
        await bench_.orchestrator.run_turn("What is there?")
        (turn,) = (await stored_session(bench_.store, "main")).turns
    assert (turn.at, turn.steps[0].at) == (START, START + timedelta(seconds=10))


async def test_a_conversation_without_an_answer_is_a_session_without_turns() -> None:
    async with bench(playing("echo", ["ok"])) as bench_:
        assert (await stored_session(bench_.store, "main")).turns == ()
