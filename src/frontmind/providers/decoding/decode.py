"""The decoder of every wire format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from frontmind.providers.decoding.anthropic import AnthropicDecoder
from frontmind.providers.decoding.bedrock import ConverseDecoder, InvokeDecoder
from frontmind.providers.decoding.gemini import GeminiDecoder
from frontmind.providers.decoding.openai_chat import ChatDecoder
from frontmind.providers.decoding.openai_responses import ResponsesDecoder
from frontmind.providers.decoding.reply import Decoder
from frontmind.providers.profiles.profile import Wire

DECODERS: Final[Mapping[Wire, Decoder]] = {
    Wire.ANTHROPIC: AnthropicDecoder(),
    Wire.BEDROCK_CONVERSE: ConverseDecoder(),
    Wire.BEDROCK_INVOKE: InvokeDecoder(),
    Wire.OPENAI_RESPONSES: ResponsesDecoder(),
    Wire.OPENAI_CHAT: ChatDecoder(),
    Wire.GEMINI: GeminiDecoder(),
}
