"""A process that the tests start, and may kill: ``python store_child.py ACTION DATABASE [BYTES]``.

Every line it writes tells what the store has promised so far. With BYTES the system kills it in the middle of the
write that would make any file larger than that.
"""

from __future__ import annotations

import asyncio
import itertools
import resource
import signal
import sys
from datetime import UTC, datetime, timedelta
from typing import Final

from frontmind.stores.sqlite import SqliteStore
from frontmind.values.memories import NewMemory
from frontmind.values.message import assistant, user
from frontmind.values.records import Completion, Turn
from frontmind.values.usage import Usage
from frontmind.window.canonical import Json

NINE: Final = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def take_turns(store: SqliteStore, count: int | None) -> None:
    """Take turns, for ever or ``count`` of them, and tell of each step when the store has accepted it."""
    messages: list[Json] = []
    refused: tuple[Turn, ...] = ()
    for i in itertools.count() if count is None else range(count):
        at = NINE + timedelta(minutes=i)
        async with store.turn_lock("main"):
            turn = await store.begin_turn("main", user(f"question {i}"), at, segment_pause=timedelta(hours=1))
            say(f"accepted {turn.number} question {i}")
            if i % 7 == 6:
                refused = (turn,)
                continue
            messages.append({"role": "user", "content": f"question {i}"})
            request = await store.save_request({"model": "m", "messages": messages})
            completion = Completion(
                reply=assistant(f"answer {i} " + "x" * (i % 5) * 900),
                answered_at=at,
                request=request,
                model="m",
                usage=Usage(1, 0, 0, 1),
                interrupted=False,
                system_fingerprint={},
                refuses=tuple(earlier.id for earlier in refused),
            )
            await store.complete_turn(turn.id, completion)
            say(f"done {turn.number}")
            for earlier in refused:
                say(f"refused {earlier.number}")
            refused = ()
            (memory,) = await store.add_memories([NewMemory(f"memory {i}", at)], at)
            if i % 3 == 0:
                await store.remove_memory(memory.id)


async def hold_lock(store: SqliteStore) -> None:
    """Hold the turn lock until a line comes in."""
    async with store.turn_lock("main"):
        say("held")
        await asyncio.to_thread(sys.stdin.readline)


async def obey(store: SqliteStore) -> None:
    """Keep a memory for each line that comes in; keep the database open in between."""
    say("open")
    while line := await asyncio.to_thread(sys.stdin.readline):
        await store.add_memories([NewMemory(line.rstrip("\n"), NINE)], NINE)
        say("added")


async def main(action: str, path: str, file_size: str | None = None) -> None:
    if file_size is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(file_size), int(file_size)))
    say("opening")
    store = SqliteStore.open(path)
    match action:
        case "turns":
            await take_turns(store, None)
        case "ten-turns":
            await take_turns(store, 10)
        case "hold":
            await hold_lock(store)
        case "obey":
            await obey(store)
    await store.close()
    say("closed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
