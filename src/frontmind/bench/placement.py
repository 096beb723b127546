"""The placement bench: asks a model the same questions with the facts at every place, wording and history length.

Knows neither files nor terminals, and prints nothing: progress is told to whoever runs it, and the answers come back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from frontmind.bench.facts import Fact, FactSheet, Wording
from frontmind.bench.histories import Exchange
from frontmind.bench.judging import Verdict, judge
from frontmind.bench.placed_windows import ELEMENT_NAMES, Placement, placed_windows, placements_of
from frontmind.bench.subjects import Kind
from frontmind.errors import ModelError
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Finished, Model, Request
from frontmind.window.canonical import canonical_json, digest
from frontmind.window.window import Window

# Servers of open models take a temperature of 0. Of the others some refuse any, and no profile says which.
_GREEDY_PROVIDERS: Final = frozenset({"local", "ollama", "compatible"})


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, or why there is none.

    Attributes:
        placement: the name of the place.
        length: the history's length that was asked for, in tokens.
        reply: the model's text as it came; echoes are not taken out.
        verdict: None where the model failed.
        error: how it failed, on one line.
    """

    placement: str
    wording: Wording
    length: int
    question: str
    kind: Kind
    reply: str = ""
    verdict: Verdict | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """One combination of place, wording and length is done.

    Attributes:
        right, asked: of this combination.
        done, of: combinations.
        seconds: since the start.
    """

    placement: str
    wording: Wording
    length: int
    right: int
    asked: int
    done: int
    of: int
    seconds: float

    @property
    def seconds_left(self) -> float:
        """What the rest takes when it goes on like this."""
        return self.seconds / self.done * (self.of - self.done)


@dataclass(frozen=True, slots=True)
class PlacementRun:
    """What came out.

    Attributes:
        prompt_tokens: by history length, the size of the largest request.
        too_long: the lengths that do not fit into the model's context and were left out.
    """

    model: str
    greedy: bool
    sheet: FactSheet
    answers: tuple[Answer, ...]
    prompt_tokens: Mapping[int, int] = field(default_factory=dict)
    too_long: tuple[int, ...] = ()


async def run_placement(
    model: Model,
    sheet: FactSheet,
    histories: Mapping[int, Sequence[Exchange]],
    *,
    report: Callable[[Progress], None],
    timer: Callable[[], float],
) -> PlacementRun:
    """Ask every question at every place, in every wording, at every history length.

    The questions of one combination are asked in a row, so that a prompt cache holds all but the question.

    Args:
        histories: from the length in tokens to the history.
        timer: seconds that grow.

    Raises:
        RunError: a window could not be composed.
    """
    asking = _Asking(model, sheet)
    places = placements_of(model.profile)
    sizes, too_long = {}, []
    for length, history in histories.items():
        sizes[length] = await _largest(model, sheet, places, history)
        room = None if model.context_limit is None else model.context_limit - model.max_output_tokens
        if room is not None and sizes[length] > room:
            too_long.append(length)
    combinations = [
        (length, place, wording)
        for length in histories
        if length not in too_long
        for place in places
        for wording in Wording
    ]
    answers: list[Answer] = []
    start = timer()
    for done, (length, place, wording) in enumerate(combinations, start=1):
        windows = await placed_windows(sheet, place, wording, histories[length])
        given = [
            await asking.answer(window, fact, place, wording, length)
            for window, fact in zip(windows, sheet.facts, strict=True)
        ]
        answers += given
        right = sum(answer.verdict is not None and answer.verdict.right for answer in given)
        seconds = timer() - start
        report(Progress(place.name, wording, length, right, len(given), done, len(combinations), seconds))
    return PlacementRun(model.name, is_greedy(model.profile), sheet, tuple(answers), sizes, tuple(too_long))


def is_greedy(profile: Profile) -> bool:
    """Whether the model is asked with a temperature of 0; otherwise its provider's default holds."""
    return profile.provider in _GREEDY_PROVIDERS and profile.wire is Wire.OPENAI_CHAT


async def _largest(model: Model, sheet: FactSheet, places: Sequence[Placement], history: Sequence[Exchange]) -> int:
    counts = []
    for place in places:
        windows = await placed_windows(sheet, place, Wording.RECALLED, history)
        longest = max(windows, key=lambda window: len(window.turn[0].text))
        counts.append((await model.count_request(model.encode(longest))).tokens)
    return max(counts)


class _Asking:
    """Asks a model; a request that was answered once is not sent again."""

    def __init__(self, model: Model, sheet: FactSheet) -> None:
        self._model = model
        self._given = [fact.value for fact in sheet.facts]
        self._greedy = is_greedy(model.profile)
        self._replies: dict[str, str] = {}

    async def answer(self, window: Window, fact: Fact, place: Placement, wording: Wording, length: int) -> Answer:
        asked = Answer(place.name, wording, length, fact.subject.question, fact.subject.kind)
        try:
            reply = await self._reply(self._model.encode(window))
        except ModelError as error:
            return replace(asked, error=error.reason or str(error))
        verdict = judge(reply, fact, given=self._given, section_names=ELEMENT_NAMES)
        return replace(asked, reply=reply, verdict=verdict)

    async def _reply(self, request: Request) -> str:
        if self._greedy:
            request = {**request, "temperature": 0}
        key = digest(canonical_json(dict(request)))
        if key not in self._replies:
            async for event in self._model.stream(request):
                if isinstance(event, Finished):
                    self._replies[key] = event.message.text
        return self._replies[key]
