"""Decide what becomes of an attempt, by the kind of its error, and store it.

Who meets an error raises the kind that says how it is known; docs/campaigns.md has the same table in words.
Of attempts whose worker died control.reconcile decides.
"""

import logging
import re
from enum import Enum, auto
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils.timezone import now

from experiments.campaigns import control, hosts
from experiments.laboratory.benchmarks import bench
from experiments.laboratory.targets import hypervisors
from experiments.laboratory.transport import remote, ssh
from experiments.models import Campaign, CampaignRun
from kdb.jobs import jobs

from .attempt import Attempt, Cancelled
from .content import Figure, Record
from .figures import skip_what_is_known

logger = logging.getLogger(__name__)

MAX_LOST_ATTEMPTS = 3

State = CampaignRun.State


class Outcome(Enum):
    TAKEN_OVER = auto()  # another attempt has the run: nothing more is written
    CANCELLED = auto()
    DATABASE = auto()  # KDB's own is away: the job is tried again
    WAITS = auto()  # the run waits and its campaign pauses, until the host can be used again
    WAITS_FOR_SOMEBODY = auto()  # the same, until a person did something
    REPEATED = auto()  # the attempt is void, and made again a few times
    FAILED = auto()
    MISTAKE = auto()  # of ours: failed, and logged


# The first row that an error is of holds.
_TABLE: tuple[tuple[Outcome, tuple[type[Exception], ...]], ...] = (
    (Outcome.TAKEN_OVER, (jobs.LeaseLost, remote.Superseded)),
    (Outcome.CANCELLED, (Cancelled,)),
    (Outcome.DATABASE, (OperationalError, InterfaceError)),
    (Outcome.WAITS, (ssh.Unreachable, remote.NotNow)),
    (Outcome.WAITS_FOR_SOMEBODY, (ssh.SshError, hosts.HostError)),
    (Outcome.REPEATED, (hypervisors.GuestGone, hypervisors.GuestNotUp)),
    (Outcome.FAILED, (bench.RunFailed, bench.Silent, hypervisors.GuestStopped, remote.Refused)),
)


def outcome_of(error: Exception) -> Outcome:
    return next((outcome for outcome, kinds in _TABLE if isinstance(error, kinds)), Outcome.MISTAKE)


def decide(attempt: Attempt, record: Record, error: Exception) -> None:
    """Store what becomes of the run after this error."""
    reason = _sentence(str(error))
    match outcome_of(error):
        case Outcome.TAKEN_OVER:
            raise jobs.LeaseLost(str(error)) from error
        case Outcome.CANCELLED:
            end(attempt, record, State.CANCELLED)
        case Outcome.DATABASE:
            raise error
        case Outcome.WAITS:
            wait_for_host(attempt, reason, looks_again=True)
        case Outcome.WAITS_FOR_SOMEBODY:
            if isinstance(error, ssh.KeyChanged):
                hosts.block(attempt.host, str(error))
            wait_for_host(attempt, reason)
        case Outcome.REPEATED:
            if attempt.run.lost_attempts + 1 < MAX_LOST_ATTEMPTS:
                repeat_attempt(attempt, str(error))
            else:
                reason = f"{reason}, as in {MAX_LOST_ATTEMPTS - 1} attempts before"
                end(attempt, record, State.FAILED, reason=reason)
        case Outcome.FAILED:
            end(attempt, record, State.FAILED, reason=reason)
        case Outcome.MISTAKE:
            logger.exception("a run failed by a fault of ours run=%s", attempt.run.pk)
            end(attempt, record, State.FAILED, reason=f"KDB made a mistake: {error!r}")
            raise error


def end(
    attempt: Attempt, record: Record, state: State, *, figures: list[Figure] | None = None, reason: str = ""
) -> None:
    """Store what the run came to, in one transaction that the lease guards."""
    run, campaign = attempt.run, attempt.campaign
    with transaction.atomic():
        hosts.locked(attempt.host.pk)
        attempt.job.step(attempt.steps + 1, attempt.steps + 1)
        CampaignRun.objects.filter(pk=run.pk).update(
            state=state,
            figures=figures or [],
            facts=record.facts,
            warnings=record.warnings,
            disturbed=record.disturbed,
            curves=record.curves or None,
            reason=reason,
            step="",
            finished_at=now(),
        )
        attempt.say(f"{state.label}: {reason}" if reason else str(state.label))
        if state == State.DONE and record.disturbed:
            attempt.say(f"disturbed: {record.disturbed}")
            control.repeat_at_the_end(run)
        if state == State.DONE:
            Campaign.objects.filter(pk=campaign.pk).update(looks=0)
            skip_what_is_known(campaign, run)
        if state == State.FAILED:
            _pause_where_it_repeats(run, reason)
    logger.info("run=%s state=%s reason=%r", run.pk, state, reason)


def _pause_where_it_repeats(run: CampaignRun, reason: str) -> None:
    """Pause after the second run in a row that failed alike, and, if somebody goes on, after the fourth, eighth ...

    What does not depend on the run is its environment, and would fail every run of the matrix.
    """
    alike = 1
    before = run.campaign.runs.filter(state__in=[State.DONE, State.FAILED]).exclude(pk=run.pk)
    for state, other in before.order_by("-finished_at", "-pk").values_list("state", "reason").iterator():
        if state != State.FAILED or _cause(other) != _cause(reason):
            break
        alike += 1
    if alike > 1 and alike & (alike - 1) == 0:
        control.pause_by_itself(run.campaign_id, f"{alike} runs in a row failed alike: {reason}")


def repeat_attempt(attempt: Attempt, reason: str) -> None:
    """Void a run whose machine died, to be repeated."""
    with transaction.atomic():
        _requeue(attempt, lost_attempts=F("lost_attempts") + 1)
        attempt.say(f"void, and to be repeated: {reason}")


def wait_for_host(attempt: Attempt, reason: str, *, looks_again: bool = False) -> None:
    """Give back a run whose host cannot be used: it and its campaign wait for the host, or until somebody looks."""
    with transaction.atomic():
        _requeue(attempt)
        attempt.say(f"the host cannot be used: {reason}")
        control.pause_by_itself(attempt.campaign.pk, reason, looks_again=looks_again)


def _requeue(attempt: Attempt, **values: Any) -> None:
    """Let the run wait, or cancel it with the campaign. The host is locked: nobody cancels it in between."""
    hosts.locked(attempt.host.pk)
    attempt.job.step(attempt.steps + 1, attempt.steps + 1)
    is_cancelled = Campaign.objects.filter(pk=attempt.campaign.pk, state=Campaign.State.CANCELLED).exists()
    values |= {"state": State.CANCELLED, "finished_at": now()} if is_cancelled else {"state": State.WAITING}
    CampaignRun.objects.filter(pk=attempt.run.pk).update(step="", **values)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cause(reason: str) -> str:
    """Return the reason without what differs from run to run: names of machines, sizes, times."""
    return re.sub(r"\d+", "#", reason)
