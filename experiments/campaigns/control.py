"""Plan campaigns against what the host has; start, pause and resume them (drafts.py files them).

The rows are the truth: `next_run` makes one waiting run of a host active and asks for a worker, and
whoever ends a run calls it again. The host's row is the lock under which campaigns and waiting runs change
their state; it is taken before that of a campaign. `reconcile`, every quarter of a minute, finds what nobody did.
"""

import logging
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils.timezone import now

from experiments import permissions
from experiments.laboratory import plan
from experiments.models import Campaign, CampaignRun, Host, RunLine, StoragePool
from experiments.signals import run_wanted
from kdb.jobs import jobs
from kdb.models import Job

from . import checks, hosts, notifications

logger = logging.getLogger(__name__)

RUN_JOB, LOOK_JOB = "campaign_run", "look_at_host"  # their handlers are in .runs.sequence and .recovery
FIRST_LOOK, LONGEST_LOOK = timedelta(seconds=15), timedelta(minutes=10)  # from one look to the next

State, RunState = Campaign.State, CampaignRun.State


class CampaignError(Exception):
    """A campaign cannot go where it was asked to go; the text is fit to show."""


class PlanRefused(CampaignError):  # noqa: N818
    """The host cannot run this plan. problems : field to sentences, all of them."""

    def __init__(self, problems: dict[str, list[str]]) -> None:
        super().__init__(" ".join(sentence for sentences in problems.values() for sentence in sentences))
        self.problems = problems


# Planning


def create(campaign: Campaign, *, user: User | None) -> Campaign:
    """Store a plan with all its runs. Raises PlanRefused with everything that is wrong."""
    if problems := checks.problems_of(campaign):
        raise PlanRefused(problems)
    with transaction.atomic():
        hosts.locked(campaign.host_id)
        if campaign.pool_id and not StoragePool.objects.filter(pk=campaign.pool_id).exists():
            raise PlanRefused({"pool": [f"{campaign.host} has given up {campaign.pool} meanwhile."]})
        campaign.owner = user
        try:
            with transaction.atomic():
                campaign.save()
        except IntegrityError as error:
            raise PlanRefused({"slug": [f"There is a campaign {campaign.slug} already."]}) from error
        _add_runs(campaign, range(1, campaign.repetitions + 1))
    logger.info("planned campaign=%s runs=%s", campaign.slug, campaign.run_count)
    return campaign


def _add_runs(campaign: Campaign, repetitions: Collection[int]) -> None:
    start = _last_position(campaign) + 1
    ordered = plan.in_order(checks.cells_of(campaign), list(repetitions), campaign.seed)
    if campaign.follows_protocol and start == 1:
        ordered = [(0, cell) for _, cell in ordered[:1]] + ordered  # the first run of all warms up
    CampaignRun.objects.bulk_create(
        CampaignRun(
            campaign=campaign, host_id=campaign.host_id, position=position, repetition=repetition, **cell._asdict()
        )
        for position, (repetition, cell) in enumerate(ordered, start=start)
    )


def _last_position(campaign: Campaign) -> int:
    return campaign.runs.aggregate(last=Max("position"))["last"] or 0


# Steering


def start(campaign: Campaign) -> None:
    """Let a planned or paused campaign run. Raises CampaignError."""
    with transaction.atomic():
        campaign = _locked(campaign, State.PLANNED, State.PAUSED)
        _check_not_filed(campaign)
        if frozen := hosts.why_frozen():
            raise CampaignError(f"No campaign starts: {frozen}.")
        if campaign.host.archived_at:
            raise CampaignError(f"{campaign.host} is archived: bring it back first.")
        if campaign.driver != Host.Driver.ATTACHED:
            try:
                hosts.address(campaign.host)
            except hosts.HostError as error:
                raise CampaignError(str(error)) from error
            if campaign.host.left_overs:
                left = ", ".join(campaign.host.left_overs.splitlines())
                raise CampaignError(
                    f"Earlier runs left on {campaign.host}: {left}. Clear this on the host's page, or clear it "
                    "yourself and check the host."
                )
        campaign.looks = 0
        _set_state(campaign, State.RUNNING)
        next_run(campaign.host_id)


def _check_not_filed(campaign: Campaign) -> None:
    if campaign.case_study_id:
        raise CampaignError("The campaign is filed; what is added now would not be in the case study.")


def pause(campaign: Campaign, reason: str = "") -> None:
    """Begin no further run; the one under way goes on. Raises CampaignError."""
    with transaction.atomic():
        campaign = _locked(campaign, State.RUNNING)
        _set_state(campaign, State.PAUSED, reason)
        next_run(campaign.host_id)


def pause_by_itself(campaign_id: int, reason: str, *, looks_again: bool = False) -> None:
    """Begin no further run until somebody looked, where it runs. The reason is told to its owner.

    looks_again : the host is looked at now and then, and the campaign goes on by itself where it can be used again
    """
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update(of=("self",)).filter(pk=campaign_id, state=State.RUNNING).first()
        if campaign is not None:
            campaign.look_at = now() + _until_look(campaign.looks) if looks_again else None
            _set_state(campaign, State.PAUSED, reason)
            notifications.notify_owner(campaign)


def _until_look(looks: int) -> timedelta:
    return min(FIRST_LOOK * 2 ** min(looks, 10), LONGEST_LOOK)


def stay_paused(campaign: Campaign, reason: str, *, looks_again: bool) -> None:
    """Note why the host cannot be used yet, or not before somebody did something."""
    waiting = Campaign.objects.filter(pk=campaign.pk, state=State.PAUSED, look_at__isnull=False)
    waiting.update(state_reason=reason, **({} if looks_again else {"look_at": None}))


def resume(campaign: Campaign) -> None:
    """Let the campaign go on where the host can be used again."""
    with transaction.atomic():
        hosts.locked(campaign.host_id)
        waiting = Campaign.objects.select_for_update(of=("self",)).filter(pk=campaign.pk, state=State.PAUSED)
        paused = waiting.filter(look_at__isnull=False).first()
        if paused is not None:
            paused.look_at = None
            _set_state(paused, State.RUNNING)
            next_run(paused.host_id)


def _request_looks() -> None:
    """Have a worker look whether the hosts of paused campaigns can be used again; less and less often."""
    for campaign in Campaign.objects.select_related("host").filter(state=State.PAUSED, look_at__lte=now()):
        with transaction.atomic():
            mine = Campaign.objects.filter(pk=campaign.pk, state=State.PAUSED, look_at=campaign.look_at)
            if mine.update(look_at=now() + _until_look(campaign.looks + 1), looks=F("looks") + 1):
                jobs.enqueue(LOOK_JOB, queue=campaign.host.queue, campaign_id=campaign.pk)


def cancel(campaign: Campaign) -> None:
    """Give up what waits, and end the run under way. Raises CampaignError."""
    with transaction.atomic():
        campaign = _locked(campaign, State.PLANNED, State.RUNNING, State.PAUSED)
        campaign.runs.filter(state=RunState.WAITING).update(state=RunState.CANCELLED)
        _set_state(campaign, State.CANCELLED)
        next_run(campaign.host_id)


def retry(campaign: Campaign, run: CampaignRun) -> None:
    """Repeat one run, whatever became of it; its figures count until the new run is done. Raises CampaignError.

    A run that waits, because its campaign was paused, goes on with it.
    """
    if run.state == RunState.WAITING and campaign.state == State.PAUSED and not campaign.case_study_id:
        start(campaign)
    else:
        _repeat_runs(campaign, CampaignRun.objects.filter(pk=run.pk))


def retry_cell(campaign: Campaign, run: CampaignRun) -> None:
    """Do all ended repetitions of this run's cell again, as `retry` does one. Raises CampaignError."""
    alike = {name: getattr(run, name) for name in plan.Cell._fields}
    _repeat_runs(campaign, CampaignRun.objects.filter(**alike, repetition__gt=0))


def _repeat_runs(campaign: Campaign, runs: QuerySet[CampaignRun]) -> None:
    with transaction.atomic():
        campaign = _locked(campaign, State.RUNNING, State.PAUSED, State.FINISHED, State.CANCELLED)
        _check_not_filed(campaign)
        chosen = runs.filter(campaign=campaign).select_related("repeated_by").order_by("position")
        if not sum(map(_requeue, chosen)):
            raise CampaignError("The run has not ended, or another is done in its place: do that one again.")
        _continue(campaign)


def _requeue(run: CampaignRun) -> bool:
    """Have the run done again: by another one where it has figures, which count until that one is done."""
    if run.state == RunState.DONE:
        other = getattr(run, "repeated_by", None)
        if other is None:
            _repeat(run)
            return True
        return other.state != RunState.DONE and _requeue(other)
    ended = CampaignRun.objects.filter(pk=run.pk, state__in=[RunState.FAILED, RunState.CANCELLED, RunState.UNNEEDED])
    emptied = {"reason": "", "warnings": [], "disturbed": "", "lost_attempts": 0, "step": ""}
    return ended.update(state=RunState.WAITING, **emptied) > 0


def _repeat(run: CampaignRun) -> None:
    fields = {name: getattr(run, name) for name in ("campaign_id", "host_id", "repetition", *plan.Cell._fields)}
    CampaignRun.objects.create(**fields, position=_last_position(run.campaign) + 1, repeats=run)


def repeat_at_the_end(run: CampaignRun) -> None:
    """Plan a disturbed run once more, after all others, and once only. Inside the host's lock.

    Where two repeats in a row were disturbed too, those that wait are called off: the machine is always that busy.
    """
    if not run.repetition:
        return  # a warm-up does not count
    if run.repeats_id:
        repeats = CampaignRun.objects.filter(campaign=run.campaign_id, repeats__isnull=False)
        before = repeats.filter(position__lt=run.position, state=RunState.DONE).order_by("-position").first()
        if before is not None and before.disturbed:
            repeats.filter(state=RunState.WAITING).exclude(repeats__disturbed="").update(
                state=RunState.UNNEEDED,
                reason="Two repeats in a row were disturbed as well: the machine is as busy as before.",
            )
        return
    if CampaignRun.objects.filter(repeats=run).exists():
        return
    campaign = Campaign.objects.get(pk=run.campaign_id)
    if campaign.state not in (State.RUNNING, State.PAUSED):
        return
    _repeat(run)


def top_up(campaign: Campaign, repetitions: int) -> None:
    """Add this many repetitions of every cell. Raises CampaignError."""
    with transaction.atomic():
        campaign = _locked(campaign, State.PLANNED, State.RUNNING, State.PAUSED, State.FINISHED)
        _check_not_filed(campaign)
        first = campaign.repetitions + 1
        campaign.repetitions += repetitions
        if repetitions < 1 or campaign.run_count > checks.MAX_RUNS:
            raise CampaignError(f"A campaign holds {checks.MAX_RUNS:,} runs; this would make {campaign.run_count:,}.")
        campaign.save(update_fields=["repetitions"])
        _add_runs(campaign, range(first, campaign.repetitions + 1))
        _continue(campaign)


def _continue(campaign: Campaign) -> None:
    """Go on where there is something to do again: an ended campaign waits for its start, a running one goes on."""
    if campaign.state in (State.FINISHED, State.CANCELLED):
        _set_state(campaign, State.PAUSED)
    next_run(campaign.host_id)


def _locked(campaign: Campaign, *states: Campaign.State) -> Campaign:
    hosts.locked(campaign.host_id)
    # "self": PostgreSQL refuses to lock rows that an outer join may lack, and a campaign may have no pool.
    locked = Campaign.objects.select_for_update(of=("self",)).select_related("host", "pool").get(pk=campaign.pk)
    if locked.archived_at:
        raise CampaignError("The campaign is archived: bring it back first.")
    if locked.state not in states:
        raise CampaignError(f"The campaign is {locked.get_state_display()}.")
    return locked


def _set_state(campaign: Campaign, state: Campaign.State, reason: str = "") -> None:
    campaign.state, campaign.state_reason = state, reason
    if state != State.PAUSED:
        campaign.look_at = None
    campaign.save(update_fields=["state", "state_reason", "look_at", "looks"])
    logger.info("campaign=%s state=%s reason=%r", campaign.slug, state, reason)


# The next run


def next_run(host_id: int) -> CampaignRun | None:
    """Make the next waiting run of the host active and wake a worker for it, where nothing keeps it back.

    Finishes campaigns that have nothing left to do, and ends those of owners who may use the host no more. The database
    keeps a second run of a host from being active, whoever calls this at the same time.
    """
    with transaction.atomic():
        host = hosts.locked(host_id)
        if CampaignRun.objects.filter(host=host, state=RunState.ACTIVE).exists():
            return None
        running = Campaign.objects.filter(host=host, state=State.RUNNING).select_related("owner").order_by("pk")
        for campaign in running:
            if not permissions.may_use_host(campaign.owner, host):
                campaign.runs.filter(state=RunState.WAITING).update(state=RunState.CANCELLED)
                _set_state(campaign, State.CANCELLED, f"{campaign.owner} may use its host no more.")
                continue
            run = campaign.runs.filter(state=RunState.WAITING).order_by("position").first()
            if run is None:
                _set_state(campaign, State.FINISHED)
                notifications.notify_owner(campaign)
                continue
            if host.blocked_reason or in_window(host, now(), campaign) or why_no_run(host):
                return None
            run.state, run.step, run.reason = RunState.ACTIVE, "waits for a worker", ""
            run.started_at, run.finished_at = now(), None
            run.job = jobs.enqueue(RUN_JOB, queue=host.queue, run_id=run.pk)
            run.save()
            return run
    return None


def put_back(run: CampaignRun) -> bool:
    """Let a run wait again that a worker took after all hosts were frozen. Return whether it does."""
    if not (frozen := hosts.why_frozen()):
        return False
    with transaction.atomic():
        mine = CampaignRun.objects.filter(pk=run.pk, state=RunState.ACTIVE, job=run.job_id)
        if mine.update(state=RunState.WAITING, step=""):
            RunLine.objects.create(run=run, text=f"waits again: {frozen}"[:1000])
    return True


def why_no_run(host: Host) -> str:
    """Return why no run begins on a host now: the freeze of all hosts, or what a run has to wait for; "" else."""
    return hosts.FROZEN if hosts.why_frozen() else reason_to_wait(host)


def reason_to_wait(host: Host) -> str:
    """Return what a run has to wait for on a host; "" where there is nothing."""
    return next((reason for _, reason in run_wanted.send(sender=Host, host=host) if reason), "")


def in_window(host: Host, at: datetime, campaign: Campaign) -> bool:
    """Tell whether a run that begins now would be under way in the host's maintenance."""
    if host.window_start is None or host.window_end is None:
        return False
    longest = timedelta(seconds=2 * campaign.run_seconds + campaign.cool_down_seconds + 60)
    for day in (-1, 0, 1):
        date = (at + timedelta(days=day)).date()
        begin = datetime.combine(date, host.window_start, at.tzinfo)
        end = datetime.combine(date, host.window_end, at.tzinfo)
        if end <= begin:
            end += timedelta(days=1)
        if at < end and at + longest > begin:
            return True
    return False


def reconcile() -> None:
    """Take up what was left undone: runs whose job gave up, hosts with work and no run, or that may answer again.

    Called by every tick.
    """
    ended = Q(job__isnull=True) | Q(job__state__in=[Job.State.DONE, Job.State.FAILED])
    for run in CampaignRun.objects.filter(ended, state=RunState.ACTIVE).select_related("job"):
        reason = (run.job.error if run.job else "") or "Its job ended without a result."
        spares = jobs.NO_DATABASE in reason or jobs.GIVEN_UP in reason  # no run's fault: its workers died
        ending: dict[str, Any] = {"state": RunState.FAILED, "reason": reason, "finished_at": now()}
        if spares:
            ending = {"state": RunState.WAITING}
        with transaction.atomic():
            mine = CampaignRun.objects.filter(pk=run.pk, state=RunState.ACTIVE, job=run.job_id)
            if mine.update(**ending, step=""):
                RunLine.objects.create(run=run, text=f"{'waits again' if spares else 'failed'}: {reason}"[:1000])
                if spares:
                    pause_by_itself(run.campaign_id, reason)
    for host_id in set(Campaign.objects.filter(state=State.RUNNING).values_list("host_id", flat=True)):
        next_run(host_id)
    _request_looks()
