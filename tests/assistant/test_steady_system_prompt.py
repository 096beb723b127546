"""An edit of the system prompt waits for a natural break; until then the notification center says what is new."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from frontmind.assistant.report import TurnReport
from frontmind.assistant.steadiness import CHANGES_SECTION, SEGMENT_PAUSE
from frontmind.providers.scripted import ScriptedModel
from frontmind.trinkets.markup import parse
from frontmind.values.message import Message
from frontmind.values.section import Section
from support import EVERY_WAY, Bench, bench, calling, playing

PLANS = "# Now\n\ntea\n\n# Later\n\n" + "trains and more trains\n" * 60


def system(report: TurnReport) -> str:
    return report.window.cached_system + report.window.uncached_system


def said(report: TurnReport) -> str:
    """What the notification center says of changes in the system prompt; empty where it says nothing."""
    found = [section.content for section in report.window.sections if section.name == CHANGES_SECTION]
    return found[0] if found else ""


async def talk(bench_: Bench, *messages: str) -> list[TurnReport]:
    return [await bench_.orchestrator.run_turn(message) for message in messages]


async def edit(bench_: Bench, text: str) -> None:
    await bench_.store.put_document("plans", PLANS.replace("tea", text), bench_.clock.now())


@pytest.mark.requirement("DOC-1")
@pytest.mark.requirement("RULE-9")
async def test_an_edited_document_changes_no_byte_of_the_system_prompt_until_the_segment_ends() -> None:
    async with bench(ScriptedModel(lambda request: "ok")) as bench_:
        await edit(bench_, "tea")
        (first,) = await talk(bench_, "one")
        await edit(bench_, "coffee")
        second, third = await talk(bench_, "two", "three")
        bench_.clock.advance(seconds=SEGMENT_PAUSE.total_seconds() - 1)
        (fourth,) = await talk(bench_, "four")
        bench_.clock.advance(seconds=SEGMENT_PAUSE.total_seconds())
        (fifth,) = await talk(bench_, "five")
    assert [system(report) == system(first) for report in (second, third, fourth)] == [True] * 3
    for report in (second, third, fourth):
        assert '<section name="Now"># Now\n\ncoffee' in said(report)
        assert "trains" not in said(report)
        assert report.system_change is None
    assert "coffee" in system(fifth)
    assert "tea" not in system(fifth)
    assert said(fifth) == said(first) == ""
    assert fifth.system_change is not None
    assert fifth.system_change.sections == ("domaindoc",)


async def test_a_section_edited_three_times_is_said_as_it_is_now() -> None:
    async with bench(ScriptedModel(lambda request: "ok")) as bench_:
        await edit(bench_, "tea")
        await talk(bench_, "one")
        for text in ("water", "milk", "coffee"):
            await edit(bench_, text)
            (report,) = await talk(bench_, text)
        assert ("coffee" in said(report), "milk" in said(report), said(report).count("<section")) == (True, False, 1)
        await edit(bench_, "tea")
        (back,) = await talk(bench_, "back")
    # The text is what it was; only its version is another.
    assert "tea" not in said(back)


async def test_a_restarted_program_still_sends_the_system_prompt_that_was_sent(tmp_path: Path) -> None:
    path = str(tmp_path / "mind.db")
    async with bench(ScriptedModel(["ok"]), db=path) as bench_:
        await edit(bench_, "tea")
        (first,) = await talk(bench_, "one")
        await edit(bench_, "coffee")
    async with bench(ScriptedModel(["ok"]), db=path) as bench_:
        shown = await bench_.mind.builder.preview("two", reader=bench_.model)
        (second,) = await talk(bench_, "two")
    assert system(second) == system(first)
    assert "coffee" in said(second)
    assert shown.window.sections == second.window.sections


@pytest.mark.parametrize(("minutes", "taken"), [(4, False), (6, True)])
async def test_where_the_cache_has_expired_the_new_text_is_taken_at_once(minutes: int, taken: bool) -> None:
    # Five minutes are the lifetime that the history of this model is marked for.
    async with bench(playing("anthropic:claude-sonnet-4-5", lambda request: "ok")) as bench_:
        await edit(bench_, "tea")
        await talk(bench_, "one")
        await edit(bench_, "coffee")
        bench_.clock.advance(minutes=minutes)
        (second,) = await talk(bench_, "two")
    assert ("coffee" in system(second), said(second) == "") == (taken, taken)


async def test_another_model_has_nothing_cached_and_gets_the_new_text_at_once(tmp_path: Path) -> None:
    path = str(tmp_path / "mind.db")
    async with bench(playing("echo", ["ok"]), db=path) as bench_:
        await edit(bench_, "tea")
        await talk(bench_, "one")
        await edit(bench_, "coffee")
    async with bench(ScriptedModel(["ok"], name="other"), db=path) as bench_:
        (second,) = await talk(bench_, "two")
    assert "coffee" in system(second)


async def test_what_is_larger_than_all_that_is_cached_is_taken_at_once() -> None:
    async with bench(ScriptedModel(lambda request: "ok")) as bench_:
        (first,) = await talk(bench_, "one")
        await bench_.store.put_document("book", "word " * 3000, bench_.clock.now())
        (second,) = await talk(bench_, "two")
    assert system(second) != system(first)
    assert "word word" in system(second)
    assert said(second) == ""


async def test_what_is_too_long_to_be_said_in_every_turn_is_taken_at_once_and_reported() -> None:
    async with bench(ScriptedModel(lambda request: "long answer " * 6000)) as bench_:
        await edit(bench_, "tea")
        await talk(bench_, "one")
        await bench_.store.put_document("book", "# A\n\n" + "word " * 5000, bench_.clock.now())
        (second,) = await talk(bench_, "two")
    assert "word word" in system(second)
    assert said(second) == ""
    assert second.system_change is not None
    assert second.system_change.tokens > 5_000


@pytest.mark.parametrize("removed", [False, True])
async def test_what_the_person_takes_away_is_sent_no_longer(removed: bool) -> None:
    async with bench(ScriptedModel(lambda request: "ok")) as bench_:
        await edit(bench_, "tea")
        await bench_.store.put_document("secret", "the locker code is 4417", bench_.clock.now())
        await talk(bench_, "one")
        await (bench_.store.remove_document("secret") if removed else bench_.store.enable_document("secret", False))
        (second,) = await talk(bench_, "two")
    assert "4417" not in system(second) + second.window.notification_center


async def test_a_long_text_that_comes_inside_a_turn_is_said_by_its_size_and_taken_with_the_next() -> None:
    text = "# Now\n\n" + "word " * 6000
    call = ("edit_document", {"name": "plans", "operation": "replace_section", "section": "Now", "text": text})
    replies: Iterator[str | Message] = iter(["hi " * 9000, calling(call), "done", "ok"])
    async with bench(ScriptedModel(lambda request: next(replies))) as bench_:
        await edit(bench_, "tea")
        first, second, third = await talk(bench_, "one", "two", "three")
    (update,) = second.window.updates
    assert system(second) == system(first)
    assert "word word" not in update.sections[0].content
    assert 'collapsed="true"' in update.sections[0].content
    assert "word word" in system(third)


@pytest.mark.requirement("RULE-6")
@pytest.mark.parametrize(("name", "framing"), EVERY_WAY)
async def test_an_edit_by_a_tool_is_said_in_the_next_step_and_nothing_else_moves(name: str, framing: Any) -> None:
    call = (
        "edit_document",
        {"name": "plans", "operation": "append_to_section", "section": "Now", "text": "and biscuits"},
    )
    replies: Iterator[str | Message] = iter([calling(call), "done", "ok"])
    async with bench(playing(name, lambda request: next(replies), framing)) as bench_:
        await edit(bench_, "tea")
        first, second = await talk(bench_, "one", "two")
    (update,) = first.window.updates
    assert [section.name for section in update.sections] == [CHANGES_SECTION]
    assert "and biscuits" in update.sections[0].content
    assert "and biscuits" in said(second)
    assert system(second) == system(first)


@pytest.mark.requirement("TIME-1")
async def test_what_is_said_of_changes_parses_and_carries_its_moment() -> None:
    async with bench(ScriptedModel(lambda request: "ok")) as bench_:
        await edit(bench_, "tea")
        await talk(bench_, "one")
        await edit(bench_, "<b>coffee & ═</b>")
        (second,) = await talk(bench_, "two")
    (section,) = [item for item in second.window.sections if item.name == CHANGES_SECTION]
    assert isinstance(section, Section)
    element = parse(section.content)
    assert element.attributes["observed"] == "2026-11-30 09:15"
    assert "<b>coffee & ═</b>" in repr(element)
