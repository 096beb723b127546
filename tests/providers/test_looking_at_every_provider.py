"""What is sent to any provider, in any framing, is healthy in the eyes of the difference and of the checks."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from frontmind.providers.profiles.profile import Wire
from frontmind.providers.reading import Hints, allowed_of, read_request
from frontmind.window.choice import Framing
from frontmind.window.difference import Kind, compare
from frontmind.window.layout import Layout
from frontmind.window.lint import Finding, lint
from providers.scenarios import SCENARIOS
from providers.test_every_provider import COMBINATIONS, Case, encoded, steps_of

every_combination = pytest.mark.parametrize(("case", "framing"), COMBINATIONS)
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS)


@cache
def layouts_of(case: Case, framing: Framing, scenario: str) -> list[Layout]:
    """The requests of a scenario as they are read back; the beginning and the end of a long one."""
    steps = steps_of(case, framing, scenario)
    # A server of one's own is known by its address alone.
    uri = "http://127.0.0.1:8080/v1/chat/completions" if case.wire is Wire.OPENAI_CHAT else ""
    hints = Hints(uri, case.profile.model)
    read = []
    for step in steps if len(steps) < 10 else [*steps[:3], *steps[-3:]]:
        request: dict[str, Any] = encoded(case, step.window)
        read.append(read_request(request, hints))
    return read


def findings(layouts: list[Layout]) -> list[Finding]:
    return [finding for found in lint(layouts, [allowed_of(layout) for layout in layouts]) for finding in found]


@pytest.mark.requirement("DIFF-1")
@every_combination
@every_scenario
def test_every_request_extends_the_one_before(case: Case, framing: Framing, scenario: str) -> None:
    layouts = layouts_of(case, framing, scenario)
    assert [layout.wire for layout in layouts] == [case.wire] * len(layouts)
    for earlier, later in pairwise(layouts):
        result = compare(earlier, later)
        assert result.kind is Kind.EXTENDED, result


@pytest.mark.requirement("CHECK-1")
@every_combination
@every_scenario
def test_nothing_is_found_in_what_is_sent(case: Case, framing: Framing, scenario: str) -> None:
    layouts = layouts_of(case, framing, scenario)
    assert findings(layouts) == []
    for layout in layouts:
        assert findings([layout]) == []
