"""Reads the published facts, judges every claim and hypothesis by them, and keeps the result."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db.models import Avg, Count, Max, Min, QuerySet, Sum, Variance
from django.db.models.functions import Ln

from experiments import visible
from experiments.claim_conditions import CheckError, parse_checks
from experiments.models import (
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    FileSystem,
    Hypervisor,
    Measurement,
    OrdinalFinding,
    PrintedRatio,
    Workload,
)
from kdb import __version__, jobs
from kdb.pairs import pair_key
from kdb.units import convert
from modelling.evidence import counts
from modelling.evidence.keeping import keep
from modelling.models import ClaimVerdict, HypothesisScore

from . import hypotheses
from .facts import NATIVE, Facts, Finding, Number, Span, number_span
from .facts import PrintedRatio as Ratio
from .judging import SCOPES, Verdict, evaluate

logger = logging.getLogger(__name__)

JOB = "recompute_claims"
UNIT = "MiB/s"
_AS_OF_SECONDS = 3600  # that verdicts of an earlier revision stay in memory
KEPT = 500  # comparisons and ids a row keeps; its counts are of all
KINDS_OF_EVIDENCE = {
    "measurement": "measurements",
    "derived": "derived_values",
    "ratio": "printed_ratios",
    "finding": "findings",
}
_CELL = ("configuration_id", "variant_id", "operation", "block_size_bytes", "vm_count", "unit")


def recompute() -> int:
    """Judge every claim and hypothesis anew; returns the number of rows that changed.

    The number of queries does not grow with the evidence. Nothing is kept where a publication came
    in between: it asks for another round itself.
    """
    revision = counts.revision()
    facts = read_facts()
    with_spread = facts.with_spread(settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION)
    verdicts, scores = list(_verdicts(facts, visible.claims())), list(_scores(with_spread))
    for row in (*verdicts, *scores):
        row.revision = revision
    changed = 0

    def store() -> None:
        nonlocal changed
        changed = _store(ClaimVerdict, ("claim_id", "scope"), verdicts)
        changed += _store(HypothesisScore, ("code", "source"), scores)

    if not keep(revision, store, wait=True):
        logger.info("a publication came in between revision=%s", revision)
    logger.info("judged claims and hypotheses revision=%s changed=%s", revision, changed)
    return changed


def renew() -> None:
    """Judge anew in the background, and at once where no verdict is there to be shown meanwhile."""
    if not ClaimVerdict.objects.exists():
        if visible.claims().exists():
            recompute()
    else:
        jobs.enqueue_once(JOB)


def look_after() -> None:
    """Ask again for verdicts that are behind, whatever became of the job that was to renew them."""
    oldest = ClaimVerdict.objects.aggregate(first=Min("revision"))["first"]
    if oldest is not None and oldest < counts.revision():
        jobs.enqueue_for_leftovers(JOB)


def as_of(revision: int) -> dict[tuple[int, str], ClaimVerdict]:
    """(claim, scope) to its verdict by what counted at an earlier revision: judged again, kept in memory for a while.

    Claims that came with a later publication are not among them.
    """
    key = f"modelling.claims.judging:{__version__}:{revision}"
    return caches["verdicts"].get_or_set(key, lambda: _judged_at(revision), _AS_OF_SECONDS)


def _judged_at(revision: int) -> dict[tuple[int, str], ClaimVerdict]:
    found = {}
    for row in _verdicts(read_facts(revision), visible.claims(revision)):
        row.revision = revision
        found[row.claim_id, row.scope] = row
    return found


# From rows to facts


def read_facts(as_of: int | None = None) -> Facts:
    """The facts of published case studies. A printed value without spread is taken as it stands.

    as_of : what counted at this knowledge revision, in place of what counts now
    """
    case_studies = CaseStudy.objects.published() if as_of is None else CaseStudy.objects.known_at(as_of)
    names = dict(Hypervisor.objects.values_list("slug", "name")) | dict(FileSystem.objects.values_list("slug", "name"))
    workloads = {}
    for variant, slug, name in Workload.objects.values_list("variants__pk", "slug", "name"):
        names[slug], workloads[variant] = name, slug
    return Facts(
        numbers=tuple(_numbers(case_studies, workloads)),
        findings=tuple(_findings(case_studies)),
        ratios=tuple(_ratios(case_studies)),
        limits=_limits(case_studies),
        labels=names,
    )


def _numbers(case_studies: QuerySet[CaseStudy], workloads: dict[int, str]) -> Iterator[Number]:
    """`workloads` are slugs by the key of a variant."""
    configurations = Configuration.objects.filter(case_study__in=case_studies).select_related(
        "case_study", "hypervisor", "guest_fs", "host_fs"
    )
    at = {configuration.pk: _place(configuration) for configuration in configurations}
    taken = set()

    def coordinates(row: dict[str, Any]) -> dict[str, Any]:
        return {
            **at[row["configuration_id"]],
            "workload": workloads[row["variant_id"]],
            "variant": row["variant_id"],
            "operation": row["operation"],
            "block_size": row["block_size_bytes"],
            "vm_count": row["vm_count"],
        }

    cells = (
        Measurement.objects.filter(configuration__case_study__in=case_studies, metric="throughput")
        .order_by()
        .values(*_CELL)
        .annotate(
            rows=Count("pk"),
            first=Min("pk"),
            mean_log=Avg(Ln("value")),
            log_variance=Variance(Ln("value")),
            any_value=Max("value"),
            other_reading=Max("alternative_value"),
            deviation=Max("standard_deviation"),
            runs=Sum("repetitions"),
        )
    )
    for row in cells.iterator():
        taken.add(_cell(row))
        variance = _variance(row)
        span = number_span(row["mean_log"], variance)
        readings = [span]
        if row["rows"] == 1 and row["other_reading"]:
            factor = row["other_reading"] / row["any_value"]
            readings.append(Span(span.low * factor, span.high * factor))
        to_unit = convert(1.0, row["unit"], UNIT)
        yield Number(
            f"measurement:{row['first']}",
            coordinates(row),
            tuple(_scaled(reading, to_unit) for reading in readings),
            runs=0 if variance else max(row["rows"], row["runs"] or 1),
        )

    derived = DerivedValue.objects.filter(configuration__case_study__in=case_studies, metric="throughput")
    derived = derived.exclude(quantity=DerivedValue.Quantity.MEAN).order_by("-is_evidence", "pk")
    for row in derived.values("pk", "low", "high", "is_evidence", "quantity", *_CELL):
        is_bound = row["quantity"] == DerivedValue.Quantity.BOUND
        if _cell(row) in taken or not (row["is_evidence"] or is_bound):
            continue
        taken.add(_cell(row))
        span = Span(row["low"] or 0.0, row["high"] if row["high"] is not None else float("inf"))
        span = _scaled(span, convert(1.0, row["unit"], UNIT))
        yield Number(f"derived:{row['pk']}", coordinates(row), (span,), is_bound, runs=0 if is_bound else 1)


def _place(configuration: Configuration) -> dict[str, Any]:
    guest_fs = configuration.guest_fs and configuration.guest_fs.slug
    host_fs = configuration.host_fs and configuration.host_fs.slug
    return {
        "case_study": configuration.case_study.slug,
        "hypervisor": NATIVE if configuration.is_native else configuration.hypervisor.slug,
        "hypervisor_kind": None if configuration.is_native else configuration.hypervisor.kind,
        "virtualisation": configuration.virtualisation,
        "medium": (configuration.cache_mode, configuration.image_format, configuration.disk_bus),
        "machine": (configuration.guest_os_id, configuration.vm_vcpus, configuration.vm_ram_gib),
        "guest_fs": guest_fs,
        "host_fs": host_fs,
        "pair": pair_key(guest_fs, host_fs),
    }


def _cell(row: dict[str, Any]) -> tuple:
    return tuple(row[name] for name in _CELL if name != "unit")


def _variance(row: dict[str, Any]) -> float | None:
    """Of the cell's mean of ln(value): from its rows, or from the spread its source prints."""
    if row["rows"] > 1:
        return row["log_variance"] / (row["rows"] - 1)
    return (row["deviation"] / row["any_value"]) ** 2 / (row["runs"] or 1) if row["deviation"] else None


def _scaled(span: Span, factor: float) -> Span:
    return Span(span.low * factor, span.high * factor)


def _findings(case_studies: QuerySet[CaseStudy]) -> Iterator[Finding]:
    rows = (
        OrdinalFinding.objects.filter(case_studies__in=case_studies)
        .order_by("pk", "case_studies__slug")
        .values_list(
            "pk",
            "case_studies__slug",
            "publication__slug",
            "variant__workload__slug",
            "hypervisor__slug",
            "guest_fs__slug",
            "host_fs__slug",
            "text_list",
            "table_list",
            "is_outstanding",
        )
    )
    found: dict[tuple, list[str]] = {}
    for pk, case_study, *rest in rows:
        found.setdefault((pk, *rest), []).append(case_study)
    for (pk, publication, *rest), slugs in found.items():
        yield Finding(f"finding:{pk}", publication, tuple(slugs), *rest)


def _ratios(case_studies: QuerySet[CaseStudy]) -> Iterator[Ratio]:
    """Those of one VM count each: a ratio of sums is a claim, and its numbers are printed."""
    rows = PrintedRatio.objects.filter(case_study__in=case_studies, is_overall=False).select_related(
        "case_study", "variant__workload", "numerator", "denominator"
    )
    for row in rows:
        yield Ratio(
            f"ratio:{row.pk}",
            row.case_study.slug,
            row.variant.workload.slug,
            row.numerator.slug if row.numerator else NATIVE,
            row.denominator.slug,
            tuple(row.vm_counts),
            Span(row.least - row.least_rounding, row.least + row.least_rounding),
            Span(row.greatest - row.greatest_rounding, row.greatest + row.greatest_rounding),
            row.trend,
        )


def _limits(case_studies: QuerySet[CaseStudy]) -> dict[str, dict[str, float]]:
    """What the storage can do at most, MiB/s: `disk`, and `interface` where it is stated."""
    limits = {}
    for slug, read, write, interface in case_studies.values_list(
        "slug", "storage__sequential_read_limit", "storage__sequential_write_limit", "storage__interface_limit"
    ):
        stated = {"disk": min(filter(None, (read, write)), default=None), "interface": interface}
        limits[slug] = {name: convert(value, "MB/s", UNIT) for name, value in stated.items() if value}
    return limits


# From facts to rows


def _verdicts(facts: Facts, claims: QuerySet[Claim]) -> Iterator[ClaimVerdict]:
    claims = claims.select_related("publication").prefetch_related("case_studies", "publication__case_studies")
    parts: dict[tuple, Facts] = {}

    def part(scope: str, slugs: frozenset[str]) -> Facts:
        if (scope, slugs) not in parts:
            parts[scope, slugs] = facts.only(slugs) if scope == "own" else facts.without(slugs)
        return parts[scope, slugs]

    for claim in claims:
        own = {row.slug for row in claim.case_studies.all() or claim.publication.case_studies.all()}
        for scope in SCOPES:
            judged = _judged(claim, scope, own, part)
            # by its key alone: what is kept in memory (as_of) holds no claim
            yield ClaimVerdict(claim_id=claim.pk, scope=scope, verdict=judged.verdict, **_columns(judged))


def _judged(claim: Claim, scope: str, own: set[str], part: Callable[[str, frozenset[str]], Facts]) -> Verdict:
    """`own` are the case studies of the claim's paper, `part` the facts of a scope."""
    try:
        checks = parse_checks(claim.checks)
        if checks is None:
            return Verdict("untestable", "Nobody has written down yet what would decide it.")
        named = own if checks.case_studies is None else checks.case_studies
        facts = part(scope, frozenset(named if scope == "own" else own | named))
        return evaluate(getattr(checks, scope), facts, is_open=scope == "others")
    except CheckError as error:
        logger.warning("check without a verdict claim=%s scope=%s reason=%s", claim.code, scope, error)
        return Verdict("untestable", f"Its check cannot be decided: {error}.")


def _scores(facts: Facts) -> Iterator[HypothesisScore]:
    for code, source, judged in hypotheses.scores(facts):
        yield HypothesisScore(code=code, source=source, **_columns(judged))


def _columns(judged: Verdict) -> dict[str, Any]:
    evidence: dict[str, list[int]] = {name: [] for name in KINDS_OF_EVIDENCE.values()}
    for name in judged.evidence[:KEPT]:
        kind, _, pk = name.partition(":")
        evidence[KINDS_OF_EVIDENCE[kind]].append(int(pk))
    return {
        "held": judged.held,
        "failed": judged.failed,
        "undecided": judged.undecided,
        "reason": judged.reason,
        "basis": judged.basis,
        "evidence": {name: sorted(ids) for name, ids in evidence.items()},
        "comparisons": [[c.state, c.text] for c in judged.comparisons[:KEPT]],
    }


def _store(model: type[ClaimVerdict] | type[HypothesisScore], key: tuple[str, ...], rows: list) -> int:
    """Bring the table to these rows; returns how many of them are new or say something else."""
    names = [field.attname for field in model._meta.concrete_fields if not field.primary_key]
    said = [name for name in names if name != "revision"]
    stored = {tuple(getattr(row, name) for name in key): row for row in model.objects.all()}
    changed = 0
    for row in rows:
        before = stored.pop(tuple(getattr(row, name) for name in key), None)
        changed += before is None or any(getattr(before, name) != getattr(row, name) for name in said)
    model.objects.filter(pk__in=[row.pk for row in stored.values()]).delete()
    model.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=[name.removesuffix("_id") for name in key],
        update_fields=[name for name in names if name not in key],
    )
    return changed
