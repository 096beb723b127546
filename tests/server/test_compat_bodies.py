"""Whatever a client sends, it gets an answer in its API's own shape and never a failure of the server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.serving import served

JSON = {"Content-Type": "application/json"}
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens")
SPOKEN = """user assistant tool system text input_text image image_url file document message tool_use tool_result
function function_call function_call_output reasoning thinking auto none {} x resp_1"""
NAMED = """role content type text id name input tool_calls function arguments call_id url tool_call_id tool_use_id
output
image_url source data media_type file file_data parameters input_schema description strict refusal title citations
is_error"""
ODD = ("", "call_000000000000000000000000_0", "data:image/png;base64,AAAA", "\ud800")
WORDS = st.sampled_from([*SPOKEN.split(), *ODD])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 9), st.floats(allow_nan=False, allow_infinity=False), WORDS
)
KEYS = st.sampled_from(NAMED.split())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system"]), "content": VALUES},
        optional={"tool_calls": VALUES, "tool_call_id": WORDS, "type": WORDS},
    )
    | VALUES,
    max_size=4,
)
BODIES = st.fixed_dictionaries(
    {"model": st.just("frontmind") | SCALARS, "max_tokens": st.just(9) | SCALARS},
    optional={
        "messages": MESSAGES | VALUES,
        "input": MESSAGES | VALUES,
        "system": VALUES,
        "instructions": VALUES,
        "tools": VALUES,
        "tool_choice": VALUES,
        "stream": VALUES,
        "stream_options": VALUES,
        "metadata": VALUES,
        "conversation": VALUES,
        "previous_response_id": VALUES,
        "response_format": VALUES,
        "text": VALUES,
        "n": VALUES,
    },
)


async def send(bodies: list[tuple[str, dict[str, Any]]]) -> None:
    async with served() as server:
        for path, body in bodies:
            reply = await server.client.post(path, content=json.dumps(body), headers=JSON)
            assert reply.status_code in (200, 400, 404), reply.text
            if reply.status_code != 200:
                error = reply.json()["error"]
                assert error["message"] and "\n" not in error["message"]
                assert error["code"] in (
                    *("invalid_request", "unsupported", "model_not_found", "previous_response_not_found"),
                    "invalid_json",
                )


@pytest.mark.timeout(600)
@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PATHS), BODIES), min_size=1, max_size=10))
def test_no_body_makes_the_server_fail(bodies: list[tuple[str, dict[str, Any]]]) -> None:
    asyncio.run(send(bodies))
