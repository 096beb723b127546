"""The slash commands of a chat. They work with any model, also with one that cannot call tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from frontmind.assistant.inspection import inspect_window
from frontmind.cli.cache_words import cache_text
from frontmind.cli.doc_command import doc
from frontmind.cli.memory_command import Memories, forget, memory, remember
from frontmind.cli.remind_command import remind
from frontmind.cli.session import Session
from frontmind.errors import UsageError
from frontmind.recall.context_searches import SearchRequest
from frontmind.recall.facts import FactKeeper
from frontmind.trinkets import ToolDescription
from frontmind.trinkets.memory import local_moment
from frontmind.values.passages import PassageKind, Recollection
from frontmind.window.blocks import CountedBlock

_SEARCH_LIMIT = 5
_SHOWN_OF_A_FIND = 100
_WIDEST_COLUMN = 36
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
        forms: for people, the ways to write it: its arguments, and in one line what they do.
        run: carries it out with the text behind the name.
        hint: one line for the model; empty when it need not know the command.
        guide: what the model should tell about it; empty when the hint is enough.
    """

    name: str
    forms: tuple[tuple[str, str], ...]
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
    return Outcome(await remind(session.mind.reminders, arguments))


async def _remember(session: Session, arguments: str) -> Outcome:
    return Outcome(await remember(_memories(session), arguments))


async def _forget(session: Session, arguments: str) -> Outcome:
    return Outcome(await forget(_memories(session), arguments))


async def _memory(session: Session, arguments: str) -> Outcome:
    return Outcome(await memory(_memories(session), arguments))


def _memories(session: Session) -> Memories:
    return Memories(session.store, session.clock, FactKeeper(session.store, session.clock))


async def _search(session: Session, arguments: str) -> Outcome:
    if not arguments:
        raise UsageError("what should be searched? Write for example: /search tea")
    result = await session.mind.recalling.searches.search_and_show(SearchRequest(arguments, limit=_SEARCH_LIMIT))
    if result is None:
        return Outcome("Still searching. The assistant sees what is found with a later message.")
    # The person sees all; the model is not shown again what its window has anyway.
    shown = "\n".join(_hit_line(find, session) for find in result.everything) or "Nothing found."
    return Outcome(f"{shown}\n(The assistant sees this with your next message.)")


def _hit_line(found: Recollection, session: Session) -> str:
    passage = found.hit.passage
    name = {PassageKind.MEMORY: f"m{passage.ref}: ", PassageKind.DOCUMENT: f"{passage.conversation}: "}
    superseded = " (no longer holds)" if found.memory is not None and found.memory.superseded_by is not None else ""
    at = local_moment(passage.at, session.clock.now())
    return f"{at}  {name.get(passage.kind, '')}{_shown(passage.text)}{superseded}"


def _shown(text: str) -> str:
    """The beginning of a find on one line. Not in the wording of the prompt: the terminal makes it printable."""
    line = " ".join(text[: 4 * _SHOWN_OF_A_FIND].split())
    return line if len(line) <= _SHOWN_OF_A_FIND else f"{line[: _SHOWN_OF_A_FIND - 1].rstrip()}…"


async def _doc(session: Session, arguments: str) -> Outcome:
    return Outcome(await doc(session.mind.documents, arguments, session.clock.zone))


async def _tools(session: Session, arguments: str) -> Outcome:
    toolbox = session.mind.toolbox
    names = [definition.name for definition in toolbox.definitions]
    rows = [(name, tool.summary) for name in names if (tool := toolbox.get(name)) is not None]
    loaded = set(toolbox.loaded)
    rows += [
        (name, f"{summary} ({'loaded' if name in loaded else 'can be loaded'})") for name, summary in toolbox.hints
    ]
    return Outcome(_two_columns(rows))


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


async def _cache(session: Session, arguments: str) -> Outcome:
    if session.last is None:
        raise UsageError("no turn of this run has been answered yet; `frontmind ledger` shows the earlier ones")
    return Outcome(cache_text(session.last))


async def _help(session: Session, arguments: str) -> Outcome:
    forms = [(f"{command.name} {form}", summary) for command in COMMANDS for form, summary in command.forms]
    return Outcome(_two_columns(forms))


def _two_columns(rows: Sequence[tuple[str, str]]) -> str:
    width = max((len(first) for first, _ in rows if len(first) <= _WIDEST_COLUMN), default=0)
    return "\n".join(f"{first:<{width}}  {second}" for first, second in rows)


async def _quit(session: Session, arguments: str) -> Outcome:
    return Outcome(leaves=True)


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand(
        "/remind",
        (
            ("WHAT WHEN", "add a reminder, such as: /remind call Anna tomorrow at 9am"),
            ("[list]", "list the reminders, with their ids"),
            ("done ID", "complete one; if it repeats, it moves on to its next time"),
            ("snooze ID WHEN", "put it off, such as: /remind snooze r1 in 20 minutes"),
            ("change ID WHEN", "give it another time"),
            ("change ID text TEXT", "give it another text"),
            ("delete ID", "delete it for good"),
        ),
        _remind,
        "adds a reminder",
        "To be reminded, the person writes /remind with what and when, such as: /remind call Anna tomorrow at 9am. "
        "/remind done r1 completes one. You cannot write it yourself. Where you have tools for reminders, use them.",
    ),
    SlashCommand(
        "/remember",
        (("TEXT", "keep a memory, such as: /remember You prefer tea"),),
        _remember,
        "keeps a memory",
        "To have something kept for good, the person writes /remember and the text.",
    ),
    SlashCommand(
        "/forget",
        (("ID", "delete a memory for good"),),
        _forget,
        "deletes a memory",
        "To have a memory deleted, the person writes /forget and its id, such as: /forget m3.",
    ),
    SlashCommand(
        "/memory",
        (
            ("[list [all]]", "list them, with their ids; all: also the superseded"),
            ("show ID", "show where it comes from, and what it is linked to"),
            ("edit ID TEXT", "give it another text"),
            ("until|happens ID DATE", "say up to when it holds, or when it takes place; none for never"),
            ("restore ID", "let one that is superseded hold again"),
            ("export|import FILE", "write all to a file, or add those of one: .jsonl or .md"),
            ("status", "how many there are, and what a model has extracted"),
        ),
        _memory,
        "the person lists and changes memories",
    ),
    SlashCommand(
        "/search",
        (("WORDS", "search what was kept, said and written; the assistant sees it"),),
        _search,
        "the person searches memories and earlier messages",
    ),
    SlashCommand(
        "/doc",
        (
            ("[list]", "list the documents that are always before the assistant"),
            ("add FILE [as NAME]", "add a file; the document follows it"),
            ("on|off NAME", "put it before the assistant, or take it away"),
            ("show NAME [SECTION]", "show its text"),
            ("collapse|expand NAME SECTION", "let the assistant see only the section's name, or its text"),
            ("versions|undo NAME", "list all texts that it had, or go back by one"),
            ("remove NAME", "delete it with its versions; the file stays"),
        ),
        _doc,
        "the person adds a document for you to know",
    ),
    SlashCommand("/tools", (("", "what the assistant can call"),), _tools),
    SlashCommand("/context", (("", "the window as a table: section, place, tokens, cached or fresh"),), _context),
    SlashCommand("/cache", (("", "what the cache gave in the last turn, what it should, and why"),), _cache),
    SlashCommand("/help", (("", "this list"),), _help),
    SlashCommand("/quit", (("", "leave"),), _quit),
)
_BY_NAME = {command.name: command for command in COMMANDS}
