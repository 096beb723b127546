"""Who is asking: keys, the page's cookie, and what becomes of keys that open nothing any more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from http.cookies import SimpleCookie

import httpx2
import pytest

from frontmind.errors import StoreError
from frontmind.server.keys import digest_of, new_key
from frontmind.server.limits import Limits
from frontmind.server.reply_stream import Pace
from frontmind.stores.sqlite.account_store import SqliteAccounts
from server.serving import Served, add_key, served

TWO = ("anna", "ben")


def code_of(reply: httpx2.Response) -> str:
    code: str = reply.json()["error"]["code"]
    return code


async def ask(server: Served, headers: dict[str, str], path: str = "/api/me") -> httpx2.Response:
    """Ask with these headers alone."""
    transport = httpx2.ASGITransport(app=server.app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:7766") as client:
        return await client.get(path, headers=headers)


async def test_a_key_is_taken_in_each_of_the_usual_ways() -> None:
    async with served(people=TWO) as server:
        key = server.keys["ben"]
        for headers in ({"authorization": f"Bearer {key}"}, {"authorization": f"bearer  {key} "}, {"x-api-key": key}):
            assert (await ask(server, headers)).json()["name"] == "ben"
        assert (await ask(server, {"cookie": f"a=1; frontmind_session={key}"})).json()["name"] == "ben"


@pytest.mark.parametrize("path", ["/api/me", "/api/conversations", "/api/events", "/v1/models", "/nowhere"])
async def test_nothing_is_told_without_a_key(path: str) -> None:
    async with served(people=TWO) as server:
        for headers in (
            {},
            {"authorization": "Basic YTpi"},
            {"x-api-key": new_key()},
            {"cookie": "frontmind_session="},
        ):
            reply = await ask(server, headers, path)
            assert reply.status_code == 401
            assert reply.headers["www-authenticate"] == "Bearer"


async def test_the_page_and_what_it_needs_to_begin_take_no_key() -> None:
    async with served(people=TWO) as server:
        for path in ("/", "/page/style.css", "/api/health", "/openapi.json"):
            assert (await ask(server, {}, path)).status_code == 200


async def test_a_server_without_accounts_is_for_one_person_whatever_key_is_sent() -> None:
    async with served() as server:
        for headers in ({}, {"authorization": "Bearer sk-anything"}):
            assert (await ask(server, headers)).json() | {"now": ""} == {
                "name": "",
                "accounts": False,
                "timezone": "",
                "instructions": "",
                "zone": "Europe/Berlin",
                "model": "scripted",
                "framing": "assistant",
                "version": "0.1.0",
                "now": "",
            }


async def test_an_expired_key_says_so() -> None:
    async with served(people=TWO) as server:
        key = new_key()
        await add_key(server.store, "anna", key, server.clock, lasts=timedelta(hours=1))
        assert (await ask(server, {"x-api-key": key})).status_code == 200
        server.clock.advance(hours=1)
        reply = await ask(server, {"x-api-key": key})
    assert (reply.status_code, code_of(reply)) == (401, "key_expired")


async def test_a_key_that_another_process_revoked_opens_nothing_after_seconds() -> None:
    seconds = [0.0]
    async with served(people=TWO, timer=lambda: seconds[0]) as server:
        accounts = server.store.accounts_of_database()
        key = server.keys["ben"]
        assert (await ask(server, {"x-api-key": key})).status_code == 200
        held = await accounts.key_of(digest_of(key))
        assert held is not None
        await accounts.revoke_key(held.id, server.clock.now())
        seconds[0] += 3
        reply = await ask(server, {"x-api-key": key})
        assert (reply.status_code, code_of(reply)) == (401, "key_revoked")
        await accounts.revoke_account("anna", server.clock.now())
        seconds[0] += 3
        reply = await ask(server, {"x-api-key": server.keys["anna"]})
        assert (reply.status_code, code_of(reply)) == (401, "key_revoked")


async def page_key(server: Served, key: str) -> str:
    """The cookie of a page that is opened with this key."""
    opened = await server.client.post("/api/login", json={"key": key})
    assert opened.status_code == 204, opened.text
    server.client.cookies.clear()
    return SimpleCookie(opened.headers["set-cookie"])["frontmind_session"].value


async def test_a_page_is_closed_with_the_key_that_opened_it() -> None:
    seconds = [0.0]
    async with served(people=TWO, timer=lambda: seconds[0]) as server:
        accounts = server.store.accounts_of_database()
        first = await page_key(server, server.keys["ben"])
        # A page that was opened with a page's key holds no longer than the key at the beginning.
        pages = [first, await page_key(server, first)]
        (opener,) = [key for key in await accounts.keys("ben") if key.digest == digest_of(server.keys["ben"])]
        for page in pages:
            assert (await ask(server, {"cookie": f"frontmind_session={page}"})).json()["name"] == "ben"
        await accounts.revoke_key(opener.id, server.clock.now())
        # Also one that is opened while the key is still believed.
        pages.append(await page_key(server, server.keys["ben"]))
        seconds[0] += 3
        for page in pages:
            reply = await ask(server, {"cookie": f"frontmind_session={page}"})
            assert (reply.status_code, code_of(reply)) == (401, "key_revoked")


async def test_logging_out_takes_back_no_key_that_a_person_was_given() -> None:
    async with served(people=TWO) as server:
        key = new_key()
        await server.store.accounts_of_database().add_key(
            "ben", digest_of(key), label="page", hint="fm_", at=server.clock.now()
        )
        left = await server.client.post("/api/logout", headers={"cookie": f"frontmind_session={key}"})
        assert left.status_code == 204
        assert (await ask(server, {"x-api-key": key})).status_code == 200


async def test_keys_of_pages_that_are_over_do_not_pile_up() -> None:
    async with served(people=TWO) as server:
        accounts = server.store.accounts_of_database()
        for _ in range(3):
            await page_key(server, server.keys["ben"])
        server.clock.advance(days=31)
        await page_key(server, server.keys["ben"])
        assert len(await accounts.keys("ben")) == 2
        assert len(await accounts.keys("anna")) == 1


@pytest.mark.parametrize(("scheme", "secure"), [("http", False), ("https", True)])
async def test_the_page_opens_with_a_key_of_its_own_and_closes_at_once(scheme: str, secure: bool) -> None:
    async with served(people=TWO, hosts=("mind.example",)) as server:
        transport = httpx2.ASGITransport(app=server.app)
        async with httpx2.AsyncClient(transport=transport, base_url=f"{scheme}://mind.example") as page:
            assert (await page.get("/api/me")).status_code == 401
            opened = await page.post("/api/login", json={"key": server.keys["ben"]})
            assert opened.status_code == 204
            morsel = SimpleCookie(opened.headers["set-cookie"])["frontmind_session"]
            assert morsel["httponly"] and morsel["samesite"] == "strict" and bool(morsel["secure"]) is secure
            assert morsel["max-age"] == str(30 * 24 * 3600)
            assert morsel.value != server.keys["ben"]
            assert (await page.get("/api/me")).json()["name"] == "ben"
            made = (await server.store.accounts_of_database().keys("ben"))[-1]
            assert (made.label, made.digest) == ("page", digest_of(morsel.value))
            cookie = {"cookie": f"frontmind_session={morsel.value}"}
            assert (await page.post("/api/logout")).status_code == 204
            reply = await ask(server, cookie)
            assert (reply.status_code, code_of(reply)) == (401, "key_revoked")
            assert (await page.get("/api/me")).status_code == 401
        assert (await ask(server, {"x-api-key": server.keys["ben"]})).status_code == 200


async def test_behind_a_proxy_the_cookie_is_for_https_where_the_page_came_by_it() -> None:
    async with served(people=TWO, hosts=("mind.example",)) as server:
        through = {"host": "mind.example", "origin": "https://mind.example"}
        opened = await server.client.post("/api/login", json={"key": server.keys["ben"]}, headers=through)
    assert SimpleCookie(opened.headers["set-cookie"])["frontmind_session"]["secure"] is True


async def test_the_page_opens_no_longer_than_what_opened_it() -> None:
    async with served(people=TWO) as server:
        key = new_key()
        await add_key(server.store, "ben", key, server.clock, lasts=timedelta(hours=1))
        assert (await server.client.post("/api/login", json={"key": key})).status_code == 204
        made = (await server.store.accounts_of_database().keys("ben"))[-1]
    assert made.expires_at == server.clock.now() + timedelta(hours=1)


async def test_whoever_guesses_keys_waits_and_whoever_has_one_does_not() -> None:
    seconds = [0.0]
    limits = Limits(failures=3, failures_per_second=0.5)
    async with served(people=TWO, limits=limits, timer=lambda: seconds[0]) as server:
        for guess in range(3):
            wrong = await server.client.post("/api/login", json={"key": f"fm_{guess}"})
            assert (wrong.status_code, code_of(wrong)) == (401, "unauthorized")
        for refused in (
            await server.client.post("/api/login", json={"key": new_key()}),
            await ask(server, {"x-api-key": new_key()}),
        ):
            assert (refused.status_code, code_of(refused)) == (429, "rate_limited")
            assert refused.headers["retry-after"] == "2"
        # From the same address, as behind a proxy.
        assert (await ask(server, {"x-api-key": server.keys["ben"]})).json()["name"] == "ben"
        assert (await server.client.post("/api/login", json={"key": server.keys["ben"]})).status_code == 204
        seconds[0] += 2
        assert (await ask(server, {"x-api-key": new_key()})).status_code == 401


async def test_a_server_that_runs_asks_for_keys_as_soon_as_there_is_an_account() -> None:
    seconds = [0.0]
    async with (
        served(timer=lambda: seconds[0], pace=Pace(ping=0.02)) as server,
        server.talking() as client,
        client.stream("GET", "/api/events") as stream,
    ):
        chunks = stream.aiter_bytes()
        assert (await anext(chunks)).startswith(b": ping\n")
        assert (await ask(server, {})).json()["accounts"] is False
        assert {} in (await ask(server, {}, "/openapi.json")).json()["security"]
        key, accounts = new_key(), server.store.accounts_of_database()
        await accounts.add_account("anna", server.clock.now())
        await add_key(server.store, "anna", key, server.clock)
        seconds[0] += 3
        reply = await ask(server, {})
        assert (reply.status_code, code_of(reply)) == (401, "unauthorized")
        assert (await ask(server, {"x-api-key": key})).json()["name"] == "anna"
        assert {} not in (await ask(server, {}, "/openapi.json")).json()["security"]
        await until_end(chunks)


async def until_end(chunks: AsyncIterator[bytes]) -> None:
    """Read a stream that ends by itself, and says nothing more."""
    async with asyncio.timeout(10):
        assert b"event:" not in b"".join([chunk async for chunk in chunks])


async def test_a_database_that_cannot_be_read_is_said_and_ends_streams_quietly(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise StoreError("locked", path="/secret/mind.db")

    seconds = [0.0]
    async with (
        served(people=TWO, timer=lambda: seconds[0], pace=Pace(ping=0.02)) as server,
        server.talking() as client,
        client.stream("GET", "/api/events") as stream,
    ):
        chunks = stream.aiter_bytes()
        assert (await anext(chunks)).startswith(b": ping\n")
        monkeypatch.setattr(SqliteAccounts, "key_of", broken)
        seconds[0] += 3
        await until_end(chunks)
        for path in ("/api/me", "/v1/models"):
            reply = await ask(server, {"x-api-key": server.keys["anna"]}, path)
            assert (reply.status_code, code_of(reply)) == (503, "store_failed")
            assert "secret" not in reply.text
    assert [record for record in caplog.records if record.exc_info] == []


async def test_a_key_costs_no_look_into_the_database_for_each_request() -> None:
    async with served(people=TWO) as server:
        before = await server.client.get("/api/me")
        await server.store.accounts_of_database().revoke_key(1, server.clock.now())
        # Believed for some seconds, and no longer.
        assert before.status_code == (await server.client.get("/api/me")).status_code == 200


@pytest.mark.requirement("WEB-16")
async def test_a_key_is_in_no_log_and_in_no_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = new_key()
    async with served(people=TWO) as server, server.listening() as address:
        right = server.keys["anna"]

        @server.app.get("/api/broken")
        async def broken() -> None:
            raise RuntimeError("unforeseen")

        said: list[str] = []
        async with httpx2.AsyncClient(base_url=address) as client:
            for key in (right, wrong):
                for headers in (
                    {"x-api-key": key},
                    {"authorization": f"Bearer {key}"},
                    {"cookie": f"frontmind_session={key}"},
                ):
                    for path in (f"/api/me?key={key}", "/api/broken", f"/nowhere/{key}", "/v1/models/none"):
                        reply = await client.get(path, headers=headers)
                        said.append(reply.text)
                for body in ({"key": key, "more": 1}, {"key": [key]}, {"key": key * 9}, {"keys": key}):
                    said.append((await client.post("/api/login", json=body)).text)
                said.append(
                    (
                        await client.post(
                            "/api/login", content=f'{{"key": "{key}', headers={"content-type": "application/json"}
                        )
                    ).text
                )
    logged = [
        record.getMessage() + str(record.exc_text or "") + str(record.args)
        for record in caplog.records
        if record.name.split(".")[0] not in ("httpx2", "httpcore2")
    ]
    assert any("unforeseen" in str(record.exc_info) for record in caplog.records)
    assert len(said) == 34 and all(said)
    for key in (right, wrong):
        secret = key[7:]
        assert not any(secret in text for text in (*logged, *said))
