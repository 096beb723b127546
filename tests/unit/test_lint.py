"""What is wrong with requests of any origin, and what is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from conversations import FRAMED, claude, marked, sent
from frontmind.providers.reading import Hints, allowed_of, read_request
from frontmind.values.section import HEADER, RULE
from frontmind.window.choice import Framing
from frontmind.window.lint import Finding, Severity, lint
from support import shared

AUTOMATIC = {"cache_control": {"type": "ephemeral"}}
CALL = ("assistant", [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}])
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "seen"}
CENTER = f"{HEADER}\n{RULE}\n<datetime_section>\nnow\n</datetime_section>\n{RULE}"


def findings(*bodies: Any) -> list[Finding]:
    layouts = [read_request(body) for body in bodies]
    return [finding for found in lint(layouts, [allowed_of(layout) for layout in layouts]) for finding in found]


def rules(*bodies: Any) -> list[str]:
    return [finding.rule for finding in findings(*bodies)]


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def chat(*messages: dict[str, Any], **body: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": list(messages), **body}


@pytest.mark.parametrize(("provider", "model", "framing"), FRAMED)
def test_what_frontmind_sends_has_nothing_wrong(provider: str, model: str, framing: Framing) -> None:
    requests = sent(provider, model, framing)
    assert findings(*requests) == []
    for request in requests:
        assert findings(request) == []


def test_nothing_is_wrong_with_the_recorded_requests() -> None:
    lines = shared("cache", "recorded_requests.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    layouts = [read_request(row["request"], Hints(row["uri"], row["model"] or "")) for row in rows]
    found = lint(layouts, [allowed_of(layout) for layout in layouts])
    assert len(found) == 35
    assert sum(any(block.marker for block in layout.blocks) or layout.automatic is not None for layout in layouts) == 23
    assert [number for number, one in enumerate(found, start=1) if one] == []


PEERS = {
    "adk": {"marker-behind-volatile"},
    "agno": {"volatile-head", "marker-on-volatile"},
    "lc_dyn": {"volatile-head", "marker-on-volatile", "automatic-behind-volatile"},
    "lc_hud": {"automatic-behind-volatile"},
    "pyd62_claude-opus-4-8": set(),
    "pyd62_claude-sonnet-4-5": set(),
    "pyd_append": {"volatile-head"},
    "pyd_instr": {"volatile-head", "marker-behind-volatile"},
    "pyd_reminder": {"marker-on-volatile"},
}


@pytest.mark.parametrize("name", PEERS)
def test_what_other_libraries_sent_has_these_findings(name: str) -> None:
    lines = shared("peer_requests", f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    assert set(rules(*(json.loads(line)["body"] for line in lines))) == PEERS[name]


@pytest.mark.parametrize(
    "system",
    [
        "You help.\nCurrent time is 2026-11-30T15:09:20",
        "The current date and time: 30 November 2026",
        "Memory, rendered at 2026-11-30T09:15:00.456Z",
        "Today is Monday, 30 November 2026.",
        "Today's date: 2026-11-30",
        "It is now 09:15.",
        "now: 2026-11-30T09:15",
        "campaign (snapshot 4m old)",
        f"You help.\n{RULE}\n{CENTER}",
    ],
)
def test_text_that_moves_on_in_front_of_the_conversation_is_found_in_a_single_request(system: str) -> None:
    assert rules(claude("q0", system=system)) == ["volatile-head"]
    found = findings(claude("q0", system=marked(system)))
    assert [finding.rule for finding in found] == ["volatile-head", "marker-on-volatile"]
    assert {finding.severity for finding in found} == {Severity.WARNING}
    assert {finding.place for finding in found} == {"system[0]"}


@pytest.mark.parametrize(
    "system",
    [
        "Write dates in ISO 8601, for example 2026-11-30T09:15:00.",
        "Times have the format 2026-11-30T09:15.",
        "The current time is given in the notification center.",
        "The current time is {now}.",
        "Version of 2026-11-30.",
        "The project was kicked off on 2024-03-01 10:00.",
        "Log of 2026-11-30T09:15:00Z: all is well.",
        "What now is wanted: 3 answers. Today is the day for 2 of them.",
        "Users must be 18 years old. Files are kept for 30 days.",
    ],
)
def test_text_that_only_speaks_of_time_is_no_finding(system: str) -> None:
    assert rules(claude("q0", system=marked(system))) == []


def test_a_date_that_stays_the_same_is_no_finding() -> None:
    system = marked("The treaty was signed on 2019-05-01 10:00.")
    second = claude("q0", "a0", "q1", system=system)
    assert rules(claude("q0", system=system), second) == []
    moved = marked("The treaty was signed on 2019-05-01 10:01.")
    assert rules(claude("q0", system=moved), second) == ["volatile-head", "marker-on-volatile", "volatile-head"]


def test_a_marker_on_a_section_that_slides_is_found() -> None:
    body = claude("q0", "a0", RULE, ("assistant", marked(CENTER)), "q1")
    assert [(finding.rule, finding.place) for finding in findings(body)] == [
        ("marker-on-volatile", "messages[3].content[0]")
    ]


def test_a_marker_behind_a_section_that_slides_is_found() -> None:
    assert rules(claude("q0", "a0", RULE, CENTER, ("user", marked("q1")))) == ["marker-behind-volatile"]


def test_whether_a_section_inside_a_user_message_slides_is_told_by_the_next_request_alone() -> None:
    def asked(question: str, time: str) -> tuple[str, Any]:
        center = CENTER.replace("now", time)
        return "user", [block(f"{RULE}\n{center}"), *marked(question)]

    first = claude("q0", "a0", asked("q1", "9:15"))
    slid = claude("q0", "a0", "q1", "a1", asked("q2", "9:16"))
    kept = claude("q0", "a0", asked("q1", "9:15"), "a1", asked("q2", "9:16"))
    assert rules(first) == rules(slid) == rules(kept) == rules(first, kept) == []
    # What the section did once it does again: the last request has the same fault.
    together = lint([read_request(first), read_request(slid)], [allowed_of(read_request(first))] * 2)
    assert [[finding.rule for finding in one] for one in together] == [["marker-behind-volatile"]] * 2


def test_a_marker_at_the_end_of_the_history_is_no_finding() -> None:
    assert rules(claude("q0", ("assistant", marked("a0")), RULE, CENTER, "q1")) == []


def test_a_section_that_is_kept_for_good_may_stand_in_front_of_a_marker() -> None:
    first = ("user", [block(f"{RULE}\n{CENTER}"), *marked("q0")])
    assert rules(claude(first)) == []
    plain = ("user", [block(f"{RULE}\n{CENTER}"), block("q0")])
    second = claude(plain, "a0", ("user", [block(f"{RULE}\n{CENTER}"), *marked("q1")]))
    assert rules(claude(first), second) == []


def test_markers_of_a_running_tool_loop_are_no_finding() -> None:
    results = ("user", [{**RESULT, "cache_control": {"type": "ephemeral"}}])
    assert rules(claude("q0", "a0", RULE, CENTER, ("user", marked("q1")), CALL, results)) == []
    later = claude("q0", "a0", "q1", CALL, ("user", [RESULT]), "a1", "q2")
    assert rules(claude("q0", "a0", ("assistant", "now: 9:00"), ("user", "q1"), CALL, results), later) == []


def test_automatic_caching_behind_a_section_that_slides_is_found_but_not_while_tools_run() -> None:
    assert rules(claude("q0", "a0", RULE, CENTER, "q1", **AUTOMATIC)) == ["automatic-behind-volatile"]
    assert rules(claude("q0", "a0", "q1", **AUTOMATIC)) == []
    assert rules(claude("q0", "a0", RULE, CENTER, "q1", CALL, ("user", [RESULT]), **AUTOMATIC)) == []


def test_the_providers_own_breakpoint_behind_a_section_that_slides_is_found() -> None:
    def body(model: str, **more: Any) -> dict[str, Any]:
        texts = (("user", "q0"), ("assistant", "a0"), ("user", RULE), ("assistant", CENTER), ("user", "q1"))
        return {"model": model, "input": [{"role": role, "content": text} for role, text in texts], **more}

    assert rules(body("gpt-5.6")) == ["automatic-behind-volatile"]
    assert rules(body("gpt-5.6", prompt_cache_options={"mode": "explicit"})) == []
    assert rules(body("gpt-5.5")) == []


def test_a_turn_scoped_message_is_not_volatile_and_takes_no_marker() -> None:
    def scoped(content: Any) -> dict[str, Any]:
        return {"role": "system", "content": content, "clear_at": "next_user_message"}

    body = claude("q0")
    good = body | {"messages": [{"role": "user", "content": marked("q0")}, scoped([block(CENTER)])]}
    bad = body | {"messages": [{"role": "user", "content": "q0"}, scoped(marked(CENTER))]}
    assert rules(good) == []
    assert rules(bad) == ["marker-not-allowed"]


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_text_and_a_marker_on_it_are_found(text: str) -> None:
    assert rules(claude("q0", "a0", ("user", [block("q1"), block(text)]))) == ["empty-text"]
    body = claude("q0", "a0", ("user", [block("q1"), *marked(text)]))
    assert sorted(rules(body)) == ["empty-text", "marker-on-empty-text"]
    assert {finding.severity for finding in findings(body)} == {Severity.ERROR}


def test_converse_takes_white_space_and_refuses_empty_text() -> None:
    def body(text: str) -> dict[str, Any]:
        content = [{"text": "q"}, {"text": text}, {"cachePoint": {"type": "default"}}]
        return {"inferenceConfig": {}, "messages": [{"role": "user", "content": content}]}

    assert rules(body("\n")) == []
    assert sorted(rules(body(""))) == ["empty-text", "marker-on-empty-text"]


def test_an_empty_answer_beside_tool_calls_is_no_finding_in_chat_completions() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    body = chat(
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
    )
    assert rules(body) == []


@pytest.mark.parametrize("texts", [("",), (" \n",), ("", "seen"), ("seen", "")])
def test_a_marker_on_an_empty_text_inside_a_tool_result_is_found(texts: Sequence[str]) -> None:
    def body(*inner: str) -> dict[str, Any]:
        content = [item for text in inner for item in marked(text)]
        return claude("q0", CALL, ("user", [{**RESULT, "content": content}]))

    assert rules(body(*texts)) == ["marker-on-empty-text"]
    assert rules(body("seen")) == []


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking"])
def test_a_marker_on_reasoning_is_found(kind: str) -> None:
    thought = {"type": kind, "thinking": "hm", "signature": "s", "data": "x", "cache_control": {"type": "ephemeral"}}
    assert rules(claude("q0", ("assistant", [thought, block("a0")]), "q1")) == ["marker-not-allowed"]


def test_a_marker_on_a_deferred_tool_is_found() -> None:
    tool = {"name": "look", "input_schema": {}, "defer_loading": True, "cache_control": {"type": "ephemeral"}}
    assert rules(claude("q0", tools=[tool])) == ["marker-not-allowed"]
    assert rules(claude("q0", tools=[tool | {"defer_loading": False}])) == []


def test_a_breakpoint_on_what_the_model_wrote_is_found() -> None:
    def body(kind: str, role: str) -> dict[str, Any]:
        part = {"type": kind, "text": "t", "prompt_cache_breakpoint": {"mode": "explicit"}}
        return {"model": "gpt-5.6", "input": [{"role": role, "content": [part]}, {"role": "user", "content": "q"}]}

    assert rules(body("input_text", "user")) == []
    assert rules(body("output_text", "assistant")) == ["marker-not-allowed"]


def test_more_markers_than_allowed_are_found_and_the_automatic_one_counts() -> None:
    four = [item for number in range(4) for item in marked(f"text {number}")]
    assert rules(claude(("user", four))) == []
    assert rules(claude(("user", four), system=marked("You help."))) == ["too-many-markers"]
    assert rules(claude(("user", [*four, block("q0")]), **AUTOMATIC)) == ["too-many-markers"]
    assert rules(claude(("user", four), **AUTOMATIC)) == []


def test_a_longer_lifetime_behind_a_shorter_one_is_found() -> None:
    assert rules(claude(("user", marked("q0", "1h")), system=marked("You help.", "5m"))) == ["ttl-order"]
    assert rules(claude(("user", marked("q0", "5m")), system=marked("You help.", "1h"))) == []
    point = {"cachePoint": {"type": "default"}}
    hour = {"cachePoint": {"type": "default", "ttl": "1h"}}
    body = {"system": [{"text": "s"}, point], "messages": [{"role": "user", "content": [{"text": "q"}, hour]}]}
    assert rules(body) == ["ttl-order"]


@pytest.mark.parametrize(
    "messages",
    [
        ("q0", CALL, "q1"),
        ("q0", ("user", [RESULT])),
        ("q0", "a0", ("user", [RESULT])),
        (("user", [RESULT, block("q0")]),),
        ("q0", CALL),
    ],
)
def test_a_call_without_its_result_and_a_result_without_its_call_are_found(messages: Sequence[Any]) -> None:
    assert "split-tool-pair" in rules(claude(*messages))


def test_text_in_front_of_a_tool_result_is_found() -> None:
    assert rules(claude("q0", CALL, ("user", [block("here"), RESULT]))) == ["results-not-first"]
    assert rules(claude("q0", CALL, ("user", "here"), ("user", [RESULT]))) == ["results-not-first"]
    assert rules(claude("q0", CALL, ("user", [RESULT, block("here")]))) == []


def test_pairs_are_checked_in_the_other_formats_too() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked, calls = {"role": "user", "content": "q"}, {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "c1", "content": "seen"}
    assert rules(chat(asked, calls, answer)) == []
    assert rules(chat(asked, calls, {"role": "user", "content": "and?"})) == ["split-tool-pair"]
    assert rules(chat(asked, answer)) == ["split-tool-pair"]
    item = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": "seen"}
    body = {"model": "gpt-5.5", "input": [asked, item, output]}
    assert rules(body) == []
    assert rules(body | {"input": [asked, item]}) == ["split-tool-pair"]
    assert rules(body | {"input": [output]}) == ["split-tool-pair"]
    assert rules(body | {"input": [output], "previous_response_id": "r1"}) == []
    made = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    given = {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {}}}]}
    first = {"role": "user", "parts": [{"text": "q"}]}
    assert rules({"model": "gemini-3.6-pro", "contents": [first, made, given]}) == []
    assert rules({"model": "gemini-3.6-pro", "contents": [first, given]}) == ["split-tool-pair"]


def test_two_calls_of_one_name_without_ids_need_two_results() -> None:
    def body(calls: int, results: int, **result: Any) -> dict[str, Any]:
        call = {"functionCall": {"name": "look", "args": {}, **result}}
        answer = {"functionResponse": {"name": "look", "response": {}}}
        contents = [("user", [{"text": "q"}]), ("model", [call] * calls), ("user", [answer] * results)]
        return {"model": "gemini-3.6-pro", "contents": [{"role": role, "parts": parts} for role, parts in contents]}

    assert rules(body(2, 2)) == rules(body(1, 1, id="c1")) == []
    found = findings(body(2, 1))
    assert [(one.rule, one.place) for one in found] == [("split-tool-pair", "contents[1].parts[1]")]
    found = findings(body(1, 2))
    assert [(one.rule, one.place) for one in found] == [("split-tool-pair", "contents[2].parts[1]")]


def test_two_messages_of_one_role_are_found_where_they_are_refused() -> None:
    def converse(*roles: str) -> dict[str, Any]:
        messages = [{"role": role, "content": [{"text": "t"}, {"text": "u"}]} for role in roles]
        return {"modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "messages": messages}

    assert rules(converse("user", "assistant", "user")) == []
    found = findings(converse("user", "assistant", "assistant", "user", "user"))
    assert [(one.rule, one.place) for one in found] == [
        ("roles-do-not-alternate", "messages[2].content[0]"),
        ("roles-do-not-alternate", "messages[4].content[0]"),
    ]
    assert rules(claude("q0", ("user", "q1"))) == []


def test_a_run_of_one_role_is_no_finding_where_the_server_is_only_guessed() -> None:
    body = chat({"role": "user", "content": "q"}, {"role": "user", "content": "and?"}, model="qwen3")

    def at(uri: str) -> list[str]:
        layout = read_request(body, Hints(uri))
        return [finding.rule for finding in lint([layout], [allowed_of(layout)])[0]]

    assert at("") == at("/v1/chat/completions") == at("https://api.openai.com/v1/chat/completions") == []
    assert at("http://127.0.0.1:8080/v1/chat/completions") == ["roles-do-not-alternate"]


def test_results_in_messages_of_their_own_are_no_run_of_one_role() -> None:
    calls = [{"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in ("a", "b")]
    body = chat(
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": call["id"], "content": "seen"} for call in calls),
        {"role": "user", "content": "and now?"},
        model="qwen3",
    )
    layout = read_request(body, Hints("http://127.0.0.1:8080/v1/chat/completions"))
    assert allowed_of(layout).alternate_roles
    assert lint([layout], [allowed_of(layout)]) == [()]


def test_a_trailing_assistant_message_is_found_where_the_model_refuses_it() -> None:
    assert rules(claude("q0", "a0", model="claude-sonnet-4-5")) == []
    assert rules(claude("q0", "a0", model="claude-sonnet-4-6")) == ["trailing-assistant"]
    assert rules(claude("q0", "a0", model="claude-opus-5-5")) == ["trailing-assistant"]
    served = {"max_tokens": 9, "anthropic_version": "bedrock-2023-05-31", "messages": claude("q0", "a0")["messages"]}
    assert rules({"modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "body": served}) == []
    assert rules({"modelId": "us.anthropic.claude-sonnet-4-6", "body": served}) == ["trailing-assistant"]
    assert rules(chat({"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, model="qwen3")) == []


def test_a_changed_system_block_is_found_when_the_next_request_is_there_too() -> None:
    first = claude("q0", system=[block("You help."), *marked("You know: tea.")])
    second = claude("q0", "a0", "q1", system=[block("You help."), *marked("You know: tea, coffee.")])
    assert [(finding.rule, finding.place) for finding in findings(first, second)] == [
        ("volatile-head", "system[1]"),
        ("marker-on-volatile", "system[1]"),
        ("volatile-head", "system[1]"),
    ]
    assert rules(first) == rules(second) == []


def test_a_tool_that_is_described_anew_is_found_and_tools_that_come_and_go_are_not() -> None:
    def tool(name: str, description: str) -> dict[str, Any]:
        return {"name": name, "description": description, "input_schema": {"type": "object"}}

    first = claude("q0", tools=[tool("look", "4 files"), tool("remind", "Reminds.")])
    described = claude("q0", "a0", "q1", tools=[tool("look", "5 files"), tool("remind", "Reminds.")])
    fewer = claude("q0", "a0", "q1", tools=[tool("remind", "Reminds.")])
    assert rules(first, described) == ["volatile-head", "volatile-head"]
    assert rules(first, fewer) == []


def test_requests_of_different_conversations_tell_nothing_about_each_other() -> None:
    assert rules(claude(("user", marked("q0"))), claude(("user", marked("another question")))) == []
    one = claude(("user", marked("q0")), system="You help.")
    assert rules(one, claude("x", "y", "z", system="You sing.")) == []


def test_requests_of_two_conversations_may_be_mixed() -> None:
    def turn(name: str, time: str, *messages: Any) -> dict[str, Any]:
        return claude(*messages, system=[block(f"You are {name}."), *marked(f"now {time}")])

    mixed = [
        turn("A", "1", "qA"),
        turn("B", "1", "qB"),
        turn("A", "2", "qA", "a", "qA2"),
        turn("B", "1", "qB", "b", "qB2"),
    ]
    found = lint([read_request(body) for body in mixed], [allowed_of(read_request(body)) for body in mixed])
    assert [bool(one) for one in found] == [True, False, True, False]


def test_a_long_conversation_without_any_marker_is_no_finding() -> None:
    assert rules(claude(*(f"text {number}" for number in range(201)))) == []
