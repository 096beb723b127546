"""Turns as the API gives them out, and messages as it takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Annotated, Final, Literal
from urllib.parse import quote

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from frontmind.assistant.cache_watch import is_large
from frontmind.assistant.calls import tool_calls
from frontmind.assistant.waiting import waits_for
from frontmind.server.schemas.sent import Sent
from frontmind.server.schemas.texts import Shown
from frontmind.server.schemas.times import LARGEST_NUMBER
from frontmind.server.schemas.usage import Usage, dollars, usage_figures
from frontmind.values.calls import Call, Purpose
from frontmind.values.message import Message
from frontmind.values.parts import Document, Image, ToolCall, ToolResult
from frontmind.values.records import Step, TurnState
from frontmind.values.records import Turn as StoredTurn
from frontmind.values.usage import add_usages

MOST_ATTACHMENTS: Final = 20


class Attachment(BaseModel):
    """A picture or file of a message.

    Attributes:
        url: where its bytes are: a path of this server, or empty for one that is only known by its address elsewhere.
    """

    kind: Literal["image", "document"]
    media_type: Shown
    name: Shown
    url: str


class Said(BaseModel):
    """A message.

    Attributes:
        text: as it was written.
        html: the same as harmless HTML.
    """

    text: Shown
    html: str
    attachments: list[Attachment]


class ToolUse(BaseModel):
    """A call of a tool, and its result.

    Attributes:
        arguments: as the model wrote them; usually a JSON object.
        result: null while it runs, and where nobody knows it.
    """

    id: Shown
    name: Shown
    arguments: Shown
    result: Shown | None
    is_error: bool


class TurnStep(BaseModel):
    """What the model said before its tools ran."""

    text: Shown
    html: str
    calls: list[ToolUse]


class TurnCache(BaseModel):
    """What the cache did in a turn.

    Attributes:
        missed: whether so much was processed again that the person should know.
        reason: why.
    """

    missed: bool
    reason: Shown


class Turn(BaseModel):
    """One exchange.

    Attributes:
        state: "open" while it has no reply.
        interrupted: whether the reply was cut off after it had begun.
        waits_for: calls that the program that asked has to answer itself.
        usage: of all its calls of the model together.
        cost: in US dollars; null where no price is known.
        running: whether it runs on this server now.
    """

    number: int
    segment: int
    state: Literal["open", "done"]
    asked_at: AwareDatetime
    answered_at: AwareDatetime | None
    user: Said
    reply: Said | None
    steps: list[TurnStep]
    model: Shown | None
    interrupted: bool
    waits_for: list[ToolUse]
    usage: Usage | None
    cost: str | None
    cache: TurnCache | None
    running: bool


class TurnList(BaseModel):
    """Turns by number. Those that were replaced or refused are not among them."""

    turns: list[Turn]


class SentAttachment(Sent):
    """A picture or file that is sent along.

    Attributes:
        media_type: what it is; what its bytes say counts.
        data: its bytes in base64.
    """

    media_type: Annotated[str, Field(max_length=200)] = ""
    data: str
    name: Annotated[str, Field(max_length=200)] = ""


class NewTurn(Sent):
    """A message to the assistant.

    Attributes:
        replaces: the number of the turn in whose place the conversation goes on.
        wait: whether to wait for a turn that runs in the conversation.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Good morning", "wait": False}]})

    text: Annotated[str, Field(max_length=2_000_000)]
    attachments: Annotated[list[SentAttachment], Field(max_length=MOST_ATTACHMENTS, default_factory=list)]
    replaces: Annotated[int, Field(ge=1, le=LARGEST_NUMBER)] | None = None
    wait: bool = False


class TurnBegun(BaseModel):
    """A turn that was accepted: its message is on disk."""

    conversation: Shown
    turn: int


def shown_texts(turn: StoredTurn) -> list[str]:
    """What is said in the turn and shown as HTML."""
    said = [turn.user, *(step.said for step in turn.steps), *(() if turn.reply is None else (turn.reply,))]
    return [message.text for message in said]


def turn_view(turn: StoredTurn, calls: Sequence[Call], zone: tzinfo, *, html: Mapping[str, str], running: bool) -> Turn:
    """The turn as the API gives it out.

    Args:
        calls: those of the ledger that were made for it.
        zone: that of its moments.
        html: the HTML of each of its `shown_texts`.
    """
    base = f"/api/conversations/{quote(turn.conversation, safe='', errors='replace')}/turns/{turn.number}/attachments/"
    files = attachments_of(turn)
    own = [call.end for call in calls if call.new.purpose is Purpose.TURN and call.end is not None]
    usage = add_usages([end.usage for end in own]) if own else turn.usage
    costs = [end.cost for end in own if end.cost is not None]
    missed = next((end.verdict for end in own if is_large(end.verdict, end.usage.input)), None)
    return Turn(
        number=turn.number,
        segment=turn.segment,
        state="done" if turn.state is TurnState.DONE else "open",
        asked_at=turn.asked_at.astimezone(zone),
        answered_at=None if turn.answered_at is None else turn.answered_at.astimezone(zone),
        user=_said(turn.user, html, base, files),
        reply=None if turn.reply is None else _said(turn.reply, html, base, files),
        steps=[_step(step, html) for step in turn.steps],
        model=turn.model,
        interrupted=turn.interrupted,
        waits_for=[tool_use(call) for call in waits_for(turn)],
        usage=usage_figures(usage),
        cost=dollars(sum(costs[1:], costs[0])) if own and len(costs) == len(own) else None,
        cache=None if not own else TurnCache(missed=missed is not None, reason="" if missed is None else missed.reason),
        running=running,
    )


def tool_use(call: ToolCall, result: ToolResult | None = None) -> ToolUse:
    """The call as the API gives it out, with its result where there is one."""
    return ToolUse(
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        result=None if result is None else result.text,
        is_error=result is not None and result.is_error,
    )


def attachments_of(turn: StoredTurn) -> list[Image | Document]:
    """The pictures and files of a turn's message and reply, in the order in which the API numbers them, from 0."""
    messages = [turn.user] if turn.reply is None else [turn.user, turn.reply]
    return [part for message in messages for part in message.parts if isinstance(part, Image | Document)]


def _said(message: Message, html: Mapping[str, str], base: str, files: Sequence[Image | Document]) -> Said:
    own = [part for part in message.parts if isinstance(part, Image | Document)]
    places = [next(index for index, file in enumerate(files) if file is part) for part in own]
    return Said(
        text=message.text,
        html=html[message.text],
        attachments=[
            Attachment(
                kind="image" if isinstance(part, Image) else "document",
                media_type=part.media_type,
                name=part.name if isinstance(part, Document) else "",
                url=f"{base}{place}" if part.data else "",
            )
            for place, part in zip(places, own, strict=True)
        ],
    )


def _step(step: Step, html: Mapping[str, str]) -> TurnStep:
    results = [] if step.results is None else [part for part in step.results.parts if isinstance(part, ToolResult)]
    by_call = {result.call_id: result for result in results}
    return TurnStep(
        text=step.said.text,
        html=html[step.said.text],
        calls=[tool_use(call, by_call.get(call.id)) for call in tool_calls(step.said)],
    )
