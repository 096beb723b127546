"""What became of each named part of a call's prompt: how many of its tokens were read, written and fresh.

A provider counts whole prompts. Where in the prompt a part stands says what became of it: what is read is the
beginning, what is written follows it, and the rest was fresh. The sums are the provider's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from frontmind.cachelab.prefixes import Prompt
from frontmind.values.calls import CallPart
from frontmind.values.usage import Usage
from frontmind.window.difference import open_turn
from frontmind.window.layout import CENTER, TOOL_CALL, TOOL_RESULT, Area, Block

TOOLS: Final = "tools"
SYSTEM: Final = "system"
HISTORY: Final = "history"
USER_MESSAGE: Final = "user message"
TOOL_STEPS: Final = "tool steps"
PROMPT: Final = "prompt"


def call_parts(prompt: Prompt, usage: Usage, trinkets: Mapping[str, str]) -> tuple[CallPart, ...]:
    """The parts of a prompt in the order in which the model reads them.

    Args:
        prompt: the request with its sizes; they need not add up to the usage.
        usage: as the provider counted.
        trinkets: the name of each section and the class of the trinket that writes it.
    """
    stretches = list(_stretches(prompt))
    total = sum(tokens for _, tokens in stretches)
    if not total:
        stretches, total = [(PROMPT, 1)], 1
    # Where a server counts tokens as read and written both, the two lie over each other.
    apart = usage.cached + usage.written <= usage.input
    written_from = usage.cached if apart else 0
    spans = ((0, usage.cached), (written_from, written_from + usage.written), (usage.input - usage.fresh, usage.input))
    sums: dict[str, list[int]] = {}
    done = 0
    for name, tokens in stretches:
        start, done = usage.input * done // total, done + tokens
        end = usage.input * done // total
        figures = sums.setdefault(name, [0, 0, 0])
        for index, (first, last) in enumerate(spans):
            figures[index] += max(0, min(end, last) - max(start, first))
    return tuple(CallPart(name, trinkets.get(name, ""), *figures) for name, figures in sums.items())


def _stretches(prompt: Prompt) -> Iterator[tuple[str, int]]:
    """Names and sizes in order; what can be part of no prefix stands behind the rest, as it does for a cache."""
    blocks, tokens = prompt.layout.blocks, prompt.request.tokens
    conversation = [index for index, block in enumerate(blocks) if block.area is Area.MESSAGES]
    opened = len(blocks)
    if conversation:
        opened = conversation[0] + open_turn([blocks[index] for index in conversation]).start
    for index in prompt.seen:
        yield _name(blocks[index], in_turn=index >= opened), tokens[index]
    last = max((block.message for block in blocks), default=-1)
    for index, block in enumerate(blocks):
        if block.cleared and block.message == last:
            yield _name(block, in_turn=True), tokens[index]


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
