"""Keys that open accounts: made here, shown once, and kept as a digest. Knows no store and no HTTP."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Final

from frontmind.window.canonical import digest

KEY_PREFIX: Final = "fm_"
"""What every key begins with, so that one that was left somewhere can be found and told from others."""

_BYTES: Final = 32
# 24 of 256 random bits: enough to tell keys apart by, and no help to whoever guesses the rest.
_HINT_LENGTH: Final = len(KEY_PREFIX) + 4


def new_key(entropy: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """A key that nobody can guess: the prefix, and 43 url-safe characters for 256 random bits.

    Args:
        entropy: gives so many random bytes.
    """
    return KEY_PREFIX + urlsafe_b64encode(entropy(_BYTES)).decode("ascii").rstrip("=")


def digest_of(key: str) -> str:
    """What is stored of a key: SHA-256 of its UTF-8, in hex. Takes any text: what a stranger sends as a key, too."""
    return digest(key.encode("utf-8", errors="surrogatepass"))


def hint_of(key: str) -> str:
    """The first characters of a key, by which a person tells it from others."""
    return key[:_HINT_LENGTH]
