"""Requirements and tests know each other, in both directions."""

from __future__ import annotations

import re
import tomllib

from support import REPOSITORY

MARK = re.compile(r"""pytest\.mark\.requirement\(["']([A-Z0-9-]+)["']\)""")


def listed() -> dict[str, dict[str, str]]:
    return tomllib.loads((REPOSITORY / "docs" / "requirements.toml").read_text(encoding="utf-8"))


def marked() -> set[str]:
    return {
        name for path in (REPOSITORY / "tests").rglob("test_*.py") for name in MARK.findall(path.read_text("utf-8"))
    }


def test_every_requirement_is_shown_by_a_test() -> None:
    assert set(listed()) - marked() == set()


def test_every_test_that_names_a_requirement_names_one_that_exists() -> None:
    assert marked() - set(listed()) == set()


def test_every_requirement_has_a_sentence_and_a_source() -> None:
    for name, requirement in listed().items():
        assert set(requirement) == {"sentence", "source"}, name
        assert requirement["sentence"].endswith("."), name
