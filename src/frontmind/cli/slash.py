"""The slash commands of a chat. They work with any model, also with one that cannot call tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from frontmind.assistant.inspection import inspect_window
from frontmind.assistant.wiring import DEFAULT_CONVERSATION
from frontmind.cli.options import named_path, read_text_file
from frontmind.cli.session import Session
from frontmind.errors import UsageError
from frontmind.reminders.phrases import parse_reminder
from frontmind.trinkets import ToolDescription
from frontmind.trinkets.reminders import describe_due, urgency_of
from frontmind.values.records import SearchHit
from frontmind.window.blocks import CountedBlock

_SEARCH_LIMIT = 5
_DOCUMENT_LIMIT = 1_000_000
_PREVIEW_MESSAGE = "(your next message)"


@dataclass(frozen=True, slots=True)
class Table:
    """A window to be shown as a table."""

    title: str
    blocks: tuple[CountedBlock, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to: lines to show, a table, and whether the chat is over."""

    text: str = ""
    table: Table | None = None
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command.

    Attributes:
        name: with its slash.
        usage: its arguments, for people.
        summary: one line, for people.
        hint: one line for the model; empty when it need not know the command.
        guide: what the model should tell about it; empty when the hint is enough.
        run: carries it out with the text behind the name.
    """

    name: str
    usage: str
    summary: str
    run: Callable[[Session, str], Awaitable[Outcome]]
    hint: str = ""
    guide: str = ""


def is_command(line: str) -> bool:
    """Whether a line of input is a slash command and not a message; a path such as /etc/hosts is a message."""
    word = line.split(maxsplit=1)[0] if line.strip() else ""
    return word.startswith("/") and "/" not in word[1:]


async def run_command(session: Session, line: str) -> Outcome:
    """Carry out a slash command.

    Raises:
        UsageError: there is no such command, or its arguments cannot be used.
    """
    name, arguments = _first_word(line)
    command = _BY_NAME.get(name.lower())
    if command is None:
        raise UsageError(f"there is no command {name}; /help lists them")
    return await command.run(session, arguments)


def _first_word(text: str) -> tuple[str, str]:
    """The first word, and what follows it after any white space."""
    word, *rest = text.split(maxsplit=1) or [""]
    return word, rest[0].strip() if rest else ""


def tool_descriptions() -> tuple[ToolDescription, ...]:
    """The commands that the model should know, so that it can tell the person of them."""
    return tuple(ToolDescription(command.name, command.hint, command.guide) for command in COMMANDS if command.hint)


async def _remind(session: Session, arguments: str) -> Outcome:
    now = session.clock.now()
    word, rest = _first_word(arguments)
    if not arguments or arguments == "list":
        return Outcome(await _reminder_list(session))
    if word == "done":
        reminder = await session.store.complete_reminder(_number(rest, "r", "/remind done r1"), now)
        return Outcome(f"Done: {reminder.text}")
    phrase = parse_reminder(arguments, now)
    zone = str(session.clock.zone)
    reminder = await session.store.add_reminder(phrase.text, phrase.due, zone=zone, at=now)
    return Outcome(f"Reminder r{reminder.id} for {describe_due(reminder, now)}: {reminder.text}")


async def _reminder_list(session: Session) -> str:
    now = session.clock.now()
    lines = []
    for reminder in await session.store.active_reminders():
        urgency = urgency_of(reminder, now)
        status = f" ({urgency.value})" if urgency is not None else ""
        lines.append(f"r{reminder.id}  {describe_due(reminder, now)}{status}  {reminder.text}")
    return "\n".join(lines) or "No reminders. Add one: /remind call Anna tomorrow at 9am"


async def _remember(session: Session, arguments: str) -> Outcome:
    if not arguments:
        raise UsageError("what should be remembered? Write for example: /remember You prefer tea")
    saved = await session.store.add_note(arguments, session.clock.now())
    return Outcome(f"Remembered as n{saved.id}: {saved.text}")


async def _search(session: Session, arguments: str) -> Outcome:
    if not arguments:
        raise UsageError("what should be searched? Write for example: /search tea")
    store = session.store
    notes = await store.search_notes(arguments, limit=_SEARCH_LIMIT)
    messages = await store.search_messages(arguments, limit=_SEARCH_LIMIT)
    # The person sees all; the model is not shown again what its window has anyway.
    start = await store.window_start(DEFAULT_CONVERSATION)
    unseen = await store.search_messages(
        arguments, limit=_SEARCH_LIMIT, conversation=DEFAULT_CONVERSATION, before=start
    )
    session.mind.searches.show(arguments, (*notes, *unseen))
    shown = "\n".join(_hit_line(hit, session) for hit in (*notes, *messages)) or "Nothing found."
    return Outcome(f"{shown}\n(The assistant sees this with your next message.)")


def _hit_line(hit: SearchHit, session: Session) -> str:
    at = f"{hit.at.astimezone(session.clock.zone):%Y-%m-%d %H:%M}"
    text = " ".join(hit.text.split())
    shown = text if len(text) <= 100 else text[:99] + "…"
    return f"{at}  {hit.speaker or f'n{hit.ref}'}: {shown}"


async def _doc(session: Session, arguments: str) -> Outcome:
    verb, rest = _first_word(arguments)
    if verb in ("", "list"):
        return Outcome(await _document_list(session))
    if verb == "add" and rest:
        name, text = _read_document(rest)
        document = await session.store.put_document(name, text, session.clock.now())
        return Outcome(f"{document.name} ({len(text):,} characters) is in the system prompt from the next turn on.")
    if verb in ("on", "off") and rest:
        await session.store.enable_document(rest, verb == "on")
        return Outcome(f"{rest} is {'in' if verb == 'on' else 'no longer in'} the system prompt from the next turn on.")
    if verb == "show" and rest:
        for document in await session.store.documents():
            if document.name == rest:
                return Outcome(document.text)
        raise UsageError(f"there is no document {rest!r}; /doc lists them")
    raise UsageError(f"cannot read {arguments!r}; write /doc, /doc add FILE, /doc on|off NAME or /doc show NAME")


def _read_document(file: str) -> tuple[str, str]:
    path = named_path(file)
    if path.exists() and not path.is_file():
        # A pipe or a device might never end.
        raise UsageError(f"{path} is not a regular file; pass a text file")
    text = read_text_file(path, "the document", limit=_DOCUMENT_LIMIT)
    if not text.strip():
        raise UsageError(f"the document {path} is empty; write something into it first")
    return path.stem, text


async def _document_list(session: Session) -> str:
    documents = await session.store.documents()
    lines = [
        f"{document.name}  {'on' if document.enabled else 'off'}  {len(document.text):,}" for document in documents
    ]
    return "\n".join(lines) or "No documents. Add one: /doc add FILE.md"


async def _context(session: Session, arguments: str) -> Outcome:
    if session.last is not None:
        window = session.last.window
        cached: int | None = session.last.usage.cached
        title = f"What the model saw in turn {session.last.turn}"
    else:
        window = (await session.mind.builder.preview(_PREVIEW_MESSAGE, reader=session.model)).window
        cached = await session.model.expected_cached(session.model.encode(window))
        title = "What the model would see with your next message"
    blocks = await inspect_window(session.model, window, cached=cached)
    counted = await session.model.count_text(title)
    if not counted.exact:
        learned = f", corrected by {counted.learned_from} replies" if counted.learned_from else ""
        title += f" (~ estimated{learned})"
    return Outcome(table=Table(f"{title}; framing {session.model.framing.framing.value}", blocks))


async def _help(session: Session, arguments: str) -> Outcome:
    width = max(len(f"{command.name} {command.usage}") for command in COMMANDS)
    lines = [f"{f'{command.name} {command.usage}':<{width}}  {command.summary}" for command in COMMANDS]
    return Outcome("\n".join(lines))


async def _quit(session: Session, arguments: str) -> Outcome:
    return Outcome(leaves=True)


def _number(text: str, prefix: str, example: str) -> int:
    digits = text.strip().removeprefix(prefix)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        raise UsageError(f"{text.strip()!r} is not an id; write for example: {example}")
    return int(digits)


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(
        "/remind",
        "WHAT WHEN | done ID",
        "add a reminder, complete one, or list them",
        _remind,
        "adds a reminder",
        "To be reminded, the person writes /remind with what and when, such as: /remind call Anna tomorrow at 9am. "
        "/remind done r1 completes one. You cannot write it yourself.",
    ),
    SlashCommand(
        "/remember",
        "TEXT",
        "keep a memory",
        _remember,
        "keeps a memory",
        "To have something kept for good, the person writes /remember and the text.",
    ),
    SlashCommand(
        "/search",
        "WORDS",
        "search memories and earlier messages",
        _search,
        "the person searches memories and earlier messages",
    ),
    SlashCommand(
        "/doc",
        "[add FILE | on NAME | off NAME | show NAME]",
        "documents in the system prompt",
        _doc,
        "the person adds a document for you to know",
    ),
    SlashCommand("/context", "", "the window as a table: section, placement, tokens, cached or fresh", _context),
    SlashCommand("/help", "", "this list", _help),
    SlashCommand("/quit", "", "leave", _quit),
)
_BY_NAME = {command.name: command for command in COMMANDS}
