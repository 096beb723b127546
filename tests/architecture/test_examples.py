"""What the documents show is what runs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from support import REPOSITORY

EXAMPLES = sorted((REPOSITORY / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_as_it_stands(path: object) -> None:
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "NOTIFICATION CENTER" in result.stdout


def test_the_program_in_the_readme_is_the_example() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert shown is not None
    assert (REPOSITORY / "examples" / "window.py").read_text(encoding="utf-8").endswith(shown[1])
    assert len(shown[1]) > 500
