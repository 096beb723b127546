"""What providers say, and what it means: the class, when to come back, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from frontmind.providers.faults import Advice, explained, read_fault, transport_fault
from frontmind.providers.retry_after import retry_after_seconds

ADVICE = Advice(key="check THE_KEY")
DATE = "Mon, 30 Nov 2026 09:15:00 GMT"


def meaning(body: object, status: int | None = None, headers: Mapping[str, str] | None = None) -> ModelError:
    return explained(read_fault(body, status=status, headers=headers), name="p:m", advice=ADVICE)


def anthropic(kind: str, message: str = "because") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def openai(code: str | None, message: str = "because", kind: str = "") -> dict[str, Any]:
    return {"message": message, "type": kind, "code": code, "param": None}


def google(code: int, status: str, message: str = "because", *details: Any) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": message, "details": list(details)}}


@pytest.mark.parametrize(
    ("body", "status", "kind", "retryable"),
    [
        (anthropic("overloaded_error"), 529, Overloaded, True),
        (anthropic("overloaded_error"), 200, Overloaded, True),
        (anthropic("rate_limit_error"), 429, RateLimited, True),
        (anthropic("timeout_error"), 504, ModelTimeout, True),
        (anthropic("api_error"), 500, ModelError, True),
        (anthropic("api_error"), 200, ModelError, True),
        (anthropic("authentication_error"), 401, ModelUnavailable, False),
        (anthropic("billing_error"), 402, ModelUnavailable, False),
        (anthropic("not_found_error"), 404, ModelUnavailable, False),
        (anthropic("invalid_request_error"), 400, RequestRefused, False),
        (anthropic("invalid_request_error"), None, RequestRefused, False),
        (anthropic("request_too_large"), 413, WindowTooLarge, False),
        (openai("rate_limit_exceeded", kind="requests"), 429, RateLimited, True),
        (openai("insufficient_quota", kind="insufficient_quota"), 429, ModelUnavailable, False),
        (openai("invalid_api_key", kind="invalid_request_error"), 401, ModelUnavailable, False),
        (openai("model_not_found", kind="invalid_request_error"), 404, ModelUnavailable, False),
        (openai("context_length_exceeded", kind="invalid_request_error"), 400, WindowTooLarge, False),
        (openai("server_error"), None, ModelError, True),
        (openai("invalid_prompt"), None, RequestRefused, False),
        (openai("slow_down"), 503, Overloaded, True),
        (openai("server_is_overloaded"), None, Overloaded, True),
        (google(503, "UNAVAILABLE"), 503, Overloaded, True),
        (google(503, "UNAVAILABLE"), None, Overloaded, True),
        (google(429, "RESOURCE_EXHAUSTED"), 429, RateLimited, True),
        (google(504, "DEADLINE_EXCEEDED"), 504, ModelTimeout, True),
        (google(400, "INVALID_ARGUMENT", "no", {"reason": "API_KEY_INVALID"}), 400, ModelUnavailable, False),
        (google(400, "INVALID_ARGUMENT"), 400, RequestRefused, False),
        ({"code": 429, "message": "upstream"}, None, RateLimited, True),
        ({"code": 502, "message": "upstream"}, None, ModelError, True),
        ({"type": "ThrottlingException", "message": "slow down"}, 400, Overloaded, True),
        ({"type": "serviceUnavailableException"}, 400, Overloaded, True),
        ({"type": "ModelNotReadyException"}, 429, Overloaded, True),
        ({"type": "modelStreamErrorException", "message": "x"}, 400, ModelError, True),
        ({"type": "modelTimeoutException", "message": "x"}, 400, ModelTimeout, True),
        ({"type": "ServiceQuotaExceededException", "message": "x"}, 400, RateLimited, True),
        ({"error": "out of memory"}, None, ModelError, True),
        ("<html>Bad gateway</html>", 502, ModelError, True),
        ("<html>Not allowed</html>", 405, ModelError, False),
        (None, 409, ModelError, True),
        ([1], None, ModelError, True),
    ],
)
def test_each_fault_has_its_class(body: object, status: int | None, kind: type[ModelError], retryable: bool) -> None:
    error = meaning(body, status)
    assert (type(error), error.retryable) == (kind, retryable)
    assert str(error).startswith(error.reason)
    assert "\n" not in str(error)


def test_an_empty_account_says_what_to_do() -> None:
    for body, status in (
        (openai("insufficient_quota", "You exceeded your current quota"), 429),
        (anthropic("invalid_request_error", "Your credit balance is too low to access the API."), 400),
        ({"message": "Insufficient Balance"}, 402),
    ):
        error = meaning(body, status)
        assert type(error) is ModelUnavailable
        assert "add credit" in str(error)


@pytest.mark.parametrize(
    ("said", "sizes"),
    [
        ("prompt is too long: 215000 tokens > 200000 maximum", (215000, 200000)),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it", (190000, 180000)),
        ("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", (9000, 8192)),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", (1200000, 1048576)),
        ("The input token count is 1200000 but the model only supports up to 1048576", (1200000, 1048576)),
    ],
)
def test_a_window_that_is_too_large_has_both_sizes(said: str, sizes: tuple[int, int]) -> None:
    error = meaning({"message": said}, 400)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit) == sizes


@pytest.mark.parametrize(
    "said",
    [
        "Input is too long for requested model.",
        "prompt is too long",
        "The input exceeds the maximum number of tokens.",
        "Your input exceeds the context window of this model.",
    ],
)
def test_too_long_without_sizes_says_that_it_is_too_long(said: str) -> None:
    error = meaning({"message": said}, 400)
    assert isinstance(error, WindowTooLarge)
    assert (error.tokens, error.limit) == (None, None)
    assert "too long for p:m" in str(error)


def test_a_server_that_is_busy_with_long_prompts_is_not_a_window_that_is_too_long() -> None:
    assert type(meaning({"message": "the prompt is too long for now"}, 503)) is Overloaded


def test_the_provider_s_own_word_about_asking_again_holds() -> None:
    assert meaning(None, 500, {"X-Should-Retry": "false"}).retryable is False
    assert meaning(None, 405, {"x-should-retry": "true"}).retryable is True


@pytest.mark.parametrize(
    ("seconds", "words"), [("0.2", "in 1 s"), ("34", "in 34 s"), ("90.5", "in 2 min"), ("7200", "in 2 h")]
)
def test_the_message_says_when_to_try_again(seconds: str, words: str) -> None:
    error = meaning(None, 429, {"Retry-After": seconds})
    assert error.retry_after == float(seconds)
    assert str(error).endswith(f"try again {words}")


# --- When to come back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Mon, 30 Nov 2026 09:15:42 GMT", "date": DATE}, 42.0),
        ({"retry-after": "Mon, 30 Nov 2026 09:14:00 GMT", "date": DATE}, None),
        ({"retry-after": "Mon, 30 Nov 2026 09:15:42 GMT"}, None),
        ({"retry-after": "0"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon", "date": DATE}, None),
        ({"anthropic-ratelimit-requests-reset": "2026-11-30T09:15:20Z", "date": DATE}, 20.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-11-30T10:15:20Z",
                "anthropic-ratelimit-requests-remaining": "7",
                "anthropic-ratelimit-input-tokens-reset": "2026-11-30T09:15:30Z",
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "date": DATE,
            },
            30.0,
        ),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "120ms"}, 90.0),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "3"}, None),
        ({"x-ratelimit-reset": "1796030110000", "date": DATE}, 10.0),
        ({"x-ratelimit-reset": "1796030110", "date": DATE}, 10.0),
        ({"x-ratelimit-reset": "15"}, 15.0),
        ({"x-ratelimit-reset": "2026-11-30T09:15:20", "date": DATE}, None),
    ],
)
def test_the_headers_say_when(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_google_says_it_in_the_details_and_openai_in_words() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    assert retry_after_seconds({}, google(429, "RESOURCE_EXHAUSTED", "x", {"reason": "y"}, info)) == 34.5
    assert retry_after_seconds({}, None, "Rate limit reached. Please try again in 6m1.5s.") == 361.5
    assert retry_after_seconds({}, None, "Please try again in 20ms. Visit") == 0.02


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset", "date", "anthropic-ratelimit-x-reset"]),
        st.one_of(st.text(max_size=20), st.from_regex(r"[0-9]{1,20}(\.[0-9]+)?|[0-9]+m[0-9]+s", fullmatch=True)),
    ),
    st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner)),
)
def test_whatever_a_server_sends_is_a_wait_or_none(headers: dict[str, str], body: object) -> None:
    seconds = retry_after_seconds(headers, body)
    assert seconds is None or 0 < seconds < 10**15 + 1


# --- The transport -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "url", "kind"),
    [
        (httpx2.ConnectError("refused"), "http://127.0.0.1:9/v1/", ModelUnavailable),
        (httpx2.ConnectError("refused"), "http://localhost:11434/v1/", ModelUnavailable),
        (httpx2.ConnectError("no such name"), "https://api.example/v1/", ConnectionLost),
        (httpx2.ConnectTimeout("slow"), "https://api.example/v1/", ModelTimeout),
        (httpx2.ReadTimeout("silent"), "https://api.example/v1/", ModelTimeout),
        (httpx2.ReadError(""), "https://api.example/v1/", ConnectionLost),
        (httpx2.RemoteProtocolError("cut"), "https://api.example/v1/", ConnectionLost),
        (ConnectionResetError(104, "reset"), "https://api.example/v1/", ConnectionLost),
    ],
)
def test_a_broken_connection_has_its_class(error: Exception, url: str, kind: type[ModelError]) -> None:
    found = transport_fault(error, name="p:m", url=url)
    assert type(found) is kind
    assert found.retryable is (kind is not ModelUnavailable)
