"""The person who asks, as the API gives it out."""

from __future__ import annotations

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from frontmind.server.schemas.sent import Sent
from frontmind.server.schemas.texts import Shown


class Me(BaseModel):
    """The person who asks, and what answers.

    Attributes:
        name: empty where there are no accounts.
        accounts: whether people need a key.
        timezone: the IANA zone that the person has set; empty for that of the server.
        instructions: what the person tells the assistant about itself, for every conversation.
        zone: the zone in force.
        model: who answers.
        framing: how the notification center is sent.
        version: that of Frontmind.
        now: the present moment, in the zone in force.
    """

    name: Shown
    accounts: bool
    timezone: str
    instructions: Shown
    zone: str
    model: Shown
    framing: str
    version: str
    now: AwareDatetime


class NewSettings(Sent):
    """What a person sets.

    Attributes:
        timezone: an IANA zone; empty for that of the server.
        instructions: for every conversation.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"timezone": "Europe/Berlin", "instructions": "Be brief."}]}
    )

    timezone: Annotated[str, Field(max_length=100)]
    instructions: Annotated[str, Field(max_length=20_000)]


class Login(Sent):
    """A key in exchange for the page's cookie."""

    key: Annotated[str, Field(min_length=1, max_length=200)]
