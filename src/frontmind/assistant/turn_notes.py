"""What else a person should know of a turn, in words. Pure; knows no terminal and no HTTP."""

from __future__ import annotations

from frontmind.assistant.report import TurnReport
from frontmind.providers.protocol import StopReason


def turn_notes(report: TurnReport) -> list[str]:
    """A line each; usually none. What the cache did is not among them."""
    lines = [f"{failure.section} is unavailable since {failure.since}: {failure.reason}" for failure in report.failures]
    if report.stop is StopReason.LENGTH:
        lines.append("the reply was cut at the limit of output tokens; FRONTMIND_MAX_OUTPUT_TOKENS raises it")
    if report.stop is StopReason.REFUSAL:
        lines.append("the model, or its provider, refused to answer this")
    if report.stop is StopReason.PAUSED:
        lines.append("the model paused in the middle of its turn; send a message, and it goes on")
    if report.stop is StopReason.TOOL_CALLS and not report.waits_for:
        lines.append("the model still called tools at the limit of steps; the last call is kept as text")
    for name in report.shortened:
        lines.append(f"{name} was longer than its budget and is shown in part")
    if report.scrubbed:
        lines.append(f"{report.scrubbed:,} characters that repeated the notification center were taken out")
    if report.joined > 0:
        lines.append(f"{report.joined} earlier message(s) without a reply went along")
    if report.set_aside:
        lines.append(f"{report.set_aside} earlier message(s) were refused by the provider; they are kept, but not sent")
    if report.left_out:
        why = ", which was full" if report.was_full else " with their segments"
        lines.append(f"{report.left_out} old turn(s) left the window{why}; a summary stands for them")
    if report.system_change is not None:
        names = ", ".join(report.system_change.sections)
        lines.append(f"changed in the system prompt: {names}; ~{report.system_change.tokens:,} tokens were not cached")
    return lines
