"""Every error that Frontmind raises on purpose, sorted by who can do something about it.

`UsageError`: the caller passed something wrong and can correct it.
`RunError`: the call was right, the world was not (a database, a model, a network).

The message of each is one line that says what to do; the facts are attributes, so that no caller has to
read them out of the text. This module knows nothing of terminals or HTTP.
"""

from __future__ import annotations


class FrontmindError(Exception):
    """Base of all errors raised on purpose. ``str(error)`` is one line that says what to do."""


class UsageError(FrontmindError):
    """The caller used it wrong and can correct it: a name, a file, an argument."""


class RunError(FrontmindError):
    """The call was right, but something outside of it failed."""


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
    """

    def __init__(self, message: str, *, model: str) -> None:
        super().__init__(message)
        self.model = model


class ModelUnavailable(ModelError):
    """The model cannot be used at all until something is changed: a missing file, key, package or server."""


class RequestRefused(ModelError):
    """The provider read the request and refused it; sending the same bytes again cannot succeed.

    Attributes:
        status: the HTTP status, when there was one.
    """

    def __init__(self, message: str, *, model: str, status: int | None = None) -> None:
        super().__init__(message, model=model)
        self.status = status


class WindowTooLarge(RequestRefused):
    """The window does not fit into the model's context, even without its oldest turns.

    Attributes:
        tokens: the size of the window in tokens.
        limit: what the model takes, in tokens.
    """

    def __init__(self, message: str, *, model: str, tokens: int, limit: int) -> None:
        super().__init__(message, model=model)
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
