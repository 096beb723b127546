"""The server under load: what it adds to the model's own time, and whether its memory stays.

    python -m benchmarks.server_load [--people 200] [--turns 10] [--memory-turns 10000] [--json FILE]

The server is the program's application behind uvicorn in a process of its own, with a database in a file, an account
for each person, and a model that plays a hosted one: the first piece after 0.6 s, then 150 pieces over 4 s, all of it
a fifth more or less. The pieces come at moments that do not depend on how busy the server is. This process is the
people: each says something, follows the events of the reply to their end, thinks for a second, and says the next thing.

*Overhead* is the time from sending the message to the last event (or the first piece), less what the model took by its
own clock: two requests, everything that the server does before it asks the model and behind its last piece, and all
delays on the way. What a part of it is due to this client, its own lag says: how late a timer of 10 ms rings here.

Memory is looked at over many short turns of more people than conversations stay open, each time after a full
collection, when no turn runs. All of them begin another conversation after each look: an open one holds what it has
read of its window, and grows with that. The objects are counted when all conversations are closed.

The figures are those of one run, and of a machine on which other things may run: compare within a run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, Literal

import uvicorn

from benchmarks.server_load_people import Load, People, Seen, Wire
from benchmarks.server_load_process import Figures, Plan
from frontmind.server.page_files import read_page

HOSTED: Final = Plan(0.6, 150, 4.0)
SHORT: Final = Plan(0.02, 20, 0.08)
BLOCKS: Final = 5
"""How often memory is looked at."""

MOST_MEDIAN: Final = 25.0
MOST_P99: Final = 150.0
MOST_GROWTH: Final = 0.05
PAGE_LOOKS: Final = 50


@dataclass(frozen=True, slots=True)
class LoadRow:
    """One load, times in milliseconds.

    Attributes:
        name: what the people read.
        turns: how many were answered.
        whole: the overhead up to the last event, as median and 99th percentile.
        first: the same up to the first piece.
        errors: how many turns went wrong, and the first of them.
        per_second: turns a second.
        cpu: the server's share of one processor.
        client_cpu: that of this client.
        lag: how late this client woke up, as median and 99th percentile.
    """

    name: str
    turns: int
    whole: tuple[float, float]
    first: tuple[float, float]
    errors: int
    error: str
    per_second: float
    cpu: float
    client_cpu: float
    lag: tuple[float, float]


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """What the server holds after so many turns.

    Attributes:
        turns: in all so far.
        rss: MB that are resident.
        sessions: how many conversations are open, each with what it has read of its window.
        replies: of how many replies the events are kept.
        objects: how many the collector watches when all of these are closed and forgotten.
        per_second: turns a second since the row before.
    """

    turns: int
    rss: float
    sessions: int
    replies: int
    objects: int
    per_second: float


@dataclass(frozen=True, slots=True)
class Page:
    """The page: milliseconds from the request on a new connection to its first byte, and bytes.

    Attributes:
        first_byte: of the document.
        files: of how many it is made.
        size: bytes of all of them.
    """

    first_byte: float
    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Table:
    """All that was measured.

    Attributes:
        people: how many talked at the same time.
        memory_people: how many there were while memory was looked at.
    """

    people: int
    loads: tuple[LoadRow, ...]
    page: Page
    memory_people: int
    memory: tuple[MemoryRow, ...]
    memory_errors: tuple[str, ...]


class ServerProcess:
    """The server's process.

    Attributes:
        port: where it listens.
        keys: those of its people.
    """

    def __init__(self, process: asyncio.subprocess.Process, port: int, keys: Sequence[str]) -> None:
        self.process = process
        self.port = port
        self.keys = keys

    async def figures(self, order: Literal["look", "collect", "close"] = "look") -> Figures:
        """What it has used, and what it holds."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n".encode())
        return Figures(**json.loads(await _line(self.process)))


@asynccontextmanager
async def running_server(folder: Path, people: int) -> AsyncIterator[ServerProcess]:
    """A server of its own with so many people, as long as the context is open."""
    command = (sys.executable, "-m", "benchmarks.server_load_process", str(folder / "load.db"), str(people))
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=2**24)
    assert process.stdin is not None
    try:
        said = json.loads(await _line(process))
        yield ServerProcess(process, said["port"], said["keys"])
    finally:
        process.stdin.close()
        await process.wait()


async def _line(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise ChildProcessError("the server ended; what it said stands above")
    return line


async def measure_load(server: ServerProcess, people: People, load: Load, name: str) -> LoadRow:
    """Let the people talk, and see what it took."""
    before, own = await server.figures(), time.process_time()
    seen = await people.run(load)
    after = await server.figures()
    return _load_row(name, seen, after.cpu - before.cpu, time.process_time() - own)


def _load_row(name: str, seen: Seen, cpu: float, own: float) -> LoadRow:
    return LoadRow(
        name,
        len(seen.whole),
        middle_and_worst(seen.whole),
        middle_and_worst(seen.first),
        len(seen.errors),
        seen.errors[0] if seen.errors else "",
        len(seen.whole) / seen.seconds,
        cpu / seen.seconds,
        own / seen.seconds,
        middle_and_worst(seen.lags),
    )


def middle_and_worst(seconds: Sequence[float]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds; of nothing, not a number."""
    if not seconds:
        return float("nan"), float("nan")
    ordered = sorted(seconds)
    return statistics.median(ordered) * 1000, ordered[max(0, -(-len(ordered) * 99 // 100) - 1)] * 1000


async def measure_memory(
    server: ServerProcess, load: Load, turns: int
) -> tuple[tuple[MemoryRow, ...], tuple[str, ...]]:
    """Take so many turns in equal parts, and see after each what the server holds; gives back the errors too."""
    people, rows = People(server.port, server.keys), list[MemoryRow]()
    done, errors = 0, list[str]()
    for number in range(BLOCKS):
        each = replace(load, turns=max(1, turns // BLOCKS // len(server.keys)), conversation=f"talk{number}")
        seen = await people.run(each)
        done, errors = done + len(seen.whole), [*errors, *seen.errors]
        held, left = await server.figures("collect"), await server.figures("close")
        speed = len(seen.whole) / seen.seconds
        rows.append(MemoryRow(done, held.rss, held.sessions, held.replies, left.objects, speed))
    return tuple(rows), tuple(errors)


async def measure_page(port: int) -> Page:
    """Ask for the page as a browser does that has nothing of it yet."""
    loop, times = asyncio.get_running_loop(), []
    for _ in range(PAGE_LOOKS):
        began = time.perf_counter()
        _, wire = await loop.create_connection(Wire, "127.0.0.1", port)
        await wire.ask("GET", "/", "")
        times.append(wire.first_at - began)
        wire.close()
    sizes = [len(file.data) for file in read_page().values()]
    return Page(statistics.median(times) * 1000, len(sizes), sum(sizes))


async def measure(
    *, people: int, turns: int, memory_people: int, memory_turns: int, plan: Plan = HOSTED, think: float = 1.0
) -> Table:
    """All figures, each part with a server of its own."""
    cycle = plan.seconds + think
    with tempfile.TemporaryDirectory() as folder:
        async with running_server(Path(folder), people) as server:
            page = await measure_page(server.port)
            talking = People(server.port, server.keys)
            loads = []
            for name, query in (("text", ""), ("text and HTML, as the page", "?html=true")):
                load = Load(turns, plan, think=think, arrive=cycle, query=query)
                loads.append(await measure_load(server, talking, load, name))
    with tempfile.TemporaryDirectory() as folder:
        async with running_server(Path(folder), memory_people) as server:
            short = Load(1, SHORT, spread=0.5, think=0.0, at_once=64)
            memory, errors = await measure_memory(server, short, memory_turns)
    return Table(people, tuple(loads), page, memory_people, memory, errors)


def growth(rows: Sequence[MemoryRow]) -> float:
    """By which share the memory grew from the second look to the last; the first one is still filling caches."""
    return rows[-1].rss / rows[min(1, len(rows) - 1)].rss - 1 if rows else float("nan")


def markdown(table: Table) -> str:
    """The table for people."""
    lines = [
        f"{table.people} people talk at the same time. Overhead over the model's own time: median / 99th percentile.",
        "",
        "| they read | turns | overhead to the end | to the first piece | errors | turns a second | server's processor "
        "| client's processor | client's lag, ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.name} | {row.turns} | {_pair(row.whole)} | {_pair(row.first)} | {row.errors} | {row.per_second:.1f} "
        f"| {row.cpu:.0%} | {row.client_cpu:.0%} | {_pair(row.lag)} |"
        for row in table.loads
    ]
    lines += [f"\nThe first error: {row.error}" for row in table.loads if row.error]
    lines += [
        "",
        f"| turns of {table.memory_people} people | memory, MB | conversations open | replies kept "
        "| objects, all of these closed | turns a second |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.turns:,} | {row.rss:.1f} | {row.sessions} | {row.replies} | {row.objects:,} | {row.per_second:.0f} |"
        for row in table.memory
    ]
    lines += [f"\nThe first error: {error}" for error in table.memory_errors[:1]]
    page = table.page
    lines += [
        "",
        f"The page: first byte after {page.first_byte:.1f} ms (median of {PAGE_LOOKS}), "
        f"{page.size:,} bytes in {page.files} files.",
        "",
        verdict(table),
    ]
    return "\n".join(lines)


def _pair(values: tuple[float, float]) -> str:
    return f"{values[0]:.1f} / {values[1]:.1f}"


def verdict(table: Table) -> str:
    """Which aims are met, in words."""
    aims = [
        (f"median at most {MOST_MEDIAN:g} ms", all(row.whole[0] <= MOST_MEDIAN for row in table.loads)),
        (f"99th percentile at most {MOST_P99:g} ms", all(row.whole[1] <= MOST_P99 for row in table.loads)),
        ("no error", not table.memory_errors and not any(row.errors for row in table.loads)),
        (f"memory grows by at most {MOST_GROWTH:.0%}", growth(table.memory) <= MOST_GROWTH),
    ]
    return "; ".join(f"{aim}: {'yes' if met else 'NO'}" for aim, met in aims) + "."


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print the table, and write the figures where ``--json`` says."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.server_load", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--people", type=int, default=200, help="how many talk at the same time")
    parser.add_argument("--turns", type=int, default=10, help="how many each of them takes, with and without HTML")
    parser.add_argument("--memory-people", type=int, default=400)
    parser.add_argument("--memory-turns", type=int, default=10_000, help="of all of them together")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args(arguments)
    factory = uvicorn.Config("", log_config=None).get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        table = runner.run(
            measure(
                people=options.people,
                turns=options.turns,
                memory_people=options.memory_people,
                memory_turns=options.memory_turns,
            )
        )
    print(markdown(table))
    if options.json:
        options.json.write_text(json.dumps(asdict(table), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
