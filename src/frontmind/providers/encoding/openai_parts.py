"""What the two OpenAI formats spell alike: files, breakpoints, and the tools of a provider's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from frontmind.errors import UsageError
from frontmind.providers.encoding.dialect import Head, JsonDict
from frontmind.providers.profiles.profile import MarkerKind, Profile
from frontmind.values.parts import Document, Image
from frontmind.values.tool import ProviderTool
from frontmind.window.canonical import parse_json

BREAKPOINT: Final[Mapping[str, JsonDict]] = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_EXTENSIONS: Final = {"application/pdf": "pdf", "text/plain": "txt"}


def marks_system(head: Head, profile: Profile) -> bool:
    """Whether a breakpoint stands at the end of the cached system text.

    Beside the automatic one it costs no further write, and a conversation that begins anew, or whose history was
    shortened, still reads tools and system from the cache.
    """
    if profile.markers is not MarkerKind.BREAKPOINT or not head.cached_system.strip():
        return False
    return head.system_ttl is not None if head.explicit_breakpoints else profile.max_markers > 1


def cache_options(head: Head, profile: Profile) -> JsonDict:
    """The key that turns the automatic breakpoint off, where explicit ones stand in its place."""
    if profile.markers is not MarkerKind.BREAKPOINT or not head.explicit_breakpoints:
        return {}
    return {"prompt_cache_options": {**head.extra.get("prompt_cache_options", {}), "mode": "explicit"}}


def data_url(part: Image | Document) -> str:
    """The bytes as an address."""
    return f"data:{part.media_type};base64,{part.data}"


def file_name(part: Document) -> str:
    """The document's name; the API refuses bytes without one."""
    return part.name or f"document.{_EXTENSIONS.get(part.media_type, 'bin')}"


def refuse_spoken_file(part: Image | Document, place: str) -> None:
    """Refuse a picture or a file that the assistant is to have said.

    Raises:
        UsageError: always.
    """
    raise UsageError(
        f"{place}: the assistant cannot say a file ({part.media_type}) in this format; put it into a user message"
    )


def own_tool(tool: ProviderTool, wire: str) -> JsonDict:
    """The definition of a tool that the provider carries out.

    Raises:
        UsageError: it is one of another format.
    """
    if tool.wire != wire:
        raise UsageError(f"the tool {tool.name!r} is one of the format {tool.wire}; leave it out")
    return dict(parse_json(tool.data))
