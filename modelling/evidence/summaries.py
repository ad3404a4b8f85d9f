"""Summarise measurements and derived values as arms."""

from collections.abc import Iterator, Mapping
from math import log
from statistics import fmean, variance
from typing import Any

from django.db import transaction
from django.db.models import Avg, Count, Max, QuerySet, Sum, Variance
from django.db.models.functions import Ln

from experiments.models import CaseStudy, Configuration, DerivedValue, Measurement
from experiments.records.checklist import implausible_cells
from experiments.records.references import variants
from modelling.models import Arm

from .fairplay import MEASUREMENT_FIELDS
from .normal import NORMAL_95


def rebuild_arms(case_study_ids: list[int], revision: int | None = None) -> int:
    """Summarise the measurements of these case studies anew; return the number of arms.

    revision : the new one; where rows ended at it, the previous arms are kept for answers as of earlier revisions
    One aggregate query and one write a case study: the work grows with what changed.
    """
    with transaction.atomic():
        rows_ended = dict(
            CaseStudy.objects.filter(pk__in=case_study_ids, rows_ended_revision__isnull=False)
            .order_by()
            .values_list("pk", "rows_ended_revision")
        )
        ended_now = [case_study for case_study, ended in rows_ended.items() if ended == revision]
        Arm.objects.filter(configuration__case_study__in=ended_now).update(until_revision=revision)
        Arm.objects.filter(configuration__case_study__in=case_study_ids).delete()
        arms = _sort([*_measured_arms(case_study_ids), *_derived_arms(case_study_ids)], case_study_ids)
        since = {
            configuration: rows_ended[case_study]
            for configuration, case_study in Configuration.objects.filter(case_study__in=rows_ended)
            .order_by()
            .values_list("pk", "case_study")
        }
        studies = CaseStudy.objects.filter(pk__in=case_study_ids).select_related("storage", "publication")
        implausible = set().union(*map(implausible_cells, studies))
        for arm in arms:
            arm.since_revision = since.get(arm.configuration_id)
            arm.is_implausible = _cell(vars(arm)) in implausible
        Arm.objects.bulk_create(arms, batch_size=1000)
    return len(arms)


def flag_implausible_arms() -> None:
    """Flag implausible arms of older databases: summarise their case studies anew."""
    unseen = Arm.objects.filter(is_implausible__isnull=True).values("configuration__case_study")
    rebuild_arms(list(CaseStudy.objects.filter(pk__in=unseen).values_list("pk", flat=True)))


def _sort(arms: list[Arm], case_study_ids: list[int]) -> list[Arm]:
    """Return the arms sorted by names, so that their order does not depend on that of imports."""
    configurations = dict(
        Configuration.objects.filter(case_study__in=case_study_ids).order_by().values_list("pk", "slug")
    )
    used = variants(CaseStudy.objects.filter(pk__in=case_study_ids))
    columns = ("pk", "workload__slug", "benchmark__slug", "benchmark_version", "digest")
    loads = {pk: names for pk, *names in used.values_list(*columns)}

    def place(arm: Arm) -> tuple[Any, ...]:
        cell = [getattr(arm, name) for name in MEASUREMENT_FIELDS if name != "variant_id"]
        return configurations[arm.configuration_id], loads[arm.variant_id], [(v is None, v or 0) for v in cell]

    return sorted(arms, key=place)


def _measured_arms(case_study_ids: list[int]) -> list[Arm]:
    numbers = Measurement.objects.filter(configuration__case_study__in=case_study_ids, excluded_because="").order_by()
    arms = _arms_of_numbers(numbers.filter(machine__isnull=True))
    cells = {_cell(vars(arm)) for arm in arms}  # numbers of single machines count only without others
    return [*arms, *(arm for arm in _arms_of_machines(numbers) if _cell(vars(arm)) not in cells)]


def _cell(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("configuration_id", *MEASUREMENT_FIELDS))


def _arms_of_machines(numbers: QuerySet[Measurement]) -> Iterator[Arm]:
    """Yield arms of single machines' numbers: the value of a run is their mean, as they are not independent."""
    runs = (
        numbers.filter(machine__isnull=False)
        .values("configuration_id", *MEASUREMENT_FIELDS, "repetition")
        .annotate(machines=Count("pk"), mean=Avg("value"), stated=Max("repetitions"), any_source=Max("source"))
    )
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for run in runs.iterator():
        cells.setdefault(_cell(run), []).append(run)
    for cell, same in cells.items():
        logs = [log(run["mean"]) for run in same]
        yield Arm(
            **dict(zip(("configuration_id", *MEASUREMENT_FIELDS), cell, strict=True)),
            origin=Arm.Origin.MEASURED,
            measurements=sum(run["machines"] for run in same),
            runs=max(len(same), sum(run["stated"] or 0 for run in same)),
            mean_log=fmean(logs),
            variance=variance(logs) / len(logs) if len(logs) > 1 else None,
            source=max(run["any_source"] for run in same),
        )


def _arms_of_numbers(numbers: QuerySet[Measurement]) -> list[Arm]:
    groups = numbers.values("configuration_id", *MEASUREMENT_FIELDS).annotate(
        rows=Count("pk"),
        mean_log=Avg(Ln("value")),
        log_variance=Variance(Ln("value")),  # population variance, 0 for one row
        stated_runs=Sum("repetitions"),
        any_value=Max("value"),
        deviation=Max("standard_deviation"),
        any_source=Max("source"),
    )
    arms = []
    for group in groups.iterator():
        rows, runs = group.pop("rows"), group.pop("stated_runs")
        value, deviation = group.pop("any_value"), group.pop("deviation")
        spread, source = group.pop("log_variance"), group.pop("any_source")
        if rows > 1:
            runs, spread = max(rows, runs or 0), max(spread, 0.0) / (rows - 1)  # sample variance over rows
        else:  # a mean over runs with the deviation its source prints; delta method for ln
            spread = (deviation / value) ** 2 / runs if deviation is not None and runs else None
        arms.append(
            Arm(**group, origin=Arm.Origin.MEASURED, measurements=rows, runs=runs, variance=spread, source=source)
        )
    return arms


def _derived_arms(case_study_ids: list[int]) -> list[Arm]:
    values = DerivedValue.objects.filter(configuration__case_study__in=case_study_ids, is_evidence=True).annotate(
        mean_log=Ln("value"), width=Ln("high") - Ln("low")
    )
    return [
        Arm(
            configuration_id=value.configuration_id,
            **{field: getattr(value, field) for field in MEASUREMENT_FIELDS},
            origin=Arm.Origin.DERIVED,
            measurements=1,
            runs=None,
            mean_log=value.mean_log,
            variance=(value.width / (2 * NORMAL_95)) ** 2,
            source=value.source,
        )
        for value in values
    ]
