"""Builds the window of a turn from what the trinkets say and what the store has. Knows no model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from frontmind.continuum.history import Continuum, read_turns
from frontmind.errors import RequiredSectionFailed, RunError
from frontmind.events import ComposeSystemPromptEvent, EventBus, SystemPromptComposedEvent, TurnContext
from frontmind.stores.protocols import ConversationStore
from frontmind.values.clock import Clock
from frontmind.values.message import Message, Role, user
from frontmind.values.records import Turn
from frontmind.values.section import SectionFailure
from frontmind.window.window import Window
from frontmind.working_memory.base_prompt import build_base_prompt

# The store has nothing under this name, so what it has of its own conversation does not mix in.
_FOREIGN = "(a conversation that is not in the store)"


@dataclass(frozen=True, slots=True)
class BuiltWindow:
    """A window and what it was made from."""

    window: Window
    context: TurnContext
    continuum: Continuum
    failures: tuple[SectionFailure, ...]


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
        self._unsubscribe = bus.subscribe(SystemPromptComposedEvent, self._composed.append)

    def close(self) -> None:
        """Stop listening on the bus."""
        self._unsubscribe()

    async def read(self) -> tuple[Sequence[Turn], int]:
        """The turns that a window can need, by number, and the number of the first that is sent."""
        start = await self._store.window_start(self._conversation)
        # One more than is sent: when every turn has left the window, the time since the last one is still known.
        return await self._store.turns(self._conversation, since=max(1, start - 1)), start

    async def for_turn(self, turn: Turn, before: Sequence[Turn], *, window_start: int) -> BuiltWindow:
        """The window of a turn that was begun.

        Args:
            turn: the open turn.
            before: the turns before it, as `read` gave them.
            window_start: the number of the first turn that is sent.

        Raises:
            RequiredSectionFailed: a required trinket failed.
        """
        continuum = read_turns([*before, turn], window_start=window_start)
        context = TurnContext(
            conversation=self._conversation,
            turn=turn.number,
            now=turn.asked_at.astimezone(self._clock.zone),
            message=turn.user.text,
            previous_message_at=read_turns(before).previous_message_at,
            window_start=window_start,
        )
        return await self._build(context, continuum, (Message(Role.USER, continuum.unanswered),))

    async def preview(self, text: str) -> BuiltWindow:
        """The window that the next turn would have with this message. Nothing is stored."""
        turns, start = await self.read()
        continuum = read_turns(turns, window_start=start)
        context = TurnContext(
            conversation=self._conversation,
            turn=turns[-1].number + 1 if turns else 1,
            now=self._clock.now(),
            message=text,
            previous_message_at=continuum.previous_message_at,
            window_start=start,
        )
        current = Message(Role.USER, (*continuum.unanswered, *user(text).parts))
        return await self._build(context, continuum, (current,))

    async def preview_foreign(
        self, history: tuple[Message, ...], turn: tuple[Message, ...], *, system: str = ""
    ) -> BuiltWindow:
        """The window for a conversation that is not in the store.

        Args:
            system: the conversation's own system prompt; it follows the persona.
        """
        context = TurnContext(
            conversation=_FOREIGN,
            turn=len(history) // 2 + 1,
            now=self._clock.now(),
            message=turn[0].text,
        )
        return await self._build(context, Continuum(history, (), None, None), turn, system=system)

    async def _build(
        self, context: TurnContext, continuum: Continuum, turn: tuple[Message, ...], *, system: str = ""
    ) -> BuiltWindow:
        persona = f"{self._persona}\n\n{system}" if system.strip() else self._persona
        # One at a time: the bus, the trinkets and the composer behind it hold one prompt.
        async with self._composing:
            composed = await self._compose(ComposeSystemPromptEvent(context, build_base_prompt(persona)))
        window = Window(
            cached_system=composed.cached_content,
            uncached_system=composed.non_cached_content,
            history=continuum.history,
            notification_center=composed.notification_center,
            turn=turn,
            sections=composed.sections,
        )
        return BuiltWindow(window, context, continuum, composed.failures)

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
