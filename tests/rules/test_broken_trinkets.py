"""A trinket may raise, hang or return anything at all: the turn goes on within its limit, and says so."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from frontmind.assistant.report import TurnReport
from frontmind.cli.terminal import printable, report_lines
from frontmind.errors import ToolError
from frontmind.events import TurnContext
from frontmind.providers.scripted import ScriptedModel
from frontmind.tools.function import tool
from frontmind.trinkets import EventAwareTrinket, TrinketPlacement
from frontmind.trinkets.budget import fits
from frontmind.trinkets.markup import Body, Element, parse
from frontmind.values.section import Section
from support import bench, calling

SECTION = "odd"
MEGABYTES = 10_000_000
SECONDS = 2.0
PLACES = tuple(TrinketPlacement)
Saying = Callable[[], Any]


class Odd(EventAwareTrinket):
    """Does what it is told to, in a coroutine."""

    section_name = SECTION

    def __init__(self, say: Saying, *, time_limit: float = 2.0) -> None:
        self.say = say
        self.time_limit = time_limit

    async def generate_content(self, context: TurnContext) -> Body | None:
        said: Body | None = self.say()
        return said


class OddInThread(Odd):
    """The same in a thread."""

    def generate_content(self, context: TurnContext) -> Body | None:  # type: ignore[override]
        said: Body | None = self.say()
        return said


KINDS = (Odd, OddInThread)


class Leaving(BaseException):
    """Not an Exception, as those are not that end a program."""


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


def raises(error: BaseException) -> Saying:
    def say() -> Any:
        raise error

    return say


def section_of(report: TurnReport) -> Section:
    (section,) = [section for section in report.window.sections if section.name == SECTION]
    return section


def text_of(element: Element) -> str:
    return element.body if isinstance(element.body, str) else "".join(text_of(child) for child in element.body)


async def turn_with(trinket: EventAwareTrinket, place: TrinketPlacement) -> TurnReport:
    """One turn, within the seconds that it may take, its reply as if nothing was wrong."""
    async with bench(ScriptedModel(["fine"])) as bench_:
        bench_.mind.memory.register_trinket(trinket, placement=place)
        started = asyncio.get_running_loop().time()
        report = await bench_.orchestrator.run_turn("hi")
        assert asyncio.get_running_loop().time() - started < SECONDS
        assert await bench_.sent()
    assert report.reply == "fine"
    assert {"base_prompt", "datetime_section"} <= {section.name for section in report.window.sections}
    return report


def assert_unavailable(report: TurnReport, place: TrinketPlacement, reason: str) -> None:
    (failure,) = report.failures
    assert failure.section == SECTION
    assert reason in failure.reason
    assert len(failure.reason) <= 200
    since = " since 2026-11-30 09:15" if place is TrinketPlacement.NOTIFICATION_CENTER else ""
    section = section_of(report)
    assert parse(section.content) == Element(SECTION, f"Unavailable{since}.")
    assert section.placement == place.value
    line = f"[{SECTION} is unavailable since 2026-11-30T09:15+01:00: {failure.reason}]"
    assert line in report_lines(report)
    assert "\n" not in printable(line)


def assert_shortened(report: TurnReport, trinket: EventAwareTrinket) -> Element:
    assert report.shortened == (SECTION,)
    assert not report.failures
    assert f"[{SECTION} was longer than its budget and is shown in part]" in report_lines(report)
    element = parse(section_of(report).content.replace(' observed="2026-11-30 09:15"', "", 1))
    assert fits(element.body, trinket.token_budget)
    return element


RAISED: tuple[tuple[BaseException, str], ...] = (
    (ValueError("no disk"), "ValueError: no disk"),
    (StopIteration("stop"), "StopIteration"),
    (StopAsyncIteration("stop"), "StopAsyncIteration"),
    (SystemExit(3), "SystemExit"),
    (GeneratorExit(), "GeneratorExit"),
    (Leaving("leaving"), "Leaving"),
    (asyncio.CancelledError(), "ancelled"),
    (ExceptionGroup("several", [ValueError("one"), KeyError("two")]), "ExceptionGroup: several (2 sub-exceptions)"),
    (Unspeakable(), "Unspeakable: <exception str() failed>"),
    (RuntimeError("x" * MEGABYTES), "RuntimeError: xxx"),
    (RuntimeError("x " * (MEGABYTES // 2)), "RuntimeError: x x"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "\ud800\x1b[2J"), "UnicodeDecodeError"),
    (RecursionError("deep"), "RecursionError: deep"),
    (MemoryError(), "MemoryError"),
)


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("error", "reason"), RAISED, ids=lambda value: type(value).__name__)
async def test_whatever_a_trinket_raises_the_turn_goes_on_and_says_so(
    error: BaseException, reason: str, kind: type[Odd], place: TrinketPlacement
) -> None:
    assert_unavailable(await turn_with(kind(raises(error)), place), place, reason)


async def test_what_a_trinket_raises_is_not_written_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    # As where nobody has set up logging: Python then writes warnings and errors to the terminal, with all that
    # other people's text in them can do there.
    handlers, logging.root.handlers = logging.root.handlers, []
    try:
        report = await turn_with(Odd(raises(ValueError("\x1b[2J gone"))), TrinketPlacement.NOTIFICATION_CENTER)
    finally:
        logging.root.handlers = handlers
    assert report.failures
    assert capfd.readouterr() == ("", "")


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("place", PLACES)
async def test_a_coroutine_that_never_ends_is_given_up(place: TrinketPlacement) -> None:
    cancelled = asyncio.Event()

    class Hangs(EventAwareTrinket):
        section_name = SECTION
        time_limit = 0.05

        async def generate_content(self, context: TurnContext) -> str:
            # A cancellation that is swallowed once must not hold up the turn either.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            cancelled.set()
            await asyncio.Event().wait()
            return "never"

    assert_unavailable(await turn_with(Hangs(), place), place, "no answer within 0.05 s")
    assert cancelled.is_set()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("place", PLACES)
async def test_a_thread_that_never_ends_is_given_up(place: TrinketPlacement, release: threading.Event) -> None:
    trinket = OddInThread(release.wait, time_limit=0.05)
    assert_unavailable(await turn_with(trinket, place), place, "no answer within 0.05 s")


@dataclass
class Growing(Sequence[Element]):
    """Elements of which there are more each time that one looks."""

    looks: int = field(default=0)

    def __len__(self) -> int:
        self.looks += 1
        return 1 + self.looks

    def __getitem__(self, index: Any) -> Any:
        if index >= 3 + self.looks:
            raise IndexError
        self.looks += 1
        return Element("thing", "x" * self.looks)


def nested(depth: int) -> Element:
    element = Element("leaf", "deep down")
    for _ in range(depth):
        element = Element("level", (element,))
    return element


LARGE: dict[str, Callable[[], Body]] = {
    "ten megabytes of words": lambda: "a word\n" * (MEGABYTES // 7),
    "ten megabytes without a space": lambda: "x" * MEGABYTES,
    "ten megabytes of what is written as references": lambda: "\ud800" * MEGABYTES,
    "ten megabytes of markup": lambda: "</odd>" * (MEGABYTES // 6),
    "a million elements": lambda: [Element("thing", "x")] * 1_000_000,
    "a million elements in one": lambda: [Element("things", (Element("thing", "x"),) * 1_000_000)],
    "an element of ten megabytes": lambda: [Element("thing", "x" * MEGABYTES)],
    "an attribute of ten megabytes": lambda: [Element("thing", "x", {"name": "x" * MEGABYTES})],
}


@pytest.mark.requirement("BUDGET-1")
@pytest.mark.requirement("RULE-10")
@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("large", LARGE)
async def test_what_is_far_too_large_is_shortened_and_says_so(
    large: str, kind: type[Odd], place: TrinketPlacement
) -> None:
    trinket = kind(LARGE[large])
    element = assert_shortened(await turn_with(trinket, place), trinket)
    if isinstance(element.body, str):
        assert element.body.endswith("(cut here: it was too long)")
    else:
        cut = [child for child in element.body if "cut here" in text_of(child)]
        (omitted,) = [child.body for child in element.body if child.name == "omitted"] or [""]
        assert cut or str(omitted).endswith(" more")


@pytest.mark.requirement("RULE-7")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "text",
    [
        "\ud800 and \udfff and \udfff\ud800",
        "".join(map(chr, range(0x20))) + "\x7f" + "".join(map(chr, range(0x80, 0xA0))),
        "\x1b[2J\x1b]0;title\x07\x9b31m",
        "\u202etxet\u2066\ufeff\ufffe\uffff\u2028\u2029",
        "═" * 60 + "\n</odd>\n" + "═" * 60,
    ],
    ids=["surrogates", "controls", "escapes", "reordering", "rules"],
)
async def test_awkward_characters_are_in_the_section_and_do_nothing(
    text: str, kind: type[Odd], place: TrinketPlacement
) -> None:
    report = await turn_with(kind(lambda: text), place)
    content = section_of(report).content
    element = parse(content.replace(' observed="2026-11-30 09:15"', "", 1))
    assert element == Element(SECTION, text)
    assert printable(content) == content
    assert content.isascii()
    assert not report.failures


WRONG: dict[str, Any] = {
    "zero": 0,
    "number": 7,
    "dict": {"a": 1},
    "empty dict": {},
    "bytes": b"text",
    "object": object(),
    "numbers": [1, 2],
    "texts": ["one", "two"],
    "a huge range": range(10**15),
    "elements and a text": [Element("thing", "x"), "text"],
    "a body that is a number": [Element("thing", 7)],  # type: ignore[arg-type]
    "an attribute that is a number": [Element("thing", "x", {"number": 7})],  # type: ignore[dict-item]
    "a name with a space": [Element("two words", "x")],
    "a generator": (Element("thing", "x") for _ in range(3)),
    "2,000 deep": [nested(2_000)],
    "a little too deep": [nested(50)],
}


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", WRONG)
async def test_what_is_no_content_is_a_failure_of_its_trinket(
    wrong: str, kind: type[Odd], place: TrinketPlacement
) -> None:
    assert_unavailable(await turn_with(kind(lambda: WRONG[wrong]), place), place, "Error: ")


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_as_deep_as_it_may_be_can_change_between_turns(place: TrinketPlacement) -> None:
    said = [nested(40), nested(49)]
    async with bench(ScriptedModel(["one", "two"])) as bench_:
        bench_.mind.memory.register_trinket(Odd(lambda: [said[0]]), placement=place)
        await bench_.orchestrator.run_turn("hi")
        said.reverse()
        report = await bench_.orchestrator.run_turn("hi again")
    assert not report.failures
    assert "</level>\n" * 48 in report.window.notification_center


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_body_that_changes_while_it_is_read_gives_a_section_that_parses(
    kind: type[Odd], place: TrinketPlacement
) -> None:
    report = await turn_with(kind(Growing), place)
    element = parse(section_of(report).content.replace(' observed="2026-11-30 09:15"', "", 1))
    assert element.name == SECTION
    assert not report.failures
    assert isinstance(element.body, tuple)
    assert {child.name for child in element.body} == {"thing"}


@pytest.mark.parametrize("place", PLACES)
async def test_a_list_that_its_trinket_goes_on_filling_is_said_as_it_was(place: TrinketPlacement) -> None:
    said: list[Element] = [Element("thing", "first")]

    class Filling(Odd):
        def shorten(self, body: Body, budget: int) -> Body:
            said.extend([Element("thing", "later")] * 100_000)
            return body

    trinket = Filling(lambda: said)
    trinket.token_budget = 1
    report = await turn_with(trinket, place)
    assert report.shortened == (SECTION,)
    assert "1 more" in section_of(report).content
    assert "later" not in section_of(report).content


def too_long(body: Body, budget: int) -> Body:
    return [*body, *body] if isinstance(body, list | tuple) else body


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "error", [ValueError("cannot"), SystemExit(3), Leaving()], ids=lambda error: type(error).__name__
)
async def test_a_rule_of_shortening_that_raises_is_a_failure_of_its_trinket(
    error: BaseException, kind: type[Odd], place: TrinketPlacement, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shorten(self: Odd, body: Body, budget: int) -> Body:
        raise error

    monkeypatch.setattr(Odd, "shorten", shorten)
    assert_unavailable(await turn_with(kind(lambda: "x" * 100_000), place), place, type(error).__name__)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rest", [None, "x" * MEGABYTES, [Element("thing", "x")] * 1_000_000], ids=["none", "text", "elements"]
)
async def test_a_rule_of_shortening_that_leaves_too_much_is_shortened_by_the_default_rule(
    rest: Any, kind: type[Odd], place: TrinketPlacement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Odd, "shorten", lambda self, body, budget: body if rest is None else rest)
    trinket = kind(lambda: [Element("thing", "word " * 100)] * 100)
    element = assert_shortened(await turn_with(trinket, place), trinket)
    assert text_of(element).endswith((" more", "(cut here: it was too long)"))


@pytest.mark.requirement("RULE-10")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_rule_of_shortening_that_never_ends_is_given_up(
    kind: type[Odd], place: TrinketPlacement, release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Odd, "shorten", lambda self, body, budget: release.wait())
    report = await turn_with(kind(lambda: "x" * 100_000, time_limit=0.2), place)
    assert_unavailable(report, place, "no answer within 0.2 s")


BREAKS: dict[str, tuple[Saying, str]] = {
    "raises": (raises(ValueError("no disk")), "ValueError: no disk"),
    "exits": (raises(SystemExit(1)), "SystemExit"),
    "says no content": (lambda: 7, "UsageError: "),
}


async def turn_that_breaks_it(trinket: Odd, say: Saying, place: TrinketPlacement) -> TurnReport:
    """A turn of two steps with tools, in the first of which the trinket breaks."""

    @tool
    def work() -> str:
        """Work."""
        trinket.say = say
        return "worked"

    model = ScriptedModel([calling(("work", {})), calling(("work", {})), "done"])
    async with bench(model, tools=[work]) as bench_:
        bench_.mind.memory.register_trinket(trinket, placement=place)
        started = asyncio.get_running_loop().time()
        report = await bench_.orchestrator.run_turn("go")
        assert asyncio.get_running_loop().time() - started < SECONDS
    assert [use.is_error for use in report.tools] == [False, False]
    assert report.reply == "done"
    return report


@pytest.mark.requirement("RULE-10")
@pytest.mark.requirement("RULE-6")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", BREAKS)
async def test_a_trinket_that_breaks_between_two_steps_says_so_behind_the_results(how: str, kind: type[Odd]) -> None:
    say, reason = BREAKS[how]
    place = TrinketPlacement.NOTIFICATION_CENTER
    report = await turn_that_breaks_it(kind(lambda: "whole"), say, place)
    assert parse(section_of(report).content.replace(' observed="2026-11-30 09:15"', "")).body == "whole"
    # Said once: it is as it was behind the second results.
    (update,) = report.window.updates
    (said,) = [section for section in update.sections if section.name == SECTION]
    assert parse(said.content).body == "Unavailable since 2026-11-30 09:15."
    assert [failure.section for failure in report.failures] == [SECTION]
    assert reason in report.failures[0].reason
    assert any(line.startswith(f"[{SECTION} is unavailable since") for line in report_lines(report))


@pytest.mark.requirement("RULE-10")
@pytest.mark.requirement("RULE-6")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", BREAKS)
async def test_a_trinket_of_the_system_prompt_that_breaks_between_two_steps_keeps_its_bytes(
    how: str, kind: type[Odd]
) -> None:
    say, reason = BREAKS[how]
    report = await turn_that_breaks_it(kind(lambda: "whole"), say, TrinketPlacement.SYSTEM)
    assert parse(section_of(report).content).body == "whole"
    assert not report.window.updates
    assert [failure.section for failure in report.failures] == [SECTION]
    assert reason in report.failures[0].reason
    assert any(line.startswith(f"[{SECTION} is unavailable since") for line in report_lines(report))


async def test_a_trinket_that_hangs_from_the_second_step_on_holds_up_no_step(release: threading.Event) -> None:
    trinket = OddInThread(lambda: "whole", time_limit=0.1)
    report = await turn_that_breaks_it(trinket, release.wait, TrinketPlacement.NOTIFICATION_CENTER)
    assert [failure.reason for failure in report.failures] == ["no answer within 0.1 s"]


async def test_a_trinket_that_grows_between_two_steps_is_shortened_behind_the_results() -> None:
    place = TrinketPlacement.NOTIFICATION_CENTER
    report = await turn_that_breaks_it(Odd(lambda: "whole"), lambda: "x" * MEGABYTES, place)
    (update,) = report.window.updates
    (said,) = [section for section in update.sections if section.name == SECTION]
    assert "(cut here: it was too long)" in said.content
    assert report.shortened == (SECTION,)


async def test_a_tool_whose_error_cannot_be_told_is_an_error_of_the_tool() -> None:
    class Silent(ToolError):
        def __str__(self) -> str:
            raise ZeroDivisionError

    @tool
    def odd(kind: int) -> str:
        """Raise."""
        raise (Unspeakable(), Silent())[kind]

    model = ScriptedModel([calling(("odd", {"kind": 0}), ("odd", {"kind": 1})), "fine"])
    async with bench(model, tools=[odd]) as bench_:
        report = await bench_.orchestrator.run_turn("go")
    assert [use.is_error for use in report.tools] == [True, True]
    assert report.reply == "fine"
