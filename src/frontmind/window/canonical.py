"""One spelling for JSON: the same value gives the same bytes in any process.

Keys are sorted, there is no white space between tokens, and a lone surrogate (which UTF-8 cannot carry) is
written as its JSON escape, so that every Python string survives. Two surrogates that make a pair are the
character that they stand for: JSON cannot tell them apart.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = "dict[str, Json]"

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def canonical_json(value: Json) -> bytes:
    """The value as UTF-8 JSON with sorted keys.

    Raises:
        ValueError: the value has a NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    text = _SURROGATE_PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
    # In a JSON string the replacement that Python writes for a lone surrogate is that surrogate's JSON escape.
    return text.encode("utf-8", errors="backslashreplace")


def canonical_text(value: Json) -> str:
    """As `canonical_json`, as a text."""
    return canonical_json(value).decode()


def parse_json(text: str, *, object_of: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """The value of a JSON text, if it is one that `canonical_json` can write again.

    Args:
        object_of: what makes an object of its members, of which two may have one name; None for a dict, in which the
            last one counts.

    Raises:
        ValueError: the text is not JSON, has a NaN, an infinity or a number too large, or is nested too deeply.
    """
    try:
        return json.loads(text, parse_constant=_refuse_number, parse_float=_finite, object_pairs_hook=object_of)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number that JSON has")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text} is too large")
    return number


def digest(data: bytes) -> str:
    """The SHA-256 of the bytes, in hex."""
    return hashlib.sha256(data).hexdigest()
