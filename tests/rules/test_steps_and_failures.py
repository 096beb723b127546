"""Inside a turn nothing moves, and a failing trinket costs only its own section: for arbitrary windows and failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import RequiredSectionFailed
from frontmind.events import TurnContext
from frontmind.providers.encoding.anthropic import encode_anthropic
from frontmind.providers.encoding.local import encode_local
from frontmind.providers.encoding.openai_chat import encode_openai_chat
from frontmind.providers.scripted import ScriptedModel
from frontmind.trinkets import EventAwareTrinket, TrinketPlacement
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, Section
from frontmind.window.framing import with_fresh_sections
from frontmind.window.window import Window
from support import bench, prefix

ENCODERS: dict[str, Callable[[Window], dict[str, Any]]] = {
    "anthropic": lambda window: encode_anthropic(window, model="m", max_output_tokens=8),
    "openai": lambda window: encode_openai_chat(window, model="m", max_output_tokens=8),
    "local": lambda window: encode_local(window, max_output_tokens=8),
}
said = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
exchanges = st.lists(st.tuples(said, said), max_size=3)
steps = st.lists(st.lists(st.tuples(said, said), min_size=1, max_size=3), min_size=1, max_size=3)


@pytest.mark.requirement("RULE-6")
@pytest.mark.requirement("RULE-4")
@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS)
@settings(deadline=None, max_examples=50)
@given(talk=exchanges, center=st.none() | said, question=said, loop=steps, fresh=st.none() | said)
def test_each_step_of_a_turn_only_adds_behind_what_was_sent(
    encode: Callable[[Window], dict[str, Any]],
    talk: list[tuple[str, str]],
    center: str | None,
    question: str,
    loop: list[list[tuple[str, str]]],
    fresh: str | None,
) -> None:
    history = tuple(message for asked, told in talk for message in (user(asked), assistant(told)))
    window = Window("system", "", history, center or "", (user(question),))
    sent = encode(window)
    for number, calls in enumerate(loop):
        ids = [f"c{number}_{index}" for index in range(len(calls))]
        call = Message(Role.ASSISTANT, tuple(ToolCall(name, "tool", "{}") for name in ids))
        results = Message(Role.USER, tuple(ToolResult(name, pair[0]) for name, pair in zip(ids, calls, strict=True)))
        changed = [] if fresh is None else [Section("mood", fresh, PLACEMENT_NOTIFICATION, False)]
        window = window.extended(call, with_fresh_sections(results, changed))
        following = encode(window)
        assert prefix(following, len(sent["messages"])) == prefix(sent, len(sent["messages"]))
        if fresh is not None:
            assert isinstance(window.turn[-1].parts[-1], Text)
        sent = following


class Whim(EventAwareTrinket):
    """Says its name, or raises."""

    def __init__(self, name: str, error: Exception | None) -> None:
        self.section_name = name  # type: ignore[misc]
        self._error = error

    async def generate_content(self, context: TurnContext) -> str:
        if self._error is not None:
            raise self._error
        return f"I am {self.section_name}."


errors = st.sampled_from(
    [None, ValueError("no"), KeyError("x"), RuntimeError("\ud800"), OSError(5, "disk"), TimeoutError()]
)
places = st.sampled_from([TrinketPlacement.SYSTEM, TrinketPlacement.NOTIFICATION_CENTER])
whims = st.dictionaries(
    st.sampled_from(["alpha", "beta", "gamma", "delta"]), st.tuples(errors, places, st.booleans()), min_size=1
)


@pytest.mark.requirement("RULE-10")
@settings(deadline=None, max_examples=40)
@given(trinkets=whims)
def test_a_failing_trinket_costs_its_own_section_and_the_turn_only_where_it_is_required(
    trinkets: dict[str, tuple[Exception | None, TrinketPlacement, bool]],
) -> None:
    failing = {name for name, (error, _, _) in trinkets.items() if error is not None}
    must_fail = any(trinkets[name][2] for name in failing)

    async def run() -> None:
        async with bench(ScriptedModel(["fine"])) as bench_:
            for name, (error, place, required) in trinkets.items():
                bench_.mind.memory.register_trinket(Whim(name, error), placement=place, required=required)
            if must_fail:
                with pytest.raises(RequiredSectionFailed):
                    await bench_.orchestrator.run_turn("hi")
                return
            report = await bench_.orchestrator.run_turn("hi")
            assert {failure.section for failure in report.failures} == failing
            content = {section.name: section.content for section in report.window.sections}
            for name in trinkets:
                assert ("Unavailable" if name in failing else f"I am {name}.") in content[name]
            assert {"base_prompt", "datetime_section", "conversation_manifest"} <= content.keys()

    asyncio.run(run())
