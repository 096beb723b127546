"""A `Profile`: everything that an encoder, a check or a forecast has to know of a model, and where it is known from.

Values only. Nothing here knows a provider by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from frontmind.errors import UsageError
from frontmind.window.choice import Framing


class Wire(StrEnum):
    """The formats in which a request can be written."""

    ANTHROPIC = "anthropic"
    BEDROCK_CONVERSE = "bedrock_converse"
    BEDROCK_INVOKE = "bedrock_invoke"
    OPENAI_RESPONSES = "openai_responses"
    OPENAI_CHAT = "openai_chat"
    GEMINI = "gemini"


class Mark(StrEnum):
    """How sure a fact is."""

    VERIFIED = "V"
    SECONDARY = "S"
    DERIVED = "D"
    UNVERIFIED = "U"
    YOURS = "yours"


class MarkerKind(StrEnum):
    """How a request says where the cache should be written; NONE: it does not."""

    NONE = "none"
    CACHE_CONTROL = "cache_control"
    CACHE_POINT = "cache_point"
    BREAKPOINT = "breakpoint"


class Caching(StrEnum):
    """What a provider caches by itself.

    NONE: nothing but what is marked, or nothing at all. PREFIX: every prefix. LAST_USER: the prefix up to the last
    user message. UNITS: whole inputs and outputs of earlier requests. CHECKPOINTS: a running state, kept at the start
    of the last user message and at the end.
    """

    NONE = "none"
    PREFIX = "prefix"
    LAST_USER = "last_user"
    UNITS = "units"
    CHECKPOINTS = "checkpoints"


class OperatorMessages(StrEnum):
    """Where the application may speak inside the conversation.

    NONE: nowhere. ANYWHERE: as a developer or system message. CLEARED: only as a turn-scoped system message
    (``clear_at``) right behind a user message.
    """

    NONE = "none"
    ANYWHERE = "anywhere"
    CLEARED = "cleared"


class UsageMeaning(StrEnum):
    """What the provider's count of input tokens holds: all of them, or those alone that no marker covers."""

    TOTAL = "total"
    UNMARKED = "unmarked"


TTL_SECONDS: Mapping[str, int] = {"5m": 300, "30m": 1800, "1h": 3600, "12h": 43200, "24h": 86400}
"""The lifetimes of a cache entry that providers have names for, in seconds."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact is known from, and how sure it is."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One model behind one API.

    Attributes:
        provider, model: who it is.
        wire: the format of its requests.
        framing: how the notification center is sent unless something else is asked for.
        alternate_roles: whether two messages of one role in a row are refused, as strict chat templates do.
        prefill: whether a request may end with an assistant message.
        operator_messages: where the application may speak inside the conversation.
        operator_role: the role of such a message.
        markers, max_markers: how the cache is told where to write, and how often in one request.
        look_back: how many positions a read goes back from a marker, the marked one included; None for no limit.
        look_back_joins_tools: whether a run of tool blocks counts as one position.
        ttls: the lifetimes of a cache entry that can be asked for, the default first.
        min_cached_tokens: below this nothing is cached.
        caching: what is cached without a marker.
        cache_step: cached tokens are reported in multiples of this; also the size of a block, where whole blocks are
            kept.
        caches_output: whether a reply is held too, so that the next request finds it as part of its prefix.
        lifetime: how many seconds an entry that nobody marked lives from its last use; 0 where nobody says.
        slots: how many prompts the cache holds at once; 0 where nobody says.
        read_price, write_price, long_write_price: what a token costs that is read from the cache, written to it, or
            written for an hour, as multiples of the price of an input token.
        checks_thinking: whether reasoning is refused once anything in front of it has changed.
        usage: what its count of input tokens holds.
        inputs: the media types that it takes beside text.
        plain_content: whether texts are sent as plain strings, because templates may not take lists of parts.
        max_tokens_key: how the limit of a reply is called, where the format leaves a choice.
        session_key: the key of the body under which the conversation is named for routing; empty for none.
        encrypted_reasoning: whether it can be asked for its reasoning in a form that goes back to it.
        cache_diagnostics: whether it can be asked why less of a prompt was read than the request before left.
        empty_reasoning: whether an assistant message that the model did not write needs an empty reasoning text.
        sources: for each fact where it is known from.

    Raises:
        UsageError: the facts contradict each other.
    """

    provider: str
    model: str
    wire: Wire
    framing: Framing = Framing.ASSISTANT
    alternate_roles: bool = True
    prefill: bool = False
    operator_messages: OperatorMessages = OperatorMessages.NONE
    operator_role: str = "system"
    markers: MarkerKind = MarkerKind.NONE
    max_markers: int = 0
    look_back: int | None = None
    look_back_joins_tools: bool = False
    ttls: tuple[str, ...] = ()
    min_cached_tokens: int = 0
    caching: Caching = Caching.NONE
    cache_step: int = 1
    caches_output: bool = False
    lifetime: int = 0
    slots: int = 0
    read_price: float = 1.0
    write_price: float = 1.0
    long_write_price: float = 1.0
    checks_thinking: bool = False
    usage: UsageMeaning = UsageMeaning.TOTAL
    inputs: frozenset[str] = frozenset()
    plain_content: bool = False
    max_tokens_key: str = "max_tokens"
    session_key: str = ""
    encrypted_reasoning: bool = False
    empty_reasoning: bool = False
    cache_diagnostics: bool = False
    sources: Mapping[str, Source] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for contradiction, what in self._contradictions():
            if contradiction:
                raise UsageError(f"the profile of {self.provider}:{self.model} contradicts itself: {what}")

    def _contradictions(self) -> tuple[tuple[bool, str], ...]:
        marked = self.markers is not MarkerKind.NONE
        unknown = [ttl for ttl in self.ttls if ttl not in TTL_SECONDS]
        return (
            (marked and self.max_markers < 1, f"markers={self.markers.value} with max_markers={self.max_markers}"),
            (not marked and self.max_markers != 0, f"markers=none with max_markers={self.max_markers}"),
            (not marked and self.look_back is not None, f"markers=none with look_back={self.look_back}"),
            (self.look_back is not None and self.look_back < 1, f"look_back={self.look_back} reads nothing"),
            (bool(unknown), f"ttls has {', '.join(unknown)}; known are {', '.join(TTL_SECONDS)}"),
            (self.min_cached_tokens < 0, f"min_cached_tokens={self.min_cached_tokens} is negative"),
            (self.cache_step < 1, f"cache_step={self.cache_step} is less than 1"),
            (self.lifetime < 0, f"lifetime={self.lifetime} is negative"),
            (self.slots < 0, f"slots={self.slots} is negative"),
            *(
                (not 0 <= price <= _HIGHEST_PRICE, f"{name}={price} is no multiple of a price")
                for name, price in (
                    ("read_price", self.read_price),
                    ("write_price", self.write_price),
                    ("long_write_price", self.long_write_price),
                )
            ),
            (
                self.framing not in self.framings,
                f"framing={self.framing.value} with operator_messages={self.operator_messages.value} and "
                f"wire={self.wire.value}",
            ),
            (
                self.operator_messages is OperatorMessages.ANYWHERE
                and self.wire not in (Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES),
                f"operator_messages=anywhere with wire={self.wire.value}, which has no such role",
            ),
            (self.operator_role not in ("system", "developer"), f"operator_role={self.operator_role}"),
            *(
                (key in _BODY_KEYS or not re.fullmatch(r"[a-z_]{0,40}", key), f"{name}={key[:40]!r}")
                for name, key in (("max_tokens_key", self.max_tokens_key or "model"), ("session_key", self.session_key))
            ),
            (
                self.operator_messages is OperatorMessages.CLEARED and self.wire is not Wire.ANTHROPIC,
                f"operator_messages=cleared with wire={self.wire.value}, which has no turn-scoped messages",
            ),
            (
                self.markers not in MARKERS[self.wire],
                f"markers={self.markers.value} with wire={self.wire.value}, which has no such marker",
            ),
        )

    @property
    def framings(self) -> frozenset[Framing]:
        """The framings that this model can take."""
        possible = {Framing.ASSISTANT, Framing.USER_TEXT, Framing.APPEND}
        if self.operator_messages is OperatorMessages.ANYWHERE:
            possible.add(Framing.DEVELOPER)
        if self.operator_messages is OperatorMessages.CLEARED:
            possible.add(Framing.SYSTEM_CLEAR_AT)
        return frozenset(possible)

    def write_price_of(self, ttl: str) -> float:
        """What a token costs that is written for this lifetime, as a multiple of the price of an input token."""
        return self.long_write_price if TTL_SECONDS.get(ttl, 0) >= TTL_SECONDS["1h"] else self.write_price


_HIGHEST_PRICE = 100.0
_BODY_KEYS = frozenset({"model", "messages", "input", "system", "tools", "contents", "stream"})
"""Keys of a body that nothing else may take the place of."""
MARKERS: Mapping[Wire, frozenset[MarkerKind]] = {
    Wire.ANTHROPIC: frozenset({MarkerKind.NONE, MarkerKind.CACHE_CONTROL}),
    Wire.BEDROCK_INVOKE: frozenset({MarkerKind.NONE, MarkerKind.CACHE_CONTROL}),
    Wire.BEDROCK_CONVERSE: frozenset({MarkerKind.NONE, MarkerKind.CACHE_POINT}),
    Wire.OPENAI_RESPONSES: frozenset({MarkerKind.NONE, MarkerKind.BREAKPOINT}),
    Wire.OPENAI_CHAT: frozenset({MarkerKind.NONE, MarkerKind.BREAKPOINT, MarkerKind.CACHE_CONTROL}),
    Wire.GEMINI: frozenset({MarkerKind.NONE}),
}
"""The kinds of markers that each format has."""
