"""LoCoMo (snap-research/locomo, CC BY-NC 4.0) as a data set for the recall benchmark, the corrected citations of
dial481/locomo-audit applied. Read from a folder beside the repository; nothing of it is shipped.

Its traps: evidence ids that hold several ("D8:6; D9:17") or a slip ("D:11:26"), questions without evidence, and
category 5, which is adversarial and left out. Times are per session. What a shared picture shows (its caption) was said
with the turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from frontmind.bench.recall_data import Item, Question

CATEGORIES: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
"""The names of the numbers, by the order of the figures in the data set's own tables."""

_EVIDENCE: Final = re.compile(r"D:?(\d+):0*(\d+)")
_SESSION: Final = re.compile(r"session_(\d+)")


def read_locomo(folder: Path) -> tuple[tuple[Item, ...], tuple[Question, ...], int]:
    """The turns, the questions of categories 1 to 4, and how many citations were corrected."""
    samples = json.loads((folder / "locomo10.json").read_text(encoding="utf-8"))
    audit = json.loads((folder / "errors.json").read_text(encoding="utf-8"))
    corrections = {error["question_id"]: error["correct_evidence"] for error in audit if error.get("correct_evidence")}
    items: list[Item] = []
    questions: list[Question] = []
    corrected = 0
    for number, sample in enumerate(samples):
        name = sample["sample_id"]
        own = list(_items(name, sample["conversation"]))
        known = {item.id for item in own}
        items += own
        for place, asked in enumerate(sample["qa"]):
            question_id = f"locomo_{number}_qa{place}"
            cited = corrections.get(question_id, asked["evidence"])
            relevant = frozenset(f"{name}/{turn}" for turn in _turns(cited)) & known
            if asked["category"] in CATEGORIES and relevant:
                corrected += cited is not asked["evidence"]
                category = CATEGORIES[asked["category"]]
                questions.append(Question(question_id, name, None, asked["question"], relevant, category))
    return tuple(items), tuple(questions), corrected


def _items(name: str, conversation: Mapping[str, Any]) -> Iterator[Item]:
    sessions = sorted(int(found[1]) for key in conversation if (found := _SESSION.fullmatch(key)))
    for session in sessions:
        at = datetime.strptime(conversation[f"session_{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(
            tzinfo=UTC
        )
        for turn in conversation[f"session_{session}"]:
            caption = turn.get("blip_caption")
            shown = f" (shares a picture: {caption})" if caption else ""
            yield Item(f"{name}/{turn['dia_id']}", name, at, turn["speaker"], f"{turn['text']}{shown}")


def _turns(evidence: list[str]) -> Iterator[str]:
    for cited in evidence:
        for session, turn in _EVIDENCE.findall(cited):
            yield f"D{session}:{turn}"
