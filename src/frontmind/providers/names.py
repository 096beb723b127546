"""Model names: what can be written after ``--model``, and which one is taken when nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from frontmind.errors import UsageError

DEFAULT_ANTHROPIC = "anthropic:claude-sonnet-5"
# GPT-5.5 caches every prefix by itself; from GPT-5.6 on the cache stops at the last user message, so a section in
# front of it is never read back (ARCHITECTURE.md, "Providers").
DEFAULT_OPENAI = "openai:gpt-5.5"
DEFAULT_OLLAMA_URL = "http://localhost:11434/v1"


class Provider(StrEnum):
    LOCAL = "local"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OLLAMA = "ollama"
    COMPATIBLE = "compatible"
    ECHO = "echo"
    SCRIPTED = "scripted"


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model name taken apart.

    Attributes:
        provider: who serves it.
        model: the provider's name of the model; for LOCAL a path, an ``hf.co/...`` name or empty, for SCRIPTED a file.
        url: the server, for OLLAMA and COMPATIBLE.
    """

    provider: Provider
    model: str = ""
    url: str | None = None

    def __str__(self) -> str:
        name = f"{self.provider.value}:{self.model}" if self.model else self.provider.value
        return f"{name}@{self.url}" if self.provider is Provider.COMPATIBLE else name


FORMS = (
    "local, local:PATH.gguf, local:hf.co/OWNER/REPO/FILE, anthropic:NAME, openai:NAME, ollama:NAME, "
    "compatible:NAME@URL, echo, scripted:FILE.json"
)


def parse_model_name(text: str) -> ModelName:
    """Take a model name apart.

    Raises:
        UsageError: it has none of the forms in `FORMS`.
    """
    head, _, rest = text.strip().partition(":")
    try:
        provider = Provider(head)
    except ValueError:
        raise UsageError(f"unknown model {text!r}; use one of: {FORMS}") from None
    if provider is Provider.ECHO:
        if rest:
            raise UsageError(f"unknown model {text!r}; echo takes no name")
        return ModelName(provider)
    if provider is Provider.LOCAL:
        return ModelName(provider, rest)
    if not rest:
        raise UsageError(f"the model {text!r} needs a name behind the colon; use one of: {FORMS}")
    if provider is Provider.OLLAMA:
        return ModelName(provider, rest, DEFAULT_OLLAMA_URL)
    if provider is Provider.COMPATIBLE:
        name, at, url = rest.partition("@")
        if not name or not at or not url.startswith(("http://", "https://")):
            raise UsageError(
                f"cannot read {text!r}; write compatible:NAME@URL, for example "
                "compatible:qwen3@http://localhost:8080/v1"
            )
        return ModelName(provider, name, url)
    return ModelName(provider, rest)


def choose_model(option: str | None, environment: Mapping[str, str]) -> ModelName:
    """The model of this run: the option, then FRONTMIND_MODEL, then a key that is set, then the local one.

    Raises:
        UsageError: the name that was chosen has no known form.
    """
    chosen = option if option is not None else environment.get("FRONTMIND_MODEL") or None
    if chosen is not None:
        return parse_model_name(chosen)
    if environment.get("ANTHROPIC_API_KEY"):
        return parse_model_name(DEFAULT_ANTHROPIC)
    if environment.get("OPENAI_API_KEY"):
        return parse_model_name(DEFAULT_OPENAI)
    return ModelName(Provider.LOCAL)
