"""Asking a provider why a prompt was not read from its cache, and what it answers.

The Claude API keeps a fingerprint of each request that asks, under the id of its reply. A request that names such an
id is compared with that one: model, system, tools and messages, by their structure alone, whatever the cache did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from frontmind.providers.profiles.profile import Profile
from frontmind.providers.protocol import Request
from frontmind.values.harmless import one_line
from frontmind.values.usage import read_token_count

DIAGNOSTICS: Final = "diagnostics"
"""The key of a body that asks. Requests are stored without it: it names a reply, and a window knows of none."""

MESSAGES_CHANGED: Final = "messages_changed"
PENDING: Final = "not known when the reply began"
NO_DIFFERENCE: Final = "no difference to the request before"

_LONGEST: Final = 60


def asking_why(request: Request, profile: Profile, previous: str) -> Request:
    """The request as it is sent: with the question, where the provider answers it.

    Args:
        previous: the id of the reply before; empty for none, so that the next request can name this one's.
    """
    if not profile.cache_diagnostics:
        return request
    return {**request, DIAGNOSTICS: {"previous_message_id": previous or None}}


def read_diagnosis(body: Mapping[str, Any]) -> str:
    """What a reply says of the cache, in one line such as ``system_changed (~1,200 tokens)``; empty where it has no
    answer, as behind a gateway that does not know the question.
    """
    diagnostics = body.get(DIAGNOSTICS, "")
    if diagnostics is None:
        return NO_DIFFERENCE
    if not isinstance(diagnostics, Mapping):
        return ""
    reason = diagnostics.get("cache_miss_reason")
    if not isinstance(reason, Mapping):
        return PENDING
    kind = one_line(str(reason.get("type", "unknown")), _LONGEST)
    tokens = read_token_count(reason.get("cache_missed_input_tokens"))
    return kind if tokens is None else f"{kind} (~{tokens:,} tokens)"
