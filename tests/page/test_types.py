"""The page's modules against the TypeScript compiler, with the types that the server's schema gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import platformdirs
import pytest
from filelock import FileLock

from frontmind.server.page_files import FOLDER
from page.generate_types import FILE, page_types

VERSION: Final = "5.9.3"
OPTIONS: Final = (
    *("--allowJs", "--checkJs", "--strict", "--noEmit", "--noUnusedLocals", "--noImplicitReturns"),
    *("--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"),
    *("--lib", "es2023,dom,dom.iterable,dom.asynciterable", "--allowImportingTsExtensions"),
)


@pytest.fixture(scope="session")
def compiler() -> Path:
    """The TypeScript compiler, installed beside the other things that tests keep, and never in the repository."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("node and npm are not there; install Node.js to check the types of the page")
    folder = Path(platformdirs.user_cache_path("frontmind")) / f"typescript-{VERSION}"
    found = folder / "node_modules" / ".bin" / "tsc"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "installing"):
        if not found.exists():
            command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", f"typescript@{VERSION}"]
            subprocess.run(command, check=True, capture_output=True, timeout=240)
    return found


def check(compiler: Path, files: list[Path]) -> subprocess.CompletedProcess[str]:
    command = [str(compiler), *OPTIONS, *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_the_types_of_the_page_are_those_of_the_server() -> None:
    assert FILE.read_text(encoding="utf-8") == page_types(), "write them anew: python tests/page/generate_types.py"


def test_every_module_of_the_page_holds_to_its_types(compiler: Path) -> None:
    modules = sorted(FOLDER.glob("*.js"))
    checked = check(compiler, modules)
    assert checked.returncode == 0, checked.stdout


def test_a_value_that_the_server_does_not_give_is_found(compiler: Path, tmp_path: Path) -> None:
    for module in FOLDER.iterdir():
        shutil.copy(module, tmp_path)
    wrong = tmp_path / "format.js"
    with wrong.open("a", encoding="utf-8") as file:
        file.write('/** @param {import("./schema.d.ts").Turn} turn */\nexport const wrong = (turn) => turn.colour;\n')
    checked = check(compiler, [wrong])
    assert checked.returncode != 0
    assert "colour" in checked.stdout
