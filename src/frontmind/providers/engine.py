"""The engine of the local model: llama.cpp inside this process, and the few of its endpoints that are used.

It listens on the loopback address only, on a port that the system chooses, and answers nobody who does not have
the key of this run. It does not know windows, requests or how a model file is found.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from frontmind.errors import ModelError, ModelUnavailable, RequestRefused
from frontmind.window.canonical import Json, canonical_json, digest

if TYPE_CHECKING:
    import httpx2

DEFAULT_CONTEXT = 8192
# Prompt tokens between two looks at whether the caller is still there: about a second of work on two cores, and
# measured as fast as the engine's own 2048.
_BATCH = 256
# llama.cpp's levels: below 0 it prints nothing, not even errors; at 1 errors.
_SILENT, _ERRORS = -1, 1
_ERROR_LINE = re.compile(r"^[\d.]+ E (?:.*?: error loading model: |\S+ +\S+: |\S+: )(.*)$", re.MULTILINE)
_TRIAL_SECONDS = 600
_TRIAL = (
    "import sys; from pathlib import Path; from frontmind.providers import engine; "
    "engine.load_for_trial(Path(sys.argv[1]), int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Slot:
    """The one conversation that the engine holds.

    Attributes:
        task: the number of the last request that was worked on; None before the first.
        tokens: how many tokens it holds, prompt and reply.
        busy: whether it is working.
    """

    task: int | None
    tokens: int
    busy: bool


class Engine:
    """llama.cpp's server, in this process, with one model and one slot.

    Starting one takes as long as loading the model; run it in a thread where that matters.

    Args:
        path: a GGUF file that is known to load; for any other call `try_loading` first, because llama.cpp ends
            the whole process over some damaged files.
        name: the model's full name, for messages.
        context: the most tokens that a prompt and its reply may have together; the model's own limit if smaller.
        threads: how many threads compute; None for one per processor that this process may use.

    Raises:
        ModelUnavailable: llama.cpp is not installed, or cannot load the file.
    """

    def __init__(
        self, path: Path, *, name: str = "local", context: int = DEFAULT_CONTEXT, threads: int | None = None
    ) -> None:
        self.api_key = secrets.token_urlsafe(32)
        self._name = name
        try:
            self._server: Any = _load(path, context, threads or _processors(), self.api_key, _SILENT)
        except ImportError as error:
            raise ModelUnavailable(
                f"{name} needs llama.cpp; run: pip install 'frontmind[local]'", model=name
            ) from error
        except RuntimeError as error:
            raise ModelUnavailable(
                f"llama.cpp cannot load {path}; check the file, or pass another one with --model "
                "local:/path/to/model.gguf",
                model=name,
            ) from error
        self.address = str(self._server.listening_address)
        self.context_limit = self._context()

    def client(self) -> httpx2.AsyncClient:
        """A client for this engine, for the caller to close."""
        import httpx2  # noqa: PLC0415 - comes with the optional dependency

        return httpx2.AsyncClient(
            base_url=self.address,
            headers={"Authorization": f"Bearer {self.api_key}"},
            # No proxy reaches this machine's loopback. The engine drops idle connections after five seconds, and
            # a request that meets such a moment fails: take a new one each time. Long prompts take minutes.
            trust_env=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
            timeout=httpx2.Timeout(600.0, connect=5.0),
        )

    def _context(self) -> int:
        """The most tokens that a prompt and its reply may have together: ours, or the model's own limit.

        The answer also shows that the engine's loop runs. Freed before that, it would wait for itself for ever.
        """
        connection = HTTPConnection(urlsplit(self.address).netloc, timeout=60)
        with closing(connection):
            connection.request("GET", "/slots", headers={"Authorization": f"Bearer {self.api_key}"})
            return int(json.loads(connection.getresponse().read())[0]["n_ctx"])

    def close(self) -> None:
        """Stop the engine; waits for the batch that it is working on."""
        # llama.cpp's server has no call to stop it: it stops when it is freed.
        self._server = None


class EngineClient:
    """The engine's own endpoints, beside the Chat Completions API.

    Raises (each method):
        RequestRefused: the model's chat template does not take these messages.
        ModelError: the engine did not answer.
    """

    def __init__(self, http: httpx2.AsyncClient, *, name: str) -> None:
        self._http = http
        self._name = name

    async def render(self, fields: Mapping[str, Json]) -> str:
        """The prompt that the model's chat template makes of a request's messages (and tools)."""
        return str((await self._call("POST", "/apply-template", dict(fields)))["prompt"])

    async def tokens(self, text: str, *, template: bool) -> list[tuple[int, object]]:
        """The tokens of a text as id and piece; a piece that is no text by itself is a list of bytes.

        Args:
            template: whether the text is a rendered prompt, whose control tokens are meant as such.
        """
        body: dict[str, Json] = {"content": text, "add_special": template, "parse_special": template}
        answer = await self._call("POST", "/tokenize", {**body, "with_pieces": True})
        return [(token["id"], token["piece"]) for token in answer["tokens"]]

    async def slot(self) -> Slot:
        """What the engine holds now."""
        found: Mapping[str, Any] = (await self._call("GET", "/slots"))[0]
        return Slot(found.get("id_task"), int(found.get("n_prompt_tokens", 0)), bool(found["is_processing"]))

    async def _call(self, method: str, path: str, body: Json = None) -> Any:
        import httpx2  # noqa: PLC0415 - comes with the optional dependency

        try:
            response = await self._http.request(method, path, content=canonical_json(body) if body else None)
        except httpx2.HTTPError as error:
            raise ModelError(f"the engine of {self._name} does not answer ({error})", model=self._name) from error
        if response.is_success:
            return response.json()
        said = " ".join(response.text.split())[:300]
        if response.is_client_error:
            raise RequestRefused(
                f"{self._name} refused the request ({said})", model=self._name, status=response.status_code
            )
        raise ModelError(f"the engine of {self._name} failed ({said})", model=self._name)


def try_loading(path: Path, *, name: str, context: int, stamps: Path) -> None:
    """Load a model file in a process of its own, once per file, and leave a stamp when it went well.

    llama.cpp answers some damaged files by ending its process: that must not be ours.

    Raises:
        ModelUnavailable: it cannot be loaded; the message says why, in llama.cpp's words.
    """
    stamp = stamps / _stamp(path, context)
    if stamp.exists():
        return
    unusable = "get the file again, or pass another one with --model local:/path/to/model.gguf"
    try:
        done = _try_in_a_process(path, context)
    except subprocess.TimeoutExpired as error:
        raise ModelUnavailable(
            f"llama.cpp did not load {path} within {_TRIAL_SECONDS // 60} minutes; {unusable}", model=name
        ) from error
    if done.returncode != 0:
        raise ModelUnavailable(f"llama.cpp cannot load {path} ({_why(done.stderr)}); {unusable}", model=name)
    stamps.mkdir(parents=True, exist_ok=True)
    stamp.touch()


def _try_in_a_process(path: Path, context: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", _TRIAL, str(path.absolute()), str(context)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=_TRIAL_SECONDS,
        # Otherwise llama.cpp starts a debugger on its own dead process, which takes seconds.
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},
    )


def load_for_trial(path: Path, context: int) -> None:
    """What the process of `try_loading` does."""
    try:
        # Kept until the process ends: freeing an engine that has just been loaded may wait for ever.
        server = _load(path, context, _processors(), secrets.token_urlsafe(32), _ERRORS)
    except ImportError:
        # Not the file's fault; the engine itself says what to install.
        return
    except RuntimeError:
        sys.exit(1)
    os._exit(0 if server is not None else 1)


def _load(path: Path, context: int, threads: int, api_key: str, verbosity: int) -> Any:
    import xllamacpp  # noqa: PLC0415 - optional dependency

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {"local"}
    params.n_ctx = context
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams_batch.n_threads = threads
    # Generating waits for the slowest thread at every layer: on two cores of which another program takes one,
    # two threads gave 3 tokens a second and one gave 45, as many as on two free cores (where two gave 75).
    params.cpuparams.n_threads = max(1, threads - 1)
    # What is reused from turn to turn is then exactly the longest common prefix with the last prompt and reply:
    # one slot, no second cache beside it, and for models with a sliding window all of their cache.
    params.n_parallel = 1
    params.cache_ram_mib = 0
    params.swa_full = True
    # A last message of the assistant is a message, not a reply to go on with.
    params.prefill_assistant = False
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.cors_origins = "null"
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = True
    params.verbosity = verbosity
    # The engine waits this long for a stream that nobody reads before it can be stopped.
    params.sse_ping_interval = 1
    return xllamacpp.Server(params)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _stamp(path: Path, context: int) -> str:
    """A name for this file as it is now, and for the engine that would load it."""
    import xllamacpp  # noqa: PLC0415 - optional dependency

    status = path.stat()
    facts: Sequence[Json] = (
        str(path.resolve()),
        status.st_size,
        status.st_mtime_ns,
        context,
        str(xllamacpp.__version__),
    )
    return digest(canonical_json(facts))


def _why(stderr: str) -> str:
    lines = _ERROR_LINE.findall(stderr) or re.findall(r"GGML_ASSERT.*", stderr)
    return " ".join(lines[0].split())[:200] if lines else "it ended without a word"
