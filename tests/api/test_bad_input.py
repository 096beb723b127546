"""Bodies, paths, numbers, headers and lines that nobody should send: each is answered with a documented code."""

from __future__ import annotations

import asyncio
import codecs
import gzip
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import pytest
import pytest_asyncio

from api.fuzzing import UNLIMITED
from api.sockets import asked, check_answer, check_refusal, line, request
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.scripted import ScriptedModel
from server.serving import Served, add_key, served

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.requirement("WEB-21")]

MAIN: Final = "/api/conversations/main"
BODIES: Final[dict[str, dict[str, Any]]] = {
    f"POST {MAIN}/turns": {
        "text": "Hi",
        "attachments": [{"media_type": "image/png", "data": "iVBORw0KGgo=", "name": "a.png"}],
        "replaces": 1,
        "wait": True,
    },
    f"POST {MAIN}/preview": {"text": "Hi", "replaces": 1},
    "PUT /api/me": {"timezone": "Europe/Berlin", "instructions": "Be brief."},
    "POST /api/login": {"key": "fm_none"},
    "POST /api/reminders": {"phrase": "call Anna tomorrow at 9am"},
    "PATCH /api/reminders/1": {"text": "call", "when": "tomorrow at 8am", "version": 1},
    "POST /api/reminders/1/done": {"version": 1},
    "POST /api/reminders/1/snooze": {"until": "tomorrow at 8am", "version": 1},
    "POST /api/memories": {"text": "You prefer tea."},
    "PATCH /api/memories/1": {"text": "You", "valid_until": "tomorrow", "happens_at": "2027-01-01", "version": 1},
    "PUT /api/documents/house": {"text": "# House", "expected": 0},
    "PATCH /api/documents/house": {"enabled": True, "collapsed": ["House"]},
    "POST /api/documents/house/undo": {"expected": 1},
    "POST /v1/chat/completions": {
        "model": "frontmind",
        "messages": [{"role": "user", "content": "Hi"}],
        "tools": [
            {"type": "function", "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}}
        ],
        "stream": False,
    },
    "POST /v1/responses": {"model": "frontmind", "input": "Hi", "instructions": "Be brief.", "metadata": {"a": "b"}},
    "POST /v1/messages": {
        "model": "frontmind",
        "max_tokens": 99,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    },
    "POST /v1/messages/count_tokens": {"model": "frontmind", "messages": [{"role": "user", "content": "Hi"}]},
}
"""What every route with a body takes."""

_PICTURE: Final = "data:image/png;base64,iVBORw0KGgo="
RICH: Final[dict[str, list[dict[str, Any]]]] = {
    "POST /v1/chat/completions": [
        {
            "model": "frontmind",
            "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": _PICTURE}}]}],
            "stream_options": {"include_usage": True},
            "response_format": {"type": "text"},
            "tool_choice": "auto",
            "n": 1,
            "modalities": ["text"],
        },
        {"model": "frontmind", "messages": [{"role": "tool", "tool_call_id": "call_1", "content": "x"}]},
        {
            "model": "frontmind",
            "messages": [
                {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}], "role": "assistant"},
                {"role": "user", "content": "Hi"},
            ],
        },
    ],
    "POST /v1/responses": [
        {
            "model": "frontmind",
            "input": [{"type": "function_call_output", "call_id": "call_1", "output": "x"}],
            "previous_response_id": "resp_1",
            "text": {"format": {"type": "text"}},
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}],
        },
        {"model": "frontmind", "input": [{"type": "message", "role": "user", "content": "Hi"}]},
        {"model": "frontmind", "input": "Hi", "conversation": {"id": "main"}, "parallel_tool_calls": True},
        {
            "model": "frontmind",
            "input": [
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "x"},
            ],
        },
    ],
    "POST /v1/messages": [
        {
            "model": "frontmind",
            "max_tokens": 9,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
                        }
                    ],
                }
            ],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"},
        },
        {
            "model": "frontmind",
            "max_tokens": 9,
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]},
            ],
        },
    ],
}
"""Further bodies of the compatible APIs."""

NO_JSON: Final[dict[str, bytes]] = {
    "empty": b"",
    "cut off": b'{"text": "Hel',
    "cut off in an escape": b'{"text": "\\u12',
    "no JSON": b"text=Hi",
    "two values": b"{}{}",
    "not UTF-8": b'{"text": "\xff\xfe"}',
    "a surrogate in UTF-8": b'{"text": "\xed\xa0\x80"}',
    "UTF-16": '{"text": "Hi"}'.encode("utf-16"),
    "NUL": b'{"text": "\x00"}',
    "only NUL": b"\x00" * 1000,
    "100,000 lists": b"[" * 100_000,
    "100,000 lists that end": b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": b'{"text":' * 100_000 + b"1" + b"}" * 100_000,
    "a list": b"[]",
    "null": b"null",
    "a text": b'"text"',
    "a number": b"1e999999999",
    "an endless number": b"9" * 100_000,
    "NaN": b"NaN",
    "an empty object": b"{}",
    "a key twice, wrong the second time": b'{"text": "a", "model": "frontmind", "text": 1, "model": 2}',
    "gzip": gzip.compress(b'{"text": "Hi"}'),
    "BOM": codecs.BOM_UTF8 + b"[]",
}
FINE: Final = {
    # Its body may be left out, and of what the other takes everything may be.
    *(("POST /api/reminders/1/done", name) for name in ("empty", "null", "an empty object")),
    ("PATCH /api/documents/house", "an empty object"),
}
HOSTILE_TEXTS: Final = (
    '"\\ud800"',
    '"\\udfff\\ud800"',
    '"\\u0000"',
    '"\\u001b]0;x\\u0007"',
    '"\\u202e"',
    '""',
    '" "',
    '"' + "9" * 5_000 + '"',
    '"' + "=" * 5_000 + '"',
    '"<script>alert(1)</script>"',
    "null",
    "1",
    "true",
    "[]",
    "{}",
    "[[[[[[[[]]]]]]]]",
)
HOSTILE_NUMBERS: Final = (
    "-1",
    "0",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1" + "0" * 400,
    "1" + "0" * 5_000,
    "1e999",
    "-1e999",
    "1.5",
    "1e400",
    "NaN",
    "Infinity",
    "true",
    '"1"',
    "null",
    "[]",
)
NUMBERS_IN_PATHS: Final = (
    *("0", "-1", "-0", "1.5", "1e3", "0x1", "%20", "%00", "null", "NaN", "last", "..", "%2e%2e", "1%2F2"),
    *(str(number) for number in (2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1)),
    *("9" * 4_000, "%D9%A1", "%F0%9D%9F%8F", "%EF%BC%91", "%FF", "1;2", "1,2", "%31%00"),
)
NAMES_IN_PATHS: Final = (
    *("%2F", "%2F..%2F..%2Fetc%2Fpasswd", "..", "%2e%2e", ".", "%252F", "%25", "%", "%zz", "%C3", "%FF%FE", "%00"),
    *("%0A", "%0D%0AX-Injected:%201", "%1F", "%7F", "%C2%85", "%E2%80%AE", "%ED%A0%80", "%F4%90%80%80", "%20", "a%20b"),
    *("x" * 10_000, "%F0%9F%92%A9" * 100, "%F0%9F%92%A9" * 101, "a?b=c", "a;b", "'%20OR%201=1--", "%E2%80%A8"),
)


@dataclass(frozen=True, slots=True)
class Target:
    """A server, where it listens, and a key that it takes."""

    server: Served
    address: str
    key: str


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def target() -> AsyncIterator[Target]:
    model = ScriptedModel(lambda _: "Hello.", profile=resolve_profile("anthropic", "claude-sonnet-4-5"))
    async with served(model, people=("anna",), limits=replace(UNLIMITED, body_bytes=2_000_000)) as server:
        client = server.client
        await client.post("/api/reminders", json={"phrase": "call Anna tomorrow at 9am"})
        await client.post("/api/memories", json={"text": "You like cats."})
        await client.put("/api/documents/house", json={"text": "# House", "expected": 0})
        async with server.listening() as address:
            yield Target(server, address, server.keys["anna"])


async def test_every_route_that_takes_a_body_is_given_bad_ones(target: Target) -> None:
    documented = {
        (method.upper(), path)
        for path, item in target.server.app.openapi()["paths"].items()
        for method, operation in item.items()
        if "requestBody" in operation
    }
    for name in BODIES:
        method, _, path = name.partition(" ")
        filled = path.replace("/main/", "/{conversation}/").replace("/house", "/{name}")
        filled = filled.replace("reminders/1", "reminders/{reminder}").replace("memories/1", "memories/{memory}")
        documented.discard((method, filled))
    assert not documented, "say in BODIES what these take"


@pytest.mark.parametrize("name", NO_JSON)
async def test_a_body_that_is_no_body_is_refused_everywhere(target: Target, name: str) -> None:
    for route in BODIES:
        method, _, path = route.partition(" ")
        answer = await asked(target.address, request(method, path, NO_JSON[name], key=target.key))
        if (route, name) in FINE:
            check_answer(answer, path)
        else:
            check_refusal(answer, path)


@pytest.mark.parametrize("route", BODIES)
async def test_no_value_in_a_body_makes_the_server_fail(target: Target, route: str) -> None:
    method, _, path = route.partition(" ")
    bodies = [spoilt for body in (BODIES[route], *RICH.get(route, ())) for spoilt in _spoilt(body)]
    assert len(bodies) >= len(HOSTILE_NUMBERS)
    for body in bodies:
        check_answer(await asked(target.address, request(method, path, body.encode(), key=target.key)), path)


def _spoilt(value: Any) -> Iterator[str]:
    """The value as JSON, with one value after another in it replaced by each hostile one."""
    match value:
        case dict():
            for key, inner in value.items():
                for spoilt in _spoilt(inner):
                    others = [f"{json.dumps(name)}: {json.dumps(it)}" for name, it in value.items() if name != key]
                    yield "{" + ", ".join([*others, f"{json.dumps(key)}: {spoilt}"]) + "}"
            yield json.dumps({**value, "\ud800": 1})
            yield json.dumps({**value, "k" * 10_000: {"deep": [[[[]]]]}})
        case [first, *_]:
            for spoilt in _spoilt(first):
                yield f"[{spoilt}]"
            yield "[" + ", ".join([json.dumps(first)] * 500) + "]"
        case bool() | str():
            yield from HOSTILE_TEXTS
        case _:
            yield from HOSTILE_NUMBERS


async def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(target: Target) -> None:
    for route in BODIES:
        method, _, path = route.partition(" ")
        said = request(method, path, b"", {"Content-Length": "2000001"}, key=target.key)
        answer = await asked(target.address, said)
        assert (answer.status, answer.code) == (413, "too_large")
        check_refusal(answer, path)
    huge = request("POST", f"{MAIN}/turns", None, {"Content-Length": "9" * 30}, key=target.key)
    async with line(target.address) as own:
        await own.send(huge)
        answer = await own.answer()
        assert answer.status in (400, 413)
    head = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    for path in (f"{MAIN}/turns", "/v1/chat/completions", "/v1/messages"):
        async with line(target.address) as own:
            await own.send(request("POST", path, None, head, key=target.key))
            sending = asyncio.ensure_future(own.send(b"10000\r\n" + b" " * 0x10000 + b"\r\n"))
            for _ in range(40):
                await sending
                sending = asyncio.ensure_future(own.send(b"10000\r\n" + b" " * 0x10000 + b"\r\n"))
            await sending
            answer = await own.answer()
        assert (answer.status, answer.code) == (413, "too_large")
        check_refusal(answer, path)


@pytest.mark.parametrize(
    "kind",
    [
        *("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx"),
        *("", "*/*", "application", "application/json, text/plain", "\xff", "text/event-stream", "x" * 10_000),
    ],
)
async def test_a_body_of_another_type_is_refused(target: Target, kind: str) -> None:
    for route, value in BODIES.items():
        method, _, path = route.partition(" ")
        sent = request(method, path, json.dumps(value).encode(), {"Content-Type": kind}, key=target.key)
        answer = await asked(target.address, sent)
        assert (answer.status, answer.code) == (415, "unsupported_media_type"), route
        check_refusal(answer, path)


@pytest.mark.parametrize("number", NUMBERS_IN_PATHS)
async def test_a_number_that_is_none_is_answered(target: Target, number: str) -> None:
    paths = [
        *(f"{MAIN}/turns/{number}{rest}" for rest in ("", "/events", "/attachments/0", "/attachments/" + number)),
        *(f"{MAIN}/windows/{number}{rest}" for rest in ("", "/request", "/diff", "/blocks/0", f"/blocks/{number}")),
        *(f"{MAIN}/windows/1?step={number}", f"{MAIN}/windows/1/diff?with={number}"),
        *(f"{MAIN}/turns?since={number}", f"{MAIN}/turns?until={number}", f"{MAIN}/turns?newest={number}"),
        *(f"{MAIN}/turns/1/events?after={number}", f"/api/memories?limit={number}", f"/api/search?q=a&limit={number}"),
        *(f"/api/conversations?limit={number}", f"/api/conversations?before={number}", f"/api/ledger?since={number}"),
        *(f"/api/ledger?until={number}", f"/api/ledger?by={number}", f"/api/documents/house/versions?newest={number}"),
    ]
    for path in paths:
        check_answer(await asked(target.address, request("GET", path, key=target.key)), path)
    for method, path in (
        ("POST", f"{MAIN}/turns/{number}/stop"),
        ("DELETE", f"/api/memories/{number}"),
        ("DELETE", f"/api/reminders/{number}"),
        ("POST", f"/api/memories/{number}/restore"),
        ("POST", f"/api/reminders/{number}/done"),
    ):
        check_refusal(await asked(target.address, request(method, path, key=target.key)), path)


@pytest.mark.parametrize("name", NAMES_IN_PATHS)
async def test_a_name_that_is_none_is_answered(target: Target, name: str) -> None:
    conversation, key = f"/api/conversations/{name}", target.key
    paths = [
        *(f"{conversation}{rest}" for rest in ("", "/turns", "/turns/1", "/turns/1/events", "/calls", "/trinkets")),
        *(f"/api/documents/{name}", f"/api/documents/{name}/versions", f"/page/{name}", f"/v1/models/{name}"),
        *(f"/{name}", f"/api/{name}", f"/v1/{name}"),
    ]
    for path in paths:
        answer = await asked(target.address, request("GET", path, key=key))
        check_answer(answer, path)
        assert "x-injected" not in answer.headers
    said = await asked(target.address, request("POST", f"{conversation}/turns", b'{"text": "Hi"}', key=key))
    check_answer(said, conversation)
    assert "x-injected" not in said.headers
    kept = request("PUT", f"/api/documents/{name}", b'{"text": "Hi", "expected": 0}', key=key)
    check_answer(await asked(target.address, kept), "/api/documents")
    headers = {"Frontmind-Conversation": name}
    body = json.dumps(BODIES["POST /v1/chat/completions"]).encode()
    named = await asked(target.address, request("POST", "/v1/chat/completions", body, headers, key=key))
    check_answer(named, "/v1/chat/completions")


@pytest.mark.parametrize(
    "headers",
    [
        *({"Range": value} for value in ("bytes=0-", "bytes=-1", "bytes=9-1", "bytes=0-0,1-1", "lines=1", "x" * 5_000)),
        *({"Last-Event-ID": value} for value in ("-1", "9" * 40, "9" * 5_000, "\xff", "1; drop", "NaN", "\xb2")),
        *({"Accept": value} for value in ("text/html", "\xff", ";q=;,,", "application/xml")),
        *({"Accept-Encoding": value} for value in ("gzip;q=0", "\xff", "br", "*;q=x")),
        *({"If-None-Match": value} for value in ("*", '"', "\xff", "x" * 5_000)),
        *({"Cookie": value} for value in ("frontmind_session=", "=;=;", "\xff", 'frontmind_session="', "x" * 5_000)),
        *({"X-HTTP-Method-Override": "DELETE"}, {"Expect": "100-continue"}, {"Expect": "x"}, {"Upgrade": "websocket"}),
        *({"Connection": "Upgrade", "Upgrade": "h2c"}, {"X-Forwarded-For": "1.2.3.4"}, {"Content-Encoding": "gzip"}),
        *({"anthropic-version": "\xff"}, {"X-Stainless-Retry-Count": "\xff"}, {"Idempotency-Key": "\xff" * 500}),
        *({"Frontmind-Conversation": "%ED%A0%80"}, {"Frontmind-On-Disconnect": "x"}, {"Frontmind-Task": "\xff"}),
    ],
    ids=lambda headers: "-".join(f"{name}-{value[:12]!a}" for name, value in headers.items()),
)
async def test_headers_that_say_nothing_sensible_are_answered(target: Target, headers: dict[str, str]) -> None:
    await target.server.client.post(f"{MAIN}/turns", json={"text": "Hi", "wait": True})
    for path in ("/", "/page/app.js", "/api/me", f"{MAIN}/turns/1/events", "/v1/models", "/api/conversations"):
        answer = await asked(target.address, request("GET", path, headers=headers, key=target.key))
        check_answer(answer, path, headers)
    for path in ("/v1/chat/completions", "/v1/messages"):
        body = json.dumps(BODIES[f"POST {path}"]).encode()
        answer = await asked(target.address, request("POST", path, body, headers, key=target.key))
        check_answer(answer, path, headers)


@pytest.mark.parametrize("path", ["/api/me", "/v1/models", "/v1/messages", "/v1/chat/completions", "/api/nowhere"])
async def test_a_key_that_opens_nothing_is_answered_with_its_code(target: Target, path: str) -> None:
    server = target.server
    expired, revoked = "fm_" + "e" * 43, "fm_" + "r" * 43
    accounts = server.store.accounts_of_database()
    names = [key.label for key in await accounts.keys("anna")]
    if len(names) == 1:
        await add_key(server.store, "anna", expired, server.clock, lasts=timedelta(seconds=-1))
        await add_key(server.store, "anna", revoked, server.clock)
        await accounts.revoke_key((await accounts.keys("anna"))[-1].id, server.clock.now())
    garbage = ("x", "\xff", "fm_" + "x" * 5_000, "fm_ x", "%00", "'", "fm_\x01")
    for key, code in ((expired, "key_expired"), (revoked, "key_revoked"), *((key, "unauthorized") for key in garbage)):
        for headers in ({"Authorization": f"Bearer {key}"}, {"x-api-key": key}):
            answer = await asked(target.address, request("GET", path, headers=headers))
            if "\x01" in key and answer.headers.get("content-type", "").startswith("text/plain"):
                # No header at all: the line is refused before there is a request.
                assert answer.status == 400
                continue
            assert (answer.status, answer.code) == (401, code)
            check_refusal(answer, path)
            assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("model", ["gpt-5", "", " frontmind", "frontmind\x00", "../frontmind", "x" * 10_000, "\ud800"])
async def test_an_unknown_model_is_answered_in_the_shape_of_each_api(target: Target, model: str) -> None:
    for route in (route for route in BODIES if "/v1/" in route):
        path = route.partition(" ")[2]
        body = json.dumps({**BODIES[route], "model": model}).encode()
        answer = await asked(target.address, request("POST", path, body, key=target.key))
        check_refusal(answer, path)
        assert (answer.status, answer.code) == ((404, "model_not_found") if model else (400, "invalid_request"))


async def test_requests_in_one_piece_are_answered_in_their_order(target: Target) -> None:
    paths = ["/api/health", "/api/nowhere", "/v1/models", f"{MAIN}/turns/0", "/api/me"] * 20
    async with line(target.address) as own:
        await own.send(b"".join(request("GET", path, key=target.key) for path in paths))
        answers = [await own.answer() for _ in paths]
    assert [answer.status for answer in answers] == [200, 404, 200, 422, 200] * 20


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 300,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        b"POST /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /api/me HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=lambda data: ascii(data[:40]),
)
async def test_what_is_no_http_harms_nobody(target: Target, data: bytes) -> None:
    async with line(target.address) as own:
        await own.send(data)
        try:
            answer = await own.answer()
        except (asyncio.IncompleteReadError, ConnectionError):
            answer = None
    assert answer is None or answer.status < 500
    assert answer is None or b"Traceback" not in answer.body
    assert (await asked(target.address, request("GET", "/api/me", key=target.key))).status == 200


@asynccontextmanager
async def _many(address: str, beginnings: Sequence[bytes]) -> AsyncIterator[None]:
    """Lines on which somebody has begun to say something."""
    async with AsyncExitStack() as stack:
        for beginning in beginnings:
            own = await stack.enter_async_context(line(address))
            await own.send(beginning)
        yield


async def test_clients_that_never_finish_their_requests_keep_nobody_waiting(target: Target) -> None:
    head = request("POST", f"{MAIN}/turns", None, {"Content-Type": "application/json"}, key=target.key)
    beginnings = [b"", b"GET /api/me HT", head[:-2], head[:-2] + b"Content-Length: 100\r\n\r\n{"]
    async with _many(target.address, beginnings * 50):
        async with asyncio.timeout(10):
            for _ in range(20):
                assert (await asked(target.address, request("GET", "/api/me", key=target.key))).status == 200
            before = (await target.server.client.get(MAIN)).json()["turns"]
    assert (await target.server.client.get(MAIN)).json()["turns"] == before
