"""Asks a capable model for the memories of a stretch of a conversation, and believes only what it answers in form.

What is wrong with an item drops the item, never a part of it, but for a date that is no date: a fact without its date
is still one. Nothing is stored here, and what becomes of duplicates is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from frontmind.errors import MalformedReply, ModelError, UsageError
from frontmind.providers.names import ModelName, Provider, parse_model_name
from frontmind.providers.protocol import Finished, Model, StopReason
from frontmind.recall.extraction_prompt import MOST_MEMORIES, extraction_window, pieces
from frontmind.values.clock import parse_moment
from frontmind.values.due import moment_of
from frontmind.values.harmless import one_line
from frontmind.values.memories import Memory, MemoryOrigin, NewMemory
from frontmind.values.records import Turn
from frontmind.values.usage import Usage, add_usages

NO_MODEL: Final = "none"
"""What FRONTMIND_MEMORY_MODEL says where nothing is to be extracted."""

LEAST_CONFIDENCE: Final = 0.5
"""Below it the model itself thinks it more likely wrong than right."""

LONGEST_TEXT: Final = 300
"""The most characters of an extracted memory: more is not one fact."""

_HOSTED: Final = frozenset(
    {
        Provider.ANTHROPIC,
        Provider.OPENAI,
        Provider.GEMINI,
        Provider.BEDROCK,
        Provider.DEEPSEEK,
        Provider.OPENROUTER,
    }
)
_MOST_REPLY: Final = 60_000
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")
# Memories are said to the person: these speak of the person, or as the person.
_WRONG_PERSON: Final = re.compile(
    r"(?:the )?(?:user|human)(?:'s|’s)?\b(?! (?:interface|experience|manual|guide|story|stories))|i\b|i['’]|my\b",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(
    r"\b(?:password|passphrase|passcode|pin(?: code| number)?|cvv|(?:api|secret|private|access|recovery) key|"
    r"(?:access|api|auth) token|seed phrase|(?:card|account|passport|social security) number|iban)\b"
    r"[^.]{0,20}(?:\bis\b|\bare\b|:|=)",
    re.IGNORECASE,
)


def memory_model(name: str, chat: ModelName) -> ModelName | None:
    """The model that extracts memories; None where there is none that is known to be capable.

    Args:
        name: what FRONTMIND_MEMORY_MODEL says: a model's name, which is trusted to be capable, ``none``, or nothing.
        chat: the model of the chat, which is taken where nothing is said and a provider hosts it.

    Raises:
        UsageError: the name has no known form.
    """
    if name.strip():
        return None if name.strip() == NO_MODEL else parse_model_name(name)
    return chat if chat.provider in _HOSTED else None


@dataclass(frozen=True, slots=True)
class ExtractedMemory:
    """A memory that a model extracted, and how it says that it bears on those that it was shown.

    Attributes:
        same_as, supersedes, conflicts, supports, related: ids of stored memories.
    """

    memory: NewMemory
    same_as: tuple[int, ...] = ()
    supersedes: tuple[int, ...] = ()
    conflicts: tuple[int, ...] = ()
    supports: tuple[int, ...] = ()
    related: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Extracted:
    """What came of asking.

    Attributes:
        candidates: in the order in which the model named them.
        dropped: why each item that is not among them was left out.
        dates_dropped: how many dates were left out of candidates.
        cut: whether an answer was cut off, and could not be asked for in smaller pieces.
        usage: what it took; None where nothing was asked.
    """

    candidates: tuple[ExtractedMemory, ...] = ()
    dropped: tuple[str, ...] = ()
    dates_dropped: int = 0
    cut: bool = False
    usage: Usage | None = None


class Extractor:
    """Extracts memories with a model, which stays the caller's to close."""

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The full name of the model."""
        return self._model.name

    async def extract(self, turns: Sequence[Turn], kept: Sequence[Memory], zone: tzinfo) -> Extracted:
        """The memories of these turns of one conversation.

        Args:
            kept: memories that the model is shown, so that it does not repeat them and says how new ones bear on them.
            zone: the person's; dates without an offset are meant in it.

        Raises:
            MalformedReply: an answer is in no form that can be read, or is refused.
            ModelError: the model failed in another way.
        """
        waiting = [list(piece) for piece in reversed(pieces(turns))]
        found: list[Extracted] = []
        while waiting:
            piece = waiting.pop()
            finished = await self._ask(piece, kept, zone)
            cut = finished.stop is StopReason.LENGTH
            if cut and len(piece) > 1:
                middle = len(piece) // 2
                waiting += [piece[middle:], piece[:middle]]
                found.append(Extracted(usage=finished.usage))
                continue
            found.append(self._read(finished, piece, kept, zone, cut=cut))
        usages = [each.usage for each in found if each.usage is not None]
        return Extracted(
            candidates=tuple(candidate for each in found for candidate in each.candidates),
            dropped=tuple(reason for each in found for reason in each.dropped),
            dates_dropped=sum(each.dates_dropped for each in found),
            cut=any(each.cut for each in found),
            usage=add_usages(usages) if usages else None,
        )

    async def _ask(self, piece: Sequence[Turn], kept: Sequence[Memory], zone: tzinfo) -> Finished:
        stream = self._model.stream(self._model.encode(extraction_window(piece, kept, zone)))
        try:
            async for event in stream:
                if isinstance(event, Finished):
                    return event
        finally:
            # Ends the call at the provider now, also when the extraction was cancelled in the middle.
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        raise ModelError(f"{self.name} broke off in the middle; try again", model=self.name)

    def _read(
        self, finished: Finished, piece: Sequence[Turn], kept: Sequence[Memory], zone: tzinfo, *, cut: bool
    ) -> Extracted:
        text = finished.message.text
        values = None if finished.stop is StopReason.REFUSAL else listed(text)
        if values is None and not cut:
            what = "refused to extract memories" if finished.stop is StopReason.REFUSAL else "answered with no JSON"
            raise MalformedReply(f"{self.name} {what}; name another model in FRONTMIND_MEMORY_MODEL", model=self.name)
        reader = _Reader({turn.number: turn for turn in piece}, frozenset(memory.id for memory in kept), zone)
        for value in (values or [])[:MOST_MEMORIES]:
            reader.read(value)
        beyond = ["more than were asked for"] * max(0, len(values or []) - MOST_MEMORIES)
        return Extracted(
            tuple(reader.candidates), (*reader.dropped, *beyond), reader.dates_dropped, cut, finished.usage
        )


def listed(text: str) -> list[object] | None:
    """The items in a reply: those of its list, of several lists, or objects one after the other, with or without words
    and fences around them; of a list that was cut off, those that are whole. None where there is no JSON at all.
    """
    text = text[:_MOST_REPLY]
    found: list[object] = []
    any_json = False
    for value in _json_values(text):
        any_json = True
        items = value.get("memories") if isinstance(value, dict) and "memories" in value else value
        found += items if isinstance(items, list) else [items]
    return found if any_json else None


def _json_values(text: str) -> Iterator[object]:
    """The objects, and the empty lists, that are not part of others."""
    decoder = json.JSONDecoder()
    position = 0
    while (match := re.compile(r"\{|\[\s*\]").search(text, position)) is not None:
        try:
            value, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            position = match.start() + 1
        else:
            yield value


def _as_list(value: object) -> object:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


_Ids = Annotated[list[StrictStr], BeforeValidator(_as_list)]
_Date = Annotated[StrictStr | None, Field(default=None)]


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    text: StrictStr = Field(min_length=3, max_length=LONGEST_TEXT)
    turn: StrictInt
    confidence: float = Field(ge=0, le=1, allow_inf_nan=False)
    happens_at: _Date
    valid_until: _Date
    same_as: _Ids = []
    supersedes: _Ids = []
    conflicts: _Ids = []
    supports: _Ids = []
    related: _Ids = []


class _Reader:
    """Reads the items of one answer."""

    def __init__(self, turns: dict[int, Turn], shown: frozenset[int], zone: tzinfo) -> None:
        self._turns = turns
        self._shown = shown
        self._zone = zone
        self.candidates: list[ExtractedMemory] = []
        self.dropped: list[str] = []
        self.dates_dropped = 0

    def read(self, value: object) -> None:
        """Make a candidate of an item, or note why it is none."""
        try:
            item = _Item.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            self.dropped.append(f"{place}: {first['msg']}" if place else str(first["msg"]))
            return
        if (problem := self._problem(item)) is not None:
            self.dropped.append(problem)
            return
        turn = self._turns[item.turn]
        memory = NewMemory(
            text=one_line(item.text),
            observed_at=turn.asked_at,
            origin=MemoryOrigin.EXTRACTED,
            conversation=turn.conversation,
            turn=turn.number,
            confidence=item.confidence,
            happens_at=self._date(item.happens_at),
            valid_until=self._date(item.valid_until, since=turn.asked_at),
        )
        kinds = (item.same_as, item.supersedes, item.conflicts, item.supports, item.related)
        self.candidates.append(ExtractedMemory(memory, *(self._ids(ids) for ids in kinds)))

    def _problem(self, item: _Item) -> str | None:
        if item.turn not in self._turns:
            return f"turn {item.turn} was not shown"
        if item.confidence < LEAST_CONFIDENCE:
            return "only a guess"
        if _WRONG_PERSON.match(item.text):
            return "not said to the person"
        if _SECRET.search(item.text):
            return "looks like a secret"
        return None

    def _date(self, text: str | None, *, since: datetime | None = None) -> datetime | date | None:
        if text is None or not text:
            return None
        try:
            read = self._parsed(text)
        except (UsageError, ValueError, OverflowError):
            read = None
        # What ended before it was said is a slip of the model, and would hide the memory at once. A day lasts to its
        # end.
        if read is not None and since is not None:
            first = since if isinstance(read, datetime) else since.astimezone(self._zone).date()
            over = moment_of(read, self._zone) < moment_of(first, self._zone)
            read = None if over else read
        self.dates_dropped += read is None
        return read

    def _parsed(self, text: str) -> datetime | date | None:
        if _DAY.fullmatch(text):
            return parse_moment(text, self._zone).date()
        return parse_moment(text, self._zone) if _MOMENT.fullmatch(text) else None

    def _ids(self, ids: Sequence[str]) -> tuple[int, ...]:
        """Those that were shown. Others are no ids of anything, or of what the model cannot know."""
        numbers = [int(found[1]) for each in ids if (found := re.fullmatch(r"m([1-9]\d{0,14})", each.strip()))]
        return tuple(number for number in dict.fromkeys(numbers) if number in self._shown)
