"""From a model name to its encoder, or to a model that can be asked. Packages are loaded only when needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from frontmind.providers.anthropic import AnthropicModel
from frontmind.providers.echo import EchoModel
from frontmind.providers.encoding.anthropic import encode_anthropic
from frontmind.providers.encoding.local import encode_local
from frontmind.providers.encoding.openai_chat import encode_openai_chat
from frontmind.providers.local import LocalModel
from frontmind.providers.names import ModelName, Provider
from frontmind.providers.openai_chat import OpenAIChatModel
from frontmind.providers.protocol import Model, Request
from frontmind.providers.scripted import ScriptedModel, read_script
from frontmind.window.window import Window

Encoder: TypeAlias = Callable[[Window], Request]

_MAX_OUTPUT_TOKENS = 1024
# A small model that has lost its thread goes on to the limit, on two cores at forty-five tokens a second.
_MAX_LOCAL_OUTPUT_TOKENS = 256
# OpenAI's newer models refuse max_tokens; other servers know only that.
_OPENAI_MAX_TOKENS = "max_completion_tokens"


def default_output_tokens(name: ModelName) -> int:
    """The most tokens of a reply where nobody sets it."""
    return _MAX_LOCAL_OUTPUT_TOKENS if name.provider is Provider.LOCAL else _MAX_OUTPUT_TOKENS


def encoder_of(name: ModelName, *, max_output_tokens: int | None = None) -> Encoder:
    """The function from a window to this model's request; needs no package, key, file or network."""
    max_output_tokens = max_output_tokens or default_output_tokens(name)
    if name.provider in (Provider.ANTHROPIC, Provider.ECHO):
        model = name.model or name.provider.value
        return partial(encode_anthropic, model=model, max_output_tokens=max_output_tokens)
    if name.provider is Provider.LOCAL:
        return partial(encode_local, max_output_tokens=max_output_tokens)
    if name.provider is Provider.OPENAI:
        return partial(
            encode_openai_chat,
            model=name.model,
            max_output_tokens=max_output_tokens,
            max_tokens_key=_OPENAI_MAX_TOKENS,
        )
    model = name.provider.value if name.provider is Provider.SCRIPTED else name.model
    return partial(encode_openai_chat, model=model, max_output_tokens=max_output_tokens)


async def open_model(
    name: ModelName,
    *,
    cache_dir: Path,
    max_output_tokens: int | None,
    local_context: int,
    announce: Callable[[str], None],
) -> Model:
    """The model of this name, ready to be asked; close it when done.

    Args:
        cache_dir: the folder where the local model is kept.
        max_output_tokens: the most tokens of a reply; None for the model's default.
        local_context: the most tokens that the local engine holds.
        announce: told when something takes long, such as fetching the local model.

    Raises:
        ModelUnavailable: a package, key or file is missing; the message says which.
        UsageError: a script cannot be read.
    """
    max_output_tokens = max_output_tokens or default_output_tokens(name)
    if name.provider is Provider.LOCAL:
        return await LocalModel.open(
            name.model,
            cache_dir=cache_dir,
            max_output_tokens=max_output_tokens,
            context=local_context,
            announce=announce,
        )
    if name.provider is Provider.ECHO:
        return EchoModel(max_output_tokens=max_output_tokens)
    if name.provider is Provider.SCRIPTED:
        return ScriptedModel(read_script(Path(name.model)), max_output_tokens=max_output_tokens)
    if name.provider is Provider.ANTHROPIC:
        return AnthropicModel(name.model, max_output_tokens=max_output_tokens)
    max_tokens_key = _OPENAI_MAX_TOKENS if name.provider is Provider.OPENAI else "max_tokens"
    return OpenAIChatModel(
        name.model,
        name=str(name),
        base_url=name.url,
        max_output_tokens=max_output_tokens,
        max_tokens_key=max_tokens_key,
    )
