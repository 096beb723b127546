"""What the environment sets: FRONTMIND_DB, FRONTMIND_TIMEZONE, FRONTMIND_CACHE, FRONTMIND_MAX_OUTPUT_TOKENS,
FRONTMIND_LOCAL_CONTEXT, FRONTMIND_FRAMING, FRONTMIND_LAYOUT, FRONTMIND_PROFILE, FRONTMIND_EMBEDDER,
FRONTMIND_MEMORY_MODEL.

FRONTMIND_MODEL and the providers' keys are read where the model is chosen.
"""

from __future__ import annotations

from pathlib import Path

from platformdirs import user_cache_path, user_data_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from frontmind.errors import UsageError
from frontmind.window.choice import Framing, LayoutName


class Settings(BaseSettings):
    """The settings of one run.

    Attributes:
        db: the database file.
        timezone: the IANA zone of the user; None for the machine's.
        cache: the folder for models.
        max_output_tokens: the most tokens of a reply; None for the model's default.
        local_context: the most tokens that the local engine holds, capped by what the model was trained for.
        framing: how the notification center is sent; None for what the model's profile says.
        layout: the layout of windows, in place of a framing; None for what ``framing`` says.
        keep_alive: how often in a row an entry of the provider's cache is refreshed while nobody says anything.
        profile: facts of your own about the model, as ``fact=value,fact=value``.
        embedder: what makes vectors of texts for the search; empty for the default, ``none`` for none.
        memory_model: the model that extracts memories; empty for the chat's, where a provider hosts it, ``none`` for
            none.
    """

    model_config = SettingsConfigDict(env_prefix="FRONTMIND_", env_ignore_empty=True, frozen=True, extra="ignore")

    db: Path = Field(default_factory=lambda: user_data_path("frontmind") / "frontmind.db")
    timezone: str | None = None
    cache: Path = Field(default_factory=lambda: user_cache_path("frontmind"))
    max_output_tokens: int | None = Field(default=None, ge=1, le=128_000)
    local_context: int = Field(default=8192, ge=512)
    framing: Framing | None = None
    layout: LayoutName | None = None
    keep_alive: int = Field(default=0, ge=0, le=100)
    profile: str = ""
    embedder: str = ""
    memory_model: str = ""


def load_settings() -> Settings:
    """Read the environment.

    Raises:
        UsageError: a variable has a value that cannot be used.
    """
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = f"FRONTMIND_{'_'.join(str(part) for part in first['loc'])}".upper()
        raise UsageError(f"{name} cannot be used: {first['msg']}") from error
