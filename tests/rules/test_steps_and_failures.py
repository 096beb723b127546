"""Inside a turn nothing moves, and a failing trinket costs only its own section: for arbitrary windows and failures."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.errors import RequiredSectionFailed
from frontmind.events import TurnContext
from frontmind.providers.encoding.text import wire_text
from frontmind.providers.reading import read_request
from frontmind.providers.scripted import ScriptedModel
from frontmind.trinkets import EventAwareTrinket, TrinketPlacement
from frontmind.trinkets.markup import escape
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, Author, Section, render_notification_center
from frontmind.values.tool import Tool
from frontmind.window.choice import Framing
from frontmind.window.window import Window
from support import EVERY_WAY, bench, selected

said = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
exchanges = st.lists(st.tuples(said, said), max_size=3)
steps = st.lists(st.lists(st.tuples(said, said), min_size=1, max_size=3), min_size=1, max_size=3)


@pytest.mark.requirement("RULE-6")
@pytest.mark.requirement("RULE-4")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
@settings(deadline=None, max_examples=15)
@given(talk=exchanges, texts=st.lists(said, max_size=2), question=said, loop=steps, fresh=st.none() | said)
def test_each_step_of_a_turn_only_adds_behind_what_was_sent(
    name: str,
    framing: Framing,
    talk: list[tuple[str, str]],
    texts: list[str],
    question: str,
    loop: list[list[tuple[str, str]]],
    fresh: str | None,
) -> None:
    history = tuple(message for asked, told in talk for message in (user(asked), assistant(told)))
    own, others = Author.APPLICATION, Author.OTHERS
    sections = tuple(mood(text, author) for text, author in zip(texts, (own, others), strict=False))
    center = render_notification_center(sections)
    window = Window("system", "", history, center, (user(question),), sections, tools=(Tool("tool"),))
    encode = selected(name, framing).encode
    sent = read_request(encode(window))
    for number, calls in enumerate(loop):
        ids = [f"c{number}_{index}" for index in range(len(calls))]
        call = Message(Role.ASSISTANT, tuple(ToolCall(one, "tool", "{}") for one in ids))
        results = Message(Role.USER, tuple(ToolResult(one, pair[0]) for one, pair in zip(ids, calls, strict=True)))
        now = f"{fresh} after step {number}"
        changed = [] if fresh is None else [mood(now, others)]
        window = window.extended(call, results, changed=changed)
        following = read_request(encode(window))
        kept, added = following.blocks[: len(sent.blocks)], following.blocks[len(sent.blocks) :]
        assert [block.key for block in kept] == [block.key for block in sent.blocks]
        assert [block.kind for block in added][: 2 * len(ids)] == ["tool_use"] * len(ids) + ["tool_result"] * len(ids)
        assert fresh is None or wire_text(escape(now)) in "".join(block.text for block in added)
        sent = following


def mood(text: str, author: Author) -> Section:
    name = "mood" if author is Author.OTHERS else "clock"
    return Section(name, f"<{name}>\n{escape(text)}\n</{name}>", PLACEMENT_NOTIFICATION, False, author)


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
            assert {"base_prompt", "datetime_section"} <= content.keys()

    asyncio.run(run())
