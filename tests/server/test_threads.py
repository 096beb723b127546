"""A client's own account of a conversation is recognised: whatever it edits or asks anew, nothing is stored twice."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontmind.providers.protocol import Request
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.compat.asked import asked_of
from frontmind.server.compat.threads import thread_key, thread_keys
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Image, Text
from frontmind.values.records import TurnState
from frontmind.window.canonical import canonical_json
from server.compat_bench import messages_of
from server.serving import Served, served
from support import texts

Thread: TypeAlias = tuple[tuple[str, str], ...]
"""What a client shows of a conversation: questions and replies."""
REPLY = r"r\d+x"
LIVE = (TurnState.OPEN, TurnState.DONE)


def reply_of(number: int) -> str:
    return f"r{number}x"


@dataclass
class Client:
    """A client that sends all of a thread with every question, and knows every thread that it ever showed.

    Attributes:
        where: the conversation that each thread was answered in.
        page: what the person said on the page, by conversation.
    """

    served: Served
    sent: list[Request]
    threads: list[Thread] = field(default_factory=list)
    where: dict[Thread, str] = field(default_factory=dict)
    exchanges: set[Thread] = field(default_factory=set)
    page: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    questions: int = 0

    async def ask(self, before: Thread, question: str, **headers: str) -> tuple[Thread, str]:
        messages = [
            {"role": role, "content": text}
            for had in before
            for role, text in zip(("user", "assistant"), had, strict=True)
        ]
        body = {"model": "frontmind", "messages": [*messages, {"role": "user", "content": question}]}
        reply = await self.served.client.post("/v1/chat/completions", json=body, headers=headers)
        assert reply.status_code == 200, reply.text
        thread = (*before, (question, reply.json()["choices"][0]["message"]["content"]))
        self.threads.append(thread)
        self.exchanges |= {thread[: count + 1] for count in range(len(thread))}
        name = reply.headers["Frontmind-Conversation"]
        self.where[thread] = name
        return thread, name

    def new_question(self) -> str:
        self.questions += 1
        return f"q{self.questions}x"

    async def go_on(self, at: int) -> None:
        await self.checked(self.some(at), self.new_question())

    async def regenerate(self, at: int) -> None:
        *before, (question, _) = self.some(at) or (("q0x", ""),)
        await self.checked(tuple(before), question)

    async def edit_question(self, at: int, turn: int) -> None:
        thread = self.some(at)
        await self.checked(thread[: turn % (len(thread) + 1)], self.new_question())

    async def edit_reply(self, at: int, turn: int) -> None:
        thread = list(self.some(at))
        if thread:
            question, _ = thread[turn % len(thread)]
            thread[turn % len(thread)] = (question, f"edited {self.new_question()}")
        await self.checked(tuple(thread), self.new_question())

    async def bring_along(self, at: int) -> None:
        had = tuple((self.new_question(), f"elsewhere {self.questions}") for _ in range(1 + at % 3))
        await self.checked(had, self.new_question())

    async def from_the_page(self, at: int) -> None:
        thread = self.some(at)
        if not thread:
            return
        name, question = self.where[thread], self.new_question()
        reply = await self.served.hub.begin(self.served.person(), name, user(question))
        self.page.setdefault(name, []).append((question, (await reply.report()).reply))

    def some(self, at: int) -> Thread:
        return self.threads[at % len(self.threads)] if self.threads else ()

    async def checked(self, before: Thread, question: str) -> None:
        thread, name = await self.ask(before, question)
        turns = await self.served.store.turns(name)
        line = [(turn.user.text, turn.reply.text if turn.reply else "") for turn in turns if turn.state in LIVE]
        page = self.page.get(name, [])
        assert [said for said in line if said not in page] == list(thread)
        assert [said for said in line if said in page] == page
        # The model was sent what counts, and nothing of another branch.
        replies = [texts(message) for message in messages_of(self.sent[-1]) if message["role"] == "assistant"]
        before_now = [reply for _, reply in line[:-1] if re.fullmatch(REPLY, reply)]
        assert [reply for reply in replies if re.fullmatch(REPLY, reply)] == before_now

    async def stored(self) -> int:
        """How many turns there are, in whatever state."""
        names = {*self.where.values(), *self.page}
        return sum([len(await self.served.store.turns(name)) for name in names])


MOVES = st.one_of(
    st.tuples(st.just("go_on"), st.tuples(st.integers(0, 99))),
    st.tuples(st.just("go_on"), st.tuples(st.just(-1))),
    st.tuples(st.just("regenerate"), st.tuples(st.integers(0, 99))),
    st.tuples(st.just("edit_question"), st.tuples(st.integers(0, 99), st.integers(0, 9))),
    st.tuples(st.just("edit_reply"), st.tuples(st.integers(0, 99), st.integers(0, 9))),
    st.tuples(st.just("bring_along"), st.tuples(st.integers(0, 99))),
    st.tuples(st.just("from_the_page"), st.tuples(st.integers(0, 99))),
)


async def play(moves: Sequence[tuple[str, tuple[int, ...]]]) -> None:
    sent: list[Request] = []

    def script(request: Request) -> str:
        sent.append(request)
        return reply_of(len(sent))

    async with served(ScriptedModel(script)) as server:
        client = Client(server, sent)
        for name, arguments in moves:
            await getattr(client, name)(*arguments)
        said_on_page = sum(len(said) for said in client.page.values())
        assert await client.stored() == len(client.exchanges) + said_on_page


@pytest.mark.requirement("WEB-10")
@pytest.mark.timeout(600)
@settings(max_examples=15, deadline=None)
@given(moves=st.lists(MOVES, min_size=1, max_size=12))
def test_whatever_a_client_edits_what_counts_is_its_thread_and_nothing_is_stored_twice(
    moves: list[tuple[str, tuple[int, ...]]],
) -> None:
    asyncio.run(play(moves))


@pytest.mark.requirement("WEB-10")
async def test_a_history_from_elsewhere_is_brought_along_once() -> None:
    had = (("Who are you?", "A cloud model."), ("Fine.", "Indeed."))
    sent: list[Request] = []

    def script(request: Request) -> str:
        sent.append(request)
        return reply_of(len(sent))

    async with served(ScriptedModel(script)) as server:
        client = Client(server, sent)
        thread, name = await client.ask(had, "And now?")
        await client.ask(thread, "Still?")
        turns = await server.store.turns(name)
        assert [turn.user.text for turn in turns] == ["Who are you?", "Fine.", "And now?", "Still?"]
        assert "A cloud model." in canonical_json(sent[0]["messages"]).decode()


async def test_two_chats_that_begin_with_the_same_message_are_two_conversations() -> None:
    async with served() as server:
        client = Client(server, [])
        first, one = await client.ask((), "Hello")
        second, other = await client.ask((), "Hello")
        assert first == second
        assert one != other
        # Word for word the same so far: the two are branches of one conversation from here on, and neither is lost.
        for question in ("One?", "Two?"):
            thread, name = await client.ask(first, question)
            assert [turn.user.text for turn in await server.store.turns(name) if turn.state in LIVE] == [
                "Hello",
                question,
            ]
            assert len(thread) == 2


async def test_an_opening_of_the_assistant_does_not_join_two_chats() -> None:
    async with served() as server:
        names = []
        for question in ("One?", "Two?"):
            body: Any = {
                "model": "frontmind",
                "messages": [
                    {"role": "assistant", "content": "Welcome!"},
                    {"role": "user", "content": question},
                ],
            }
            reply = await server.client.post("/v1/chat/completions", json=body)
            names.append(reply.headers["Frontmind-Conversation"])
            body["messages"] += [{"role": "assistant", "content": "Hello."}, {"role": "user", "content": "And?"}]
            again = await server.client.post("/v1/chat/completions", json=body)
            assert again.headers["Frontmind-Conversation"] == names[-1]
            replies = [turn.reply.text for turn in await server.store.turns(names[-1]) if turn.reply is not None]
            assert replies == ["Welcome!", "Hello.", "Hello."]
        assert len(set(names)) == 2


async def test_a_named_conversation_is_what_is_stored_and_takes_only_what_is_new() -> None:
    async with served() as server:
        client = Client(server, [])
        for question in ("One", "Two"):
            _, name = await client.ask((), question, **{"Frontmind-Conversation": "plans"})
            assert name == "plans"
        await client.ask((("Nobody", "knows this"),), "Three", **{"Frontmind-Conversation": "plans"})
        turns = await server.store.turns("plans")
        assert [(turn.user.text, turn.state) for turn in turns] == [
            (question, TurnState.DONE) for question in ("One", "Two", "Three")
        ]


async def test_an_empty_named_conversation_takes_the_client_s_history_along() -> None:
    async with served() as server:
        client = Client(server, [])
        await client.ask((("Earlier", "elsewhere"),), "Now", **{"Frontmind-Conversation": "plans"})
        assert [turn.user.text for turn in await server.store.turns("plans")] == ["Earlier", "Now"]


async def test_requests_for_one_thread_at_the_same_time_leave_one_line() -> None:
    count = 0

    def script(_: Request) -> str:
        nonlocal count
        count += 1
        return reply_of(count)

    async with served(ScriptedModel(script)) as server:
        client = Client(server, [])
        first, name = await client.ask((), "Hello")
        both = await asyncio.gather(client.ask(first, "One?"), client.ask(first, "Two?"))
        thread, _ = both[0]
        await client.ask(thread, "And?")
        line = [turn.user.text for turn in await server.store.turns(name) if turn.state in LIVE]
        assert line == ["Hello", "One?", "And?"]


async def test_what_two_requests_bring_along_at_the_same_time_is_stored_once() -> None:
    count = 0

    def script(_: Request) -> str:
        nonlocal count
        count += 1
        return reply_of(count)

    async with served(ScriptedModel(script)) as server:
        client = Client(server, [])
        thread, name = await client.ask((), "Hello")
        await client.ask(thread, "Really?")
        edited = (*thread, ("Really?", "No, as somebody edited it."))
        await asyncio.gather(client.ask(edited, "One?"), client.ask(edited, "Two?"))
        stored = sorted(turn.user.text for turn in await server.store.turns(name))
        assert stored == ["Hello", "One?", "Really?", "Really?", "Two?"]


@given(st.text(), st.text(), st.text())
def test_a_key_goes_by_the_words_and_not_by_the_space_between(parent: str, said: str, replied: str) -> None:
    key = thread_key(parent, said, replied)
    assert key == thread_key(parent, f" {said}\r\n", "\n\n".join(replied.split()) + " ")
    assert key != thread_key(parent, f"{said} more", replied)
    assert key != thread_key(key, said, replied)


def test_the_same_words_beside_another_picture_are_another_thread() -> None:
    def key(picture: Image | None) -> str:
        asked = (Text("What is it?"), *((picture,) if picture else ()))
        messages = [Message(Role.USER, asked), assistant("A cat."), user("And now?")]
        return thread_keys(asked_of(messages), previous="")[-1]

    keys = [key(None), *(key(Image("image/png", data)) for data in ("AAAA", "BBBB")), key(Image("image/gif", "AAAA"))]
    assert len(set(keys)) == 4
    assert key(Image("image/png", "AAAA")) == keys[1]
