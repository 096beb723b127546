"""Model names: what can be written after ``--model``, and which one is taken when nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from frontmind.errors import UsageError

DEFAULT_ANTHROPIC = "anthropic:claude-sonnet-5"
DEFAULT_OPENAI = "openai:gpt-5.5"
DEFAULT_OLLAMA_URL = "http://localhost:11434/v1"
DEEPSEEK_URL = "https://api.deepseek.com"
OPENROUTER_URL = "https://openrouter.ai/api/v1"


class Provider(StrEnum):
    LOCAL = "local"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GEMINI = "gemini"
    BEDROCK = "bedrock"
    DEEPSEEK = "deepseek"
    OPENROUTER = "openrouter"
    OLLAMA = "ollama"
    COMPATIBLE = "compatible"
    ECHO = "echo"
    SCRIPTED = "scripted"


_URLS: Final[Mapping[Provider, str]] = {
    Provider.OLLAMA: DEFAULT_OLLAMA_URL,
    Provider.DEEPSEEK: DEEPSEEK_URL,
    Provider.OPENROUTER: OPENROUTER_URL,
}


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model name taken apart.

    Attributes:
        provider: who serves it.
        model: the provider's name of the model; for LOCAL a path, an ``hf.co/...`` name or empty, for SCRIPTED a file.
        url: the server, where it is not the provider's SDK that knows it.
    """

    provider: Provider
    model: str = ""
    url: str | None = None

    def __str__(self) -> str:
        name = f"{self.provider.value}:{self.model}" if self.model else self.provider.value
        return f"{name}@{self.url}" if self.provider is Provider.COMPATIBLE else name


_COMPATIBLE: Final = "write compatible:NAME@URL, for example compatible:qwen3@http://localhost:8080/v1"
FORMS = (
    "local, local:PATH.gguf, local:hf.co/OWNER/REPO/FILE, anthropic:NAME, openai:NAME, gemini:NAME, bedrock:NAME, "
    "deepseek:NAME, openrouter:NAME, ollama:NAME, compatible:NAME@URL, echo, scripted:FILE.json"
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
    if provider is Provider.COMPATIBLE:
        name, at, url = rest.partition("@")
        if not at:
            raise UsageError(f"cannot read {text!r}; {_COMPATIBLE}")
        if not name:
            raise UsageError(f"there is no name in front of the @; {_COMPATIBLE}")
        _require_server(url)
        return ModelName(provider, name, url)
    return ModelName(provider, rest, _URLS.get(provider))


def _require_server(url: str) -> None:
    """Check an address without repeating it: people put keys into addresses.

    Raises:
        UsageError: it is none, or holds more than a server and a path.
    """
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known or not url.isprintable() or " " in url:
        raise UsageError(f"the address behind the @ is no http address; {_COMPATIBLE}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            "the address behind the @ has a user, a password or a query; give the server's key in "
            f"FRONTMIND_COMPATIBLE_API_KEY; {_COMPATIBLE}"
        )


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
