"""The scripted model: plays a list of replies or a function, for tests and demonstrations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

from frontmind.errors import ModelError, UsageError
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.estimate import estimate_request, estimate_tokens
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Finished, Request, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.values.message import Message, Role, assistant
from frontmind.values.parts import Text, ToolCall
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_text, parse_json
from frontmind.window.choice import FramingChoice
from frontmind.window.window import Window

_FORM = "a JSON list of texts, or of objects with text and calls"


class ScriptedModel:
    """A `Model` whose replies are given.

    Args:
        script: one reply per call, or a function from the request to the reply. A text is streamed word by word;
            a `Message` may carry tool calls.
        name: how it is called.
        context_limit: the most tokens of a request and its reply; None for no limit.
        profile: the model that it plays; None for one of its own.
        framing: how its windows are framed; None for what the profile says.
    """

    def __init__(
        self,
        script: Sequence[str | Message] | Callable[[Request], str | Message],
        *,
        name: str = "scripted",
        context_limit: int | None = None,
        max_output_tokens: int = 1024,
        profile: Profile | None = None,
        framing: FramingChoice | None = None,
    ) -> None:
        self._function = script if callable(script) else None
        self._replies: Iterator[str | Message] = iter(()) if callable(script) else iter(script)
        self.name = name
        self.context_limit = context_limit
        self.max_output_tokens = max_output_tokens
        self.profile = profile or resolve_profile("scripted", "")
        self.framing = framing or choose_framing(self.profile)

    def encode(self, window: Window) -> Request:
        return encode_window(window, self.profile, max_output_tokens=self.max_output_tokens, framing=self.framing)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        reply = self._reply(request)
        message = assistant(reply) if isinstance(reply, str) else reply
        for piece in _pieces(message.text):
            yield TextDelta(piece)
        usage = Usage(estimate_request(request), 0, 0, estimate_tokens(message.text), estimated=True)
        calls = any(isinstance(part, ToolCall) for part in message.parts)
        yield Finished(message, usage, StopReason.TOOL_CALLS if calls else StopReason.END)

    def _reply(self, request: Request) -> str | Message:
        if self._function is not None:
            return self._function(request)
        try:
            return next(self._replies)
        except StopIteration:
            raise ModelError("the script has no reply left; give it one for each turn", model=self.name) from None

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(estimate_request(request), exact=False)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(estimate_tokens(text), exact=False)

    async def expected_cached(self, request: Request) -> int | None:
        return 0

    async def close(self) -> None:
        return None


def read_script(path: Path) -> list[str | Message]:
    """The replies in a JSON file: a list whose items are texts, or objects for replies that call tools.

    ``{"text": "I look.", "calls": [{"name": "read_document", "arguments": {"name": "house"}}]}`` says the text and
    makes the calls, with the ids c1, c2, ... A reply may have no ``text`` or no ``calls``, a call no ``arguments``.

    Raises:
        UsageError: the file cannot be read or is something else; of an item that cannot be used, its number is named.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"the script {path} is not a regular file; pass {_FORM}")
    try:
        data = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the script {path} ({error.strerror}); pass {_FORM}") from error
    except ValueError as error:
        raise UsageError(f"the script {path} is not valid JSON; pass {_FORM}") from error
    if not isinstance(data, list):
        raise UsageError(f"the script {path} is not a JSON list; pass {_FORM}")
    return [_reply(item, f"item {number} of the script {path}") for number, item in enumerate(data, 1)]


def _reply(item: object, where: str) -> str | Message:
    if isinstance(item, str):
        return item
    if not isinstance(item, dict):
        raise UsageError(f"{where} is neither a text nor an object; pass {_FORM}")
    _refuse_others(item, ("text", "calls"), where)
    text, calls = item.get("text", ""), item.get("calls", [])
    if not isinstance(text, str):
        raise UsageError(f"{where}: text must be a text in quotes")
    if not isinstance(calls, list):
        raise UsageError(f'{where}: calls must be a list such as [{{"name": "list_reminders", "arguments": {{}}}}]')
    called = [_call(call, number, f"{where}, call {number}") for number, call in enumerate(calls, 1)]
    return Message(Role.ASSISTANT, (*((Text(text),) if text or not called else ()), *called))


def _call(value: object, number: int, where: str) -> ToolCall:
    if not isinstance(value, dict):
        raise UsageError(f'{where} must be an object such as {{"name": "list_reminders", "arguments": {{}}}}')
    _refuse_others(value, ("name", "arguments"), where)
    name, arguments = value.get("name"), value.get("arguments", {})
    if not isinstance(name, str) or not name:
        raise UsageError(f"{where}: name must be the name of a tool")
    if not isinstance(arguments, dict):
        raise UsageError(f"{where}: arguments must be an object, such as {{}}")
    return ToolCall(f"c{number}", name, canonical_text(arguments))


def _refuse_others(value: dict[str, object], known: tuple[str, ...], where: str) -> None:
    if others := sorted(value.keys() - set(known)):
        raise UsageError(f"{where} has the key {others[0]!r}; the keys are {' and '.join(known)}")


def _pieces(text: str) -> list[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:] if text else []
