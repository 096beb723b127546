"""The headers by which a client says more than its API has words for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from frontmind.server.compat.asked import Asked
from frontmind.server.compat.errors import RequestProblem

CONVERSATION: Final = "Frontmind-Conversation"
"""Names the conversation, percent-encoded; in the reply as well."""
TASK: Final = "Frontmind-Task"
"""Says that this is work of the client's own, such as a title, and belongs to no conversation."""
ON_DISCONNECT: Final = "Frontmind-On-Disconnect"
"""``stop``: the turn stops when the client goes away in the middle of a stream."""
_LONGEST_NAME: Final = 100
# Open WebUI asks for titles, tags and the like with prompts that begin so and hold the chat between such marks.
_TASK_BEGINS: Final = "### Task:"
_TASK_HOLDS: Final = "<chat_history>"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the headers of a request say.

    Attributes:
        named: the conversation; empty for none.
        is_task: whether the client says that it is work of its own.
        stops: whether the turn stops when the client goes away.
        again: whether the client sends the same again, because it heard nothing of the first time.
        idempotency: the client's own mark of the request; empty for none.
    """

    named: str
    is_task: bool
    stops: bool
    again: bool
    idempotency: str


def read_headers(headers: Mapping[str, str]) -> Wishes:
    """What the headers say.

    Raises:
        RequestProblem: one says what cannot be.
    """
    on_disconnect = _value(headers, ON_DISCONNECT)
    if on_disconnect not in ("", "stop", "continue"):
        raise RequestProblem(f"{ON_DISCONNECT} can be stop or continue")
    idempotency = _value(headers, "Idempotency-Key")
    return Wishes(
        named=conversation_name(unquote(_value(headers, CONVERSATION)), where=CONVERSATION),
        is_task=bool(_value(headers, TASK)),
        stops=on_disconnect == "stop",
        # The official SDKs count their attempts in this header.
        again=bool(idempotency) or _value(headers, "X-Stainless-Retry-Count") not in ("", "0"),
        idempotency=idempotency,
    )


def conversation_name(name: str, *, where: str) -> str:
    """A name that a conversation can have, or no name.

    Args:
        where: what names it, for the error.

    Raises:
        RequestProblem: no conversation can have it.
    """
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise RequestProblem(f"{where} is no name; use 1 to {_LONGEST_NAME} characters without control characters")
    return name


def reply_headers(conversation: str) -> dict[str, str]:
    """The headers of a reply."""
    return {CONVERSATION: quote(conversation, safe="")}


def looks_like_task(asked: Asked) -> bool:
    """Whether a request is one of the prompts with which Open WebUI works beside the chat."""
    said = asked.last.said.lstrip()
    return not asked.exchanges and said.startswith(_TASK_BEGINS) and _TASK_HOLDS in said


def _value(headers: Mapping[str, str], name: str) -> str:
    """The header; empty where it is not there, or a place that the client's template left unfilled."""
    value = headers.get(name, "").strip()
    return "" if value.startswith("{{") and value.endswith("}}") else value
