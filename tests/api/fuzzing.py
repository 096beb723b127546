"""Schemathesis against the real server: requests made from the API's own document, and every answer held to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import from_schema
from schemathesis.engine.events import FatalError, NonFatalError, ScenarioFinished

from frontmind.providers.scripted import ScriptedModel
from frontmind.server.limits import Limits
from server.serving import Served, served

UNLIMITED: Final = Limits(
    burst=10**9,
    per_second=1e9,
    turns_of_one=10_000,
    turns=10_000,
    waiting=10_000,
    failures=10**9,
    failures_per_second=1e9,
)
SECONDS: Final = 10.0
"""The longest that one answer may take."""

SKIPPED: Final = ("positive_data_acceptance",)
"""What no schema can say: whether a phrase tells a time, a zone exists, a turn is there to be replaced."""


@dataclass(slots=True)
class Fuzzed:
    """What came of it.

    Attributes:
        statuses: the statuses of the answers, by operation, each with how often it came.
        failures: what was wrong, each with the request that shows it.
    """

    statuses: dict[str, dict[int, int]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many were answered."""
        return sum(sum(counts.values()) for counts in self.statuses.values())


@asynccontextmanager
async def fuzzed_server() -> AsyncIterator[tuple[Served, str]]:
    """A server that limits nobody, on a loopback port, and its address."""
    async with served(ScriptedModel(lambda _: "Hello."), people=("anna",), limits=UNLIMITED) as server:
        # A stream of everything that happens would never end: this one ends at once.
        server.hub.events.close()
        async with server.listening() as address:
            yield server, address


async def fuzz(server: Served, address: str, *, examples: int, steps: int, seed: int | None = None) -> Fuzzed:
    """Send what the document allows, and what it does not.

    Args:
        examples: how many requests of each operation are tried in each way.
        steps: the longest sequence of requests that use what earlier ones gave.
        seed: begins the choice of them; the same ones every time without.
    """
    return await asyncio.to_thread(_fuzz, server, _config(server, address, examples, steps, seed))


def _config(server: Served, address: str, examples: int, steps: int, seed: int | None) -> SchemathesisConfig:
    settings: dict[str, Any] = {
        "base-url": address,
        "headers": {"Authorization": f"Bearer {next(iter(server.keys.values()))}"},
        "request-timeout": SECONDS,
        "continue-on-failure": True,
        "checks": {name: {"enabled": False} for name in SKIPPED},
        "generation": {"max-examples": examples, "deterministic": seed is None, "database": "none"},
        "phases": {"stateful": {"max-steps": steps}},
    }
    return SchemathesisConfig.from_dict(settings | ({} if seed is None else {"seed": seed}))


def _fuzz(server: Served, config: SchemathesisConfig) -> Fuzzed:
    schema = schemathesis.openapi.from_dict(server.app.openapi(), config=config)
    found = Fuzzed()
    for event in from_schema(schema).execute():
        match event:
            case ScenarioFinished():
                found.failures.extend(_failures(event))
                _count(event, found.statuses)
            case NonFatalError():
                found.failures.append(f"{event.label}: {event.info.title}: {event.info.message}")
            case FatalError():
                raise event.exception
    return found


def _count(event: ScenarioFinished, statuses: dict[str, dict[int, int]]) -> None:
    for identifier, interaction in event.recorder.interactions.items():
        if interaction.response is not None:
            operation = event.recorder.cases[identifier].value.operation.label
            counts = statuses.setdefault(operation, {})
            status = interaction.response.status_code
            counts[status] = counts.get(status, 0) + 1


def _failures(event: ScenarioFinished) -> Iterator[str]:
    for checks in event.recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure, sample = check.failure_info.failure, check.failure_info.code_sample
                yield f"{event.recorder.label}: {check.name}: {failure.title}: {failure.message}\n{sample}"
