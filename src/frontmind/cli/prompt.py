"""The input line of an interactive chat: history, several lines, pasted text as it is."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import WordCompleter
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout

from frontmind.cli.slash import COMMANDS


class LineEditor:
    """Reads messages from a terminal.

    Args:
        history: the file for earlier input; None keeps it in memory.
    """

    def __init__(self, history: Path | None) -> None:
        kept: History = InMemoryHistory() if history is None else FileHistory(str(history))
        names = [command.name for command in COMMANDS]
        self._session: PromptSession[str] = PromptSession(
            history=kept,
            multiline=True,
            key_bindings=_bindings(),
            prompt_continuation="  ",
            completer=WordCompleter(names, sentence=True),
            complete_while_typing=False,
        )

    async def read(self) -> str:
        """The next message.

        Raises:
            EOFError: Ctrl-D.
            KeyboardInterrupt: Ctrl-C.
        """
        # A notice that comes meanwhile is printed above the line that is being written.
        with patch_stdout(raw=True):
            return await self._session.prompt_async("> ")


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _submit(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
