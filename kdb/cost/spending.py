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

SIGNED_IN = 5  # times as much as a stranger's address
NETWORK = 5  # times as much as one of its addresses: more people than one may be in it
RESERVED = 0.3  # seconds, for each request under way: many at once cannot all pass before the first is charged
_SECONDS = 60


class Payer(NamedTuple):
    kind: str  # address, user
    name: str

    @property
    def is_stranger(self) -> bool:
        return self.kind == "address"


def payer_of(request: HttpRequest) -> Payer:
    """Return the user of a session or, at the API, of a token that counts; else the address.

    Without a session brought none is looked at: public answers do not vary by cookie.
    """
    if request.path.startswith(API_PREFIX) and tokens.key_in(request) is not None:
        token = tokens.of(request)
        user = token.user_id if token else None
    else:
        user = request.user.pk if settings.SESSION_COOKIE_NAME in request.COOKIES else None
    return Payer("address", counted_address(request)) if user is None else Payer("user", str(user))


def shares_of(address: str) -> dict[str, int]:
    """Return the accounts a stranger's request is charged to, with their limits as multiples of an address's."""
    return {address: 1, network_of(address): NETWORK}


def reserve(payer: Payer) -> int:
    """Charge RESERVED in advance and return 0; or, over the limit, charge nothing and return the seconds to wait."""
    most = settings.KDB_CPU_SECONDS_A_MINUTE
    if not most:
        return 0
    _charge(payer, RESERVED)
    if all(spent(_SECONDS, "cpu", *account) - RESERVED < share * most for account, share in _accounts(payer).items()):
        return 0
    settle(payer, 0)
    return _SECONDS // 4


def settle(payer: Payer, seconds: float) -> None:
    """Charge what the request cost in place of what was reserved."""
    _charge(payer, seconds - RESERVED)


def charged(payer: Payer, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a streamed body, and charge what making them costs when they end."""
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
