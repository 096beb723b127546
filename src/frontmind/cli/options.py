"""The options that every command takes, and what they come to."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from frontmind.cli.machine_clock import MachineClock
from frontmind.cli.profiles_file import profiles_file_path, read_profiles_file
from frontmind.cli.settings import Settings
from frontmind.errors import UsageError
from frontmind.providers.names import FORMS, choose_model
from frontmind.providers.opening import Selection, select_model
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing, framing_of, parse_overrides
from frontmind.stores.sqlite import IN_MEMORY
from frontmind.values.clock import Clock, FixedClock, SystemClock, find_zone, parse_moment
from frontmind.window.choice import Framing, LayoutName

DbOption = Annotated[
    str | None, typer.Option("--db", metavar="FILE", help="The database; also FRONTMIND_DB.", show_default=False)
]
NowOption = Annotated[
    str | None,
    typer.Option("--now", metavar="ISO8601", help="A clock that stands still at this moment.", show_default=False),
]
TimezoneOption = Annotated[
    str | None,
    typer.Option(
        "--timezone", metavar="ZONE", help="Your IANA time zone; also FRONTMIND_TIMEZONE.", show_default=False
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"{FORMS}; also FRONTMIND_MODEL.",
        show_default=False,
    ),
]
FramingOption = Annotated[
    Framing | None,
    typer.Option(
        "--framing",
        help="How the notification center is sent; the model's profile chooses without it. Also FRONTMIND_FRAMING.",
        show_default=False,
    ),
]
LayoutOption = Annotated[
    LayoutName | None,
    typer.Option(
        "--layout",
        help="The layout of windows, in place of --framing: auto picks what costs least for how this conversation "
        "runs. Also FRONTMIND_LAYOUT.",
        show_default=False,
    ),
]
KeepAliveOption = Annotated[
    int | None,
    typer.Option(
        "--keep-alive",
        metavar="N",
        min=0,
        max=100,
        help="Refresh what is cached up to N times in a row, where that is likely to save more than it costs; also "
        "FRONTMIND_KEEP_ALIVE.",
        show_default=False,
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="FACT=VALUE,...",
        help="What you know better about the model, such as inputs=image/png+image/jpeg; also FRONTMIND_PROFILE.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

_OF_A_DATABASE: Final = ("", "-wal", "-shm", "-journal", ".locks")


def resolve_layout(layout: LayoutName | None, framing: Framing | None, settings: Settings) -> LayoutName:
    """The layout of this run; an option wins over the environment, and a framing leaves nothing to choose.

    Raises:
        UsageError: both options are given.
    """
    if layout is not None and framing is not None:
        raise UsageError("--layout and --framing both say how windows are sent; pass one of them")
    if framing is not None:
        return LayoutName.PROFILE
    return layout or settings.layout or LayoutName.PROFILE


def resolve_selection(
    model: str | None,
    framing: Framing | None,
    profile: str | None,
    settings: Settings,
    *,
    layout: LayoutName | None = None,
) -> Selection:
    """The model of this run with its profile and framing: the shipped facts, then those of the file of the user's own
    profiles, then those given for this run.

    Raises:
        UsageError: the name, a fact, the framing or the layout cannot be used.
    """
    name = choose_model(model, os.environ)
    own = read_profiles_file(profiles_file_path(os.environ)).get(str(name), {})
    wanted = resolve_layout(layout, framing, settings)
    asked = framing or (settings.framing if layout is None and settings.layout is None else None)
    selection = select_model(
        name,
        framing=asked,
        overrides=own | parse_overrides(settings.profile if profile is None else profile),
        max_output_tokens=settings.max_output_tokens,
    )
    named = framing_of(wanted, selection.profile)
    if named is None:
        return selection
    if named not in selection.profile.framings:
        raise UsageError(
            f"{name} cannot take the layout {wanted.value!r}; use --layout {' or '.join(_layouts(selection.profile))}"
        )
    return replace(selection, framing=choose_framing(selection.profile, named))


def _layouts(profile: Profile) -> list[str]:
    """The layouts that can be asked for by name and that the model takes."""
    framings = [(layout, framing_of(layout, profile)) for layout in LayoutName]
    return [layout.value for layout, framing in framings if framing is not None and framing in profile.framings]


def resolve_clock(now: str | None, timezone: str | None, settings: Settings) -> Clock:
    """The clock of this run.

    Raises:
        UsageError: the zone is unknown, or the moment cannot be read.
    """
    name = settings.timezone if timezone is None else timezone
    clock: Clock = MachineClock() if name is None else SystemClock(find_zone(name))
    if now is None:
        return clock
    zone = clock.zone
    return FixedClock(parse_moment(now, zone), zone)


def resolve_db(option: str | None, settings: Settings) -> str:
    """The database of this run, as a path or ``:memory:``."""
    return option if option is not None else str(settings.db)


def spare_database(path: Path, db: str) -> None:
    """Refuse to write over the database of this run, or over a file that SQLite keeps beside it.

    Args:
        path: what would be written: it may be a link, or another name of the same file.

    Raises:
        UsageError: it is one of these files.
    """
    if db == IN_MEMORY:
        return
    file = named_path(db).resolve()
    for ending in _OF_A_DATABASE:
        kept = file.with_name(f"{file.name}{ending}")
        if path.resolve() == kept or (path.exists() and kept.exists() and path.samefile(kept)):
            raise UsageError(f"{path} belongs to the database {db}; name another file")


def named_path(text: str) -> Path:
    """The path that a person wrote, ``~`` expanded.

    Raises:
        UsageError: no file can have this name.
    """
    try:
        path = Path(text).expanduser()
        path.stat()
    except FileNotFoundError:
        return path
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot use the path {text[:80]!r} ({reason}); pass another one") from error
    return path


def _read(path: Path, limit: int) -> bytes:
    """The first ``limit`` bytes; of a pipe that nobody has open for writing none, since nobody may ever write to it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        first = b""
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            try:
                first = os.read(descriptor, limit)
            except BlockingIOError:
                # Somebody has it open and has not written yet.
                first = b""
            else:
                if not first:
                    return b""
        os.set_blocking(descriptor, True)
        return first + file.read(limit - len(first))


def read_text_file(path: Path, what: str, *, limit: int) -> str:
    """The text of a file that the person named.

    Args:
        what: what the file is, for the error.
        limit: the most bytes that it may have.

    Raises:
        UsageError: it cannot be read, is too large, or is not UTF-8.
    """
    try:
        return read_file(path, what, limit=limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} {path} is not UTF-8 text; convert it first") from error


def read_file(path: Path, what: str, *, limit: int) -> bytes:
    """The bytes of a file that the person named.

    Args:
        what: what the file is, for the error.
        limit: the most bytes that it may have.

    Raises:
        UsageError: it cannot be read, or is too large.
    """
    try:
        data = _read(path, limit + 1)
    except OSError as error:
        raise UsageError(f"cannot read {what} {path} ({error.strerror}); check the path") from error
    except ValueError as error:
        raise UsageError(f"cannot read {what} {str(path)!r} ({error}); check the path") from error
    if len(data) > limit:
        raise UsageError(f"{what} {path} is larger than {limit // 1_000_000} MB; pass a smaller one")
    return data
