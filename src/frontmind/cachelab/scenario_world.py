"""What stands around a scripted conversation: memories, reminders, documents, searches and tools, made from a seed,
read by the real trinkets.

Knows neither framings nor caches. Everything is in memory; the moment comes with each turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from frontmind.cachelab.scenario_texts import SUBJECTS, Chance, Words
from frontmind.continuum.extract import extract
from frontmind.errors import RunError
from frontmind.events import (
    ComposeSystemPromptEvent,
    EventBus,
    SystemPromptComposedEvent,
    TurnContext,
)
from frontmind.trinkets.base import EventAwareTrinket
from frontmind.trinkets.context_search import GetContextTrinket
from frontmind.trinkets.domaindoc import DomaindocTrinket
from frontmind.trinkets.manifest import ManifestTrinket
from frontmind.trinkets.memory import ProactiveMemoryTrinket
from frontmind.trinkets.reminders import ReminderManager
from frontmind.trinkets.time import TimeManager
from frontmind.trinkets.tools import ToolDescription, ToolGuidanceTrinket, ToolHintsTrinket
from frontmind.values.memories import Memory
from frontmind.values.passages import Hit, Passage, PassageKind, Recollection
from frontmind.values.records import Document, Reminder, Segment, Turn
from frontmind.values.section import Section
from frontmind.values.tool import Tool
from frontmind.window.canonical import Json, canonical_text
from frontmind.working_memory.base_prompt import DEFAULT_PERSONA, build_base_prompt
from frontmind.working_memory.core import WorkingMemory

ZONE_NAME: Final = "Europe/Berlin"
EARLIER_SEGMENTS: Final = 3
"""How many closed segments the conversation has when a scenario begins; nothing of them is sent."""

TURNS_OF_A_SEGMENT: Final = 9

_SURFACED: Final = 3
_FOUND: Final = 1
# The busiest machine must not make a trinket "unavailable" that a scenario does not want to fail.
_PATIENCE: Final = 600.0
_TOOLS: Final = (
    ("read_notes", "Reads the notes about a subject, newest first.", ("subject", "since")),
    ("search_context", "Searches earlier conversations, memories and documents.", ("query",)),
    ("complete_reminder", "Marks a reminder as done.", ("reminder",)),
    ("list_events", "Lists the events of a day or of a stretch of days.", ("day", "days")),
    ("edit_document", "Changes a section of a document.", ("document", "section", "text")),
    ("send_message", "Drafts a message to a person; it is not sent before the user says so.", ("person", "text")),
)
PLAIN_TOOLS: Final = ("read_notes", "list_events", "edit_document")
COMPLETE: Final = "complete_reminder"
SEARCH: Final = "search_context"


class World:
    """The sources of the trinkets, and the working memory that asks them.

    Args:
        start: when the scenario begins, in the person's zone.
        seed: names all that is chosen.
        always_new: whether other memories surface in each turn, and not only where the subject changes.
    """

    def __init__(self, start: datetime, seed: object, *, always_new: bool = False) -> None:
        self._start = start
        self._seed = seed
        self._always_new = always_new
        self._words = Words(seed, "world")
        self.failing: frozenset[str] = frozenset()
        self.turns: list[Turn] = []
        self.subject = SUBJECTS[0]
        self._reminders = self._made_reminders()
        self._documents = self._made_documents()
        self.tools = tuple(self._made_tool(*tool) for tool in _TOOLS)
        self._earlier = self._earlier_segments()
        self._titles: dict[int, str] = {}
        self._searches = GetContextTrinket()
        self._bus = EventBus()
        self._memory = WorkingMemory(self._bus)
        self._composed: list[SystemPromptComposedEvent] = []
        self._bus.subscribe(SystemPromptComposedEvent, self._composed.append)
        self._persona = f"{DEFAULT_PERSONA}\n{self._words.rules(SUBJECTS[3], tokens=1100)}"
        for trinket in self._trinkets():
            trinket.time_limit = _PATIENCE
            self._memory.register_trinket(trinket)

    async def sections(self, context: TurnContext) -> tuple[Section, ...]:
        """All sections as the trinkets say them at this moment."""
        await self._bus.publish(ComposeSystemPromptEvent(context, build_base_prompt(self._persona)))
        return self._composed.pop().sections

    def close(self) -> None:
        """Ask no trinket any more."""
        self._memory.close()

    def search(self, query: str, at: datetime) -> None:
        """Somebody searches; what is found stands in the window from now on."""
        chance = Chance(self._seed, "found", query, at.isoformat())
        finds = tuple(self._exchange(chance.between(1, 10_000)) for _ in range(_FOUND))
        self._searches.found(self._searches.begin(query, at), finds, at)

    def complete(self, at: datetime) -> str:
        """The first reminder that is open is done; its id, as people write it."""
        index = next(number for number, item in enumerate(self._reminders) if item.done_at is None)
        self._reminders[index] = replace(self._reminders[index], done_at=at)
        return f"r{self._reminders[index].id}"

    # What the trinkets ask.

    async def documents(self) -> Sequence[Document]:
        return self._documents

    async def active_reminders(self) -> Sequence[Reminder]:
        self._fail("active_reminders")
        return [item for item in self._reminders if item.done_at is None]

    async def surface(self, context: TurnContext) -> Sequence[Recollection]:
        self._fail("relevant_memories")
        # Most of what surfaces goes by the subject; the last one by the message itself.
        stable = context.turn if self._always_new else 0
        turns = [stable] * (_SURFACED - 1) + [context.turn if self._always_new else context.turn // 3]
        made = [self._recalled(number, turn) for number, turn in enumerate(turns)]
        return [*made, self._exchange(stable)]

    async def segments(
        self, conversation: str, *, before: int | None = None, newest: int | None = None
    ) -> Sequence[Segment]:
        every = [*self._earlier, *segments_of(self.turns)]
        return every if newest is None else every[-newest:]

    async def count_segments(self, conversation: str, *, before: int | None = None) -> int:
        return len(await self.segments(conversation))

    async def title_of(self, segment: Segment) -> str:
        if segment.number not in self._titles:
            made = extract([turn for turn in self.turns if turn.segment == segment.number])
            self._titles[segment.number] = segment.title if made is None else made.title
        return self._titles[segment.number]

    def _fail(self, section: str) -> None:
        if section in self.failing:
            raise RunError("the store does not answer")

    def _trinkets(self) -> tuple[EventAwareTrinket, ...]:
        described = [
            ToolDescription(name, text, self._words.rules(self._words.chance.pick(SUBJECTS), tokens=170))
            for name, text, _ in _TOOLS[:4]
        ]
        hinted = [
            ToolDescription(f"/{subject.name.split()[-1]}", self._words.reminder(subject)) for subject in SUBJECTS
        ]
        return (
            DomaindocTrinket(self),
            ToolGuidanceTrinket(described),
            ToolHintsTrinket(hinted),
            TimeManager(),
            ManifestTrinket(self),
            ReminderManager(self),
            self._searches,
            ProactiveMemoryTrinket(self),
        )

    def _made_reminders(self) -> list[Reminder]:
        hours = (0, 3, -15, 15, 26, 98)
        return [
            Reminder(
                id=number,
                text=self._words.reminder(SUBJECTS[number % len(SUBJECTS)]),
                due=self._start + timedelta(hours=hour, minutes=20),
                zone=ZONE_NAME,
                created_at=self._start - timedelta(days=3),
                rrule="FREQ=WEEKLY" if number % 4 == 0 else "",
            )
            for number, hour in enumerate(hours, start=1)
        ]

    def _made_documents(self) -> tuple[Document, ...]:
        written = self._start - timedelta(days=20)
        return tuple(
            Document(
                name=subject.name.split()[-1].lower(),
                text=f"# Settled\n{self._words.answer(subject, tokens=450)}\n# Open\n"
                f"{self._words.result(subject, tokens=420)}\n",
                enabled=True,
                updated_at=written + timedelta(days=number),
            )
            for number, subject in enumerate(SUBJECTS[1:4])
        )

    def _made_tool(self, name: str, text: str, arguments: Sequence[str]) -> Tool:
        subject = self._words.chance.pick(SUBJECTS)
        properties: Json = {
            argument: {"type": "string", "description": self._words.rules(subject, tokens=20)} for argument in arguments
        }
        schema = canonical_text({"type": "object", "properties": properties, "required": [arguments[0]]})
        return Tool(name, schema, f"{text} {self._words.rules(subject, tokens=60)}")

    def _earlier_segments(self) -> list[Segment]:
        segments = []
        for number in range(1, EARLIER_SEGMENTS + 1):
            subject = SUBJECTS[number % len(SUBJECTS)]
            began = self._start - timedelta(hours=11 * (EARLIER_SEGMENTS + 1 - number))
            last = number * TURNS_OF_A_SEGMENT
            segments.append(
                Segment(
                    conversation="",
                    number=number,
                    title=self._words.question(subject)[:70],
                    started_at=began,
                    ended_at=began + timedelta(minutes=25),
                    turns=TURNS_OF_A_SEGMENT,
                    first=last - TURNS_OF_A_SEGMENT + 1,
                    last=last,
                )
            )
        return segments

    def _recalled(self, number: int, turn: int) -> Recollection:
        words = Words(self._seed, "memory", self.subject.name, number, turn)
        known = words.chance.between(1, 400)
        at = self._start - timedelta(days=known % 90, minutes=known)
        memory = Memory(known, words.memory(self.subject), at, at)
        passage = Passage(known, PassageKind.MEMORY, known, 0, "", 0, at, memory.text)
        why = f"words: {words.chance.pick(self.subject.things).split()[-1]}"
        return Recollection(Hit(passage, 0.8, (why,)), memory)

    def _exchange(self, turn: int) -> Recollection:
        subject = self.subject
        words = Words(self._seed, "exchange", subject.name, turn)
        number = words.chance.between(1, EARLIER_SEGMENTS * TURNS_OF_A_SEGMENT)
        at = self._start - timedelta(days=number, minutes=number)
        text = f"User: {words.question(subject)}\nAssistant: {words.answer(subject, tokens=25)}"
        passage = Passage(1000 + number, PassageKind.EXCHANGE, number, 0, "main", number, at, text)
        return Recollection(Hit(passage, 0.7, (f"meaning: {subject.name}",)))


def segments_of(turns: Sequence[Turn]) -> list[Segment]:
    """The segments of these answered turns, by number."""
    found: dict[int, list[Turn]] = {}
    for turn in turns:
        found.setdefault(turn.segment, []).append(turn)
    return [
        Segment(
            conversation=held[0].conversation,
            number=number,
            title=held[0].user.text[:70],
            started_at=held[0].asked_at,
            ended_at=held[-1].answered_at or held[-1].asked_at,
            turns=len(held),
            first=held[0].number,
            last=held[-1].number,
        )
        for number, held in found.items()
    ]
