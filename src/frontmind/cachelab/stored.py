"""A stored conversation as a `Session`: what was said, when, and what stood in the sections of each window.

What the store does not keep by itself is read from the requests that were sent: the texts of the notification center,
what changed while tools ran, the tools, and what stood for turns that had left the window. What nobody noted stays
empty: imported turns have no sections. Changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Protocol

from frontmind.cachelab.session import Session, SessionStep, SessionTurn
from frontmind.continuum.collapse import EARLIER_SEGMENTS
from frontmind.continuum.history import settled
from frontmind.errors import UsageError
from frontmind.providers.reading import read_request
from frontmind.stores.ledger_protocol import LedgerStore
from frontmind.stores.protocols import ConversationStore, RequestStore, TextStore
from frontmind.trinkets.time import TimeManager
from frontmind.values.calls import Purpose
from frontmind.values.message import Message
from frontmind.values.parts import Notice, Part, Voice
from frontmind.values.records import Turn, TurnState, WindowOpening
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, Section
from frontmind.values.tool import AnyTool, Tool
from frontmind.window.canonical import canonical_text, parse_json
from frontmind.window.framing import TOOLS, gone_section, section_digest
from frontmind.window.layout import CENTER, TOOL_CALL, TOOL_RESULT, Area, Block, Layout
from frontmind.working_memory.composer import NOTIFICATION_ORDER

_EMPTY: Final = Layout("", "", "", ())
_PLACES: Final = {name: place for place, name in enumerate(NOTIFICATION_ORDER)}


class SessionStore(ConversationStore, RequestStore, TextStore, LedgerStore, Protocol):
    """What is read here of a store."""


async def stored_session(store: SessionStore, conversation: str, *, newest: int | None = None) -> Session:
    """The answered turns of a conversation. Messages that got no answer stand in front of the next that did.

    Args:
        newest: only so many turns, the last ones; None for all. What the windows of earlier ones held is then missing
            in front.

    Raises:
        UsageError: a request or a text that a turn names is not in the store.
        StoreError: the database cannot be read.
    """
    turns = await store.turns(conversation)
    return Session(conversation, await StoredTurns(store, conversation).read(turns, newest=newest))


class StoredTurns:
    """Reads turns of one conversation as those of a session. A turn that was read once is not read again.

    Args:
        store: has the requests, the texts and the ledger.
        conversation: the conversation's name.
    """

    def __init__(self, store: SessionStore, conversation: str) -> None:
        self._store = store
        self._conversation = conversation
        self._known: dict[int, SessionTurn] = {}

    async def read(self, turns: Sequence[Turn], *, newest: int | None = None) -> tuple[SessionTurn, ...]:
        """The answered ones of these turns.

        Args:
            turns: by number, as the store gives them.
            newest: only so many, the last ones; None for all.

        Raises:
            UsageError: a request or a text that a turn names is not in the store.
            StoreError: the database cannot be read.
        """
        exchanges = _exchanges(turns)
        kept = exchanges if newest is None else exchanges[max(0, len(exchanges) - newest) :]
        fresh = [(parts, turn) for parts, turn in kept if turn.id not in self._known]
        known = {turn.id: self._known[turn.id] for _, turn in kept if turn.id in self._known}
        reader = _Reader(self._store, await self._store.window_opening(self._conversation))
        moments = await _moments(self._store, self._conversation, fresh)
        for parts, turn in fresh:
            known[turn.id] = await reader.turn(turn, parts, moments)
        self._known = known
        numbers = [turn.number for _, turn in kept]
        return tuple(
            replace(known[turn.id], start=sum(number < _window_start(turn) for number in numbers[:index]))
            for index, (_, turn) in enumerate(kept)
        )


def _window_start(turn: Turn) -> int:
    return 1 if turn.sent is None else turn.sent.window_start


def _exchanges(turns: Sequence[Turn]) -> list[tuple[tuple[Part, ...], Turn]]:
    """The answered turns, each with all that was said since the one before."""
    found: list[tuple[tuple[Part, ...], Turn]] = []
    waiting: tuple[Part, ...] = ()
    for turn in map(settled, turns):
        if not turn.state.counts:
            continue
        waiting += turn.user.parts
        if turn.state is TurnState.DONE and turn.reply is not None:
            found.append((waiting, turn))
            waiting = ()
    return found


async def _moments(
    store: LedgerStore, conversation: str, kept: Sequence[tuple[tuple[Part, ...], Turn]]
) -> Mapping[tuple[int, int], datetime]:
    """When the calls of a turn were sent, by its number and the steps in front; for those that the ledger has."""
    if not kept:
        return {}
    calls = await store.calls(conversation=conversation, since=kept[0][1].asked_at)
    # A call that was refused or broke off was sent again; the turn went on from the one that was answered.
    by_end = sorted(calls, key=lambda call: call.end is not None)
    return {(call.new.turn, call.new.step): call.new.sent_at for call in by_end if call.new.purpose is Purpose.TURN}


class _Reader:
    """Reads turns, each by itself: its request says all that its window held."""

    def __init__(self, store: SessionStore, opening: WindowOpening) -> None:
        self._store = store
        self._opening = opening
        self._texts: dict[str, str] = {}
        self._said: dict[str, str] = {}
        self._tools: tuple[str | None, tuple[AnyTool, ...]] = (None, ())
        self._own: set[str] = set()

    async def turn(
        self, turn: Turn, parts: tuple[Part, ...], moments: Mapping[tuple[int, int], datetime]
    ) -> SessionTurn:
        """An answered turn with all that was said since the one before; where it starts is left open."""
        layout = await self._layout(turn)
        steps = [step for step in turn.steps if step.results is not None]
        opening, *behind = _said_in(layout.blocks, len(steps))
        self._said = {}
        self._own = {TimeManager.section_name}
        if turn.sent is not None:
            for notice in turn.sent.notices:
                self._own |= {name for name, _ in notice.sections if notice.voice is Voice.OPERATOR}
        sections = (*await self._system(turn), *self._center(turn, opening))
        at = moments.get((turn.number, 0), turn.asked_at)
        end = max(turn.answered_at or at, at)
        made = []
        for index, (step, blocks) in enumerate(zip(steps, behind, strict=True), start=1):
            # Where nobody noted when a step was over, the steps are taken to be equally long.
            between = at + (end - at) * index / (len(steps) + 1)
            results = _without_notices(step.results) if step.results is not None else turn.user
            changed = self._changed(blocks)
            made.append(SessionStep(step.said, results, moments.get((turn.number, index), between), changed))
        return SessionTurn(
            at=at,
            user=parts,
            reply=turn.reply,
            sections=sections,
            steps=tuple(made),
            summary=self._summary(turn, layout),
            tools=self._tools_of(turn, layout),
        )

    async def _layout(self, turn: Turn) -> Layout:
        if not turn.request:
            return _EMPTY
        request = await self._store.load_request(turn.request)
        try:
            return read_request(request)
        except UsageError:
            # A model of somebody's own may have a format of its own.
            return _EMPTY

    async def _system(self, turn: Turn) -> list[Section]:
        listed = turn.sent.system if turn.sent is not None else ()
        for section in listed:
            if section.text not in self._texts:
                self._texts[section.text] = await self._store.load_text(section.text)
        return [
            Section(section.name, self._texts[section.text], PLACEMENT_SYSTEM, section.cache_policy)
            for section in listed
        ]

    def _center(self, turn: Turn, blocks: Sequence[Block]) -> list[Section]:
        """The sections of the notification center: what the request says last of each."""
        self._said |= {block.name: block.text.strip("\n") for block in blocks}
        digests = turn.sent.sections if turn.sent is not None else {}
        names = sorted(digests, key=lambda name: (_PLACES.get(name, len(_PLACES)), name))
        return [self._section(name, self._said[name], digests[name]) for name in names if name in self._said]

    def _section(self, name: str, text: str, digest: str = "") -> Section:
        author = Author.APPLICATION if name in self._own else Author.OTHERS
        section = Section(name, text, PLACEMENT_NOTIFICATION, cache_policy=False, author=author)
        if digest and digest == section_digest(section):
            return section
        state = _OBSERVED.sub(r"\1", text, count=1)
        dated = section if state == text else replace(section, state=state)
        # Where the text without its moment is not what was noted, what was noted still tells two of them apart.
        return dated if digest in ("", section_digest(dated)) else replace(section, state=digest)

    def _changed(self, blocks: Sequence[Block]) -> tuple[Section, ...]:
        """The sections that say something new behind the results of a step; empty ones are gone."""
        changed = []
        for block in blocks:
            text = block.text.strip("\n")
            if text == self._said.get(block.name):
                # A turn-scoped message is said again, whole, behind each step.
                continue
            self._said[block.name] = text
            gone = text == gone_section(block.name).content
            changed.append(self._section(block.name, "" if gone else text))
        return tuple(changed)

    def _summary(self, turn: Turn, layout: Layout) -> str:
        start = _window_start(turn)
        if start <= 1:
            return ""
        if start == self._opening.start:
            return self._opening.summary
        return next((found for block in layout.conversation[:_NEAR] if (found := _earlier(block.text))), "")

    def _tools_of(self, turn: Turn, layout: Layout) -> tuple[AnyTool, ...]:
        digest = turn.system_fingerprint.get(TOOLS)
        if digest is None or digest != self._tools[0]:
            blocks = [block for block in layout.blocks if block.area is Area.TOOLS]
            self._tools = (digest, tuple(tool for block in blocks if (tool := _tool(block)) is not None))
        return self._tools[1]


_OBSERVED: Final = re.compile(r'\A(<[^<>]*?) observed="[^"<>]*"')
_NEAR: Final = 8
# The first message that is sent begins with what stands for the earlier ones; notices may stand in front of it.


def _said_in(blocks: Sequence[Block], steps: int) -> list[list[Block]]:
    """The blocks of the notification center: those in front of the last so many steps with tools, the last of each
    section; then those behind each of the steps.
    """
    groups: list[list[Block]] = [[]]
    in_results = False
    for block in reversed(blocks):
        if block.kind == TOOL_RESULT and len(groups) <= steps:
            in_results = True
        elif block.kind == TOOL_CALL and in_results:
            in_results = False
            groups.append([])
        elif _is_section(block) and all(block.name != other.name for other in groups[-1]):
            groups[-1].append(block)
    groups += [[] for _ in range(steps + 1 - len(groups))]
    return [group[::-1] for group in reversed(groups)]


def _is_section(block: Block) -> bool:
    return block.in_center and block.name != CENTER and block.area is Area.MESSAGES


def _without_notices(message: Message) -> Message:
    return Message(message.role, tuple(part for part in message.parts if not isinstance(part, Notice)))


def _earlier(text: str) -> str:
    """The element that stands for what had left the window; empty where the text has none."""
    start, end = text.find(f"<{EARLIER_SEGMENTS}"), text.find(_CLOSING)
    return text[start : end + len(_CLOSING)] if 0 <= start < end else ""


_CLOSING: Final = f"</{EARLIER_SEGMENTS}>"


def _tool(block: Block) -> AnyTool | None:
    """The tool of a block, in whichever format it was sent; None for one that the provider itself carries out."""
    try:
        spelled: Any = parse_json(block.data.decode("utf-8"))
    except ValueError:
        return None
    for key in ("function", "toolSpec"):
        spelled = spelled.get(key, spelled) if isinstance(spelled, dict) else spelled
    if not isinstance(spelled, dict) or not isinstance(spelled.get("name"), str):
        return None
    found = (spelled.get(key) for key in ("input_schema", "parameters", "inputSchema", "parametersJsonSchema"))
    schema = next((value for value in found if isinstance(value, dict)), None)
    if schema is None:
        return None
    inner = schema.get("json")
    description = spelled.get("description")
    return Tool(
        spelled["name"],
        canonical_text(inner if isinstance(inner, dict) else schema),
        description if isinstance(description, str) else None,
    )
