"""Conversations that are written down beforehand, each with one difficulty for a prompt cache, as sessions.

The sections are those of the real trinkets, composed at the moment of each turn and behind each call of tools; closed
segments leave the window by the same rule as in a real conversation. Knows neither framings nor caches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from frontmind.cachelab.scenario_texts import SUBJECTS, Chance, Words
from frontmind.cachelab.scenario_world import (
    COMPLETE,
    EARLIER_SEGMENTS,
    PLAIN_TOOLS,
    SEARCH,
    TURNS_OF_A_SEGMENT,
    ZONE_NAME,
    World,
    segments_of,
)
from frontmind.cachelab.session import Session, SessionStep, SessionTurn
from frontmind.continuum.collapse import Earlier, collapsed_start, earlier_segments
from frontmind.continuum.extract import extract
from frontmind.continuum.history import newest_message_at, next_segment
from frontmind.errors import UsageError
from frontmind.events import TurnContext
from frontmind.values.message import Message, Role, assistant
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.records import Step, Turn, TurnState, WindowOpening
from frontmind.values.section import PLACEMENT_NOTIFICATION, Section
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_text
from frontmind.window.framing import section_digest

_MAIN: Final = "main"
_SEGMENT_PAUSE: Final = timedelta(hours=1)
_MOST_SUMMARIES: Final = 24
_NO_USAGE: Final = Usage(0, 0, 0, 0)
_MEMORIES, _REMINDERS = "relevant_memories", "active_reminders"


@dataclass(frozen=True, slots=True)
class Beat:
    """A turn of a script.

    Attributes:
        pause: how long nobody says anything before it.
        subject: which of the subjects it is about.
        calls: how often tools are called in it.
        searches: whether it looks something up: in front of it, or by one of its calls.
        completes: whether a reminder is done: before it, or by one of its calls.
        failing: the sections whose sources fail.
    """

    pause: timedelta
    subject: int
    calls: int = 0
    searches: bool = False
    completes: bool = False
    failing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A conversation as it will be written.

    Attributes:
        name: one word.
        title: what happens, in a few.
        start: when it begins.
        script: its turns, by the choices that it is given.
        always_new: whether other memories surface in each turn.
    """

    name: str
    title: str
    start: datetime
    script: Callable[[Chance], list[Beat]]
    always_new: bool = False


async def write_session(scenario: Scenario, *, seed: int = 1) -> Session:
    """The scenario's conversation; the same seed always gives the same one.

    Args:
        seed: another one gives other texts, pauses and lengths of the same kind.
    """
    chance = Chance(seed, scenario.name)
    world = World(scenario.start, f"{seed}/{scenario.name}", always_new=scenario.always_new)
    try:
        writer = _Writer(world, Words(seed, scenario.name, "said"), scenario.start)
        turns = [await writer.write(beat) for beat in scenario.script(chance)]
    finally:
        world.close()
    return Session(scenario.name, tuple(turns))


def scenario_of(name: str) -> Scenario:
    """The scenario of this name.

    Raises:
        UsageError: there is none.
    """
    for scenario in SCENARIOS:
        if scenario.name == name:
            return scenario
    raise UsageError(f"unknown scenario {name!r}; use one of {', '.join(item.name for item in SCENARIOS)}")


class _Writer:
    """Where a conversation stands while it is written."""

    def __init__(self, world: World, words: Words, start: datetime) -> None:
        self._world = world
        self._words = words
        self._now = start
        self._opening = WindowOpening(EARLIER_SEGMENTS * TURNS_OF_A_SEGMENT + 1)
        self._first = self._opening.start

    async def write(self, beat: Beat) -> SessionTurn:
        world, subject = self._world, SUBJECTS[beat.subject % len(SUBJECTS)]
        world.subject, world.failing = subject, beat.failing
        self._now += beat.pause
        if not beat.calls:
            self._look_up(beat)
        context = self._context(self._words.question(subject))
        sections = await world.sections(context)
        asked = self._now
        said = dict(_notified(sections))
        steps = [await self._step(beat, number, context, said) for number in range(beat.calls)]
        self._pass(4, 14)
        reply = assistant(self._words.answer(subject, tokens=self._words.chance.between(60, 220)))
        self._keep(context, asked, reply, steps)
        return SessionTurn(
            at=asked,
            user=(Text(context.message),),
            reply=reply,
            sections=sections,
            steps=tuple(steps),
            start=self._opening.start - self._first,
            summary=self._opening.summary,
            tools=world.tools,
        )

    def _look_up(self, beat: Beat) -> None:
        if beat.searches:
            self._world.search(self._words.query(self._world.subject), self._now)
        if beat.completes:
            self._world.complete(self._now)

    def _context(self, message: str) -> TurnContext:
        turns = self._world.turns
        segment = next_segment(turns, self._now, pause=_SEGMENT_PAUSE) if turns else EARLIER_SEGMENTS + 1
        if turns and segment != turns[-1].segment:
            self._collapse(segment)
        return TurnContext(
            conversation=_MAIN,
            turn=self._first + len(turns),
            now=self._now,
            message=message,
            previous_message_at=newest_message_at(turns),
            window_start=self._opening.start,
            segment=segment,
        )

    def _collapse(self, segment: int) -> None:
        """Let closed segments leave the window, as at the beginning of a segment of a real conversation."""
        turns = self._world.turns
        start = collapsed_start(turns, start=self._opening.start, segment=segment)
        if start is None:
            return
        gone = [held for held in segments_of(turns) if held.first < start][-_MOST_SUMMARIES:]
        told = []
        for held in gone:
            own = [turn for turn in turns if turn.segment == held.number and turn.number < start]
            made = extract(own)
            title, text = (held.title, "") if made is None else (made.title, made.text)
            whole = held.last < start
            told.append(Earlier(held.number, held.started_at, held.ended_at, title, text, True, whole))
        self._opening = WindowOpening(start, earlier_segments(told, ZoneInfo(ZONE_NAME)))

    async def _step(self, beat: Beat, number: int, context: TurnContext, said: dict[str, Section]) -> SessionStep:
        """A call of a tool. ``said`` has the sections as they were said last, and is brought up to date."""
        call, result = self._call(beat, number, context.turn)
        self._pass(3, 9)
        fresh = dict(_notified(await self._world.sections(replace(context, now=self._now))))
        changed = [
            section
            for name, section in fresh.items()
            if name not in said or section_digest(section) != section_digest(said[name])
        ]
        changed += [replace(section, content="", state="") for name, section in said.items() if name not in fresh]
        said.clear()
        said.update(fresh)
        return SessionStep(call, result, self._now, tuple(changed))

    def _call(self, beat: Beat, number: int, turn: int) -> tuple[Message, Message]:
        words, subject = self._words, self._world.subject
        if beat.searches and number == beat.calls // 3:
            query = words.query(subject)
            self._world.search(query, self._now)
            name, arguments, result = SEARCH, {"query": query}, "It stands in context_search_results."
        elif beat.completes and number == beat.calls // 2:
            done = self._world.complete(self._now)
            name, arguments, result = COMPLETE, {"reminder": done}, f"Done: {done}"
        else:
            name = words.chance.pick(PLAIN_TOOLS)
            tool = next(tool for tool in self._world.tools if tool.name == name)
            first = tool.description.split()[0].lower() if tool.description else name
            arguments = {"subject": subject.name, "action": first}
            result = words.result(subject, tokens=words.chance.between(60, 600))
        call = ToolCall(f"toolu_{turn:04d}_{number:02d}", name, canonical_text(arguments))
        parts = (Text(words.aside(subject)), call) if number % 3 == 0 else (call,)
        return Message(Role.ASSISTANT, parts), Message(Role.USER, (ToolResult(call.id, result),))

    def _pass(self, least: int, most: int) -> None:
        self._now += timedelta(seconds=self._words.chance.between(least, most))

    def _keep(self, context: TurnContext, asked: datetime, reply: Message, steps: Sequence[SessionStep]) -> None:
        turn = Turn(
            id=context.turn,
            conversation=_MAIN,
            number=context.turn,
            segment=context.segment or 0,
            state=TurnState.DONE,
            user=Message(Role.USER, (Text(context.message),)),
            asked_at=asked,
            reply=reply,
            answered_at=self._now,
            steps=tuple(Step(step.said, "", "", _NO_USAGE, step.results) for step in steps),
        )
        self._world.turns.append(turn)


def _notified(sections: Sequence[Section]) -> list[tuple[str, Section]]:
    return [(section.name, section) for section in sections if section.placement == PLACEMENT_NOTIFICATION]


def _talk(chance: Chance, turns: int, *, seconds: tuple[int, int] = (35, 160)) -> list[Beat]:
    """An ordinary talk: a subject for some turns, now and then a search, a reminder that is done."""
    beats: list[Beat] = []
    subject = chance.below(len(SUBJECTS))
    left = chance.between(4, 8)
    for number in range(turns):
        if not left:
            subject, left = subject + 1, chance.between(4, 8)
        left -= 1
        pause = timedelta(seconds=chance.between(*seconds) if number else 0)
        beats.append(Beat(pause, subject, searches=number % 13 == 3, completes=number % 17 == 11))
    return beats


def _chat(chance: Chance) -> list[Beat]:
    return _talk(chance, 30)


def _tools(chance: Chance) -> list[Beat]:
    beats = _talk(chance, 10, seconds=(40, 240))
    return [
        replace(beat, calls=15, searches=number % 3 == 1, completes=number % 4 == 2)
        for number, beat in enumerate(beats)
    ]


def _day(chance: Chance) -> list[Beat]:
    """Bursts of a few turns with pauses between that are longer than a cache entry of five minutes lives."""
    beats = _talk(chance, 40)
    left = chance.between(2, 5)
    for number in range(1, len(beats)):
        left -= 1
        if not left:
            left = chance.between(2, 5)
            # One of them is so long that a segment ends.
            minutes = 85 if number > len(beats) // 2 > number - 5 else chance.between(6, 50)
            beats[number] = replace(beats[number], pause=timedelta(minutes=minutes))
    return beats


def _weeks(chance: Chance) -> list[Beat]:
    """Many sittings, each a segment; some with a break in the middle."""
    beats = _talk(chance, 300)
    left = chance.between(5, 24)
    for number in range(1, len(beats)):
        left -= 1
        if not left:
            left = chance.between(5, 24)
            beats[number] = replace(beats[number], pause=timedelta(minutes=chance.between(75, 900)))
        elif not chance.below(12):
            beats[number] = replace(beats[number], pause=timedelta(minutes=chance.between(6, 25)))
        # The supply of reminders is finite.
        beats[number] = replace(beats[number], completes=number % 50 == 30)
    return beats


def _failing(chance: Chance) -> list[Beat]:
    """The memories' source is away for a while, later comes and goes; then that of the reminders is away."""
    beats = _talk(chance, 30)
    for number in range(len(beats)):
        failing = {_MEMORIES} if 7 <= number < 13 or number in (15, 17, 18) else set()
        failing |= {_REMINDERS} if 20 <= number < 25 else set()
        beats[number] = replace(beats[number], failing=frozenset(failing))
    return beats


def _midnight(chance: Chance) -> list[Beat]:
    return _talk(chance, 30, seconds=(60, 180))


def _at(hour: int, minute: int) -> datetime:
    return datetime(2026, 11, 30, hour, minute, tzinfo=ZoneInfo(ZONE_NAME))


SCENARIOS: Final = (
    Scenario("chat", "chat of 30 turns", _at(9, 15), _chat),
    Scenario("tools", "10 turns with 15 tool calls each", _at(9, 15), _tools),
    Scenario("memories", "30 turns, other memories in each", _at(9, 15), _chat, always_new=True),
    Scenario("pauses", "a day with pauses longer than the lifetime", _at(8, 5), _day),
    Scenario("collapse", "300 turns, closed segments leave", _at(8, 5), _weeks),
    Scenario("failing", "30 turns, trinkets fail and come back", _at(9, 15), _failing),
    Scenario("midnight", "30 turns, midnight in the middle", _at(23, 31), _midnight),
)
