"""Calls summed to rows: nothing is lost or counted twice, and what is not known stays so."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontmind.cachelab.ledger import (
    LABELS,
    Amount,
    Grouping,
    Row,
    TokenPrices,
    newest_rows,
    rows_by,
    sum_calls,
)
from frontmind.cachelab.ledger_rows import csv_text, row_json, sums_json
from frontmind.values.calls import CacheVerdict, Call, CallEnd, CallPart, Cause, NewCall, Purpose
from frontmind.values.usage import Usage

NINE = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
NOTHING_LOST = CacheVerdict(Cause.NOTHING)
PRICES = TokenPrices(Decimal("0.3"), Decimal("3.75"), Decimal(3), Decimal(15))


def ended(
    number: int,
    *,
    read: int = 0,
    written: int = 0,
    fresh: int = 0,
    output: int = 0,
    turn: int = 1,
    step: int = 0,
    conversation: str = "main",
    model: str = "anthropic:claude-sonnet-5",
    purpose: Purpose = Purpose.TURN,
    sent_at: datetime | None = None,
    expected: int | None = None,
    cost: str | None = None,
    full_price: str | None = None,
    verdict: CacheVerdict = NOTHING_LOST,
    parts: tuple[CallPart, ...] = (),
    estimated: bool = False,
) -> Call:
    tokens = read + written + fresh
    new = NewCall(
        conversation,
        turn,
        step,
        purpose,
        model,
        "assistant",
        "ab",
        sent_at or NINE + number * MINUTE,
        None if expected is None else Usage(tokens, expected, 0, 0),
    )
    end = CallEnd(
        new.sent_at + MINUTE,
        Usage(tokens, read, written, output, estimated),
        None if cost is None else Decimal(cost),
        None if full_price is None else Decimal(full_price),
        verdict,
        "",
        parts,
    )
    return Call(number, new, end)


def broken(number: int, *, turn: int = 1, step: int = 0) -> Call:
    return replace(ended(number, turn=turn, step=step), end=None)


def labels(rows: Sequence[Row]) -> list[tuple[str | int, ...]]:
    return [row.labels for row in rows]


class TestSums:
    def test_the_calls_of_a_turn_are_one_row(self) -> None:
        calls = [
            ended(1, read=0, written=90, fresh=10, output=5, expected=0, cost="0.1", full_price="0.08"),
            ended(2, step=1, read=90, written=20, fresh=10, output=6, expected=90, cost="0.02", full_price="0.12"),
            ended(3, turn=2, read=110, written=10, fresh=10, output=7),
        ]
        first, second = rows_by(Grouping.TURN, calls, UTC)
        assert labels([first, second]) == [("main", 1, "turn"), ("main", 2, "turn")]
        sums = first.sums
        assert (sums.calls, sums.broken_off) == (2, 0)
        assert (sums.input, sums.read, sums.written, sums.fresh, sums.output) == (220, 90, 110, 20, 11)
        assert sums.hit_share == 90 / 220
        assert (sums.expected_read, sums.behind) == (90, 0)
        assert (sums.cost, sums.full_price, sums.saved) == (
            Amount(Decimal("0.12"), 0),
            Amount(Decimal("0.20"), 0),
            Amount(Decimal("0.08"), 0),
        )
        assert first.last == 2

    def test_money_is_summed_without_rounding(self) -> None:
        calls = [ended(number, fresh=1, cost="0.1", full_price="0.1") for number in range(10)]
        assert sum_calls(calls).cost.dollars == 1
        assert sums_json(sum_calls(calls))["dollars"] == "1.0"

    def test_what_is_not_known_is_not_nothing(self) -> None:
        unknown = sum_calls([ended(1, fresh=5)])
        assert (unknown.cost, unknown.saved, unknown.expected_read) == (Amount(None, 1), Amount(None, 1), None)
        shown = sums_json(unknown)
        assert (shown["dollars"], shown["saved"], shown["expected_read"], shown["behind"]) == (None, None, None, None)
        partly = sum_calls([ended(1, fresh=5), ended(2, fresh=5, cost="0.5", expected=3)])
        assert (partly.cost, partly.full_price, partly.saved) == (
            Amount(Decimal("0.5"), 1),
            Amount(None, 2),
            Amount(None, 2),
        )
        assert (partly.expected_read, partly.foretold, partly.behind) == (3, 1, 3)

    def test_a_call_without_an_end_is_counted_and_its_tokens_are_not_known(self) -> None:
        alone = sum_calls([broken(1)])
        assert (alone.calls, alone.broken_off, alone.input, alone.read, alone.hit_share) == (1, 1, None, None, None)
        assert alone.cost == Amount(None, 1)
        both = sum_calls([broken(1), ended(2, read=3, fresh=1, cost="0.5")])
        assert (both.calls, both.broken_off, both.input, both.read) == (2, 1, 4, 3)
        assert both.cost == Amount(Decimal("0.5"), 1)

    def test_more_than_expected_in_one_call_does_not_hide_less_in_another(self) -> None:
        sums = sum_calls([ended(1, read=100, expected=50), ended(2, read=10, fresh=90, expected=40)])
        assert (sums.expected_read, sums.read, sums.behind) == (90, 110, 30)

    def test_lost_tokens_stand_under_their_cause_the_most_first(self) -> None:
        calls = [
            ended(1, fresh=9, verdict=CacheVerdict(Cause.MOVED, 5)),
            ended(2, fresh=9, verdict=CacheVerdict(Cause.EXPIRED, 7)),
            ended(3, fresh=9, verdict=CacheVerdict(Cause.MOVED, 4)),
            ended(4, fresh=9, verdict=CacheVerdict(Cause.NOTHING, 99)),
            ended(5, fresh=9, verdict=CacheVerdict(Cause.FIRST, 0)),
        ]
        assert sum_calls(calls).lost == ((Cause.MOVED, 9), (Cause.EXPIRED, 7))

    def test_an_estimate_makes_the_sum_an_estimate(self) -> None:
        assert sum_calls([ended(1, fresh=1), ended(2, fresh=1, estimated=True)]).estimated
        assert not sum_calls([ended(1, fresh=1)]).estimated

    def test_a_cache_that_cost_more_than_it_gave_saved_less_than_nothing(self) -> None:
        saved = sum_calls([ended(1, written=9, cost="0.3", full_price="0.2")]).saved
        assert saved == Amount(Decimal("-0.1"), 0)

    def test_nothing_sums_to_nothing(self) -> None:
        sums = sum_calls([])
        assert (sums.calls, sums.input, sums.hit_share, sums.cost) == (0, None, None, Amount(None, 0))


class TestRows:
    def test_a_day_is_a_day_of_the_zone(self) -> None:
        late = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
        calls = [ended(1, fresh=1, sent_at=late), ended(2, fresh=1, sent_at=late + timedelta(hours=1))]
        assert labels(rows_by(Grouping.DAY, calls, UTC)) == [("2026-11-30",), ("2026-12-01",)]
        assert labels(rows_by(Grouping.DAY, calls, ZoneInfo("Europe/Berlin"))) == [("2026-12-01",)]
        assert labels(rows_by(Grouping.DAY, calls, ZoneInfo("America/New_York"))) == [("2026-11-30",)]

    def test_conversations_and_models_come_by_the_tokens_of_their_prompts(self) -> None:
        calls = [
            ended(1, fresh=1, conversation="small", model="local"),
            ended(2, fresh=9, conversation="large", model="local"),
            ended(3, fresh=9, conversation="alike"),
        ]
        assert labels(rows_by(Grouping.CONVERSATION, calls, UTC)) == [("alike",), ("large",), ("small",)]
        assert labels(rows_by(Grouping.MODEL, calls, UTC)) == [("local",), ("anthropic:claude-sonnet-5",)]

    def test_a_call_that_kept_the_cache_alive_is_apart_from_the_turn(self) -> None:
        calls = [ended(1, fresh=1), ended(2, fresh=1, purpose=Purpose.KEEP_ALIVE)]
        assert labels(rows_by(Grouping.TURN, calls, UTC)) == [("main", 1, "turn"), ("main", 1, "keep_alive")]

    def test_turns_of_the_same_number_in_two_conversations_are_two(self) -> None:
        calls = [ended(1, fresh=1), ended(2, fresh=1, conversation="other"), ended(3, fresh=1)]
        rows = rows_by(Grouping.TURN, calls, UTC)
        assert [(row.labels[0], row.sums.calls) for row in rows] == [("main", 2), ("other", 1)]

    def test_each_call_can_be_a_row(self) -> None:
        calls = [ended(7, fresh=1), broken(8, step=1)]
        rows = rows_by(Grouping.CALL, calls, ZoneInfo("Europe/Berlin"))
        assert [row.call for row in rows] == calls
        assert rows[0].labels[:2] == (7, "2026-11-30T10:07:00+01:00")

    def test_the_newest_rows_are_those_with_the_newest_calls(self) -> None:
        calls = [ended(1, fresh=9, conversation="a"), ended(2, fresh=5, conversation="b"), ended(3, fresh=1)]
        rows = rows_by(Grouping.CONVERSATION, calls, UTC)
        assert labels(newest_rows(rows, 2)) == [("b",), ("main",)]
        assert labels(newest_rows(rows, 9)) == labels(rows)
        assert newest_rows(rows, 0) == []


class TestTrinkets:
    PARTS = (
        CallPart("domaindoc", "DomaindocTrinket", 0, 600, 0),
        CallPart("history", "", 0, 300, 0),
        CallPart("datetime_section", "TimeManager", 0, 0, 60),
        CallPart("user message", "", 0, 0, 40),
    )
    MOVED = CacheVerdict(Cause.MOVED, 800, "domaindoc moved", "system[1] (domaindoc)")
    CALL = ended(1, written=900, fresh=100, output=50, cost="0.0044", full_price="0.00375", verdict=MOVED, parts=PARTS)

    def rows(self, *calls: Call, prices: TokenPrices | None = PRICES) -> dict[tuple[str | int, ...], Row]:
        return {row.labels: row for row in rows_by(Grouping.TRINKET, calls, UTC, lambda model: prices)}

    def test_each_trinket_has_its_tokens_its_part_of_the_cost_and_what_was_lost_by_it(self) -> None:
        rows = self.rows(self.CALL)
        assert set(rows) == {
            ("DomaindocTrinket", ""),
            ("", "history"),
            ("TimeManager", ""),
            ("", "user message"),
            ("", "reply"),
        }
        document = rows["DomaindocTrinket", ""].sums
        assert (document.written, document.fresh, document.lost) == (600, 0, ((Cause.MOVED, 800),))
        # 0.0044 is what 900 written, 100 fresh and 50 generated tokens cost at these prices for a million, and a bit.
        total = Decimal(900) * PRICES.written + 100 * PRICES.fresh + 50 * PRICES.output
        expected = Decimal("0.0044") * 600 * PRICES.written / total
        assert document.cost.dollars is not None
        assert abs(document.cost.dollars - expected) < Decimal("1e-11")
        assert rows["", "history"].sums.lost == ()
        assert rows["", "reply"].sums.output == 50

    @given(
        st.lists(st.tuples(*[st.integers(0, 10**6)] * 3), min_size=1, max_size=6),
        st.decimals(0, 100, places=9),
        st.integers(0, 999),
    )
    def test_what_the_trinkets_have_together_is_what_the_call_took(
        self, tokens: list[tuple[int, int, int]], cost: Decimal, output: int
    ) -> None:
        parts = tuple(CallPart(f"p{number}", f"T{number % 2}", *counts) for number, counts in enumerate(tokens))
        call = ended(
            1,
            read=sum(part.read for part in parts) + 3,
            written=sum(part.written for part in parts),
            fresh=sum(part.fresh for part in parts),
            output=output,
            cost=str(cost),
            parts=parts,
        )
        rows = self.rows(call)
        whole = sum_calls([call])
        for field in ("input", "read", "written", "fresh", "output"):
            assert sum(getattr(row.sums, field) for row in rows.values()) == getattr(whole, field)
        assert sum(row.sums.cost.dollars or 0 for row in rows.values()) == cost
        assert rows["", "not attributed"].sums.read == 3, "what no part has is not lost"

    def test_without_prices_the_parts_of_the_cost_are_not_known(self) -> None:
        rows = self.rows(self.CALL, prices=None)
        assert {row.sums.cost for row in rows.values()} == {Amount(None, 1)}

    def test_a_call_without_an_end_is_attributed_to_nobody(self) -> None:
        rows = self.rows(broken(1))
        assert {labels: row.sums.broken_off for labels, row in rows.items()} == {("", "not attributed"): 1}

    def test_tokens_that_are_counted_as_read_and_written_are_in_the_prompt_once(self) -> None:
        usage = Usage(input=1_000, cached=800, written=900, output=0)
        parts = (CallPart("a", "A", 700, 700, 0), CallPart("b", "B", 100, 200, 0), CallPart("c", "C", 0, 0, 100))
        call = replace(self.CALL, end=CallEnd(NINE, usage, parts=parts))
        rows = self.rows(call)
        assert [row.sums.input for row in rows.values()] == [700, 200, 100]
        assert sum_calls([call]).input == 1_000

    def test_two_sections_of_a_trinket_are_one_row_and_one_call(self) -> None:
        parts = (CallPart("a", "Mine", 5, 0, 0), CallPart("b", "Mine", 0, 0, 7))
        (row,) = self.rows(ended(1, read=5, fresh=7, parts=parts)).values()
        assert (row.labels, row.sums.calls, row.sums.read, row.sums.fresh) == (("Mine", ""), 1, 5, 7)


class TestForPrograms:
    CALLS = (
        ended(1, read=50, fresh=50, expected=60, cost="0.10", full_price="0.30", verdict=CacheVerdict(Cause.MOVED, 10)),
        ended(2, turn=2, fresh=300, conversation='=HYPERLINK("x")'),
        broken(3, turn=3),
    )

    @pytest.mark.parametrize("grouping", Grouping)
    def test_json_and_csv_say_the_same(self, grouping: Grouping) -> None:
        rows, total = rows_by(grouping, self.CALLS, UTC), sum_calls(self.CALLS)
        as_json = [row_json(grouping, row, total) for row in rows]
        assert json.loads(json.dumps(as_json)) == as_json
        read = list(csv.DictReader(csv_text(grouping, rows, total).splitlines()))
        assert len(read) == len(rows) >= 1
        for line, row in zip(read, as_json, strict=True):
            for key in ("calls", "input", "read", "hit_share", "behind", "dollars", "saved", "share"):
                assert line[key] == ("" if row[key] is None else str(row[key]))
            assert set(LABELS[grouping]) <= set(line)

    def test_the_shares_are_of_all_prompt_tokens(self) -> None:
        rows, total = rows_by(Grouping.TURN, self.CALLS, UTC), sum_calls(self.CALLS)
        assert [row_json(Grouping.TURN, row, total)["share"] for row in rows] == [0.25, 0.75, None]

    def test_a_single_call_is_told_with_all_that_is_known(self) -> None:
        part = CallPart("history", "", 50, 0, 50)
        verdict = CacheVerdict(Cause.MOVED, 10, "it moved", "system[1] (domaindoc)", "before", "after")
        call = ended(1, read=50, fresh=50, expected=60, verdict=verdict, parts=(part,))
        (row,) = rows_by(Grouping.CALL, [call], UTC)
        details = row_json(Grouping.CALL, row, sum_calls([call]))["details"]
        assert isinstance(details, dict)
        assert details["verdict"] == {
            "cause": "moved",
            "tokens": 10,
            "reason": "it moved",
            "place": "system[1] (domaindoc)",
            "before": "before",
            "after": "after",
        }
        assert details["parts"] == [{"name": "history", "trinket": "", "read": 50, "written": 0, "fresh": 50}]
        assert details["expected"] == {
            "input": 100,
            "cached": 60,
            "written": 0,
            "output": 0,
            "estimated": False,
            "written_by_ttl": {},
        }

    @pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "\r=1", "\n=1", " =1", "\x00=1"])
    def test_no_name_becomes_a_formula(self, name: str) -> None:
        calls = [ended(1, fresh=1, conversation=name)]
        text = csv_text(Grouping.CONVERSATION, rows_by(Grouping.CONVERSATION, calls, UTC), sum_calls(calls))
        _, (cell, *_) = list(csv.reader(text.splitlines()))
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))

    def test_a_name_of_several_lines_is_one_cell_of_one_line(self) -> None:
        calls = [ended(1, fresh=1, conversation='a\n"b",c')]
        text = csv_text(Grouping.CONVERSATION, rows_by(Grouping.CONVERSATION, calls, UTC), sum_calls(calls))
        assert len(text.splitlines()) == 2
        assert list(csv.reader(text.splitlines()))[1][0] == 'a "b",c'

    def test_a_loss_of_money_stays_a_number(self) -> None:
        calls = [ended(1, written=9, cost="0.3", full_price="0.2")]
        text = csv_text(Grouping.TURN, rows_by(Grouping.TURN, calls, UTC), sum_calls(calls))
        (line,) = csv.DictReader(text.splitlines())
        assert line["saved"] == "-0.1"

    def test_a_small_amount_is_written_out(self) -> None:
        assert sums_json(sum_calls([ended(1, fresh=1, cost="1E-9")]))["dollars"] == "0.000000001"
