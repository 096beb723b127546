"""Twelve turns on the real engine through both of its APIs and in two framings: the cached tokens are exact."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from benchmarks.layouts import MESSAGES, play
from frontmind.providers.engine import Engine
from frontmind.providers.gguf import default_model_path
from frontmind.providers.local import LocalModel
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.window.choice import Framing
from messages_model import MessagesModel, as_chat

pytestmark = pytest.mark.timeout(900)
FEW_TOKENS = 16


@pytest.fixture(scope="module")
def model_path() -> Path:
    return default_model_path(platformdirs.user_cache_path("frontmind"))


def open_chat(engine: Engine, framing: Framing) -> LocalModel:
    profile = resolve_profile("local", "")
    return LocalModel(engine, profile=profile, framing=choose_framing(profile, framing), max_output_tokens=FEW_TOKENS)


@pytest.mark.requirement("CACHE-2")
@pytest.mark.parametrize("framing", [Framing.ASSISTANT, Framing.USER_TEXT])
@pytest.mark.parametrize("api", ["chat completions", "messages"])
async def test_the_engine_takes_from_its_cache_exactly_what_it_should(
    model_path: Path, api: str, framing: Framing
) -> None:
    engine = Engine(model_path)
    model = (
        open_chat(engine, framing)
        if api == "chat completions"
        else MessagesModel(engine, framing, max_output_tokens=FEW_TOKENS)
    )
    try:
        played = await play(model)
        assert len(played.reports) == len(MESSAGES)
        for report, request in list(zip(played.reports, played.requests, strict=True))[2:]:
            assert not report.usage.estimated
            assert report.usage.cached == report.expected_cached, f"turn {report.turn}"
            # Up to the end of the history that the turn before had, and not into what slid away.
            messages = (request if api == "chat completions" else as_chat(request))["messages"]
            assert isinstance(messages, list)
            durable = messages[: 1 + 2 * (report.turn - 2)]
            prefix = len(await model.prefix_tokens(durable))
            one = await model.prefix_tokens([*durable, {"role": "user", "content": "a"}])
            other = await model.prefix_tokens([*durable, {"role": "user", "content": "Z"}])
            opening = next(n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]) - prefix
            assert 0 <= report.usage.cached - prefix <= opening, f"turn {report.turn}"
        assert {report.framing.framing for report in played.reports} == {framing}
    finally:
        await model.close()
