"""`AutoLayout` picks the layout that costs least, changes it only where that is free, and says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest

from frontmind.cachelab.choosing import AutoLayout, candidates
from frontmind.cachelab.outcome import Outcome, equivalents
from frontmind.cachelab.projecting import projected_cost, traffic_of
from frontmind.cachelab.session import (
    Decision,
    Fixed,
    Look,
    Plan,
    PlayedCall,
    Session,
    SessionStep,
    SessionTurn,
    play,
    total,
)
from frontmind.providers.profiles.profile import Profile
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.values.message import Message, Role, assistant
from frontmind.values.parts import Text, Thinking, ToolCall, ToolResult
from frontmind.values.section import PLACEMENT_NOTIFICATION, PLACEMENT_SYSTEM, Author, Section
from frontmind.window.choice import Framing
from support import START

OPUS = resolve_profile("anthropic", "claude-opus-4-8")
SONNET = resolve_profile("anthropic", "claude-sonnet-4-5")
BOUND = resolve_profile("anthropic", "claude-opus-5-5")
GPT = resolve_profile("openai", "gpt-5.5")
PRICED = (OPUS, SONNET, BOUND, GPT, resolve_profile("openai", "gpt-5.6"), resolve_profile("deepseek", "deepseek-chat"))


def words(chance: Random, tokens: int) -> str:
    return f"{chance.randrange(10**6)} " + "lorem ipsum dolor " * max(1, tokens // 6)


def talk(
    turns: int,
    *,
    seed: int = 1,
    seconds: Callable[[Random], float] = lambda chance: chance.uniform(20, 200),
    calls: Callable[[Random], int] = lambda chance: 0,
    new_memories: float = 1.0,
    memories: int = 500,
) -> Session:
    """A conversation of so many turns: their pauses, calls of tools, and how often other memories surface."""
    chance = Random(seed)
    at, surfaced, made = START, 0, []
    for number in range(turns):
        at += timedelta(seconds=seconds(chance))
        surfaced += number == 0 or chance.random() < new_memories
        start, steps = at, []
        for index in range(calls(chance)):
            at += timedelta(seconds=chance.uniform(2, 9))
            steps.append(step(f"c{number}_{index}", words(chance, 300), at))
        made.append(
            SessionTurn(
                start,
                (Text(words(chance, 40)),),
                assistant(words(chance, 150)),
                sections(start, surfaced, memories),
                tuple(steps),
            )
        )
    return Session("talk", tuple(made))


def step(call_id: str, result: str, at: datetime) -> SessionStep:
    call = Message(Role.ASSISTANT, (ToolCall(call_id, "look", "{}"),))
    return SessionStep(call, Message(Role.USER, (ToolResult(call_id, result),)), at)


def sections(at: datetime, surfaced: int, memories: int) -> tuple[Section, ...]:
    time = f"<datetime_section>It is {at:%H:%M}.</datetime_section>"
    found = f"<relevant_memories>{words(Random(surfaced), memories)}</relevant_memories>"
    return (
        Section("base_prompt", words(Random(0), 4000), PLACEMENT_SYSTEM, cache_policy=True),
        Section("datetime_section", time, PLACEMENT_NOTIFICATION, cache_policy=False, author=Author.APPLICATION),
        Section("relevant_memories", found, PLACEMENT_NOTIFICATION, cache_policy=False),
    )


def ratio(session: Session, profile: Profile) -> float:
    """What auto costs in the place of the plan that is the cheapest in hindsight."""
    fixed = [total(play(session, profile, Fixed(plan)), profile).equivalents for plan in candidates(profile, ())]
    return total(play(session, profile, AutoLayout(profile)), profile).equivalents / min(fixed)


def plans(calls: Sequence[PlayedCall]) -> list[Plan]:
    return [call.decision.plan for call in calls if call.step == 0]


def fifteen(chance: Random) -> int:
    return 15


@pytest.mark.parametrize("profile", PRICED, ids=lambda profile: profile.model)
@pytest.mark.parametrize(
    ("session", "at_most"),
    [
        (talk(24, new_memories=0.2), 1.06),
        (talk(24), 1.06),
        (talk(6, calls=lambda chance: 8, new_memories=0.5), 1.1),
        # What was written before the first pause, for a short lifetime, is written again behind it.
        (talk(20, seconds=lambda chance: chance.uniform(330, 2400)), 1.2),
    ],
    ids=["talk", "new memories", "tools", "pauses"],
)
def test_auto_costs_hardly_more_than_the_best_layout_in_hindsight(
    session: Session, at_most: float, profile: Profile
) -> None:
    assert ratio(session, profile) <= at_most


def test_over_any_traffic_auto_stays_near_the_best_layout_in_hindsight() -> None:
    found = []
    for seed in range(8):
        chance = Random(seed)
        often, share = chance.choice([0, 2, 6]), chance.choice([0.2, 1.0])
        session = talk(
            chance.choice([6, 12, 20]),
            seed=seed,
            seconds=lambda chance: chance.choice([60.0, 90.0, 150.0, 900.0]),
            calls=lambda chance, often=often, share=share: often if chance.random() < share else 0,  # type: ignore[misc]
            new_memories=chance.choice([0.1, 0.5, 1.0]),
            memories=chance.choice([100, 400, 800]),
        )
        found.append(ratio(session, chance.choice(PRICED)))
    # The first turns are asked before anything is known; in a conversation of six turns they are much of it.
    assert sum(found) / len(found) <= 1.1
    assert max(found) <= 1.25


class Watched:
    """A chooser that holds every change of another against what the cache would have given without it."""

    def __init__(self, chooser: AutoLayout) -> None:
        self._chooser = chooser
        self.changes: list[tuple[Outcome, Outcome]] = []

    def choose(self, past: Sequence[SessionTurn], turn: SessionTurn, current: Plan | None, look: Look) -> Decision:
        decision = self._chooser.choose(past, turn, current, look)
        if current is not None and decision.plan != current:
            self.changes.append((look(current), look(decision.plan)))
        return decision


@pytest.mark.parametrize("profile", PRICED[:4], ids=lambda profile: profile.model)
@pytest.mark.requirement("LAB-6")
def test_a_change_costs_nothing_of_what_is_cached(profile: Profile) -> None:
    watched = Watched(AutoLayout(profile))
    for session in (
        talk(10, calls=fifteen, new_memories=0.3),
        talk(16, seconds=lambda chance: chance.choice([60.0, 1000.0]), new_memories=0.3),
    ):
        list(play(session, profile, watched))
    assert watched.changes
    assert all(after.read >= before.read for before, after in watched.changes)


def test_a_longer_lifetime_is_asked_for_behind_a_pause_and_not_before() -> None:
    pauses = iter([60.0] * 4 + [900.0] * 8)
    session = talk(12, seconds=lambda chance: next(pauses))
    calls = list(play(session, OPUS, AutoLayout(OPUS)))
    taken = [plan.ttl for plan in plans(calls)]
    assert taken[:4] == ["5m"] * 4
    assert taken[-1] == "1h"
    changed = taken.index("1h")
    assert changed <= 5
    assert "nothing is cached any more" in next(call.decision.reason for call in calls if call.turn == changed)


def test_where_nobody_is_away_for_long_no_longer_lifetime_is_paid_for() -> None:
    calls = list(play(talk(20), OPUS, AutoLayout(OPUS)))
    assert {plan.ttl for plan in plans(calls)} == {"5m"}


def test_with_many_calls_of_tools_what_is_said_stays_and_with_new_memories_it_slides() -> None:
    working = plans(list(play(talk(8, calls=fifteen, new_memories=0.1), SONNET, AutoLayout(SONNET))))
    talking = plans(list(play(talk(20, memories=900), SONNET, AutoLayout(SONNET))))
    assert working[-1].framing is Framing.APPEND
    assert {plan.framing for plan in talking} == {Framing.ASSISTANT}


@pytest.mark.parametrize(("provider", "model"), [("ollama", "qwen3"), ("local", ""), ("compatible", "m"), ("echo", "")])
def test_without_known_prices_the_framing_of_the_profile_stays_and_it_is_said(provider: str, model: str) -> None:
    profile = resolve_profile(provider, model)
    calls = list(play(talk(3), profile, AutoLayout(profile)))
    assert {plan.framing for plan in plans(calls)} == {choose_framing(profile).framing}
    assert all("nobody knows" in call.decision.reason for call in calls)


def test_where_reasoning_is_checked_a_layout_that_would_lose_it_is_not_weighed() -> None:
    (turn,) = talk(1).turns
    assert turn.reply is not None
    reasoned = replace(
        turn, reply=Message(Role.ASSISTANT, (Thinking("Hm.", "anthropic", '{"type":"thinking"}'), *turn.reply.parts))
    )
    assert {plan.framing for plan in candidates(BOUND, (turn,))} > {Framing.SYSTEM_CLEAR_AT, Framing.APPEND}
    assert {plan.framing for plan in candidates(BOUND, (reasoned,))} == {Framing.SYSTEM_CLEAR_AT, Framing.APPEND}
    assert {plan.framing for plan in candidates(OPUS, (reasoned,))} > {Framing.SYSTEM_CLEAR_AT, Framing.APPEND}


def test_the_same_past_gives_the_same_choice() -> None:
    session = talk(12, seconds=lambda chance: chance.choice([60.0, 700.0]))
    one, two = (
        [(call.decision.plan, call.decision.reason) for call in play(session, OPUS, AutoLayout(OPUS))] for _ in "ab"
    )
    assert one == two


def test_only_the_newest_turns_decide() -> None:
    session = talk(40, new_memories=0.4)
    whole = plans(list(play(session, OPUS, AutoLayout(OPUS))))
    auto = AutoLayout(OPUS, earlier=16)

    class Short:
        def choose(self, past: Sequence[SessionTurn], turn: SessionTurn, current: Plan | None, look: Look) -> Decision:
            if len(past) < 40 - 1:
                return Decision(whole[len(past)])
            short = replace(auto, earlier=len(past) - 24)
            return short.choose(past[-24:], turn, current, look)

    assert plans(list(play(session, OPUS, Short())))[-1] == whole[-1]


@pytest.mark.parametrize("profile", PRICED[:4], ids=lambda profile: profile.model)
@pytest.mark.parametrize("session", [talk(14, new_memories=1.0), talk(6, calls=lambda chance: 5, new_memories=1.0)])
def test_a_projection_is_near_what_comes_where_the_traffic_goes_on_as_it_was(
    session: Session, profile: Profile
) -> None:
    half = len(session.turns) // 2
    for plan in candidates(profile, ()):
        played = list(play(session, profile, Fixed(plan)))
        first = next(call.outcome for call in played if call.turn == half)
        traffic = traffic_of(session.turns[:half], replace(session.turns[half], reply=None, steps=()))
        expected = projected_cost(traffic, profile, plan, first, turns=half)
        came = sum(equivalents(call.outcome.usage, profile) for call in played if call.turn >= half)
        assert expected == pytest.approx(came, rel=0.15), plan


@pytest.mark.requirement("LAB-6")
def test_a_change_says_what_it_saves_and_why_it_is_free() -> None:
    calls = list(play(talk(10, calls=fifteen, new_memories=0.1), SONNET, AutoLayout(SONNET)))
    changed = next(call for call in calls if call.decision.plan.framing is Framing.APPEND)
    assert "saves about" in changed.decision.reason
    assert "all that is cached is read in both" in changed.decision.reason
