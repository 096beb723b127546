"""From a `Window` to the request of any wire format: one function, the same steps for all.

What it costs to encode one more turn does not grow with the conversation: the spelled messages of the history are
kept with the history itself, and only their list is new. Requests therefore share parts; treat them as read-only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from frontmind.errors import UsageError
from frontmind.providers.encoding.anthropic import AnthropicDialect
from frontmind.providers.encoding.bedrock import ConverseDialect, InvokeDialect
from frontmind.providers.encoding.dialect import DEFAULT_TTL, Dialect, Head, JsonDict, documents_of, require_supported
from frontmind.providers.encoding.gemini import GeminiDialect
from frontmind.providers.encoding.openai_chat import ChatDialect
from frontmind.providers.encoding.openai_responses import ResponsesDialect
from frontmind.providers.profiles.profile import TTL_SECONDS, MarkerKind, Profile, Wire
from frontmind.providers.profiles.resolve import choose_framing
from frontmind.values.message import Message
from frontmind.values.parts import Notice, Part, ToolCall, ToolResult, Voice
from frontmind.window.breakpoints import plan_breakpoints
from frontmind.window.canonical import canonical_json, digest
from frontmind.window.choice import ClosedThinking, Framing, FramingChoice
from frontmind.window.framing import Before, FramedMessage, frame_history, frame_tail, prefix_identity
from frontmind.window.history import History
from frontmind.window.window import Window

DIALECTS: Final[Mapping[Wire, Dialect]] = {
    Wire.ANTHROPIC: AnthropicDialect(),
    Wire.BEDROCK_CONVERSE: ConverseDialect(),
    Wire.BEDROCK_INVOKE: InvokeDialect(),
    Wire.OPENAI_RESPONSES: ResponsesDialect(),
    Wire.OPENAI_CHAT: ChatDialect(),
    Wire.GEMINI: GeminiDialect(),
}
# InvokeModel takes the Messages API's blocks, so those that a reply left with us are of that format.
_BLOCKS: Final[Mapping[Wire, Wire]] = {Wire.BEDROCK_INVOKE: Wire.ANTHROPIC}
_SESSION_LENGTH: Final = 32


def encode_window(
    window: Window,
    profile: Profile,
    *,
    max_output_tokens: int,
    framing: FramingChoice | None = None,
    extra: Mapping[str, Any] | None = None,
) -> JsonDict:
    """The request for this window, without ``stream``: exactly what is stored, printed and sent.

    Args:
        profile: what is known of the model.
        max_output_tokens: the most tokens of the reply.
        framing: how a window is framed that does not say; None for what the profile says.
        extra: further keys of the body, as they are.

    Raises:
        UsageError: the model cannot take a part of the window or its framing; the error names message and part.
    """
    choice = window_choice(window, profile, framing)
    dialect = DIALECTS[profile.wire]
    assert isinstance(window.history, History)
    head = prefix_identity(window, choice) if choice.closed_thinking is ClosedThinking.BOUND else ""
    encode = _history_encoder(window, dialect, profile, choice, head)
    # Neither the reason for a framing nor a lifetime changes how a message is spelled.
    spelled_as = replace(choice, reason="", asked=False, ttl="")
    messages, ends = window.history.encoded((profile, spelled_as, head), encode)
    tail = frame_tail(window, choice)
    starts = []
    for spelled in _spelled_tail(window, tail, dialect, profile):
        starts.append(len(messages))
        messages += spelled
    starts.append(len(messages))
    parts = Head(
        model=profile.model or profile.provider,
        max_output_tokens=max_output_tokens,
        cached_system=window.cached_system,
        uncached_system=window.uncached_system,
        tools=window.tools,
        called_tools=() if window.tools else _called_tools(window),
        session=_session(window, profile),
        # Turn-scoped messages of earlier turns are sent again, also where this turn has none.
        operator_messages=choice.framing is Framing.SYSTEM_CLEAR_AT
        or any(framed.voice is Voice.OPERATOR for framed in tail),
        extra=extra or {},
    )
    if _is_marked(profile, choice):
        parts = _mark(messages, parts, window, tail, (ends, starts), dialect, profile, choice)
    return dialect.request(parts, messages, profile)


def count_tail(window: Window, profile: Profile) -> int:
    """How many messages of the request stand behind the history: the notification center and the turn."""
    tail = frame_tail(window, window_choice(window, profile))
    return sum(map(len, _spelled_tail(window, tail, DIALECTS[profile.wire], profile)))


def window_choice(window: Window, profile: Profile, framing: FramingChoice | None = None) -> FramingChoice:
    """How this window is framed for this model.

    Args:
        framing: what holds where the window does not say; None for what the profile says.

    Raises:
        UsageError: the model cannot take the framing.
    """
    choice = window.framing or framing
    if choice is None:
        return choose_framing(profile)
    allowed = choose_framing(profile, choice.framing).closed_thinking
    # What becomes of reasoning is the model's matter; more of it may be left out, never less.
    strictest = max(choice.closed_thinking, allowed, key=list(ClosedThinking).index)
    return replace(choice, closed_thinking=strictest)


def _spelled_tail(
    window: Window, tail: list[FramedMessage], dialect: Dialect, profile: Profile
) -> list[list[JsonDict]]:
    linked = enumerate(_linked_tail(window.history, tail))
    return [_spelled(dialect, profile, framed, f"message {index} behind the history") for index, framed in linked]


def _history_encoder(window: Window, dialect: Dialect, profile: Profile, choice: FramingChoice, head: str) -> Any:
    history = window.history

    def encode(message: Message, index: int) -> list[JsonDict]:
        spelled = []
        in_front = (history[earlier].parts for earlier in range(index))
        previous = history[index - 1].parts if index else ()
        for framed in frame_history(message, choice, head):
            framed = _linked(framed, previous, in_front)
            spelled += _spelled(dialect, profile, framed, f"message {index} of the history")
        return spelled

    return encode


def _called_tools(window: Window) -> tuple[str, ...]:
    def names(message: Message, index: int = 0) -> list[JsonDict]:
        return [{"name": part.name} for part in message.parts if isinstance(part, ToolCall)]

    assert isinstance(window.history, History)
    calls, _ = window.history.encoded("called tools", names)
    return tuple(sorted({call["name"] for call in chain(calls, *map(names, window.turn))}))


def _linked_tail(history: Iterable[Message], tail: list[FramedMessage]) -> list[FramedMessage]:
    linked: list[FramedMessage] = []
    previous: tuple[Part, ...] = ()
    for framed in tail:
        in_front = chain((message.parts for message in history), (earlier.parts for earlier in linked))
        linked.append(_linked(framed, previous, in_front))
        if framed.voice is not Voice.OPERATOR:
            previous = framed.parts
    return linked


def _linked(framed: FramedMessage, previous: Iterable[Part], in_front: Iterable[tuple[Part, ...]]) -> FramedMessage:
    """The message with what it needs of those in front; only one with documents looks at more than one of them."""
    answers = any(isinstance(part, ToolResult) for part in framed.parts)
    calls = tuple(part for part in previous if isinstance(part, ToolCall)) if answers else ()
    documents: tuple[str, ...] = ()
    if any(True for _ in documents_of(framed.parts)):
        documents = tuple(document.name for parts in in_front for document in documents_of(parts))
    return replace(framed, before=Before(calls, documents)) if calls or documents else framed


def _spelled(dialect: Dialect, profile: Profile, framed: FramedMessage, place: str) -> list[JsonDict]:
    if framed.voice is Voice.OPERATOR and not any(isinstance(part, Notice) and part.text for part in framed.parts):
        return []
    require_supported(framed, profile, _BLOCKS.get(profile.wire, profile.wire).value, place)
    return dialect.message(framed, profile, place)


def _is_marked(profile: Profile, choice: FramingChoice) -> bool:
    # The provider's own breakpoint, at the end of the last user message, is all that is needed where everything stays.
    all_stays = choice.framing is Framing.APPEND
    return profile.markers is not MarkerKind.NONE and not (profile.markers is MarkerKind.BREAKPOINT and all_stays)


def _longest(profile: Profile) -> str:
    return max(profile.ttls, key=lambda ttl: TTL_SECONDS[ttl], default=DEFAULT_TTL)


def _first(profile: Profile) -> str:
    return profile.ttls[0] if profile.ttls else DEFAULT_TTL


def _mark(
    messages: list[JsonDict],
    parts: Head,
    window: Window,
    tail: list[FramedMessage],
    bounds: tuple[list[int], list[int]],
    dialect: Dialect,
    profile: Profile,
    choice: FramingChoice,
) -> Head:
    """Put markers into the list, and say in the head what it has to do with them.

    Args:
        bounds: for each message of the history how many wire messages there are up to its end, and for each of the tail
            how many stand in front of it.
    """
    ends, starts = bounds
    parts = replace(parts, system_ttl=(choice.ttl or _longest(profile)) if window.cached_system.strip() else None)
    slides = not choice.framing.keeps(Voice.USER)
    # Where nothing slides in front of the person's words, the provider's own breakpoint stays on and counts.
    own = profile.markers is MarkerKind.BREAKPOINT and not slides
    room = profile.max_markers - (parts.system_ttl is not None) - own
    plan = plan_breakpoints(window.history, tail, choice.framing, at_most=room)
    lifetime = choice.ttl or _first(profile)
    # Where the section slides, nothing of this turn's loop is read again once the turn is over.
    passing = _first(profile) if slides else lifetime
    places = [(ends[index] - 1, 0, lifetime) for index in plan.history]
    places += [(starts[index + 1] - 1, starts[index], passing) for index in plan.tail]
    _put_markers(messages, places, dialect, profile)
    # Also where nothing can be marked yet: the provider's own breakpoint would write an entry behind the section
    # that slides, which nobody can ever read.
    return replace(parts, explicit_breakpoints=slides and profile.markers is MarkerKind.BREAKPOINT)


def _put_markers(
    messages: list[JsonDict], places: Iterable[tuple[int, int, str]], dialect: Dialect, profile: Profile
) -> None:
    """Put markers into the list.

    Args:
        places: for each marker the last and the first message that may carry it, the last that can takes it, and the
            lifetime that it asks for.
    """
    marked: set[int] = set()
    for last, first, ttl in places:
        for index in range(last, first - 1, -1):
            if index in marked:
                break
            copy = dialect.marked(messages[index], ttl, profile)
            if copy is not None:
                messages[index] = copy
                marked.add(index)
                break


def _session(window: Window, profile: Profile) -> str:
    if not profile.session_key or not window.conversation:
        return ""
    # Not the name itself, which may be a person's.
    named = canonical_json(["frontmind", window.conversation])
    return digest(named)[:_SESSION_LENGTH]


def require_wire(profile: Profile, wire: Wire) -> None:
    """Check that a client speaks the format that a profile says.

    Raises:
        UsageError: it does not.
    """
    if profile.wire is not wire:
        raise UsageError(
            f"{profile.provider}:{profile.model} is set to the wire format {profile.wire.value!r}, which this client "
            f"does not speak; it speaks {wire.value!r}"
        )
