"""Errors in the shape that clients of each API can read. Knows no route but the paths of the two APIs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from frontmind.server.errors import Problem
from frontmind.window.canonical import JsonObject

_OPENAI_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


class ApiShape(StrEnum):
    """Whose clients are spoken to."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class RequestProblem(Problem):
    """A body or header that cannot be answered as it is.

    Attributes:
        param: where in the body; empty where that is no single place.
    """

    def __init__(self, message: str, *, code: str = "invalid_request", param: str = "", status: int = 400) -> None:
        super().__init__(status, code, message)
        self.param = param


def unsupported(what: str, *, param: str) -> RequestProblem:
    """Something that the API has and this server does not."""
    return RequestProblem(f"{what}; leave it out", code="unsupported", param=param)


def shape_of(path: str, headers: Mapping[str, str]) -> ApiShape | None:
    """In which shape errors are said under this path; None where it is no path of the two APIs.

    Args:
        headers: of the request, under lower-case names: the list of models is at the same path in both.
    """
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return ApiShape.ANTHROPIC
    if path == "/v1/models" or path.startswith("/v1/models/"):
        return ApiShape.ANTHROPIC if "anthropic-version" in headers else ApiShape.OPENAI
    return ApiShape.OPENAI if path == "/v1" or path.startswith("/v1/") else None


def openai_error(status: int, code: str, message: str, *, param: str = "") -> JsonObject:
    """The body of an error of OpenAI's APIs."""
    kind = _OPENAI_TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {"error": {"message": message, "type": kind, "param": param or None, "code": code}}


def anthropic_error(status: int, code: str, message: str) -> JsonObject:
    """The body of an error of Anthropic's API; ``code`` is beside what that API has."""
    kind = _ANTHROPIC_TYPES.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": message, "code": code}, "request_id": None}


def status_of(problem: Problem) -> int:
    """The status in these APIs, where a body that cannot be used is a 400."""
    return 400 if problem.status == 422 else problem.status


def error_body(shape: ApiShape, problem: Problem) -> JsonObject:
    """What a client of this API is told."""
    status = status_of(problem)
    if shape is ApiShape.ANTHROPIC:
        return anthropic_error(status, problem.code, problem.message)
    param = problem.param if isinstance(problem, RequestProblem) else ""
    return openai_error(status, problem.code, problem.message, param=param)
