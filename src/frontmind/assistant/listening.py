"""Listening to one reply: its text is scrubbed and passed on as it comes. Stores nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from dataclasses import dataclass, field, replace

from frontmind.assistant.scrub import EchoScrubber
from frontmind.errors import ModelError
from frontmind.providers.protocol import Finished, Model, Request, Retrying, TextDelta
from frontmind.values.message import Message
from frontmind.values.parts import Part, Text
from frontmind.window.blocks import message_text


@dataclass(slots=True)
class Heard:
    """What has come of one reply so far.

    Attributes:
        pieces: its text, without echoes of the notification center.
        first_at: when the first of it came, in the seconds of the timer.
        scrubbed: how many characters of echoes were taken out.
        retries: how often the model was asked again before it said anything.
    """

    pieces: list[str] = field(default_factory=list)
    first_at: float | None = None
    scrubbed: int = 0
    retries: int = 0

    @property
    def text(self) -> str:
        return "".join(self.pieces)


async def listen(
    model: Model,
    request: Request,
    heard: Heard,
    *,
    sections: Iterable[str],
    timer: Callable[[], float],
    on_text: Callable[[str], None],
    on_retry: Callable[[Retrying], None],
) -> Finished:
    """Ask the model, and return its whole reply.

    Args:
        heard: is filled as the reply comes, so that what was said is known also when it breaks off.
        sections: the names of the sections that it may echo.
        timer: seconds from an arbitrary start.

    Raises:
        ModelError: in all the ways of `Model.stream`; also when the reply is empty.
    """
    scrubber = EchoScrubber(sections)

    def say(text: str) -> None:
        if text:
            heard.first_at = timer() if heard.first_at is None else heard.first_at
            heard.pieces.append(text)
            on_text(text)

    finished: Finished | None = None
    stream = model.stream(request)
    try:
        async for event in stream:
            if isinstance(event, TextDelta):
                say(scrubber.feed(event.text))
            elif isinstance(event, Retrying):
                heard.retries += 1
                on_retry(event)
            else:
                finished = event
    finally:
        # Ends the call at the provider now, and not when the garbage collector comes by.
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
        say(scrubber.finish())
        heard.scrubbed = scrubber.scrubbed
    if finished is None:
        raise ModelError(f"{model.name} broke off in the middle; try again", model=model.name)
    # What the person saw is kept: all of it, or what is left without the echo.
    message = _saying(finished.message, heard.text) if heard.scrubbed else finished.message
    if not message_text(message).strip():
        what = "only repeated the notification center" if heard.scrubbed else "gave an empty reply"
        raise ModelError(f"{model.name} {what}; send the message again", model=model.name)
    return replace(finished, message=message)


def _saying(message: Message, text: str) -> Message:
    """The message with this text in the place of its own."""
    parts: list[Part] = []
    for part in message.parts:
        if not isinstance(part, Text):
            parts.append(part)
        elif text.strip():
            parts.append(Text(text))
            text = ""
    return Message(message.role, tuple(parts))
