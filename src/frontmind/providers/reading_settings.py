"""The parameters of a request, beside its blocks, that a provider's cache goes by: a change of one breaks the prefix.

Anthropic has a table of them (V); the same models behind Bedrock and OpenRouter are taken to follow it (D). Of OpenAI
it is known that the schema of a structured reply stands in front of the system message (S).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from frontmind.providers.profiles.profile import Wire
from frontmind.providers.profiles.resolve import identify
from frontmind.providers.profiles.rules import CLAUDE
from frontmind.providers.reading_blocks import JsonDict
from frontmind.window.canonical import canonical_json
from frontmind.window.layout import Area, Block, Setting

_FROM: Final[Mapping[str, Area]] = {
    "speed": Area.SYSTEM,
    "citations": Area.SYSTEM,
    "tool_choice": Area.MESSAGES,
    "thinking": Area.MESSAGES,
    "reasoning": Area.MESSAGES,
    "effort": Area.MESSAGES,
    "output_config": Area.MESSAGES,
    "images": Area.MESSAGES,
}
_AS_ABSENT: Final[tuple[tuple[str, Any], ...]] = (("tool_choice", {"type": "auto"}), ("tool_choice", {"auto": {}}))
_CITATIONS: Final = b'"citations":{"enabled":true}'
_IMAGE: Final = (b'"type":"image"', b'"type":"image_url"', b'"image":{')


def settings_of(wire: str, body: JsonDict, blocks: Iterable[Block], model: str) -> tuple[Setting, ...]:
    """The parameters that the cache of this request's model goes by."""
    if wire in (Wire.ANTHROPIC, Wire.BEDROCK_INVOKE):
        return _of_claude(body, blocks)
    if wire == Wire.BEDROCK_CONVERSE:
        config = body.get("toolConfig")
        choice = config.get("toolChoice") if isinstance(config, dict) else None
        further = body.get("additionalModelRequestFields")
        return _of_claude({"tool_choice": choice, **(further if isinstance(further, dict) else {})}, blocks)
    if wire == Wire.OPENAI_CHAT and identify(model)[0] in CLAUDE:
        return _of_claude(body, blocks)
    if wire in (Wire.OPENAI_CHAT, Wire.OPENAI_RESPONSES):
        text = body.get("text")
        schema = text.get("format") if isinstance(text, dict) else body.get("response_format")
        return () if schema is None else (Setting("response_format", canonical_json(schema), Area.SYSTEM),)
    return ()


def _of_claude(values: Mapping[str, Any], blocks: Iterable[Block]) -> tuple[Setting, ...]:
    given = [
        Setting(name, canonical_json(values[name]), area)
        for name, area in _FROM.items()
        if values.get(name) is not None and (name, values[name]) not in _AS_ABSENT
    ]
    found = list(blocks)
    if any(block.kind == "image" or any(mark in block.data for mark in _IMAGE) for block in found):
        given.append(Setting("images", b"true", _FROM["images"]))
    if any(_CITATIONS in block.data for block in found):
        given.append(Setting("citations", b"true", _FROM["citations"]))
    return tuple(given)
