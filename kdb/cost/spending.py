"""Count the processor time of the last minute for each address, network and user."""

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest

from kdb.accounts import tokens
from kdb.api.errors import API_PREFIX
from kdb.web.addresses import counted_address, network_of
from kdb.web.rates import spend, spent

SIGNED_IN = 5  # times the limit of an address
NETWORK = 5  # times the limit of an address, as several people may share a network
RESERVED = 0.3  # seconds for each running request, so that many at once cannot all pass before one is charged
_SECONDS = 60


class Payer(NamedTuple):
    kind: str  # address, user
    name: str

    @property
    def is_stranger(self) -> bool:
        return self.kind == "address"


def payer_of(request: HttpRequest) -> Payer:
    """Return the user of a session or, at the API, of a valid token; else the address.

    The session is only read where the request has its cookie, so that public answers do not vary by cookie.
    """
    if request.path.startswith(API_PREFIX) and tokens.bearer_key(request) is not None:
        token = tokens.token_of(request)
        user = token.user_id if token else None
    else:
        user = request.user.pk if settings.SESSION_COOKIE_NAME in request.COOKIES else None
    return Payer("address", counted_address(request)) if user is None else Payer("user", str(user))


def shares_of(address: str) -> dict[str, int]:
    """Return what an anonymous request is charged to, address and network, with multiples of an address's limit."""
    return {address: 1, network_of(address): NETWORK}


def reserve(payer: Payer) -> int:
    """Charge RESERVED in advance and return 0, or charge nothing over the limit and return the seconds to wait."""
    most = settings.KDB_CPU_SECONDS_A_MINUTE
    if not most:
        return 0
    _charge(payer, RESERVED)
    if all(spent(_SECONDS, "cpu", *account) - RESERVED < share * most for account, share in _accounts(payer).items()):
        return 0
    settle(payer, 0)
    return _SECONDS // 4


def settle(payer: Payer, seconds: float) -> None:
    """Charge the request's processor time in place of what was reserved."""
    _charge(payer, seconds - RESERVED)


def charge_chunks(payer: Payer, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a streamed body, and charge the time of making them when they end."""
    seconds, rest = 0.0, iter(chunks)
    try:
        while True:
            began = time.thread_time()
            chunk = next(rest, None)
            seconds += time.thread_time() - began
            if chunk is None:
                return
            yield chunk
    finally:
        _charge(payer, seconds)


def _charge(payer: Payer, seconds: float) -> None:
    if settings.KDB_CPU_SECONDS_A_MINUTE:
        for account in _accounts(payer):
            spend(seconds, _SECONDS, "cpu", *account)


def _accounts(payer: Payer) -> dict[Payer, int]:
    if not payer.is_stranger:
        return {payer: SIGNED_IN}
    return {Payer(payer.kind, name): share for name, share in shares_of(payer.name).items()}
