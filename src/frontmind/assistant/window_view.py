"""Makes a `WindowView`: of a request that was sent and what was counted of it, or of one that would be sent.

Pure. Which request that is, the caller knows; nothing here reads a store or asks a model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from frontmind.assistant.explanation import Background, Described, describe, left_out
from frontmind.assistant.looking_ahead import Preview
from frontmind.assistant.window_view_values import REST, REST_AREA, BlockChange, ViewBlock, WindowView
from frontmind.cachelab.counted import Counted, counted_sizes
from frontmind.cachelab.parts import Share, block_shares, turn_start
from frontmind.cachelab.prefixes import Prefixes, Prompt, prompt_of
from frontmind.cachelab.sizing import SizedRequest
from frontmind.providers.encoding.encode import count_tail
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing
from frontmind.values.calls import CacheVerdict, Call, Cause
from frontmind.values.records import Turn
from frontmind.values.section import PLACEMENT_NOTIFICATION, SectionFailure
from frontmind.values.usage import Usage
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.framing import section_digest
from frontmind.window.layout import TEXT, TOOL, TOOL_CALL, Block, BlockKey, Layout

_UNAVAILABLE: Final = re.compile(
    r"<[\w.:-]+(?: [^<>]*)?>\s*Unavailable since (?P<since>\d{4}-\d\d-\d\d \d\d:\d\d)\.\s*</"
)
_NOT_KEPT: Final = "the reason was told in the turn's report and is not kept"
_ASKED_OR_CHOSEN: Final = "asked for, or chosen for how the conversation ran; nobody noted the reason"
_NOTHING: Final = Share(0, 0, 0)


@dataclass(frozen=True, slots=True)
class SentWindow:
    """A request that was sent, and what is known of it.

    Attributes:
        turn: its turn.
        step: which call of the turn it is, from 0.
        steps: how many calls the turn has so far.
        request: the hash under which it is stored.
        model: the model's full name.
        profile: what is known of that model.
        usage: as it was counted; None where nobody has.
        call: as the ledger has it; None where it has it not.
        prefixes: the request as a cache sees it.
        before: the request in front of it in the conversation; None for the first.
        counted_before: what was counted of that one, where it went to the same model.
        counts: the size of each block where the model's own tokenizer counted them, else empty.
        known: what is known of the turns before.
    """

    turn: Turn
    step: int
    steps: int
    request: str
    model: str
    profile: Profile
    usage: Usage | None
    call: Call | None
    prefixes: Prefixes
    before: Prefixes | None
    counted_before: Usage | None
    counts: tuple[int, ...]
    known: Background


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What became of each block, and of what no block has; together they are the whole prompt."""

    shares: Sequence[Share]
    exact: bool
    rest: Share = _NOTHING


def view_of_sent(sent: SentWindow) -> WindowView:
    """The window that was sent."""
    layout, turn = sent.prefixes.layout, sent.turn
    expected = None if sent.call is None else sent.call.new.expected
    sizes, total = _sizes_of_sent(sent, expected)
    opened = turn_start(layout)
    first_of_turn = layout.blocks[opened].message if opened < len(layout.blocks) else len(layout.blocks)
    notified = dict(turn.sent.sections) if turn.sent is not None else {}
    digests = dict(turn.system_fingerprint) | notified
    known = replace(sent.known, trinkets=_trinkets(sent), failures=_failures(layout, first_of_turn))
    choice = _choice(sent)
    blocks = _blocks(layout, describe(layout, known, first_of_turn=first_of_turn, digests=digests), sizes, sent.before)
    if sent.step:
        blocks = [
            replace(block, age="new in this step") if block.age and block.change is not BlockChange.SAME else block
            for block in blocks
        ]
    end = None if sent.call is None else sent.call.end
    return WindowView(
        conversation=turn.conversation,
        turn=turn.number,
        step=sent.step,
        steps=sent.steps,
        sent_at=None if sent.call is None else sent.call.new.sent_at,
        model=sent.model,
        framing=_framing_name(sent),
        framing_reason=_framing_reason(sent),
        request=sent.request,
        total=total,
        exact=sent.usage is not None and not sent.usage.estimated,
        usage=sent.usage,
        expected=expected,
        cost=None if end is None else end.cost,
        full_price=None if end is None else end.full_price,
        verdict=CacheVerdict(Cause.NOTHING) if end is None else end.verdict,
        diagnosis="" if end is None else end.diagnosis,
        blocks=tuple(blocks),
        dropped=left_out(
            layout,
            choice,
            known,
            first_of_turn=first_of_turn,
            composed=[*digests, *(block.name for block in layout.blocks)],
            notified=list(notified),
        )
        if digests
        else (),
        failures=tuple(known.failures),
    )


def view_of_preview(
    preview: Preview,
    before: Prefixes | None,
    *,
    model: str,
    profile: Profile,
    cost: Decimal | None = None,
    full_price: Decimal | None = None,
) -> WindowView:
    """The window that would be sent.

    Args:
        before: the newest request of the conversation; None where there is none.
        model: the model's full name.
        cost: of the expected tokens, without a reply; None where no price is known.
        full_price: of the same tokens without a cache.
    """
    window, layout, prediction = preview.built.window, preview.layout, preview.prediction
    choice = window.framing or choose_framing(profile)
    first_of_turn = max((block.message for block in layout.blocks), default=-1) + 1 - count_tail(window, profile)
    digests = {section.name: section_digest(section) for section in window.sections}
    notified = [section.name for section in window.sections if section.placement == PLACEMENT_NOTIFICATION]
    described = describe(layout, preview.known, first_of_turn=first_of_turn, digests=digests)
    prompt = prompt_of(SizedRequest(layout, prediction.tokens))
    sizes = _estimated(prompt, prediction.expected)
    return WindowView(
        conversation=preview.built.context.conversation,
        turn=preview.built.context.turn,
        step=0,
        steps=0,
        sent_at=None,
        model=model,
        framing=choice.framing.value,
        framing_reason=choice.reason,
        request="",
        total=prediction.expected.input,
        exact=False,
        usage=None,
        expected=prediction.expected,
        cost=cost,
        full_price=full_price,
        verdict=prediction.verdict,
        diagnosis="",
        blocks=tuple(_blocks(layout, described, sizes, before)),
        dropped=left_out(
            layout, choice, preview.known, first_of_turn=first_of_turn, composed=digests, notified=notified
        ),
        failures=tuple(preview.known.failures),
    )


def block_text(block: Block) -> str:
    """What a person reads of a block: its words, and the JSON of what is made for programs."""
    return block.data.decode("utf-8", "replace") if block.kind in (TOOL, TOOL_CALL) else block.shown


def _sizes_of_sent(sent: SentWindow, expected: Usage | None) -> tuple[_Sizes, int]:
    usage = sent.usage
    counted = [Counted(sent.before, sent.counted_before)] if sent.before and sent.counted_before else []
    counted += [Counted(sent.prefixes, usage)] if usage is not None else []
    prompt = counted_sizes(sent.prefixes, counted, sent.profile).prompt
    figures = usage or expected or Usage(prompt.total, 0, 0, 0, estimated=True)
    if sent.counts and usage is not None:
        exact = _exact(prompt_of(SizedRequest(sent.prefixes.layout, sent.counts), sent.prefixes), usage)
        if exact is not None:
            return exact, usage.input
    return _estimated(prompt, figures), figures.input


def _estimated(prompt: Prompt, usage: Usage) -> _Sizes:
    """The blocks as shares of what was counted in all."""
    shares = block_shares(prompt, usage)
    if shares is None:
        return _Sizes([_NOTHING] * len(prompt.layout.blocks), exact=False, rest=_apart(_whole(usage), usage))
    return _Sizes([_apart(share, usage) for share in shares], exact=False)


def _exact(prompt: Prompt, usage: Usage) -> _Sizes | None:
    """The blocks with sizes that were counted; what the whole has beside them is the rest. None where that is not
    possible: the sizes are larger than the whole, or its beginning would have more than was read of it.
    """
    shares = block_shares(prompt, usage)
    if shares is None:
        return None
    own = [_scaled(_apart(share, usage), tokens) for share, tokens in zip(shares, prompt.request.tokens, strict=True)]
    whole = _apart(_whole(usage), usage)
    rest = Share(
        whole.read - sum(share.read for share in own),
        whole.written - sum(share.written for share in own),
        whole.fresh - sum(share.fresh for share in own),
    )
    return None if min(rest.read, rest.written, rest.fresh) < 0 else _Sizes(own, exact=True, rest=rest)


def _whole(usage: Usage) -> Share:
    return Share(usage.cached, usage.written, usage.fresh)


def _apart(share: Share, usage: Usage) -> Share:
    """The share with nothing in two places: what was read and written both counts as read."""
    if usage.cached + usage.written <= usage.input:
        return share
    return replace(share, written=max(share.written - share.read, 0))


def _scaled(share: Share, tokens: int) -> Share:
    whole = share.read + share.written + share.fresh
    if not whole:
        return _NOTHING
    read, written = tokens * share.read // whole, tokens * share.written // whole
    left = tokens - read - written
    # Rounding leaves a token: it belongs where the block's end is.
    if share.fresh:
        return Share(read, written, left)
    return Share(read, written + left, 0) if share.written else Share(read + left, written, 0)


def _blocks(layout: Layout, described: Sequence[Described], sizes: _Sizes, before: Prefixes | None) -> list[ViewBlock]:
    keys, names = _content(before)
    blocks = [
        ViewBlock(
            id=index,
            area=known.placement,
            name=known.name,
            role=block.role,
            kind=block.kind,
            trinket=known.trinket,
            place=block.place,
            text=block_text(block),
            tokens=share.read + share.written + share.fresh,
            exact=sizes.exact and block.kind == TEXT,
            read=share.read,
            written=share.written,
            fresh=share.fresh,
            age=known.age,
            why=known.why,
            change=_change(block, keys, names),
        )
        for index, (block, known, share) in enumerate(zip(layout.blocks, described, sizes.shares, strict=True))
    ]
    rest = sizes.rest
    if rest != _NOTHING:
        blocks.append(_rest(len(blocks), rest, exact=sizes.exact))
    return blocks


def _rest(index: int, share: Share, *, exact: bool) -> ViewBlock:
    return ViewBlock(
        id=index,
        area=REST_AREA,
        name=REST,
        role="",
        kind=REST_AREA,
        trinket="",
        place="",
        text="",
        tokens=share.read + share.written + share.fresh,
        exact=exact,
        read=share.read,
        written=share.written,
        fresh=share.fresh,
        age="",
        why="the chat template's own tokens and the joins between the blocks",
        change=BlockChange.SAME,
    )


def _content(before: Prefixes | None) -> tuple[frozenset[BlockKey], frozenset[tuple[str, str]]]:
    blocks = () if before is None else before.layout.blocks
    return frozenset(block.key for block in blocks), frozenset(
        (block.area.value, block.name) for block in blocks if block.name
    )


def _change(block: Block, keys: frozenset[BlockKey], names: frozenset[tuple[str, str]]) -> BlockChange:
    if block.key in keys:
        return BlockChange.SAME
    return BlockChange.CHANGED if (block.area.value, block.name) in names else BlockChange.NEW


def _trinkets(sent: SentWindow) -> Mapping[str, str]:
    """The trinkets as they are registered now, and those that wrote sections of this window."""
    end = None if sent.call is None else sent.call.end
    wrote = {part.name: part.trinket for part in end.parts if part.trinket} if end is not None else {}
    return {**(sent.known.trinkets or {}), **wrote}


def _failures(layout: Layout, first_of_turn: int) -> list[SectionFailure]:
    """The sections of the notification center that say that they were unavailable."""
    found = (
        (block.name, _UNAVAILABLE.match(block.text.strip()))
        for block in layout.blocks
        if block.in_center and block.message >= first_of_turn
    )
    return [
        SectionFailure(name, _NOT_KEPT, said["since"].replace(" ", "T")) for name, said in found if said is not None
    ]


def _framing_name(sent: SentWindow) -> str:
    if sent.call is not None:
        return sent.call.new.layout
    return sent.turn.sent.framing if sent.turn.sent is not None else ""


def _choice(sent: SentWindow) -> FramingChoice:
    """How it was framed, as the model's profile has it."""
    name = _framing_name(sent)
    if name in set(Framing) and Framing(name) in sent.profile.framings:
        return choose_framing(sent.profile, Framing(name))
    return choose_framing(sent.profile)


def _framing_reason(sent: SentWindow) -> str:
    """Why it was framed so: as it was kept, or what the profile says."""
    usual = choose_framing(sent.profile)
    name, kept = _framing_name(sent), sent.turn.sent
    if not name:
        return "nobody noted how it was framed"
    if kept is not None and kept.framing_reason and kept.framing == name:
        return kept.framing_reason
    return usual.reason if name == usual.framing.value else _ASKED_OR_CHOSEN
