"""The turns of all people and conversations of one server: one at a time in each conversation, the others beside it.

A turn runs whether or not somebody listens. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeAlias

from frontmind.assistant.caller import NOBODY, Caller
from frontmind.assistant.going_back import Place
from frontmind.assistant.report import ToolEnded, TurnReport
from frontmind.errors import FrontmindError
from frontmind.events.background import Background
from frontmind.events.outlasting import despite_cancelling
from frontmind.providers.protocol import Model
from frontmind.server.attempts import Attempts
from frontmind.server.errors import Problem, problem_of
from frontmind.server.identity import Person
from frontmind.server.limits import Limits
from frontmind.server.person_events import Changed, PersonEvents, Thing, TurnMoved
from frontmind.server.replies import Accepted, KeptReplies, Reply, ReplyDone, ReplyFailed
from frontmind.server.sessions import Home, Session, Sessions, Setting
from frontmind.server.telling import Telling
from frontmind.stores.protocols import Store
from frontmind.values.clock import Clock
from frontmind.values.message import Message
from frontmind.values.parts import ToolResult
from frontmind.values.people import PersonSettings

logger = logging.getLogger(__name__)

KEPT_SECONDS: Final = 120.0
"""How long the events of a reply are kept behind its end; whoever comes later gets the whole turn."""

_SAID_SECONDS: Final = 600.0
"""How long a message that its client has marked is not said again."""

_ELSEWHERE_SECONDS: Final = 10.0
"""How long a turn waits, when its caller does not want to, for one that another process runs in the conversation."""

_SUMMARIES: Final = timedelta(seconds=5)
"""How long a server waits at its end for what a model was asked beside the turns; it is asked again otherwise."""

Turning: TypeAlias = Callable[[Session, Reply], Awaitable[TurnReport]]
"""Runs a turn and lets the reply have what happens."""

Noting: TypeAlias = Callable[[Reply, ReplyDone | ReplyFailed], Coroutine[Any, Any, None]]
"""Notes what a turn came to before anybody hears of it, and before another begins in the conversation. It is short."""


@dataclass(slots=True)
class _Line:
    """Those that want a turn in one conversation, in their order."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    count: int = 0


class Hub:
    """Runs the turns of a server.

    Args:
        setting: what all assistants have in common.
        limits: how many turns may run at the same time.

    Attributes:
        said: messages that their clients have marked, lately.
    """

    def __init__(self, setting: Setting, *, limits: Limits | None = None) -> None:
        self.setting = setting
        self.limits = limits or Limits()
        self.events = PersonEvents(int(setting.clock.now().timestamp() * 1000))
        self.sessions = Sessions(setting, on_memories=lambda owner: self.events.publish(owner, Changed(Thing.MEMORIES)))
        self.telling = Telling(self.events, self.sessions)
        self.said: Attempts[Accepted] = Attempts(_SAID_SECONDS)
        self._lines: dict[tuple[str, str], _Line] = {}
        self._turns: Counter[str] = Counter()
        self._running: dict[tuple[str, str], Reply] = {}
        self._replies = KeptReplies(KEPT_SECONDS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._background = Background(logger.error)
        self._is_closing = False
        self._hurry = asyncio.Event()

    @property
    def model(self) -> Model:
        """Who answers."""
        return self.setting.model

    @property
    def is_closing(self) -> bool:
        """Whether no new turns are taken any more."""
        return self._is_closing

    def store_of(self, person: Person) -> Store:
        """What is kept for this person."""
        return self.sessions.store_of(person)

    async def clock_of(self, person: Person) -> Clock:
        """The clock in the person's zone."""
        return self.sessions.clock_for(await self.store_of(person).settings())

    def session(self, person: Person, conversation: str) -> AbstractAsyncContextManager[Session]:
        """The assistant of this conversation; it stays open at least as long as the context."""
        return self.sessions.session(person, conversation)

    def home(self, person: Person) -> AbstractAsyncContextManager[Home]:
        """What the person's conversations share, such as the search; it stays open at least as long as the context."""
        return self.sessions.home(person)

    async def save_settings(self, person: Person, settings: PersonSettings) -> None:
        """Keep the person's settings; what is said from now on goes by them."""
        await self.store_of(person).save_settings(settings)
        self.sessions.renew(person)
        self.events.publish(person.owner, Changed(Thing.SETTINGS))

    async def begin(
        self,
        person: Person,
        conversation: str,
        message: Message,
        *,
        caller: Caller = NOBODY,
        place: Place | None = None,
        wait: bool = False,
        noting: Noting | None = None,
    ) -> Reply:
        """Begin a turn. Who gives up waiting for this has said nothing.

        Args:
            place: where in the conversation it begins; None for its end.
            wait: whether to wait for turns that run in the conversation, or come before.
            noting: told what the turn came to.

        Returns:
            The reply, when the message is on disk, or the turn has failed before.

        Raises:
            Problem: one runs already, and ``wait`` was not said; too many run; the server is ending.
        """

        async def run(session: Session, reply: Reply) -> TurnReport:
            return await session.orchestrator.run_turn(
                message,
                caller=caller,
                place=place,
                on_accepting=reply.accepting,
                on_text=reply.add_text,
                on_event=reply.add,
            )

        return await self._begin(person, conversation, run, wait=wait, noting=noting)

    async def resume(
        self,
        person: Person,
        conversation: str,
        results: Sequence[ToolResult],
        *,
        caller: Caller,
        wait: bool = False,
        noting: Noting | None = None,
    ) -> Reply:
        """Go on with the turn that waits for these results of its caller's tools; otherwise as `begin`."""

        async def run(session: Session, reply: Reply) -> TurnReport:
            return await session.orchestrator.continue_turn(
                results,
                caller=caller,
                on_accepting=reply.accepting,
                on_text=reply.add_text,
                on_event=reply.add,
            )

        return await self._begin(person, conversation, run, wait=wait, noting=noting)

    def running(self, person: Person, conversation: str) -> Reply | None:
        """The turn that runs in this conversation."""
        return self._running.get((person.owner, conversation))

    def waiting(self, person: Person, conversation: str) -> int:
        """How many turns run or wait in this conversation."""
        line = self._lines.get((person.owner, conversation))
        return 0 if line is None else line.count

    def reply(self, person: Person, conversation: str, turn: int) -> Reply | None:
        """The events of this turn, from its acceptance on and as long as they are kept."""
        return self._replies.find(person, conversation, turn)

    @property
    def kept(self) -> int:
        """Of how many replies the events are kept."""
        return self._replies.count

    def forget_replies(self) -> None:
        """Keep the events of no reply that has ended; who comes for them gets the whole turn."""
        self._replies.forget(0.0)

    @asynccontextmanager
    async def running_server(self) -> AsyncIterator[None]:
        """Tell people of reminders, and close what nobody uses, as long as the context is open; then end at once, if
        `shut_down` was not called before.
        """
        self._background.start(self.telling.run(), "telling of reminders")
        self._background.start(self._let_go(), "closing what nobody uses")
        try:
            yield
        finally:
            await self.shut_down(0.0)

    async def shut_down(self, grace: float) -> None:
        """Take no new turns; let those that run come to their end for so many seconds, then stop them, keeping what
        was said; let all listeners go, and close all sessions. Store and model stay their owner's.
        """
        self._is_closing = True
        if self._tasks and grace > 0:
            await self._patiently(asyncio.wait(set(self._tasks)), grace)
        await self.stop_all()
        self.events.close()
        await self._background.close()
        if grace > 0:
            await self._patiently(self.sessions.finish(_SUMMARIES), _SUMMARIES.total_seconds())
        await self.sessions.aclose()

    def hurry(self) -> None:
        """Wait for nothing any more in `shut_down`."""
        self._hurry.set()

    async def _patiently(self, work: Coroutine[Any, Any, object], seconds: float) -> None:
        """Wait for the work, but no longer than so many seconds, and not when there is hurry."""
        tasks = {asyncio.ensure_future(work), asyncio.ensure_future(self._hurry.wait())}
        try:
            await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def stop_all(self) -> None:
        """Stop every turn that runs; what was said is kept."""
        while self._tasks:
            tasks = set(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._tasks -= tasks

    async def _begin(
        self, person: Person, conversation: str, run: Turning, *, wait: bool, noting: Noting | None
    ) -> Reply:
        key = (person.owner, conversation)
        self._check_limits(key, wait=wait)
        line = self._lines.setdefault(key, _Line())
        line.count += 1
        self._turns[person.owner] += 1
        try:
            await line.lock.acquire()
        except asyncio.CancelledError:
            self._leave(key)
            raise
        if self._is_closing:
            line.lock.release()
            self._leave(key)
            raise _shutting_down()
        reply = Reply(person, conversation, on_accepted=self._accepted)
        task = asyncio.get_running_loop().create_task(self._run(reply, run, noting), name=f"a turn of {conversation!r}")
        self._running[key] = reply
        reply.run(task)
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._ended(done, reply))
        await self._await_acceptance(reply, None if wait else _ELSEWHERE_SECONDS)
        return reply

    def _check_limits(self, key: tuple[str, str], *, wait: bool) -> None:
        if self._is_closing:
            raise _shutting_down()
        line = self._lines.get(key)
        if line is not None and not wait:
            raise _busy()
        if line is not None and line.count > self.limits.waiting:
            raise _too_many("too many messages wait in this conversation")
        if self._turns[key[0]] >= self.limits.turns_of_one:
            raise _too_many("too many of your turns run at the same time")
        if self._turns.total() >= self.limits.turns:
            raise _too_many("too many turns run on this server")

    async def _await_acceptance(self, reply: Reply, seconds: float | None) -> None:
        """Wait until the turn is accepted or has failed; another process may hold the conversation.

        Raises:
            Problem: it does so for longer than these seconds.
        """
        try:
            async with asyncio.timeout(seconds):
                await reply.accepted_or_ended()
        except (TimeoutError, asyncio.CancelledError) as given_up:
            reply.withdraw()
            await despite_cancelling(reply.accepted_or_ended())
            # What is on disk was said, and nobody may be told otherwise.
            if reply.turn is None:
                raise _busy() if isinstance(given_up, TimeoutError) else given_up from None

    async def _run(self, reply: Reply, run: Turning, noting: Noting | None) -> None:
        last = await self._last(reply, run)
        if noting is not None:
            await despite_cancelling(noting(reply, last))
        self._end(reply, last)

    async def _last(self, reply: Reply, run: Turning) -> ReplyDone | ReplyFailed:
        try:
            async with self.sessions.session(reply.person, reply.conversation) as session:
                self.sessions.note_waiting(session, False)
                report = await run(session, reply)
                self.sessions.note_waiting(session, bool(report.waits_for))
        except Problem as problem:
            return ReplyFailed(problem)
        except FrontmindError as error:
            return ReplyFailed(problem_of(error))
        except asyncio.CancelledError:
            return ReplyFailed(_stopped())
        return ReplyDone(report)

    def _accepted(self, reply: Reply) -> None:
        assert reply.turn is not None
        self._replies.add(reply)
        self.events.publish(reply.person.owner, TurnMoved(reply.conversation, reply.turn, "began"))

    def _end(self, reply: Reply, last: ReplyDone | ReplyFailed) -> None:
        """Free the conversation, and then say that the turn has ended: whoever hears of it may say the next thing."""
        key = (reply.person.owner, reply.conversation)
        del self._running[key]
        self._lines[key].lock.release()
        self._leave(key)
        reply.end(last)
        if reply.turn is not None:
            self._replies.note_end(reply)
            self.events.publish(reply.person.owner, TurnMoved(reply.conversation, reply.turn, "ended"))
            self.events.publish(reply.person.owner, Changed(Thing.CONVERSATIONS))
            if any(isinstance(event, ToolEnded) for event in reply.behind(0)):
                self._tools_ran(reply.person.owner)

    def _tools_ran(self, owner: str) -> None:
        """Any of them may have changed these."""
        self.events.publish(owner, Changed(Thing.REMINDERS))
        self.events.publish(owner, Changed(Thing.DOCUMENTS))
        self.telling.wake()

    def _ended(self, task: asyncio.Task[None], reply: Reply) -> None:
        self._tasks.discard(task)
        if reply.ended:
            return
        if task.cancelled():
            # Before its first step: nothing was accepted.
            self._end(reply, ReplyFailed(_stopped()))
            return
        logger.error("a turn failed", exc_info=task.exception())
        reason = "the turn failed for a reason that nobody foresaw; whoever runs the server finds it in the log"
        self._end(reply, ReplyFailed(Problem(500, "internal", reason)))

    def _leave(self, key: tuple[str, str]) -> None:
        line = self._lines[key]
        line.count -= 1
        if not line.count:
            del self._lines[key]
        self._turns[key[0]] -= 1
        if not self._turns[key[0]]:
            del self._turns[key[0]]

    async def _let_go(self) -> None:
        while True:
            await asyncio.sleep(60)
            self.sessions.let_go()
            self._replies.forget()


def _busy() -> Problem:
    return Problem(409, "conversation_busy", "a turn is running in this conversation; wait for it, or stop it")


def _stopped() -> Problem:
    return Problem(409, "stopped", "the turn was stopped; what had been said is kept")


def _shutting_down() -> Problem:
    return Problem(503, "shutting_down", "the server is ending; try again in a moment", headers={"Retry-After": "5"})


def _too_many(what: str) -> Problem:
    return Problem(429, "too_many_requests_at_once", f"{what}; wait for one to end", headers={"Retry-After": "2"})
