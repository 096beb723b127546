"""A model behind Amazon Bedrock, through boto3.

boto3 blocks, so each call runs in a thread of its own that hands its events over to the event loop. This module knows
neither how a window becomes a request nor what a reply means.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final, TypeAlias, get_args

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused
from frontmind.providers.encoding.bedrock import converse_arguments
from frontmind.providers.encoding.encode import require_wire
from frontmind.providers.faults import (
    CONNECT_SECONDS,
    SILENCE_SECONDS,
    Advice,
    connection_lost,
    explained,
    is_loopback,
    read_fault,
    timed_out,
    unreachable,
)
from frontmind.providers.hosted import HostedModel, one_line
from frontmind.providers.profiles.profile import Profile, Wire
from frontmind.providers.protocol import Request
from frontmind.window.canonical import canonical_json
from frontmind.window.choice import FramingChoice

_Item: TypeAlias = "Mapping[str, Any] | Exception | None"
_OddReply: TypeAlias = ValueError | TypeError | LookupError | AttributeError
_ADVICE: Final = Advice(
    key="check the AWS keys and that the account has access to the model",
    missing="check the name after --model, and the region",
)


class BedrockModel(HostedModel):
    """A `Model` over boto3's ``bedrock-runtime``: Converse or InvokeModel, as the profile says.

    Args:
        region: the AWS region; None for AWS_REGION, or where boto3 looks for it.
        endpoint_url: another server that speaks the same API; None for Amazon's.
        silence: how many seconds the server may send nothing.

    Raises:
        ModelUnavailable: boto3 is not installed, or there is no region or no key.
        UsageError: the profile names a wire format that is none of Bedrock's.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        name: str,
        framing: FramingChoice,
        max_output_tokens: int,
        region: str | None = None,
        endpoint_url: str | None = None,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        super().__init__(profile, name=name, framing=framing, max_output_tokens=max_output_tokens)
        if profile.wire is not Wire.BEDROCK_INVOKE:
            require_wire(profile, Wire.BEDROCK_CONVERSE)
        try:
            import boto3  # noqa: PLC0415 - optional dependency
            from botocore.config import Config  # noqa: PLC0415 - comes with the optional dependency
            from botocore.exceptions import BotoCoreError, NoRegionError  # noqa: PLC0415 - as above
        except ImportError as error:
            raise ModelUnavailable(
                f"{name} needs the boto3 package; run: pip install 'frontmind[bedrock]'", model=name
            ) from error
        # No proxy reaches this machine's own loopback.
        local: dict[str, Any] = {"proxies": {}} if is_loopback(endpoint_url or "") else {}
        try:
            session = boto3.Session(region_name=region or os.environ.get("AWS_REGION") or None)
            self._client: Any = session.client(
                "bedrock-runtime",
                endpoint_url=endpoint_url,
                config=Config(
                    connect_timeout=min(CONNECT_SECONDS, silence),
                    read_timeout=silence,
                    retries={"total_max_attempts": 1},
                    **local,
                ),
            )
            has_key = session.get_credentials() is not None or "AWS_BEARER_TOKEN_BEDROCK" in os.environ
        except NoRegionError as error:
            raise ModelUnavailable(f"{name} needs a region; set AWS_REGION", model=name) from error
        except (BotoCoreError, ValueError) as error:
            raise ModelUnavailable(
                f"{name} cannot be set up ({one_line(error)}); check the AWS settings", model=name
            ) from error
        if not has_key:
            raise ModelUnavailable(
                f"{name} needs a key; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_BEARER_TOKEN_BEDROCK, or "
                "choose another model with --model",
                model=name,
            )

    async def _events(self, request: Request) -> AsyncGenerator[Mapping[str, Any], None]:
        call = _Call(self._opener(request))
        call.start()
        try:
            while (item := await call.next()) is not None:
                if isinstance(item, _OddReply):
                    raise item
                if isinstance(item, Exception):
                    raise self._explained(item) from item
                yield self._event(item)
        finally:
            call.stop()

    def _opener(self, request: Request) -> Callable[[], Any]:
        """The blocking call that gives the stream."""
        if self.profile.wire is Wire.BEDROCK_INVOKE:
            return lambda: self._client.invoke_model_with_response_stream(
                modelId=request["modelId"], body=canonical_json(request["body"]), contentType="application/json"
            )["body"]
        try:
            arguments = converse_arguments(request)
        except ValueError as error:
            raise RequestRefused(
                f"a picture or file in the request to {self.name} is no base64 ({one_line(error)}); correct its data",
                model=self.name,
            ) from error
        return lambda: self._client.converse_stream(**arguments)["stream"]

    def _event(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.profile.wire is Wire.BEDROCK_CONVERSE:
            return dict(_as_json(item))
        event: Mapping[str, Any] = json.loads(item["chunk"]["bytes"])
        return event

    def _explained(self, error: Exception) -> ModelError:
        from botocore import exceptions  # noqa: PLC0415 - comes with the optional dependency
        from botocore.httpsession import URLLib3ReadTimeoutError  # noqa: PLC0415 - as above

        name = self.name
        if isinstance(error, exceptions.ClientError):
            return self._refused(error.response)
        if isinstance(error, exceptions.ParamValidationError):
            return RequestRefused(f"boto3 refused the request to {name} ({one_line(error)})", model=name)
        if isinstance(error, exceptions.NoCredentialsError | exceptions.TokenRetrievalError):
            return ModelUnavailable(f"{name} needs a key ({one_line(error)}); check the AWS settings", model=name)
        if isinstance(error, exceptions.EndpointConnectionError):
            return unreachable(name, one_line(error), url=self._client.meta.endpoint_url)
        if isinstance(error, exceptions.ReadTimeoutError | exceptions.ConnectTimeoutError | URLLib3ReadTimeoutError):
            return timed_out(name)
        return connection_lost(name, one_line(error))

    def _refused(self, response: Mapping[str, Any]) -> ModelError:
        told, answer = response.get("Error", {}), response.get("ResponseMetadata", {})
        body = {"type": told.get("Code"), "message": told.get("Message")}
        headers = answer.get("HTTPHeaders")
        fault = read_fault(body, status=answer.get("HTTPStatusCode"), headers=headers)
        return explained(fault, name=self.name, advice=_ADVICE)

    async def close(self) -> None:
        await asyncio.to_thread(self._client.close)


class _Call(threading.Thread):
    """One call: what boto3 gives, an error or the end (None), in the order in which it comes.

    A daemon, because boto3 offers no way to break off a call that has not begun to answer.
    """

    def __init__(self, open_stream: Callable[[], Any]) -> None:
        super().__init__(name="frontmind-bedrock", daemon=True)
        self._open = open_stream
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[_Item] = asyncio.Queue()
        self._guard = threading.Lock()
        self._stopped = False
        self._stream: Any = None

    async def next(self) -> _Item:
        return await self._items.get()

    def stop(self) -> None:
        """End the call, wherever it is; does not wait."""
        with self._guard:
            self._stopped = True
            # Closing from here would wait for the thread that reads; the end of the connection wakes that one.
            connection = getattr(self._stream, "_raw_stream", None)
            if connection is not None and hasattr(connection, "shutdown"):
                try:
                    connection.shutdown()
                except (RuntimeError, ValueError, OSError):
                    # It has ended already.
                    return

    def run(self) -> None:
        from botocore.eventstream import ParserError  # noqa: PLC0415 - comes with the optional dependency
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above
        from botocore.httpsession import (  # noqa: PLC0415 - the errors that a running stream lets through
            ProtocolError,
            URLLib3ReadTimeoutError,
            URLLib3SSLError,
        )

        broken = (BotoCoreError, ClientError, ProtocolError, URLLib3ReadTimeoutError, URLLib3SSLError)
        try:
            self._read()
        except ParserError as error:
            self._hand_over(ValueError(str(error)))
        except (*broken, OSError, *get_args(_OddReply)) as error:
            self._hand_over(error)
        finally:
            self._hand_over(None)

    def _read(self) -> None:
        stream = self._open()
        try:
            with self._guard:
                self._stream = stream
                if self._stopped:
                    return
            for event in stream:
                self._hand_over(event)
        finally:
            with self._guard:
                self._stream = None
            stream.close()

    def _hand_over(self, item: _Item) -> None:
        try:
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)
        except RuntimeError:
            # The event loop is closed: nobody waits any more.
            self._stopped = True


def _as_json(value: Any) -> Any:
    """The value with bytes as base64 text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value
