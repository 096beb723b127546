"""The server that `benchmarks.server_load` puts under load, as a process of its own: the application of the program
behind uvicorn, with a database in a file, accounts, and a model that takes its time as a hosted one does.

It says where it listens in a line of JSON, answers each line on its standard input with its figures, and ends with that
input: "look" is answered at once, "collect" after a full collection, "close" after one behind which no conversation is
open and no reply kept. How long the model takes stands in the message that it answers, so that whoever sends it knows
the time too.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import re
import resource
import socket
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import uvicorn

from frontmind.providers.estimate import estimate_tokens
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.app import build_app
from frontmind.server.guards import Guards
from frontmind.server.hub import Hub
from frontmind.server.identity import Access
from frontmind.server.keys import digest_of, hint_of, new_key
from frontmind.server.limits import IDLE_SECONDS, Limits
from frontmind.server.sessions import Setting
from frontmind.stores.sqlite import SqliteStore
from frontmind.values.clock import SystemClock
from frontmind.values.message import assistant
from frontmind.values.usage import Usage

_BACKLOG: Final = 2048
_PLAN: Final = re.compile(r"\[first ([0-9.]+) s, (\d+) pieces in ([0-9.]+) s\]")
_REPLY: Final = (
    "the garden wants water before the first warm week and the beans can go out behind the house when the nights stay "
    "mild so plant them in two rows leave a hand between them and tell me on sunday how they look"
)
_WORDS: Final = _REPLY.split()


@dataclass(frozen=True, slots=True)
class Plan:
    """How long the model takes for a reply.

    Attributes:
        first: seconds from its request to the first piece.
        pieces: of how many the reply is made.
        rest: seconds from the first piece to the last.
    """

    first: float
    pieces: int
    rest: float

    @property
    def seconds(self) -> float:
        """From the request to the end of the reply."""
        return self.first + self.rest

    @property
    def words(self) -> list[str]:
        """The pieces."""
        return [f"{_WORDS[number % len(_WORDS)]} " for number in range(self.pieces)]

    def __str__(self) -> str:
        return f"[first {self.first:.3f} s, {self.pieces} pieces in {self.rest:.3f} s]"


def plan_in(text: str) -> Plan:
    """The plan that the newest message says."""
    first, pieces, rest = _PLAN.findall(text)[-1]
    return Plan(float(first), int(pieces), float(rest))


class TimedModel(ScriptedModel):
    """Plays a hosted model: its pieces come at moments that do not depend on how busy the server is."""

    def __init__(self) -> None:
        super().__init__(
            (), name="anthropic:claude-sonnet-4-5", profile=resolve_profile("anthropic", "claude-sonnet-4-5")
        )

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        # The loop's own time is that of the step that runs, in whole milliseconds.
        began = time.perf_counter()
        messages = request["messages"]
        assert isinstance(messages, list)
        plan = plan_in(str(messages[-1]))
        words = plan.words
        for number, word in enumerate(words):
            due = began + plan.first + plan.rest * number / max(plan.pieces - 1, 1)
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            yield TextDelta(word)
        text = "".join(words)
        # A hosted model counts for itself. In this process nothing but the newest message is looked at.
        usage = Usage(1000 + 300 * len(messages), 0, 0, estimate_tokens(text))
        yield Finished(assistant(text), usage, StopReason.END)

    async def expected_cached(self, request: Request) -> int | None:
        return None


@dataclass(frozen=True, slots=True)
class Figures:
    """What the process has used, and what it holds.

    Attributes:
        cpu: seconds of processor time.
        rss: MB of memory that are resident, after a full collection.
        objects: how many the collector watches.
        sessions: how many conversations are open.
        replies: of how many replies the events are kept.
    """

    cpu: float
    rss: float
    objects: int
    sessions: int
    replies: int


def figures(hub: Hub, *, collected: bool) -> Figures:
    """The figures of now.

    Args:
        collected: whether to collect first; without it, nothing that takes time is looked at.
    """
    objects = 0
    if collected:
        gc.collect()
        objects = len(gc.get_objects())
    used = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    rss = pages * resource.getpagesize() / 1e6
    return Figures(used.ru_utime + used.ru_stime, rss, objects, hub.sessions.open, hub.kept)


async def add_people(store: SqliteStore, count: int) -> list[str]:
    """Accounts with a key each; gives back the keys."""
    accounts, now = store.accounts_of_database(), SystemClock(ZoneInfo("UTC")).now()
    keys = [new_key() for _ in range(count)]
    for number, key in enumerate(keys):
        await accounts.add_account(f"person{number}", now)
        await accounts.add_key(
            f"person{number}", digest_of(key), label="load", hint=hint_of(key), at=now, expires_at=None
        )
    return keys


async def serve(path: Path, people: int) -> None:
    """Serve until the standard input ends."""
    clock = SystemClock(ZoneInfo("UTC"))
    store = SqliteStore.open(path)
    keys = await add_people(store, people)
    hub = Hub(Setting(store=store, model=TimedModel(), clock=clock), limits=Limits())
    app = build_app(hub, Guards(Access(store.accounts_of_database(), clock.now), hub.limits))
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_keep_alive=IDLE_SECONDS,
        backlog=_BACKLOG,
    )
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(_BACKLOG)
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve([listener]))
        orders = await _standard_input()
        print(json.dumps({"port": listener.getsockname()[1], "keys": keys}), flush=True)
        while line := await orders.readline():
            order = line.strip()
            if order == b"close":
                await hub.sessions.aclose()
                hub.forget_replies()
            print(json.dumps(asdict(figures(hub, collected=order != b"look"))), flush=True)
        server.should_exit = True
        await serving
    await store.close()


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve, as the program does: on the same kind of loop."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.server_load_process")
    parser.add_argument("db", type=Path)
    parser.add_argument("people", type=int)
    options = parser.parse_args(arguments)
    factory = uvicorn.Config("", log_config=None).get_loop_factory()
    with contextlib.suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(options.db, options.people))


if __name__ == "__main__":
    main()
