"""What the answers of a placement run come to: counts with intervals, paired comparisons, Markdown and JSON.

Pure; knows no model and no terminal. The replies are other people's text: only the JSON has them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

from frontmind.bench.facts import Wording
from frontmind.bench.intervals import Interval, bootstrap, mcnemar, wilson
from frontmind.bench.placed_windows import Where
from frontmind.bench.placement import Answer, PlacementRun
from frontmind.bench.subjects import Kind

MEASURES: Final = ("right", "third_person", "as_its_own", "echo", "invented")
_HEADINGS: Final = ("right", "third person", "as its own", "echoes", "invented", "no answer")
_BASE_PLACE: Final = Where.SYSTEM.value
_BASE_WORDING: Final = Wording.THIRD
Group: TypeAlias = Callable[[Answer], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Tally:
    """The answers of one group.

    Attributes:
        group: what they have in common.
        answered: how many there are.
        failed: how often the model failed instead.
    """

    group: tuple[str, ...]
    answered: int
    failed: int
    right: int
    third_person: int
    as_its_own: int
    echo: int
    invented: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairs of answers to the same question that differ in one thing alone.

    Attributes:
        name: what is compared.
        against: with what.
        better: pairs of which only the first is right.
        worse: pairs of which only the second is right.
        difference: of the shares of right answers, with its interval over the questions.
        p: of McNemar's exact test; it takes the pairs as independent.
    """

    name: str
    against: str
    pairs: int
    better: int
    worse: int
    difference: float
    interval: Interval
    p: float


def tallies(answers: Sequence[Answer], group: Group) -> tuple[Tally, ...]:
    """The counts of each group, in the order in which the groups first come."""
    found = dict.fromkeys(group(answer) for answer in answers)
    return tuple(_tally(name, [answer for answer in answers if group(answer) == name]) for name in found)


def _tally(name: tuple[str, ...], answers: Sequence[Answer]) -> Tally:
    verdicts = [answer.verdict for answer in answers if answer.verdict is not None]
    counts = {measure: sum(getattr(verdict, measure) for verdict in verdicts) for measure in MEASURES}
    return Tally(name, len(verdicts), len(answers) - len(verdicts), **counts)


def compare_places(answers: Sequence[Answer], *, seed: int) -> tuple[Comparison, ...]:
    """Every place against the system prompt: the same question, wording and length."""

    def pair(answer: Answer) -> Hashable:
        return (answer.question, answer.wording, answer.length)

    names = dict.fromkeys(answer.placement for answer in answers)
    sides = {name: [answer for answer in answers if answer.placement == name] for name in names}
    base = sides.pop(_BASE_PLACE, [])
    return tuple(_compared(name, _BASE_PLACE, side, base, pair, seed) for name, side in sides.items())


def compare_wordings(answers: Sequence[Answer], *, seed: int) -> tuple[Comparison, ...]:
    """Every wording against the third person: the same question about a memory, place and length."""

    def pair(answer: Answer) -> Hashable:
        return (answer.question, answer.placement, answer.length)

    sides = {wording: [answer for answer in memories(answers) if answer.wording is wording] for wording in Wording}
    base = sides.pop(_BASE_WORDING)
    return tuple(_compared(name, _BASE_WORDING, side, base, pair, seed) for name, side in sides.items())


def memories(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """The answers to which the wording matters."""
    return tuple(answer for answer in answers if answer.kind is Kind.MEMORY)


def _compared(
    name: str,
    against: str,
    side: Sequence[Answer],
    base: Sequence[Answer],
    pair: Callable[[Answer], Hashable],
    seed: int,
) -> Comparison:
    known = {pair(answer): answer.verdict.right for answer in base if answer.verdict is not None}
    differences: dict[str, list[float]] = {}
    for answer in side:
        if answer.verdict is not None and pair(answer) in known:
            gained = float(answer.verdict.right) - float(known[pair(answer)])
            differences.setdefault(answer.question, []).append(gained)
    values = [value for group in differences.values() for value in group]
    better, worse = values.count(1.0), values.count(-1.0)
    mean = sum(values) / len(values) if values else 0.0
    interval = bootstrap(differences, seed=seed)
    return Comparison(name, against, len(values), better, worse, mean, interval, mcnemar(better, worse))


def markdown(run: PlacementRun, *, seed: int) -> str:
    """The whole result as Markdown."""
    answers = run.answers
    parts = [
        _heading(run),
        "### Each place\n",
        _tally_table(("place",), tallies(answers, lambda answer: (answer.placement,))),
        "\n### Each place and wording, memories alone\n",
        _tally_table(
            ("place", "wording"), tallies(memories(answers), lambda answer: (answer.placement, answer.wording.value))
        ),
        "\n### Right answers by history length and by kind of fact\n",
        _right_table(run),
        "\n### Against the system prompt: the same question, wording and length\n",
        _comparison_table(compare_places(answers, seed=seed)),
        f'\n### Against "{_BASE_WORDING}": the same question, place and length, memories alone\n',
        _comparison_table(compare_wordings(answers, seed=seed)),
    ]
    return "\n".join(parts)


def _heading(run: PlacementRun) -> str:
    sampling = "temperature 0" if run.greedy else "the provider's default sampling (no temperature is sent)"
    sizes = ", ".join(f"{length:,} (prompts of up to {size:,})" for length, size in run.prompt_tokens.items())
    lines = [
        f"{run.model}: {len(run.sheet.facts)} questions, {sampling}; history tokens: {sizes}.",
        "In brackets: Wilson's 95 % interval, answers taken as independent.",
    ]
    if run.too_long:
        left_out = ", ".join(f"{length:,}" for length in run.too_long)
        lines.append(f"Left out, because the model's context is too small: {left_out}.")
    return "\n".join(lines) + "\n"


def _tally_table(names: Sequence[str], counted: Sequence[Tally]) -> str:
    lines = [_row([*names, *_HEADINGS]), _row(["---"] * len(names) + ["--:"] * len(_HEADINGS))]
    for tally in counted:
        shares = [_share(getattr(tally, measure), tally.answered) for measure in MEASURES]
        lines.append(_row([*tally.group, *shares, str(tally.failed)]))
    return "\n".join(lines)


def _right_table(run: PlacementRun) -> str:
    lengths = list(dict.fromkeys(answer.length for answer in run.answers))
    kinds = [kind for kind in Kind if any(answer.kind is kind for answer in run.answers)]
    heads = ["place", *(f"history {length:,}" for length in lengths), *(kind.value for kind in kinds)]
    lines = [_row(heads), _row(["---"] + ["--:"] * (len(heads) - 1))]
    by_length = {tally.group: tally for tally in tallies(run.answers, lambda a: (a.placement, str(a.length)))}
    by_kind = {tally.group: tally for tally in tallies(run.answers, lambda a: (a.placement, a.kind.value))}
    for place in dict.fromkeys(answer.placement for answer in run.answers):
        cells = [by_length[place, str(length)] for length in lengths]
        cells += [by_kind[place, kind.value] for kind in kinds]
        lines.append(_row([place, *(_share(tally.right, tally.answered) for tally in cells)]))
    return "\n".join(lines)


def _comparison_table(compared: Sequence[Comparison]) -> str:
    lines = [_row(["", "better", "worse", "of", "points (95 %)", "p"]), _row(["---"] + ["--:"] * 5)]
    for item in compared:
        low, high = (f"{100 * end:+.0f}" for end in (item.interval.low, item.interval.high))
        points = f"{100 * item.difference:+.0f} ({low} to {high})"
        lines.append(_row([item.name, str(item.better), str(item.worse), str(item.pairs), points, _chance(item.p)]))
    return "\n".join(lines)


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _share(hits: int, count: int) -> str:
    if count == 0:
        return "–"
    interval = wilson(hits, count)
    return f"{hits} of {count} ({100 * interval.low:.0f}–{100 * interval.high:.0f} %)"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_json(run: PlacementRun, *, seed: int) -> dict[str, object]:
    """The whole result as a JSON object, every answer with its verdict."""
    answers = run.answers
    by_all = tallies(answers, lambda a: (a.placement, a.wording.value, str(a.length)))
    return {
        "model": run.model,
        "greedy": run.greedy,
        "seed": seed,
        "now": run.sheet.now.isoformat(),
        "history_tokens": [
            {"length": length, "largest_prompt": size, "left_out": length in run.too_long}
            for length, size in run.prompt_tokens.items()
        ],
        "facts": [
            {"kind": fact.subject.kind.value, "question": fact.subject.question, "value": fact.value.text}
            for fact in run.sheet.facts
        ],
        "counts": [
            {
                "placement": tally.group[0],
                "wording": tally.group[1],
                "length": int(tally.group[2]),
                "answered": tally.answered,
                "failed": tally.failed,
                **{
                    measure: {
                        "count": getattr(tally, measure),
                        "interval": asdict(wilson(getattr(tally, measure), tally.answered)),
                    }
                    for measure in MEASURES
                },
            }
            for tally in by_all
        ],
        "places_against_system_prompt": [asdict(item) for item in compare_places(answers, seed=seed)],
        "wordings_against_third_person": [asdict(item) for item in compare_wordings(answers, seed=seed)],
        "answers": [
            {
                "placement": answer.placement,
                "wording": answer.wording.value,
                "length": answer.length,
                "question": answer.question,
                "reply": answer.reply,
                "error": answer.error,
                "verdict": None if answer.verdict is None else asdict(answer.verdict),
            }
            for answer in answers
        ],
    }
