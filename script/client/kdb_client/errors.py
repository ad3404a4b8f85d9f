"""The errors of the client.

KdbError
    UnreachableError             no answer, or one that is not KDB's
        AwayError                no answer at all
    NotReadyError                the answer was still being worked out when patience ended
    ProblemError                 the server says what is wrong (problem details, RFC 9457)
        NotAllowedError          401 or 403: the token
        TooManyRequestsError     429 for longer than patience lasts
"""

from typing import Any


class KdbError(Exception):
    """The base of all errors here; its text is fit to show."""


class UnreachableError(KdbError):
    pass


class AwayError(UnreachableError):
    pass


class NotReadyError(KdbError):
    pass


class ProblemError(KdbError):
    """Problem details: `status`, `detail`, and `errors` by field, each with `field`, `message`, perhaps `allowed`."""

    def __init__(self, status: int, detail: str, errors: list[dict[str, Any]] | None = None) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail
        self.errors = errors or []


class NotAllowedError(ProblemError):
    pass


class TooManyRequestsError(ProblemError):
    pass
