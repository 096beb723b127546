"""The JSON body of a request, with errors that say where it is wrong. Knows neither of the APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from frontmind.server.compat.errors import RequestProblem
from frontmind.window.canonical import parse_json


class Body:
    """A JSON object whose keys are read one by one."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def has(self, key: str) -> bool:
        """Whether the key is there and says something."""
        return self.data.get(key) is not None

    def text(self, key: str) -> str:
        """A text; empty where the key is not there or null.

        Raises:
            RequestProblem: it is something else.
        """
        value = self.data.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise RequestProblem(f"{key} is not a text", param=key)
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where the key is not there or null.

        Raises:
            RequestProblem: it is something else.
        """
        value = self.data.get(key)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise RequestProblem(f"{key} is not true or false", param=key)
        return value

    def sequence(self, key: str) -> Sequence[Any]:
        """A list; empty where the key is not there or null.

        Raises:
            RequestProblem: it is something else.
        """
        value = self.data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise RequestProblem(f"{key} is not a list", param=key)
        return value

    def object(self, key: str) -> Body:
        """An object; without keys where the key is not there or null.

        Raises:
            RequestProblem: it is something else.
        """
        value = self.data.get(key)
        if value is None:
            return Body({})
        if not isinstance(value, dict):
            raise RequestProblem(f"{key} is not an object", param=key)
        return Body(value)


def read_body(data: bytes) -> Body:
    """The body as it came.

    Raises:
        RequestProblem: it is not UTF-8, not JSON, or no object. How deep it may be nested, the guards say.
    """
    try:
        value = parse_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RequestProblem(
            f"the body is not UTF-8 (byte {error.start}); send JSON in UTF-8", code="invalid_json"
        ) from error
    except ValueError as error:
        said = " ".join(str(error).split())
        raise RequestProblem(f"the body is not JSON ({said}); send a JSON object", code="invalid_json") from error
    if not isinstance(value, dict):
        raise RequestProblem("the body is not a JSON object; send one with model and messages", code="invalid_json")
    return Body(value)
