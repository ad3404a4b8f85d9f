"""Train models from signatures, detect the load of observed machines hour by hour, and store both.

A model is stored as its training data, and fitted again where it is used, so that nothing has to be unpickled.
"""

import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Max, Q
from django.utils.timezone import now

from experiments.fleet import selectors as observation
from experiments.fleet.aggregation import DiskActivity
from experiments.laboratory.transport.counters import NAMES, Counts
from experiments.models import CampaignRun, DiskStatistics, Signature, Workload
from experiments.records import visible
from kdb.jobs import jobs
from kdb.models import Job
from modelling.models import DetectedHour, DetectionModel

from .classifier import METHOD, Classifier, TooFewError, Training
from .content import OR
from .evaluation import Known, model_of, sets
from .features import FEATURES, is_idle

logger = logging.getLogger(__name__)

TRAIN_JOB, DETECT_JOB = "train_detection", "detect_workloads"
EVERY = timedelta(minutes=10)
HOUR = timedelta(hours=1)


# Models


def signatures() -> list[Known]:
    """Return the signatures to learn from: those of finished runs, and those that come with KDB."""
    rows = Signature.objects.filter(Q(run=None) | Q(run__state=CampaignRun.State.DONE)).order_by("pk")
    return [
        Known(
            row.workload,
            f"run {row.run_id}" if row.run_id else row.source,
            row.seconds,
            Counts(**{name: getattr(row, name) for name in NAMES}),
        )
        for row in rows
    ]


def current_model() -> DetectionModel | None:
    """Return the newest model; None before the first."""
    return DetectionModel.objects.filter(method=METHOD).order_by("-made_at", "-pk").first()


def train() -> DetectionModel:
    """Train a model on the current signatures, unless there is one already. Safe to call again."""
    known = signatures()
    text = json.dumps(
        [
            [signature.workload, signature.run, signature.seconds, *asdict(signature.counts).values()]
            for signature in known
        ]
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    existing = DetectionModel.objects.filter(method=METHOD, digest=digest).first()
    if existing is not None:
        DetectionModel.objects.filter(pk=existing.pk).update(made_at=now())
        return existing
    workloads = list(visible.entries(Workload).values_list("slug", flat=True))
    fields: dict[str, Any] = {"why_not": "", "training": {}, "report": {}}
    try:
        model, report = model_of(known, workloads)
        fields |= {"training": as_json(model), "report": asdict(report)}
    except TooFewError as error:
        fields["why_not"] = str(error)
    newest, _ = DetectionModel.objects.get_or_create(
        method=METHOD, digest=digest, defaults={"signatures": len(known), **fields}
    )
    _delete_old_models(newest)
    logger.info("trained detection model=%s signatures=%s why_not=%r", newest.pk, len(known), newest.why_not)
    return newest


def _delete_old_models(newest: DetectionModel) -> None:
    """Delete older models that no detected hour refers to."""
    used = DetectedHour.objects.values("model")
    DetectionModel.objects.exclude(pk=newest.pk).exclude(pk__in=used).delete()


def as_json(model: Classifier) -> dict[str, Any]:
    return {
        "features": [*FEATURES],
        "rows": model.training.features.tolist(),
        "classes": list(model.training.classes_of),
        "runs": list(model.training.groups),
        "told": list(model.catalogue),
        "sureness": dict(model.sureness),
    }


def classifier(stored: DetectionModel) -> Classifier | None:
    """Return the fitted model; None where there were too few signatures for one."""
    return None if stored.why_not else _load_classifier(stored.pk, stored.digest)


@lru_cache(maxsize=2)
def _load_classifier(pk: int, digest: str) -> Classifier:
    """Fit a stored model, cached. digest : tells models of different databases with one key apart"""
    stored = DetectionModel.objects.get(pk=pk, digest=digest).training
    training = Training(np.array(stored["rows"]), tuple(stored["classes"]), tuple(stored["runs"]))
    return Classifier(training, tuple(stored["told"]), stored["sureness"])


# Hours


@dataclass
class _Hour:
    minutes: int = 0
    idle: int = 0
    unlike: int = 0
    shares: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    others: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    certainty: float = 0.0


def detect() -> None:
    """Detect the load of each hour with new minutes; of every stored hour, if the model has changed."""
    stored = current_model()
    model = classifier(stored) if stored is not None else None
    if stored is None or model is None:
        return
    latest = DetectedHour.objects.filter(model=stored).aggregate(at=Max("starts_at"))["at"]
    minutes = DiskStatistics.objects.filter(span="minute")
    if latest is not None:
        minutes = minutes.filter(starts_at__gte=latest - HOUR)  # minutes of the hour before may have arrived late
    by_hour: dict[tuple[int, datetime], dict[datetime, DiskActivity]] = defaultdict(dict)
    for machine, starts_at, watched in observation.activity_of_machines(minutes):
        by_hour[machine, starts_at.replace(minute=0)][starts_at] = watched
    hours = {key: hour_of(model, list(parts.values())) for key, parts in by_hour.items()}
    DetectedHour.objects.bulk_create(
        [
            DetectedHour(machine_id=machine, starts_at=starts_at, model=stored, **asdict(hour))
            for (machine, starts_at), hour in hours.items()
        ],
        update_conflicts=True,
        unique_fields=["machine", "starts_at"],
        update_fields=["model", "minutes", "idle", "unlike", "shares", "others", "certainty"],
        batch_size=1000,
    )
    oldest = now() - timedelta(days=settings.KDB_OBSERVATION_HOURS_DAYS)
    DetectedHour.objects.filter(starts_at__lt=oldest).delete()


def hour_of(model: Classifier, minutes: Iterable[DiskActivity]) -> _Hour:
    """Classify each minute, and add up the results."""
    hour = _Hour()
    working = []
    for minute in minutes:
        hour.minutes += 1
        if is_idle(minute.counts, minute.seconds):
            hour.idle += 1
        else:
            working.append(minute)
    for classes in sets(model, working):
        if not classes:
            hour.unlike += 1
        elif model.is_workload(classes):
            hour.shares[classes[0]] += 1
            hour.certainty += model.sureness[classes[0]]
        else:
            hour.others[OR.join(classes)] += 1
    hour.shares, hour.others = dict(hour.shares), dict(hour.others)
    return hour


# Jobs


def enqueue_due_jobs() -> None:
    """Enqueue training if there are new signatures, and detection if there are new minutes. Called on every tick."""
    since = now() - EVERY
    recent = set(
        Job.objects.filter(kind__in=[TRAIN_JOB, DETECT_JOB], created_at__gt=since).values_list("kind", flat=True)
    )
    if TRAIN_JOB not in recent and _is_behind():
        jobs.enqueue_with_backoff(TRAIN_JOB)
    if DETECT_JOB not in recent and DiskStatistics.objects.filter(span="minute", starts_at__gt=since - EVERY).exists():
        jobs.enqueue_with_backoff(DETECT_JOB)
    old = now() - timedelta(days=1)
    Job.objects.filter(kind__in=[TRAIN_JOB, DETECT_JOB], finished_at__lt=old).delete()


def _is_behind() -> bool:
    """Tell whether signatures came or went since the newest model."""
    number = Signature.objects.filter(Q(run=None) | Q(run__state=CampaignRun.State.DONE)).count()
    newest = current_model()
    return number > 0 if newest is None else newest.signatures != number
