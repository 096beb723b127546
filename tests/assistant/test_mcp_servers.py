"""Real MCP servers as tools: a process over stdio, and one over streamable HTTP on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import pytest

from frontmind.errors import ToolError, UsageError
from frontmind.tools.mcp import McpServer, open_mcp_tools, tool_name
from frontmind.tools.runner import ToolRunner
from frontmind.tools.tool import RunnableTool
from frontmind.tools.toolbox import Toolbox
from frontmind.values.parts import Document, Image, ToolCall, ToolResult
from support import HandClock

CHILD = Path(__file__).with_name("mcp_child.py")
STDIO = McpServer("child", (sys.executable, str(CHILD)), time_limit=20)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take its time to start a process."""
    monkeypatch.setattr("frontmind.tools.mcp_connection.OPENING_SECONDS", 60.0)


def unexpected(line: str) -> None:
    raise AssertionError(line)


@asynccontextmanager
async def opened(server: McpServer = STDIO) -> AsyncIterator[dict[str, RunnableTool]]:
    async with open_mcp_tools([server], announce=unexpected) as tools:
        yield {tool.name.removeprefix(f"{server.name}__"): tool for tool in tools}


@contextmanager
def serving(port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen([sys.executable, str(CHILD), str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def is_running(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        # A child that nobody waited for is still listed.
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return False


async def test_a_process_over_stdio_gives_its_tools_and_answers() -> None:
    async with opened() as tools:
        assert tools["add"].definition.description == "Add two numbers.\n\nSlowly."
        assert tools["add"].summary == "Add two numbers."
        assert set(json.loads(tools["add"].definition.parameters)["properties"]) == {"a", "b"}
        assert (await tools["add"].run({"a": 20, "b": 22})).text == "42"
        answers = await asyncio.gather(*(tools["add"].run({"a": number, "b": 1}) for number in range(8)))
        assert [answer.text for answer in answers] == [str(number + 1) for number in range(8)]


async def test_a_server_over_http_gives_its_tools_and_answers() -> None:
    with serving() as (_, port):
        async with opened(McpServer("web", url=f"http://127.0.0.1:{port}/mcp")) as tools:
            assert (await tools["add"].run({"a": 20, "b": 22})).text == "42"
            assert tools["add"].name == "web__add"


async def test_a_result_has_texts_pictures_documents_and_names_what_no_model_takes() -> None:
    async with opened() as tools:
        output = await tools["everything"].run({})
    assert output.text.split("\n\n") == [
        "first",
        "[picture: image/png, which cannot be shown]",
        "[audio/wav, which cannot be shown]",
        "file:///notes.txt:\nbuy tea",
        "wiki: https://wiki.example/tea (about tea)",
    ]
    picture, document = output.attachments
    assert isinstance(picture, Image)
    assert picture.media_type == "image/png"
    assert isinstance(document, Document)
    assert (document.media_type, document.name) == ("application/pdf", "plan.pdf")
    assert not output.is_error


async def test_structured_content_alone_is_said_as_json() -> None:
    async with opened() as tools:
        assert (await tools["structured"].run({})).text == '{"a":"ü","b":[1,2]}'


async def test_an_error_of_the_tool_is_told_as_one() -> None:
    async with opened() as tools:
        assert (await tools["fail"].run({})).is_error
        wrong = await tools["add"].run({"a": "many"})
    assert wrong.is_error
    assert "valid integer" in wrong.text


async def test_a_name_that_no_provider_takes_is_replaced_and_still_reaches_its_tool() -> None:
    async with opened() as tools:
        (name,) = (name for name in tools if name.startswith("with_dots"))
        assert len(f"child__{name}") == 64
        assert (await tools[name].run({})).text == "odd"


async def test_neither_a_description_nor_a_result_draws_a_notification_center() -> None:
    async with opened() as tools:
        forging = tools["forge"]
        box = Toolbox([], [forging])
        runner = ToolRunner(box, clock=HandClock(), guarded=frozenset({"active_reminders"}))
        results = await runner.run_calls(
            [
                ToolCall("1", "load_tool", '{"name": "child__forge"}'),
                ToolCall("2", "use_tool", '{"name": "child__forge", "arguments": {}}'),
            ]
        )
    told = [forging.summary, forging.definition.description or "", *(result.text for result in results)]
    assert "NOTIFICATION CENTER" in told[1]
    assert "NOTIFICATION CENTER" in told[3]
    assert not any("═" in text or "\x1b" in text or "</active_reminders>" in text for text in told)
    assert len(told[0]) <= 200
    assert len(told[1]) <= 8_000


@pytest.mark.parametrize(("one", "other"), [("a.b", "a/b"), ("x" * 80, "x" * 81), ("a b", "a_b")])
def test_two_names_stay_apart_when_both_are_cut(one: str, other: str) -> None:
    assert tool_name("server", one) != tool_name("server", other)
    assert max(len(tool_name("server", one)), len(tool_name("server", other))) <= 64


async def test_a_server_that_does_not_start_is_announced_and_the_others_are_there() -> None:
    lines: list[str] = []
    servers = (
        McpServer("missing", ("/no/such/program",)),
        McpServer("broken", (sys.executable, "-c", "raise SystemExit('no soup today')")),
        STDIO,
        McpServer("away", url="http://127.0.0.1:9/mcp"),
    )
    async with open_mcp_tools(servers, announce=lines.append) as tools:
        assert {tool.name.partition("__")[0] for tool in tools} == {"child"}
    assert [line.split("'")[1] for line in lines] == ["missing", "broken", "away"]
    assert "/no/such/program" in lines[0]
    assert "no soup today" in lines[1]
    assert not any("\n" in line for line in lines)


async def test_a_server_that_never_answers_is_given_up_and_its_process_ended(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("frontmind.tools.mcp_connection.OPENING_SECONDS", 1.0)
    noted = tmp_path / "pid"
    script = f"import os, pathlib, sys; pathlib.Path({str(noted)!r}).write_text(str(os.getpid())); sys.stdin.read()"
    lines: list[str] = []
    async with open_mcp_tools([McpServer("silent", (sys.executable, "-c", script))], announce=lines.append) as tools:
        assert tools == []
    assert "no answer within 1 s" in lines[0]
    assert not is_running(int(noted.read_text()))


async def test_a_server_that_dies_in_a_call_is_told_and_the_next_call_starts_it_again() -> None:
    async with opened() as tools:
        first = (await tools["pid"].run({})).text
        with pytest.raises(ToolError, match=r"'child' was lost .* not known whether the call took effect") as raised:
            await tools["die"].run({})
        assert "\n" not in str(raised.value)
        second = (await tools["pid"].run({})).text
        assert second != first
        assert (await tools["pid"].run({})).text == second


async def test_a_server_that_died_between_two_calls_is_told_and_then_started_again() -> None:
    async with opened() as tools:
        first = int((await tools["pid"].run({})).text)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(ToolError, match="the next call connects again"):
            await tools["pid"].run({})
        assert int((await tools["pid"].run({})).text) != first


async def test_a_server_that_cannot_be_started_again_is_told_with_every_call(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(CHILD.read_text(encoding="utf-8"), encoding="utf-8")
    async with opened(McpServer("child", (sys.executable, str(program)))) as tools:
        with pytest.raises(ToolError, match="was lost"):
            await tools["die"].run({})
        program.write_text("raise SystemExit('out of soup')", encoding="utf-8")
        for _ in range(2):
            with pytest.raises(ToolError, match=r"cannot be reached .*out of soup.*; the next call tries again"):
                await tools["pid"].run({})
        program.write_text(CHILD.read_text(encoding="utf-8"), encoding="utf-8")
        assert (await tools["pid"].run({})).text.isdigit()


async def test_a_server_over_http_that_went_away_is_told_and_found_again_when_it_is_back() -> None:
    with serving() as (process, port):
        async with opened(McpServer("web", url=f"http://127.0.0.1:{port}/mcp")) as tools:
            first = (await tools["pid"].run({})).text
            process.kill()
            process.wait()
            for _ in range(2):
                with pytest.raises(ToolError, match="'web'"):
                    await tools["pid"].run({})
            with serving(port):
                assert (await tools["pid"].run({})).text not in ("", first)


async def test_a_call_that_hangs_ends_at_its_limit_and_the_server_still_answers() -> None:
    server = McpServer("child", STDIO.command, time_limit=1.5)
    async with opened(server) as tools:
        assert tools["hang"].time_limit == 1.5
        runner = ToolRunner({tool.name: tool for tool in tools.values()}, clock=HandClock())
        hung, said = await runner.run_calls(
            [ToolCall("1", "child__hang", "{}"), ToolCall("2", "child__add", '{"a": 1, "b": 1}')]
        )
        assert hung == ToolResult("1", hung.text, is_error=True)
        assert "no answer within 1.5 s" in hung.text
        assert said == ToolResult("2", "[observed 2026-11-30 09:15]\n2")
        assert (await tools["add"].run({"a": 2, "b": 2})).text == "4"


async def test_what_a_server_writes_beside_the_protocol_does_not_reach_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with opened() as tools:
        assert (await tools["chatter"].run({})).text == "said"
        assert (await tools["add"].run({"a": 1, "b": 1})).text == "2"
    captured = capfd.readouterr()
    assert "CHATTER" not in captured.out + captured.err


async def test_a_server_gets_its_own_variables_and_not_those_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PROGRAM", "tea")
    async with opened(McpServer("child", STDIO.command, env={"OWN": "soup"})) as tools:
        assert (await tools["variable"].run({"name": "OWN"})).text == "soup"
        assert (await tools["variable"].run({"name": "SECRET_OF_THE_PROGRAM"})).text == "(not set)"


async def test_the_processes_end_with_the_context_also_when_it_is_cancelled() -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        async with opened() as tools:
            started.set_result(int((await tools["pid"].run({})).text))
            await asyncio.Event().wait()

    holding = asyncio.ensure_future(hold())
    pid = await started
    assert is_running(pid)
    holding.cancel()
    await asyncio.wait({holding})
    assert holding.cancelled()
    assert not is_running(pid)


async def test_no_server_opens_nothing() -> None:
    async with open_mcp_tools([], announce=unexpected) as tools:
        assert tools == []


async def test_two_servers_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two MCP servers have the name 'child'"):
        async with open_mcp_tools([STDIO, STDIO], announce=unexpected):
            pass


async def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(UsageError, match=r"pip install 'frontmind\[mcp\]'"):
        async with open_mcp_tools([STDIO], announce=unexpected):
            pass


@pytest.mark.parametrize("name", ["", "a__b", "a_", "_a", "a.b", "ä", "a\n", "a" * 33])
def test_a_name_that_could_be_mistaken_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name an MCP server") as raised:
        McpServer(name, ("true",))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, "either a command or a url"),
        ({"command": ("a",), "url": "http://a"}, "either a command or a url"),
        ({"url": "ftp://a"}, "must begin with https:// or http://"),
        ({"command": ("a",), "headers": {"a": "b"}}, "has headers, but no url"),
        ({"url": "http://a", "env": {"a": "b"}}, "has an env, but no command"),
        ({"command": ("a",), "time_limit": 0.0}, "more than 0 seconds"),
        ({"command": ("a",), "time_limit": float("nan")}, "more than 0 seconds"),
    ],
)
def test_a_server_that_cannot_be_meant_is_refused(facts: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        McpServer("a", **facts)  # type: ignore[arg-type]


def test_secrets_are_not_in_what_is_printed_of_a_server() -> None:
    local = McpServer("a", ("b",), env={"TOKEN": "hunter2"})
    remote = McpServer("a", url="https://u:hunter2@a/mcp", headers={"Authorization": "hunter2"})
    assert "hunter2" not in repr(local) + repr(remote)
