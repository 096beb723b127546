"""What is expected of a cache that is not ours: a loopback server with rules written anew, asked with the real SDK."""

from __future__ import annotations

from frontmind.providers.anthropic import AnthropicModel
from frontmind.values.calls import Call, Cause
from frontmind.window.choice import Framing
from providers.caching_server import caching
from providers.validators.replies import Call as ToolCall
from providers.validators.replies import Said
from support import START, HandClock, bench, selected

CLAUDE = "anthropic:claude-sonnet-5"
LONG = "Tell me about tea and mountains and what to pack for a long walk. " * 60


def says(number: int) -> Said:
    """The third turn calls a tool twice, with a word of its own beside each call."""
    if number in (3, 4):
        return Said(f"Step {number}.", calls=(ToolCall(f"toolu_{number}", "list_reminders", "{}"),))
    return Said(f"Reply {number}.")


async def test_a_server_with_its_own_cache_reads_what_is_expected_in_turns_loops_and_after_a_pause() -> None:
    clock = HandClock()
    calls: list[Call] = []
    with caching() as server:
        server.says, server.now = says, lambda: (clock.now() - START).total_seconds()
        selection = selected(CLAUDE, Framing.ASSISTANT)
        model = AnthropicModel(
            selection.profile,
            name=CLAUDE,
            framing=selection.framing,
            max_output_tokens=99,
            api_key="k",
            base_url=server.url,
        )
        async with bench(model, clock=clock) as bench_:
            for number, pause in enumerate((1, 1, 1, 1, 20, 1, 1)):
                await bench_.store.add_reminder(
                    f"{number} {LONG[:600]}", clock.now(), zone="Europe/Berlin", at=clock.now()
                )
                report = await bench_.orchestrator.run_turn(f"{number} {LONG}")
                calls += report.calls
                clock.advance(minutes=pause)
        await model.close()
    assert len(calls) == len(server.bodies) == 9
    figures = [(call.new.expected.cached, call.end.usage.cached) for call in calls if call.new.expected and call.end]
    assert len(figures) == 9
    assert figures[0] == (0, 0)
    # What the second call reads was written up to a place inside of the first, whose size nobody has counted before.
    assert all(expected == actual > 0 for expected, actual in figures[2:]), figures
    causes = [call.end.verdict.cause for call in calls if call.end]
    assert causes[:7] == [Cause.FIRST, *[Cause.NOTHING] * 6]
    assert causes[7:] == [Cause.EXPIRED, Cause.NOTHING]
