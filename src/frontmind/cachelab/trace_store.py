"""A conversation of one's own database as a recording: its requests as they were sent, and what they took."""

from __future__ import annotations

from collections.abc import Sequence

from frontmind.cachelab.stored import SessionStore, stored_session
from frontmind.cachelab.traces import Assumption, Moments, RecordedCall, Recording, Stretch
from frontmind.continuum.exports.value import Problem
from frontmind.continuum.history import settled
from frontmind.errors import UsageError
from frontmind.providers.estimate import calibrate
from frontmind.providers.names import parse_model_name
from frontmind.providers.reading import read_request
from frontmind.values.records import Turn, TurnState
from frontmind.values.usage import Usage
from frontmind.window.layout import Layout


async def stored_recording(store: SessionStore, conversation: str) -> tuple[Recording, list[Problem]]:
    """The answered turns of a conversation, and what of it cannot be replayed.

    Raises:
        UsageError: a request or a text that a turn names is not in the store.
        StoreError: the database cannot be read.
    """
    session = await stored_session(store, conversation)
    answered = [
        turn
        for turn in map(settled, await store.turns(conversation))
        if turn.state is TurnState.DONE and turn.reply is not None
    ]
    problems: list[Problem] = []
    calls: list[RecordedCall] = []
    counted: set[tuple[int, int]] = set()
    clock = Moments(session.turns[0].at) if session.turns else None
    for index, (turn, made) in enumerate(zip(answered, session.turns, strict=True)):
        moments = [made.at, *(step.at for step in made.steps)]
        for step, (request, model, usage) in enumerate(_asked(turn)):
            place = f"turn {turn.number}" if not turn.steps else f"turn {turn.number}, call {step + 1}"
            if not request or not model or usage is None:
                # An imported turn was asked of nobody that we know.
                continue
            assert clock is not None
            at, _ = clock.next(moments[min(step, len(moments) - 1)])
            name = parse_model_name(model)
            try:
                layout: Layout | None = read_request(await store.load_request(request))
            except UsageError as error:
                layout = None
                problems.append(Problem(place, f"its request cannot be read: {error}"))
            known = None if usage.estimated else usage
            calls.append(RecordedCall(place, name.provider.value, name.model, at, known, layout))
            counted.add((index, step))
    factor = calibrate(_sizes(calls)).factor
    stretch = Stretch(session, (), frozenset(counted))
    guessed = sum(call.usage is None for call in calls)
    assumptions = (Assumption("no figures of the provider: sized by estimate", guessed),) if guessed else ()
    return Recording(conversation, tuple(calls), (stretch,) if counted else (), factor, assumptions), problems


def _asked(turn: Turn) -> list[tuple[str | None, str | None, Usage | None]]:
    """Request, model and usage of each call of the turn."""
    done = [(step.request, step.model, step.usage) for step in turn.steps if step.results is not None]
    return [*done, (turn.request, turn.model, turn.usage)]


def _sizes(calls: Sequence[RecordedCall]) -> list[tuple[int, int]]:
    return [
        (sum(block.tokens for block in call.layout.blocks), call.counted.input)
        for call in calls
        if call.layout is not None and call.counted is not None
    ]
