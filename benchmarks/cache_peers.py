"""The scripted conversations as other libraries send them: their real bodies, priced by the same rules.

They get the same system prompt, tools, words, moments and changing sections. None of them lets closed segments leave
by itself, so where a session does, they go on sending everything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from benchmarks.peers.catalogue import PEERS
from benchmarks.peers.script import MODEL, Peer, PeerCall, PeerFailed, Script, ScriptStep, ScriptTool, ScriptTurn
from frontmind.cachelab.outcome import equivalents
from frontmind.cachelab.session import Session, SessionStep, SessionTurn, Total
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.reading import read_request
from frontmind.values.message import Message
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Section, join_sections
from frontmind.values.tool import Tool
from frontmind.values.usage import add_usages

_ELEMENT: Final = re.compile(r"<[^<>]*>\n?(.*?)\n?</[^<>]*>", re.DOTALL)


NAMES: Final = tuple(entry.name for entry in PEERS)
"""The names of the libraries' rows."""


def peer_of(name: str) -> Peer | str:
    """The library of this row, or the line that says why it is not there."""
    return next(entry for entry in PEERS if entry.name == name).load()


def peer_total(peer: Peer, session: Session, profile: Profile) -> Total | str:
    """What the library's requests cost by the model's rules, or in one line how it failed."""
    script = script_of(session)
    try:
        calls = peer.requests(script)
    except PeerFailed as error:
        return f"failed: {error}"
    return priced(calls, session, profile)


def priced(calls: Sequence[PeerCall], session: Session, profile: Profile) -> Total:
    """What one cache does with these calls at the session's moments."""
    cache = CacheSimulator(profile)
    usages = [
        cache.send(size_request(read_request(call.body)), moment_of(session, call.turn, call.step)).usage
        for call in calls
    ]
    return Total(len(usages), add_usages(usages), sum(equivalents(usage, profile) for usage in usages))


def moment_of(session: Session, turn: int, step: int) -> datetime:
    """When the model was asked: the turn's first call, or the one behind so many steps of tools."""
    held = session.turns[turn]
    return held.at if step == 0 else held.steps[step - 1].at


def script_of(session: Session) -> Script:
    """The session as a script: what a library is driven through.

    A section is its text alone, without the moment at which it was observed: it changes only when its state does.
    """
    first = session.turns[0]
    system = join_sections(section for section in first.sections if section.placement == PLACEMENT_SYSTEM)
    tools = tuple(
        ScriptTool(tool.name, tool.description or "", json.loads(tool.parameters))
        for tool in first.tools
        if isinstance(tool, Tool)
    )
    return Script(system, tools, tuple(map(_turn, session.turns)), MODEL)


def _turn(turn: SessionTurn) -> ScriptTurn:
    said = "\n\n".join(part.text for part in turn.user if isinstance(part, Text))
    reply = turn.reply.text if turn.reply is not None else ""
    return ScriptTurn(said, _texts(turn.sections), tuple(map(_step, turn.steps)), reply)


def _step(step: SessionStep) -> ScriptStep:
    (call,) = (part for part in step.said.parts if isinstance(part, ToolCall))
    return ScriptStep(
        name=call.name,
        arguments=json.loads(call.arguments),
        result=_result(step.results),
        said=step.said.text,
        changed=_texts(step.changed),
    )


def _result(message: Message) -> str:
    return "\n".join(part.text for part in message.parts if isinstance(part, ToolResult))


def _texts(sections: Iterable[Section]) -> dict[str, str]:
    found = {}
    for section in sections:
        if section.placement == PLACEMENT_NOTIFICATION:
            inner = _ELEMENT.fullmatch(section.state or section.content)
            found[section.name] = inner[1] if inner else section.state or section.content
    return found
