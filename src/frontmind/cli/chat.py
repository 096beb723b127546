"""``frontmind chat``: talk to the assistant, in a terminal, through a pipe, or for one turn."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from frontmind.assistant.notices import Notices
from frontmind.cli.interrupt import interruptible
from frontmind.cli.notices import tell_due, tell_notices, watching
from frontmind.cli.opening import open_assistant
from frontmind.cli.options import (
    DbOption,
    FramingOption,
    JsonOption,
    KeepAliveOption,
    LayoutOption,
    ModelOption,
    NowOption,
    ProfileOption,
    TimezoneOption,
    resolve_clock,
    resolve_db,
    resolve_layout,
    resolve_selection,
)
from frontmind.cli.prompt import LineEditor
from frontmind.cli.session import Session, open_session
from frontmind.cli.settings import Settings, load_settings
from frontmind.cli.slash import is_command, run_command, tool_descriptions
from frontmind.cli.terminal import note, say
from frontmind.cli.views import JsonView, TextView, View
from frontmind.errors import FrontmindError, ModelUnavailable, StoreError
from frontmind.providers.opening import Selection
from frontmind.values.clock import Clock
from frontmind.window.choice import LayoutName

EXIT_FINE = 0
EXIT_PROBLEM = 1
EXIT_INTERRUPTED = 130
_LEAVE = -1
_PATIENCE: Final = timedelta(seconds=30)
"""How long a program waits at its end for what a model was asked beside the turns."""

Fatal: TypeAlias = tuple[type[FrontmindError], ...]


def chat(
    message: Annotated[
        str | None, typer.Option("--message", metavar="TEXT", help="One turn with this message.", show_default=False)
    ] = None,
    model: ModelOption = None,
    framing: FramingOption = None,
    layout: LayoutOption = None,
    keep_alive: KeepAliveOption = None,
    profile: ProfileOption = None,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    as_json: JsonOption = False,
) -> None:
    """Talk to the assistant. Input may be piped in, a message or command a line; /help lists the commands.

    Tools of MCP servers come from settings.toml in your folder for settings, or from the file in FRONTMIND_SETTINGS.
    """
    settings = load_settings()
    selection = resolve_selection(model, framing, profile, settings, layout=layout)
    clock = resolve_clock(now, timezone, settings)
    wanted = resolve_layout(layout, framing, settings)
    often = settings.keep_alive if keep_alive is None else keep_alive
    settings = settings.model_copy(update={"layout": wanted, "keep_alive": often})
    code = asyncio.run(_chat(message, selection, clock, settings, db=resolve_db(db, settings), as_json=as_json))
    if code != EXIT_FINE:
        raise typer.Exit(code)


async def _chat(
    message: str | None, selection: Selection, clock: Clock, settings: Settings, *, db: str, as_json: bool
) -> int:
    notices = Notices()
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(open_assistant(selection, settings, db=db, notices=notices))
        session = await stack.enter_async_context(
            open_session(
                opened.store,
                opened.model,
                clock,
                tool_descriptions(),
                loadable=opened.loadable,
                loading=opened.loading,
                recall=opened.recall,
                chooses_layout=settings.layout is LayoutName.AUTO,
                keep_alive=settings.keep_alive,
                tell=notices.add,
            )
        )
        view: View = JsonView() if as_json else TextView()
        await tell_due(session, view)
        if message is not None:
            code = await _handle(session, message, view, fatal=(FrontmindError,))
            await _finish(session, code)
            return EXIT_FINE if code == _LEAVE else code
        if sys.stdin.isatty():
            return await _interactive(session, db, view)
        code = await _piped(session, view)
        await _finish(session, code)
        return code


async def _finish(session: Session, code: int) -> None:
    """Let what a model was asked beside the turns come to its end: it is paid for, and would be asked for again.
    Whoever pressed Ctrl-C waits for nothing.
    """
    if code == EXIT_INTERRUPTED:
        return
    ended = await interruptible(session.mind.recalling.segments.finish(_PATIENCE))
    if ended is False:
        note(f"frontmind: what a model writes of earlier segments took over {_PATIENCE.seconds} s; it is asked again")
    tell_notices(session)


async def _piped(session: Session, view: View) -> int:
    code = EXIT_FINE
    while line := sys.stdin.readline():
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        view.asked(text)
        # Nobody is there to start a server or to free a disk: further lines would only fail as well.
        outcome = await _handle(session, text, view, fatal=(ModelUnavailable, StoreError))
        if outcome == _LEAVE:
            break
        if outcome == EXIT_INTERRUPTED:
            return outcome
        code = max(code, outcome)
    return code


async def _interactive(session: Session, db: str, view: View) -> int:
    editor = LineEditor(None if db == ":memory:" else Path(f"{db}.history"))
    say(f"Frontmind with {session.model.name}. Alt-Enter begins a new line, Ctrl-C stops a reply, /help, /quit.")
    idle = asyncio.Event()
    async with watching(session, view, idle):
        while True:
            idle.set()
            try:
                text = await editor.read()
            except KeyboardInterrupt:
                say("(/quit or Ctrl-D leaves)")
                continue
            except EOFError:
                return EXIT_FINE
            finally:
                idle.clear()
            if not text.strip():
                continue
            if await _handle(session, text, view, fatal=()) == _LEAVE:
                return EXIT_FINE


async def _handle(session: Session, text: str, view: View, *, fatal: Fatal) -> int:
    """Carry out a command or a turn, and show it.

    Args:
        fatal: the errors that end the program; the others are shown, and the chat goes on.

    Returns:
        An exit code, or `_LEAVE`.
    """
    try:
        if is_command(text):
            outcome = await run_command(session, text)
            view.done(outcome)
            # What was kept is embedded now and not behind the next turn.
            session.mind.recalling.indexer.wake()
            tell_notices(session)
            return _LEAVE if outcome.leaves else EXIT_FINE
        turn = session.orchestrator.run_turn(text, on_text=view.piece, on_event=view.happened)
        report = await interruptible(turn)
        if report is None:
            view.stopped()
            return EXIT_INTERRUPTED
        session.last = report
        view.answered(report)
        for problem in session.mind.documents.take_problems():
            note(f"frontmind: {problem}")
        tell_notices(session)
        await tell_due(session, view)
    except FrontmindError as error:
        if isinstance(error, fatal):
            raise
        view.failed(error)
        return EXIT_PROBLEM
    return EXIT_FINE
