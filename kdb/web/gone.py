"""Break off the work of a request whose client has disconnected."""

import select
from collections.abc import Callable
from typing import Any

from django.core.exceptions import BadRequest


class ClientGone(BadRequest):
    """The client has closed the connection, so nobody reads this response."""


def check_client(request: Any) -> Callable[[], None]:
    """Return a check that raises ClientGone once the client has disconnected; without gunicorn it never does."""
    look = select.poll()
    if connection := request.META.get("gunicorn.socket"):
        look.register(connection, select.POLLRDHUP)

    def check() -> None:
        if look.poll(0):
            raise ClientGone("The connection was closed.")

    return check
