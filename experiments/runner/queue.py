"""Queue commands for runners. Each command is a row; nobody holds a transaction while waiting.

A worker adds a command and waits for its answer. The host's runner polls for commands, states which it has, and sends
answers. A command is leased to one runner, and sent to the same again where it was lost on the way.
"""

import math
import threading
import time
from collections.abc import Collection, Sequence
from datetime import timedelta

from django.core.cache import cache
from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now

from experiments.models import AskedCommand, Host
from kdb.models import ApiToken
from kdb.web.rates import spend, spent

HOLD_SECONDS = 10  # that a poll is held open while there is no command
MAX_HELD_POLLS = 4  # in a process, each of which takes one of its 32 threads
POLLS_A_SECOND = 3  # of all idle runners whose polls are not held, within these limits of the pause between two
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 5, 60
BUSY_PAUSE_SECONDS = 1  # of a runner whose host had a command within BUSY_SECONDS
BUSY_SECONDS = 60
NOTED_EVERY = timedelta(seconds=60)  # how often a poll is noted as a heartbeat
SILENT_SECONDS = 200  # without a poll, after which a runner counts as gone
TAKEN_SECONDS = 75  # within which a live runner leases a command
GRACE_SECONDS = 15  # beyond a command's own time limit, for transport
MOST_BYTES = 16 * 2**20  # of a command's input, and of its output
MOST_ERROR_BYTES = 2**16
_SHORT, _LONG = 0.05, 0.5  # s between two queries
_may_hold = threading.BoundedSemaphore(MAX_HELD_POLLS)


class _AskedHosts:
    """The hosts with commands that no runner has: one query of a process for all polls that it holds open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts = frozenset[int]()
        self._known_until = 0.0

    def has(self, host_id: int) -> bool:
        """Tell whether the host has such a command, as of _LONG ago at most."""
        with self._lock:
            if time.monotonic() > self._known_until:
                waiting = AskedCommand.objects.filter(leased_by="", outcome="", expires_at__gt=now())
                self._hosts = frozenset(waiting.values_list("host_id", flat=True))
                self._known_until = time.monotonic() + _LONG
            return host_id in self._hosts


_asked_hosts = _AskedHosts()


def is_heard(host: Host) -> bool:
    """Tell whether the host's runner polled within SILENT_SECONDS."""
    return host.runner_heard_at is not None and now() - host.runner_heard_at < timedelta(seconds=SILENT_SECONDS)


def ask(
    host_id: int, words: Sequence[str], *, script: str, name: str, given: bytes, seconds: float, most: int
) -> AskedCommand | None:
    """Queue a command and wait; return it with its answer, or None after its time.

    Raises RuntimeError inside a transaction, which would hide the command from the runner.
    """
    with transaction.atomic(durable=True):
        asked = AskedCommand.objects.create(
            host_id=host_id,
            words=[*words],
            script=script,
            name=name,
            given=given,
            seconds=math.ceil(seconds),
            most_bytes=min(most, MOST_BYTES),
            expires_at=now() + timedelta(seconds=TAKEN_SECONDS),
        )
    own, pause = AskedCommand.objects.filter(pk=asked.pk), _SHORT
    try:
        while expires := own.filter(outcome="").values_list("expires_at", flat=True).first():
            if expires < now():
                return None
            time.sleep(pause)
            pause = min(pause * 1.2, _LONG)
        return own.first()
    finally:
        own.delete()


def idle_pause() -> int:
    """Return the seconds until the next poll of an idle runner: the more runners there are, the more."""
    heard = Host.objects.filter(runner_heard_at__gt=now() - timedelta(seconds=SILENT_SECONDS))
    runners: int = cache.get_or_set("experiments.runner.heard", heard.count, 60)  # type: ignore[assignment]
    return min(max(runners // POLLS_A_SECOND, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)


def idle_host(token: object) -> str:
    """Return the slug of a token's host where it has no command; "" where the full way has to be leased.

    This is the fast path, one query, for the most frequent case: idle runners, while other polls are held open.
    """
    if not isinstance(token, ApiToken):
        return ""
    if _may_hold.acquire(blocking=False):
        _may_hold.release()
        return ""
    of_token = Host.objects.filter(runner_token=token, archived_at=None, runner_heard_at__gt=now() - NOTED_EVERY)
    pk, slug = next(iter(of_token.filter(asked_commands=None).values_list("pk", "slug")), (None, ""))
    return "" if _is_busy(pk) else slug


def _is_busy(host_id: int | None) -> bool:
    return spent(BUSY_SECONDS, "asked", str(host_id)) > 0


def lease(host: Host, runner: str, held: Collection[int], room: int) -> tuple[list[AskedCommand], int]:
    """Wait up to HOLD_SECONDS for commands; return them, and the seconds until the runner shall poll again.

    It does not wait where MAX_HELD_POLLS do already, as pages need the other threads.
    runner : identity of the runner; held : commands that it has; room : how many more it takes
    """
    Host.objects.filter(pk=host.pk).update(runner_heard_at=now())
    leased = []
    if AskedCommand.objects.filter(host=host).exists():
        AskedCommand.objects.filter(host=host, expires_at__lt=now()).delete()  # of workers that died
        leased = _lease_now(host, runner, held, room)
    if leased or room < 1:
        return leased, 0
    if not _may_hold.acquire(blocking=False):
        return [], BUSY_PAUSE_SECONDS if _is_busy(host.pk) else idle_pause()
    try:
        until, pause = time.monotonic() + HOLD_SECONDS, _SHORT
        while not leased and time.monotonic() < until:
            time.sleep(pause)
            pause = min(pause * 1.2, _LONG)
            if _asked_hosts.has(host.pk) or _is_busy(host.pk):
                leased = _lease_now(host, runner, held, room)
    finally:
        _may_hold.release()
    return leased, 0


def _lease_now(host: Host, runner: str, held: Collection[int], room: int) -> list[AskedCommand]:
    free = Q(leased_by="") | Q(leased_by=runner)
    rows = AskedCommand.objects.filter(free, host=host, outcome="", expires_at__gt=now()).exclude(pk__in=held)
    leased = []
    for row in rows.order_by("pk")[:room]:
        end = now() + timedelta(seconds=row.seconds + GRACE_SECONDS)
        is_mine = AskedCommand.objects.filter(pk=row.pk, leased_by="").update(leased_by=runner, expires_at=end)
        if is_mine or row.leased_by:
            leased.append(row)
    if leased:
        spend(1, BUSY_SECONDS, "asked", str(host.pk))
    return leased


def answer(host: Host, number: int, outcome: str, status: int | None, output: bytes, errors: str) -> bool:
    """Store a runner's answer; return False where no command of the host waits for it any more."""
    row = AskedCommand.objects.filter(pk=number, host=host).first()
    if row is None:
        return False
    if len(output) > row.most_bytes or len(errors) > MOST_ERROR_BYTES:
        outcome, output, errors = AskedCommand.Outcome.TOO_MUCH, b"", ""
    waiting = AskedCommand.objects.filter(pk=number, outcome="", expires_at__gt=now()).exclude(leased_by="")
    is_done = outcome == AskedCommand.Outcome.DONE
    updated = waiting.update(
        outcome=outcome, status=status if is_done else None, output=output, errors=errors.replace("\0", "")
    )
    return bool(updated)
