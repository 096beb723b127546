"""What one more turn costs: from changed sections to the request, after 100, 1,000 and 10,000 messages.

    python -m benchmarks.composing [--json FILE]

Frontmind's figure is the whole of a turn but the model: five sections with new texts into the composer, the composed
prompt, the history closed with the last reply, the window, and the encoded request for Claude. The first turn of a
process, which encodes a loaded history for the first time, is given apart.

The same request from the same messages is built by two libraries for comparison, as their users get it:

- pydantic-ai: `AnthropicModel.prepare_request` and `_prepare_messages_create`, which is everything that its `request`
  does in front of the SDK's call, with its cache settings for instructions and messages on.
- LangChain: `ChatAnthropic._get_request_payload`, which is what its `invoke` hands to the SDK.

Their message objects are made outside of the timing, and are kept from turn to turn as in a running program; what is
timed is one call with the list of all of them. No library's time includes the SDK's JSON or the network. The two are
not needed to run this: `pip install '.[bench]'` installs them.

Times are medians over turns, in microseconds; memory is what a turn leaves behind, in bytes, after a full collection.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.trinkets.markup import Element, render
from frontmind.values.message import Message, Role, assistant, user
from frontmind.values.parts import Text, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM
from frontmind.values.tool import Tool
from frontmind.window.framing import closed
from frontmind.window.history import History
from frontmind.window.window import Window
from frontmind.working_memory.composer import NOTIFICATION_ORDER, SystemPromptComposer

SIZES: Final = (100, 1_000, 10_000)
TURNS: Final = 15
REPETITIONS: Final = {100: 20, 1_000: 10, 10_000: 2}
MEMORY_TURNS: Final = 400
MODEL: Final = "claude-sonnet-4-5"
MAX_TOKENS: Final = 1_024
NOT_INSTALLED: Final = "not installed; run: pip install '.[bench]'"
MOST_GROWTH: Final = 3.0
LEAST_LEAD: Final = 10.0

SYSTEM: Final = "You are a companion who remembers. " * 60
TOOLS: Final = tuple(
    Tool(f"tool_{number}", '{"type":"object","properties":{"query":{"type":"string"}}}', "Looks something up. " * 8)
    for number in range(5)
)
QUESTION: Final = "What do you make of this, and what should I do about it on {number} of the next days? " * 4
ANSWER: Final = "I would begin with the part that cannot wait, number {number}, and leave the rest for later. " * 8


class Subject(Protocol):
    """A library that builds requests."""

    def start(self, history: Sequence[Message]) -> None:
        """Take a conversation over; not timed."""

    def turn(self, number: int) -> Any:
        """Build the request of one more turn; timed."""

    def answered(self, number: int) -> None:
        """The turn was answered; not timed."""


def conversation(messages: int) -> list[Message]:
    """A conversation of this many messages; every tenth exchange uses a tool."""
    made: list[Message] = []
    number = 0
    while len(made) < messages:
        number += 1
        made.append(user(QUESTION.format(number=number)))
        if number % 10 == 0 and len(made) + 3 <= messages:
            call = ToolCall(f"call_{number}", "tool_1", f'{{"query":"{number}"}}')
            made.append(Message(Role.ASSISTANT, (Text("I look it up."), call)))
            made.append(Message(Role.USER, (ToolResult(call.id, ANSWER.format(number=number)),)))
        made.append(assistant(ANSWER.format(number=number)))
    return made


def section_texts(number: int) -> dict[str, str]:
    """The texts of the notification center's five sections in a turn."""
    return {
        name: render(Element(name, f"{name} of turn {number}: what matters at this moment. " * 6))
        for name in NOTIFICATION_ORDER
    }


class Frontmind:
    """Composes, frames and encodes with nothing left out."""

    def __init__(self) -> None:
        self._profile = resolve_profile("anthropic", MODEL)
        self._choice = choose_framing(self._profile)
        self._composer = SystemPromptComposer()
        self._composer.set_base_prompt(SYSTEM)
        self._composer.add_section("tool_hints", "Ask before you act.", placement=PLACEMENT_SYSTEM)
        self._history = History()
        self._window: Window | None = None
        self._reply = assistant("-")
        self._texts: dict[str, str] = {}
        self._question = user("-")

    def start(self, history: Sequence[Message]) -> None:
        self._history = History(history)
        self._window = None
        self.answered(0)

    def turn(self, number: int) -> Any:
        for name, text in self._texts.items():
            self._composer.add_section(name, text, placement=PLACEMENT_NOTIFICATION)
        composed = self._composer.compose()
        if self._window is not None:
            self._history = closed(self._window, self._reply)
        self._window = Window(
            cached_system=composed.cached_content,
            uncached_system=composed.non_cached_content,
            history=self._history,
            notification_center=composed.notification_center,
            turn=(self._question,),
            sections=composed.sections,
            tools=TOOLS,
            framing=self._choice,
        )
        return encode_window(self._window, self._profile, max_output_tokens=MAX_TOKENS)

    def answered(self, number: int) -> None:
        self._reply = assistant(ANSWER.format(number=number))
        self._question = user(QUESTION.format(number=number + 1))
        self._texts = section_texts(number + 1)


class PydanticAI:
    """The request as pydantic-ai's Anthropic model prepares it; an ImportError where it is not installed."""

    def __init__(self) -> None:
        self._types = importlib.import_module("pydantic_ai.messages")
        models = importlib.import_module("pydantic_ai.models")
        anthropic = importlib.import_module("pydantic_ai.models.anthropic")
        provider = importlib.import_module("pydantic_ai.providers.anthropic")
        tools = importlib.import_module("pydantic_ai.tools")
        self._model = anthropic.AnthropicModel(MODEL, provider=provider.AnthropicProvider(api_key="none"))
        self._settings = anthropic.AnthropicModelSettings(
            max_tokens=MAX_TOKENS, anthropic_cache_instructions=True, anthropic_cache_messages=True
        )
        self._parameters = models.ModelRequestParameters(
            function_tools=[
                tools.ToolDefinition(
                    name=tool.name, description=tool.description, parameters_json_schema=json.loads(tool.parameters)
                )
                for tool in TOOLS
            ]
        )
        self._loop = asyncio.new_event_loop()
        self._history: list[Any] = []
        self._current: Any = None

    def start(self, history: Sequence[Message]) -> None:
        names = {part.id: part.name for message in history for part in message.parts if isinstance(part, ToolCall)}
        self._history = [self._mapped(message, names) for message in history]
        self._current = self._asked(1)

    def _mapped(self, message: Message, names: dict[str, str]) -> Any:
        types = self._types
        if message.role is Role.ASSISTANT:
            parts = [
                types.ToolCallPart(tool_name=part.name, args=part.arguments, tool_call_id=part.id)
                if isinstance(part, ToolCall)
                else types.TextPart(content=message.text)
                for part in message.parts
            ]
            return types.ModelResponse(parts=parts)
        parts = [
            types.ToolReturnPart(tool_name=names[part.call_id], content=part.text, tool_call_id=part.call_id)
            if isinstance(part, ToolResult)
            else types.UserPromptPart(content=message.text)
            for part in message.parts
        ]
        return types.ModelRequest(parts=parts, instructions=SYSTEM)

    def _asked(self, number: int) -> Any:
        texts = ["\n\n".join(section_texts(number).values()), QUESTION.format(number=number)]
        return self._types.ModelRequest(parts=[self._types.UserPromptPart(content=texts)], instructions=SYSTEM)

    def turn(self, number: int) -> Any:
        messages = [*self._history, self._current]
        settings, parameters = self._model.prepare_request(self._settings, self._parameters)
        coroutine = self._model._prepare_messages_create(messages, settings, parameters)
        try:
            # It waits for nothing: an event loop would only add to its time.
            coroutine.send(None)
        except StopIteration as done:
            prepared = done.value
        else:
            coroutine.close()
            raise RuntimeError("pydantic-ai waited for something while it prepared the request")
        return {"system": prepared.system_prompt, "messages": prepared.anthropic_messages}

    def answered(self, number: int) -> None:
        types = self._types
        question = types.UserPromptPart(content=QUESTION.format(number=number))
        self._history.append(types.ModelRequest(parts=[question], instructions=SYSTEM))
        self._history.append(types.ModelResponse(parts=[types.TextPart(content=ANSWER.format(number=number))]))
        self._current = self._asked(number + 1)


class LangChain:
    """The request as LangChain's ChatAnthropic prepares it; an ImportError where it is not installed."""

    def __init__(self) -> None:
        self._types = importlib.import_module("langchain_core.messages")
        chat = importlib.import_module("langchain_anthropic")
        self._model = chat.ChatAnthropic(model=MODEL, api_key="none", max_tokens=MAX_TOKENS)
        self._tools = [
            {"name": tool.name, "description": tool.description, "input_schema": json.loads(tool.parameters)}
            for tool in TOOLS
        ]
        marked = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
        self._system = self._types.SystemMessage(content=marked)
        self._history: list[Any] = []
        self._current: Any = None

    def start(self, history: Sequence[Message]) -> None:
        self._history = [self._mapped(message) for message in history]
        self._current = self._asked(1)

    def _mapped(self, message: Message) -> Any:
        if message.role is Role.ASSISTANT:
            calls = [
                {"type": "tool_call", "id": part.id, "name": part.name, "args": json.loads(part.arguments)}
                for part in message.parts
                if isinstance(part, ToolCall)
            ]
            return self._types.AIMessage(content=message.text, tool_calls=calls)
        for part in message.parts:
            if isinstance(part, ToolResult):
                return self._types.ToolMessage(content=part.text, tool_call_id=part.call_id)
        return self._types.HumanMessage(content=message.text)

    def _asked(self, number: int) -> Any:
        texts = ["\n\n".join(section_texts(number).values()), QUESTION.format(number=number)]
        return self._types.HumanMessage(content=[{"type": "text", "text": text} for text in texts])

    def turn(self, number: int) -> Any:
        messages = [self._system, *self._history, self._current]
        return self._model._get_request_payload(messages, tools=self._tools)

    def answered(self, number: int) -> None:
        self._history.append(self._types.HumanMessage(content=QUESTION.format(number=number)))
        self._history.append(self._types.AIMessage(content=ANSWER.format(number=number)))
        self._current = self._asked(number + 1)


@dataclass(frozen=True)
class Measured:
    """One library after a history of one size.

    Attributes:
        messages: how long the history was.
        median_us: the median time of one more turn, in microseconds.
        first_us: that of the first turn after the history was loaded.
        retained_bytes: what one more turn of Frontmind leaves in memory.
    """

    messages: int
    median_us: float
    first_us: float
    retained_bytes: float | None


def measure(make: Callable[[], Subject], messages: int) -> Measured:
    """Run turns after a history of this size; it grows by no more than two messages for each timed turn."""
    history = conversation(messages)
    subject = make()
    times: list[int] = []
    first: list[int] = []
    for _ in range(REPETITIONS[messages]):
        subject.start(history)
        for number in range(1, TURNS + 2):
            start = time.perf_counter_ns()
            request = subject.turn(number)
            elapsed = time.perf_counter_ns() - start
            (times if number > 1 else first).append(elapsed)
            _require_whole(request, messages + 2 * (number - 1), number)
            subject.answered(number)
    # Only the library that keeps what it encoded could let a turn leave more and more behind.
    left = retained(subject, history) if isinstance(subject, Frontmind) else None
    return Measured(messages, statistics.median(times) / 1_000, statistics.median(first) / 1_000, left)


def _require_whole(request: Any, messages: int, number: int) -> None:
    """The request has the whole history and ends with this turn's question: nobody measures a shorter one."""
    sent = request["messages"]
    # A framing may add two messages for the notification center beside the question.
    if not messages < len(sent) <= messages + 3 or sent[-1]["content"][-1]["text"] != QUESTION.format(number=number):
        raise RuntimeError(f"a request after {messages} messages has {len(sent)}, or does not end with the question")


def retained(subject: Subject, history: Sequence[Message]) -> float:
    """The bytes that one more turn leaves behind, the question and the reply themselves included."""
    subject.start(history)
    subject.turn(1)
    subject.answered(1)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(2, MEMORY_TURNS + 2):
            subject.turn(number)
            subject.answered(number)
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / MEMORY_TURNS
    finally:
        tracemalloc.stop()


SUBJECTS: Final[dict[str, Callable[[], Subject]]] = {
    "frontmind": Frontmind,
    "pydantic-ai": PydanticAI,
    "langchain": LangChain,
}


def run() -> dict[str, list[Measured] | None]:
    """Every library at every size; None for one that is not installed."""
    results: dict[str, list[Measured] | None] = {}
    for name, make in SUBJECTS.items():
        try:
            results[name] = [measure(make, size) for size in SIZES]
        except ImportError:
            results[name] = None
    return results


def table(results: dict[str, list[Measured] | None]) -> str:
    """The results for people."""
    sizes = "".join(f"{f'{size:,}':>12}" for size in SIZES)
    lines = [f"{'median, one turn (µs)':<24}{sizes}{'growth':>10}"]
    for name, rows in results.items():
        lines.append(f"{name:<24}" + _row([row.median_us for row in rows]) if rows else f"{name:<24}  {NOT_INSTALLED}")
    others: tuple[tuple[str, Callable[[Measured], float | None]], ...] = (
        ("first turn after loading", lambda row: row.first_us),
        ("bytes left by a turn", lambda row: row.retained_bytes),
    )
    for title, pick in others:
        lines += ["", f"{title:<24}{sizes}{'growth':>10}"]
        for name, rows in results.items():
            figures = [figure for row in rows or () if (figure := pick(row)) is not None]
            lines += [f"{name:<24}" + _row(figures)] if figures else []
    return "\n".join([*lines, "", *verdicts(results)])


def _row(figures: Sequence[float]) -> str:
    growth = figures[-1] / figures[0]
    return "".join(f"{figure:>12,.0f}" for figure in figures) + f"{growth:>9.1f}x"


def verdicts(results: dict[str, list[Measured] | None]) -> list[str]:
    """What was aimed at, and what came out."""
    ours = results["frontmind"]
    assert ours is not None
    growth = ours[-1].median_us / ours[0].median_us
    lines = [f"growth from {SIZES[0]:,} to {SIZES[-1]:,} messages: {growth:.1f}x (aim: at most {MOST_GROWTH:.0f}x)"]
    for name, rows in results.items():
        if rows and name != "frontmind":
            lead = rows[1].median_us / ours[1].median_us
            lines.append(f"{name} at {SIZES[1]:,} messages: {lead:.1f}x our time (aim: at least {LEAST_LEAD:.0f}x)")
    return lines


def main(arguments: Sequence[str]) -> None:
    """Measure, print the table, and write the figures where ``--json`` says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.composing", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here too")
    options = parser.parse_args(arguments)
    results = run()
    print(table(results))
    if options.json:
        figures = {name: None if rows is None else [asdict(row) for row in rows] for name, rows in results.items()}
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
