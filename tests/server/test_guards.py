"""What is let in: addresses, origins, bodies, rates; and what every reply says to a browser."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Coroutine
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontmind.providers.scripted import ScriptedModel
from frontmind.server.answers import SECURITY_HEADERS
from frontmind.server.bodies import Outline, json_outline
from frontmind.server.limits import Limits
from server.serving import served

SAY = "/api/conversations/main/turns"
SMALL = Limits(body_bytes=1000)


def code_of(reply: httpx2.Response) -> str:
    assert reply.headers["content-type"] == "application/json"
    code: str = reply.json()["error"]["code"]
    return code


@pytest.mark.requirement("WEB-13")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:7766", "127.0.0.1.evil.example", "[", "", "10.0.0.9"])
async def test_another_name_than_the_servers_own_is_refused(host: str) -> None:
    async with served() as server:
        reply = await server.client.get("/api/health", headers={"host": host})
    assert (reply.status_code, code_of(reply)) == (421, "forbidden_host")


@pytest.mark.requirement("WEB-13")
@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:99", "127.0.0.1:7766", "[::1]:7766", "Mind.Example", "mind.example:443"]
)
async def test_names_of_loopback_and_those_that_were_allowed_are_served(host: str) -> None:
    async with served(hosts=("mind.example",)) as server:
        reply = await server.client.get("/api/health", headers={"host": host})
    assert reply.status_code == 200


async def test_the_address_on_which_a_request_came_in_is_served_and_a_name_is_not() -> None:
    async with served() as server:
        sent = {"host": "192.168.7.7"}
        elsewhere = httpx2.ASGITransport(app=server.app)
        async with httpx2.AsyncClient(transport=elsewhere, base_url="http://192.168.7.7:7766") as client:
            assert (await client.get("/api/health", headers=sent)).status_code == 200
        async with httpx2.AsyncClient(transport=elsewhere, base_url="http://evil.example") as client:
            assert (await client.get("/api/health")).status_code == 421


@pytest.mark.requirement("WEB-13")
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:8080",
        "http://localhost:7766",
        "file://",
        "",
        "://",
        "http://[",
        "http://x]",
    ],
)
async def test_pages_of_other_origins_reach_nothing(origin: str) -> None:
    async with served() as server:
        for method, path in (("GET", "/api/me"), ("GET", "/"), ("POST", SAY), ("GET", "/v1/models")):
            reply = await server.client.request(method, path, headers={"origin": origin})
            assert reply.status_code == 403, path
        assert await server.store.turns("main") == []


async def test_the_servers_own_page_and_programs_without_an_origin_are_served() -> None:
    async with served(hosts=("mind.example",)) as server:
        own = {"origin": "http://127.0.0.1:7766", "sec-fetch-site": "same-origin"}
        assert (await server.client.post(SAY, json={"text": "Hi"}, headers=own)).status_code == 202
        proxied = {"origin": "https://mind.example", "host": "mind.example"}
        assert (await server.client.get("/api/me", headers=proxied)).status_code == 200
        assert (await server.client.get("/api/me")).status_code == 200


@pytest.mark.requirement("WEB-13")
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_another_page_changes_and_opens_nothing(site: str) -> None:
    async with served() as server:
        at = server.clock.now()
        await server.store.add_reminder("Call Eve", at, zone="Europe/Berlin", at=at)
        sent = {"sec-fetch-site": site}
        for method, path in (("POST", SAY), ("GET", "/api/events"), ("GET", "/api/me"), ("GET", "/v1/models")):
            reply = await server.client.request(method, path, headers=sent)
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden_origin"), path
        assert await server.store.turns("main") == []
        assert await server.store.deliveries() == []
        # A link to the page is no attack.
        assert (await server.client.get("/", headers=sent)).status_code == 200


async def test_nobody_opens_streams_without_limit() -> None:
    async with (
        served(people=("anna", "ben"), limits=Limits(streams_of_one=2)) as server,
        server.listening() as address,
        httpx2.AsyncClient(base_url=address, headers={"x-api-key": server.keys["ben"]}) as ben,
        httpx2.AsyncClient(base_url=address, headers={"x-api-key": server.keys["anna"]}) as anna,
    ):
        async with anna.stream("GET", "/api/events") as first, anna.stream("GET", "/api/events") as second:
            assert (first.status_code, second.status_code) == (200, 200)
            refused = await anna.get("/api/events")
            assert (refused.status_code, code_of(refused)) == (429, "too_many_requests_at_once")
            assert refused.headers["retry-after"] == "2"
            async with ben.stream("GET", "/api/events") as other:
                assert other.status_code == 200
        async with asyncio.timeout(10):
            while True:
                async with anna.stream("GET", "/api/events") as again:
                    if again.status_code == 200:
                        break


async def test_every_reply_tells_browsers_to_run_nothing_else() -> None:
    async with served(limits=SMALL) as server:

        @server.app.get("/api/broken")
        async def broken() -> None:
            raise RuntimeError("a secret of the inside")

        replies = [
            await server.client.get("/"),
            await server.client.get("/page/style.css"),
            await server.client.get("/api/health"),
            await server.client.get("/nowhere"),
            await server.client.put("/api/health"),
            await server.client.get("/api/health", headers={"host": "evil.example"}),
            await server.client.post(SAY, content=b"x" * 1001),
            await server.client.get("/api/broken"),
        ]
    assert [reply.status_code for reply in replies] == [200, 200, 200, 404, 405, 421, 413, 500]
    for reply in replies:
        assert {name: reply.headers.get(name) for name in SECURITY_HEADERS} == dict(SECURITY_HEADERS)
    assert "secret" not in replies[-1].text and code_of(replies[-1]) == "internal"
    assert replies[2].headers["cache-control"] == "no-store"


async def test_a_body_that_is_too_large_is_refused_before_it_is_read() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(1_000_000):
            sent.append(100)
            yield b"x" * 100

    sent: list[int] = []
    async with served(limits=SMALL) as server:
        reply = await server.client.post(SAY, content=pieces(), headers={"content-type": "application/json"})
        assert (reply.status_code, code_of(reply)) == (413, "too_large")
        assert sum(sent) <= 1100
        said = {"content-length": "1001", "content-type": "application/json"}
        reply = await server.client.post(SAY, content=b"{}", headers=said)
        assert reply.status_code == 413
        fits = json.dumps({"text": "x" * 900}).encode()
        reply = await server.client.post(SAY, content=fits, headers={"content-type": "application/json"})
        assert reply.status_code == 202


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        (b'{"text": "Hi"', "application/json", 400, "invalid_json"),
        (b"\xff\xfe", "application/json", 400, "invalid_json"),
        (b'{"text": "\xe4"}', "application/json", 400, "invalid_json"),
        (b"[" * 5000 + b"]" * 5000, "application/json", 400, "invalid_json"),
        (b'{"text":' * 5000 + b"1" + b"}" * 5000, "application/json", 400, "invalid_json"),
        (b'{"text": ' + b"9" * 5000 + b"}", "application/json", 400, "invalid_json"),
        (b'{"text": NaN}', "application/json", 422, "invalid_request"),
        (b'{"text": "\\ud800"}', "application/json", 422, "invalid_request"),
        (b"[]", "application/json", 422, "invalid_request"),
        (b"", "application/json", 422, "invalid_request"),
        (b'{"text": "Hi", "texts": 1}', "application/json", 422, "invalid_request"),
        (b'{"text": "Hi"}', "text/plain", 415, "unsupported_media_type"),
        (b"text=Hi", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b'{"text": "Hi"}', "", 415, "unsupported_media_type"),
    ],
)
async def test_a_body_that_cannot_be_used_is_answered_with_its_code(
    body: bytes, kind: str, status: int, code: str
) -> None:
    async with served() as server:
        reply = await server.client.post(SAY, content=body, headers={"content-type": kind} if kind else {})
        assert (reply.status_code, code_of(reply)) == (status, code)
        assert len(reply.text) < 500
        assert await server.store.turns("main") == []


@pytest.mark.parametrize(
    ("body", "depth", "values"),
    [
        (b"", 0, 1),
        (b"1", 0, 1),
        (b"[[[[", 4, 5),
        (b"[[[]]]", 3, 4),
        (b"[]]]]][[", 1, 4),
        (json.dumps(["[{" * 1000, '"[[[[', "\\", '\\"[', '\\"']).encode(), 1, 6),
        (b'["a", {"b": [1, [2]]}]', 4, 7),
        (b"[" + b"[]," * 100_000 + b"[]]", 2, 200_003),
        (b'["' + b"\\\\" * 100_000 + b'"]', 1, 2),
        (b'["' + b'\\"[' * 100_000 + b'", []]', 2, 4),
    ],
)
def test_depth_and_number_of_values_are_those_outside_of_texts(body: bytes, depth: int, values: int) -> None:
    assert json_outline(body) == Outline(depth, values)


@given(
    st.recursive(
        st.none() | st.text('[]{}"\\,n'), lambda inner: st.lists(inner) | st.dictionaries(st.text('[",'), inner)
    )
)
def test_the_outline_does_not_depend_on_where_a_body_is_cut(value: object) -> None:
    def depth(inner: object) -> int:
        match inner:
            case list():
                return 1 + max(map(depth, inner), default=0)
            case dict():
                return 1 + max(map(depth, inner.values()), default=0)
            case _:
                return 0

    body = json.dumps(value).encode()
    for size in (1, 2, 5, 1 << 17):
        assert json_outline(body, piece_bytes=size) == json_outline(body)
        assert json_outline(body, piece_bytes=size).depth == depth(value)


async def test_only_where_files_or_long_texts_come_a_large_body_is_taken() -> None:
    limits = Limits(body_bytes=5000, small_body_bytes=1000)
    async with served(limits=limits) as server:
        body = json.dumps({"text": "x" * 2000}).encode()
        sent = {"content-type": "application/json"}
        statuses = {
            path: (await server.client.request(method, path, content=body, headers=sent)).status_code
            for method, path in (
                ("POST", "/api/login"),
                ("PUT", "/api/me"),
                ("POST", "/api/memories"),
                ("POST", "/"),
                ("POST", "/api/conversations/a%2Fturns/x"),
                ("POST", "/api/conversations/main/preview"),
                ("POST", SAY),
                ("PUT", "/api/documents/house"),
                ("POST", "/v1/chat/completions"),
            )
        }
    assert list(statuses.values()) == [413, 413, 413, 413, 413, 200, 202, 422, 400]


async def test_a_body_of_too_many_values_is_refused() -> None:
    async with served(limits=Limits(json_values=1000)) as server:
        for body, status in ((b"[" + b"1," * 998 + b"1]", 422), (b"[" + b"[]," * 999 + b"[]]", 400)):
            reply = await server.client.post(SAY, content=body, headers={"content-type": "application/json"})
            assert reply.status_code == status
    assert code_of(reply) == "invalid_json"


@pytest.mark.requirement("WEB-13")
async def test_large_bodies_hold_nobody_up_and_of_one_person_are_not_read_without_limit() -> None:
    limits = Limits(large_bodies_of_one=1)
    async with served(people=("anna", "ben"), limits=limits) as server:
        ben, sent = await server.client_of("ben"), {"content-type": "application/json"}
        first, go_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield b"[" + b"1," * 200_000
            first.set()
            await go_on.wait()
            yield b"1]"

        slow = asyncio.create_task(server.client.post(SAY, content=slowly(), headers=sent))
        await first.wait()
        large = b"[" + b"[]," * 6_000_000 + b"[]]"
        refused = await server.client.post(SAY, content=large, headers=sent)
        assert (refused.status_code, code_of(refused)) == (429, "too_many_requests_at_once")
        waited = await longest_wait(ben.post(SAY, content=large, headers=sent))
        # Far less than it takes to look through, which was several seconds.
        assert waited < 0.3
        go_on.set()
        assert (await slow).status_code == 422
        assert (await server.client.post(SAY, content=large, headers=sent)).status_code == 400


async def longest_wait(work: Coroutine[Any, Any, object]) -> float:
    """For how many seconds nothing else could be done while this went on."""
    working, longest = asyncio.ensure_future(work), 0.0
    while not working.done():
        began = time.perf_counter()
        await asyncio.wait({working}, timeout=0.001)
        longest = max(longest, time.perf_counter() - began)
    assert working.exception() is None
    return longest


async def test_who_asks_too_often_waits_and_others_do_not() -> None:
    seconds = [0.0]
    limits = Limits(burst=3, per_second=0.5)
    async with served(limits=limits, people=("anna", "ben"), timer=lambda: seconds[0]) as server:
        ben = await server.client_of("ben")
        assert [(await server.client.get("/api/me")).status_code for _ in range(3)] == [200] * 3
        refused = await server.client.get("/api/me")
        assert (refused.status_code, code_of(refused)) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "2"
        assert (await ben.get("/api/me")).status_code == 200
        seconds[0] += 2
        assert (await server.client.get("/api/me")).status_code == 200
        assert (await server.client.get("/api/me")).status_code == 429


async def _raw(address: str, *pieces: bytes, read: int = 0) -> bytes:
    """Send bytes over a connection of its own, read so many, and go away."""
    place = urlsplit(address)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    for piece in pieces:
        writer.write(piece)
    await writer.drain()
    got = await reader.read(read) if read else b""
    writer.transport.abort()
    return got


async def test_clients_that_go_away_and_bodies_that_nobody_reads_leave_no_error_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    head = b"HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    async with served(ScriptedModel(lambda _: "Hello.")) as server, server.listening() as address:
        unread = b"GET /api/health " + head + b'Content-Length: 9\r\n\r\n{"a": 1}\n'
        assert await _raw(address, unread, read=100)
        await _raw(address, b"POST " + SAY.encode() + b" " + head + b"Content-Length: 900\r\n\r\n{")
        await _raw(address, b"GET /api/events " + head + b"\r\n", read=20)
        large = b"POST " + SAY.encode() + b" " + head + b"Content-Length: 30000000\r\n\r\n{"
        assert b"413" in await _raw(address, large, read=100)
        async with httpx2.AsyncClient(base_url=address) as client:
            assert (await client.get("/api/health")).status_code == 200
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
