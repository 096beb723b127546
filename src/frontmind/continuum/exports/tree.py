"""The one branch of a tree of messages that the person saw last. Pure; knows no format.

A tree is given as each node's parent, in the order of the file. Trees from files may have gaps and circles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Branch:
    """The nodes from a root to a leaf, and what is wrong with the way there; empty where nothing is."""

    nodes: tuple[str, ...]
    fault: str = ""


def branch_to(leaf: str, parents: Mapping[str, str | None]) -> Branch:
    """The nodes from the root to this one. The branch begins behind a gap or a circle, and says so."""
    nodes = [leaf]
    passed = {leaf}
    while (parent := parents[nodes[-1]]) is not None:
        if parent in passed:
            return Branch(tuple(reversed(nodes)), "its messages are each other's parents; the circle was cut")
        if parent not in parents:
            return Branch(tuple(reversed(nodes)), f"the parent {parent!r} is not there; what stood before it is lost")
        nodes.append(parent)
        passed.add(parent)
    return Branch(tuple(reversed(nodes)))


def newest_leaf(parents: Mapping[str, str | None], moments: Mapping[str, datetime]) -> str | None:
    """The leaf of the branch with the newest message; of equals, and without moments, the last in the file."""
    if not parents:
        return None
    order = {node: number for number, node in enumerate(parents)}
    children: dict[str, str] = {}
    for node, parent in parents.items():
        if parent is not None:
            # The last child: what hangs below the newest message without a moment of its own.
            children[parent] = node
    leaf = max(parents, key=lambda node: (moments.get(node, _BEFORE_ALL), order[node]))
    passed = {leaf}
    while (child := children.get(leaf)) is not None and child not in passed:
        passed.add(child)
        leaf = child
    return leaf
