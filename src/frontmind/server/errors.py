"""What can go wrong with a call of the API, each with a code that a program can go by. Knows no route."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from frontmind.errors import (
    Conflict,
    FrontmindError,
    ModelError,
    ModelUnavailable,
    RateLimited,
    RequestRefused,
    StoreError,
    UsageError,
)
from frontmind.values.harmless import one_line

CODES: Final[Mapping[int, tuple[str, ...]]] = {
    400: ("invalid_json",),
    401: ("unauthorized", "key_expired", "key_revoked"),
    403: ("forbidden_origin",),
    404: ("not_found",),
    405: ("method_not_allowed",),
    409: ("conflict", "conversation_busy", "stopped"),
    413: ("too_large",),
    415: ("unsupported_media_type",),
    421: ("forbidden_host",),
    422: ("invalid_request",),
    429: ("rate_limited", "too_many_requests_at_once"),
    500: ("internal",),
    502: ("model_failed",),
    503: ("model_unavailable", "shutting_down", "store_failed"),
}
"""The documented codes, by the status of the reply."""


class ErrorBody(BaseModel):
    """What went wrong.

    Attributes:
        code: one of the documented codes.
        message: one line that says what to do.
        type: the kind of error, as clients of other APIs know it.
    """

    code: Annotated[str, Field(json_schema_extra={"enum": sorted(code for codes in CODES.values() for code in codes)})]
    message: str
    type: str


class ErrorReply(BaseModel):
    """The body of every reply with a status from 400 on."""

    error: ErrorBody


_LONGEST: Final = 500


class Problem(Exception):
    """A call that cannot be answered as it was asked.

    Attributes:
        status: the HTTP status.
        code: one of the documented codes.
        message: one line that says what to do.
        headers: further headers of the reply, such as Retry-After.
    """

    def __init__(self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        # It may repeat what a client sent, which may be anything of any length.
        self.message = one_line(message, _LONGEST)
        self.headers = dict(headers or {})

    @property
    def body(self) -> ErrorReply:
        """The body of the reply."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return ErrorReply(error=ErrorBody(code=self.code, message=self.message, type=kind))


def not_found(what: str) -> Problem:
    """There is no such thing, or it belongs to somebody else: the two are not told apart."""
    return Problem(404, "not_found", f"there is no {what}")


@asynccontextmanager
async def existing(exists: Callable[[], Awaitable[bool]], what: str) -> AsyncIterator[None]:
    """Work with something that must be there, before and after an error: another call may delete it meanwhile.

    Raises:
        Problem: it is not there.
    """
    if not await exists():
        raise not_found(what)
    try:
        yield
    except UsageError:
        if not await exists():
            raise not_found(what) from None
        raise


def problem_of(error: FrontmindError) -> Problem:
    """What an error of the assistant is to a client."""
    match error:
        case Conflict():
            return Problem(409, "conflict", str(error))
        case UsageError():
            return Problem(422, "invalid_request", str(error))
        case StoreError():
            # The error names a file of this machine.
            return Problem(503, "store_failed", "the database cannot be used at present; try again")
        case RateLimited():
            after = {} if error.retry_after is None else {"Retry-After": str(round(error.retry_after))}
            return Problem(429, "rate_limited", str(error), headers=after)
        case ModelUnavailable():
            return Problem(503, "model_unavailable", str(error))
        case RequestRefused() | ModelError():
            return Problem(502, "model_failed", str(error))
        case _:
            return Problem(500, "internal", str(error))


_COMMON: Final = (400, 401, 403, 405, 413, 415, 421, 422, 429, 500, 503)
"""What every route may say, whatever it is about."""

_HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    401: {"WWW-Authenticate": "How a key is passed."},
    405: {"Allow": "The methods that the path takes."},
    429: {"Retry-After": "After how many seconds to try again."},
    503: {"Retry-After": "After how many seconds to try again, where that is known."},
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documented error replies of a route: those of every route and these."""
    return {status: {"model": ErrorReply, **described(status)} for status in sorted({*_COMMON, *statuses})}


def described(status: int) -> dict[str, Any]:
    """What the document says of an error with this status, whatever the shape of its body."""
    headers = {
        name: {"description": text, "schema": {"type": "string"}} for name, text in _HEADERS.get(status, {}).items()
    }
    description = f"{HTTPStatus(status).phrase}: {', '.join(CODES[status])}."
    return {"description": description} | ({"headers": headers} if headers else {})
