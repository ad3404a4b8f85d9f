"""Judges every claim and hypothesis by the published facts, and keeps the result."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db.models import Min, QuerySet

from experiments import visible
from experiments.claim_conditions import CheckError, parse_checks
from experiments.models import (
    Claim,
)
from kdb import __version__, jobs
from modelling.evidence import counts
from modelling.evidence.keeping import keep
from modelling.models import ClaimVerdict, HypothesisScore

from . import hypotheses
from .facts import PublishedFacts
from .gather import read_facts
from .judging import SCOPES, Verdict, evaluate

logger = logging.getLogger(__name__)

JOB = "recompute_claims"
_AS_OF_SECONDS = 3600  # that verdicts of an earlier revision stay in memory
KEPT = 500  # comparisons and ids a row keeps; its counts are of all
KINDS_OF_EVIDENCE = {
    "measurement": "measurements",
    "derived": "derived_values",
    "ratio": "printed_ratios",
    "finding": "findings",
}


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
    found: Any = caches["verdicts"].get_or_set(key, lambda: _judged_at(revision), _AS_OF_SECONDS)
    return found


def _judged_at(revision: int) -> dict[tuple[int, str], ClaimVerdict]:
    found = {}
    for row in _verdicts(read_facts(revision), visible.claims(revision)):
        row.revision = revision
        found[row.claim_id, row.scope] = row
    return found


# From facts to rows


def _verdicts(facts: PublishedFacts, claims: QuerySet[Claim]) -> Iterator[ClaimVerdict]:
    claims = claims.select_related("publication").prefetch_related("case_studies", "publication__case_studies")
    parts: dict[tuple[Any, ...], PublishedFacts] = {}

    def part(scope: str, slugs: frozenset[str]) -> PublishedFacts:
        if (scope, slugs) not in parts:
            parts[scope, slugs] = facts.only(slugs) if scope == "own" else facts.without(slugs)
        return parts[scope, slugs]

    for claim in claims:
        own = {row.slug for row in claim.case_studies.all() or claim.publication.case_studies.all()}
        for scope in SCOPES:
            judged = _judged(claim, scope, own, part)
            # by its key alone: what is kept in memory (as_of) holds no claim
            yield ClaimVerdict(claim_id=claim.pk, scope=scope, verdict=judged.verdict, **_columns(judged))


def _judged(claim: Claim, scope: str, own: set[str], part: Callable[[str, frozenset[str]], PublishedFacts]) -> Verdict:
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


def _scores(facts: PublishedFacts) -> Iterator[HypothesisScore]:
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


def _store(model: type[ClaimVerdict] | type[HypothesisScore], key: tuple[str, ...], rows: list[Any]) -> int:
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
