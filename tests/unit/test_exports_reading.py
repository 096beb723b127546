"""Opening exports: lists that are cut to their elements, and .zip files."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports import chat, conversations, entries, node, problems, told, zipped
from frontmind.continuum.exports import Export, ExportKind, json_stream
from frontmind.continuum.exports.json_stream import (
    CUT_OFF,
    NOT_IN_THE_LIST,
    TOO_LARGE,
    Element,
    elements,
    is_by_lines,
    lines,
)
from frontmind.errors import UsageError
from support import START

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=4) | st.lists(VALUES, max_size=4)


class Slow(io.BytesIO):
    """A file that gives little at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(3)


def a_chat(number: int) -> dict[str, object]:
    return chat(
        node(f"u{number}", None, "user", f"Question {number}"),
        node(f"a{number}", f"u{number}", "assistant", f"Reply {number}"),
        key=f"c-{number}",
    )


@given(st.lists(OBJECTS, max_size=5), st.sampled_from([None, 2]), st.booleans())
def test_a_list_is_cut_to_its_elements_wherever_the_reads_end(
    values: list[object], indent: int | None, ascii_only: bool
) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    for file in (io.BytesIO(data), Slow(data)):
        found = list(elements(file))
        assert [json.loads(element.data.decode("utf-8", "surrogatepass")) for element in found] == values
        assert [element.number for element in found] == list(range(1, len(values) + 1))


@given(st.binary(max_size=200))
def test_no_bytes_break_the_cutting(data: bytes) -> None:
    assert list(elements(Slow(data))) == list(elements(io.BytesIO(data)))
    assert all(element.data.strip() or element.fault for element in lines(io.BytesIO(data)))


def test_a_broken_element_is_one_element() -> None:
    found = elements(io.BytesIO(b'[{"a": 1}, {"b": nope}, null, {"d": "]"}] '))
    assert [element.data.strip() for element in found] == [
        b'{"a": 1}',
        b'{"b": nope}',
        b"null",
        b'{"d": "]"}',
    ]


def test_what_stands_behind_the_list_is_told() -> None:
    found = list(elements(Slow(b'[{"a": 1}] \n\n\n\n [{"b": 2}]')))
    assert found == [Element(1, b'{"a": 1}'), Element(2, b"", NOT_IN_THE_LIST)]


@pytest.mark.parametrize("end", [b"", b',{"b', b', {"b": "]', b',{"b":[{}]'])
def test_a_file_that_was_cut_off_gives_what_is_whole_and_says_so(end: bytes) -> None:
    assert list(elements(io.BytesIO(b'[{"a": 1}' + end))) == [Element(1, b'{"a": 1}'), Element(2, b"", CUT_OFF)]


def test_an_element_that_is_too_large_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "LARGEST_ELEMENT", 50)
    monkeypatch.setattr(json_stream, "_STEP", 8)
    large = json.dumps(["x"] * 40).encode()
    found = list(elements(io.BytesIO(b'[{"a":1},' + large + b',{"b":2}]')))
    assert found == [Element(1, b'{"a":1}'), Element(2, b"", TOO_LARGE), Element(3, b'{"b":2}')]
    found = list(lines(io.BytesIO(b'{"a":1}\n' + large + b'\n{"b":2}')))
    assert found == [Element(1, b'{"a":1}\n'), Element(2, b"", TOO_LARGE), Element(3, b'{"b":2}')]
    endless = list(elements(io.BytesIO(b'[{"a":1},{"b":"' + b"x" * 900)))
    assert endless == [Element(1, b'{"a":1}'), Element(2, b"", TOO_LARGE)]


def test_one_conversation_that_is_no_json_does_not_lose_the_file() -> None:
    written = [json.dumps(a_chat(number)).encode() for number in (1, 2, 3, 4)]
    written[1] = written[1].replace(b'"title":', b'"title" nonsense')
    written[2] = written[2].replace(b"Question", b"\xff\xfe")
    found = entries(ExportKind.CHATGPT, b"[" + b",".join(written) + b"]")
    assert [told(conversation) for conversation in conversations(found)] == [
        [(f"Question {number}", f"Reply {number}")] for number in (1, 4)
    ]
    assert [problem.place for problem in problems(found)] == ["conversation 2", "conversation 3"]
    assert "JSON" in problems(found)[0].why
    assert "UTF-8" in problems(found)[1].why


def test_a_zip_with_many_files_of_conversations_is_read_in_their_order() -> None:
    files: dict[str, object] = {f"export/conversations-{number}.json": [a_chat(number)] for number in range(60, 0, -1)}
    data = zipped({"user.json": {"id": 1}, "chat.html": b"<html>", **files})
    found = entries(ExportKind.CHATGPT, data, "export.zip")
    assert not problems(found)
    assert [told(conversation)[0][0] for conversation in conversations(found)] == [
        f"Question {number}" for number in range(1, 61)
    ]


def test_a_broken_file_in_a_zip_is_told_and_the_others_are_read() -> None:
    data = zipped({"conversations-1.json": [a_chat(1)], "conversations-2.json": b"<html>", "conversations-3.json": b""})
    found = entries(ExportKind.CHATGPT, data, "export.zip")
    assert len(conversations(found)) == 1
    assert [problem.place for problem in problems(found)] == [
        "conversations-2.json, conversation 1",
        "conversations-3.json, conversation 1",
    ]


def test_a_damaged_file_in_a_zip_is_told_and_the_others_are_read() -> None:
    data = bytearray(zipped({"conversations-1.json": [a_chat(1)] * 50, "conversations-2.json": [a_chat(2)]}))
    data[60:90] = bytes(30)
    found = entries(ExportKind.CHATGPT, bytes(data), "export.zip")
    assert told(conversations(found)[-1]) == [("Question 2", "Reply 2")]
    assert "conversations-1.json" in [problem.place for problem in problems(found)]


def test_sessions_in_a_zip_are_read() -> None:
    entry = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "Hello"}}
    found = entries(ExportKind.CLAUDE_CODE, zipped({"p/a.jsonl": entry, "p/b.txt": b"x"}), "sessions.zip")
    assert not problems(found)
    assert [conversation.turns[0].user.text for conversation in conversations(found)] == ["Hello"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "neither JSON nor a .zip"),
        (b"<html>", "neither JSON nor a .zip"),
        (zipped({"other.json": []}), "has no conversations.json"),
        (zipped({"conversations.json": []})[:-30], "damaged .zip"),
    ],
)
def test_a_file_that_is_no_export_is_refused_at_once(data: bytes, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Export(io.BytesIO(data), "x", ExportKind.CHATGPT, at=START)


def test_an_export_of_another_program_is_recognised() -> None:
    (problem,) = problems(entries(ExportKind.CLAUDE, [a_chat(1)]))
    assert problem.why.endswith("frontmind import chatgpt")


def test_the_position_grows_to_the_size() -> None:
    files: dict[str, object] = {f"conversations-{number}.json": [a_chat(number)] * 3 for number in range(4)}
    export = Export(io.BytesIO(zipped(files)), "x.zip", ExportKind.CHATGPT, at=START)
    positions = [entry.position for entry in export.entries()]
    assert positions == sorted(positions)
    assert len(positions) == 12
    assert 0.95 * export.size < positions[-1] <= export.size


def test_the_callers_file_stays_open() -> None:
    file = io.BytesIO(json.dumps([a_chat(1)]).encode())
    assert list(Export(file, "x", ExportKind.CHATGPT, at=START).entries())
    assert not file.closed


@pytest.mark.parametrize(
    ("head", "by_lines"),
    [
        (b'{"a": 1}\n{"a": 2}\n', True),
        (b'{"a": 1}', True),
        (b'{"a": \n{"a": 2}\n', True),
        (b"[1]\n[2]\n", True),
        (b"hello\n", True),
        (b"[1, 2]", False),
        (b'[{"a": 1},\n{"a": 2}]\n', False),
        (b'[\n{"a": 1}\n]\n', False),
        (b'{\n  "a": 1\n}\n', False),
        (b'{"a": {\n  "b": 1}}\n', False),
    ],
)
def test_a_file_of_one_value_a_line_is_told_from_one_value_over_several_lines(head: bytes, by_lines: bool) -> None:
    assert is_by_lines(head) is by_lines
