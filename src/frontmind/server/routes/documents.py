"""The documents of a person. A file that a document follows is neither named, read nor written here, whoever asks."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Response

from frontmind.domaindocs.library import DocumentLibrary
from frontmind.errors import UsageError
from frontmind.server.dependencies import Asking, PathName, TheHub
from frontmind.server.errors import existing, not_found, problems
from frontmind.server.hub import Hub
from frontmind.server.identity import Person
from frontmind.server.person_events import Changed, Thing
from frontmind.server.schemas.documents import (
    Document,
    DocumentChange,
    DocumentList,
    DocumentText,
    DocumentVersions,
    NewText,
    Undo,
    document_text_view,
    document_view,
    version_view,
)
from frontmind.values import records

router = APIRouter(prefix="/api/documents", tags=["documents"])

_MOST_VERSIONS: Final = 100


@router.get("", response_model=DocumentList, summary="The documents", responses=problems())
async def list_documents(hub: TheHub, person: Asking) -> DocumentList:
    """By name, without their texts."""
    zone = (await hub.clock_of(person)).zone
    return DocumentList(
        documents=[document_view(document, zone) for document in await hub.store_of(person).documents()]
    )


@router.get("/{name}", response_model=DocumentText, summary="A document", responses=problems(404))
async def get_document(hub: TheHub, person: Asking, name: PathName) -> DocumentText:
    """With its text as the model has it."""
    return await _text_view(hub, person, await _document(hub, person, name))


@router.put("/{name}", response_model=DocumentText, summary="Write a document", responses=problems(404, 409))
async def put_document(hub: TheHub, person: Asking, name: PathName, new: NewText) -> DocumentText:
    """A new document stands in the system prompt; another one stays where it is."""
    library = await _library(hub, person)
    put = await library.put(name, new.text, expected=new.expected)
    await _tell(hub, person)
    return await _text_view(hub, person, put)


@router.patch("/{name}", response_model=Document, summary="Show or hide a document", responses=problems(404, 409))
async def change_document(hub: TheHub, person: Asking, name: PathName, change: DocumentChange) -> Document:
    """Whether it stands in the system prompt, and which sections only by their titles."""
    changed = await _document(hub, person, name)
    library = await _library(hub, person)
    if change.collapsed is not None:
        changed = await library.collapse_only(name, change.collapsed)
    if change.enabled is not None:
        changed = await library.enable(name, change.enabled)
    await _tell(hub, person)
    return document_view(changed, (await hub.clock_of(person)).zone)


@router.post("/{name}/undo", response_model=DocumentText, summary="Take a version back", responses=problems(404, 409))
async def undo_document(hub: TheHub, person: Asking, name: PathName, asked: Undo) -> DocumentText:
    """The version holds that this one was made from."""
    if (await _document(hub, person, name)).source:
        raise UsageError("the document follows a file; change the file")
    undone = await (await _library(hub, person)).undo(name, expected=asked.expected)
    await _tell(hub, person)
    return await _text_view(hub, person, undone)


@router.get("/{name}/versions", response_model=DocumentVersions, summary="Its versions", responses=problems(404))
async def list_document_versions(
    hub: TheHub, person: Asking, name: PathName, newest: Annotated[int, Query(ge=1, le=_MOST_VERSIONS)] = 20
) -> DocumentVersions:
    """The newest texts that the document has or had, by number."""
    await _document(hub, person, name)
    zone = (await hub.clock_of(person)).zone
    versions = await hub.store_of(person).document_versions(name)
    return DocumentVersions(versions=[version_view(version, zone) for version in versions[-newest:]])


@router.delete("/{name}", status_code=204, summary="Delete a document", responses=problems(404, 409))
async def delete_document(hub: TheHub, person: Asking, name: PathName) -> Response:
    """With all its versions; a file that it follows stays."""

    async def exists() -> bool:
        return any(each.name == name for each in await hub.store_of(person).documents())

    async with existing(exists, "such document"):
        await (await _library(hub, person)).remove(name)
    await _tell(hub, person)
    return Response(status_code=204)


async def _library(hub: Hub, person: Person) -> DocumentLibrary:
    return DocumentLibrary(hub.store_of(person), await hub.clock_of(person), locks=hub.setting.locks)


async def _document(hub: Hub, person: Person, name: str) -> records.Document:
    """The document of this name.

    Raises:
        Problem: there is none.
    """
    for each in await hub.store_of(person).documents():
        if each.name == name:
            return each
    raise not_found("such document")


async def _text_view(hub: Hub, person: Person, document: records.Document) -> DocumentText:
    return document_text_view(document, (await hub.clock_of(person)).zone)


async def _tell(hub: Hub, person: Person) -> None:
    async with hub.home(person) as home:
        home.recalling.indexer.wake()
    hub.events.publish(person.owner, Changed(Thing.DOCUMENTS))
