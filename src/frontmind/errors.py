"""Every error that Frontmind raises on purpose, sorted by who can do something about it.

`UsageError`: the caller passed something wrong and can correct it.
`RunError`: the call was right, the world was not (a database, a model, a network).
`ToolError`: a tool cannot do what the model asked for, and the model is told why.

The message of each is one line that says what to do; the facts are attributes, so that no caller has to
read them out of the text. This module knows nothing of terminals or HTTP.
"""

from __future__ import annotations

from traceback import TracebackException


def error_text(error: BaseException) -> str:
    """What the error says, as ``str(error)``; a note instead where others wrote it such that this fails."""
    return str(TracebackException(type(error), error, None, compact=True))


class FrontmindError(Exception):
    """Base of all errors raised on purpose. ``str(error)`` is one line that says what to do."""


class UsageError(FrontmindError):
    """The caller used it wrong and can correct it: a name, a file, an argument."""


class Conflict(UsageError):
    """Somebody else changed the same thing meanwhile. Read it again and decide anew."""


class TurnsReplaced(Conflict):
    """What is to be stored tells of turns that were replaced meanwhile. Read the conversation again."""


class RunError(FrontmindError):
    """The call was right, but something outside of it failed."""


class ToolError(FrontmindError):
    """A tool cannot do what the model asked for; the text is for the model, and says what it can do instead."""


class StoreError(RunError):
    """The database cannot be opened, read or written.

    Attributes:
        path: the database as the caller named it.
    """

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class ModelError(RunError):
    """A model could not be reached or broke off; the same request may succeed later.

    Attributes:
        model: the model as the caller named it.
        retryable: whether asking again with the same request may help; each class has its own answer, an error may
            know better.
        retry_after: in how many seconds, where the provider said so.
        reason: what happened, without what to do about it.
    """

    retryable: bool = True

    def __init__(
        self,
        message: str,
        *,
        model: str,
        retry_after: float | None = None,
        retryable: bool | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.model = model
        self.retry_after = retry_after
        self.reason = reason or message
        if retryable is not None:
            self.retryable = retryable


class RateLimited(ModelError):
    """The provider takes no more requests of this account for now."""


class Overloaded(ModelError):
    """The provider has more to do than it can, whoever asks."""


class ModelTimeout(ModelError):
    """The model did not answer in time, or fell silent in the middle."""


class ConnectionLost(ModelError):
    """The connection could not be made, or broke before the reply was complete."""


class MalformedReply(ModelError):
    """What came is no reply: it cannot be read, ends without its end, or is empty."""


class ModelUnavailable(ModelError):
    """The model cannot be used at all until something is changed: a missing file, key, package, server or credit."""

    retryable = False


class EmbedderUnavailable(ModelUnavailable):
    """Texts cannot be embedded until something is changed. Searching by words needs no embedder and goes on."""


class RequestRefused(ModelError):
    """The provider read the request and refused it; sending the same bytes again cannot succeed.

    Attributes:
        status: the HTTP status, when there was one.
    """

    retryable = False

    def __init__(self, message: str, *, model: str, status: int | None = None, reason: str = "") -> None:
        super().__init__(message, model=model, reason=reason)
        self.status = status


class WindowTooLarge(RequestRefused):
    """The window does not fit into the model's context, even without its oldest turns.

    Attributes:
        tokens: the size of the window in tokens; None where the provider does not tell.
        limit: what the model takes, in tokens; None where the provider does not tell.
    """

    def __init__(
        self,
        message: str,
        *,
        model: str,
        tokens: int | None = None,
        limit: int | None = None,
        status: int | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(message, model=model, status=status, reason=reason)
        self.tokens = tokens
        self.limit = limit


class RequiredSectionFailed(RunError):
    """A trinket that was registered as required could not give its section.

    Attributes:
        section: the name of the section.
        reason: what went wrong, in the words of the error that was raised.
    """

    def __init__(self, section: str, reason: str) -> None:
        super().__init__(
            f"the required section {section!r} is unavailable ({reason}); "
            "mend its trinket, or register it without required=True"
        )
        self.section = section
        self.reason = reason
