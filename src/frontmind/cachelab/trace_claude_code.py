"""Sessions of Claude Code as recordings: its lines tell what was said, when, and what each call took; no request.

Pure; takes entries, not files. System prompt and tools are not in the lines: a text of their size stands for them, as
the figures of the calls tell it. What the program reminds of beside the person's words (``<system-reminder>``) is taken
for sections. The calls of a side chain, which another window answered, are a conversation of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from frontmind.cachelab.session import Session, SessionStep, SessionTurn
from frontmind.cachelab.trace_rows import require_plain
from frontmind.cachelab.trace_system import NamedText, with_own_names
from frontmind.cachelab.trace_usage import ImpossibleUsage, read_usage
from frontmind.cachelab.traces import Assumption, Moments, RecordedCall, Recording, Stretch
from frontmind.continuum.exports.moments import read_moment
from frontmind.continuum.exports.value import Problem, name_of
from frontmind.providers.decoding.decode import DECODERS
from frontmind.providers.profiles.profile import Wire
from frontmind.values.harmless import one_line
from frontmind.values.message import Message, Role
from frontmind.values.parts import Part, Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Section
from frontmind.values.tokens import estimate_tokens
from frontmind.values.usage import Usage
from frontmind.window.sizes import estimate_part

_PROVIDER: Final = "anthropic"
_SYNTHETIC: Final = "<synthetic>"
_NOT_SENT: Final = ("isVisibleInTranscriptOnly", "isApiErrorMessage")
_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_REMINDER_NAME: Final = "system-reminder"
_HEAD: Final = "system_and_tools"
_FILLER: Final = "word "
_NO_QUESTION: Final = "(The recording begins here.)"
_NO_RESULT: Final = "(no result)"
_LEAST, _MOST = 0.5, 2.5
_ENOUGH: Final = 3
_SHOWN: Final = 80


@dataclass(slots=True)
class _Call:
    """A reply, collected from the lines that it was written in."""

    key: str
    place: str
    model: str
    asked_at: datetime | None
    content: list[Part] = field(default_factory=list)
    usage: Usage | None = None
    fault: str = "it has no usage; the figures of this call are not counted"

    def said(self) -> Message:
        return Message(Role.ASSISTANT, tuple(self.content))

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.content if isinstance(part, ToolCall)]


@dataclass(frozen=True, slots=True)
class _Opened:
    """A turn that no reply has closed."""

    at: datetime
    user: tuple[Part, ...]
    sections: tuple[Section, ...]
    start: int
    summary: str


@dataclass(slots=True)
class _Chain:
    """A session, or a side chain of one, while its lines are read.

    Attributes:
        shortened: whether a summary has taken the place of all that was said, and the model was not asked since.
    """

    name: str
    turns: list[SessionTurn] = field(default_factory=list)
    steps: list[SessionStep] = field(default_factory=list)
    call: _Call | None = None
    pending: list[Part] = field(default_factory=list)
    sections: list[NamedText] = field(default_factory=list)
    opened: _Opened | None = None
    moment: datetime | None = None
    clock: Moments | None = None
    start: int = 0
    summary: str = ""
    shortened: bool = False
    calls: list[RecordedCall] = field(default_factory=list)
    counted: list[tuple[int, int]] = field(default_factory=list)
    continued: int = 0


class ClaudeCodeLog:
    """Takes entry after entry of one or more sessions.

    Args:
        problems: takes in what cannot be, with the line that says it.
        begin: the moment of a first entry that has none; aware.
    """

    def __init__(self, problems: list[Problem], *, begin: datetime) -> None:
        self._begin = begin
        self._chains: dict[tuple[str, str], _Chain] = {}
        self._sides: dict[str, str] = {}
        self.problems = problems

    def read(self, place: str, entry: Mapping[str, Any]) -> None:
        """Read one entry; what was not said to a model is passed over."""
        chain = self._chain(entry)
        kind = entry.get("type")
        if kind not in ("user", "assistant") or any(entry.get(mark) is True for mark in _NOT_SENT):
            return
        message = entry.get("message")
        if not isinstance(message, Mapping):
            self.problems.append(Problem(place, "it has no message; the rest of the session is read without it"))
            return
        if message.get("model") == _SYNTHETIC:
            return
        at = read_moment(entry.get("timestamp"))
        try:
            parts = _parts(str(kind), message.get("content"))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            said = one_line(str(error) or type(error).__name__, _SHOWN)
            self.problems.append(Problem(place, f"its content is out of shape ({said}); it is read without it"))
            return
        if kind == "user":
            _hear(chain, parts, entry, at)
        else:
            self._answer(chain, place, message, parts)

    def recordings(self) -> Iterator[Recording]:
        """The conversations in the order in which they begin. Each is let go of once it was given."""
        for key in list(self._chains):
            chain = self._chains.pop(key)
            if chain.call is None:
                continue
            self._count(chain, chain.call)
            _close(chain, chain.call)
            yield _recording(chain)

    def _chain(self, entry: Mapping[str, Any]) -> _Chain:
        session = name_of(entry.get("sessionId"))
        side = ""
        if entry.get("isSidechain") is True:
            # A side chain is known by its agent, or by the entry that it hangs below.
            uuid, parent = name_of(entry.get("uuid")), name_of(entry.get("parentUuid"))
            side = name_of(entry.get("agentId")) or self._sides.get(parent, uuid)
            self._sides[uuid] = side
        name = session or "session"
        return self._chains.setdefault((session, side), _Chain(f"{name}, side chain {side[:8]}" if side else name))

    def _answer(self, chain: _Chain, place: str, message: Mapping[str, Any], parts: list[Part]) -> None:
        key = name_of(message.get("id")) or place
        if chain.call is None or chain.call.key != key:
            if chain.call is not None:
                self._count(chain, chain.call)
            self._ask(chain, _Call(key, place, str(message.get("model") or ""), chain.moment))
        call = chain.call
        assert call is not None
        call.content += parts
        try:
            usage = read_usage(Wire.ANTHROPIC, message.get("usage"))
        except ImpossibleUsage as error:
            call.fault = f"its usage cannot be: {error}; the figures of this call are not counted"
        else:
            call.usage = usage or call.usage

    def _ask(self, chain: _Chain, call: _Call) -> None:
        """The model was asked again: close what the call before was part of."""
        chain.clock = chain.clock or Moments(self._begin)
        at, goes_back = chain.clock.next(call.asked_at)
        if goes_back:
            self.problems.append(Problem(call.place, "it was asked before the call in front of it; it is taken behind"))
        call.asked_at = at
        before = chain.call
        if before is not None and before.calls and not chain.shortened:
            results = _results(before, chain.pending)
            chain.steps.append(SessionStep(before.said(), results, at, tuple(_sections(chain))))
        elif before is not None and not chain.pending and not chain.shortened:
            # Nothing was said in between: the reply was asked for once more, or goes on.
            call.content = [*before.content]
            chain.continued += 1
        else:
            _close(chain, before)
            said = tuple(part for part in chain.pending if not isinstance(part, ToolResult)) or (Text(_NO_QUESTION),)
            if chain.shortened:
                chain.start, chain.shortened = len(chain.turns), False
            chain.opened = _Opened(at, said, tuple(_sections(chain)), chain.start, chain.summary)
        chain.pending, chain.sections, chain.call = [], [], call

    def _count(self, chain: _Chain, call: _Call) -> None:
        """Note what a call took, once all of its lines were read."""
        if call.usage is None:
            self.problems.append(Problem(call.place, call.fault))
        assert call.asked_at is not None
        place = (len(chain.turns), len(chain.steps))
        if place in chain.counted:
            return
        chain.counted.append(place)
        chain.calls.append(RecordedCall(call.place, _PROVIDER, call.model, call.asked_at, call.usage))


def _parts(kind: str, content: object) -> list[Part]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    request = {"messages": [{"role": kind, "content": blocks}]}
    (message,) = DECODERS[Wire.ANTHROPIC].request(request).messages
    require_plain(message.parts)
    return [part for part in message.parts if not (isinstance(part, Text) and not part.text.strip())]


def _hear(chain: _Chain, parts: list[Part], entry: Mapping[str, Any], at: datetime | None) -> None:
    """Take in what was said to the model."""
    if entry.get("isCompactSummary") is True:
        chain.shortened = True
        chain.summary = "\n\n".join(part.text for part in parts if isinstance(part, Text))
        parts = []
    chain.moment = at or chain.moment
    for part in parts:
        if not isinstance(part, Text):
            chain.pending.append(part)
            continue
        chain.sections += (NamedText(_REMINDER_NAME, found) for found in _REMINDER.findall(part.text))
        text = _REMINDER.sub("", part.text).strip()
        if text:
            chain.pending.append(Text(text))


def _sections(chain: _Chain) -> Iterator[Section]:
    for piece in with_own_names(chain.sections):
        yield Section(piece.name, piece.text, PLACEMENT_NOTIFICATION, cache_policy=False)


def _results(call: _Call, pending: Sequence[Part]) -> Message:
    """The results of the call, one for each of its tools, and what else was said with them."""
    found = {part.call_id: part for part in pending if isinstance(part, ToolResult)}
    results = [found.get(part.id) or ToolResult(part.id, _NO_RESULT, is_error=True) for part in call.calls]
    return Message(Role.USER, (*results, *(part for part in pending if not isinstance(part, ToolResult))))


def _close(chain: _Chain, reply: _Call | None) -> None:
    """Close the turn that is open; ``reply`` is what the model said last in it."""
    opened = chain.opened
    if opened is None:
        return
    said = reply.said() if reply is not None and reply.content and not reply.calls else None
    chain.turns.append(
        SessionTurn(opened.at, opened.user, said, opened.sections, tuple(chain.steps), opened.start, opened.summary)
    )
    chain.steps, chain.opened = [], None


def _recording(chain: _Chain) -> Recording:
    contents = _content_sizes(chain)
    known = [
        (contents[place], call.usage.input)
        for place, call in zip(chain.counted, chain.calls, strict=True)
        if call.usage is not None
    ]
    head, factor = _line_through(known)
    text = _FILLER * round(head / factor / (estimate_tokens(_FILLER * 100) / 100))
    fixed = (Section(_HEAD, text, PLACEMENT_SYSTEM, cache_policy=True),) if text else ()
    turns = tuple(replace(turn, sections=(*fixed, *turn.sections)) for turn in chain.turns)
    stretch = Stretch(Session(chain.name, turns), (), frozenset(chain.counted))
    return Recording(chain.name, tuple(chain.calls), (stretch,), factor, tuple(_assumptions(chain, head, len(known))))


def _content_sizes(chain: _Chain) -> dict[tuple[int, int], int]:
    """About how many tokens of what was said each call has in its prompt, without system prompt and tools."""
    sizes: dict[tuple[int, int], int] = {}
    ends: list[int] = [0]
    for index, turn in enumerate(chain.turns):
        first = turn.start if turn.start < len(ends) else index
        size = ends[index] - ends[first] + estimate_tokens(turn.summary)
        size += sum(map(estimate_part, turn.user)) + sum(estimate_tokens(section.content) for section in turn.sections)
        own = sum(map(estimate_part, turn.user))
        sizes[index, 0] = size
        for step, done in enumerate(turn.steps, start=1):
            more = sum(estimate_part(part) for part in (*done.said.parts, *done.results.parts))
            size, own = size + more, own + more
            sizes[index, step] = size
        if turn.reply is not None:
            own += sum(map(estimate_part, turn.reply.parts))
        ends.append(ends[-1] + own)
    return sizes


def _line_through(known: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """The tokens that every prompt has beside what was said, and the factor of what was said, by least squares."""
    if not known:
        return 0.0, 1.0
    middle = sum(size for size, _ in known) / len(known)
    counted = sum(tokens for _, tokens in known) / len(known)
    spread = sum((size - middle) ** 2 for size, _ in known)
    factor = 1.0
    if len(known) >= _ENOUGH and spread:
        slope = sum((size - middle) * (tokens - counted) for size, tokens in known) / spread
        factor = min(_MOST, max(_LEAST, slope))
    return max(0.0, counted - factor * middle), factor


def _assumptions(chain: _Chain, head: float, known: int) -> Iterator[Assumption]:
    yield Assumption(
        "system prompt and tools are not in the file: a text of the size that the figures tell stands for them"
        if head
        else "system prompt and tools are not in the file, and no figures tell their size: they are left out"
    )
    if known < len(chain.calls):
        yield Assumption("no figures of the provider: sized as the others are", len(chain.calls) - known)
    shortened = len({turn.start for turn in chain.turns}) - 1
    if shortened > 0:
        yield Assumption("a summary of the program's: the window begins anew behind it", shortened)
    if chain.clock is not None:
        yield from chain.clock.assumptions()
    if chain.continued:
        yield Assumption("goes on with a reply, or asks for it again: not counted", chain.continued)
    yield Assumption("where the person went back to an earlier message, the conversation is taken to have gone on")
