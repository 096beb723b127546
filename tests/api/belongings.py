"""Somebody who has one of everything that the API gives out, all of it marked with a word."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from frontmind.providers.profiles.resolve import resolve_profile
from frontmind.providers.protocol import Request, StreamEvent
from frontmind.providers.scripted import ScriptedModel
from frontmind.server.identity import Person
from frontmind.values.message import Message, Role
from frontmind.values.parts import Text, ToolCall
from frontmind.window.canonical import canonical_text
from server.serving import Served

PNG: Final = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
SHARED_FACT: Final = "You prefer tea to coffee."
"""A memory that anybody may have."""

_HOLD: Final = "hold on"
_TOOL: Final = {"name": "lookup", "description": "Look up.", "input_schema": {"type": "object", "properties": {}}}
OPENAI_TOOL: Final = {"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}
ANTHROPIC_TOOL: Final = _TOOL


class MarkedModel(ScriptedModel):
    """Repeats the marks of the message that it is asked, calls the tools that it names, and holds on where it is told
    to, until `release`.
    """

    def __init__(self) -> None:
        super().__init__(_answer, profile=resolve_profile("anthropic", "claude-sonnet-4-5"))
        self._released = asyncio.Event()

    def release(self) -> None:
        """Let those that hold on end."""
        self._released.set()

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        async for event in super().stream(request):
            yield event
            if _HOLD in _last(request):
                await self._released.wait()


def _last(request: Request) -> str:
    messages: Any = request["messages"]
    return canonical_text(messages[-1])


def _answer(request: Request) -> str | Message:
    last = _last(request)
    tool = re.search(r"use the tool (\w+)", last)
    if tool is not None and '"tool_result"' not in last:
        return Message(Role.ASSISTANT, (Text("I look."), ToolCall("c1", tool[1], "{}")))
    return f"I heard {' '.join(dict.fromkeys(re.findall(r'zebra[a-z]+', last))) or 'you'}."


@dataclass(frozen=True, slots=True)
class Ids:
    """By what a person's things are asked for.

    Attributes:
        mark: the word in all of their texts.
        talk: a conversation with a picture, a reply, a step with a tool.
        held: a conversation in which a turn runs.
        turn: the first turn of each.
        chat: what was said in a conversation of a client's, whose name is a generated one.
        response: the id of a response.
        call, use: the ids of calls that wait for their client, of the one API and of the other.
    """

    mark: str
    talk: str
    held: str
    turn: int
    document: str
    reminder: int
    memory: int
    chat: str
    response: str
    call: str
    use: str
    cursor: str

    def elsewhere(self) -> Ids:
        """Ids of the same form that nobody has."""
        return Ids(
            mark="y" * len(self.mark),
            talk="t" * len(self.talk),
            held="h" * len(self.held),
            turn=self.turn,
            document="d" * len(self.document),
            reminder=9,
            memory=9,
            chat="c" * len(self.chat),
            response=_other(self.response),
            call=_other(self.call),
            use=_other(self.use),
            cursor=self.cursor,
        )

    def named(self) -> list[str]:
        """What a request may name, the longest first."""
        names = (self.talk, self.held, self.document, self.chat, self.mark, self.response, self.call, self.use)
        return sorted(names, key=len, reverse=True)


def _other(identifier: str) -> str:
    prefix, _, rest = identifier.partition("_")
    return f"{prefix}_{rest.translate(str.maketrans('0123456789abcdef', '123456789abcdef0'))}"


async def fill(server: Served, client: httpx2.AsyncClient, owner: str, mark: str, *, prefix: str) -> Ids:
    """Give this person one of everything.

    Args:
        client: with the person's key.
        mark: begins with "zebra" and has only small letters.
        prefix: of the names of conversations and documents.
    """
    talk, held, document = f"{prefix} talk/1", f"{prefix} held", f"{prefix} document"
    await client.put("/api/me", json={"timezone": "", "instructions": f"Mind {mark}."})
    picture = {"data": base64.b64encode(PNG).decode(), "name": f"{mark}.png"}
    await say(server, client, owner, talk, f"Look at {mark}", attachments=[picture])
    await say(server, client, owner, talk, f"{mark}: use the tool list_reminders")
    await client.post(f"/api/conversations/{held}/turns", json={"text": f"{mark}, {_HOLD}"})
    kept = await client.put(f"/api/documents/{document}", json={"text": f"# About {mark}\n\n{mark}", "expected": 0})
    assert kept.status_code == 200, kept.text
    await client.put(f"/api/documents/{document}", json={"text": f"# About {mark}\n\n{mark} again", "expected": 1})
    reminder = await client.post("/api/reminders", json={"phrase": f"call {mark} tomorrow at 9am"})
    await client.post("/api/memories", json={"text": SHARED_FACT})
    memory = await client.post("/api/memories", json={"text": f"You like {mark} very much."})
    cursor = (await client.get("/api/conversations?limit=1")).json()["next"]
    begun = {"model": "frontmind", "messages": [{"role": "user", "content": f"Chat of {mark}"}]}
    chat = await client.post("/v1/chat/completions", json=begun)
    assert chat.status_code == 200, chat.text
    waits = {"model": "frontmind", "messages": [{"role": "user", "content": f"{mark}: use the tool lookup"}]}
    called = await client.post("/v1/chat/completions", json=waits | {"tools": [OPENAI_TOOL]})
    used = await client.post("/v1/messages", json=waits | {"max_tokens": 99, "tools": [ANTHROPIC_TOOL]})
    response = await client.post("/v1/responses", json={"model": "frontmind", "input": f"Respond to {mark}"})
    return Ids(
        mark=mark,
        talk=talk,
        held=held,
        turn=1,
        document=document,
        reminder=reminder.json()["id"],
        memory=memory.json()["id"],
        chat=chat.headers["frontmind-conversation"],
        response=response.json()["id"],
        call=called.json()["choices"][0]["message"]["tool_calls"][0]["id"],
        use=next(block["id"] for block in used.json()["content"] if block["type"] == "tool_use"),
        cursor=cursor,
    )


async def say(
    server: Served, client: httpx2.AsyncClient, owner: str, conversation: str, text: str, **more: object
) -> None:
    """Say something and wait for its end."""
    path = conversation.replace("/", "%2F")
    begun = await client.post(f"/api/conversations/{path}/turns", json={"text": text, **more})
    assert begun.status_code == 202, begun.text
    reply = server.hub.reply(Person(owner), conversation, begun.json()["turn"])
    assert reply is not None
    await reply.finished()


async def belongings(server: Served, owner: str) -> dict[str, object]:
    """All that is stored for a person."""
    store = server.store.of(owner)
    names = [each.name for each in await store.conversations(newest=1_000)]
    return {
        "conversations": [
            (name, await store.turns(name), await store.segments(name), await store.window_opening(name))
            for name in names
        ],
        "threads": [(name, await store.thread_turns(name)) for name in names],
        "calls": await store.calls(),
        "reminders": (await store.reminders(), await store.deliveries()),
        "memories": await store.memories(),
        "documents": [(each, await store.document_versions(each.name)) for each in await store.documents()],
        "settings": await store.settings(),
        "passages": await store.newest_passage(),
        "keys": await server.store.accounts_of_database().keys(owner),
    }
