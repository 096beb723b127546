"""A conversation that is written down beforehand, and what a library has to offer to be driven through it.

It knows neither libraries nor providers' formats. What changes from turn to turn is given as named sections, and every
library is handed the same text of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from benchmarks.peers.loopback import Loopback, Reply, serving

MODEL: Final = "claude-opus-4-8"
API_KEY: Final = "none"


@dataclass(frozen=True, slots=True)
class ScriptTool:
    """A tool that is offered in every call: its name, what it does, and the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScriptStep:
    """A call of a tool: what is said in front of it, its arguments, its result, and the sections that it changed."""

    name: str
    arguments: Mapping[str, object]
    result: str
    said: str = ""
    changed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScriptTurn:
    """What a person says, all changing sections of that moment by name, the tool steps, and the reply."""

    user: str
    sections: Mapping[str, str]
    steps: tuple[ScriptStep, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class Script:
    """A conversation: the unchanging system prompt, the tools, and the turns."""

    system: str
    tools: tuple[ScriptTool, ...]
    turns: tuple[ScriptTurn, ...]
    model: str = MODEL

    def replies(self) -> tuple[Reply, ...]:
        """What the model answers, call by call."""
        return tuple(
            reply
            for turn in self.turns
            for reply in (
                *(Reply(text=step.said, tool=step.name, arguments=step.arguments) for step in turn.steps),
                Reply(text=turn.reply),
            )
        )

    def places(self) -> tuple[tuple[int, int], ...]:
        """Turn and step of each call, both from 0 on; a turn has one call more than it has tool steps."""
        return tuple((number, step) for number, turn in enumerate(self.turns) for step in range(len(turn.steps) + 1))


@dataclass(frozen=True, slots=True)
class PeerCall:
    """A request as a library sent it: turn and step from 0 on, the JSON body, the `anthropic-beta` header."""

    turn: int
    step: int
    body: Mapping[str, Any]
    beta: str = ""


class PeerFailed(Exception):
    """A library did not go through the script; one line that says how."""


class Peer(Protocol):
    """A library in its recommended set-up.

    `name` is unique among the peers, `setup` says in one line what the set-up is, `versions` which packages were used.
    """

    name: str
    setup: str

    @property
    def versions(self) -> Mapping[str, str]:
        """Package to installed version."""

    def requests(self, script: Script) -> list[PeerCall]:
        """Every request of the script in the order in which they were sent.

        Raises:
            PeerFailed: the library made more or fewer calls than the script has, or called a tool that it does not.
        """


class Stage:
    """Where a script stands while a library goes through it: the sections of the moment, and the next tool result."""

    def __init__(self, script: Script, loopback: Loopback) -> None:
        self.script = script
        self.url = loopback.url
        self._sections: dict[str, str] = {}
        self._steps: list[ScriptStep] = []
        self._problem = ""

    @property
    def problem(self) -> str:
        """What went another way than the script, or "". Libraries hand an error of a tool to the model."""
        return self._problem

    def begin(self, turn: ScriptTurn) -> str:
        """Begin a turn; what the person says."""
        if self._steps:
            raise self._failed(f"a turn ended with {len(self._steps)} tool steps not taken")
        self._sections = dict(turn.sections)
        self._steps = list(turn.steps)
        return turn.user

    def context(self) -> str:
        """The changing sections as one text: the same for every library."""
        return "\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in self._sections.items())

    def result(self, name: str) -> str:
        """The result of the tool that is called now.

        Raises:
            PeerFailed: the script calls another tool here, or none.
        """
        if not self._steps or self._steps[0].name != name:
            raise self._failed(f"the tool {name} was called where the script does not call it")
        step = self._steps.pop(0)
        self._sections.update(step.changed)
        return step.result

    def _failed(self, problem: str) -> PeerFailed:
        self._problem = self._problem or problem
        return PeerFailed(problem)


class Drive(Protocol):
    """Takes a library through all turns of a stage's script."""

    def __call__(self, stage: Stage, /) -> Coroutine[Any, Any, None]: ...


def capture(script: Script, drive: Drive) -> list[PeerCall]:
    """Serve the script, let a library go through it, and number what it sent.

    Raises:
        PeerFailed: the library made more or fewer calls than the script has, or other ones.
    """
    with serving(script.replies()) as loopback:
        stage = Stage(script, loopback)
        asyncio.run(drive(stage))
        received = loopback.received
    if stage.problem:
        raise PeerFailed(stage.problem)
    places = script.places()
    if len(received) != len(places):
        raise PeerFailed(f"{len(received)} requests were sent where the script has {len(places)}")
    return [
        PeerCall(turn, step, request.body, request.beta) for (turn, step), request in zip(places, received, strict=True)
    ]
