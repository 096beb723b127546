"""How a query in plain words becomes one of the index."""

from __future__ import annotations

import pytest

from frontmind.stores.sqlite.search import match_expression


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("When does the train to Berlin leave?", '"train" OR "Berlin" OR "leave"'),
        ("Berlin, BERLIN!", '"BERLIN"'),
        ("I don't know Zoe\u0308's e-mail", '"know" OR "Zoë" OR "e" OR "mail"'),
        ("What is it?", '"What" OR "is" OR "it"'),
        ("snake_case", '"snake" OR "case"'),
        ('"', None),
        ("", None),
    ],
)
def test_a_query_asks_for_any_of_its_telling_words(query: str, expression: str | None) -> None:
    assert match_expression(query) == expression


def test_of_a_long_text_the_words_at_both_ends_are_asked_for() -> None:
    expression = match_expression(" ".join(f"w{i}" for i in range(1000)))
    assert expression is not None
    words = expression.split(" OR ")
    assert words == [f'"w{i}"' for i in [*range(32), *range(968, 1000)]]
