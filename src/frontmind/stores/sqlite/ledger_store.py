"""`SqliteLedger`: one owner's ledger in a SQLite database. Only says which work runs in which transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from frontmind.stores.sqlite import ledger as stored
from frontmind.stores.sqlite.codec import StoredText
from frontmind.stores.sqlite.connection import Database
from frontmind.values.calls import Call, CallEnd, NewCall


class SqliteLedger:
    """The `LedgerStore` of one owner."""

    _database: Database
    _owner: StoredText

    async def begin_call(self, call: NewCall) -> int:
        """Note a call that is about to be sent; gives back its id."""
        return await self._database.write(lambda db: stored.begin_call(db, self._owner, call))

    async def finish_call(self, call_id: int, end: CallEnd) -> None:
        """Note how a call ended, unless that is noted already."""
        await self._database.write(lambda db: stored.finish_call(db, self._owner, call_id, end))

    async def calls(
        self,
        *,
        conversation: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        newest: int | None = None,
    ) -> Sequence[Call]:
        """The calls of these, in the order in which they were sent."""
        return await self._database.read(lambda db: stored.calls(db, self._owner, conversation, since, until, newest))
