"""The page: one document and the files that it loads. Needs no key."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from frontmind.server.errors import not_found
from frontmind.server.page_files import INDEX, PageFile

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
async def index(request: Request) -> Response:
    """The page."""
    return _reply(request, INDEX)


@router.api_route("/page/{name:path}", methods=["GET", "HEAD"])
async def file(request: Request, name: str) -> Response:
    """A file of the page."""
    return _reply(request, name)


def _reply(request: Request, name: str) -> Response:
    files: Mapping[str, PageFile] = request.app.state.page
    if name not in files:
        raise not_found("such file")
    return files[name].reply(request.headers)
