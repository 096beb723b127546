"""What became of each named part of a call's prompt: how many of its tokens were read, written and fresh.

A provider counts whole prompts. Where in the prompt a part stands says what became of it: what is read is the
beginning, what is written follows it, and the rest was fresh. The sums are the provider's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from frontmind.cachelab.prefixes import Prompt
from frontmind.values.calls import CallPart
from frontmind.values.usage import Usage
from frontmind.window.difference import open_turn
from frontmind.window.layout import CENTER, TOOL_CALL, TOOL_RESULT, Area, Block, Layout

TOOLS: Final = "tools"
SYSTEM: Final = "system"
HISTORY: Final = "history"
USER_MESSAGE: Final = "user message"
TOOL_STEPS: Final = "tool steps"
PROMPT: Final = "prompt"


@dataclass(frozen=True, slots=True)
class Share:
    """What became of a stretch of a prompt: tokens. Where a server counts tokens as read and written both, the two lie
    over each other.
    """

    read: int
    written: int
    fresh: int


def call_parts(prompt: Prompt, usage: Usage, trinkets: Mapping[str, str]) -> tuple[CallPart, ...]:
    """The parts of a prompt in the order in which the model reads them.

    Args:
        prompt: the request with its sizes; they need not add up to the usage.
        usage: as the provider counted.
        trinkets: the name of each section and the class of the trinket that writes it.
    """
    shares = block_shares(prompt, usage)
    if shares is None:
        whole = _share(usage, 0, usage.input)
        return (CallPart(PROMPT, trinkets.get(PROMPT, ""), whole.read, whole.written, whole.fresh),)
    blocks, opened = prompt.layout.blocks, turn_start(prompt.layout)
    sums: dict[str, list[int]] = {}
    for index in _read_order(prompt):
        name = _name(blocks[index], in_turn=blocks[index].cleared or index >= opened)
        figures = sums.setdefault(name, [0, 0, 0])
        for place, tokens in enumerate((shares[index].read, shares[index].written, shares[index].fresh)):
            figures[place] += tokens
    return tuple(CallPart(name, trinkets.get(name, ""), *figures) for name, figures in sums.items())


def block_shares(prompt: Prompt, usage: Usage) -> tuple[Share, ...] | None:
    """What became of each block of a prompt's layout; the sums are those of the usage. A block that the model does not
    see has nothing. None where no block has a size.

    Args:
        prompt: the request with its sizes; they need not add up to the usage.
        usage: as the provider counted, or will.
    """
    order, tokens = _read_order(prompt), prompt.request.tokens
    total = sum(tokens[index] for index in order)
    if not total:
        return None
    shares = [Share(0, 0, 0)] * len(tokens)
    done = 0
    for index in order:
        start, done = usage.input * done // total, done + tokens[index]
        shares[index] = _share(usage, start, usage.input * done // total)
    return tuple(shares)


def turn_start(layout: Layout) -> int:
    """The index of the first block of the part of the conversation that no reply has closed."""
    first = next((index for index, block in enumerate(layout.blocks) if block.area is Area.MESSAGES), None)
    return len(layout.blocks) if first is None else first + open_turn(layout.conversation).start


def _share(usage: Usage, start: int, end: int) -> Share:
    """What became of the tokens between two places of a prompt."""
    # Where a server counts tokens as read and written both, the two lie over each other.
    written_from = usage.cached if usage.cached + usage.written <= usage.input else 0
    spans = ((0, usage.cached), (written_from, written_from + usage.written), (usage.input - usage.fresh, usage.input))
    return Share(*(max(0, min(end, last) - max(start, first)) for first, last in spans))


def _read_order(prompt: Prompt) -> list[int]:
    """The blocks that the model sees; what can be part of no prefix stands behind the rest, as it does for a cache."""
    blocks = prompt.layout.blocks
    last = max((block.message for block in blocks), default=-1)
    return [*prompt.seen, *(index for index, block in enumerate(blocks) if block.cleared and block.message == last)]


def _name(block: Block, *, in_turn: bool) -> str:
    if block.area is Area.TOOLS:
        return TOOLS
    if block.area is Area.SYSTEM:
        return block.name or SYSTEM
    if not in_turn:
        return HISTORY
    if block.in_center or block.cleared:
        return block.name or CENTER
    in_loop = block.kind in (TOOL_CALL, TOOL_RESULT) or block.role != "user"
    return TOOL_STEPS if in_loop else USER_MESSAGE
