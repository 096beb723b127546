"""How Python itself runs while a server does: its threads and its garbage collector, for many short tasks at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

SWITCH_SECONDS: Final = 0.0005
"""How long one thread may keep the interpreter while another waits for it. With Python's own 5 ms the thread of the
database, which everybody waits for many times a turn, would get it late while the loop is busy with others' replies.
"""

COLLECTED_AT: Final = (10_000, 10, 10)
"""When is collected. With Python's own 700 an eighth of the time of a busy server goes into looking through the same
conversations again.
"""


@contextmanager
def tuned_for_many() -> Iterator[None]:
    """Run so as long as the context is open. What is there already is not looked through until then."""
    switch, collected_at = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*COLLECTED_AT)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*collected_at)
        sys.setswitchinterval(switch)
