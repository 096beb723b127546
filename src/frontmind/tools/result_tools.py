"""The tool that reads on in a result which was too long to be sent whole."""

from __future__ import annotations

from typing import Protocol

from frontmind.errors import ToolError, UsageError
from frontmind.tools.function import tool
from frontmind.tools.tool import RunnableTool

_PIECE = 12_000


class TextSource(Protocol):
    async def load_text(self, text_id: str) -> str: ...


def result_tools(source: TextSource) -> list[RunnableTool]:
    """``read_result`` over the texts that a `ToolRunner` saved there."""

    @tool
    async def read_result(result: str, offset: int = 0) -> str:
        """Read on in a tool result that was too long to be shown whole.

        Args:
            result: The id that the shortened result names.
            offset: How many characters to skip.
        """
        try:
            text = await source.load_text(result)
        except UsageError as error:
            raise ToolError(f"there is no result {result!r}; pass the id that the shortened result names") from error
        if not 0 <= offset < len(text):
            raise ToolError(f"the offset must be from 0 to {len(text) - 1}; the result has {len(text)} characters")
        end = min(offset + _PIECE, len(text))
        rest = f"\n[{len(text) - end:,} more characters from offset={end}]" if end < len(text) else ""
        return text[offset:end] + rest

    return [read_result]
