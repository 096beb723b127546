"""Running a function that blocks, in a daemon thread: one that never returns holds neither the loop nor the process."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from frontmind.errors import RunError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThreadCall(Generic[T]):
    """A call that runs in a thread of its own.

    Attributes:
        outcome: what it returned or raised; whoever cancels this leaves the thread behind, since none can be stopped.
        is_over: whether the thread has come to its end, also when the event loop is closed by then.
    """

    outcome: asyncio.Future[T]
    is_over: Callable[[], bool]


def start_in_thread(call: Callable[[], T], name: str) -> ThreadCall[T]:
    """Start the call in a thread of its own, in the context variables of the caller.

    What a thread must not end a program with, such as SystemExit, comes out as a RunError.

    Args:
        name: what the call is, for the thread's name and for errors.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    over = threading.Event()
    context = contextvars.copy_context()

    def succeed(result: T) -> None:
        if not future.done():
            future.set_result(result)

    def fail(failure: Exception) -> None:
        if not future.done():
            future.set_exception(failure)

    def settle() -> Callable[[], None]:
        try:
            result = context.run(call)
        except BaseException as error:  # noqa: BLE001 - isolation boundary: carried to the waiting task
            # A future cannot carry StopIteration, and what would end a program must only end this call.
            if isinstance(error, Exception) and not isinstance(error, StopIteration):
                failure = error
            else:
                failure = RunError(f"{name} raised {type(error).__name__}")
                failure.__cause__ = error
            return lambda: fail(failure)
        return lambda: succeed(result)

    def run() -> None:
        settled = settle()
        over.set()
        # Whoever asked may be gone, and the loop closed, when a hanging call returns at last.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settled)

    threading.Thread(target=run, name=f"frontmind-{name}", daemon=True).start()
    return ThreadCall(future, over.is_set)
