"""The commands of the ``frontmind`` program, registered. Knows nothing of exit codes and streams."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from frontmind.cli.bench_command import bench_app
from frontmind.cli.chat import chat
from frontmind.cli.check import check
from frontmind.cli.diff import diff
from frontmind.cli.explain import explain_window
from frontmind.cli.import_command import import_history
from frontmind.cli.ledger_command import ledger
from frontmind.cli.memory import memory_app
from frontmind.cli.remind import remind_app
from frontmind.cli.replay_command import replay
from frontmind.cli.serve_command import serve
from frontmind.cli.show import show
from frontmind.cli.user_command import user_app
from frontmind.cli.verify_command import verify_cache

app = typer.Typer(
    name="frontmind",
    help="An assistant that remembers, with a notification center in front of its mind.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
window_app = typer.Typer(help="Look at the context window.", no_args_is_help=True)
app.add_typer(window_app, name="window")
app.add_typer(remind_app, name="remind")
app.add_typer(memory_app, name="memory")
app.add_typer(user_app, name="user")
app.add_typer(bench_app, name="bench")
app.command("chat")(chat)
app.command("serve")(serve)
app.command("import")(import_history)
app.command("verify-cache")(verify_cache)
app.command("ledger")(ledger)
app.command("replay")(replay)
window_app.command("show")(show)
window_app.command("explain")(explain_window)
window_app.command("diff")(diff)
window_app.command("check")(check)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"frontmind {version('frontmind')}")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    return None
