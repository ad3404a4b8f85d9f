"""Find changes in series, and record what their laboratory's members say of them: the one module that writes them.

A series alone raises a suspicion, which is kept and shown; a later sitting whose blocks have both sides confirms it,
and then members are notified. A sitting that ended and was not examined is work to do; whatever is lost, the next tick
asks for it again. All that examining one sitting leads to is one transaction.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict
from datetime import date
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.timezone import now

from kdb.jobs import jobs
from kdb.notifications import announcements
from kdb.notifications.models import Topic
from modelling.answer_store import staleness
from modelling.models import Laboratory, SeriesChange, Sitting

from . import gather, selectors, words
from .content import DEEDS, Point, Series
from .reruns import compare_reruns
from .statistics.newest import newest_step

logger = logging.getLogger(__name__)

JOB = "find_changes"


def reconcile() -> None:
    """Queue the job where a sitting ended and was not examined, whatever was lost."""
    if _waiting().exists():
        jobs.enqueue_with_backoff(JOB)


def find_changes(progress: Callable[[int, int], None]) -> None:
    """Examine each sitting that waits, in the order in which they ended."""
    waiting = list(_waiting().order_by("ended_at", "pk").values_list("pk", flat=True))
    for done, pk in enumerate(waiting, start=1):
        examine_sitting(pk)
        progress(done, len(waiting))


def examine_sitting(pk: int) -> None:
    """Test the series that a sitting adds a point to, keep suspicions and announce what is confirmed.

    A sitting that was examined already is left alone.
    """
    with transaction.atomic():
        # One sitting of a laboratory after the other: two at once would find the same step.
        of_sitting = Sitting.objects.filter(pk=pk).values("laboratory")
        laboratory = Laboratory.objects.select_for_update().filter(pk__in=of_sitting).first()
        sitting = Sitting.objects.filter(laboratory=laboratory, pk=pk, ended_at__isnull=False, looked_at=None).first()
        if not sitting:
            return
        named = {series.key: (series, name) for series, name in gather.series_of(sitting)}
        changes = SeriesChange.objects.filter(laboratory=sitting.laboratory, series__in=named)
        changes_of: dict[str, list[SeriesChange]] = {key: [] for key in named}
        for change in changes.select_related("sitting", "shown_by", "laboratory"):
            changes_of[change.series].append(change)
        points_of = gather.newest_points(sitting.laboratory, [series for series, _ in named.values()], sitting)
        for key, (series, name) in named.items():
            _confirm(sitting, changes_of[key])
            _test(sitting, series, name, points_of[key], changes_of[key])
        Sitting.objects.filter(pk=pk).update(looked_at=now())


def handle(change: SeriesChange, user: Any, deed: str, *, reason: str = "", until: date | None = None) -> None:
    """Record what a member says of a change, as HandlingForm checked it; the same again does no harm.

    deed : a key of content.DEEDS; reason, until : of an excuse
    """
    SeriesChange.objects.filter(pk=change.pk).update(
        state=DEEDS[deed], reason=reason, excused_until=until, handled_by=user, handled_at=now()
    )
    staleness.clear_cache()
    logger.info("handled change=%s deed=%s user=%s", change.pk, deed, user.pk)


def _waiting() -> QuerySet[Sitting]:
    # A visitor's laboratory has one sitting, and so no series.
    return Sitting.objects.filter(ended_at__isnull=False, looked_at__isnull=True, laboratory__expires_at=None)


def _confirm(sitting: Sitting, changes: Iterable[SeriesChange]) -> None:
    """Confirm and tell each suspicion in a series that the sitting's blocks, with those since, bear out."""
    for change in changes:
        if change.confirmed_by_id or gather.end_of(change.shown_by) >= gather.end_of(sitting):
            continue
        difference = compare_reruns(change, sitting)
        if difference is None or not difference.confirms(change.ratio):
            continue
        change.confirmed_by, change.ratio = sitting, difference.ratio
        change.low, change.high = difference.interval
        change.save(update_fields=["confirmed_by", "ratio", "low", "high"])
        _announce(change)
        logger.info("confirmed change=%s sitting=%s ratio=%.3f", change.pk, sitting.pk, change.ratio)


def _test(sitting: Sitting, series: Series, name: str, points: list[Point], changes: Collection[SeriesChange]) -> None:
    """Test the newest point of one series; a step that it shows becomes a suspicion. changes : that it had before"""
    points = [point for point in points if point.value is not None]
    if not points or points[-1].sitting != sitting.pk:
        return
    places = {point.sitting: place for place, point in enumerate(points)}
    start = max((places.get(change.sitting_id, 0) for change in changes), default=0)
    step = newest_step(np.log([point.value for point in points[start:] if point.value is not None]))
    if step is None or not step.is_suspicious:
        return
    first, difference = points[start + step.place], step.difference
    # A later sitting that was looked at before this one may have found the same.
    if any(change.sitting_id == first.sitting for change in changes):
        return
    low, high = difference.interval
    change = SeriesChange.objects.create(
        laboratory=sitting.laboratory,
        series=series.key,
        about={**asdict(series), "name": name},
        sitting_id=first.sitting,
        shown_by=sitting,
        p=difference.p,
        ratio=difference.ratio,
        low=low,
        high=high,
        facts=[asdict(fact) for fact in first.facts],
    )
    every = gather.points_of(gather.newest_sittings(sitting.laboratory, series, change.sitting), series)
    change.earlier.set(point.sitting for point in every[:-1] if point.value is not None)
    logger.info("suspected change=%s laboratory=%s ratio=%.3f", change.pk, sitting.laboratory_id, change.ratio)


def _announce(change: SeriesChange) -> None:
    members = list(change.laboratory.members.values_list("pk", flat=True))
    announcements.announce(
        Topic.CHANGE,
        subject=words.headline(change.about, change.ratio),
        text=selectors.sentence_of(change, change.about),
        path=reverse("series-change", args=[change.pk]),
        facts={
            **{"change": change.pk, "laboratory": change.laboratory.slug, "series": change.series},
            **{"ratio": change.ratio, "low": change.low, "high": change.high, "facts": change.facts},
        },
        users=members,
    )
