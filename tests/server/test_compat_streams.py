"""Streams of the compatible APIs when nothing comes for long, and when nobody reads them. Without a network."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message

from frontmind.server.compat.chat_replies import ChatReply
from frontmind.server.compat.messages_replies import MessagesReply
from frontmind.server.compat.requests import Api
from frontmind.server.compat.streaming import ReplyForm, streamed_reply
from frontmind.server.compat.talks import Talk
from frontmind.server.errors import Problem
from frontmind.server.identity import THE_ONLY_ONE
from frontmind.server.limits import Places
from frontmind.server.replies import Reply, ReplyFailed
from frontmind.server.streams import event_bytes
from server.compat_bench import clients
from support import START


class Hand:
    """A turn that says and ends what the test wants."""

    def __init__(self) -> None:
        self.reply = Reply(THE_ONLY_ONE, "main")
        self.talk = Talk(self.reply, Api.CHAT, "ab" * 12, START)
        self.was_heard = False

    def end(self, problem: Problem | None = None) -> None:
        # What was stopped behind a word is a reply.
        self.reply.end(ReplyFailed(problem or Problem(409, "stopped", "unused")))

    def heard(self) -> None:
        self.was_heard = True


@pytest.mark.parametrize(
    ("form", "ping"),
    [
        (ChatReply("ab" * 12, 0, "frontmind"), b": ping\n\n"),
        (MessagesReply("ab" * 12, "frontmind"), b'event: ping\ndata: {"type":"ping"}\n\n'),
    ],
)
async def test_a_stream_says_that_it_stands_while_nothing_comes(form: ReplyForm, ping: bytes) -> None:
    hand = Hand()
    response = await streamed_reply(
        hand.talk, form, {}, heard=hand.heard, stops=False, ping_seconds=0.001, patience=0.001
    )
    frames = response.chunks
    assert await anext(frames) == b"".join(form.begin())
    for _ in range(3):
        assert await anext(frames) == ping
    hand.reply.add_text("Late.")
    while (frame := await anext(frames)) == ping:
        continue
    assert isinstance(frame, bytes) and b"Late." in frame
    hand.end()
    assert [frame async for frame in frames if frame != ping]
    assert hand.was_heard


async def test_a_turn_that_fails_before_any_text_is_no_stream() -> None:
    hand = Hand()
    hand.end(Problem(503, "model_unavailable", "no key"))
    with pytest.raises(Problem, match="no key"):
        await streamed_reply(hand.talk, ChatReply("a", 0, "m"), {}, heard=hand.heard, stops=False)
    assert not hand.was_heard


async def test_a_client_that_reads_nothing_does_not_hold_the_turn() -> None:
    long = " ".join(f"word{number}" for number in range(20_000))
    async with clients(lambda _: long) as c:
        stream = await c.openai.chat.completions.create(
            model="frontmind", messages=[{"role": "user", "content": "Hello"}], stream=True
        )
        reply = c.served.hub.reply(c.served.person(), await c.only(), 1)
        assert reply is not None
        await reply.report()
        (turn,) = await c.line(await c.only())
        assert turn.reply is not None and turn.reply.text == long
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        assert text == long


async def test_what_comes_faster_than_it_is_read_is_told_at_once() -> None:
    hand = Hand()
    form = ChatReply("a", 0, "m")
    response = await streamed_reply(hand.talk, form, {}, heard=hand.heard, stops=False, patience=0.001)
    frames = response.chunks
    await anext(frames)
    for word in ("One ", "two ", "three."):
        hand.reply.add_text(word)
    assert await anext(frames) == form.text("One two three.")[0]
    hand.end()
    assert [frame async for frame in frames]


def test_an_event_has_one_line_of_data_whatever_it_says() -> None:
    for text in ("a\nb", "a\r\nb", "\u2028", "\ud800", "data: x\n\n"):
        lines = event_bytes("e", {"text": text}).split(b"\n")
        assert lines[0] == b"event: e"
        assert len(lines) == 4 and lines[2:] == [b"", b""]


async def test_a_client_of_a_compatible_api_that_takes_nothing_is_let_go() -> None:
    hand = Hand()
    response = await streamed_reply(hand.talk, ChatReply("a", 0, "m"), {}, heard=hand.heard, stops=True, patience=0.001)
    response.write_seconds = 0.01
    stuck = asyncio.Event()

    async def receive() -> Message:
        await stuck.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await stuck.wait()

    scope = {"type": "http", "state": {"person": THE_ONLY_ONE, "streams": Places(1, "event streams")}}
    async with asyncio.timeout(10):
        await response(scope, receive, send)
    assert not hand.was_heard
