"""The model that sums up what was said, beside the one of the chat. Whatever is wrong with it, the chat goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from frontmind.cli.settings import Settings
from frontmind.cli.terminal import note
from frontmind.errors import ModelUnavailable
from frontmind.providers.names import ModelName, Provider
from frontmind.providers.opening import open_model, select_model
from frontmind.providers.protocol import Model

_ONLY_EXTRACTS: Final = "summaries of earlier segments stay extracts, and no memories are extracted"


def loses_cache(name: ModelName, chat: ModelName) -> bool:
    """Whether this is the engine of the chat itself, which holds one cache and forgets it over anything else."""
    return name == chat and name.provider is Provider.LOCAL


async def open_memory_model(
    name: ModelName, chat: ModelName, opened: Model, settings: Settings, *, tell: Callable[[str], None]
) -> Model | None:
    """The model of this name; None, and one line is told, where it cannot be opened or would cost the chat its cache.

    Args:
        chat: the name of the chat's model.
        opened: the chat's model, which is taken when both have the same name; it stays its owner's to close.

    Raises:
        UsageError: the model cannot be what its name says, such as a script that cannot be read.
    """
    if loses_cache(name, chat):
        tell(f"{_ONLY_EXTRACTS}: {name} would lose the cache of this chat; name another in FRONTMIND_MEMORY_MODEL")
        return None
    if name == chat:
        return opened
    try:
        return await open_model(
            select_model(name), cache_dir=settings.cache, local_context=settings.local_context, announce=note
        )
    except ModelUnavailable as error:
        tell(f"{_ONLY_EXTRACTS}: {error}")
        return None
