"""A made-up conversation about a kitchen, as pictures show it: a reminder, memories and a document are of use in it.

The model is scripted, and says of the reminder what its request says: where it is missing there, it is missing here.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from caching_model import CachingModel
from frontmind.domaindocs.library import DocumentLibrary
from frontmind.providers.protocol import Request
from frontmind.values.message import Message, user
from server.serving import Served, served
from support import BERLIN, HandClock, calling, remember, texts

SUNDAY_TALK: Final = "kitchen"
MONDAY_TALK: Final = "monday"
SUNDAY: Final = datetime(2026, 11, 29, 18, 40, tzinfo=BERLIN)
MONDAY: Final = datetime(2026, 11, 30, 9, 14, tzinfo=BERLIN)
LATER: Final = datetime(2026, 11, 30, 9, 31, tzinfo=BERLIN)

DOCUMENT: Final = """# Kitchen

The kitchen of the flat in Görlitzer Straße.

## Budget

7,500 € in all.

- Cabinets: planned 4,200 €, spent 4,350 €
- Tiles and tiler: planned 1,900 €, spent 640 €
- Worktop: planned 1,400 €, nothing spent

## Dates

- 7 December: the tiler begins, two days
- 14 December: the worktop is delivered
- 19 December: all done

## Decided

- Tiles: white, 10 × 20 cm, laid upright
- Worktop: oak, oiled
"""
MEMORIES: Final = (
    "Anna Weber is your tiler.",
    "You take calls in the morning, before ten.",
    "Your parents come on 19 December; the kitchen should be done by then.",
    "You drink tea in the afternoon.",
)
REMIND: Final = (
    "The tiler can start on 7 December. Remind me tomorrow at 9:30 to call Anna Weber and confirm the tiles."
)
MORNING: Final = "Morning! What matters today? Does the kitchen budget hold?"
EDIT: Final = "The worktop will be 1,450 €: put that into the document."

_ELSEWHERE: Final = {
    "train": ("How long is the night train to Vienna?", "About eleven hours: it leaves at 20:52 and arrives at 07:48."),
    "verbs": (
        "Five irregular verbs in Portuguese that I should learn first",
        "*Ser*, *ir*, *ter*, *fazer* and *dizer*: you meet them in every second sentence.",
    ),
    "bread": ("Rye bread without a starter?", "Yes: buttermilk and a little yeast overnight come close."),
}
_DONE: Final = "I will remind you tomorrow at 9:30 to call Anna Weber. That leaves five days between tiler and worktop."
_MORNING: Final = """Good morning. One thing, and it is soon:

- **{due}: {what}.** That is within your call hours.

The budget holds, but the cabinets took the reserve:

|                 | Planned | Spent   | Left  |
|-----------------|--------:|--------:|------:|
| Cabinets        | 4,200 € | 4,350 € | −150 € |
| Tiles and tiler | 1,900 € |   640 € | 1,260 € |
| Worktop         | 1,400 € |     0 € | 1,400 € |
| **All**         | **7,500 €** | **4,990 €** | **2,510 €** |

Tiler and worktop must stay 150 € below plan, and be done before your parents come."""
_EDITED: Final = "It is in the document. So Anna Weber should stay below **1,060 €**, and it is time to call her."

Answers = Mapping[str, Sequence[str | Message]]


def answering(answers: Answers, clock: HandClock) -> CachingModel:
    """A model that knows an answer to each of these messages, one for each call that the turn takes."""

    def answer(request: Request) -> str | Message:
        messages: list[Mapping[str, Any]] = list(request["messages"])  # type: ignore[arg-type]
        steps = sum(_is_result(message) for message in messages[_newest(messages) :])
        said = answers[texts(messages[_newest(messages)])][steps]
        if not isinstance(said, str):
            return said
        found = re.search(r'<reminder id="[^"]*" due="([^"]*)"[^>]*>([^<]*)<', "\n".join(map(texts, messages)))
        due, what = found.groups() if found else ("nothing", "nothing")
        time = re.search(r"\d\d:\d\d", due)
        return said.replace("{due}", time[0] if time else due).replace("{what}", what)

    return CachingModel(answer, clock)


def _is_result(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return not isinstance(content, str) and any(block["type"] == "tool_result" for block in content)


def _newest(messages: Sequence[Mapping[str, Any]]) -> int:
    """Where the newest message of the person stands."""
    return max(index for index, each in enumerate(messages) if each["role"] == "user" and not _is_result(each))


async def say(server: Served, text: str, conversation: str) -> None:
    """Let the person say something, and wait for the reply."""
    reply = await server.hub.begin(server.person(), conversation, user(text), wait=True)
    await reply.report()


def _answers() -> Answers:
    remind = calling(("add_reminder", {"text": "call Anna Weber and confirm the tiles", "due": "2026-11-30T09:30"}))
    old, new = (f"- Worktop: planned {price}, nothing spent" for price in ("1,400 €", "1,450 €"))
    change = {"name": "kitchen", "operation": "replace_text", "old": old, "text": new}
    edit = calling(("edit_document", change))
    elsewhere = {asked: [reply] for asked, reply in _ELSEWHERE.values()}
    return {**elsewhere, REMIND: [remind, _DONE], MORNING: [_MORNING], EDIT: [edit, _EDITED]}


@asynccontextmanager
async def kitchen(*, until: int = 2) -> AsyncIterator[Served]:
    """A server with the conversations of a few days. On Sunday the reminder was asked for; on Monday, in a conversation
    of its own, it is of use, and has just become due.

    Args:
        until: how many turns the conversation of Monday has.
    """
    clock = HandClock(SUNDAY - timedelta(days=3))
    async with served(answering(_answers(), clock), clock=clock) as server:
        for name, (asked, _) in _ELSEWHERE.items():
            await say(server, asked, name)
            clock.advance(hours=21)
        clock.moment = SUNDAY - timedelta(hours=1)
        for memory in MEMORIES:
            await remember(server.store, memory, clock.now())
        await DocumentLibrary(server.store, clock).add("kitchen", DOCUMENT)
        clock.moment = SUNDAY
        await say(server, REMIND, SUNDAY_TALK)
        clock.moment = MONDAY
        await say(server, MORNING, MONDAY_TALK)
        if until > 1:
            clock.moment = LATER
            await say(server, EDIT, MONDAY_TALK)
        yield server
