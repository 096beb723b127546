"""Working memory: asks the registered trinkets, gathers what they say, and publishes the composed prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from frontmind.errors import UsageError
from frontmind.events import (
    ComposeSystemPromptEvent,
    EventBus,
    HandlerFailure,
    SystemPromptComposedEvent,
    TrinketContentEvent,
    Unsubscribe,
    UpdateTrinketEvent,
)
from frontmind.trinkets.base import EventAwareTrinket, TrinketPlacement
from frontmind.trinkets.markup import Element, render
from frontmind.values.section import PLACEMENT_SYSTEM, SectionFailure
from frontmind.working_memory.composer import BASE_PROMPT_SECTION, SystemPromptComposer


@dataclass(frozen=True, slots=True)
class _Registration:
    detach: Unsubscribe
    placement: str | None
    default_placement: str
    required: bool
    trinket: str


class WorkingMemory:
    """The trinkets of one conversation and the sections they last wrote.

    On `ComposeSystemPromptEvent` it asks all trinkets at the same time, so a turn waits for the slowest and
    not for the sum, and then publishes `SystemPromptComposedEvent`.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._composer = SystemPromptComposer()
        self._registrations: dict[str, _Registration] = {}
        self._failures: dict[str, SectionFailure] = {}
        self._answered: set[str] = set()
        self._spoke: set[str] = set()
        self._shortened: set[str] = set()
        self._subscriptions = (
            bus.subscribe(ComposeSystemPromptEvent, self._compose),
            bus.subscribe(TrinketContentEvent, self._take),
        )

    def register_trinket(
        self,
        trinket: EventAwareTrinket,
        *,
        placement: TrinketPlacement | None = None,
        required: bool = False,
    ) -> Unsubscribe:
        """Let the trinket write its section from the next turn on, until the returned function is called.

        Args:
            trinket: an instance of its own for this working memory.
            placement: where its section stands; None leaves that to the trinket's base class.
            required: the turn fails, visibly, when the trinket does.

        Raises:
            UsageError: another trinket already writes a section of this name.
        """
        name = trinket.section_name
        if name in self._registrations or name == BASE_PROMPT_SECTION:
            raise UsageError(f"there is already a section {name!r}; give the trinket another section_name")
        registration = _Registration(
            detach=trinket.attach(self._bus),
            placement=None if placement is None else placement.value,
            default_placement=trinket.placement.value,
            required=required,
            trinket=type(trinket).__name__,
        )
        self._registrations[name] = registration

        def unregister() -> None:
            # Another trinket may have taken the name since.
            if self._registrations.get(name) is registration:
                del self._registrations[name]
                registration.detach()
                self._composer.remove_section(name)
                self._failures.pop(name, None)
                self._answered.discard(name)
                self._shortened.discard(name)

        return unregister

    @property
    def trinkets(self) -> Mapping[str, str]:
        """The name of each section and the class of the trinket that writes it."""
        return {name: self._registrations[name].trinket for name in sorted(self._registrations)}

    def close(self) -> None:
        """Detach from the bus."""
        for registration in self._registrations.values():
            registration.detach()
        self._registrations.clear()
        for unsubscribe in self._subscriptions:
            unsubscribe()

    async def _compose(self, event: ComposeSystemPromptEvent) -> None:
        self._composer.set_base_prompt(event.base_prompt)
        names = sorted(self._registrations)
        self._spoke.clear()
        outcomes = await asyncio.gather(*(self._bus.publish(UpdateTrinketEvent(name, event.context)) for name in names))
        for name, raised in zip(names, outcomes, strict=True):
            if name not in self._spoke and name in self._registrations:
                self._take(self._silence(name, event.context.now, raised))
        prompt = self._composer.compose()
        await self._bus.publish(
            SystemPromptComposedEvent(
                context=event.context,
                cached_content=prompt.cached_content,
                non_cached_content=prompt.non_cached_content,
                notification_center=prompt.notification_center,
                sections=prompt.sections,
                failures=tuple(self._failures[name] for name in names if name in self._failures),
                shortened=tuple(sorted(self._shortened)),
            )
        )

    def _silence(self, name: str, now: datetime, raised: tuple[HandlerFailure, ...]) -> TrinketContentEvent:
        """What stands in for a trinket that was asked and said nothing: what it said earlier would pass as fresh."""
        reason = type(raised[0].error).__name__ if raised else "it did not answer"
        earlier = self._failures.get(name)
        since = earlier.since if earlier is not None else now.isoformat(timespec="minutes")
        return TrinketContentEvent(
            section=name,
            content=render(Element(name, f"Unavailable since {since[:16].replace('T', ' ')}.")),
            placement=self._registrations[name].default_placement,
            failure=SectionFailure(name, reason, since),
        )

    def _take(self, event: TrinketContentEvent) -> None:
        registration = self._registrations.get(event.section)
        if registration is None:
            return
        self._spoke.add(event.section)
        if event.shortened:
            self._shortened.add(event.section)
        else:
            self._shortened.discard(event.section)
        placement = registration.placement or event.placement
        if event.failure is None:
            self._failures.pop(event.section, None)
            self._answered.add(event.section)
        else:
            self._failures[event.section] = replace(event.failure, required=registration.required)
        content = event.content
        if event.failure is not None and placement == PLACEMENT_SYSTEM:
            # A notice in the system prompt would throw the prompt cache away; the last good bytes stay, even none.
            if event.section in self._answered:
                return
            # Without a moment: it would be another one in each process. The report has it.
            content = render(Element(event.section, "Unavailable."))
        self._composer.add_section(
            event.section,
            content,
            cache_policy=event.cache_policy,
            placement=placement,
            author=event.author,
            observed_at=event.observed_at,
        )
