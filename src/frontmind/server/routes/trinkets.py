"""What the trinkets say at this moment: the sections of the window that is sent next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter

from frontmind.assistant.window_builder import BuiltWindow
from frontmind.server.dependencies import Asking, PathName, TheHub
from frontmind.server.errors import problems
from frontmind.server.routes.windows import refuse_while_running
from frontmind.server.schemas.trinkets import TrinketList, TrinketState
from frontmind.values.records import TurnState
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, Section, SectionFailure
from frontmind.values.tokens import estimate_tokens

router = APIRouter(prefix="/api/conversations/{conversation}", tags=["windows"])

_SAID: Final = (TurnState.OPEN, TurnState.DONE)
_NOTHING_SAID: Final = "Hello"
"""Stands for a message where nothing was said yet: what bears on it is nothing."""


@router.get(
    "/trinkets",
    response_model=TrinketList,
    summary="What the trinkets say now",
    responses=problems(404, 409, 502),
)
async def list_trinkets(hub: TheHub, person: Asking, conversation: PathName) -> TrinketList:
    """The sections of the next window, composed at this moment for what was said last, and those that have nothing to
    say.
    """
    refuse_while_running(hub, person, conversation)
    async with hub.session(person, conversation) as session:
        turns, _ = await session.mind.builder.read()
        said = next((turn.user.text for turn in reversed(turns) if turn.state in _SAID), "")
        built = await session.mind.builder.preview(said if said.strip() else _NOTHING_SAID, reader=session.model)
        return TrinketList(trinkets=_states(built, session.mind.memory.trinkets))


def _states(built: BuiltWindow, registered: Mapping[str, str]) -> list[TrinketState]:
    failures = {failure.section: failure for failure in built.failures}
    sections = built.window.sections
    states = [_state(section, built, registered.get(section.name, ""), failures) for section in sections]
    composed = {section.name for section in sections}
    return states + [
        TrinketState(
            section=name,
            trinket=trinket,
            placement=PLACEMENT_NOTIFICATION,
            content="",
            tokens=0,
            cache_policy=False,
            author=Author.OTHERS.value,
            observed_at=None,
            failure=None if name not in failures else failures[name].reason,
            empty=True,
        )
        for name, trinket in registered.items()
        if name not in composed
    ]


def _state(section: Section, built: BuiltWindow, trinket: str, failures: Mapping[str, SectionFailure]) -> TrinketState:
    failure = failures.get(section.name)
    tells_when = section.content.startswith(f'<{section.name} observed="')
    return TrinketState(
        section=section.name,
        trinket=trinket,
        placement=PLACEMENT_SYSTEM if section.placement == PLACEMENT_SYSTEM else PLACEMENT_NOTIFICATION,
        content=section.content,
        tokens=estimate_tokens(section.content),
        cache_policy=section.cache_policy,
        author=section.author.value,
        observed_at=built.context.now if tells_when else None,
        failure=None if failure is None else failure.reason,
        empty=False,
    )
