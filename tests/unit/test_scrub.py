"""Echoes of the notification center are taken out of a reply, and nothing else is."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from frontmind.assistant.scrub import EchoScrubber, scrub
from frontmind.values.section import HEADER, RULE, Section, render_notification_center

NAMES = ("datetime_section", "active_reminders", "relevant_memories")
CLOCK = "<datetime_section>\nIt is Monday, 30 November 2026, 09:15.\n</datetime_section>"
REMINDERS = '<active_reminders>\n<reminder due="09:00">call Anna\n\nat home</reminder>\n</active_reminders>'
CENTER = render_notification_center(
    [Section(name, text, "notification", False) for name, text in (("datetime_section", CLOCK), ("r", REMINDERS))]
)
TITLE, START, END = HEADER.split("\n")
PIECES = (
    *("Hello.", "\n", "\n\n", " ", "\r\n", "> ", "<", "\t", "═", "═" * 8, f"\n{RULE}\n", HEADER, TITLE, START, END),
    *(CLOCK, REMINDERS, "<datetime_section>", "<datetime_section a='b'>\n", "</datetime_section>", "<datetime_sect"),
    *(
        "<active_reminders/>",
        "<reminder>x</reminder>\n",
        "```",
        "```text\n",
        "~~~",
        "    ",
        "<active_reminders>",
        CENTER,
    ),
)
ECHOES = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
ANYTHING = st.one_of(ECHOES, st.text(), st.text(alphabet="═\n <>`aN/\r", max_size=40))


def in_chunks(text: str, cuts: list[int]) -> tuple[str, int, int]:
    scrubber = EchoScrubber(NAMES)
    places = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    shown = [scrubber.feed(text[start:end]) for start, end in itertools.pairwise(places)]
    return "".join(shown) + scrubber.finish(), scrubber.scrubbed, scrubber.echoes


def scrubbed(text: str) -> str:
    shown, taken, _ = in_chunks(text, [])
    assert len(shown) + taken == len(text)
    assert scrub(text, NAMES) == (shown, taken)
    return shown


# --- What is taken out -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["", f"{RULE}\n"])
@pytest.mark.parametrize("after", ["\n", "\n\n", "\n \n"])
def test_a_whole_notification_center_is_taken_out(before: str, after: str) -> None:
    assert scrubbed(f"{before}{CENTER}{after}Good morning, Anna.\n\nBye.\n") == "Good morning, Anna.\n\nBye.\n"


def test_a_reply_that_is_nothing_but_an_echo_is_empty() -> None:
    scrubber = EchoScrubber(NAMES)
    assert scrubber.feed(CENTER) + scrubber.finish() == ""
    assert (scrubber.scrubbed, scrubber.echoes) == (len(CENTER), 1)


@pytest.mark.requirement("FAULT-2")
def test_each_echo_is_counted_once() -> None:
    scrubber = EchoScrubber(NAMES)
    shown = scrubber.feed(f"{CENTER}\nOne.\n\n{CLOCK}\n\n{REMINDERS}\n\nTwo.") + scrubber.finish()
    assert (shown, scrubber.echoes) == ("One.\n\nTwo.", 2)


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (f"Hi.\n{'═' * 8}\nBye.", "Hi.\nBye."),
        (f"Hi.\n{'═' * 500}  \r\nBye.", "Hi.\nBye."),
        (f"Hi.\n\n{RULE}\n\nBye.", "Hi.\n\nBye."),
        (f"{HEADER}\nHi.", "Hi."),
        (f"{TITLE}\n{START} {END}\nHi.", "Hi."),
        (f"{RULE}\n{TITLE}\nHi.", "Hi."),
        (f"{TITLE}\n{RULE}\nHi.", "Hi."),
        ('<datetime_section unit="minute">It is 9.</datetime_section>\nHi.', "Hi."),
        ("<datetime_section/>\nHi.", "Hi."),
        ("<datetime_section>It is\n9.</datetime_section> Hi.", " Hi."),
        (f"{CLOCK}{REMINDERS}\nHi.", "Hi."),
        (f"Hi.\n\n{RULE}", "Hi.\n\n"),
    ],
)
def test_each_piece_of_an_echo_is_recognised(reply: str, shown: str) -> None:
    assert scrubbed(reply) == shown


def test_a_code_block_within_a_section_does_not_hide_its_end() -> None:
    assert scrubbed("<relevant_memories>\n```\nodd\n</relevant_memories>\nHi.") == "Hi."


def test_what_follows_an_unfinished_element_is_never_lost() -> None:
    reply = '<active_reminders>\n<reminder due="9">call</reminder>\n\nYou have a call at 9.\n\n<b>Soon.</b>'
    assert scrubbed(reply) == "You have a call at 9.\n\n<b>Soon.</b>"
    assert scrubbed(f"<datetime_section>\nIt is 9.\n{RULE}\nHi.") == "It is 9.\nHi."
    assert scrubbed(f"<datetime_section>\nIt is 9.\n{REMINDERS}\nHi.") == "It is 9.\nHi."


def test_an_element_that_is_cut_off_behind_its_markup_is_taken_out() -> None:
    assert scrubbed(f"Hi.\n\n{RULE}\n<active_reminders>\n<reminder due=") == "Hi.\n\n"


# --- What stays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        f"It looks like this:\n\n```\n{CENTER}\n```\n",
        f"It looks like this:\n\n  ~~~xml\n{CENTER}\n  ~~~",
        f"````\n```\n{CENTER}\n````",
        f"```\n{CENTER}",
        "═══════\n",
        "═" * 7,
        f"{RULE} and\n",
        f"a {RULE}\n",
        f"{TITLE}\n",
        f"{TITLE}\nis a section.\n",
        f"{TITLE}\n\n{START}\n",
        f"{START}\n{END}\n",
        f"{TITLE}\n{START}, they say.\n",
        "<datetime_section>: the time\n<active_reminders>: what is due\n\nThat is all.",
        "<datetime_section> says what time it is, and so on\n",
        "The <datetime_section>\nIt is 9.\n</datetime_section>",
        "`<datetime_section>`\n",
        "<datetime_sections>\nx\n</datetime_sections>",
        "<datetime_section",
        '<datetime_section a="b"',
        "<other>\nx\n</other>\n",
        "</datetime_section>\n",
        "",
    ],
)
def test_what_a_person_may_have_asked_for_stays(reply: str) -> None:
    assert scrubbed(reply) == reply


def test_a_code_block_that_has_ended_protects_nothing() -> None:
    assert scrubbed(f"```\n{RULE}\n```\n{RULE}\nHi.") == f"```\n{RULE}\n```\nHi."
    assert scrubbed(f"```a`b\n{RULE}\nHi.") == "```a`b\nHi."


@given(st.text(alphabet=st.characters(exclude_characters="═")).filter(lambda text: TITLE not in text))
@example(" \n\n\r\n <b>\n</b>\n````\n")
def test_a_reply_without_an_echo_comes_out_as_it_is(reply: str) -> None:
    assert scrub(reply, ()) == (reply, 0)
    assert scrub(reply.replace("section", ""), ("a_section",))[0] == reply.replace("section", "")


# --- Streaming ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("FAULT-2")
@given(ANYTHING, st.lists(st.integers(min_value=0), max_size=8))
@example(f"{RULE}\r\n\r\r\r\n{TITLE}\n", [1, 2, 3])
def test_the_chunks_make_no_difference(reply: str, cuts: list[int]) -> None:
    whole = in_chunks(reply, [])
    assert in_chunks(reply, cuts) == whole
    assert in_chunks(reply, list(range(len(reply)))) == whole
    assert len(whole[0]) + whole[1] == len(reply)


@given(st.text(alphabet=st.characters(exclude_characters="═<N")))
def test_text_that_can_be_no_echo_is_shown_at_once(reply: str) -> None:
    scrubber = EchoScrubber(NAMES)
    for character in reply:
        assert scrubber.feed(character) == character
    assert scrubber.finish() == ""


@given(st.lists(st.sampled_from([p for p in PIECES if "<" not in p]), max_size=10).map("".join))
def test_at_most_the_current_line_and_a_title_in_front_of_it_are_held_back(reply: str) -> None:
    scrubber = EchoScrubber(NAMES)
    shown = 0
    for number, character in enumerate(reply, start=1):
        shown += len(scrubber.feed(character))
        lines = reply[:number].splitlines(keepends=True)
        allowed = len(lines[-1]) + (len(lines[-2]) if lines[-2:-1] and lines[-2].strip() == TITLE else 0)
        assert number - shown - scrubber.scrubbed <= allowed


def test_a_line_is_let_go_as_soon_as_it_can_be_no_echo() -> None:
    scrubber = EchoScrubber(NAMES)
    for text, shown in (
        ("═══", ""),
        ("═ x", "════ x"),
        ("y\n<dat", "y\n"),
        ("a", "<data"),
        ("\nNOT", "\n"),
        ("E", "NOTE"),
    ):
        assert scrubber.feed(text) == shown


@pytest.mark.parametrize(
    "reply",
    [
        "word " * 2_000_000,
        "═" * 10_000_000,
        "<datetime_section>\n" + "a line of several words, long enough\n" * 280_000,
        "<datetime_section " + "a" * 10_000_000,
        "`" * 10_000_000,
        ("═" * 9 + "\n") * 100_000,
        "<datetime_section>" * 55_000,
        "<datetime_section></datetime_section>" * 27_000,
        "<datetime_section>\n" * 50_000,
        f"{RULE}\n" + f"{' ' * 9}\n" * 100_000,
        f"{TITLE}\n" * 50_000,
    ],
    ids=lambda reply: reply[:20].strip(),
)
@pytest.mark.parametrize(("characters", "size"), [(10_000_000, 10_000_000), (500_000, 5)], ids=["whole", "in chunks"])
def test_megabytes_take_time_in_proportion(reply: str, characters: int, size: int) -> None:
    reply = reply[:characters]
    started = time.process_time()
    scrubber = EchoScrubber(NAMES)
    shown = sum(len(scrubber.feed(reply[start : start + size])) for start in range(0, len(reply), size))
    shown += len(scrubber.finish())
    assert shown + scrubber.scrubbed == len(reply)
    # Anything quadratic takes minutes or hours here.
    assert time.process_time() - started < 30
