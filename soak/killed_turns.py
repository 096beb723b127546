"""Kills a running assistant at a random point of a turn with tools, again and again, and looks at what is left.

    python -m soak.killed_turns --runs 1000

Each run is a process of its own that takes turns on one SQLite file until it is killed with SIGKILL; then another
process opens the file and checks the promises: no accepted message is lost, no slot of a reminder is told twice or
never, the file is whole, and the history encodes for every provider. Every few runs a new file is begun. Nothing here
knows how the store or the orchestrator do it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import select
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from frontmind.assistant.wiring import build_mind, build_orchestrator
from frontmind.providers.names import parse_model_name
from frontmind.providers.opening import select_model
from frontmind.providers.protocol import Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.reminders.schedule import slots
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text, ToolCall
from frontmind.values.records import Delivery, Line, Reminder, Turn, TurnState
from frontmind.window.canonical import canonical_text

ZONE: Final = ZoneInfo("Europe/Berlin")
START: Final = datetime(2026, 11, 30, 9, 0, tzinfo=ZONE)
STEP: Final = timedelta(hours=2, minutes=17)
MODELS: Final = (
    "anthropic:claude-sonnet-4-5",
    "anthropic:claude-opus-5-5",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "openai:gpt-5.5",
    "gemini:gemini-3-pro",
    "deepseek:deepseek-chat",
    "openrouter:anthropic/claude-sonnet-4.6",
    "ollama:qwen3",
    "local",
)
PLAYED: Final = ("anthropic:claude-sonnet-4-5", "deepseek:deepseek-chat", "openai:gpt-5.5")
"""The models whose framing the turns are taken in: one that slides and two that keep."""
RUNS_ON_ONE_FILE: Final = 12


@dataclass
class SteppedClock:
    """A clock that stands still until the next turn."""

    moment: datetime

    @property
    def zone(self) -> ZoneInfo:
        return ZONE

    def now(self) -> datetime:
        return self.moment


@dataclass
class Promises:
    """What the killed processes of one file have said that they did, and how many they were."""

    accepted: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    killed: int = 0

    def take(self, line: str) -> None:
        kind, _, what = line.partition(" ")
        (self.accepted if kind == "accepted" else self.told).append(what)


@dataclass(frozen=True)
class Seen:
    """What was found on a file, or on several together.

    Attributes:
        turns, closed: stored turns, and those of them that a kill had broken off behind a tool call.
        calls: calls of tools in them.
        deliveries: slots of reminders that were told.
        cut: those of them that were claimed in the store and cut off by the kill before they were said.
        versions: texts of the document beyond the first.
    """

    turns: int = 0
    closed: int = 0
    calls: int = 0
    deliveries: int = 0
    cut: int = 0
    versions: int = 0

    def __add__(self, other: Seen) -> Seen:
        return Seen(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


class TellingStore(SqliteStore):
    """Says on a pipe that a message was accepted, as soon as the store has returned."""

    pipe = -1

    async def begin_turn(
        self, conversation: str, message: Message, at: datetime, *, segment_pause: timedelta, line: Line | None = None
    ) -> Turn:
        turn = await super().begin_turn(conversation, message, at, segment_pause=segment_pause, line=line)
        tell(self.pipe, f"accepted {message.text}")
        return turn


def tell(pipe: int, line: str) -> None:
    os.write(pipe, f"{line}\n".encode())


class Script:
    """Replies of a model that uses tools: a few calls, some at once, then words."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def __call__(self, request: Request) -> str | Message:
        if self._random.random() < 0.35:
            return "Done, and some words more about it."
        calls = [self._call() for _ in range(self._random.randint(1, 3))]
        parts = [ToolCall(f"c{number}", name, canonical_text(fields)) for number, (name, fields) in enumerate(calls)]
        return Message(Role.ASSISTANT, (Text("Let me see. "), *parts))

    def _call(self) -> tuple[str, dict[str, Any]]:
        number = self._random.randint(1, 6)
        hour = self._random.randint(0, 23)
        return self._random.choice(
            [
                ("add_reminder", {"text": "call Anna", "due": f"2026-12-0{number}T{hour:02}:00"}),
                ("add_reminder", {"text": "water", "due": "2026-12-01T08:00", "rrule": "FREQ=HOURLY;INTERVAL=3"}),
                ("complete_reminder", {"id": f"r{number}"}),
                ("snooze_reminder", {"id": f"r{number}", "until": f"2026-12-0{number}T{hour:02}:30"}),
                ("list_reminders", {}),
                (
                    "edit_document",
                    {"name": "plans", "operation": "append_to_section", "section": "Now", "text": "more"},
                ),
                ("no_such_tool", {}),
            ]
        )


async def take_turns(path: Path, pipe: int, seed: int) -> None:
    """Take turns for ever, each some minutes after the last."""
    source = random.Random(seed)
    store = TellingStore.open(path)
    assert isinstance(store, TellingStore)
    store.pipe = pipe
    asked = len(await store.turns("main"))
    clock = SteppedClock(START + asked * STEP)
    model = select_model(parse_model_name(PLAYED[seed % len(PLAYED)]))
    scripted = ScriptedModel(Script(source), profile=model.profile, framing=model.framing, name=str(model.name))
    mind = build_mind(store=store, clock=clock)
    if not await store.documents():
        await store.put_document("plans", "# Now\n\nnothing\n", clock.now())
    orchestrator = build_orchestrator(mind, store=store, model=scripted, clock=clock, timer=lambda: 0.0)
    while True:
        await mind.reminders.deliver_due(lambda announcement: tell(pipe, f"told {line_of(announcement.delivery)}"))
        clock.moment += STEP
        await orchestrator.run_turn(f"message {seed}.{asked}")
        asked += 1


def line_of(delivery: Delivery) -> str:
    slot = delivery.slot
    return f"r{delivery.reminder} {slot.astimezone(UTC) if isinstance(slot, datetime) else slot}"


async def check(path: Path, promises: Promises) -> Seen:
    """What is on the file, when every promise holds.

    Raises:
        AssertionError: one does not.
    """
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "the file is damaged"
    store = SqliteStore.open(path)
    turns = await store.turns("main")
    stored = Counter(turn.user.text for turn in turns)
    lost = [text for text in promises.accepted if stored[text] != 1]
    assert not lost, f"accepted and not there once: {lost}"
    assert not [turn for turn in turns if turn.state is TurnState.REFUSED], "a message was refused"
    twice = [line for line, count in Counter(promises.told).items() if count > 1]
    assert not twice, f"told twice: {twice}"
    clock = SteppedClock(START + len(turns) * STEP)
    mind = build_mind(store=store, clock=clock)
    claimed = [line_of(delivery) for delivery in await store.deliveries()]
    cut = set(claimed) - set(promises.told)
    # A kill can fall between the claim and the notice: that reminder is seen in the notification center.
    assert len(cut) <= promises.killed, f"claimed and never told: {cut}"
    await mind.reminders.deliver_due(lambda announcement: promises.take(f"told {line_of(announcement.delivery)}"))
    await check_deliveries(store, clock.now())
    center = (await mind.builder.preview("and now?")).window.notification_center
    open_ids = {reminder.id for reminder in await store.active_reminders()}
    hidden = [line for line in cut if int(line.split()[0][1:]) in open_ids and f'id="{line.split()[0]}"' not in center]
    assert not hidden, f"neither told nor in the notification center: {hidden}"
    for name in MODELS:
        selection = select_model(parse_model_name(name))
        for framing in sorted(selection.profile.framings):
            chosen = select_model(parse_model_name(name), framing=framing)
            built = await mind.builder.preview("and now?")
            chosen.encode(replace(built.window, framing=None))
    versions = await store.document_versions("plans")
    await store.close()
    steps = [step for turn in turns for step in turn.steps]
    closed = sum(turn.interrupted or (turn.state is TurnState.OPEN and bool(turn.steps)) for turn in turns)
    calls = sum(isinstance(part, ToolCall) for step in steps for part in step.said.parts)
    return Seen(len(turns), closed, calls, len(claimed), len(cut), max(0, len(versions) - 1))


async def check_deliveries(store: SqliteStore, now: datetime) -> None:
    """Check that behind every slot that has come there is a delivery, and one only."""
    deliveries = await store.deliveries()
    for reminder in await store.active_reminders():
        own = [delivery.slot for delivery in deliveries if delivery.reminder == reminder.id]
        assert len(set(own)) == len(own), f"r{reminder.id} has a slot twice"
        newest = newest_slot(reminder, now)
        if newest is not None:
            told = [slot for slot in own if isinstance(slot, datetime) and slot >= newest]
            assert told, f"r{reminder.id} came at {newest} and was never told"


def newest_slot(reminder: Reminder, now: datetime) -> datetime | None:
    """The newest moment at which the reminder has come; None where none has yet."""
    if reminder.snoozed_until is not None:
        return reminder.snoozed_until if reminder.snoozed_until <= now else None
    newest = None
    for slot in slots(reminder):
        if not isinstance(slot, datetime) or slot > now:
            break
        newest = slot if slot >= reminder.due else newest
    return newest


def in_child(work: Callable[[], None]) -> int:
    """Run the work in a forked process; its id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - the other side of a fork must not go on
        traceback.print_exc()
        os._exit(1)


def killed(path: Path, promises: Promises, seed: int, most_seconds: float) -> None:
    """Let a process take turns and kill it at a random moment after its first promise."""
    reading, writing = os.pipe()
    child = in_child(lambda: asyncio.run(take_turns(path, writing, seed)))
    os.close(writing)
    said = b""
    until = random.Random(seed).random() * most_seconds
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        said += pipe.read(4096) or b""
        # Not to wait for something, but to choose the moment.
        select.select([], [], [], until)
        os.kill(child, signal.SIGKILL)
        while more := pipe.read(65536):
            said += more
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"run {seed}: the process ended by itself"
    promises.killed += 1
    for line in said.decode().split("\n")[:-1]:
        promises.take(line)


def run(runs: int, folder: Path, *, first_seed: int = 0, most_seconds: float = 0.25) -> Seen:
    """Kill that many processes; what was found on all files together.

    Raises:
        AssertionError: a promise does not hold.
    """
    promises, path, seen = Promises(), folder / "unused.db", Seen()
    for number in range(runs):
        seed = first_seed + number
        if number % RUNS_ON_ONE_FILE == 0:
            promises, path = Promises(), folder / f"{seed}.db"
        killed(path, promises, seed, most_seconds)
        found = looked_at(path, promises, seed)
        if (number + 1) % RUNS_ON_ONE_FILE == 0 or number + 1 == runs:
            seen += found
    return seen


def looked_at(path: Path, promises: Promises, seed: int) -> Seen:
    """What is on the file, as a process of its own finds it.

    Raises:
        AssertionError: a promise does not hold.
    """
    reading, writing = os.pipe()
    child = in_child(lambda: _check_and_count(path, promises, writing))
    os.close(writing)
    with os.fdopen(reading, "r") as pipe:
        found = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"run {seed}: a promise was broken; the file is {path}"
    line, *told = found.splitlines()
    promises.told += told
    return Seen(*json.loads(line))


def _check_and_count(path: Path, promises: Promises, pipe: int) -> None:
    before = len(promises.told)
    seen = asyncio.run(check(path, promises))
    tell(pipe, "\n".join([json.dumps(astuple(seen)), *promises.told[before:]]))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(datetime.now(UTC).timestamp()) % 1_000_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        sys.stdout.write(f"seed {options.seed}\n")
        seen = run(options.runs, Path(folder), first_seed=options.seed)
    sys.stdout.write(
        f"{options.runs:,} processes killed in the middle of a turn with tools; {seen.turns:,} turns stored with "
        f"{seen.calls:,} calls, {seen.closed:,} of them broken off and closed; {seen.deliveries:,} reminders told, "
        f"{seen.cut:,} of them cut off behind their claim and seen in the notification center; {seen.versions:,} "
        "edits of a document: no accepted message lost, no reminder told twice or never, every file whole, every "
        "history encodes for every provider\n"
    )
    assert min(seen.calls, seen.closed, seen.deliveries, seen.versions) > 0, "a part of it was never put to the test"


if __name__ == "__main__":
    main()
