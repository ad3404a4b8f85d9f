"""Count events and costs in windows of time, in Redis or, without it, in each web process separately."""

import hashlib
import logging
import time

from django.core.cache import caches
from redis import RedisError

logger = logging.getLogger(__name__)

_THOUSAND = 1000


def is_within(most: int, seconds: int, *who: str) -> bool:
    """Count one more event of `who` in this window of `seconds`. Return whether there are at most `most`."""
    return _add(1, seconds, who) <= most


def spend(cost: float, seconds: int, *who: str) -> None:
    """Add `cost` to the sum of `who` in this window of `seconds`; it is rounded to 0.001."""
    _add(round(cost * _THOUSAND), seconds, who)


def spent(seconds: int, *who: str) -> float:
    """Return the cost of `who` in the last `seconds`: this window's, and the last one's by its overlap."""
    now = time.time() / seconds
    keys = [_key(who, int(now)), _key(who, int(now) - 1)]
    try:
        counts = caches["throttle"].get_many(keys)
    except RedisError as error:
        logger.warning("costs are not known error=%s", type(error).__name__)
        return 0.0
    return (counts.get(keys[0], 0) + (1 - now % 1) * counts.get(keys[1], 0)) / _THOUSAND


def _add(number: int, seconds: int, who: tuple[str, ...]) -> int:
    """Add to the count of this window and return it; 0 where it cannot be counted, so that nobody is locked out."""
    key = _key(who, int(time.time() // seconds))
    counts = caches["throttle"]
    try:
        counts.add(key, 0, timeout=2 * seconds)
        return counts.incr(key, number)
    except ValueError:  # the entry expired between the two calls
        return 0
    except RedisError as error:
        logger.warning("requests are not counted error=%s", type(error).__name__)
        return 0


def _key(who: tuple[str, ...], window: int) -> str:
    digest = hashlib.sha256("\0".join(who).encode()).hexdigest()  # a valid key, whatever users type
    return f"rate.{digest}.{window}"
