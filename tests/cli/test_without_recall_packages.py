"""The program where the packages of the extra ``recall`` are not installed: memory works by words, and says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import Run

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "tantivy", "faiss")


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """An environment in which none of the packages can be imported."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    lines = ["import sys", *(f"sys.modules[{name!r}] = None" for name in PACKAGES)]
    (folder / "sitecustomize.py").write_text("\n".join(lines), encoding="utf-8")
    return {"PYTHONPATH": str(folder)}


@pytest.mark.requirement("RECALL-2")
@pytest.mark.parametrize("embedder", ["none", "", "openai:text-embedding-3-small"])
def test_a_chat_remembers_and_finds_by_words(frontmind: Run, without: dict[str, str], embedder: str) -> None:
    env = without | {"FRONTMIND_EMBEDDER": embedder, "OPENAI_API_KEY": "sk-test"}
    given = "/remember You prefer chamomile tea\nWhich chamomile do I like?\n/search chamomile\n"
    finished = frontmind("chat", "--model", "echo", given=given, env=env)
    assert finished.returncode == 0, finished.stderr
    assert "Traceback" not in finished.stderr
    assert "Remembered as m1: You prefer chamomile tea" in finished.stdout
    # What surfaced by itself is in the request that the model echoes; the search comes behind it.
    assert finished.stdout.count("You prefer chamomile tea") >= 3
    assert "fetching" not in finished.stderr
    assert ("needs the package numpy; run: pip install" in finished.stderr) == (embedder != "none")
