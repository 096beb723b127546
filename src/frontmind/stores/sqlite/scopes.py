"""Scopes: whose passages of which kind. Pure."""

from __future__ import annotations

import hashlib
from typing import Final

from frontmind.stores.sqlite.codec import StoredText
from frontmind.values.passages import PassageKind

_KIND_DIGITS: Final = {PassageKind.EXCHANGE: "1", PassageKind.MEMORY: "2", PassageKind.DOCUMENT: "3"}
_KINDS: Final = {digit: kind for kind, digit in _KIND_DIGITS.items()}


def scope(owner: StoredText, kind: PassageKind) -> str:
    """A word of digits: the full-text index takes it whole, and so nothing of another owner can be ranked."""
    name = owner if isinstance(owner, bytes) else owner.encode()
    number = int.from_bytes(hashlib.sha256(name).digest()[:16])
    return f"{_KIND_DIGITS[kind]}{number:039}"


def kind_of(scope: str) -> PassageKind:
    """The kind that the scope is of."""
    return _KINDS[scope[0]]
