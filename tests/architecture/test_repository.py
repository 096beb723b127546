"""What must not be in the repository."""

from __future__ import annotations

import re
import subprocess

from support import REPOSITORY


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (REPOSITORY / name).is_file()]


def test_no_file_names_a_package_registry() -> None:
    hosts = re.compile(r"index-url|/simple/|find-links|https?://[a-z.]*(?:pypi|pythonhosted|npmjs)", re.IGNORECASE)
    own = "tests/architecture/test_repository.py"
    for name in tracked():
        text = (REPOSITORY / name).read_bytes().decode("utf-8", "replace")
        assert name == own or not hosts.search(text), name


def test_the_constraints_pin_exact_versions_and_nothing_else() -> None:
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 20
    for line in lines:
        assert line.startswith("#") or re.fullmatch(r"[A-Za-z0-9._-]+==[0-9A-Za-z.]+", line), line
