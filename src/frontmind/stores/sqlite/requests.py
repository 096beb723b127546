"""Requests as they were sent, stored once: addressed by the hash of their content, sharing what they have in common.

The messages are a chain: each link is known by the hash of its message and of the link before it, so two
requests that begin with the same messages end on links of the same chain. The rest of a request is its
envelope. Knows nothing of what a provider's request means beyond its list "messages".
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from frontmind.errors import UsageError
from frontmind.stores.sqlite.codec import StoredText, decoding, from_json, to_json, to_text
from frontmind.stores.sqlite.failures import Damaged
from frontmind.window.canonical import Json, canonical_json, digest

_WHAT: Final = "the stored request"


@dataclass(frozen=True, slots=True)
class _Blob:
    hash: str
    data: StoredText


@dataclass(frozen=True, slots=True)
class _Link:
    hash: str
    blob: _Blob


def save(connection: sqlite3.Connection, request: Mapping[str, Json]) -> str:
    """Keep the request and return its hash."""
    request_hash = digest(canonical_json(request))
    if _id_of(connection, "requests", request_hash) is None:
        envelope, messages = _split(request)
        envelope_id = _save_blob(connection, _blob(envelope))
        last_id = _save_chain(connection, _chain(messages))
        connection.execute(
            "INSERT INTO requests (hash, envelope, last_message) VALUES (?, ?, ?)",
            (request_hash, envelope_id, last_id),
        )
    return request_hash


def load(connection: sqlite3.Connection, request_hash: str) -> Mapping[str, Json]:
    """The request of this hash.

    Raises:
        UsageError: there is none.
        Damaged: what is stored has another hash.
    """
    row = connection.execute(
        """
        SELECT requests.last_message, request_blobs.data
        FROM requests JOIN request_blobs ON request_blobs.id = requests.envelope
        WHERE requests.hash = ?
        """,
        (to_text(request_hash),),
    ).fetchone()
    if row is None:
        raise UsageError(f"no stored request has the hash {request_hash!r}; pass one that a turn names")
    with decoding(_WHAT):
        request = _rebuilt(connection, row)
        if digest(canonical_json(request)) == request_hash:
            return request
    raise Damaged(_WHAT)


def _rebuilt(connection: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Json]:
    request: dict[str, Json] = dict(from_json(row["data"]))
    if row["last_message"] is not None:
        request["messages"] = _load_chain(connection, row["last_message"])
    return request


def _split(request: Mapping[str, Json]) -> tuple[Mapping[str, Json], list[Json]]:
    # An empty list stays in the envelope: as a chain it could not be told from a request without the key.
    match request.get("messages"):
        case [_, *_] as messages:
            return {key: value for key, value in request.items() if key != "messages"}, list(messages)
    return request, []


def _blob(value: Json) -> _Blob:
    data = to_json(value)
    return _Blob(digest(data if isinstance(data, bytes) else data.encode("utf-8")), data)


def _chain(messages: list[Json]) -> list[_Link]:
    links: list[_Link] = []
    before = ""
    for message in messages:
        blob = _blob(message)
        before = digest(f"{before}/{blob.hash}".encode())
        links.append(_Link(before, blob))
    return links


def _save_chain(connection: sqlite3.Connection, links: list[_Link]) -> int | None:
    # A link is never stored without those before it, so the search for known ones goes back from the end.
    last_id: int | None = None
    known = len(links)
    while known and (last_id := _id_of(connection, "request_messages", links[known - 1].hash)) is None:
        known -= 1
    for link in links[known:]:
        blob_id = _save_blob(connection, link.blob)
        last_id = connection.execute(
            "INSERT INTO request_messages (hash, parent, blob) VALUES (?, ?, ?)", (link.hash, last_id, blob_id)
        ).lastrowid
    return last_id


def _save_blob(connection: sqlite3.Connection, blob: _Blob) -> int:
    connection.execute(
        "INSERT INTO request_blobs (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING", (blob.hash, blob.data)
    )
    blob_id: int = connection.execute("SELECT id FROM request_blobs WHERE hash = ?", (blob.hash,)).fetchone()[0]
    return blob_id


def _id_of(connection: sqlite3.Connection, table: str, content_hash: str) -> int | None:
    row = connection.execute(f"SELECT id FROM {table} WHERE hash = ?", (content_hash,)).fetchone()
    return None if row is None else int(row["id"])


def _load_chain(connection: sqlite3.Connection, last_id: int) -> list[Json]:
    rows = connection.execute(
        """
        WITH RECURSIVE chain (parent, blob, steps_back) AS (
            SELECT parent, blob, 0 FROM request_messages WHERE id = ?
            UNION ALL
            SELECT link.parent, link.blob, chain.steps_back + 1
            FROM chain JOIN request_messages AS link ON link.id = chain.parent
        )
        SELECT request_blobs.data
        FROM chain JOIN request_blobs ON request_blobs.id = chain.blob
        ORDER BY chain.steps_back DESC
        """,
        (last_id,),
    )
    return [from_json(row["data"]) for row in rows]
