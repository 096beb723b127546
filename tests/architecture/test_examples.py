"""What the documents show is what runs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from benchmarks.layouts import TABLE_HEADER
from support import REPOSITORY

EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_as_it_stands(path: object) -> None:
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "NOTIFICATION CENTER" in result.stdout


def test_the_readme_shows_the_table_that_the_benchmark_prints() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert "\n".join(TABLE_HEADER) in readme
    assert "@@" not in readme


def test_the_program_in_the_readme_is_the_example() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    assert (REPOSITORY / "examples" / "window.py").read_text(encoding="utf-8").endswith(shown[1])
    assert len(shown[1]) > 500
