"""What a person may ask with: words, pictures and files. Checked before anything of it is stored."""

from __future__ import annotations

from frontmind.errors import UsageError
from frontmind.providers.encoding.dialect import is_base64
from frontmind.values.harmless import one_line
from frontmind.values.message import Message, Role, user
from frontmind.values.parts import Document, Image, Part, Text, is_blank_text


def asked_message(asked: str | Message, *, model: str, inputs: frozenset[str]) -> Message:
    """The message that a turn begins with, without blank texts.

    Args:
        asked: words alone, or a user message of texts, pictures and documents.
        model: the name of the model that is asked, for errors.
        inputs: the media types that it takes beside text.

    Raises:
        UsageError: it says nothing, has parts that are not the person's to say, or a file that cannot be sent.
    """
    message = user(asked) if isinstance(asked, str) else asked
    if message.role is not Role.USER:
        raise UsageError(f"a turn begins with a message of the user; this one is said by the {message.role.value}")
    parts = tuple(part for part in message.parts if not is_blank_text(part))
    if not parts:
        raise UsageError("the message is empty; write something")
    for part in parts:
        _require_said_by_person(part)
        if isinstance(part, Image | Document):
            _require_sendable(part, model, inputs)
    return message if parts == message.parts else Message(Role.USER, parts)


def _require_said_by_person(part: Part) -> None:
    if not isinstance(part, Text | Image | Document):
        raise UsageError(
            f"a message is made of texts, pictures and documents; {type(part).__name__} is none of them. Results of "
            "tools go to the turn that waits for them"
        )


def _require_sendable(file: Image | Document, model: str, inputs: frozenset[str]) -> None:
    name = one_line(file.name, 80) if isinstance(file, Document) and file.name else f"the {type(file).__name__.lower()}"
    kind = one_line(file.media_type, 80)
    if file.media_type not in inputs:
        taken = ", ".join(sorted(inputs)) or "text only"
        raise UsageError(f"{model} does not take {kind} ({name}; it takes {taken}); leave it out or ask another model")
    if bool(file.data) == bool(file.url) or (file.data and not is_base64(file.data)):
        raise UsageError(f"{name} ({kind}) cannot be read; pass its bytes in base64, or its address")
