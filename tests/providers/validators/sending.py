"""Sends an encoded request by the provider's own SDK; gives back the reply, or the events of its stream, as JSON.

It asks nothing of the SDK but to send what it is given: no helper that builds or repairs a request is used.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import anthropic
import boto3
import openai
from botocore.config import Config
from google import genai
from google.genai import types as genai_types

from frontmind.providers.encoding.bedrock import converse_arguments
from frontmind.providers.profiles.profile import Wire

Json: TypeAlias = dict[str, Any]
KEY = "test-key"


class Senders:
    """The SDKs' clients, each made once, all of them for one address."""

    def __init__(self, url: str) -> None:
        self._anthropic = anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0)
        self._openai = openai.OpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0)
        self._gemini = genai.Client(api_key=KEY, http_options=genai_types.HttpOptions(base_url=url))
        self._bedrock = boto3.client(
            "bedrock-runtime",
            endpoint_url=url,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=KEY,
            config=Config(retries={"total_max_attempts": 1}),
        )

    def close(self) -> None:
        self._anthropic.close()
        self._openai.close()
        self._gemini.close()
        self._bedrock.close()

    def send(self, wire: Wire, request: Mapping[str, Any]) -> Json:
        """The reply in one piece."""
        match wire:
            case Wire.ANTHROPIC:
                return _plain(self._messages(request)(**request))
            case Wire.OPENAI_RESPONSES:
                return _plain(_called(self._openai.responses.create, request))
            case Wire.OPENAI_CHAT:
                return _plain(_called(self._openai.chat.completions.create, request))
            case Wire.GEMINI:
                return _plain_gemini(self._gemini.models.generate_content(**gemini_arguments(request)))
            case Wire.BEDROCK_CONVERSE:
                return dict(self._bedrock.converse(**converse_arguments(request)))
            case Wire.BEDROCK_INVOKE:
                response = self._bedrock.invoke_model(modelId=request["modelId"], body=json.dumps(request["body"]))
                return dict(json.loads(response["body"].read()))

    def stream(self, wire: Wire, request: Mapping[str, Any]) -> list[Json]:
        """The events of the stream."""
        match wire:
            case Wire.ANTHROPIC:
                with self._messages(request)(**request, stream=True) as events:
                    return [_plain(event) for event in events]
            case Wire.OPENAI_RESPONSES:
                with _called(self._openai.responses.create, {**request, "stream": True}) as events:
                    return [_plain(event) for event in events]
            case Wire.OPENAI_CHAT:
                asked = {**request, "stream": True, "stream_options": {"include_usage": True}}
                with _called(self._openai.chat.completions.create, asked) as events:
                    return [_plain(event) for event in events]
            case Wire.GEMINI:
                chunks = self._gemini.models.generate_content_stream(**gemini_arguments(request))
                return [_plain_gemini(chunk) for chunk in chunks]
            case Wire.BEDROCK_CONVERSE:
                return list(self._bedrock.converse_stream(**converse_arguments(request))["stream"])
            case Wire.BEDROCK_INVOKE:
                response = self._bedrock.invoke_model_with_response_stream(
                    modelId=request["modelId"], body=json.dumps(request["body"])
                )
                return [json.loads(event["chunk"]["bytes"]) for event in response["body"]]

    def _messages(self, request: Mapping[str, Any]) -> Callable[..., Any]:
        # Beta headers have no argument in the plain resource.
        return self._anthropic.beta.messages.create if "betas" in request else self._anthropic.messages.create


def body_of(wire: Wire, request: Mapping[str, Any]) -> Json:
    """The body in which the encoded request goes over the wire."""
    match wire:
        case Wire.BEDROCK_INVOKE:
            return dict(request["body"])
        case Wire.BEDROCK_CONVERSE:
            return {key: value for key, value in request.items() if key != "modelId"}
        case Wire.GEMINI:
            return {key: value for key, value in request.items() if key != "model"}
        case _:
            return {key: value for key, value in request.items() if key != "betas"}


def gemini_arguments(request: Mapping[str, Any]) -> Json:
    """The request as the SDK's ``generate_content`` takes it, with the body as it is.

    The SDK's types have to know each of its parts; sent from them, a signature would be spelled anew.
    """
    known = dict(request["generationConfig"])
    known |= {key: request[key] for key in ("systemInstruction", "tools") if key in request}
    genai_types.GenerateContentConfig.model_validate(known)
    for content in request["contents"]:
        genai_types.Content.model_validate(content)
    options = genai_types.HttpOptions(extra_body=body_of(Wire.GEMINI, request))
    config = genai_types.GenerateContentConfig(http_options=options)
    return {"model": request["model"], "contents": "-", "config": config}


def _called(create: Callable[..., Any], request: Mapping[str, Any]) -> Any:
    known = inspect.signature(create).parameters
    own = {key: value for key, value in request.items() if key in known}
    extra = {key: value for key, value in request.items() if key not in known}
    return create(**own, extra_body=extra) if extra else create(**own)


def _plain(value: Any) -> Json:
    return dict(value.to_dict(mode="json"))


def _plain_gemini(value: Any) -> Json:
    return dict(value.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"sdk_http_response"}))
