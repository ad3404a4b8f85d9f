"""Commands for runners, from their question to their answer. Each is a row; nobody holds a transaction while they wait.

A worker asks and waits for the answer. The host's runner comes for commands, says which it has, and brings answers. A
command is given to one runner only, and again to the same where it does not have it: the answer was lost on the way.
"""

import math
import threading
import time
from collections.abc import Collection, Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now

from experiments.models import AskedCommand, Host
from kdb.models import ApiToken
from kdb.web.rates import spend, spent

HOLD_SECONDS = 10  # that a runner's question is held open where there is nothing to do
MOST_HELD = 8  # questions in a process, each of which takes one of its 32 threads
PAUSE_SECONDS = 15  # after which a runner asks again whose question was not held
BUSY_PAUSE_SECONDS = 1  # where its host had a command of late
BUSY_SECONDS = 60
NOTED_EVERY = timedelta(seconds=40)  # that a runner was heard
SILENT_SECONDS = 90  # after which a runner that was not heard is taken to be gone
TAKEN_SECONDS = 30  # within which a runner that is there takes a command
GRACE_SECONDS = 15  # beyond the time that a command may take, for the ways there and back
MOST_BYTES = 16 * 2**20  # of a command's input, and of its output
MOST_ERROR_BYTES = 2**16
_SHORT, _LONG = 0.05, 0.5  # s between two looks
_may_hold = threading.BoundedSemaphore(MOST_HELD)


def is_heard(host: Host) -> bool:
    """Tell whether the host's runner asked of late."""
    return host.runner_heard_at is not None and now() - host.runner_heard_at < timedelta(seconds=SILENT_SECONDS)


def ask(
    host_id: int, words: Sequence[str], *, script: str, name: str, given: bytes, seconds: float, most: int
) -> AskedCommand | None:
    """Ask and wait; return the answered command, None where none came in time.

    Raises RuntimeError inside a transaction: nobody else would see the command before it ends.
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
    mine, pause = AskedCommand.objects.filter(pk=asked.pk), _SHORT
    try:
        while expires := mine.filter(outcome="").values_list("expires_at", flat=True).first():
            if expires < now():
                return None
            time.sleep(pause)
            pause = min(pause * 1.2, _LONG)
        return mine.first()
    finally:
        mine.delete()


def idle_host(token: object) -> str:
    """Return the slug of a token's host that has no command, by one query; "" where more is to be done or noted.

    Most questions are those of idle runners, when others are held open.
    """
    if not isinstance(token, ApiToken):
        return ""
    if _may_hold.acquire(blocking=False):
        _may_hold.release()
        return ""
    of_token = Host.objects.filter(runner_token=token, archived_at=None, runner_heard_at__gt=now() - NOTED_EVERY)
    pk, slug = of_token.filter(asked_commands=None).values_list("pk", "slug").first() or (None, "")
    return "" if _is_busy(pk) else slug


def _is_busy(host_id: int | None) -> bool:
    return spent(BUSY_SECONDS, "asked", str(host_id)) > 0


def lease(host: Host, runner: str, held: Collection[int], room: int) -> tuple[list[AskedCommand], int]:
    """Return commands for the runner, as soon as there are some, and the seconds until it shall ask again.

    There are none after HOLD_SECONDS, and at once where so many other runners wait that pages would have to.

    runner : which of the host's runners it is; held : what it has; room : how many more it takes
    """
    Host.objects.filter(pk=host.pk).update(runner_heard_at=now())
    AskedCommand.objects.filter(host=host, expires_at__lt=now()).delete()  # of workers that died
    taken = _taken(host, runner, held, room)
    if taken or room < 1:
        return taken, 0
    if not _may_hold.acquire(blocking=False):
        return [], BUSY_PAUSE_SECONDS if _is_busy(host.pk) else PAUSE_SECONDS
    try:
        until, pause = time.monotonic() + HOLD_SECONDS, _SHORT
        while not taken and time.monotonic() < until:
            time.sleep(pause)
            pause = min(pause * 1.2, _LONG)
            taken = _taken(host, runner, held, room)
    finally:
        _may_hold.release()
    return taken, 0


def _taken(host: Host, runner: str, held: Collection[int], room: int) -> list[AskedCommand]:
    free = Q(leased_by="") | Q(leased_by=runner)
    rows = AskedCommand.objects.filter(free, host=host, outcome="", expires_at__gt=now()).exclude(pk__in=held)
    taken = []
    for row in rows.order_by("pk")[:room]:
        end = now() + timedelta(seconds=row.seconds + GRACE_SECONDS)
        is_mine = AskedCommand.objects.filter(pk=row.pk, leased_by="").update(leased_by=runner, expires_at=end)
        if is_mine or row.leased_by:
            taken.append(row)
    if taken:
        spend(1, BUSY_SECONDS, "asked", str(host.pk))
    return taken


def answer(host: Host, number: int, outcome: str, status: int | None, output: bytes, errors: str) -> bool:
    """Keep what a runner brings; False where nobody waits for it: no command of the host's, or one that is over."""
    row = AskedCommand.objects.filter(pk=number, host=host).first()
    if row is None:
        return False
    if len(output) > row.most_bytes or len(errors) > MOST_ERROR_BYTES:
        outcome, output, errors = AskedCommand.Outcome.TOO_MUCH, b"", ""
    waiting = AskedCommand.objects.filter(pk=number, outcome="", expires_at__gt=now()).exclude(leased_by="")
    is_done = outcome == AskedCommand.Outcome.DONE
    kept = waiting.update(
        outcome=outcome, status=status if is_done else None, output=output, errors=errors.replace("\0", "")
    )
    return bool(kept)
