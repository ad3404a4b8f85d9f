"""Read what the pages on claims and hypotheses show, each in a constant number of queries."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Prefetch, QuerySet

from experiments.models import CaseStudy, Claim, DerivedValue, Measurement, PrintedRatio, Publication
from experiments.records import visible
from experiments.templatetags import kdb_format
from modelling.evidence import counts
from modelling.models import ClaimVerdict, HypothesisScore, Judgement

from .hypotheses import HYPOTHESES, Hypothesis

SHOWN = 200  # rows of evidence that a page lists; the API has all stored ones


@dataclass(frozen=True)
class PaperLine:
    """One paper. rows : scope, its label, and verdict with its number of claims"""

    publication: Publication
    claims: int
    rows: list[tuple[str, str, list[tuple[str, int]]]]


@dataclass(frozen=True)
class ClaimLine:
    claim: Claim
    own: ClaimVerdict | None  # None: not judged yet
    others: ClaimVerdict | None

    @property
    def verdicts(self) -> list[tuple[str, ClaimVerdict | None]]:
        return [("By its own paper", self.own), ("By everybody else’s data", self.others)]


@dataclass(frozen=True)
class EvidenceLine:
    """One row of evidence of a verdict."""

    kind: str
    text: str
    where: str  # coordinates
    source: str
    case_study: str  # slug, of the page that shows it
    anchor: str


@dataclass(frozen=True)
class HypothesisLine:
    hypothesis: Hypothesis
    scores: list[HypothesisScore]

    @property
    def agree(self) -> int:
        return sum(score.held for score in self.scores)

    @property
    def disagree(self) -> int:
        return sum(score.failed for score in self.scores)

    @property
    def ties(self) -> int:
        return sum(score.undecided for score in self.scores)


def judged_at() -> int | None:
    """Return the revision of the latest verdicts; None without verdicts."""
    revision: int | None = ClaimVerdict.objects.aggregate(last=Max("revision"))["last"]
    return revision


def papers() -> list[PaperLine]:
    """Return every paper with claims."""
    verdicts = ClaimVerdict.objects.filter(claim__in=visible.claims()).order_by()
    by_kind = verdicts.values_list("claim__publication", "scope", "verdict").annotate(number=Count("pk"))
    counted = {tuple(key): number for *key, number in by_kind}
    totals = dict(visible.claims().order_by().values_list("publication").annotate(number=Count("pk")))
    lines = []
    for publication in visible.publications():
        if publication.pk in totals:
            rows = [
                (
                    scope.value,
                    scope.label,
                    [(kind.value, counted.get((publication.pk, scope, kind), 0)) for kind in ClaimVerdict.Kind],
                )
                for scope in ClaimVerdict.Scope
            ]
            lines.append(PaperLine(publication, totals[publication.pk], rows))
    return lines


def claims_of(publication: Publication, filters: dict[str, Any]) -> list[ClaimLine]:
    """Return the claims of a paper that the filters of the form admit."""
    claims = visible.claims().filter(publication=publication)
    if kind := filters.get("kind"):
        claims = claims.filter(kind=kind)
    if workload := filters.get("workload"):
        claims = claims.filter(workloads__slug=workload)
    if verdict := filters.get("verdict"):
        claims = claims.filter(
            Exists(ClaimVerdict.objects.filter(claim=OuterRef("pk"), scope=filters["scope"], verdict=verdict))
        )
    return _lines(claims)


def claims_on(case_study: CaseStudy) -> list[ClaimLine]:
    """Return the claims about a case study's results."""
    return _lines(visible.claims().filter(case_studies=case_study).select_related("publication"))


def claim_line(publication: Publication, code: str) -> ClaimLine | None:
    """Return one claim of the paper; None where the code is unknown."""
    return next(iter(_lines(visible.claims().filter(publication=publication, code=code))), None)


def _lines(claims: QuerySet[Claim]) -> list[ClaimLine]:
    lines = []
    for claim in claims.prefetch_related("workloads", "verdicts"):
        by_scope = {verdict.scope: verdict for verdict in claim.verdicts.all()}
        lines.append(ClaimLine(claim, by_scope.get(ClaimVerdict.Scope.OWN), by_scope.get(ClaimVerdict.Scope.OTHERS)))
    return lines


def hypothesis_lines() -> list[HypothesisLine]:
    """Return every hypothesis with its score by source."""
    by_code: dict[str, list[HypothesisScore]] = {}
    for score in HypothesisScore.objects.all():
        by_code.setdefault(score.code, []).append(score)
    return [HypothesisLine(hypothesis, by_code.get(hypothesis.code, [])) for hypothesis in HYPOTHESES]


def is_behind(rows: Iterable[Judgement | None]) -> bool:
    """Tell whether a verdict is older than the latest publication."""
    latest = counts.revision()
    return any(row is not None and row.revision < latest for row in rows)


def evidence_of(rows: Iterable[Judgement | None]) -> list[EvidenceLine]:
    """Return the rows of evidence of verdicts, each with the page that shows it."""
    judged = [row for row in rows if row]

    def first(kind: str) -> list[int]:
        return sorted({pk for row in judged for pk in row.evidence[kind]})[:SHOWN]

    lines = []
    parts = ("case_study", "hypervisor", "guest_fs", "host_fs")
    related = (*(f"configuration__{part}" for part in parts), "variant__workload")
    for value in visible.measurements().filter(pk__in=first("measurements")).select_related(*related):
        lines.append(_observation(value, "Measured", str(value), kdb_format.anchor(value.source)))
    for derived in visible.derived_values().filter(pk__in=first("derived_values")).select_related(*related):
        text = kdb_format.interval(derived.low, derived.high, derived.unit)
        lines.append(_observation(derived, "Derived from the text", text, "derived"))
    ratios = PrintedRatio.objects.filter(pk__in=first("printed_ratios"), case_study__in=visible.case_studies())
    for ratio in ratios.select_related("case_study", "variant__workload", "numerator", "denominator"):
        names = f"{ratio.numerator or 'native'} / {ratio.denominator}"
        where = f"{ratio.variant.workload.name}, {', '.join(map(str, ratio.vm_counts))} VMs"
        lines.append(
            EvidenceLine("Printed ratio", f"{names}: {ratio.printed}", where, ratio.source, ratio.case_study.slug, "")
        )
    findings = (
        visible.findings().filter(pk__in=first("findings")).select_related("variant__workload", "guest_fs", "host_fs")
    )
    for finding in findings.prefetch_related(Prefetch("case_studies", visible.case_studies())):
        pair = f"{finding.guest_fs} on {finding.host_fs}"
        places = f"{finding.get_text_list_display()}{', outstanding' if finding.is_outstanding else ''}"
        text = f"{pair}: {places} (text), {finding.get_table_list_display()} (table)"
        source = f"{finding.text_source}; {finding.table_source}"
        case_study = next((study.slug for study in finding.case_studies.all()), "")
        lines.append(EvidenceLine("List", text, finding.variant.workload.name, source, case_study, "findings"))
    return lines


def _observation(value: Measurement | DerivedValue, kind: str, text: str, anchor: str) -> EvidenceLine:
    where = [str(value.configuration), value.variant.workload.name]
    where += [value.operation] if value.operation != "mixed" else []
    where += [f"{value.block_size_bytes // 1024} KiB"] if value.block_size_bytes else []
    where += [f"{value.vm_count} VM{'' if value.vm_count == 1 else 's'}"] if value.vm_count else []
    slug = value.configuration.case_study.slug
    return EvidenceLine(kind, text, ", ".join(where), value.source, slug, anchor)
