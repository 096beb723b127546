"""``frontmind serve``: the page and the HTTP API. Reads the options; what serves is loaded behind them, since it needs
packages that the rest of the program does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Final

import typer

from frontmind.cli.options import (
    DbOption,
    FramingOption,
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
from frontmind.cli.settings import load_settings
from frontmind.errors import UsageError

DEFAULT_PORT: Final = 7766
_SERVING: Final = "frontmind.cli.serving"


def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="NAME", help="Where to listen; elsewhere than here it takes accounts.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65_535, help="0 for any.")] = DEFAULT_PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            metavar="NAME",
            help="A further name that the server goes by, such as that of a reverse proxy; may be given again.",
            show_default=False,
        ),
    ] = None,
    grace: Annotated[
        float,
        typer.Option(
            "--grace", metavar="SECONDS", min=0, max=3600, help="How long running turns may go on when it is ended."
        ),
    ] = 20.0,
    model: ModelOption = None,
    framing: FramingOption = None,
    layout: LayoutOption = None,
    keep_alive: KeepAliveOption = None,
    profile: ProfileOption = None,
    db: DbOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Serve the page and the HTTP API until it is ended. A second Ctrl-C ends it at once.

    Without accounts it is for one person on this machine; `frontmind user add NAME` makes the first account.
    """
    settings = load_settings()
    selection = resolve_selection(model, framing, profile, settings, layout=layout)
    clock = resolve_clock(now, timezone, settings)
    wanted = resolve_layout(layout, framing, settings)
    often = settings.keep_alive if keep_alive is None else keep_alive
    settings = settings.model_copy(update={"layout": wanted, "keep_alive": often})
    try:
        serving = import_module(_SERVING)
    except ModuleNotFoundError as error:
        raise UsageError(f"the server needs the package {error.name}; run: pip install 'frontmind[server]'") from error
    where = serving.Where(host, port, tuple(allow_host or ()), grace)
    serving.run_server(selection, clock, settings, db=resolve_db(db, settings), where=where)
