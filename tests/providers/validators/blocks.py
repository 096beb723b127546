"""What several formats' rules have in common: markers in their order, blank texts, pairs of calls and results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

Body: TypeAlias = Mapping[str, Any]

MOST_MARKERS = 4
_SECONDS = {"5m": 300, "1h": 3600}


def words(text: str) -> frozenset[str]:
    """The words of the text as a set."""
    return frozenset(text.split())


def claude_version(model: str) -> tuple[str, tuple[int, int]]:
    """The tier and the version in a Claude model's name, such as ``("opus", (4, 8))``; empty where it has none."""
    found = re.search(r"claude-(opus|sonnet|haiku|fable|mythos)-(\d+)(?:[-.](\d{1,2})(?!\d))?", model)
    return (found[1], (int(found[2]), int(found[3] or 0))) if found else ("", (0, 0))


def gpt_version(model: str) -> tuple[int, int]:
    """The version in the name of a GPT model; zeros where it has none."""
    found = re.search(r"gpt-(\d+)(?:\.(\d+))?", model)
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def refuses_prefill(model: str) -> bool:
    """Whether a Claude model answers 400 to a request that ends with an assistant message."""
    tier, version = claude_version(model)
    return bool(tier) and version >= (4, 6)


def blank(text: object) -> bool:
    """Whether it is no text, or a text without a visible character."""
    return not isinstance(text, str) or not text.strip()


def unknown_keys(body: Body, known: Iterable[str], where: str) -> list[str]:
    """A problem for each key that the format does not have."""
    return [f"{where}{key}: extra inputs are not permitted" for key in sorted(set(body) - set(known))]


def ttl_problems(ttls: Sequence[str], known: Sequence[str] = ("5m", "1h")) -> list[str]:
    """What is wrong with the markers' lifetimes, given in the order in which the cache reads them."""
    problems = [f"a marker's ttl is {ttl!r}" for ttl in ttls if ttl not in known]
    if len(ttls) > MOST_MARKERS:
        problems.append(f"{len(ttls)} markers; at most {MOST_MARKERS}")
    seconds = [_SECONDS.get(ttl, 0) for ttl in ttls]
    if any(later > earlier for earlier, later in pairwise(seconds)):
        problems.append("a marker with a longer ttl stands behind one with a shorter")
    return problems


def pair_problems(calls: Sequence[str], results: Sequence[str], where: str) -> list[str]:
    """What is wrong with the results of a message, given the ids of the calls in the message before it."""
    strangers = [result for result in results if result not in calls]
    problems = [f"{where}: the result {result!r} has no call in the message before" for result in strangers]
    problems += [f"{where}: the call {call!r} has no result" for call in calls if call not in results]
    if len(set(results)) < len(results):
        problems.append(f"{where}: two results for one call")
    return problems


def find_keys(value: Any, keys: frozenset[str]) -> list[str]:
    """Each of the keys, as often as it stands anywhere in a JSON value."""
    found: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            found += [key] if key in keys else []
            found += find_keys(item, keys)
    elif isinstance(value, list | tuple):
        for item in value:
            found += find_keys(item, keys)
    return found
