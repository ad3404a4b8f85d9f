"""Notice that whoever asked has gone away: what was begun for him is not worth ending."""

import select
from collections.abc import Callable
from typing import Any

from django.core.exceptions import BadRequest


class ClientGone(BadRequest):
    """The connection is closed at its other end: nobody reads this."""


def check_client(request: Any) -> Callable[[], None]:
    """Return a check that raises ClientGone where the connection of the request is closed, as far as gunicorn tells."""
    look = select.poll()
    if connection := request.META.get("gunicorn.socket"):
        look.register(connection, select.POLLRDHUP)

    def check() -> None:
        if look.poll(0):
            raise ClientGone("The connection was closed.")

    return check
