"""Canonical JSON: one spelling, from which the same bytes come again."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from frontmind.window.canonical import Json, canonical_json, digest, parse_json

any_text = st.text(st.characters(codec=None), max_size=12)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


def shuffled(value: Any) -> Any:
    """The same value with every dict in the opposite order."""
    if isinstance(value, dict):
        return {key: shuffled(item) for key, item in reversed(value.items())}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


def test_keys_are_sorted_and_there_is_no_white_space() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": {"d": True, "c": "x y"}, "é": "ü"}) == (
        '{"a":{"c":"x y","d":true},"b":[1,2.5,null],"é":"ü"}'.encode()
    )


@pytest.mark.requirement("RULE-8")
@settings(deadline=None, max_examples=300)
@given(values)
@example("\ud800\udc00")
@example(["\ud83d", "\ude00"])
def test_the_bytes_come_again_from_the_value_that_is_read_from_them(value: Json) -> None:
    written = canonical_json(value)
    assert canonical_json(json.loads(written)) == written
    assert canonical_json(parse_json(written.decode("utf-8"))) == written


@pytest.mark.requirement("RULE-8")
@settings(deadline=None, max_examples=200)
@given(values)
def test_the_order_of_insertion_does_not_change_a_byte(value: Json) -> None:
    assert canonical_json(shuffled(value)) == canonical_json(value)


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(codec=None), max_size=20))
def test_every_text_survives_and_surrogate_pairs_are_their_character(text: str) -> None:
    assert json.loads(canonical_json(text)) == text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("\U0001f600", '"\U0001f600"'.encode()),
        ("\ud83d\ude00", '"\U0001f600"'.encode()),
        ("\ud800", b'"\\ud800"'),
        ("a\udc00b", b'"a\\udc00b"'),
        ("\ude00\ud83d", b'"\\ude00\\ud83d"'),
        ('\x00\n"\\\x7f\u2028', '"\\u0000\\n\\"\\\\\x7f\u2028"'.encode()),
        ("\\ud800", b'"\\\\ud800"'),
    ],
    ids=ascii,
)
def test_a_text_is_spelled_in_one_way(text: str, written: bytes) -> None:
    assert canonical_json(text) == written


@pytest.mark.requirement("RULE-8")
def test_another_process_writes_the_same_bytes() -> None:
    value: Json = {"tools": [{"name": "b"}, {"name": "a"}], "é": "\ud800", "n": 0.1, "m": {"y": 1, "x": 2}}
    program = (
        "import json, sys; from frontmind.window.canonical import canonical_json, digest; "
        "print(digest(canonical_json(json.loads(sys.argv[1]))))"
    )
    for seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", program, json.dumps(value)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.strip() == digest(canonical_json(value))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_what_json_has_no_number_for_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": [number]})


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "[-1e999]", "9" * 5000, "[" * 100_000]
)
def test_a_text_that_could_not_be_written_again_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"[a-zA-Z]{3}"):
        parse_json(text)


def test_numbers_are_read_as_json_has_them() -> None:
    assert parse_json('{"a": [1, -2.5, 1e3, true, null, "x"]}') == {"a": [1, -2.5, 1000.0, True, None, "x"]}


def test_the_digest_is_sha_256_in_hex() -> None:
    assert digest(b"abc") == hashlib.sha256(b"abc").hexdigest()
    assert len(digest(b"")) == 64
