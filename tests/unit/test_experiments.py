"""Experiments on a cache: each rule is proven by a provider that keeps it, and disproved by one that does not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest

from frontmind.assistant.verifying import Finding, Limits, Verification, facts_to_write, plan_series
from frontmind.cachelab.experiment_look_back import LOOK_BACK, Search
from frontmind.cachelab.experiment_rules import (
    ALTERNATION,
    LIFETIME,
    MARKER,
    MINIMUM,
    OUTPUT,
    SLIDE,
    STEP,
    framing_rule,
)
from frontmind.cachelab.experiment_windows import Ground, filler, with_one_marker, with_two_users
from frontmind.cachelab.experiments import READ_BACK, Verdict
from frontmind.cachelab.simulator import CacheSimulator
from frontmind.cachelab.sizing import SizedRequest
from frontmind.errors import ModelError, Overloaded, RequestRefused
from frontmind.providers.opening import Selection
from frontmind.providers.profiles.profile import Caching, MarkerKind, OperatorMessages, Profile
from frontmind.providers.protocol import Finished, Request, Retrying, StopReason, StreamEvent, TextDelta, TokenCount
from frontmind.providers.reading import read_request
from frontmind.values.message import assistant
from frontmind.values.usage import Usage
from frontmind.window.canonical import canonical_text
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.layout import Layout
from frontmind.window.window import Window
from support import MODELS, HandClock, marker_places, selected

CACHING = [name for name in MODELS if name != "echo"]
ROOM = Limits(40)
COUNTED = "one two three four five six seven eight nine ten, and then all of it once more"


@dataclass
class Provider:
    """A `Model` that is believed to follow one profile and follows another one; its tokens are three characters each.

    Attributes:
        refuses: whether it refuses a request.
        raises: what it raises for the request of this number, from 1 on.
        retries: how often it is asked again for every request.
        reports: whether it counts at all.
        tells: what it says of what it counted.
        drips: what it says again and again for ever; empty to say nothing for ever, None to come to an end.
    """

    selection: Selection
    truth: Profile
    refuses: Callable[[str], bool] = lambda text: False
    raises: dict[int, ModelError] = field(default_factory=dict)
    retries: int = 0
    reports: bool = True
    tells: Callable[[Usage], Usage] = lambda usage: usage
    drips: str | None = None
    waits: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Request] = field(default_factory=list)
    context_limit: int | None = None

    def __post_init__(self) -> None:
        self.name = str(self.selection.name)
        self.profile = self.selection.profile
        self.framing = self.selection.framing
        self.max_output_tokens = 99
        self.clock = HandClock()
        self._cache = CacheSimulator(self.truth)

    def encode(self, window: Window) -> Request:
        return self.selection.encode(window)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        self.sent.append(request)
        for attempt in range(self.retries):
            yield Retrying("it is busy", 0.0, attempt + 1)
        error = self.raises.get(len(self.sent))
        if error is not None:
            raise error
        if self.refuses(canonical_text(dict(request))):
            raise RequestRefused("it will not take this", model=self.name, status=400)
        while self.drips:
            yield TextDelta(self.drips)
        if self.drips is not None:
            self.waits.set()
            await asyncio.Event().wait()
        layout = read_request(request)
        outcome = self._cache.send(SizedRequest(layout, counted(layout)), self.clock.now())
        text = COUNTED if "Count from" in layout.blocks[-1].text else "OK."
        free = self.truth.markers is MarkerKind.NONE
        usage = Usage(
            outcome.usage.input,
            outcome.read,
            0 if free else outcome.written,
            len(text) // 3,
            estimated=not self.reports,
        )
        yield TextDelta(text)
        yield Finished(assistant(text), self.tells(usage), StopReason.END)

    async def count_request(self, request: Request) -> TokenCount:
        return TokenCount(sum(counted(read_request(request))), exact=True)

    async def count_text(self, text: str) -> TokenCount:
        return TokenCount(len(text) // 3, exact=True)

    async def expected_cached(self, request: Request) -> int | None:
        return None

    async def close(self) -> None:
        return None


def counted(layout: Layout) -> tuple[int, ...]:
    return tuple(len(block.shown) // 3 + 2 for block in layout.blocks)


def provider(name: str, refuses: Callable[[str], bool] = lambda text: False, **changed: Any) -> Provider:
    """A provider for which these facts are other ones than the profile says."""
    selection = selected(name)
    return Provider(selection, replace(selection.profile, **changed), refuses)


async def verified(model: Provider, limits: Limits = ROOM, **options: Any) -> dict[str, Finding]:
    findings = await Verification(model, clock=model.clock, nonce="n1", limits=limits, **options).run()
    return {finding.rule: finding for finding in findings}


def verdicts(findings: dict[str, Finding]) -> dict[str, Verdict]:
    return {rule: finding.judged.verdict for rule, finding in findings.items()}


def written(findings: dict[str, Finding]) -> dict[str, object]:
    return facts_to_write(list(findings.values()))


@pytest.mark.parametrize("name", CACHING)
async def test_a_provider_that_keeps_its_rules_breaks_none(name: str) -> None:
    model = provider(name)
    findings = await verified(model)
    broken = {rule: finding.judged for rule, finding in findings.items() if finding.judged.verdict is Verdict.BROKEN}
    if name.startswith("bedrock"):
        # This one takes two user messages in a row all the same: nothing here refuses them.
        assert set(broken) == {ALTERNATION}
        broken.pop(ALTERNATION)
    assert not broken
    tried = {rule for rule, verdict in verdicts(findings).items() if verdict is not Verdict.NOT_TRIED}
    rules = {*map(framing_rule, model.profile.framings), ALTERNATION, READ_BACK, SLIDE}
    assert rules <= tried
    assert (MINIMUM in tried) == bool(model.profile.min_cached_tokens)
    assert (LOOK_BACK in tried) == (model.profile.look_back is not None)
    assert set(findings) - tried <= {LIFETIME, STEP, OUTPUT}


@pytest.mark.parametrize("name", CACHING)
async def test_no_series_sends_more_than_was_planned(name: str) -> None:
    model = provider(name, caching=Caching.NONE, markers=MarkerKind.NONE, max_markers=0, look_back=None)
    planned = plan_series(
        model.encode, model.profile, model.framing, nonce="n1", price=lambda usage: Decimal(usage.input), output=99
    )
    findings = await verified(model)
    assert [item.rule for item in planned] == list(findings)
    assert all(findings[item.rule].requests <= item.requests for item in planned)
    assert sum(finding.requests for finding in findings.values()) == len(model.sent)


async def test_the_series_is_as_small_as_it_can_be() -> None:
    findings = await verified(provider("anthropic:claude-sonnet-5"))
    sent = {rule: finding.requests for rule, finding in findings.items()}
    assert sent == {
        framing_rule(Framing.ASSISTANT): 1,
        framing_rule(Framing.APPEND): 1,
        framing_rule(Framing.USER_TEXT): 1,
        ALTERNATION: 1,
        READ_BACK: 2,
        MINIMUM: 2,
        MARKER: 1,
        SLIDE: 1,
        LOOK_BACK: 2,
        LIFETIME: 0,
    }


@pytest.mark.parametrize("reach", [1, 2, 3, 20, 22])
@pytest.mark.parametrize("behind", [0, 1])
def test_any_look_back_is_found(reach: int, behind: int) -> None:
    for truth in range(behind + 1, 3 * reach + 4):
        search = Search(reach, behind)
        while (distance := search.following()) is not None:
            assert distance > behind
            assert distance not in search.tried
            search.note(distance, read=distance < truth)
        assert len(search.tried) <= 3 + (3 * reach).bit_length()
        if truth in (reach, reach + 1):
            assert search.holds, "between the two that are tried"
            assert len(search.tried) <= 2
        elif truth > 3 * reach:
            assert search.far is None
        else:
            assert (search.near, search.far) == (truth - 1, truth)


CLAUDE = "anthropic:claude-sonnet-5"
ENDS_WITH_DEVELOPER = '"role":"developer"}],"max_output_tokens"'


@pytest.mark.parametrize(
    ("name", "changed", "rule", "facts"),
    [
        (CLAUDE, {"look_back": 10}, LOOK_BACK, {"look_back": 10}),
        (CLAUDE, {"look_back": 40}, LOOK_BACK, {"look_back": 40}),
        (CLAUDE, {"look_back": None}, LOOK_BACK, {"look_back": None}),
        ("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"look_back": 20}, LOOK_BACK, {"look_back": 20}),
        ("anthropic:claude-opus-5-5", {"look_back": 5}, LOOK_BACK, {"look_back": 5}),
        ("deepseek:deepseek-chat", {"caches_output": False}, OUTPUT, {"caches_output": False}),
        ("openai:gpt-5.5", {"caching": Caching.NONE}, READ_BACK, {"caching": Caching.NONE}),
        ("compatible:m@http://127.0.0.1:9/v1", {"caching": Caching.NONE}, READ_BACK, {"caching": Caching.NONE}),
    ],
)
async def test_a_rule_that_is_not_kept_is_disproved(
    name: str, changed: dict[str, Any], rule: str, facts: dict[str, object]
) -> None:
    findings = await verified(provider(name, **changed))
    assert verdicts(findings)[rule] is Verdict.BROKEN
    assert dict(findings[rule].judged.facts) == facts
    if rule == READ_BACK:
        assert verdicts(findings)[SLIDE] is Verdict.NOT_TRIED
        assert findings[SLIDE].judged.why == "nothing was read back"
        assert not findings[SLIDE].requests


@pytest.mark.parametrize("name", [CLAUDE, "openai:gpt-5.5", "openai:gpt-5.6-sol", "gemini:gemini-3-pro"])
async def test_another_minimum_is_found_on_either_side(name: str) -> None:
    least = selected(name).profile.min_cached_tokens
    lower = await verified(provider(name, min_cached_tokens=least // 2))
    assert verdicts(lower)[MINIMUM] is Verdict.BROKEN
    found = written(lower)["min_cached_tokens"]
    assert isinstance(found, int)
    assert least // 2 <= found < least

    higher = await verified(provider(name, min_cached_tokens=2 * least))
    assert verdicts(higher)[READ_BACK] is Verdict.BROKEN
    found = written(higher)["min_cached_tokens"]
    assert isinstance(found, int)
    assert 2 * least <= found < 4 * least
    assert set(written(higher)) <= {"min_cached_tokens", "alternate_roles"}


async def test_figures_in_other_steps_are_noticed() -> None:
    smaller = await verified(provider("openai:gpt-5.5", cache_step=64))
    assert verdicts(smaller)[STEP] is Verdict.BROKEN
    assert written(smaller)["cache_step"] == 64
    single = await verified(provider("openai:gpt-5.5", cache_step=1))
    assert verdicts(single)[STEP] is Verdict.BROKEN
    assert written(single)["cache_step"] == 1
    unknown = await verified(provider("deepseek:deepseek-chat", cache_step=64))
    assert verdicts(unknown)[STEP] is Verdict.FOUND
    assert written(unknown)["cache_step"] == 64
    assert "too short for figures in steps of 64" in unknown[OUTPUT].judged.why


async def test_a_reply_that_is_held_is_found_out_where_nothing_was_known() -> None:
    findings = await verified(provider("compatible:m@http://127.0.0.1:9/v1", caches_output=True))
    assert verdicts(findings)[OUTPUT] is Verdict.FOUND
    assert written(findings)["caches_output"] is True


async def test_a_framing_that_is_refused_is_replaced_by_one_that_is_not() -> None:
    model = provider(
        CLAUDE,
        refuses=lambda text: (
            '"role":"assistant"' in text and "NOTIFICATION CENTER" in text and '"text":"NOTIFICATION' in text
        ),
    )
    findings = await verified(model)
    assert verdicts(findings)[framing_rule(Framing.ASSISTANT)] is Verdict.BROKEN
    assert findings[framing_rule(Framing.ASSISTANT)].judged.why == "it will not take this"
    assert written(findings) == {"framing": Framing.APPEND}
    assert verdicts(findings)[READ_BACK] is Verdict.HOLDS, "the cache is tried in a framing that is accepted"


async def test_refused_operator_messages_take_the_framing_with_them() -> None:
    findings = await verified(provider("openai:gpt-5.6-sol", refuses=lambda text: ENDS_WITH_DEVELOPER in text))
    facts: dict[str, Any] = written(findings)
    assert facts["operator_messages"] is OperatorMessages.NONE
    assert facts["framing"] in (Framing.APPEND, Framing.ASSISTANT)
    replace(selected("openai:gpt-5.6-sol").profile, **facts)


async def test_where_everything_is_refused_nothing_is_disproved() -> None:
    findings = await verified(provider(CLAUDE, refuses=lambda text: True))
    assert written(findings) == {}
    assert verdicts(findings)[ALTERNATION] is Verdict.NOT_TRIED
    assert findings[READ_BACK].judged.why == "no framing was accepted (it will not take this)"
    assert not findings[READ_BACK].requests
    assert not any(finding.failed for finding in findings.values()), "a refusal is an answer"


async def test_two_users_in_a_row_that_are_refused_are_noticed() -> None:
    def refuses(text: str) -> bool:
        return "n1 pair" in text

    findings = await verified(provider(CLAUDE, refuses=refuses))
    assert verdicts(findings)[ALTERNATION] is Verdict.BROKEN
    assert written(findings) == {"alternate_roles": True}


async def test_a_request_that_fails_ends_neither_the_series_nor_its_own_line() -> None:
    model = provider(CLAUDE)
    model.raises = {7: Overloaded("it is overloaded; try again later", model="m", reason="it is overloaded")}
    findings = await verified(model)
    failed = [rule for rule, finding in findings.items() if finding.failed]
    assert failed == [MINIMUM]
    assert findings[MINIMUM].judged.why == "it is overloaded"
    assert verdicts(findings)[LOOK_BACK] is Verdict.HOLDS
    assert written(findings) == {}


async def test_without_figures_nothing_is_said_of_the_cache() -> None:
    model = provider(CLAUDE)
    model.reports = False
    findings = await verified(model)
    assert verdicts(findings)[READ_BACK] is Verdict.NOT_TRIED
    assert "no figures" in findings[READ_BACK].judged.why
    assert verdicts(findings)[framing_rule(Framing.ASSISTANT)] is Verdict.HOLDS


async def test_a_model_that_caches_nothing_by_its_profile_is_asked_only_what_it_accepts() -> None:
    model = provider("echo", markers=MarkerKind.NONE, max_markers=0, look_back=None)
    model.profile = model.truth
    findings = await verified(model)
    assert "caches nothing" in findings[READ_BACK].judged.why
    assert len(model.sent) == len(model.profile.framings) + 1


@pytest.mark.parametrize("most", [1, 4, 6])
async def test_never_more_requests_are_sent_than_the_limit(most: int) -> None:
    model = provider(CLAUDE)
    findings = await verified(model, Limits(most))
    assert len(model.sent) == most
    assert f"the limit of {most} requests is reached" in {finding.judged.why for finding in findings.values()}


async def test_requests_that_are_sent_again_count_for_the_limit() -> None:
    model = provider(CLAUDE)
    model.retries = 2
    findings = await verified(model, Limits(7))
    assert len(model.sent) == 3, "each is three requests, and the third would end with the ninth"
    assert sum(finding.requests for finding in findings.values()) == 7
    assert "it is busy; the limit of 7 requests is reached" in {finding.judged.why for finding in findings.values()}


def dollars(usage: Usage) -> Decimal:
    return Decimal(usage.input) / 100_000


async def test_what_breaks_off_is_counted_and_may_have_cost_something() -> None:
    model = provider(CLAUDE)
    model.retries = 1
    model.raises = {number: Overloaded("it broke off", model=model.name) for number in range(1, 99)}
    findings = await verified(model, price=dollars)
    tried = [finding for finding in findings.values() if finding.requests]
    assert [finding.requests for finding in tried] == [2] * len(model.sent)
    assert all(finding.cost == 0 and finding.unsure > Decimal("0.002") for finding in tried)
    cheap = provider(CLAUDE)
    cheap.retries, cheap.raises = 1, model.raises
    most = sum((finding.unsure for finding in tried), Decimal(0)) / 2
    findings = await verified(cheap, Limits(40, most), price=dollars)
    assert 0 < len(cheap.sent) < len(model.sent)
    assert sum((finding.unsure for finding in findings.values()), Decimal(0)) <= most


async def test_a_request_that_is_turned_away_costs_nothing() -> None:
    model = provider(CLAUDE, refuses=lambda text: True)
    findings = await verified(model, price=dollars)
    assert len(model.sent) == sum(finding.requests for finding in findings.values()) == 4
    assert not any(finding.unsure for finding in findings.values())


async def test_a_reply_that_does_not_come_to_an_end_is_given_up_and_nothing_more_is_sent() -> None:
    for drips, why in (
        ("", "took longer than 0.05 seconds"),
        ("and so on " * 99, "far behind the limit of its tokens"),
    ):
        model = provider(CLAUDE)
        model.drips = drips
        findings = await asyncio.wait_for(verified(model, Limits(40, seconds=0.05 if not drips else 60.0)), 10)
        assert len(model.sent) == 1
        assert set(verdicts(findings).values()) == {Verdict.NOT_TRIED}
        assert sum(finding.failed for finding in findings.values()) == 1
        assert all(why in finding.judged.why for rule, finding in findings.items() if rule != LIFETIME)


async def test_a_series_that_is_interrupted_keeps_what_was_found() -> None:
    model = provider(CLAUDE)
    model.drips = ""
    verification = Verification(model, clock=model.clock, nonce="n1", limits=ROOM, price=dollars)
    series = asyncio.ensure_future(verification.run())
    await model.waits.wait()
    series.cancel()
    with pytest.raises(asyncio.CancelledError):
        await series
    (finding,) = verification.so_far()
    assert (finding.judged.verdict, finding.judged.why) == (Verdict.NOT_TRIED, "it was interrupted")
    assert finding.requests == 1
    assert finding.cost == 0
    assert finding.unsure > Decimal("0.002"), "what was under way may be billed"

    model = provider(CLAUDE)

    def told(finding: Finding) -> None:
        if finding.rule == READ_BACK:
            model.drips = ""

    verification = Verification(model, clock=model.clock, nonce="n1", limits=ROOM, report=told)
    series = asyncio.ensure_future(verification.run())
    await model.waits.wait()
    series.cancel()
    with pytest.raises(asyncio.CancelledError):
        await series
    *held, cut = verification.so_far()
    assert {finding.judged.verdict for finding in held} == {Verdict.HOLDS}
    assert (held[-1].rule, cut.rule, cut.judged.verdict) == (READ_BACK, MINIMUM, Verdict.NOT_TRIED)


async def test_where_nothing_at_all_is_accepted_no_framing_is_said_to_be_refused() -> None:
    findings = await verified(provider(CLAUDE, refuses=lambda text: True))
    assert set(verdicts(findings).values()) == {Verdict.NOT_TRIED}
    assert "nothing at all was accepted (it will not take this)" in {item.judged.why for item in findings.values()}


@pytest.mark.parametrize("count", [0, 1, 10**9])
async def test_a_count_that_cannot_be_of_this_prompt_makes_no_window_larger(count: int) -> None:
    model, honest = provider(CLAUDE), provider(CLAUDE)
    model.tells = lambda usage: Usage(count, 0, 0, usage.output)
    findings = await verified(model)
    await verified(honest)
    longest = max(len(canonical_text(dict(request))) for request in honest.sent)
    assert max(len(canonical_text(dict(request))) for request in model.sent) < 3 * longest
    if not count:
        assert findings[READ_BACK].judged.why == "no figures of the cache were reported"
        assert findings[READ_BACK].judged.verdict is Verdict.NOT_TRIED


async def test_never_more_money_is_spent_than_the_limit() -> None:
    model = provider(CLAUDE)
    limit = Decimal("0.02")

    def price(usage: Usage) -> Decimal:
        return Decimal(usage.input) / 100_000

    findings = await verified(model, Limits(40, limit), price=price)
    spent = sum((finding.cost or Decimal(0) for finding in findings.values()), Decimal(0))
    assert Decimal("0.01") < spent <= limit
    assert "it could exceed the limit of $0.02" in {finding.judged.why for finding in findings.values()}


async def test_every_finding_is_told_as_soon_as_it_is_there() -> None:
    told: list[str] = []
    findings = await verified(provider(CLAUDE), report=lambda finding: told.append(finding.rule))
    assert told == list(findings)


def layouts(requests: Sequence[Request]) -> list[Layout]:
    return [read_request(request) for request in requests]


async def test_every_prompt_begins_with_the_nonce() -> None:
    model = provider("local")
    await verified(model)
    assert all(layout.blocks[0].text.startswith("n1") for layout in layouts(model.sent))


def ground(name: str) -> tuple[Selection, Ground]:
    selection = selected(name)
    return selection, Ground("n1", FramingChoice(selection.framing.framing))


@pytest.mark.parametrize("name", CACHING)
def test_two_users_stand_in_a_row_in_every_format(name: str) -> None:
    selection, common = ground(name)
    request = selection.encode(common.pair())
    before = canonical_text(dict(request))
    roles = [block.role for block in read_request(with_two_users(request)).conversation]
    assert roles[-2:] == ["user", "user"]
    assert len(roles) == len(read_request(request).conversation) + 1
    assert canonical_text(dict(request)) == before, "requests share parts"


def test_one_marker_is_left_and_stands_at_the_end() -> None:
    selection, common = ground(CLAUDE)
    request = selection.encode(common.spread(500, 5, "Near"))
    moved = with_one_marker(request)
    messages = len(moved["messages"]) if isinstance(moved["messages"], list) else 0
    assert [place for place in marker_places(moved) if place[0] == "messages"] == [("messages", messages - 1, 4)]
    bedrock, common = ground("bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    blocks = read_request(with_one_marker(bedrock.encode(common.spread(500, 5, "Near")))).conversation
    assert [block.marker is not None for block in blocks] == [False] * (len(blocks) - 1) + [True]


def test_a_filler_is_the_same_again_and_about_as_long_as_asked() -> None:
    assert filler(500) == filler(500)
    assert 500 <= len(filler(500)) / 4 <= 700
