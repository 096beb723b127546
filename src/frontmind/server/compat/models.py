"""The names under which clients ask for the assistant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from frontmind.server.compat.errors import RequestProblem
from frontmind.window.canonical import Json, JsonObject

ASSISTANT: Final = "frontmind"
"""The name that holds whatever model answers."""
# The lists say when a model came to be. That of the assistant is no fact, so it is the same everywhere.
_CREATED: Final = datetime(2026, 1, 1, tzinfo=UTC)


def model_names(model: str) -> tuple[str, ...]:
    """The names that are answered to.

    Args:
        model: the full name of the model that answers.
    """
    return tuple(dict.fromkeys((ASSISTANT, model)))


def require_known(named: str, model: str) -> None:
    """Check the name in a request.

    Args:
        model: the full name of the model that answers.

    Raises:
        RequestProblem: nobody has this name here.
    """
    if not named:
        raise RequestProblem(f"model is missing; ask for {ASSISTANT!r}", param="model")
    if named not in model_names(model):
        raise RequestProblem(
            f"there is no such model here; ask for {ASSISTANT!r}", code="model_not_found", param="model", status=404
        )


def openai_model(name: str) -> JsonObject:
    """A model in OpenAI's list."""
    return {"id": name, "object": "model", "created": int(_CREATED.timestamp()), "owned_by": ASSISTANT}


def openai_models(names: Sequence[str]) -> JsonObject:
    """OpenAI's list."""
    return {"object": "list", "data": [openai_model(name) for name in names]}


def anthropic_model(name: str) -> JsonObject:
    """A model in Anthropic's list."""
    created = _CREATED.isoformat()
    return {"type": "model", "id": name, "display_name": name, "created_at": created, "lifecycle": "active"}


def anthropic_models(names: Sequence[str]) -> JsonObject:
    """Anthropic's list."""
    data: list[Json] = [anthropic_model(name) for name in names]
    return {"data": data, "has_more": False, "first_id": names[0], "last_id": names[-1]}
