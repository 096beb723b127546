"""The document of the API: complete enough to call everything by it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from api.asks import routes
from api.belongings import MarkedModel, fill
from api.fuzzing import UNLIMITED
from frontmind.server.api_document import DESCRIBED_TAGS
from frontmind.server.errors import CODES
from frontmind.server.guards import is_free
from server.serving import read_events, served

pytestmark = pytest.mark.requirement("WEB-19")

Operation = dict[str, Any]
NOT_DOCUMENTED = {"/", "/page/{name:path}", "/openapi.json"}
MAIN_BODIES = {
    "begin_turn": "NewTurn",
    "add_reminder": "NewReminder",
    "add_memory": "NewMemory",
    "put_document": "NewText",
    "preview_window": "PreviewAsked",
    "set_me": "NewSettings",
}


@pytest.fixture
async def document() -> dict[str, Any]:
    async with served(people=("anna",)) as server:
        reply = await server.client.get("/openapi.json", headers={"Authorization": ""})
        assert reply.status_code == 200
        found: dict[str, Any] = reply.json()
        return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, Operation]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method, path, operation


async def test_every_route_but_those_of_the_page_is_in_the_document() -> None:
    async with served() as server:
        known = {(method.lower(), path) for method, path in routes(server.app) if path not in NOT_DOCUMENTED}
        documented = {(method, path) for method, path, _ in operations(server.app.openapi())}
    assert documented == {(method, path.replace(":path", "")) for method, path in known}


async def test_every_operation_says_what_it_does_under_a_name_that_reads_well(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names) > 40
    for method, path, operation in operations(document):
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", operation["operationId"]), operation["operationId"]
        assert operation["summary"] and not operation["summary"].endswith("."), (method, path)
        assert operation["description"].endswith("."), (method, path)
        assert len(operation["tags"]) == 1 and operation["tags"][0] in DESCRIBED_TAGS


async def test_every_error_is_documented_with_its_codes(document: dict[str, Any]) -> None:
    for method, path, operation in operations(document):
        errors = {int(status): reply for status, reply in operation["responses"].items() if int(status) >= 400}
        assert errors.keys() >= {400, 401, 403, 405, 413, 415, 421, 429, 500, 503}, (method, path)
        for status, reply in errors.items():
            assert all(code in reply["description"] for code in CODES[status]), (method, path, status)
            assert list(reply["content"]) == ["application/json"]
        for status, header in ((401, "WWW-Authenticate"), (405, "Allow"), (429, "Retry-After"), (503, "Retry-After")):
            assert header in errors[status]["headers"]
        assert (422 in errors) != path.startswith("/v1/")
        assert ("{" in path) <= (404 in errors), (method, path)


async def test_keys_are_asked_for_where_people_have_accounts(document: dict[str, Any]) -> None:
    assert document["security"] == [{"bearer": []}, {"key": []}, {"page": []}]
    assert set(document["components"]["securitySchemes"]) == {"bearer", "key", "page"}
    free = {path for _, path, operation in operations(document) if operation.get("security") == []}
    assert free == {path for path in document["paths"] if is_free(path)} == {"/api/health", "/api/login"}
    async with served() as server:
        assert {} in server.app.openapi()["security"]


async def test_the_main_bodies_have_examples_that_are_taken(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    by_name = {operation["operationId"]: (method, path) for method, path, operation in operations(document)}
    async with served(people=("anna",)) as server:
        for name, schema in MAIN_BODIES.items():
            method, path = by_name[name]
            for example in schemas[schema]["examples"]:
                asked = path.replace("{conversation}", "main").replace("{name}", "house")
                reply = await server.client.request(method, asked, json=example)
                assert reply.is_success, (name, reply.text)
                if reply.status_code == 202:
                    # To its end: while the turn runs, its conversation cannot be looked at.
                    assert (await server.client.get(reply.headers["location"])).is_success
        for method, path, operation in operations(document):
            if path.startswith("/v1/") and "requestBody" in operation:
                body = operation["requestBody"]["content"]["application/json"]["example"]
                reply = await server.client.request(method, path, json=body)
                assert reply.status_code == 200, (path, reply.text)


async def test_streams_are_documented_by_their_events_and_hold_to_it(document: dict[str, Any]) -> None:
    streams = {
        operation["operationId"]: content["itemSchema"]
        for _, _, operation in operations(document)
        for reply in operation["responses"].values()
        for kind, content in reply.get("content", {}).items()
        if kind == "text/event-stream"
    }
    clients = {"create_chat_completion", "create_response", "create_message"}
    assert set(streams) == {"follow_events", "follow_turn", *clients}
    data = {
        item["properties"]["event"]["const"]: item["properties"]["data"]["contentSchema"]
        for item in streams["follow_turn"]["oneOf"]
    }
    seen: set[str] = set()
    model = MarkedModel()
    model.release()
    async with served(model, people=("anna",), limits=UNLIMITED) as server:
        ids = await fill(server, server.client, "anna", "zebraquartz", prefix="annas")
        async with server.talking() as client:
            for turn in (1, 2):
                path = f"/api/conversations/{ids.talk.replace('/', '%2F')}/turns/{turn}/events?html=true"
                async with client.stream("GET", path) as stream:
                    async for event in read_events(stream):
                        seen.add(event.name)
                        schema = {**data[event.name], "components": document["components"]}
                        jsonschema_rs.validator_for(json.loads(json.dumps(schema))).validate(event.data)
    assert seen == {"accepted", "text", "html", "tool_started", "tool_ended", "done"}
