"""Why a prompt is not read as far as it could be: each cause, made by two real requests that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from frontmind.cachelab.outcome import Outcome
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import size_request
from frontmind.providers.opening import Selection
from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import Request
from frontmind.providers.reading import read_request
from frontmind.values.calls import Cause
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Image, Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, Author, Section, render_notification_center
from frontmind.values.tool import Tool
from frontmind.window.framing import closed
from frontmind.window.window import Window
from support import START, selected

SONNET = "anthropic:claude-sonnet-4-5"
MODELS = [
    SONNET,
    "anthropic:claude-opus-4-8",
    "anthropic:claude-opus-5-5",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "openrouter:anthropic/claude-sonnet-4.6",
    "openai:gpt-5.5",
    "openai:gpt-5.6-sol",
    "deepseek:deepseek-chat",
    "local",
]
every_model = pytest.mark.parametrize("name", MODELS)
DOCUMENT = "The house has a red door. " * 300
PERSONA = "Be brief. " * 1500
SYSTEM = f"<base_prompt>\n{PERSONA}\n</base_prompt>\n\n<domaindoc>\n{DOCUMENT}The key is under the mat.\n</domaindoc>"
PIXEL = Image("image/png", "aGk=")


def window(number: int, history: Sequence[Message], **changes: Any) -> Window:
    """The window of a turn, with a clock that slides."""
    content = f"<datetime_section>\nturn {number}\n</datetime_section>"
    sections = (Section("datetime_section", content, PLACEMENT_NOTIFICATION, False, Author.APPLICATION),)
    center = render_notification_center(sections)
    made = Window(
        SYSTEM, "", history, center, (user(f"question {number}"),), sections, tools=(Tool("look", description="looks"),)
    )
    return replace(made, **changes)


def turns(name: str, count: int = 4) -> tuple[Selection, list[Window]]:
    """The windows of a conversation."""
    selection, windows, history = selected(name), [], ()
    for number in range(count):
        windows.append(window(number, history))
        history = closed(windows[-1], assistant(f"answer {number} {'and so on ' * 300}"), selection.framing)  # type: ignore[assignment]
    return selection, windows


def second(selection: Selection, one: Request, two: Request, *, seconds: float = 30) -> Outcome:
    cache = CacheSimulator(selection.profile)
    cache.send(size_request(read_request(one)), START)
    return cache.send(size_request(read_request(two)), START + timedelta(seconds=seconds))


def after(
    name: str, change: Callable[[Window], Window] = lambda it: it, edit: Callable[[Request], Request] = lambda it: it
) -> Outcome:
    """What the cache does with the fourth turn once its window or its request was changed."""
    selection, windows = turns(name)
    cache = CacheSimulator(selection.profile)
    for number, made in enumerate(windows[:3]):
        cache.send(size_request(read_request(selection.encode(made))), START + timedelta(seconds=number))
    changed = edit(selection.encode(change(windows[3])))
    return cache.send(size_request(read_request(changed)), START + timedelta(seconds=9))


def edited(index: int, old: str, new: str) -> Callable[[Window], Window]:
    """Puts another word into a message of the history."""

    def change(made: Window) -> Window:
        history = list(made.history)
        message = history[index]
        parts = [
            replace(part, text=part.text.replace(old, new)) if isinstance(part, Text) else part
            for part in message.parts
        ]
        history[index] = Message(message.role, tuple(parts))
        return replace(made, history=history)

    return change


@every_model
def test_what_goes_on_as_it_should_has_no_cause(name: str) -> None:
    made = after(name)
    assert (made.verdict.cause, made.verdict.tokens) == (Cause.NOTHING, 0)
    assert made.read > 5000


@every_model
def test_the_first_request_has_nothing_to_read(name: str) -> None:
    selection, windows = turns(name, 1)
    made = CacheSimulator(selection.profile).send(size_request(read_request(selection.encode(windows[0]))), START)
    assert (made.verdict.cause, made.verdict.tokens, made.read) == (Cause.FIRST, 0, 0)


@every_model
def test_an_edited_document_is_named_with_its_first_differing_words(name: str) -> None:
    made = after(name, lambda it: replace(it, cached_system=SYSTEM.replace("under the mat", "at the neighbour's")))
    assert made.verdict.cause is Cause.MOVED
    assert made.verdict.place.endswith("(domaindoc)")
    assert "domaindoc" in made.verdict.reason
    assert "The key is under the mat." in made.verdict.before
    assert "The key is at the neighbour's." in made.verdict.after
    assert made.verdict.tokens == made.could - made.read > 1000


@every_model
def test_an_edited_old_message_is_named(name: str) -> None:
    made = after(name, edited(-5, "answer 0", "answer X"))
    assert made.verdict.cause is Cause.MOVED
    assert made.verdict.place.startswith(("messages[", "input["))
    assert (made.verdict.before[:8], made.verdict.after[:8]) == ("answer 0", "answer X")
    assert 500 < made.verdict.tokens < made.could


@every_model
def test_a_message_that_is_gone_is_named(name: str) -> None:
    made = after(name, lambda it: replace(it, history=list(it.history)[2:]))
    assert made.verdict.cause is Cause.MOVED
    assert "is gone" in made.verdict.reason or "is another one" in made.verdict.reason
    assert "question 0" in made.verdict.before or "turn 0" in made.verdict.before


@every_model
def test_other_tools_break_everything(name: str) -> None:
    made = after(name, lambda it: replace(it, tools=(Tool("look", description="looks again"),)))
    assert made.verdict.cause is Cause.TOOLS
    assert "look" in made.verdict.place
    assert "looks again" in made.verdict.after
    assert made.verdict.tokens == made.could - made.read
    assert made.read < 100


@every_model
def test_another_model_is_named(name: str) -> None:
    def ask_another(request: Request) -> Request:
        return {**request, "modelId" if "modelId" in request else "model": "another-model"}

    made = after(name, edit=ask_another)
    assert (made.verdict.cause, made.read) == (Cause.MODEL, 0)
    assert made.verdict.after == "another-model"
    assert made.verdict.tokens == made.could > 5000


def test_another_thinking_setting_breaks_the_messages_and_not_the_system_prompt() -> None:
    made = after(SONNET, edit=lambda it: {**it, "thinking": {"type": "enabled", "budget_tokens": 1024}})
    assert (made.verdict.cause, made.verdict.place) == (Cause.PARAMETERS, "thinking")
    assert '"budget_tokens":1024' in made.verdict.after
    assert made.read > 5000
    assert made.verdict.tokens == made.could - made.read > 1000


def test_a_first_picture_breaks_the_messages() -> None:
    pictured = Message(Role.USER, (Text("what is it?"), PIXEL))
    made = after(SONNET, lambda it: replace(it, turn=(pictured,)))
    assert (made.verdict.cause, made.verdict.tokens) == (Cause.IMAGES, made.could - made.read)
    assert "images now" in made.verdict.reason


@pytest.mark.parametrize(("name", "seconds"), [(SONNET, 3601), ("openai:gpt-5.5", 301), ("openai:gpt-5.6-sol", 1801)])
def test_after_its_lifetime_an_entry_is_gone(name: str, seconds: float) -> None:
    selection, windows = turns(name)
    one, two = (selection.encode(made) for made in windows[2:])
    made = second(selection, one, two, seconds=seconds)
    assert (made.verdict.cause, made.read) == (Cause.EXPIRED, 0)
    assert made.verdict.tokens == made.could > 5000
    assert second(selection, one, two, seconds=290).verdict.cause is Cause.NOTHING


def test_too_many_blocks_behind_the_only_marker_are_a_look_back_that_misses() -> None:
    selection = selected(SONNET)
    first = window(0, (user("a"), assistant("b")), notification_center="", sections=())
    steps = first
    for number in range(12):
        call = Message(Role.ASSISTANT, (Text("I look."), ToolCall(f"c{number}", "look", "{}")))
        steps = steps.extended(call, Message(Role.USER, (ToolResult(f"c{number}", "a cat"), Text("go on"))))
    one = selection.encode(first)
    two: Any = selection.encode(steps)
    assert second(selection, one, two).verdict.cause is Cause.NOTHING
    marked = [message for message in two["messages"] if "cache_control" in str(message)]
    assert len(marked) == 3
    system = [{key: value for key, value in block.items() if key != "cache_control"} for block in two["system"]]
    bare = [message if message is marked[-1] else without_marker(message) for message in two["messages"]]
    made = second(selection, one, {**two, "system": system, "messages": bare})
    assert (made.verdict.cause, made.read) == (Cause.LOOK_BACK, 0)
    assert "20 positions" in made.verdict.reason


def without_marker(message: dict[str, Any]) -> dict[str, Any]:
    content = [{key: value for key, value in block.items() if key != "cache_control"} for block in message["content"]]
    return {**message, "content": content}


def test_a_prompt_below_the_minimum_says_so_in_every_turn() -> None:
    selection = selected("anthropic:claude-haiku-4-5")
    requests = [selection.encode(replace(made, cached_system="short")) for made in turns(SONNET, 2)[1]]
    made = second(selection, *requests)
    assert (made.verdict.cause, made.verdict.tokens) == (Cause.MINIMUM, 0)
    assert "4,096" in made.verdict.reason


def test_a_question_that_is_asked_anew_is_no_loss() -> None:
    for name in MODELS:
        selection, windows = turns(name)
        later = replace(window(9, windows[3].history), turn=windows[3].turn)
        made = second(selection, selection.encode(windows[3]), selection.encode(later))
        assert made.verdict.cause is Cause.NOTHING, name


def test_a_pause_explains_what_is_lost_only_where_nothing_else_changed() -> None:
    selection, windows = turns(SONNET)
    changed = replace(windows[3], cached_system=SYSTEM.replace("under the mat", "at the neighbour's"))
    made = second(selection, selection.encode(windows[2]), selection.encode(changed), seconds=4000)
    assert made.verdict.cause is Cause.MOVED


def test_after_a_long_pause_the_time_is_the_cause_also_where_the_history_has_moved() -> None:
    profile = resolve_profile("anthropic", "claude-sonnet-4-5")
    system = {"type": "text", "text": "fact " * 9000, "cache_control": {"type": "ephemeral"}}

    def body(first: str) -> dict[str, Any]:
        said = {"type": "text", "text": first * 3000, "cache_control": {"type": "ephemeral"}}
        messages = [{"role": "user", "content": [said]}]
        return {"model": "claude-sonnet-4-5", "max_tokens": 9, "system": [system], "messages": messages}

    at = datetime(2026, 11, 30, 9, tzinfo=UTC)
    cache = CacheSimulator(profile)
    cache.send(size_request(read_request(body("one "))), at)
    moved = size_request(read_request(body("two ")))
    assert cache.expect(moved, at + timedelta(minutes=1)).verdict.cause is Cause.MOVED
    assert cache.expect(moved, at + timedelta(days=400)).verdict.cause is Cause.EXPIRED
