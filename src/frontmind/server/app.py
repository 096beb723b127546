"""The application: guards, routes and what becomes of errors, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from frontmind.errors import FrontmindError
from frontmind.server.answers import SECURITY_HEADERS, problem_reply
from frontmind.server.api_document import Api
from frontmind.server.bodies import Bodies
from frontmind.server.compat.talks import Talks
from frontmind.server.errors import Problem
from frontmind.server.guards import Gate, Guards, SecurityHeaders
from frontmind.server.hub import Hub
from frontmind.server.interpreter import tuned_for_many
from frontmind.server.page_files import read_page
from frontmind.server.reply_stream import Pace
from frontmind.server.routers import ROUTERS


def build_app(hub: Hub, guards: Guards, *, pace: Pace | None = None) -> FastAPI:
    """The application over these assistants. Its lifespan runs what goes on in the hub beside the turns, and ends it.

    Args:
        guards: who and what is let in.
        pace: how often event streams say something.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with tuned_for_many():
            async with hub.running_server():
                yield

    app = Api(
        has_accounts=lambda: guards.access.has_accounts,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.hub = hub
    app.state.talks = Talks(hub)
    app.state.access = guards.access
    app.state.pace = pace or Pace()
    app.state.page = read_page()
    for router in ROUTERS:
        app.include_router(router)
    # The last one added is asked first.
    app.add_middleware(Bodies, limits=guards.limits)
    app.add_middleware(Gate, guards=guards)
    app.add_middleware(SecurityHeaders)
    _say_errors(app)
    return app


def _say_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    @app.exception_handler(FrontmindError)
    async def say_error(request: Request, error: Problem | FrontmindError) -> Response:
        return problem_reply(request.scope, error)

    @app.exception_handler(RequestValidationError)
    async def say_invalid(request: Request, error: RequestValidationError) -> Response:
        return problem_reply(request.scope, _invalid(error))

    @app.exception_handler(HTTPException)
    async def say_http(request: Request, error: HTTPException) -> Response:
        return problem_reply(request.scope, _of_http(error, request.scope["path"]))

    @app.exception_handler(500)
    async def say_unforeseen(request: Request, error: Exception) -> Response:
        # The reply is made outside of the guards; what went wrong goes to the log, with its trace.
        problem = Problem(500, "internal", "something failed that nobody foresaw; whoever runs the server has the log")
        reply = problem_reply(request.scope, problem)
        reply.headers.update(SECURITY_HEADERS)
        return reply


def _invalid(error: RequestValidationError) -> Problem:
    """What is wrong with a request, by the place of it; what was sent is not repeated."""
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return Problem(400, "invalid_json", "the body is not JSON; correct it")
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    more = len(error.errors()) - 1
    others = f" ({more} more)" if more else ""
    message = " ".join(str(first["msg"]).split())
    return Problem(422, "invalid_request", f"{place or 'the body'}: {message}{others}")


def _of_http(error: HTTPException, path: str) -> Problem:
    match error.status_code:
        case 404:
            return Problem(404, "not_found", "there is no such path")
        case 405:
            allowed = ", ".join(_methods(path))
            return Problem(405, "method_not_allowed", f"the path takes {allowed}", headers={"Allow": allowed})
        case 400:
            return Problem(400, "invalid_json", "the body is not JSON; correct it")
        case status:
            return Problem(status, "invalid_request", " ".join(str(error.detail).split()), headers=error.headers)


def _methods(path: str) -> list[str]:
    """What can be done at this path, whichever routes do it."""
    routes = (route for router in ROUTERS for route in router.routes)
    fitting = [route for route in routes if isinstance(route, Route) and route.path_regex.match(path)]
    return sorted({method for route in fitting for method in route.methods or ()}) or ["GET", "HEAD"]
