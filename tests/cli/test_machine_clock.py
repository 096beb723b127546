"""A person takes the program along on a trip: its clock follows the machine's zone."""

from __future__ import annotations

from typing import Any

import pytest

from frontmind.cli import machine_clock
from frontmind.cli.machine_clock import MachineClock
from frontmind.errors import UsageError


def test_the_zone_follows_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    zones: list[Any] = ["Europe/Berlin", "Europe/Berlin", "Asia/Tokyo", LookupError("no zone")]

    def name() -> str:
        found = zones.pop(0)
        if isinstance(found, Exception):
            raise found
        return str(found)

    monkeypatch.setattr(machine_clock, "get_localzone_name", name)
    clock = MachineClock()
    assert [str(clock.zone) for _ in range(2)] == ["Europe/Berlin", "Asia/Tokyo"]
    assert str(clock.now().tzinfo) == "Asia/Tokyo", "what cannot be read changes nothing"


def test_a_machine_without_a_zone_asks_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_clock, "get_localzone_name", lambda: "No/Where")
    with pytest.raises(UsageError, match="--timezone"):
        MachineClock()
