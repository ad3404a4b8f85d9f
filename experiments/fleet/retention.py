"""Roll statistics of minutes up into hours and days, and delete each after its time. Every step may be repeated."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Max, Min
from django.db.models.functions import TruncDay, TruncHour
from django.utils.timezone import now

from experiments.models import DiskStatistics, ObservedMachine, ObservedPool
from kdb.jobs import jobs
from kdb.models import Job

from . import notifications, statistics

JOB = "roll_up_observation"
EVERY = timedelta(minutes=10)
LENGTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
_STEPS = (
    # finer and coarser span, its truncation, and how late parts may arrive
    ("minute", "hour", TruncHour, timedelta(hours=2)),
    ("hour", "day", TruncDay, timedelta(days=1)),
)


def enqueue_roll_up() -> None:
    """Enqueue the next roll-up where it is due; called by the scheduler."""
    if not DiskStatistics.objects.exists():
        return
    latest = Job.objects.filter(kind=JOB).order_by("-pk").first()
    if latest is None or latest.created_at < now() - EVERY:
        jobs.enqueue_with_backoff(JOB)
        Job.objects.filter(kind=JOB, finished_at__lt=now() - timedelta(days=1)).delete()


def roll_up(run: jobs.JobRun) -> None:
    """Sum statistics up, notify of slow disks after each full hour, and delete what is old."""
    before = _newest_hour()
    for finer, coarser, truncated, late in _STEPS:
        _sum_up(finer, coarser, truncated, late)
    newest = _newest_hour()
    if before is not None and newest is not None and newest > before:
        notifications.notify_of_slow_disks(newest - LENGTHS["hour"])
    prune()


def _newest_hour() -> datetime | None:
    hour: datetime | None = DiskStatistics.objects.filter(span="hour").aggregate(at=Max("starts_at"))["at"]
    return hour


def _sum_up(finer: str, coarser: str, truncated: type[TruncHour | TruncDay], late: timedelta) -> None:
    """Sum finer rows into the coarser span: new ones, and again those within `late` of the last, for late parts."""
    last = DiskStatistics.objects.filter(span=coarser).aggregate(at=Max("starts_at"))["at"]
    first = DiskStatistics.objects.filter(span=finer).aggregate(at=Min("starts_at"))["at"]
    if first is None:
        return
    # A span whose first parts were deleted already is not summed again, as it would lose them.
    begin = first if last is None else max(last - late, _beginning(first, coarser) + LENGTHS[coarser])
    parts = DiskStatistics.objects.filter(span=finer, starts_at__gte=_beginning(begin, coarser))
    sums = statistics.sum_by(parts.annotate(beginning=truncated("starts_at")), "disk", "beginning")
    statistics.save([statistics.row(by["disk"], coarser, by["beginning"], activity) for by, activity in sums])


def _beginning(moment: datetime, span: str) -> datetime:
    hour = moment.replace(minute=0, second=0, microsecond=0)
    return hour.replace(hour=0) if span == "day" else hour


@transaction.atomic
def prune() -> None:
    """Delete expired statistics, and machines and pools that were last seen before the oldest daily ones."""
    ends = {
        "minute": settings.KDB_OBSERVATION_MINUTES_DAYS,
        "hour": settings.KDB_OBSERVATION_HOURS_DAYS,
        "day": settings.KDB_OBSERVATION_DAYS_DAYS,
    }
    for span, days in ends.items():
        DiskStatistics.objects.filter(span=span, starts_at__lt=now() - timedelta(days=days)).delete()
    oldest = now() - timedelta(days=ends["day"])
    ObservedMachine.objects.filter(seen_at__lt=oldest).delete()
    ObservedPool.objects.filter(seen_at__lt=oldest, is_target=False).delete()
