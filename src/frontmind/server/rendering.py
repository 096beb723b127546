"""Markdown rendered without holding anybody up: what takes long beside the event loop, and each text once as long as
its HTML is kept. Knows neither turns nor who wrote the text.
"""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from hashlib import sha256
from threading import Lock
from typing import Final, TypeVar

from frontmind.server.markdown import render

T = TypeVar("T")

RENDERED_AT_ONCE: Final = 1_000
"""To render more characters than this takes several milliseconds, up to twenty for a thousand, in which everybody else
would wait.
"""

MOST_KEPT: Final = 32_000_000
"""How many bytes of HTML are kept: the shown part of some hundred long conversations."""


class KeptHtml:
    """The HTML of texts that were rendered, those that were asked for last. It may be used by several threads.

    Args:
        most: how many bytes of HTML are kept.
    """

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, str] = OrderedDict()
        self._lock = Lock()
        self._bytes = 0

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._bytes

    def find(self, text: str) -> str | None:
        """The HTML of this text; None where it is not kept."""
        key = _digest(text)
        with self._lock:
            html = self._kept.get(key)
            if html is not None:
                self._kept.move_to_end(key)
            return html

    def html_of(self, text: str) -> str:
        """The HTML of this text, rendered where it is not kept."""
        html = self.find(text)
        if html is None:
            html = render(text)
            self._keep(_digest(text), html)
        return html

    def _keep(self, key: bytes, html: str) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = html
            self._bytes += sys.getsizeof(html)
            while self._bytes > self._most:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= sys.getsizeof(oldest)


async def html_of(texts: Iterable[str], kept: KeptHtml | None = None) -> Mapping[str, str]:
    """The HTML of each of the texts.

    Args:
        kept: what was rendered before; that of the process without it.
    """
    kept = kept or _kept()
    found = {text: kept.find(text) for text in texts}
    missing = [text for text, html in found.items() if html is None]
    is_short = sum(map(len, missing)) <= RENDERED_AT_ONCE
    rendered = {
        # One by one, so that of two that ask for much at the same time both come forward.
        text: kept.html_of(text) if is_short else await beside(partial(kept.html_of, text))
        for text in missing
    }
    return {text: rendered[text] if html is None else html for text, html in found.items()}


async def beside(render_it: Callable[[], T]) -> T:
    """Render beside the event loop; whatever is rendered so, one after the other: it all wants the same processor, and
    more threads would only take it from the loop.
    """
    return await asyncio.get_running_loop().run_in_executor(_thread(), render_it)


@cache
def _kept() -> KeptHtml:
    return KeptHtml()


@cache
def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="rendering")


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
