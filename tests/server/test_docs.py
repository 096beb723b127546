"""What docs/server.md says is what the server does, and what it shows is what runs."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from api.asks import routes
from browser.cutting import CuttingProxy
from frontmind.cli.serve_command import DEFAULT_PORT
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.answers import SECURITY_HEADERS
from frontmind.server.errors import CODES
from frontmind.server.limits import ONE_PERSON, Limits
from server.generate_routes import FILE, documented, route_tables, with_tables
from server.serving import Served, served
from support import PROGRAM

DOCUMENT = FILE.read_text(encoding="utf-8")
ADDRESS = f"http://127.0.0.1:{DEFAULT_PORT}"
MAIN = "/api/conversations/main"


def blocks(language: str = "") -> list[str]:
    fences = re.finditer(r"^```(\w*)\n(.*?)^```$", DOCUMENT, re.DOTALL | re.MULTILINE)
    return [found[2] for found in fences if found[1] == language]


def shown(prefix: str) -> Iterator[tuple[list[str], str]]:
    """The commands of the page that begin so, with what they print."""
    for block in blocks():
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = command.partition("\n")
            if line.startswith(prefix):
                yield shlex.split(line), output


def assert_shown(output: str, shown_output: str) -> None:
    """The output is what is shown, in which … stands for anything."""
    pattern = ".*?".join(re.escape(part) for part in shown_output.split("…"))
    assert re.fullmatch(pattern, output, re.DOTALL), f"shown:\n{shown_output}\nprinted:\n{output}"


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table under this heading."""
    section = DOCUMENT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.split("\n") if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FRONTMIND_")}
    return kept | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "FRONTMIND_EMBEDDER": "none"}


def test_the_tables_of_routes_are_those_of_the_server() -> None:
    written = with_tables(DOCUMENT, route_tables(documented()))
    assert written == DOCUMENT, "write them anew: PYTHONPATH=tests:. python tests/server/generate_routes.py"


async def test_every_route_is_named() -> None:
    async with served() as server:
        paths = {path.replace(":path", "") for _, path in routes(server.app)}
    assert len(paths) > 30
    assert {path for path in paths if f"`{path}`" not in DOCUMENT and f" {path}`" not in DOCUMENT} == set()


def test_every_code_stands_beside_its_status() -> None:
    named = {(int(status), code) for status, codes, _ in rows("Errors") for code in re.findall(r"`(\w+)`", codes)}
    assert named == {(status, code) for status, codes in CODES.items() for code in codes}


def test_the_limits_are_those_that_hold() -> None:
    def figures(limits: Limits) -> list[float]:
        bodies = (limits.body_bytes / 1e6, limits.small_body_bytes / 1e6, limits.large_bodies_of_one)
        mine = (limits.burst, limits.per_second, limits.turns_of_one, limits.turns, limits.waiting)
        failures = (limits.failures, limits.failures_per_second)
        return [*bodies, limits.json_depth, limits.json_values, *mine, limits.streams_of_one, *failures]

    for column, limits in ((1, Limits()), (2, ONE_PERSON)):
        assert [float(row[column].replace(",", "")) for row in rows("Limits")] == figures(limits)


def test_the_headers_are_those_that_are_sent() -> None:
    words = " ".join(DOCUMENT.split())
    for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"):
        assert f"`{name}: {SECURITY_HEADERS[name]}`" in words


def test_every_option_is_one_of_the_program(environment: dict[str, str]) -> None:
    helps = [
        subprocess.run(
            [PROGRAM, *command, "--help"], capture_output=True, text=True, timeout=60, check=True, env=environment
        ).stdout
        for command in (["serve"], ["user", "add"], ["user", "key"])
    ]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", DOCUMENT))
    assert {"--host", "--allow-host", "--grace", "--expires"} <= named
    assert {option for option in named if not any(option in text for text in helps)} == set()


def test_accounts_are_made_and_closed_as_it_is_shown(environment: dict[str, str], tmp_path: Path) -> None:
    commands = list(shown("frontmind user"))
    assert len(commands) == 4
    for (_, *arguments), output in commands:
        # Standard error is written as it comes, behind what was printed before.
        result = subprocess.run(
            [PROGRAM, *arguments, "--db", "mind.db"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=True,
            env=environment,
            cwd=tmp_path,
        )
        assert_shown(result.stdout, output)


def test_it_begins_and_refuses_as_it_is_shown(environment: dict[str, str], tmp_path: Path) -> None:
    begun, refused, _ = shown("frontmind serve")
    for (_, *arguments), output in (begun, refused):
        command = [str(PROGRAM), *arguments, "--port", "0", "--db", str(tmp_path / "mind.db"), "--now", "2026-11-30"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.terminate()
        assert re.sub(r":\d+$", f":{DEFAULT_PORT}", line) == output


async def test_a_message_is_answered_as_it_is_shown() -> None:
    commands = list(shown("curl"))
    assert len(commands) == 2
    async with served(ScriptedModel(["Nothing yet."])) as server:
        for command, output in commands:
            address = next(word for word in command if word.startswith(ADDRESS))
            values = dict(pairwise(command))
            if "-d" in values:
                name, _, value = values["-H"].partition(": ")
                reply = await server.client.post(address, content=values["-d"], headers={name: value})
            else:
                running = server.hub.reply(server.person(), "main", 1)
                assert running is not None
                await running.finished()
                reply = await server.client.get(address)
            assert_shown(reply.text.strip(), output.strip())


@asynccontextmanager
async def cut_lines(server: Served, *after: int) -> AsyncIterator[CuttingProxy]:
    """A line to the server that is cut after so many bytes of events, once for each of these."""
    async with server.listening() as address:
        proxy = CuttingProxy(address, iter(after))
        await proxy.open()
        try:
            yield proxy
        finally:
            await proxy.close()


@pytest.mark.parametrize("people", [(), ("anna",)])
async def test_the_program_follows_a_reply_over_lines_that_are_cut(
    people: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = blocks("python")
    reply = " ".join(f"word{number}" for number in range(60))
    async with served(ScriptedModel([reply]), people=people) as server, cut_lines(server, 200, 1000) as proxy:
        text = program.replace(ADDRESS, proxy.address)
        for key in server.keys.values():
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
            text, found = re.subn(r"^HEADERS = .*", f"HEADERS = {headers}", text, flags=re.MULTILINE)
            assert found == 1
        await asyncio.to_thread(exec, compile(text, "server.md", "exec"), {"__name__": "example"})
        assert proxy.cut == 2
    assert capsys.readouterr().out == reply


async def test_a_proxy_that_does_as_it_is_told_is_served() -> None:
    ((_, *arguments),) = [command for command, _ in shown("frontmind serve --allow-host")]
    name = arguments[arguments.index("--allow-host") + 1]
    async with served(hosts=(name,)) as server, server.talking() as client:
        passed = {"Host": name, "Origin": f"https://{name}", "Sec-Fetch-Site": "same-origin"}
        begun = await client.post(f"{MAIN}/turns", json={"text": "Hi"}, headers=passed)
        assert begun.status_code == 202
        async with client.stream("GET", begun.headers["location"], headers=passed) as stream:
            assert stream.headers["x-accel-buffering"] == "no"
        with_its_own_host = {"Origin": f"https://{name}"}
        refused = await client.post(f"{MAIN}/turns", json={"text": "Hi"}, headers=with_its_own_host)
        assert refused.json()["error"]["code"] == "forbidden_origin"
