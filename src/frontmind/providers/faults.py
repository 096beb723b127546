"""From what a provider says went wrong to the error that says what to do: one place for all of them.

A client gives what its SDK knows: the HTTP status, the provider's own code, its words, its headers. This module
knows no SDK and no provider's name, only the codes and words that they use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from frontmind.errors import (
    ConnectionLost,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    Overloaded,
    RateLimited,
    RequestRefused,
    WindowTooLarge,
)
from frontmind.providers.retry_after import retry_after_seconds

CONNECT_SECONDS: Final = 10.0
"""How long the making of a connection may take."""

SILENCE_SECONDS: Final = 600.0
"""How long a model may send nothing: a long prompt, or long reasoning, can take minutes."""

_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_LONGEST_WORDS: Final = 300

_NO_CREDIT: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error", "insufficient_balance"}
)
_NO_ACCESS: Final = frozenset(
    {
        *("authentication_error", "permission_error", "invalid_api_key"),
        *("api_key_invalid", "unauthenticated", "permission_denied"),
        *("accessdeniedexception", "unrecognizedclientexception", "invalidsignatureexception"),
        *("expiredtokenexception", "incompletesignature"),
    }
)
_NOT_FOUND: Final = frozenset({"not_found_error", "model_not_found", "not_found", "resourcenotfoundexception"})
_OVERLOADED: Final = frozenset(
    {
        *("overloaded_error", "engine_overloaded_error", "server_is_overloaded", "slow_down", "unavailable"),
        *("throttlingexception", "serviceunavailableexception", "modelnotreadyexception"),
    }
)
_TIMED_OUT: Final = frozenset({"timeout_error", "deadline_exceeded", "modeltimeoutexception"})
_RATE_LIMITED: Final = frozenset(
    {
        *("rate_limit_error", "rate_limit_exceeded", "resource_exhausted"),
        *("toomanyrequestsexception", "servicequotaexceededexception"),
    }
)
# The provider's own failures. Bedrock tells all errors in a stream with the status of a wrong request.
_FAILED: Final = frozenset(
    {
        *("api_error", "server_error", "internal"),
        *("internalserverexception", "modelerrorexception", "modelstreamerrorexception"),
    }
)
_REFUSED: Final = frozenset(
    {
        *("invalid_request_error", "invalid_argument", "failed_precondition", "validationexception"),
        # What OpenAI says within a stream, where there is no HTTP status any more.
        *("invalid_prompt", "bio_policy", "misalignment_policy_violation", "data_residency_mismatch"),
        *("invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "invalid_image_mode"),
        *("image_too_large", "image_too_small", "image_parse_error", "image_content_policy_violation"),
        *("image_file_too_large", "unsupported_image_media_type", "empty_image_file"),
    }
)
_TOO_LONG: Final = frozenset({"context_length_exceeded", "exceed_context_size_error", "request_too_large"})
_REFUSED_STATUS: Final = (400, 413, 422)
_TOO_LONG_WORDS: Final = re.compile(
    r"(?:prompt|input) is too long|exceeds? the (?:maximum number of tokens|context window|available context size)",
    re.IGNORECASE,
)
_NO_CREDIT_WORDS: Final = re.compile(r"credit balance is too low", re.IGNORECASE)
# Nobody but llama.cpp tells the two sizes anywhere but in a sentence.
_SIZES: Final = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?P<tokens>\d{1,12}) tokens > (?P<limit>\d{1,12})",
        r"context limit: (?P<tokens>\d{1,12}) \+ (?P<reply>\d{1,12}) > (?P<limit>\d{1,12})",
        r"input token count (?:is |\()(?P<tokens>\d{1,12})\D+?(?:up to |allowed \()(?P<limit>\d{1,12})",
        r"(?:maximum context length (?:is|of)|configured limit of) (?P<limit>\d{1,12}).*?(?P<tokens>\d{1,12})",
    )
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What a provider said.

    Attributes:
        said: its words, on one line.
        codes: its own words for the kind of error, in lower case.
        status: the HTTP status; None inside a stream.
        retry_after: in how many seconds it may be asked again.
        may_retry: what the provider itself says about asking again.
        sizes: the tokens of the window, and what the model takes.
    """

    said: str
    codes: frozenset[str] = frozenset()
    status: int | None = None
    retry_after: float | None = None
    may_retry: bool | None = None
    sizes: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """What a person can do at this provider.

    Attributes:
        key: when the key is refused.
        missing: when the model is not found.
        where: how the place is named where the model was looked for; empty where the name says it.
    """

    key: str
    missing: str = "check the name after --model"
    where: str = ""


def read_fault(
    body: object, *, said: str = "", status: int | None = None, headers: Mapping[str, str] | None = None
) -> Fault:
    """What a JSON body says about an error, in any of the forms that providers use.

    Args:
        body: the whole body, or what stands under its ``error``.
        said: the SDK's words, for a body that has none.
        status: the HTTP status; one that says that all is well is none.
        headers: those of the answer.
    """
    outer: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    nested = outer.get("error")
    inner: Mapping[str, Any] = nested if isinstance(nested, Mapping) else outer
    words = inner.get("message") or (nested if isinstance(nested, str) else "") or said or next(_codes(inner), "")
    code = inner.get("code")
    if (status is None or status < 400) and isinstance(code, int) and 400 <= code < 600:
        status = code
    lower = {name.lower(): value for name, value in (headers or {}).items()}
    told = lower.get("x-should-retry")
    return Fault(
        said=on_one_line(str(words)) or "no reason given",
        codes=frozenset(_codes(inner)),
        status=status if status is not None and status >= 400 else None,
        retry_after=retry_after_seconds(lower, body, str(words)),
        may_retry={"true": True, "false": False}.get(told) if told is not None else None,
        sizes=_sizes(inner, str(words)),
    )


def explained(fault: Fault, *, name: str, advice: Advice) -> ModelError:
    """The error that says what to do about a fault.

    Args:
        name: the model as the caller named it.
    """
    codes, status, said = fault.codes, fault.status, fault.said
    if status is None or status in _REFUSED_STATUS:
        too_long = _too_long(fault, name)
        if too_long is not None:
            return too_long
    if codes & _NO_CREDIT or status == 402 or _NO_CREDIT_WORDS.search(said):
        reason = f"the account for {name} has no credit left ({said})"
        return ModelUnavailable(
            f"{reason}; add credit or raise its limit at the provider, or choose another model with --model",
            model=name,
            reason=reason,
        )
    if codes & _NO_ACCESS or status in (401, 403):
        reason = f"{name} refused the key ({said})"
        return ModelUnavailable(f"{reason}; {advice.key}", model=name, reason=reason)
    if codes & _NOT_FOUND or status == 404:
        where = f" at {advice.where}" if advice.where else ""
        reason = f"{name} was not found{where} ({said})"
        return ModelUnavailable(f"{reason}; {advice.missing}", model=name, reason=reason)
    return _passing(fault, name)


def _passing(fault: Fault, name: str) -> ModelError:
    """What may be over the next time, or lies in the request."""
    codes, status, said = fault.codes, fault.status, fault.said
    if codes & _OVERLOADED or status in (503, 529):
        return _again(Overloaded, f"{name} is overloaded ({said})", fault, name)
    if codes & _TIMED_OUT or status in (408, 504):
        return _again(ModelTimeout, f"{name} did not answer in time ({said})", fault, name)
    if codes & _RATE_LIMITED or status == 429:
        return _again(RateLimited, f"{name} takes no more requests for now ({said})", fault, name)
    if not codes & _FAILED and (status in _REFUSED_STATUS or (status is None and codes & _REFUSED)):
        return RequestRefused(f"{name} refused the request ({said})", model=name, status=status)
    final = status is not None and 400 <= status < 500 and status not in (409, 425) and not codes & _FAILED
    return _again(ModelError, f"{name} failed ({said})", fault, name, final=final)


def _again(kind: type[ModelError], reason: str, fault: Fault, name: str, *, final: bool = False) -> ModelError:
    later = f"in {_duration(fault.retry_after)}" if fault.retry_after is not None else ""
    when = later or ("later" if kind is RateLimited else "")
    return kind(
        f"{reason}; try again {when}".rstrip(),
        model=name,
        retry_after=fault.retry_after,
        retryable=fault.may_retry if fault.may_retry is not None else (False if final else None),
        reason=reason,
    )


def _too_long(fault: Fault, name: str) -> RequestRefused | None:
    advice = "leave something out, or choose a model with a larger context"
    if fault.sizes is not None:
        tokens, limit = fault.sizes
        reason = f"the window has {tokens} tokens and {name} takes {limit}"
        return WindowTooLarge(f"{reason}; {advice}", model=name, tokens=tokens, limit=limit)
    if fault.codes & _TOO_LONG or _TOO_LONG_WORDS.search(fault.said):
        reason = f"the window is too long for {name} ({fault.said})"
        return WindowTooLarge(f"{reason}; {advice}", model=name, status=fault.status, reason=reason)
    return None


def unreachable(name: str, said: str, *, url: str) -> ModelError:
    """No connection could be made. On this machine that says that the server does not run; elsewhere it may pass."""
    if is_loopback(url):
        reason = f"cannot reach {url} for {name}"
        return ModelUnavailable(f"{reason}; is the server running?", model=name, reason=reason)
    reason = f"cannot reach {name} ({said})"
    return ConnectionLost(f"{reason}; check the network, or choose --model local", model=name, reason=reason)


def connection_lost(name: str, said: str) -> ConnectionLost:
    """The connection broke before the reply was complete."""
    reason = f"the connection to {name} broke off ({said})"
    return ConnectionLost(f"{reason}; try again", model=name, reason=reason)


def timed_out(name: str) -> ModelTimeout:
    """Nothing came for as long as one waits."""
    reason = f"{name} did not answer in time"
    return ModelTimeout(f"{reason}; try again", model=name, reason=reason)


def transport_fault(error: BaseException, *, name: str, url: str) -> ModelError:
    """An error of the HTTP library, or of the system below it, in our words."""
    import httpx2  # noqa: PLC0415 - comes with the optional dependencies

    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return timed_out(name)
    said = on_one_line(str(error)) or type(error).__name__
    if isinstance(error, httpx2.ConnectError | httpx2.UnsupportedProtocol):
        return unreachable(name, said, url=url)
    return connection_lost(name, said)


def is_loopback(url: str) -> bool:
    """Whether the server is on this machine, past any proxy."""
    return urlsplit(url).hostname in _LOOPBACK


def on_one_line(text: str) -> str:
    """Other people's words, short and without line ends."""
    return " ".join(text.split())[:_LONGEST_WORDS]


def _codes(inner: Mapping[str, Any]) -> Iterator[str]:
    details = inner.get("details")
    values = [inner.get(key) for key in ("code", "type", "status")]
    if isinstance(details, list):
        values += [detail.get("reason") for detail in details if isinstance(detail, Mapping)]
    return (value.lower() for value in values if isinstance(value, str) and value)


def _sizes(inner: Mapping[str, Any], words: str) -> tuple[int, int] | None:
    tokens, limit = inner.get("n_prompt_tokens"), inner.get("n_ctx")
    if not isinstance(tokens, int) or not isinstance(limit, int):
        found = next((match for pattern in _SIZES if (match := pattern.search(words)) is not None), None)
        if found is None:
            return None
        reply = int(found.groupdict().get("reply") or 0)
        tokens, limit = int(found["tokens"]), int(found["limit"]) - reply
    # A sentence may speak of other figures than these two.
    return (tokens, limit) if tokens > limit > 0 else None


def _duration(seconds: float) -> str:
    if seconds <= 90:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} min" if seconds <= 90 * 60 else f"{math.ceil(seconds / 3600)} h"
