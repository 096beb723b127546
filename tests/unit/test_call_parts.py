"""What became of each named part of a prompt: the sums are the provider's, whatever the sizes are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import FRAMED, sent
from frontmind.cachelab.counted import Counted, counted_sizes
from frontmind.cachelab.parts import HISTORY, PROMPT, SYSTEM, TOOL_STEPS, TOOLS, USER_MESSAGE, call_parts
from frontmind.cachelab.prefixes import Prefixes, prompt_of
from frontmind.cachelab.sizing import SizedRequest
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.reading import read_request
from frontmind.values.usage import Usage
from frontmind.window.choice import Framing
from frontmind.window.layout import Layout

TRINKETS = {"datetime_section": "TimeManager", "active_reminders": "ReminderManager", "domaindoc": "DomaindocTrinket"}


def parts_of(request: Any, usage: Usage, provider: str = "anthropic", model: str = "claude-sonnet-4-5") -> Any:
    layout = read_request(request)
    sizes = counted_sizes(Prefixes(layout), [Counted(Prefixes(layout), usage)], resolve_profile(provider, model))
    return call_parts(sizes.prompt, usage, TRINKETS)


@pytest.mark.parametrize(("provider", "model", "framing"), FRAMED)
@given(data=st.data())
def test_the_sums_of_the_parts_are_those_of_the_usage(
    provider: str, model: str, framing: Framing, data: st.DataObject
) -> None:
    requests = data.draw(st.sampled_from(sent_requests(provider, model, framing)))
    cached, written, fresh = (data.draw(st.integers(0, 5000)) for _ in range(3))
    usage = Usage(cached + written + fresh, cached, written, 7)
    parts = parts_of(requests, usage, provider, model)
    assert sum(part.read for part in parts) == usage.cached
    assert sum(part.written for part in parts) == usage.written
    assert sum(part.fresh for part in parts) == usage.fresh


KNOWN: dict[tuple[str, str, Framing], list[Any]] = {}


def sent_requests(provider: str, model: str, framing: Framing) -> list[Any]:
    key = (provider, model, framing)
    if key not in KNOWN:
        KNOWN[key] = sent(provider, model, framing, turns=3, loops=(1,))
    return KNOWN[key]


def test_figures_that_lie_over_each_other_keep_their_sums() -> None:
    usage = Usage(1000, 900, 500, 7)
    parts = parts_of(sent("gemini", "gemini-2.5-pro", Framing.USER_TEXT)[2], usage, "gemini", "gemini-2.5-pro")
    assert [sum(getattr(part, name) for part in parts) for name in ("read", "written", "fresh")] == [900, 500, 100]


def test_each_part_has_its_name_and_its_trinket() -> None:
    request = sent("anthropic", "claude-sonnet-4-5", Framing.ASSISTANT, turns=3, loops=())[2]
    layout = read_request(request)
    parts = {part.name: part for part in parts_of(request, Usage(900, 500, 300, 1))}
    assert list(parts)[:4] == [TOOLS, "base_prompt", "domaindoc", HISTORY]
    assert parts["datetime_section"].trinket == "TimeManager"
    assert parts["active_reminders"].trinket == "ReminderManager"
    assert parts["domaindoc"].trinket == "DomaindocTrinket"
    assert {parts[name].trinket for name in (TOOLS, HISTORY, USER_MESSAGE)} == {""}
    # What is read stands at the front, what is fresh at the end.
    assert parts["base_prompt"].read > 0 == parts["base_prompt"].fresh
    assert parts[USER_MESSAGE].fresh > 0 == parts[USER_MESSAGE].read
    assert len(layout.blocks) > len(parts)


def test_the_steps_of_a_running_turn_are_no_history() -> None:
    request = sent("anthropic", "claude-sonnet-4-5", Framing.ASSISTANT, turns=1, loops=(0,))[-1]
    names = [part.name for part in parts_of(request, Usage(900, 500, 300, 1))]
    assert HISTORY not in names
    assert names[-1] in (TOOL_STEPS, "active_reminders")
    assert TOOL_STEPS in names
    assert USER_MESSAGE in names


def test_a_request_without_any_text_still_has_a_part() -> None:
    parts = call_parts(prompt_of(SizedRequest(Layout("gemini", "gemini", "m", ()), ())), Usage(10, 4, 0, 1), {})
    assert [(part.name, part.read, part.fresh) for part in parts] == [(PROMPT, 4, 6)]


def test_a_system_prompt_of_one_text_is_called_so() -> None:
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": "Help.", "messages": []}
    body["messages"] = [{"role": "user", "content": "Hello."}]
    assert [part.name for part in parts_of(body, Usage(10, 0, 0, 1))] == [SYSTEM, USER_MESSAGE]
