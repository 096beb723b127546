"""Makes the window of a turn so that it fits into the model's context: where it does not, old turns leave it.

Stores nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from frontmind.assistant.caller import Caller
from frontmind.assistant.running import RunningTurn
from frontmind.assistant.window_builder import BuiltWindow, WindowBuilder
from frontmind.continuum.fit import window_start_to_fit
from frontmind.errors import WindowTooLarge
from frontmind.providers.protocol import Model, Request
from frontmind.values.message import Message
from frontmind.values.records import Turn, WindowOpening


class FittingWindows:
    """Makes the windows of one conversation.

    Args:
        builder: makes a window, whatever its size.
        model: who will read it.
    """

    def __init__(self, builder: WindowBuilder, model: Model) -> None:
        self._builder = builder
        self._model = model

    async def of_turn(
        self,
        turn: Turn,
        before: Sequence[Turn],
        opening: WindowOpening,
        caller: Caller,
        steps: Sequence[tuple[Message, Message]] = (),
        room: int | None = None,
    ) -> tuple[BuiltWindow, Request]:
        """The window of a turn with its steps so far, encoded; it begins at the opening, or later.

        Args:
            room: the most tokens that it may have, where that was learned otherwise than from the model.

        Raises:
            WindowTooLarge: it does not fit, and no turn is left to leave out.
            RequiredSectionFailed: a required trinket failed.
        """
        while True:
            built = await self._builder.for_turn(
                turn, before, opening=opening, caller=caller, reader=self._model, room=room
            )
            for said, results in steps:
                built = replace(built, window=built.window.extended(said, results))
            request = self._model.encode(built.window)
            following = await self.start_that_fits(before, opening.start, request)
            if following is None:
                return built, request
            opening = await self._builder.moved(turn, before, following, reader=self._model)

    async def moved(self, running: RunningTurn, start: int, room: int | None = None) -> tuple[BuiltWindow, Request]:
        """The window of a running turn that begins at this turn, or later.

        Raises:
            WindowTooLarge, RequiredSectionFailed: as `of_turn` does.
        """
        opening = await self._builder.moved(running.turn, running.before, start, reader=self._model, room=room)
        caller = running.built.caller
        return await self.of_turn(running.turn, running.before, opening, caller, running.steps, room)

    async def start_that_fits(self, turns: Sequence[Turn], start: int, request: Request) -> int | None:
        """The first turn that may stay, or None when the request fits as it is.

        Raises:
            WindowTooLarge: it does not fit, and no turn is left to leave out.
        """
        limit = self._model.context_limit
        if limit is None:
            return None
        counted = await self._model.count_request(request)
        room = self._room(limit)
        if counted.tokens <= room:
            return None
        following = window_start_to_fit(turns, start=start, tokens=counted.tokens, room=room)
        if following is None:
            raise WindowTooLarge(
                f"this turn is too large for {self._model.name}: with it the window has {counted.tokens} tokens, "
                f"and {room} fit; shorten the message or choose a model with a larger context",
                model=self._model.name,
                tokens=counted.tokens,
                limit=limit,
            )
        return following

    async def start_behind(self, running: RunningTurn, error: WindowTooLarge) -> tuple[int, int | None]:
        """The first turn that may stay after the provider refused the window: by the sizes that it told, or half of it
        where it told none; and the room that it told of.

        Raises:
            WindowTooLarge: none is left to leave out.
        """
        told: int | None = None
        if error.tokens is not None and error.limit is not None:
            tokens = error.tokens
            told = room = self._room(error.limit)
        else:
            tokens = room = (await self._model.count_request(running.request)).tokens
        following = window_start_to_fit(running.before, start=running.built.opening.start, tokens=tokens, room=room)
        if following is None:
            raise error
        return following, told

    def _room(self, limit: int) -> int:
        return limit - min(self._model.max_output_tokens, limit // 4)
