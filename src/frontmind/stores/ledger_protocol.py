"""The Protocol of the ledger: the calls of a conversation, with what was expected of the cache and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from frontmind.values.calls import Call, CallEnd, NewCall


class LedgerStore(Protocol):
    """Keeps the calls of models."""

    async def begin_call(self, call: NewCall) -> int:
        """Note a call that is about to be sent.

        Returns:
            Its id.
        """
        ...

    async def finish_call(self, call_id: int, end: CallEnd) -> None:
        """Note how a call ended. A second end of the same call changes nothing.

        Raises:
            UsageError: there is no such call, or an amount of money is no finite number.
        """
        ...

    async def calls(
        self,
        *,
        conversation: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        newest: int | None = None,
    ) -> Sequence[Call]:
        """Calls in the order in which they were sent.

        Args:
            conversation: those of this one only; None for all.
            since, until: when they were sent, the first moment included and the last not.
            newest: at most so many, the newest ones.
        """
        ...
