"""Builds the window of a turn from what the trinkets say and what the store has. Asks no model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from frontmind.assistant.caller import NOBODY, Caller
from frontmind.assistant.changed_sections import changed_sections
from frontmind.assistant.going_back import without_line_from
from frontmind.assistant.known_history import KnownHistory
from frontmind.assistant.layout_chooser import LayoutChooser
from frontmind.assistant.sent_sections import SentSections
from frontmind.assistant.steadiness import (
    SEGMENT_PAUSE,
    hold,
    hold_in_turn,
    hold_where_it_goes_on,
    is_natural_break,
    last_sent,
    with_sent,
)
from frontmind.assistant.window_opening import Opener, Reader, SegmentOpener, asked_since, context_limit
from frontmind.continuum.history import Continuum, newest_message_at, next_segment, read_turns
from frontmind.errors import RequiredSectionFailed, RunError
from frontmind.events import ComposeSystemPromptEvent, EventBus, SystemPromptComposedEvent, TurnContext
from frontmind.providers.profiles.profile import Profile
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.message import Message, Role, user
from frontmind.values.records import Turn, TurnState, WindowOpening
from frontmind.values.section import (
    PLACEMENT_NOTIFICATION,
    PLACEMENT_SYSTEM,
    Section,
    SectionFailure,
    join_sections,
    render_notification_center,
)
from frontmind.values.tokens import estimate_tokens
from frontmind.values.tool import AnyTool
from frontmind.window.blocks import message_text
from frontmind.window.history import History
from frontmind.window.window import Window
from frontmind.working_memory.base_prompt import build_base_prompt

# The store has nothing under this name, so what it has of its own conversation does not mix in.
_FOREIGN: Final = "(a conversation that is not in the store)"


@dataclass(frozen=True, slots=True)
class BuiltWindow:
    """A window and what it was made from.

    Attributes:
        failures: the sections that were unavailable.
        shortened: the names of those that had more tokens than their budget.
        opening: where it begins, and what stands for all before that.
        last: the newest turn that was sent before, as it stands in the history; one that was replaced since included.
        caller: the program that it was made for.
    """

    window: Window
    context: TurnContext
    continuum: Continuum
    failures: tuple[SectionFailure, ...]
    shortened: tuple[str, ...] = ()
    opening: WindowOpening = field(default_factory=WindowOpening)
    last: Turn | None = None
    caller: Caller = NOBODY


class WindowBuilder:
    """Asks for the prompt over the bus and puts it together with the conversation.

    Args:
        store: the conversation is read from here.
        bus: the bus that a `WorkingMemory` listens on.
        clock: the clock of previews; a turn brings its own moment.
        conversation: the conversation's name.
        persona: who the assistant is; begins the system prompt.
        tools: what the model may call, in every window.
        unopened: the names of sections whose sources are not open here: they stand as they were sent last.
        holds: whether the system prompt keeps its bytes while a conversation runs.
        opener: decides where windows begin; None lets closed segments leave at natural breaks.
        chooser: decides how windows are framed; None leaves that to the model.
    """

    def __init__(
        self,
        *,
        store: Store,
        bus: EventBus,
        clock: Clock,
        conversation: str,
        persona: str,
        tools: Sequence[AnyTool] = (),
        unopened: frozenset[str] = frozenset(),
        holds: bool = True,
        opener: Opener | None = None,
        chooser: LayoutChooser | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._conversation = conversation
        self._persona = persona
        self._tools = tuple(tools)
        self._unopened = unopened
        self._holds = holds
        self._opener = opener or SegmentOpener(store, clock, conversation)
        self._chooser = chooser
        self._sent = SentSections(store)
        self._composing = asyncio.Lock()
        self._composed: list[SystemPromptComposedEvent] = []
        self._history = KnownHistory()
        self._unsubscribe = bus.subscribe(SystemPromptComposedEvent, self._composed.append)

    def close(self) -> None:
        """Stop listening on the bus."""
        self._unsubscribe()

    async def read(self) -> tuple[Sequence[Turn], WindowOpening]:
        """The turns that a window can need, by number, and where the window of the newest one began."""
        opening = await self._store.window_opening(self._conversation)
        # One more than is sent: when every turn has left the window, the time since the last one is still known.
        return await self._store.turns(self._conversation, since=max(1, opening.start - 1)), opening

    async def opening(
        self, turn: Turn, before: Sequence[Turn], stored: WindowOpening, *, reader: Reader | None = None
    ) -> WindowOpening:
        """Where the window of this turn begins, before anybody looks whether it fits; see `Opener`."""
        return await self._opener.opening(turn, before, stored, reader=reader)

    async def moved(
        self,
        turn: Turn,
        before: Sequence[Turn],
        start: int,
        *,
        reader: Reader | None = None,
        room: int | None = None,
    ) -> WindowOpening:
        """The opening at a start that was found because the window did not fit; see `Opener`."""
        return await self._opener.moved(turn, before, start, reader=reader, room=room)

    async def for_turn(
        self,
        turn: Turn,
        before: Sequence[Turn],
        *,
        opening: WindowOpening,
        caller: Caller = NOBODY,
        reader: Reader | None = None,
        room: int | None = None,
    ) -> BuiltWindow:
        """The window of a turn that was begun, as it opens: without the turn's steps.

        Args:
            turn: the open turn. One that has steps keeps the system prompt that it was begun with.
            before: the turns before it, as `read` gave them.
            opening: where the window begins.
            caller: the program that asks, with its instructions and tools.
            reader: the model that it is made for; None leaves the framing open.
            room: the most tokens that it may have, where that was learned otherwise than from the model.

        Raises:
            RequiredSectionFailed: a required trinket failed.
        """
        line = [*before, replace(turn, steps=())]
        continuum = read_turns(
            line,
            window_start=opening.start,
            summary=opening.summary,
            model=_name(reader),
            profile=_profile(reader),
        )
        context = TurnContext(
            conversation=self._conversation,
            turn=turn.number,
            now=turn.asked_at.astimezone(self._clock.zone),
            message=turn.user.text,
            previous_message_at=newest_message_at(before),
            window_start=opening.start,
            segment=turn.segment,
            context_limit=context_limit(reader) if room is None else room,
        )
        composed = await self._composed_for(context, caller)
        last = last_sent(before)
        sections = await self._steady(turn, before, last, composed, continuum, opening, reader)
        message = Message(Role.USER, (*continuum.opening, *continuum.unanswered))
        history = self._history.of(continuum, line, model=_name(reader), summary=opening.summary)
        tools = caller.tools_beside(self._tools)
        window = self._window(context, history, (message,), reader, sections, tools)
        built = BuiltWindow(
            window, context, continuum, composed.failures, composed.shortened, opening, last=last, caller=caller
        )
        return await self._framed(built, turn, reader)

    async def _steady(
        self,
        turn: Turn,
        before: Sequence[Turn],
        last: Turn | None,
        composed: SystemPromptComposedEvent,
        continuum: Continuum,
        opening: WindowOpening,
        reader: Reader | None,
    ) -> tuple[Section, ...]:
        sections = composed.sections
        if self._holds and last is not None and last.sent is not None:
            is_break = is_natural_break(
                last,
                now=turn.asked_at,
                between=asked_since(last, before),
                new_segment=last.segment != turn.segment,
                model=_name(reader),
                profile=_profile(reader),
                window_start=opening.start,
            )
            sent = await self._sent.read(last.sent.system)
            sections = with_sent(sections, sent, self._unopened)
            if sent and not is_break:
                sections = hold(sections, sent, now=composed.context.now, behind=lambda: _tokens(continuum.history))
        if turn.steps and turn.sent is not None:
            begun_with = await self._sent.read(turn.sent.system)
            sections = hold_where_it_goes_on(sections, composed.sections, begun_with, now=composed.context.now)
        return sections

    async def _framed(self, built: BuiltWindow, turn: Turn, reader: Reader | None) -> BuiltWindow:
        if self._chooser is None or reader is None:
            return built
        choice = await self._chooser.choose(turn, built.window, reader)
        return replace(built, window=replace(built.window, framing=choice))

    async def changed(self, built: BuiltWindow, window: Window) -> tuple[tuple[Section, ...], BuiltWindow]:
        """The sections of the notification center that are no longer as they were said last in this window.

        One that has nothing to say any more comes without text.

        Args:
            built: what the window's turn began with.
            window: the window as it is now, with its updates so far.

        Returns:
            Them, and ``built`` with the failures of now added to its own.

        Raises:
            RequiredSectionFailed: a required trinket failed.
        """
        context = replace(built.context, now=self._clock.now())
        composed = await self._composed_for(context, built.caller)
        system = [section for section in window.sections if section.placement == PLACEMENT_SYSTEM]
        sections = hold_in_turn(composed.sections, system, now=context.now)
        # What failed in an earlier step was told to the model, and belongs to the report.
        failures = {failure.section: failure for failure in (*built.failures, *composed.failures)}
        shortened = tuple(sorted({*built.shortened, *composed.shortened}))
        return changed_sections(window, sections), replace(
            built, failures=tuple(failures.values()), shortened=shortened
        )

    async def next_turn(
        self, asked: str | Message, *, replaces: int | None = None
    ) -> tuple[Turn, Sequence[Turn], WindowOpening]:
        """The turn that would begin now with this message, not stored, with what `read` gives.

        Args:
            replaces: the number of the turn in whose place the conversation would go on.

        Raises:
            UsageError: the conversation has no turn of that number.
        """
        before, opening = await self.read()
        if replaces is not None:
            if opening.start > replaces:
                before = await self._store.turns(self._conversation)
                gone = (turn for turn in before if replaces <= turn.number < opening.start and turn.state.counts)
                opening = opening if next(gone, None) is None else WindowOpening()
            before = without_line_from(before, replaces)
        now = self._clock.now()
        turn = Turn(
            id=0,
            conversation=self._conversation,
            number=before[-1].number + 1 if before else 1,
            segment=next_segment(before, now, pause=SEGMENT_PAUSE),
            state=TurnState.OPEN,
            user=user(asked) if isinstance(asked, str) else asked,
            asked_at=now,
        )
        return turn, before, opening

    async def preview(
        self,
        asked: str | Message,
        *,
        caller: Caller = NOBODY,
        replaces: int | None = None,
        reader: Reader | None = None,
        opening: WindowOpening | None = None,
    ) -> BuiltWindow:
        """The window that the next turn would have with this message. Nothing is stored.

        Args:
            caller: the program that would ask.
            replaces: the number of the turn in whose place the conversation would go on. Sections that count or search
                turns still find those that would be replaced.
            reader: the model that it is made for; None leaves the framing open.
            opening: where it begins; None for where the turn would begin it, before anybody looks whether it fits.

        Raises:
            UsageError: the conversation has no turn of that number.
        """
        turn, before, stored = await self.next_turn(asked, replaces=replaces)
        if opening is None:
            opening = await self.opening(turn, before, stored, reader=reader)
        return await self.for_turn(turn, before, opening=opening, caller=caller, reader=reader)

    async def preview_foreign(
        self,
        history: tuple[Message, ...],
        turn: tuple[Message, ...],
        *,
        system: str = "",
        tools: tuple[AnyTool, ...] = (),
        reader: Reader | None = None,
    ) -> BuiltWindow:
        """The window for a conversation that is not in the store.

        Args:
            system: the conversation's own system prompt; it follows the persona.
            tools: the conversation's own tools.
            reader: the model that it is made for; None leaves the framing open.
        """
        context = TurnContext(
            conversation=_FOREIGN,
            turn=len(history) // 2 + 1,
            now=self._clock.now(),
            message=turn[0].text,
        )
        continuum = Continuum(history, (), (), None, None)
        caller = Caller(system)
        composed = await self._composed_for(context, caller)
        window = self._window(context, History(history), turn, reader, composed.sections, tools)
        return BuiltWindow(window, context, continuum, composed.failures, composed.shortened, caller=caller)

    def _window(
        self,
        context: TurnContext,
        history: History,
        turn: tuple[Message, ...],
        reader: Reader | None,
        sections: tuple[Section, ...],
        tools: tuple[AnyTool, ...],
    ) -> Window:
        system = [section for section in sections if section.placement == PLACEMENT_SYSTEM]
        return Window(
            cached_system=join_sections(section for section in system if section.cache_policy),
            uncached_system=join_sections(section for section in system if not section.cache_policy),
            history=history,
            notification_center=render_notification_center(
                section for section in sections if section.placement == PLACEMENT_NOTIFICATION
            ),
            turn=turn,
            sections=sections,
            tools=tools,
            framing=None if reader is None else reader.framing,
            conversation=context.conversation,
        )

    async def _composed_for(self, context: TurnContext, caller: Caller) -> SystemPromptComposedEvent:
        event = ComposeSystemPromptEvent(context, build_base_prompt(caller.persona_behind(self._persona)))
        # One at a time: the bus, the trinkets and the composer behind it hold one prompt.
        async with self._composing:
            return await self._compose(event)

    async def _compose(self, event: ComposeSystemPromptEvent) -> SystemPromptComposedEvent:
        self._composed.clear()
        failures = await self._bus.publish(event)
        if not self._composed:
            reason = f": {failures[0].error}" if failures else "; register a WorkingMemory on this bus"
            raise RunError(f"the prompt was not composed{reason}")
        composed = self._composed.pop()
        for failure in composed.failures:
            if failure.required:
                raise RequiredSectionFailed(failure.section, failure.reason)
        return composed


def _name(reader: Reader | None) -> str | None:
    return None if reader is None else reader.name


def _tokens(messages: Sequence[Message]) -> int:
    return sum(estimate_tokens(message_text(message)) for message in messages)


def _profile(reader: Reader | None) -> Profile | None:
    return None if reader is None else reader.profile
