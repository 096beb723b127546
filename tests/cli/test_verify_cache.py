"""``frontmind verify-cache`` as a person runs it: on the real local engine, and on a server with a known cache."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pexpect
import pytest
from platformdirs import user_cache_path

from providers.caching_server import CachingServer, caching
from providers.loopback import Exchange, serving
from providers.validators import replies
from providers.validators.replies import Said
from support import PROGRAM, Run

MODEL = "anthropic:claude-sonnet-5"
Finished: TypeAlias = "subprocess.CompletedProcess[str]"
Verify: TypeAlias = Callable[..., Finished]


def against(frontmind: Run, server: CachingServer, *options: str, model: str = MODEL, **env: str) -> Finished:
    """A run that asks this server."""
    asked = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url, "COLUMNS": "160", **env}
    return frontmind("verify-cache", "--model", model, *options, env=asked)


def findings(finished: Finished) -> dict[str, dict[str, Any]]:
    return {item["rule"]: item for item in json.loads(finished.stdout)["findings"]}


def verdicts(finished: Finished) -> dict[str, str]:
    return {rule: item["verdict"] for rule, item in findings(finished).items()}


@pytest.mark.timeout(600)
def test_the_local_engine_does_what_is_expected_of_it(frontmind: Run, environment: dict[str, str]) -> None:
    env = {"FRONTMIND_CACHE": str(user_cache_path("frontmind"))}
    finished = frontmind("verify-cache", "--model", "local", "--yes", "--json", "--write", env=env, timeout=500)
    assert finished.returncode == 0, finished.stderr
    told = findings(finished)
    assert {rule: item["verdict"] for rule, item in told.items()} == {
        "framing append": "holds",
        "framing assistant": "holds",
        "framing user_text": "holds",
        "two users in a row": "found out",
        "prefix read back": "holds",
        "section changed": "holds",
        "next turn": "holds",
        "reply held too": "holds",
        "step of the figures": "holds",
    }
    for rule in ("prefix read back", "section changed", "next turn"):
        assert told[rule]["seen"] == told[rule]["expected"], "the engine's own word is exact"
        assert int(told[rule]["seen"].split()[0]) > 150
    total = json.loads(finished.stdout)["total"]
    assert (total["requests"], total["cost"], total["estimated"]) == (10, 0.0, False)
    assert sum(item["cached"] for item in told.values()) == total["cached"] > 500
    file = Path(environment["HOME"]) / ".config" / "frontmind" / "profiles.toml"
    assert tomllib.loads(file.read_text(encoding="utf-8")) == {"local": {"alternate_roles": False}}


def test_a_server_that_keeps_the_rules_is_shown_to_keep_them(frontmind: Run) -> None:
    with caching() as server:
        finished = against(frontmind, server, "--yes", "--write")
    assert finished.returncode == 0, finished.stderr
    before, _, after = finished.stdout.partition(f"to {MODEL}; the limits: 30 requests; $1.00 by list prices")
    assert "all, at most" in before
    assert "does not hold" not in after
    for line in (
        ("framing assistant", "accepted", "accepted", "holds"),
        ("two users in a row", "accepted", "accepted", "holds"),
        ("prefix read back", "1,271 read", "1,271 read", "holds"),
        ("minimum", "nothing below 1,024", "nothing of 838", "holds"),
        ("section changed", "1,271 read", "1,271 read", "holds"),
        ("next turn", "1,271 read", "1,271 read", "holds"),
        ("look-back", "19 read, 21 not", "19 read, 21 not", "holds"),
        ("lifetime", "5m", "-", "not tried"),
    ):
        assert any(tuple(cell.strip() for cell in shown.split("│")[1:5]) == line for shown in after.splitlines()), line
    assert "12 requests" in after
    assert "nothing was disproved, so nothing was written" in after
    assert len(server.bodies) == 12
    assert len({body["system"][0]["text"][:12] for body in server.bodies}) == 1, "the nonce stands first"


@pytest.mark.parametrize(
    ("changed", "rule", "seen", "facts"),
    [
        ({"reads": False}, "prefix read back", "0 read", {}),
        ({"look_back": 10}, "look-back", "9 read, 10 not", {"look_back": 10}),
        ({"takes_two_users": False}, "two users in a row", "refused", {"alternate_roles": True}),
        ({"takes_section": False}, "framing assistant", "refused", {"framing": "append"}),
        ({"merges_rule": True}, "next turn", "0 read", {"framing": "append"}),
        ({"minimum": 512}, "minimum", "705 of 838", {"min_cached_tokens": 705}),
    ],
)
@pytest.mark.requirement("LAB-7")
def test_a_server_that_breaks_a_rule_is_found_out_and_believed_the_next_time(
    frontmind: Run, environment: dict[str, str], changed: dict[str, Any], rule: str, seen: str, facts: dict[str, Any]
) -> None:
    with caching(**changed) as server:
        finished = against(frontmind, server, "--yes", "--json", "--write")
        assert finished.returncode == 1, finished.stderr
        broken = {name: item for name, item in findings(finished).items() if item["verdict"] == "does not hold"}
        assert {name: item["seen"] for name, item in broken.items()} == {rule: seen}
        assert broken[rule]["facts"] == facts == json.loads(finished.stdout)["written"]
        file = Path(environment["HOME"]) / ".config" / "frontmind" / "profiles.toml"
        if not facts:
            assert not file.exists()
            assert verdicts(finished)["look-back"] == "not tried"
            return
        assert tomllib.loads(file.read_text(encoding="utf-8")) == {MODEL: facts}
        again = against(frontmind, server, "--yes", "--json")
    still = {name for name, verdict in verdicts(again).items() if verdict == "does not hold"}
    # A framing that is never used any more is still refused.
    assert still == ({rule} if rule == "framing assistant" else set())


def test_what_a_model_says_when_it_refuses_cannot_act_on_the_terminal(frontmind: Run) -> None:
    with caching(takes_section=False, words="never \x1b[31mred\n[bold]again") as server:
        finished = against(frontmind, server, "--yes")
    assert finished.returncode == 1
    assert "\x1b" not in finished.stdout + finished.stderr
    assert "red [bold]again" in finished.stdout


def test_a_request_that_fails_is_said_and_the_rest_is_tried(frontmind: Run) -> None:
    with caching(fails=frozenset({9})) as server:
        finished = against(frontmind, server, "--yes", "--json")
    assert finished.returncode == 1
    told = findings(finished)
    assert [rule for rule, item in told.items() if item["failed"]] == ["section changed"]
    assert "refused the key (not today)" in told["section changed"]["why"]
    assert told["next turn"]["verdict"] == told["look-back"]["verdict"] == "holds"


def test_without_a_key_that_is_taken_every_line_says_so(frontmind: Run) -> None:
    with caching(fails=frozenset(range(99))) as server:
        finished = against(frontmind, server, "--yes", "--json", "--write")
    assert finished.returncode == 1
    assert set(verdicts(finished).values()) == {"not tried"}
    assert json.loads(finished.stdout)["written"] == {}


def test_the_limits_are_kept_and_said(frontmind: Run) -> None:
    with caching() as server:
        few = against(frontmind, server, "--yes", "--max-requests", "5")
        assert len(server.bodies) == 5
    assert few.returncode == 0, "something was tried, and holds"
    assert "the limits: 5 requests; $1.00" in few.stdout
    assert "what they leave no room for is not tried" in few.stdout
    assert "prefix read back, not tried: the limit of 5 requests is reached" in few.stdout
    with caching() as server:
        cheap = against(frontmind, server, "--yes", "--json", "--max-cost", "0.01")
        assert 4 <= len(server.bodies) < 9
    told = json.loads(cheap.stdout)
    assert 0 < told["total"]["cost"] <= 0.01
    assert told["limits"] == {"requests": 30, "cost": 0.01}
    assert "it could exceed the limit of $0.01" in {item["why"] for item in told["findings"]}


def test_nobody_who_cannot_be_asked_sends_anything(frontmind: Run) -> None:
    with caching() as server:
        finished = against(frontmind, server)
        assert not server.bodies
    assert finished.returncode == 2
    assert "pass --yes" in finished.stderr.splitlines()[-1]
    assert "all, at most" in finished.stdout, "what would be sent is shown all the same"


@pytest.mark.parametrize(("answer", "sent"), [("n", 0), ("y", 12)])
def test_a_person_is_asked_before_anything_is_sent(environment: dict[str, str], answer: str, sent: int) -> None:
    with caching() as server:
        env = environment | {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        child = pexpect.spawn(str(PROGRAM), ["verify-cache", "--model", MODEL], env=env, timeout=60, encoding="utf-8")
        child.expect("by list prices")
        child.expect_exact("Send them? [y/N]")
        assert not server.bodies
        child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
        assert len(server.bodies) == sent


def test_a_model_without_figures_is_tried_as_far_as_that_goes(frontmind: Run) -> None:
    finished = frontmind("verify-cache", "--model", "echo", "--yes", "--json")
    assert finished.returncode == 0, finished.stderr
    told = findings(finished)
    assert told["prefix read back"]["why"] == "no figures of the cache were reported"
    assert told["framing assistant"]["verdict"] == "holds"


def test_what_cannot_be_used_is_said_on_one_line(frontmind: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(f'["{MODEL}"]\nlook_back = "far"\n', encoding="utf-8")
    unpriced = "compatible:m@http://127.0.0.1:9/v1"
    for arguments, env, said in (
        (("--model", MODEL, "--yes"), {"FRONTMIND_PROFILES": str(broken)}, "look_back cannot be 'far'"),
        (("--model", MODEL, "--yes"), {"FRONTMIND_PROFILES": str(tmp_path)}, "is no file"),
        (("--model", unpriced, "--max-cost", "1", "--yes"), {}, "use --max-requests alone"),
        (("--model", "nobody:x", "--yes"), {}, "unknown model"),
    ):
        finished = frontmind("verify-cache", *arguments, env=env)
        assert finished.returncode == 2, arguments
        assert said in finished.stderr
        assert len(finished.stderr.splitlines()) == 1
        assert not finished.stdout
    shown = frontmind("window", "show", "--model", MODEL, env={"FRONTMIND_PROFILES": str(broken)})
    assert shown.returncode == 2
    assert "look_back cannot be 'far'" in shown.stderr


@pytest.mark.parametrize("refused", ["inf", "1e400", "nan", "-1"])
def test_a_limit_of_money_is_a_finite_amount(frontmind: Run, refused: str) -> None:
    for model in (MODEL, "echo"):
        with caching() as server:
            finished = against(frontmind, server, "--yes", "--max-cost", refused, model=model)
            assert not server.bodies
        assert finished.returncode == 2
        assert "--max-cost" in finished.stderr


def test_when_nothing_could_be_tried_no_script_takes_that_for_success(frontmind: Run) -> None:
    with caching() as server:
        finished = against(frontmind, server, "--yes", "--json", "--max-cost", "0")
        assert not server.bodies
    assert (finished.returncode, set(verdicts(finished).values())) == (1, {"not tried"})
    assert "it could exceed the limit of $0" in findings(finished)["prefix read back"]["why"]


def test_what_does_not_hold_and_is_no_fact_is_not_called_proven(frontmind: Run) -> None:
    with caching(reads=False) as server:
        finished = against(frontmind, server, "--yes", "--write")
    assert finished.returncode == 1
    assert "what does not hold is no fact of a profile, so nothing was written" in finished.stdout
    assert "nothing was disproved" not in finished.stdout


def test_a_file_that_cannot_be_written_is_noticed_before_anything_is_sent(frontmind: Run, tmp_path: Path) -> None:
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "loop.toml", tmp_path / "file" / "profiles.toml", Path("/proc/nope/profiles.toml")):
        with caching() as server:
            finished = against(frontmind, server, "--yes", "--write", FRONTMIND_PROFILES=str(place))
            assert not server.bodies, place
        assert (finished.returncode, finished.stdout) == (2, "")
        assert len(finished.stderr.splitlines()) == 1
        assert str(place) in finished.stderr


def test_what_was_paid_for_is_shown_when_it_cannot_be_kept(frontmind: Run, tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    with caching(look_back=10) as server:
        play = server.says

        def broken_meanwhile(number: int) -> Said:
            file.write_text("no TOML", encoding="utf-8")
            return play(number)

        server.says = broken_meanwhile
        finished = against(frontmind, server, "--yes", "--write", FRONTMIND_PROFILES=str(file))
    assert finished.returncode == 2
    assert "pass --profile look_back=10" in finished.stdout
    assert "is not TOML" in finished.stderr
    assert file.read_text(encoding="utf-8") == "no TOML"


@contextmanager
def dripping(after: int) -> Iterator[tuple[CachingServer, threading.Event]]:
    """The server, which says nothing more from the request behind so many on, and when it has come to that."""
    reached, over = threading.Event(), threading.Event()

    with caching() as server, serving() as loopback:

        def answer(exchange: Exchange) -> None:
            if len(server.bodies) < after:
                server.answer(exchange)
                return
            server.bodies.append({})
            exchange.start_stream()
            reached.set()
            while not over.wait(0.05):
                exchange.wfile.write(b'event: ping\ndata: {"type": "ping"}\n\n')
                exchange.wfile.flush()

        loopback.answer = answer
        server.url = loopback.url
        try:
            yield server, reached
        finally:
            over.set()


def test_a_stream_that_never_ends_is_stopped_by_the_limit_of_time(frontmind: Run) -> None:
    with dripping(after=0) as (server, _):
        finished = against(frontmind, server, "--yes", "--json", "--max-seconds", "1")
        assert len(server.bodies) == 1
    assert finished.returncode == 1
    told = json.loads(finished.stdout)
    assert told["total"]["requests"] == 1
    assert 0 == told["total"]["cost"] < told["total"]["cost_at_most"] < 0.1
    assert "a reply took longer than 1 seconds" in told["findings"][0]["why"]


def test_interrupting_it_shows_what_was_found_and_spent(environment: dict[str, str]) -> None:
    with dripping(after=6) as (server, reached):
        env = environment | {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url, "COLUMNS": "160"}
        command = [str(PROGRAM), "verify-cache", "--model", MODEL, "--yes"]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            assert reached.wait(60)
            child.send_signal(signal.SIGINT)
            shown, notes = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Traceback" not in notes
    assert "interrupted" in notes.splitlines()[-1]
    assert "7 requests" in shown
    assert "up to $0.0" in shown
    assert "minimum, not tried: it was interrupted" in shown
    assert any("prefix read back" in line and "holds" in line for line in shown.splitlines())


def test_figures_of_zero_are_no_figures(frontmind: Run) -> None:
    with caching() as server, serving() as loopback:
        count = dict.fromkeys(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"), 0)

        def answer(exchange: Exchange) -> None:
            server.bodies.append(json.loads(exchange.body))
            exchange.start_stream()
            for event in replies.anthropic_events(Said("OK.")):
                said = json.loads(json.dumps(event))
                for holder in (said, said.get("message", {})):
                    if "usage" in holder:
                        holder["usage"] = {**count, "output_tokens": 0}
                exchange.wfile.write(f"event: {said['type']}\n".encode())
                exchange.event(said)

        loopback.answer = answer
        server.url = loopback.url
        finished = against(frontmind, server, "--yes", "--json")
    assert finished.returncode == 0, finished.stderr
    assert findings(finished)["prefix read back"]["why"] == "no figures of the cache were reported"
