"""A call of a model as the ledger keeps it: what the cache was expected to do, what it did, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from frontmind.values.usage import Usage


class Purpose(StrEnum):
    """What a call was made for.

    TURN: to answer the person. KEEP_ALIVE: so that an entry of the cache lives on.
    """

    TURN = "turn"
    KEEP_ALIVE = "keep_alive"


class Cause(StrEnum):
    """Why the cache gave less of a prompt than it could have.

    NOTHING: it gave all that it could. FIRST: there was nothing before that it could have. MOVED: a section or message
    in front of what was cached is another one. EXPIRED: the entry was older than its lifetime. LOOK_BACK: no marker
    is near enough to the entry. MINIMUM: the prefix is smaller than what is cached. MODEL, TOOLS, PARAMETERS, IMAGES:
    another model, other tools, other parameters of the request, images where there were none or the other way round.
    EVICTED: nothing else explains it: another machine, or an entry that the provider dropped.
    """

    NOTHING = "nothing"
    FIRST = "first"
    MOVED = "moved"
    EXPIRED = "expired"
    LOOK_BACK = "look_back"
    MINIMUM = "minimum"
    MODEL = "model"
    TOOLS = "tools"
    PARAMETERS = "parameters"
    IMAGES = "images"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True)
class CacheVerdict:
    """Why a prompt was not read from the cache as far as it could have been.

    Attributes:
        tokens: about how many tokens were, or will be, processed again because of it.
        reason: one line for people.
        place: where the first difference stands, such as ``system[1] (domaindoc)``; empty where none is the cause.
        before, after: both texts from a little in front of their first difference on; empty where none is the cause.
    """

    cause: Cause
    tokens: int = 0
    reason: str = ""
    place: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class CallPart:
    """A section, or another named part, of a call's prompt: how many of its tokens were read, written and fresh.

    Attributes:
        name: the section's name, or what it is: ``history``, ``user message``, ``tools``.
        trinket: the class of the trinket that wrote it; empty where none did.
    """

    name: str
    trinket: str
    read: int
    written: int
    fresh: int


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call that is about to be sent.

    Attributes:
        turn: the number of its turn; 0 outside of any.
        step: how many steps with tools its turn had made before it. A call that is sent again has the same number.
        model: the model's full name.
        layout: how the notification center was sent: the framing's name.
        request: the hash under which its request is stored; empty where it is not.
        sent_at: when it was sent.
        expected: what the rules say of it: input, read and written tokens, without output; None where none is known.
    """

    conversation: str
    turn: int
    step: int
    purpose: Purpose
    model: str
    layout: str
    request: str
    sent_at: datetime
    expected: Usage | None = None


@dataclass(frozen=True, slots=True)
class CallEnd:
    """What is known of a call once it has ended.

    Attributes:
        usage: as the provider counted.
        cost: in US dollars at the prices of that moment; None where no price is known.
        full_price: what the same tokens would have cost without a cache; None where no price is known.
        verdict: why less was read than could have been.
        diagnosis: what the provider itself says of it; empty where it says nothing.
        parts: what became of each part of the prompt; the sums are those of ``usage``.
    """

    ended_at: datetime
    usage: Usage
    cost: Decimal | None = None
    full_price: Decimal | None = None
    verdict: CacheVerdict = CacheVerdict(Cause.NOTHING)
    diagnosis: str = ""
    parts: tuple[CallPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A call in the ledger.

    Attributes:
        end: None while it runs, and where it broke off.
    """

    id: int
    new: NewCall
    end: CallEnd | None
