"""The files of the page as a browser gets them."""

from __future__ import annotations

import gzip
import re
import time

import pytest

from frontmind.server.page_files import FOLDER, read_page
from server.serving import served


async def test_the_page_and_all_that_it_names_are_there_with_their_types() -> None:
    async with served() as server:
        page = await server.client.get("/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        named = set(re.findall(r'(?:src|href)="(/[^"]*)"', page.text))
        assert named
        kinds = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
        for path in named:
            reply = await server.client.get(path)
            assert reply.status_code == 200, path
            assert reply.headers["content-type"] == kinds[path[path.rindex(".") :]]


async def test_a_file_is_sent_again_only_when_it_has_changed() -> None:
    async with served() as server:
        first = await server.client.get("/page/style.css")
        etag = first.headers["etag"]
        assert first.headers["cache-control"] == "no-cache"
        for said in (etag, f'"other", {etag}', etag.removeprefix("W/"), "*"):
            again = await server.client.get("/page/style.css", headers={"if-none-match": said})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        other = await server.client.get("/page/style.css", headers={"if-none-match": '"other"'})
        assert other.status_code == 200


async def test_a_file_is_compressed_for_those_who_take_it() -> None:
    data = (FOLDER / "style.css").read_bytes()
    async with served() as server:
        for accepted, packed in (("gzip", True), ("br, gzip;q=0.5", True), ("identity", False), ("gzip;q=0", False)):
            async with server.client.stream("GET", "/page/style.css", headers={"accept-encoding": accepted}) as reply:
                raw = b"".join([piece async for piece in reply.aiter_raw()])
                assert (reply.headers.get("content-encoding") == "gzip") is packed
                assert reply.headers["vary"] == "Accept-Encoding"
                assert (gzip.decompress(raw) if packed else raw) == data
        head = await server.client.head("/page/style.css", headers={"accept-encoding": "identity"})
        assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(data)))


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2Fapp.py",
        "/page/%2e%2e/app.py",
        "/page/%2e%2e%2fapp.py",
        "/page//etc/passwd",
        "/page/",
        "/page/schema.d.ts",
        "/page/style.css%00.js",
        "/page/..%5capp.py",
    ],
)
async def test_no_other_file_is_ever_sent(path: str) -> None:
    async with served() as server:
        reply = await server.client.get(path)
    assert reply.status_code == 404
    assert "import" not in reply.text


def test_the_page_is_small_and_its_types_stay_here() -> None:
    files = read_page()
    assert sum(len(file.compressed or file.data) for file in files.values()) <= 150_000
    assert not any(name.endswith(".ts") for name in files)


async def test_the_first_byte_of_the_page_comes_at_once() -> None:
    async with served() as server, server.talking() as client:
        await client.get("/api/health")
        took = []
        for _ in range(5):
            began = time.perf_counter()
            async with client.stream("GET", "/") as reply:
                took.append(time.perf_counter() - began)
                await reply.aread()
    assert min(took) < 0.05
