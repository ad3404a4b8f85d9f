"""Errors of a request by the names of its fields."""

from http import HTTPStatus
from typing import Any, NotRequired, TypedDict

from rest_framework.exceptions import APIException


class FieldError(TypedDict):
    """An error in the name or value of one field of a request."""

    field: str
    message: str
    allowed: NotRequired[list[Any]]  # only where the allowed values can be listed
    line: NotRequired[int]  # of a text that cannot be parsed; line and column count from 1
    column: NotRequired[int]


class FaultyRequest(APIException):
    """A request with errors that are known by field."""

    status_code = HTTPStatus.BAD_REQUEST

    def __init__(self, errors: list[FieldError], status_code: int = HTTPStatus.BAD_REQUEST) -> None:
        self.errors = errors
        self.status_code = HTTPStatus(status_code)
        super().__init__(sentences(errors))


def sentences(errors: list[FieldError]) -> str:
    return " ".join(f"{error['field']}: {error['message']}" for error in errors)
