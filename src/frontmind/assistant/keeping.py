"""What of a turn goes into the store, and when: each step as it happens, the reply at the end, however it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from frontmind.assistant.listening import Heard
from frontmind.assistant.running import RunningTurn
from frontmind.continuum.history import INTERRUPTED, never_given, settled, unanswered
from frontmind.events import EventBus, TurnCompletedEvent
from frontmind.providers.encoding.encode import window_choice
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.profiles.resolve import choose_framing
from frontmind.providers.protocol import Model
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.message import Message, Role, assistant
from frontmind.values.records import Completion, Sent, SentSection, Step, Turn, TurnState
from frontmind.values.section import PLACEMENT_SYSTEM
from frontmind.values.usage import Usage
from frontmind.window.choice import FramingChoice
from frontmind.window.framing import (
    kept_notices,
    kept_turn,
    notification_fingerprint,
    prefix_identity,
    system_fingerprint,
)
from frontmind.window.window import Window

_REFUSED: Final = "Left out: the provider refused to take this result."


class TurnKeeper:
    """Keeps the turns of one conversation in the store.

    Args:
        store: where they are kept.
        model: who answers.
        bus: where the end of a turn is announced.
        clock: tells when something was stored.
        conversation: the conversation's name.
    """

    def __init__(self, *, store: Store, model: Model, bus: EventBus, clock: Clock, conversation: str) -> None:
        self._store = store
        self._model = model
        self._bus = bus
        self._clock = clock
        self._conversation = conversation
        self._saved_texts: Sequence[str] = ()
        self._saved_ids: Sequence[str] = ()

    async def settle(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """Close the turns that were left open behind a call of a tool, as they stand in the history: a process died, or
        a program never came back with the results of its tools.

        To be called under the conversation's lock: nobody else is at work on them.
        """
        kept = []
        for turn in turns:
            closed = settled(turn)
            if closed is not turn:
                closed = await self._close(turn, closed)
            kept.append(closed)
        return kept

    async def _close(self, turn: Turn, closed: Turn) -> Turn:
        last = closed.steps[-1]
        if turn.steps[-1].results is None and last.results is not None:
            await self._store.finish_step(turn.id, last.results)
        system = turn.sent.system if turn.sent is not None else ()
        completion = Completion(
            reply=closed.reply or assistant(INTERRUPTED),
            answered_at=closed.answered_at or closed.asked_at,
            request=last.request,
            model=last.model,
            usage=last.usage,
            interrupted=True,
            # The id of a section's text is its digest.
            system_fingerprint={section.name: section.text for section in system},
            sent=turn.sent,
        )
        return await self._store.complete_turn(turn.id, completion)

    async def what_is_sent(self, running: RunningTurn) -> Sent:
        """What the requests of this turn hold beside the conversation; the texts of the system prompt are stored."""
        window = running.built.window
        choice = self._choice(window)
        system = [section for section in window.sections if section.placement == PLACEMENT_SYSTEM]
        ids = await self._ids([section.content for section in system])
        return Sent(
            notices=kept_notices(window, choice),
            sections=notification_fingerprint(window.sections),
            window_start=running.built.opening.start,
            head=prefix_identity(window, choice),
            system=tuple(
                SentSection(section.name, text_id, section.cache_policy)
                for section, text_id in zip(system, ids, strict=True)
            ),
            framing=choice.framing.value,
            ttl=choice.ttl,
            caller_tools=tuple(sorted(running.built.caller.tool_names)),
            framing_reason=choice.reason if choice.reason != choose_framing(self._model.profile).reason else "",
        )

    async def _ids(self, texts: Sequence[str]) -> Sequence[str]:
        """The ids of the texts; the system prompt of the turn before is stored, and hardly ever another one."""
        if texts != self._saved_texts:
            self._saved_ids = await self._store.save_texts(texts)
            self._saved_texts = texts
        return self._saved_ids

    def _choice(self, window: Window) -> FramingChoice:
        return window_choice(window, self._model.profile, self._model.framing)

    async def begin_step(self, running: RunningTurn, said: Message, usage: Usage) -> None:
        """Store what the model said, before its tools run."""
        step = Step(said, running.request_hash, self._model.name, usage)
        await self._store.begin_step(running.turn.id, step, sent=running.sent)
        running.waits = said
        # What was heard is said by the step; what follows is another reply.
        running.heard = Heard()

    async def finish_step(self, running: RunningTurn, said: Message, results: Message) -> None:
        """Store what the tools gave back, as soon as they have."""
        await self._store.finish_step(running.turn.id, results)
        running.waits = None
        running.steps.append((said, results))

    async def complete_step(self, running: RunningTurn, results: Message) -> None:
        """Store the results of the newest step in the place of those that it has so far."""
        await self._store.finish_step(running.turn.id, results)
        running.steps[-1] = (running.steps[-1][0], results)

    async def note_steps(self, running: RunningTurn, *, since: int) -> None:
        """Store what the framing keeps beside the results of the steps from the number ``since`` on, if anything."""
        results = kept_turn(running.window, self._choice(running.window))[2::2]
        for number in range(since, len(running.steps) + 1):
            if running.kept.get(number, running.steps[number - 1][1]) != results[number - 1]:
                await self._store.finish_step(running.turn.id, results[number - 1], step=number)
                running.kept[number] = results[number - 1]

    async def refuse_results(self, running: RunningTurn) -> None:
        """Put a line in the place of the newest results, which the provider does not take. The request that held
        them stays in the store.
        """
        said, _ = running.steps.pop()
        await self.finish_step(running, said, Message(Role.USER, unanswered(said, _REFUSED)))

    async def keep_interrupted(self, running: RunningTurn) -> None:
        """Keep the reply that was cut off, and what tools have done; without any of it the turn stays open, and its
        message waits for the next one.
        """
        text = running.heard.text
        if running.waits is not None:
            results = never_given(running.waits, running.sent.caller_tools)
            await self.finish_step(running, running.waits, Message(Role.USER, results))
        if not text.strip() and not running.steps:
            return
        # Estimated: the model may be the very thing that failed.
        usage = Usage(estimate_request(running.request), 0, 0, estimate_tokens(text), estimated=True)
        await self.keep(running, assistant(text if text.strip() else INTERRUPTED), usage, interrupted=True)

    async def keep(self, running: RunningTurn, reply: Message, usage: Usage, *, interrupted: bool) -> None:
        """Store the reply and all that became true with it, and announce it."""
        completion = Completion(
            reply=reply,
            answered_at=self._clock.now(),
            request=running.request_hash,
            model=self._model.name,
            usage=usage,
            interrupted=interrupted,
            system_fingerprint=system_fingerprint(running.built.window),
            sent=running.sent,
            refuses=tuple(earlier.id for earlier in running.set_aside if earlier.state is TurnState.OPEN),
            opening=running.built.opening,
        )
        await self._store.complete_turn(running.turn.id, completion)
        await self._bus.publish(
            TurnCompletedEvent(running.built.context, running.turn.user, reply, usage, completion.answered_at)
        )
