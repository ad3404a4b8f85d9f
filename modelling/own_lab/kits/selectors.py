"""What was measured by kits, pair by pair: each laboratory by itself, and beside it what all evidence together says."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from math import exp, sqrt
from typing import Any

from django.core.cache import caches

from experiments.campaigns.kits.definitions import Kit, Way, kits, size, studies_of
from experiments.models import CaseStudy
from kdb.disk_path import SETTINGS
from kdb.units import THROUGHPUT
from modelling.answers.knowledge import assumptions
from modelling.answers.words import address
from modelling.estimation.arms import comparable_arms, trials
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES, NATIVE
from modelling.evidence.dataframes import Evidence
from modelling.evidence.normal import NORMAL_95
from modelling.evidence.question import Question
from modelling.prediction.selectors import forecast

from .content import ExpectedRatio, KitPair, KitReport, KitRun, KitSummary, KitWay, MeasuredByKit

_CACHE_SECONDS = 24 * 60 * 60  # the key changes with every publication


def summaries(guide: str = "") -> list[KitSummary]:
    """Return every kit, or those of a guide, with who ran it. One query; none where there is no kit."""
    chosen = [kit for kit in kits().values() if not guide or guide in kit.guides]
    ran: dict[str, dict[str, None]] = {kit.slug: {} for kit in chosen}
    for study, who in studies_of(chosen) if chosen else ():
        ran[study.kit.partition("/")[0]][who] = None
    return [
        KitSummary(kit.mark, kit.slug, kit.version, kit.question, tuple(kit.guides), tuple(ran[kit.slug]))
        for kit in chosen
    ]


def report(kit: Kit) -> dict[str, Any]:
    """Return a kit's KitReport as JSON has it, cached until something is published: forecasts take a while."""
    key = f"modelling.own_lab.kits:{kit.mark}:{counts.revision()}"
    text: Any = caches["bodies"].get_or_set(key, lambda: json.dumps(asdict(_report(kit))), _CACHE_SECONDS)
    return dict(json.loads(text))


def _report(kit: Kit) -> KitReport:
    runs = tuple(_run(kit, *row) for row in studies_of([kit]))
    counted = [run.case_study for run in runs if run.counts]
    return KitReport(
        kit=kit.mark,
        slug=kit.slug,
        version=kit.version,
        question=kit.question,
        ran=tuple(dict.fromkeys(run.who for run in runs)),
        guides=tuple(kit.guides),
        engine=kit.engine,
        workloads=tuple(kit.workloads),
        run_seconds=kit.run_seconds,
        repetitions=kit.repetitions,
        ways=tuple(KitWay(tuple(way.drivers), _compares(way), way.held, *size(kit, way)) for way in kit.ways),
        runs=runs,
        pairs=tuple(pair for way in kit.ways for pair in _pairs(kit, way, counted)),
    )


def _run(kit: Kit, study: CaseStudy, who: str) -> KitRun:
    version, is_counted = int(study.kit.partition("/")[2]), study.kit == kit.mark
    contributor = getattr(study.owner, "contributor", None)
    name = contributor.name if contributor else ""
    return KitRun(study.slug, study.title, who, name, study.measured_year, version, is_counted, study.run_seconds)


def _compares(way: Way) -> str:
    """Return what a way compares, in words: "cache mode none, writeback"."""
    factors = {SETTINGS[name].in_sentence: [*map(SETTINGS[name].value_label, way.disk[name])] for name in way.disk}
    factors |= {"guest file system": [*way.guest_file_systems], "host file system": [*way.host_file_systems]}
    return "; ".join(f"{name} {', '.join(chosen)}" for name, chosen in factors.items() if len(chosen) > 1)


def _pairs(kit: Kit, way: Way, case_studies: Sequence[str]) -> Iterator[KitPair]:
    """Yield each option beside the first, under each workload. case_studies : slugs of those that count"""
    native = {} if way.guest_file_systems else {"hypervisor": NATIVE}
    for name, workload in product(way.axes, kit.workloads):
        (column,) = AXES[name].entry
        second, *others = way.disk.get(column) or getattr(way, f"{column.removesuffix('_fs')}_file_systems")
        question = Question(name, workload, hypervisor=native.get("hypervisor"))
        measured = _measured(question, case_studies)
        for first in others:
            yield KitPair(
                *(name, AXES[name].label, workload),
                *(names.label(AXES[name], first), names.label(AXES[name], second), address(question)),
                measured=tuple(measured.get((first, second), ())),
                expected=_expected({column: first, **native}, {column: second, **native}, workload),
            )


def _expected(first: Mapping[str, str], second: Mapping[str, str], workload: str) -> ExpectedRatio | None:
    """Return the ratio that all evidence foretells; None where nobody compared the two."""
    foretold = forecast(first, second, workload, None)
    if foretold is None or not foretold.laboratories:
        return None
    return ExpectedRatio(foretold.ratio, foretold.low, foretold.high, foretold.laboratories)


def _measured(question: Question, case_studies: Sequence[str]) -> dict[tuple[str, str], list[MeasuredByKit]]:
    """Return ordered pair of options to what each laboratory measured, by these case studies alone."""
    if not case_studies:
        return {}
    arms = Evidence(question).arms(THROUGHPUT)
    arms = comparable_arms(arms[arms["case_study"].isin(case_studies)], AXES[question.axis], assumptions().spread)
    ratios: dict[tuple[str, str], list[MeasuredByKit]] = {}
    for trial in trials(arms):
        for (one, first), (two, second) in product(enumerate(trial.treatments), repeat=2):
            effect = float(trial.effects[one, two])
            half = NORMAL_95 * sqrt(float(trial.variances[one] + trial.variances[two]))
            row = MeasuredByKit(trial.name, exp(effect), exp(effect - half), exp(effect + half))
            ratios.setdefault((first, second), []).append(row)
    return ratios
