"""The table of the load on the server: its rows are measured with a real server, and its verdict is computed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from benchmarks.server_load import LoadRow, MemoryRow, Page, Table, growth, markdown, measure, middle_and_worst, verdict
from benchmarks.server_load_people import fault, unchunked
from benchmarks.server_load_process import Plan, plan_in

GOOD = LoadRow("text", 800, (12.0, 90.0), (9.0, 60.0), 0, "", 35.0, 0.6, 0.1, (0.1, 1.0))
HELD = tuple(MemoryRow(2000 * number, 100.0 + number, 256, 128, 1000, 90.0) for number in range(1, 6))
TABLE = Table(200, (GOOD,), Page(1.0, 36, 149_000), 400, HELD, ())
PLAN = Plan(0.02, 6, 0.03)


def events(*texts: str, reply: str, last: str = "done") -> bytes:
    said = "".join(f"event: text\ndata: {json.dumps({'offset': 0, 'text': text})}\n\n" for text in texts)
    return f"{said}: ping\n\nevent: {last}\ndata: {json.dumps({'turn': {'reply': {'text': reply}}})}\n\n".encode()


def test_a_tiny_load_is_measured_with_a_real_server() -> None:
    table = asyncio.run(measure(people=3, turns=2, memory_people=3, memory_turns=15, plan=PLAN, think=0.01))
    assert [row.turns for row in table.loads] == [6, 6] and table.memory_errors == ()
    for row in table.loads:
        assert row.errors == 0, row.error
        assert 0 < row.first[0] <= row.first[1] and 0 < row.whole[0] <= row.whole[1]
        assert row.per_second > 0 and row.cpu > 0
    assert [row.turns for row in table.memory] == [3, 6, 9, 12, 15]
    assert all(row.rss > 1 and row.objects > 1000 and row.sessions == 3 for row in table.memory)
    assert table.page.first_byte > 0 and table.page.size > 10_000
    assert "| text | 6 |" in markdown(table) and "no error: yes" in markdown(table)


def test_a_plan_is_read_out_of_the_message_as_it_was_said() -> None:
    assert plan_in(f"Earlier {Plan(9.0, 1, 9.0)}, now {PLAN}") == PLAN


def test_a_reply_is_right_only_where_all_of_it_came_once() -> None:
    whole = "".join(PLAN.words)
    assert fault(events(whole[:5], whole[5:], reply=whole), PLAN) == ""
    assert "other text" in fault(events(whole[:5], reply=whole), PLAN)
    assert "other text" in fault(events(whole, whole[-5:], reply=whole), PLAN)
    assert "another reply" in fault(events(whole, reply=whole[:5]), PLAN)
    assert "failed" in fault(events(whole, reply=whole, last="failed"), PLAN)
    assert "without the last" in fault(b": ping\n\n", PLAN)


def test_chunks_are_put_together_wherever_they_were_cut() -> None:
    assert unchunked(b"3\r\nabc\r\nb\r\n0\r\n\r\n012345\r\n0\r\n\r\n") == b"abc0\r\n\r\n012345"


def test_the_99th_percentile_is_the_worst_but_one_of_a_hundred() -> None:
    assert middle_and_worst([number / 1000 for number in range(1, 101)]) == pytest.approx((50.5, 99.0))


def test_memory_grows_from_the_second_look_on() -> None:
    assert growth(HELD) == pytest.approx(105 / 102 - 1)
    assert growth((replace(HELD[0], rss=10.0), *HELD[1:])) == pytest.approx(105 / 102 - 1)


@pytest.mark.parametrize(
    ("table", "missed"),
    [
        (TABLE, 0),
        (replace(TABLE, loads=(GOOD, replace(GOOD, whole=(26.0, 90.0)))), 1),
        (replace(TABLE, loads=(replace(GOOD, whole=(26.0, 151.0)),)), 2),
        (replace(TABLE, loads=(replace(GOOD, errors=1, error="500"),)), 1),
        (replace(TABLE, memory_errors=("500",)), 1),
        (replace(TABLE, memory=(*HELD, replace(HELD[-1], rss=120.0))), 1),
    ],
)
def test_the_verdict_says_which_aims_are_missed(table: Table, missed: int) -> None:
    assert verdict(table).count("NO") == missed
