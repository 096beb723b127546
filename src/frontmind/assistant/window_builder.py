"""Builds the window of a turn from what the trinkets say and what the store has. Asks no model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from frontmind.continuum.history import Continuum, read_turns
from frontmind.errors import RequiredSectionFailed, RunError
from frontmind.events import ComposeSystemPromptEvent, EventBus, SystemPromptComposedEvent, TurnContext
from frontmind.stores.protocols import ConversationStore
from frontmind.values.clock import Clock
from frontmind.values.message import Message, Role, user
from frontmind.values.records import Turn
from frontmind.values.section import SectionFailure
from frontmind.values.tool import AnyTool
from frontmind.window.choice import FramingChoice
from frontmind.window.history import History
from frontmind.window.window import Window
from frontmind.working_memory.base_prompt import build_base_prompt

# The store has nothing under this name, so what it has of its own conversation does not mix in.
_FOREIGN = "(a conversation that is not in the store)"


class Reader(Protocol):
    """What a window has to know of the model that will read it."""

    @property
    def name(self) -> str: ...

    @property
    def framing(self) -> FramingChoice: ...


@dataclass(frozen=True, slots=True)
class BuiltWindow:
    """A window and what it was made from."""

    window: Window
    context: TurnContext
    continuum: Continuum
    failures: tuple[SectionFailure, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """The newest history that was made, and the turns that it was made of."""

    turns: tuple[tuple[int, str | None], ...]
    history: History


class WindowBuilder:
    """Asks for the prompt over the bus and puts it together with the conversation.

    Args:
        store: the conversation is read from here.
        bus: the bus that a `WorkingMemory` listens on.
        clock: the clock of previews; a turn brings its own moment.
        conversation: the conversation's name.
        persona: who the assistant is; begins the system prompt.
    """

    def __init__(
        self, *, store: ConversationStore, bus: EventBus, clock: Clock, conversation: str, persona: str
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._conversation = conversation
        self._persona = persona
        self._composing = asyncio.Lock()
        self._composed: list[SystemPromptComposedEvent] = []
        self._known = _Known((), History())
        self._unsubscribe = bus.subscribe(SystemPromptComposedEvent, self._composed.append)

    def close(self) -> None:
        """Stop listening on the bus."""
        self._unsubscribe()

    async def read(self) -> tuple[Sequence[Turn], int]:
        """The turns that a window can need, by number, and the number of the first that is sent."""
        start = await self._store.window_start(self._conversation)
        # One more than is sent: when every turn has left the window, the time since the last one is still known.
        return await self._store.turns(self._conversation, since=max(1, start - 1)), start

    async def for_turn(
        self, turn: Turn, before: Sequence[Turn], *, window_start: int, reader: Reader | None = None
    ) -> BuiltWindow:
        """The window of a turn that was begun.

        Args:
            turn: the open turn.
            before: the turns before it, as `read` gave them.
            window_start: the number of the first turn that is sent.
            reader: the model that it is made for; None leaves the framing open.

        Raises:
            RequiredSectionFailed: a required trinket failed.
        """
        continuum = read_turns([*before, turn], window_start=window_start, model=_name(reader))
        context = TurnContext(
            conversation=self._conversation,
            turn=turn.number,
            now=turn.asked_at.astimezone(self._clock.zone),
            message=turn.user.text,
            previous_message_at=read_turns(before).previous_message_at,
            window_start=window_start,
        )
        return await self._build(context, continuum, (Message(Role.USER, continuum.unanswered),), reader)

    async def preview(self, text: str, *, reader: Reader | None = None, window_start: int | None = None) -> BuiltWindow:
        """The window that the next turn would have with this message. Nothing is stored.

        Args:
            reader: the model that it is made for; None leaves the framing open.
            window_start: the number of the first turn that is sent, if that is later than the conversation's own.
        """
        turns, start = await self.read()
        start = start if window_start is None else max(start, window_start)
        continuum = read_turns(turns, window_start=start, model=_name(reader))
        context = TurnContext(
            conversation=self._conversation,
            turn=turns[-1].number + 1 if turns else 1,
            now=self._clock.now(),
            message=text,
            previous_message_at=continuum.previous_message_at,
            window_start=start,
        )
        current = Message(Role.USER, (*continuum.unanswered, *user(text).parts))
        return await self._build(context, continuum, (current,), reader)

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
        return await self._build(context, continuum, turn, reader, system=system, tools=tools)

    async def _build(
        self,
        context: TurnContext,
        continuum: Continuum,
        turn: tuple[Message, ...],
        reader: Reader | None,
        *,
        system: str = "",
        tools: tuple[AnyTool, ...] = (),
    ) -> BuiltWindow:
        persona = f"{self._persona}\n\n{system}" if system.strip() else self._persona
        # One at a time: the bus, the trinkets and the composer behind it hold one prompt.
        async with self._composing:
            composed = await self._compose(ComposeSystemPromptEvent(context, build_base_prompt(persona)))
        window = Window(
            cached_system=composed.cached_content,
            uncached_system=composed.non_cached_content,
            history=self._history(continuum, _name(reader)),
            notification_center=composed.notification_center,
            turn=turn,
            sections=composed.sections,
            tools=tools,
            framing=None if reader is None else reader.framing,
            conversation=context.conversation,
        )
        return BuiltWindow(window, context, continuum, composed.failures)

    def _history(self, continuum: Continuum, model: str | None) -> History:
        """The history as a continuation of the last one where it is one: what was checked and encoded is not again."""
        # A turn never changes once it is answered, so its id stands for its messages; the model binds their reasoning.
        turns = tuple((turn.id, model) for turn in continuum.turns)
        known = self._known
        if not turns:
            return History(continuum.history)
        if turns[: len(known.turns)] == known.turns:
            history = known.history.extended(*continuum.history[len(known.history) :])
        else:
            history = History(continuum.history)
        self._known = _Known(turns, history)
        return history

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
