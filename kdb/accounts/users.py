"""Get the user of a request."""

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from rest_framework.request import Request


def user_of(request: HttpRequest | Request) -> User:
    """Return the user of a request that only signed-in users may make. Raises PermissionDenied for others."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user
