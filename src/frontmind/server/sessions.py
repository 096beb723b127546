"""The assistants of a server that are open: one for each conversation, and what the conversations of a person share.

Those that were used last stay open. One that is in use is never closed. Knows nothing of turns and of HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from frontmind.assistant.keep_alive import KeepAlive
from frontmind.assistant.notices import Notices
from frontmind.assistant.orchestrator import Orchestrator
from frontmind.assistant.recalling import OwnerRecalling, RecallOptions, build_owner_recalling
from frontmind.assistant.wiring import Mind, build_keep_alive, build_mind, build_orchestrator
from frontmind.events.background import Background
from frontmind.providers.protocol import Model
from frontmind.server.identity import Person
from frontmind.stores.protocols import Store
from frontmind.tools.tool import RunnableTool
from frontmind.trinkets import ToolDescription
from frontmind.values.clock import Clock, SystemClock, find_zone
from frontmind.values.people import PersonSettings
from frontmind.working_memory.base_prompt import DEFAULT_PERSONA

_MOST_SESSIONS: Final = 256
_IDLE_SECONDS: Final = 600.0
_WAITING_SECONDS: Final = 3600.0
"""A conversation whose turn waits for its caller is closed later: its caller is a program, and comes back soon."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all the assistants of a server have in common.

    Attributes:
        store: of the owner without a name; the others' are reached through it.
        model: who answers.
        clock: of people who have set no zone.
        clock_in: the clock in a zone that somebody has set.
        descriptions: what the model should know that the person can do.
        recall: how is searched.
        loadable: tools of which the model is told a line each.
        loading: whether there are servers of such tools, also when none of them has come.
        locks: a folder where processes see that one of them writes a document's file.
        chooses_layout: whether the layout of windows follows from how a conversation runs.
        keep_alive: how often in a row the provider's cache is refreshed while nobody says anything.
        most_sessions: how many conversations stay open that nobody uses.
    """

    store: Store
    model: Model
    clock: Clock
    clock_in: Callable[..., Clock] = SystemClock
    descriptions: Sequence[ToolDescription] = ()
    recall: RecallOptions = field(default_factory=RecallOptions)
    loadable: Sequence[RunnableTool] = ()
    loading: bool = False
    locks: Path | None = None
    chooses_layout: bool = False
    keep_alive: int = 0
    most_sessions: int = _MOST_SESSIONS


@dataclass(slots=True)
class Home:
    """What the conversations of one person share.

    Attributes:
        recalling: what searches all that was said and kept, and embeds it.
        background: where the embedding runs.
        users: who uses it at present, conversations that are open included.
        used_at: when the last of them left, in the seconds of the timer.
    """

    person: Person
    store: Store
    recalling: OwnerRecalling
    background: Background
    users: int = 0
    used_at: float = 0.0

    @property
    def notices(self) -> Notices:
        """What went on beside the turns and the person should know."""
        return self.recalling.notices

    async def aclose(self) -> None:
        """End what goes on in the background."""
        await self.background.close()
        await self.recalling.indexer.close()


@dataclass(frozen=True, slots=True)
class Session:
    """The assistant of one person in one conversation."""

    person: Person
    conversation: str
    store: Store
    model: Model
    clock: Clock
    mind: Mind
    orchestrator: Orchestrator
    refreshes: KeepAlive
    home: Home

    async def aclose(self) -> None:
        """End what goes on in the background, and detach everything."""
        await self.refreshes.aclose()
        await self.mind.aclose()


@dataclass(slots=True)
class _Held:
    session: Session
    used_at: float
    users: int = 0
    waits: bool = False
    outdated: bool = False


class Sessions:
    """Opens sessions, and closes those that nobody has used for long.

    Args:
        timer: seconds from an arbitrary start.
        on_memories: told whose memories were extracted anew, beside the turns.
    """

    def __init__(
        self,
        setting: Setting,
        *,
        timer: Callable[[], float] = time.monotonic,
        on_memories: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._setting = setting
        self._on_memories = on_memories
        self._timer = timer
        self._held: OrderedDict[tuple[str, str], _Held] = OrderedDict()
        self._homes: dict[str, Home] = {}
        self._changes = 0
        self._closing = Background()

    @property
    def open(self) -> int:
        """How many conversations are open."""
        return len(self._held)

    def store_of(self, person: Person) -> Store:
        """What is kept for this person."""
        return self._setting.store.of(person.owner)

    def clock_for(self, settings: PersonSettings) -> Clock:
        """The clock of a person with these settings."""
        return self._setting.clock_in(find_zone(settings.timezone)) if settings.timezone else self._setting.clock

    @asynccontextmanager
    async def home(self, person: Person) -> AsyncIterator[Home]:
        """What the person's conversations share; it stays open at least as long as the context."""
        home = self._home(person)
        home.users += 1
        try:
            yield home
        finally:
            self._leave(home)

    @asynccontextmanager
    async def session(self, person: Person, conversation: str) -> AsyncIterator[Session]:
        """The assistant of this conversation; it stays open at least as long as the context."""
        key = (person.owner, conversation)
        while key not in self._held:
            changes = self._changes
            settings = await self.store_of(person).settings()
            # Nothing is awaited from here on, so nobody else opens it, and nobody has changed what was read.
            if key not in self._held and changes == self._changes:
                self._held[key] = _Held(self._open(person, conversation, settings), self._timer())
        held = self._held[key]
        held.users += 1
        self._held.move_to_end(key)
        try:
            yield held.session
        finally:
            held.users -= 1
            held.used_at = self._timer()
            if held.outdated and not held.users:
                self._close(held)
            if len(self._held) > self._setting.most_sessions:
                self.let_go()

    def note_waiting(self, session: Session, waits: bool) -> None:
        """Note whether a turn of the session waits for its caller."""
        held = self._held.get((session.person.owner, session.conversation))
        if held is not None and held.session is session:
            held.waits = waits

    def renew(self, person: Person) -> None:
        """The person's settings are others: conversations are opened anew, those in use as soon as they are not."""
        self._changes += 1
        for key in [key for key in self._held if key[0] == person.owner]:
            held = self._held.pop(key)
            held.outdated = True
            if not held.users:
                self._close(held)

    def let_go(self) -> None:
        """Close what nobody has used for long, and of more than are kept those that were used longest ago."""
        now = self._timer()
        too_many = len(self._held) - self._setting.most_sessions
        for key, held in list(self._held.items()):
            rested = _WAITING_SECONDS if held.waits or held.session.mind.recalling.background.running else _IDLE_SECONDS
            if not held.users and (too_many > 0 or now - held.used_at >= rested):
                del self._held[key]
                too_many -= 1
                self._close(held)
        for owner, home in list(self._homes.items()):
            if not home.users and now - home.used_at >= _IDLE_SECONDS:
                del self._homes[owner]
                self._closing.start(home.aclose(), "closing what recalls")

    def take_notices(self, owner: str) -> list[str]:
        """What went on beside this person's turns and was not taken yet, a line each."""
        home = self._homes.get(owner)
        return [] if home is None else home.notices.take()

    async def finish(self, within: timedelta) -> None:
        """Let what a model was asked beside the turns come to its end: it is paid for, and would be asked again."""
        keepers = [held.session.mind.recalling.segments for held in self._held.values()]
        await asyncio.gather(*(keeper.finish(within) for keeper in keepers))

    async def aclose(self) -> None:
        """Close all of them, whoever uses them."""
        while self._held:
            _, held = self._held.popitem()
            self._close(held)
        while self._closing.running:
            await self._closing.wait()
        while self._homes:
            _, home = self._homes.popitem()
            await home.aclose()

    def _home(self, person: Person) -> Home:
        home = self._homes.get(person.owner)
        if home is None:
            store, notices = self.store_of(person), Notices()
            # One person's notices are no other's.
            recalling = build_owner_recalling(
                replace(self._setting.recall, notices=notices),
                store=store,
                changed=lambda: self._on_memories(person.owner),
            )
            home = self._homes[person.owner] = Home(person, store, recalling, Background(notices.add))
            recalling.start(home.background)
        return home

    def _leave(self, home: Home) -> None:
        home.users -= 1
        home.used_at = self._timer()

    def _close(self, held: _Held) -> None:
        async def close() -> None:
            try:
                await held.session.aclose()
            finally:
                self._leave(held.session.home)

        self._closing.start(close(), f"closing {held.session.conversation}")

    def _open(self, person: Person, conversation: str, settings: PersonSettings) -> Session:
        setting, home = self._setting, self._home(person)
        clock, store, model = self.clock_for(settings), home.store, setting.model
        persona = "\n\n".join(text for text in (DEFAULT_PERSONA, settings.instructions.strip()) if text)
        mind = build_mind(
            store=store,
            clock=clock,
            descriptions=setting.descriptions,
            # They act as whoever started the server: as nobody else.
            loadable=() if person.owner else setting.loadable,
            loading=setting.loading and not person.owner,
            conversation=conversation,
            persona=persona,
            locks=setting.locks,
            recall=replace(setting.recall, shared=home.recalling),
            chooses_layout=setting.chooses_layout,
        )
        refreshes = build_keep_alive(
            mind,
            store=store,
            model=model,
            clock=clock,
            most=setting.keep_alive,
            conversation=conversation,
            tell=home.notices.add,
        )
        orchestrator = build_orchestrator(
            mind, store=store, model=model, clock=clock, conversation=conversation, keep_alive=refreshes
        )
        mind.start()
        home.users += 1
        return Session(person, conversation, store, model, clock, mind, orchestrator, refreshes, home)
