"""From a model name to what is known of it, to its encoder, or to a model that can be asked.

Packages are loaded only when needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from frontmind.errors import ModelUnavailable
from frontmind.providers.anthropic import AnthropicModel
from frontmind.providers.bedrock import BedrockModel
from frontmind.providers.echo import EchoModel
from frontmind.providers.encoding.encode import encode_window
from frontmind.providers.encoding.local import encode_local
from frontmind.providers.gemini import GeminiModel
from frontmind.providers.local import LocalModel
from frontmind.providers.names import ModelName, Provider
from frontmind.providers.openai_chat import OpenAIChatModel
from frontmind.providers.openai_responses import OpenAIResponsesModel
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.profiles.resolve import choose_framing, resolve_profile
from frontmind.providers.protocol import Model, Request
from frontmind.providers.retrying import RetryingModel
from frontmind.providers.scripted import ScriptedModel, read_script
from frontmind.window.choice import Framing, FramingChoice
from frontmind.window.window import Window

_MAX_OUTPUT_TOKENS: Final = 1024
# A small model that has lost its thread goes on to the limit, on two cores at forty-five tokens a second.
_MAX_LOCAL_OUTPUT_TOKENS: Final = 256
_KEYS: Final[Mapping[Provider, str]] = {
    Provider.DEEPSEEK: "DEEPSEEK_API_KEY",
    Provider.OPENROUTER: "OPENROUTER_API_KEY",
    Provider.COMPATIBLE: "FRONTMIND_COMPATIBLE_API_KEY",
}
"""Where the key of a server is looked for that the SDK does not know by itself."""


_SECRETS: Final[Mapping[Provider, tuple[str, ...]]] = {
    Provider.ANTHROPIC: ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    Provider.OPENAI: ("OPENAI_API_KEY",),
    Provider.GEMINI: ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    Provider.BEDROCK: ("AWS_",),
    **{provider: (variable,) for provider, variable in _KEYS.items()},
}
"""How the variables begin that hold what a provider's client puts into headers."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A model as it was chosen.

    Attributes:
        name: who it is.
        profile: what is known of it, the user's own facts included.
        framing: how its windows are framed.
        max_output_tokens: the most tokens of a reply.
    """

    name: ModelName
    profile: Profile
    framing: FramingChoice
    max_output_tokens: int

    def encode(self, window: Window) -> Request:
        """The request for this window; needs no package, key, file or network."""
        encode = encode_local if self.name.provider is Provider.LOCAL else encode_window
        return encode(window, self.profile, max_output_tokens=self.max_output_tokens, framing=self.framing)


def select_model(
    name: ModelName,
    *,
    framing: Framing | None = None,
    overrides: Mapping[str, object] | None = None,
    max_output_tokens: int | None = None,
) -> Selection:
    """What is known of a model, and how its windows are framed.

    Args:
        framing: the framing that was asked for; None for what the profile says.
        overrides: the user's own facts.
        max_output_tokens: the most tokens of a reply; None for the model's default.

    Raises:
        UsageError: the facts contradict each other, or the model cannot take the framing.
    """
    # A path says nothing of the model, and belongs into no request.
    model = "" if name.provider in (Provider.LOCAL, Provider.SCRIPTED) else name.model
    profile = resolve_profile(name.provider.value, model, overrides)
    default = _MAX_LOCAL_OUTPUT_TOKENS if name.provider is Provider.LOCAL else _MAX_OUTPUT_TOKENS
    return Selection(name, profile, choose_framing(profile, framing), max_output_tokens or default)


async def open_model(
    selection: Selection, *, cache_dir: Path, local_context: int, announce: Callable[[str], None]
) -> Model:
    """The model that was selected, ready to be asked; close it when done. One behind a network is asked again
    when it fails before it has said anything.

    Args:
        cache_dir: the folder where the local model is kept.
        local_context: the most tokens that the local engine holds.
        announce: told when something takes long, such as fetching the local model.

    Raises:
        ModelUnavailable: a package, key or file is missing; the message says which.
        UsageError: a script cannot be read.
    """
    name, most = selection.name, selection.max_output_tokens
    _require_clean_keys(str(name), name.provider)
    if name.provider is Provider.LOCAL:
        return await LocalModel.open(
            name.model,
            profile=selection.profile,
            framing=selection.framing,
            cache_dir=cache_dir,
            max_output_tokens=most,
            context=local_context,
            announce=announce,
        )
    if name.provider is Provider.ECHO:
        return EchoModel(profile=selection.profile, framing=selection.framing, max_output_tokens=most)
    if name.provider is Provider.SCRIPTED:
        return ScriptedModel(
            read_script(Path(name.model)),
            name=str(name),
            profile=selection.profile,
            framing=selection.framing,
            max_output_tokens=most,
        )
    common: dict[str, Any] = {"name": str(name), "framing": selection.framing, "max_output_tokens": most}
    return RetryingModel(_open_hosted(selection, common))


def _open_hosted(selection: Selection, common: Mapping[str, Any]) -> Model:
    provider = selection.name.provider
    if provider is Provider.ANTHROPIC:
        return AnthropicModel(selection.profile, **common)
    if provider is Provider.GEMINI:
        return GeminiModel(selection.profile, **common)
    if provider is Provider.BEDROCK:
        return BedrockModel(selection.profile, **common)
    return _open_openai(selection, common)


def _require_clean_keys(name: str, provider: Provider) -> None:
    """Check what goes into headers before a transport can refuse it with the key in its words.

    Raises:
        ModelUnavailable: a variable holds what no key holds.
    """
    for variable, value in os.environ.items():
        if variable.startswith(_SECRETS.get(provider, ())) and not (value.isascii() and value.isprintable()):
            raise ModelUnavailable(
                f"{name} cannot use {variable}: it has a line end or another character that no key has; set it again",
                model=name,
            )


def _open_openai(selection: Selection, common: Mapping[str, Any]) -> Model:
    name = selection.name
    variable = _KEYS.get(name.provider)
    key = os.environ.get(variable) if variable is not None else None
    if not key and name.provider in (Provider.DEEPSEEK, Provider.OPENROUTER):
        raise ModelUnavailable(
            f"{name} needs a key; set {variable}, or choose another model with --model", model=str(name)
        )
    client = OpenAIResponsesModel if selection.profile.wire is Wire.OPENAI_RESPONSES else OpenAIChatModel
    return client(selection.profile, **common, base_url=name.url, api_key=key)
