"""What is known of a turn while it runs. Holds no store and no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from frontmind.assistant.listening import Heard
from frontmind.assistant.report import ToolUse
from frontmind.assistant.window_builder import BuiltWindow
from frontmind.providers.protocol import Request
from frontmind.values.calls import Call
from frontmind.values.message import Message
from frontmind.values.records import Sent, Turn, WindowOpening
from frontmind.values.usage import Usage
from frontmind.window.window import Window


@dataclass(slots=True)
class RunningTurn:
    """A turn between its message and its last reply.

    Attributes:
        turn: as it was begun.
        before: the turns in front of it that are sent.
        first: where the window of the turn before began.
        reported: where the window began when the turn was last reported of; None before that.
        set_aside: earlier unanswered turns that are not sent, because with them the request was refused.
        built: the window that it began with, and where that begins.
        was_full: whether turns have left because the window did not fit.
        window: the window of the next call.
        request: what is sent for it.
        sent: what stands in the store beside the turn.
        steps: what the model said and its tools gave back, so far.
        waits: what the model said in a step that has no results yet; None between steps.
        kept: the results of a step, by its number from 1, with what the framing keeps beside them, where that differs.
        request_hash: the hash of the last request that was sent.
        heard: what has come of the reply that is awaited.
        calls: the calls of the model that were answered, with what the cache should have done and did.
    """

    turn: Turn
    before: Sequence[Turn]
    first: WindowOpening
    set_aside: tuple[Turn, ...]
    built: BuiltWindow
    window: Window
    request: Request
    was_full: bool = False
    reported: WindowOpening | None = None
    sent: Sent = field(default_factory=Sent)
    steps: list[tuple[Message, Message]] = field(default_factory=list)
    waits: Message | None = None
    kept: dict[int, Message] = field(default_factory=dict)
    request_hash: str = ""
    heard: Heard = field(default_factory=Heard)
    scrubbed: int = 0
    retries: int = 0
    first_at: float | None = None
    usages: list[Usage] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    tools: list[ToolUse] = field(default_factory=list)

    def is_at(self, turn: Turn, before: Sequence[Turn]) -> bool:
        """Whether this is the turn as it is stored, waiting for the results of its newest step behind these turns."""
        in_front = {(one.id, one.state) for one in (*self.before, *self.set_aside)}
        return (
            self.turn.id == turn.id
            and self.waits is not None
            and len(self.steps) == len(turn.steps) - 1
            and in_front == {(one.id, one.state) for one in before}
        )

    def resume(self) -> None:
        """Begin a run that goes on where the one before ended; its figures count from here."""
        self.reported, self.was_full = self.built.opening, False
        self.scrubbed = self.retries = 0
        self.first_at = None
        self.usages, self.calls, self.tools = [], [], []

    def note_heard(self) -> None:
        """Add the figures of the reply that has come, or has broken off, to those of the turn."""
        self.scrubbed += self.heard.scrubbed
        self.retries += self.heard.retries
        self.first_at = self.heard.first_at if self.first_at is None else self.first_at
