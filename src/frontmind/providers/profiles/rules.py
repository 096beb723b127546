"""What a fact about a provider's models looks like: some fields of a profile, for whom they hold, and where from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, TypedDict

from frontmind.providers.profiles.profile import (
    Caching,
    Mark,
    MarkerKind,
    OperatorMessages,
    UsageMeaning,
    Wire,
)
from frontmind.window.choice import Framing

Version: TypeAlias = tuple[int, ...]

CLAUDE: Final = ("claude-opus", "claude-sonnet", "claude-haiku", "claude-fable", "claude-mythos")
"""The families of Anthropic's models."""


class Facts(TypedDict, total=False):
    """Some fields of a `Profile`."""

    wire: Wire
    framing: Framing
    alternate_roles: bool
    prefill: bool
    operator_messages: OperatorMessages
    operator_role: str
    markers: MarkerKind
    max_markers: int
    look_back: int | None
    look_back_joins_tools: bool
    ttls: tuple[str, ...]
    min_cached_tokens: int
    caching: Caching
    cache_step: int
    caches_output: bool
    lifetime: int
    slots: int
    read_price: float
    write_price: float
    long_write_price: float
    checks_thinking: bool
    usage: UsageMeaning
    inputs: frozenset[str]
    plain_content: bool
    max_tokens_key: str
    session_key: str
    encrypted_reasoning: bool
    empty_reasoning: bool
    cache_diagnostics: bool


@dataclass(frozen=True, slots=True)
class Rule:
    """Facts about the models of a provider.

    Attributes:
        providers: the providers that it is about.
        facts: what holds for them.
        mark: how sure that is.
        source: where it is known from.
        families: the families of models that it is about; none for every model.
        since, before: the versions that it is about, the first included and the last not.
    """

    providers: tuple[str, ...]
    facts: Facts
    mark: Mark
    source: str
    families: tuple[str, ...] = ()
    since: Version | None = None
    before: Version | None = None

    def fits(self, provider: str, family: str, version: Version) -> bool:
        """Whether the rule is about this model."""
        if provider not in self.providers or (self.families and family not in self.families):
            return False
        if self.since is None and self.before is None:
            return True
        # A name without a version says nothing of what holds from one on.
        return bool(version) and not (
            (self.since is not None and version < self.since) or (self.before is not None and version >= self.before)
        )
