"""How every route of the API is asked for somebody's things: what stands in its path, query, headers and body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Route

from api.belongings import ANTHROPIC_TOOL, OPENAI_TOOL, SHARED_FACT, Ids


@dataclass(frozen=True, slots=True)
class Ask:
    """A way to ask a route.

    Attributes:
        path: what stands for the parameters of the path.
    """

    path: dict[str, object] = field(default_factory=dict)
    query: dict[str, object] = field(default_factory=dict)
    json: dict[str, object] | None = None
    headers: dict[str, str] = field(default_factory=dict)


Asks: TypeAlias = Callable[[Ids], Sequence[Ask]]


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """Every route of the application: its method, and its path as it is declared."""
    found: list[tuple[str, str]] = []
    for item in app.routes:
        # What was included is a list of its own.
        router = getattr(item, "original_router", None)
        for route in [item] if router is None else router.routes:
            assert isinstance(route, APIRoute | Route), f"a route of a kind that is not known here: {route}"
            found += [(method, route.path) for method in sorted(route.methods or ())]
    return found


def asked_path(path: str, ask: Ask) -> str:
    """The path with its parameters filled in."""
    for name, value in ask.path.items():
        path = path.replace(f"{{{name}}}", quote(str(value), safe="")).replace(
            f"{{{name}:path}}", quote(str(value), safe="")
        )
    assert "{" not in path, f"nothing is said for a parameter of {path}"
    return path


def _plain(_: Ids) -> list[Ask]:
    return [Ask()]


def _conversation(*, json: Sequence[dict[str, object] | None] = (None,), **query: Sequence[object]) -> Asks:
    """Conversations of every kind, each with every body, and with every value of the query."""
    queries: list[dict[str, object]] = [{}] + [{name: value} for name, values in query.items() for value in values]

    def asks(ids: Ids) -> list[Ask]:
        numbers = {"turn": ids.turn, "index": 0, "block": 0}
        return [
            Ask({"conversation": name, **numbers}, each, body)
            for name in (ids.talk, ids.held, ids.chat)
            for each in queries
            for body in json
        ]

    return asks


def _second_turn(ids: Ids) -> list[Ask]:
    return [Ask({"conversation": ids.talk, "turn": 2}, {"step": step}) for step in ("last", 0, 1)]


def _against(ids: Ids) -> list[Ask]:
    return [Ask({"conversation": ids.talk, "turn": turn}, {"with": 1}) for turn in (1, 2)]


def _reminder(*bodies: dict[str, object] | None) -> Asks:
    return lambda ids: [Ask({"reminder": ids.reminder}, json=body) for body in bodies]


def _memory(*bodies: dict[str, object] | None) -> Asks:
    return lambda ids: [Ask({"memory": ids.memory}, json=body) for body in bodies]


def _document(*bodies: dict[str, object] | None) -> Asks:
    return lambda ids: [Ask({"name": ids.document}, json=body) for body in bodies]


def _queries(*queries: dict[str, object]) -> Asks:
    return lambda _: [Ask(query=query) for query in queries]


def _bodies(*bodies: dict[str, object]) -> Asks:
    return lambda _: [Ask(json=body) for body in bodies]


def _clients(body: Callable[[Ids], Sequence[dict[str, Any]]]) -> Asks:
    """The bodies as they are, and in a conversation that a header names."""

    def asks(ids: Ids) -> list[Ask]:
        named = [Ask(json=each, headers={"Frontmind-Conversation": quote(ids.talk)}) for each in body(ids)]
        return [Ask(json=each) for each in body(ids)] + named

    return asks


def _chat(ids: Ids) -> list[dict[str, Any]]:
    begun = [{"role": "user", "content": f"Chat of {ids.mark}"}]
    had = [*begun, {"role": "assistant", "content": f"I heard {ids.mark}."}, {"role": "user", "content": "And then?"}]
    call = {"id": ids.call, "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
    waits = [
        {"role": "user", "content": f"{ids.mark}: use the tool lookup"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": ids.call, "content": "taken over"},
    ]
    return [
        {"model": "frontmind", "messages": had},
        {"model": "frontmind", "messages": waits, "tools": [OPENAI_TOOL]},
        {"model": "frontmind", "messages": [{"role": "user", "content": "Hello?"}]},
    ]


def _responses(ids: Ids) -> list[dict[str, Any]]:
    result = {"type": "function_call_output", "call_id": ids.call, "output": "taken over"}
    call = {"type": "function_call", "call_id": ids.call, "name": "lookup", "arguments": "{}"}
    return [
        {"model": "frontmind", "input": "And then?", "previous_response_id": ids.response},
        {"model": "frontmind", "input": [result], "previous_response_id": ids.response},
        {"model": "frontmind", "input": [{"role": "user", "content": "Look"}, call, result]},
        {"model": "frontmind", "input": "And then?", "conversation": ids.talk},
        {"model": "frontmind", "input": "And then?", "conversation": {"id": ids.chat}},
    ]


def _messages(ids: Ids) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": ids.use, "name": "lookup", "input": {}}
    result = {"type": "tool_result", "tool_use_id": ids.use, "content": "taken over"}
    waits = [
        {"role": "user", "content": f"{ids.mark}: use the tool lookup"},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
        {"role": "user", "content": [result]},
    ]
    base = {"model": "frontmind", "max_tokens": 99}
    hello = [{"role": "user", "content": "Hello?"}]
    return [base | {"messages": waits, "tools": [ANTHROPIC_TOOL]}, base | {"messages": hello}]


def _models(_: Ids) -> list[Ask]:
    return [Ask({"model": name}) for name in ("frontmind", "scripted", "nobody")]


_IN = "/api/conversations/{conversation}"
_STEPS: Final = ("last", 0)
ASKS: Final[dict[str, Asks]] = {
    "GET /": _plain,
    "HEAD /": _plain,
    "GET /openapi.json": _plain,
    "HEAD /openapi.json": _plain,
    "GET /page/{name:path}": lambda ids: [Ask({"name": "app.js"}), Ask({"name": ids.document})],
    "HEAD /page/{name:path}": lambda ids: [Ask({"name": "app.js"}), Ask({"name": ids.document})],
    "GET /api/health": _plain,
    "GET /api/me": _plain,
    "PUT /api/me": _bodies({"timezone": "Asia/Tokyo", "instructions": "Be brief."}),
    "POST /api/login": _bodies({"key": "fm_" + "x" * 43}),
    "POST /api/logout": _plain,
    "GET /api/conversations": lambda ids: [
        Ask(),
        Ask(query={"limit": 200}),
        Ask(query={"before": ids.cursor}),
    ],
    f"GET {_IN}": _conversation(),
    f"GET {_IN}/turns": _conversation(since=[1], until=[9], newest=[50]),
    f"POST {_IN}/turns": _conversation(
        json=[
            {"text": "Hi"},
            {"text": "Hi", "replaces": 1},
            {"text": "Hi", "wait": True},
            {"text": "Hi", "replaces": 2},
        ]
    ),
    f"GET {_IN}/turns/{{turn}}": _conversation(),
    f"POST {_IN}/turns/{{turn}}/stop": _conversation(),
    f"GET {_IN}/turns/{{turn}}/events": _conversation(after=[0, 3], html=["true"]),
    f"GET {_IN}/turns/{{turn}}/attachments/{{index}}": _conversation(),
    f"GET {_IN}/windows/{{turn}}": lambda ids: [*_conversation(step=_STEPS)(ids), *_second_turn(ids)],
    f"GET {_IN}/windows/{{turn}}/blocks/{{block}}": _conversation(step=_STEPS),
    f"GET {_IN}/windows/{{turn}}/request": lambda ids: [*_conversation(step=_STEPS)(ids), *_second_turn(ids)],
    f"GET {_IN}/windows/{{turn}}/diff": lambda ids: [*_conversation(step=_STEPS)(ids), *_against(ids)],
    f"POST {_IN}/preview": _conversation(json=[{"text": "Hi"}, {"text": "Hi", "replaces": 1}]),
    f"GET {_IN}/calls": _conversation(),
    f"GET {_IN}/trinkets": _conversation(),
    "GET /api/ledger": _queries(
        {}, {"by": "day"}, {"by": "conversation"}, {"by": "trinket"}, {"by": "layout"}, {"since": "2020-01-01"}
    ),
    "GET /api/reminders": _queries({}, {"all": "true"}),
    "POST /api/reminders": _bodies({"phrase": "call somebody tomorrow at 9am"}),
    "PATCH /api/reminders/{reminder}": _reminder(
        {"text": "taken over"}, {"when": "tomorrow at 8am"}, {"text": "taken over", "version": 1}
    ),
    "POST /api/reminders/{reminder}/done": _reminder(None, {}, {"version": 1}),
    "POST /api/reminders/{reminder}/snooze": _reminder({"until": "next week"}, {"until": "next week", "version": 1}),
    "DELETE /api/reminders/{reminder}": _reminder(None),
    "GET /api/memories": lambda ids: [Ask(), Ask(query={"all": "true", "limit": 500}), Ask(query={"q": ids.mark})],
    "POST /api/memories": _bodies({"text": SHARED_FACT}, {"text": "You like somebody very much."}),
    "PATCH /api/memories/{memory}": _memory({"text": "taken over", "version": 1}, {"valid_until": None, "version": 1}),
    "POST /api/memories/{memory}/restore": _memory(None),
    "DELETE /api/memories/{memory}": _memory(None),
    "GET /api/documents": _plain,
    "GET /api/documents/{name}": _document(None),
    "PUT /api/documents/{name}": _document(
        {"text": "taken over", "expected": 1}, {"text": "taken over", "expected": 2}, {"text": "mine", "expected": 0}
    ),
    "PATCH /api/documents/{name}": _document({"enabled": False}, {"collapsed": ["Title"]}),
    "POST /api/documents/{name}/undo": _document({"expected": 1}, {"expected": 2}),
    "GET /api/documents/{name}/versions": _document(None),
    "DELETE /api/documents/{name}": _document(None),
    "GET /api/search": lambda ids: [Ask(query={"q": ids.mark, "limit": 50}), Ask(query={"q": "tea call look title"})],
    "POST /v1/chat/completions": _clients(_chat),
    "POST /v1/responses": _clients(_responses),
    "POST /v1/messages": _clients(_messages),
    "POST /v1/messages/count_tokens": _clients(_messages),
    "GET /v1/models": _plain,
    "GET /v1/models/{model:path}": _models,
}
"""How to ask each route, by its method and path."""

STREAMED: Final = frozenset({"GET /api/events"})
"""Routes whose reply has no end: they have tests of their own."""
