"""Errors as replies, in the shape that the API of the path has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Scope

from frontmind.errors import FrontmindError
from frontmind.server.compat.errors import error_body, shape_of, status_of
from frontmind.server.errors import Problem, problem_of

SECURITY_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every reply says to a browser: run nothing but the page's own files, send nothing elsewhere, be in no frame."""

NO_STORE: Final = "no-store"


def problem_reply(scope: Scope, error: Problem | FrontmindError) -> JSONResponse:
    """The reply to a call that cannot be answered."""
    problem = problem_of(error) if isinstance(error, FrontmindError) else error
    shape = shape_of(scope["path"], Headers(scope=scope))
    if shape is None:
        return JSONResponse(problem.body.model_dump(), problem.status, headers=problem.headers)
    return JSONResponse(error_body(shape, problem), status_of(problem), headers=problem.headers)
