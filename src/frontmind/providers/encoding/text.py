"""What every wire format needs of its texts."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

from frontmind.errors import UsageError
from frontmind.window.canonical import digest, parse_json

_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


def wire_text(text: str) -> str:
    """The text as UTF-8 can carry it: two surrogates become their character, a lone one U+FFFD. Idempotent."""
    return _SURROGATES.sub(lambda found: found[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace"), text)


def wire_json(value: Any) -> Any:
    """The JSON value with `wire_text` done to every text in it, keys included.

    Raises:
        UsageError: it is nested so deeply that it cannot be written.
    """
    try:
        # As one text, since a walk over what others have nested could be deeper than the stack.
        return json.loads(wire_text(json.dumps(value, ensure_ascii=False)))
    except RecursionError as error:
        raise UsageError(
            "a tool's schema, or what a tool was called with, is nested too deeply to be sent; leave it out"
        ) from error


@lru_cache(maxsize=512)
def wire_schema(parameters: str) -> dict[str, Any]:
    """The schema of a tool's arguments as it goes over the wire; the same object for the same text, so nobody changes
    it: the tools are in every request of every conversation.

    Args:
        parameters: the schema as a JSON text.

    Raises:
        UsageError: it is nested so deeply that it cannot be written.
    """
    schema: dict[str, Any] = wire_json(parse_json(parameters))
    return schema


def wire_call_id(asked: str, allowed: re.Pattern[str]) -> str:
    """The id of a call; one that the format would refuse is replaced by its digest, always the same way.

    Args:
        allowed: what the format takes as a whole id; a digest of letters, digits and underscores is among it.
    """
    return asked if allowed.fullmatch(asked) else f"call_{digest(asked.encode('utf-8', 'surrogatepass'))[:32]}"
