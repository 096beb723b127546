"""Twelve turns with the real local model: what the engine took from its cache is exactly what it should have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from benchmarks.layouts import MESSAGES, Played, comparison, open_local, play, turn_by_turn
from frontmind.providers.local import LocalModel
from frontmind.trinkets import TrinketPlacement
from support import texts

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
async def fresh_models() -> AsyncIterator[list[LocalModel]]:
    """Two local models with empty caches; one engine at a time would do, but both together load faster."""
    models = [await open_local(), await open_local()]
    yield models
    for model in models:
        await model.close()


async def durable_prefix(model: LocalModel, request: Mapping[str, Any], turn: int) -> tuple[int, int]:
    """Tokens of the request of ``turn`` up to the end of the history that the turn before it had, as the model's own
    template and tokenizer give them, and the tokens with which the template opens the message after it.
    """
    messages = request["messages"][: 1 + 2 * (turn - 2)]
    prefix = await model.prefix_tokens(messages)
    one = await model.prefix_tokens([*messages, {"role": "user", "content": "a"}])
    other = await model.prefix_tokens([*messages, {"role": "user", "content": "Z"}])
    common = next(index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    assert one[: len(prefix)] == prefix
    return len(prefix), common - len(prefix)


def system_of(request: Mapping[str, Any]) -> str:
    return texts(request["messages"][0])


@pytest.mark.requirement("CACHE-1")
@pytest.mark.requirement("SEED-1")
async def test_the_cache_holds_everything_up_to_the_previous_turns_history(
    fresh_models: list[LocalModel], capsys: pytest.CaptureFixture[str]
) -> None:
    model, other = fresh_models
    slide = await play(model)
    assert [report.turn for report in slide.reports] == list(range(1, len(MESSAGES) + 1))

    for report, request in list(zip(slide.reports, slide.requests, strict=True))[2:]:
        prefix, opening = await durable_prefix(model, request, report.turn)
        assert 0 <= report.usage.cached - prefix <= opening, f"turn {report.turn}"
        assert report.usage.cached == report.expected_cached, f"turn {report.turn}"
        assert not report.usage.estimated

    center = [report.window.notification_center for report in slide.reports]
    assert 'status="today"' in center[0]
    assert 'status="overdue"' in center[-1], "the reminder fell due in between"
    assert "You are a vegetarian." not in center[3]
    assert "You are a vegetarian." in center[5], "a memory came up"
    assert len({system_of(request) for request in slide.requests}) == 1

    system = await play(other, placement=TrinketPlacement.SYSTEM, replies=[report.reply for report in slide.reports])
    assert [report.reply for report in system.reports] == [report.reply for report in slide.reports]
    assert all(not report.window.notification_center for report in system.reports)
    with capsys.disabled():
        print("\n\n" + turn_by_turn(slide, system) + "\n\n" + comparison(slide, system))  # noqa: T201
    assert cached_share(slide) > cached_share(system)
    last, last_system = slide.reports[-1].usage, system.reports[-1].usage
    assert last.evaluated < last_system.evaluated
    assert all(0 < report.first_token_seconds <= report.seconds for report in slide.reports)


def cached_share(played: Played) -> float:
    usages = [report.usage for report in played.reports[1:]]
    return sum(usage.cached for usage in usages) / sum(usage.input for usage in usages)
