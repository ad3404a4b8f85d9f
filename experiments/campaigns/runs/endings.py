"""End an attempt: decide the state of its run and of the campaign."""

import logging
import re
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from experiments.campaigns import hosts, steering
from experiments.laboratory.reach import ssh
from experiments.models import Campaign, CampaignRun
from kdb.jobs import jobs

from .attempt import Attempt
from .content import Figure, Record
from .fates import Fate, fate_of
from .reading import skip_what_is_known

logger = logging.getLogger(__name__)

MAX_LOST_ATTEMPTS = 3

State = CampaignRun.State


def decide(attempt: Attempt, record: Record, error: Exception) -> None:
    """Do with the run what its fate is."""
    reason = _sentence(str(error))
    match fate_of(error):
        case Fate.GIVEN_UP:
            raise jobs.LeaseLost(str(error)) from error
        case Fate.CANCELLED:
            end(attempt, record, State.CANCELLED)
        case Fate.DATABASE:
            raise error
        case Fate.WAITS:
            give_back(attempt, reason, looks_again=True)
        case Fate.WAITS_FOR_SOMEBODY:
            if isinstance(error, ssh.KeyChanged):
                hosts.block(attempt.host, str(error))
            give_back(attempt, reason)
        case Fate.REPEATED:
            if attempt.run.lost_attempts + 1 < MAX_LOST_ATTEMPTS:
                lost(attempt, str(error))
            else:
                reason = f"{reason}, as in {MAX_LOST_ATTEMPTS - 1} attempts before"
                end(attempt, record, State.FAILED, reason=reason)
        case Fate.FAILED:
            end(attempt, record, State.FAILED, reason=reason)
        case Fate.MISTAKE:
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
            steering.repeat_at_the_end(run)
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
        steering.pause_by_itself(run.campaign_id, f"{alike} runs in a row failed alike: {reason}")


def lost(attempt: Attempt, reason: str) -> None:
    """Void a run whose machine died, to be repeated."""
    with transaction.atomic():
        _wait_again(attempt, lost_attempts=F("lost_attempts") + 1)
        attempt.say(f"void, and to be repeated: {reason}")


def give_back(attempt: Attempt, reason: str, *, looks_again: bool = False) -> None:
    """Give back a run whose host cannot be used: it and its campaign wait for the host, or until somebody looks."""
    with transaction.atomic():
        _wait_again(attempt)
        attempt.say(f"the host cannot be used: {reason}")
        steering.pause_by_itself(attempt.campaign.pk, reason, looks_again=looks_again)


def _wait_again(attempt: Attempt, **values: Any) -> None:
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
