"""The page's files, read once and kept in memory. Knows nothing of what is in them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import Response

from frontmind.window.canonical import digest

FOLDER: Final = Path(__file__).parent / "page"
INDEX: Final = "index.html"
_TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_COMPRESSED: Final = frozenset({".html", ".css", ".js", ".svg"})


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is sent.

    Attributes:
        compressed: the same with gzip; empty where that is no smaller.
    """

    media_type: str
    data: bytes
    compressed: bytes
    etag: str

    def reply(self, headers: Headers) -> Response:
        """The reply to a request with these headers: the file, or that the browser has it already."""
        said = {"Cache-Control": "no-cache", "ETag": self.etag, "Vary": "Accept-Encoding"}
        if _has(headers.get("if-none-match", ""), self.etag):
            return Response(status_code=304, headers=said)
        if self.compressed and _takes_gzip(headers.get("accept-encoding", "")):
            return Response(self.compressed, media_type=self.media_type, headers=said | {"Content-Encoding": "gzip"})
        return Response(self.data, media_type=self.media_type, headers=said)


def read_page(folder: Path = FOLDER) -> Mapping[str, PageFile]:
    """The files of the folder that a browser takes, by name. Another name is no file, whatever it looks like."""
    return {path.name: _read(path) for path in sorted(folder.iterdir()) if path.suffix in _TYPES and path.is_file()}


def _read(path: Path) -> PageFile:
    data = path.read_bytes()
    compressed = gzip.compress(data, mtime=0) if path.suffix in _COMPRESSED else b""
    # Weak, as the same file goes out with and without gzip.
    etag = f'W/"{digest(data)[:24]}"'
    return PageFile(_TYPES[path.suffix], data, compressed if len(compressed) < len(data) else b"", etag)


def _has(said: str, etag: str) -> bool:
    return said.strip() == "*" or etag.removeprefix("W/") in (
        each.strip().removeprefix("W/") for each in said.split(",")
    )


def _takes_gzip(said: str) -> bool:
    for each in said.split(","):
        name, _, parameters = each.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return parameters.replace(" ", "").lower() not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
