"""Requests that machines think of: no 5xx, and no answer that the API's document does not describe."""

from __future__ import annotations

import pytest

from api.fuzzing import fuzz, fuzzed_server

RARELY_DONE = {
    "POST /api/login",
    "POST /api/conversations/{conversation}/turns/{turn}/stop",
    "GET /api/conversations/{conversation}/turns/{turn}/attachments/{index}",
    "POST /api/documents/{name}/undo",
    "POST /api/reminders/{reminder}/snooze",
}
"""What needs a key, a turn that runs, a picture, two versions or a phrase: chance has none of them."""


@pytest.mark.requirement("WEB-19")
async def test_no_answer_is_one_that_the_document_does_not_describe() -> None:
    async with fuzzed_server() as (server, address):
        found = await fuzz(server, address, examples=10, steps=4)
    assert not found.failures, "\n\n".join(found.failures[:10])
    assert found.requests > 2_000
    operations = {f"{method.upper()} {path}" for path, item in server.app.openapi()["paths"].items() for method in item}
    assert found.statuses.keys() == operations
    done = {operation for operation, counts in found.statuses.items() if min(counts) < 300}
    assert done >= operations - RARELY_DONE
