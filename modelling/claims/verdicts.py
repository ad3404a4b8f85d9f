"""Judges claims and hypotheses by the published facts, and keeps the result."""

import hashlib
import json
import logging
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db.models import Min

from experiments import visible
from experiments.claim_conditions import CheckError, parse_checks
from kdb import __version__
from kdb.cost import budget
from kdb.jobs import jobs
from modelling.evidence import counts
from modelling.evidence.keeping import keep
from modelling.models import ClaimVerdict, HypothesisScore

from . import gather, hypotheses
from .evaluation import Verdict, evaluate
from .facts import PublishedFacts

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


def recompute() -> None:
    """Judge every claim and hypothesis, and keep the verdicts.

    Nothing is kept where a publication came in between: it asks for another round itself.
    """
    revision, facts = counts.revision(), gather.read_facts()
    verdicts = list(_verdicts(facts, revision))
    scores = list(_scores(facts, revision))

    def store() -> None:
        ClaimVerdict.objects.all().delete()
        ClaimVerdict.objects.bulk_create(verdicts)
        HypothesisScore.objects.all().delete()
        HypothesisScore.objects.bulk_create(scores)

    if not keep(revision, store, wait=True):
        logger.info("a publication came in between revision=%s", revision)
    logger.info("judged claims and hypotheses revision=%s verdicts=%s", revision, len(verdicts))


def renew() -> None:
    """Judge anew in the background; at once if there are no verdicts to show meanwhile."""
    if ClaimVerdict.objects.exists():
        jobs.enqueue_once(JOB)
    elif visible.claims().exists():
        recompute()


def look_after() -> None:
    """Ask again for verdicts that are behind, whatever became of the job that was to renew them."""
    oldest = ClaimVerdict.objects.aggregate(first=Min("revision"))["first"]
    other_rules = ClaimVerdict.objects.exclude(asked=_rules())
    if oldest is not None and (oldest < counts.revision() or other_rules.exists()):
        jobs.enqueue_with_backoff(JOB)


def as_of(revision: int) -> dict[tuple[int, str], ClaimVerdict]:
    """Judge again by what counted at an earlier revision: (claim, scope) to its verdict, kept in memory for a while.

    Claims that came with a later publication are not among them.
    """

    def judged_at() -> dict[tuple[int, str], ClaimVerdict]:
        budget.check(ahead=1.0)
        return {(row.claim_id, row.scope): row for row in _verdicts(gather.read_facts(revision), revision, revision)}

    key = f"modelling.claims.judging:{__version__}:{revision}"
    judged: Any = caches["verdicts"].get_or_set(key, judged_at, _AS_OF_SECONDS)
    return judged


def _rules() -> str:
    """Return a digest of the rules that all verdicts depend on besides claims and facts."""
    rules = [__version__, settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION]
    return hashlib.sha256(json.dumps(rules).encode()).hexdigest()


def _verdicts(facts: PublishedFacts, revision: int, as_of: int | None = None) -> Iterator[ClaimVerdict]:
    """Judge each claim by the facts of its own case studies, and by all others."""
    facts_of = lru_cache(maxsize=8)(lambda case_studies, others: facts.of(case_studies, others=others))
    claims = visible.claims() if as_of is None else visible.claims(as_of)
    for claim in claims.select_related("publication").prefetch_related("case_studies", "publication__case_studies"):
        paper = frozenset(row.slug for row in claim.case_studies.all() or claim.publication.case_studies.all())
        for scope in ClaimVerdict.Scope:
            try:
                checks = parse_checks(claim.checks)
                about = checks.case_studies or paper
                if scope == ClaimVerdict.Scope.OWN:
                    judged = evaluate(checks.own, facts_of(about, False))
                else:
                    judged = evaluate(checks.others, facts_of(about | paper, True), is_open=True)
            except CheckError as error:
                logger.warning("check without a verdict claim=%s scope=%s reason=%s", claim.code, scope.value, error)
                judged = Verdict("untestable", f"Its check cannot be decided: {error}.")
            # the claim by its key alone, so that verdicts kept in memory (as_of) hold no claims
            key = {"claim_id": claim.pk, "scope": scope.value}
            yield ClaimVerdict(**key, verdict=judged.verdict, **_columns(judged, revision))


def _scores(facts: PublishedFacts, revision: int) -> list[HypothesisScore]:
    scores = hypotheses.scores(facts.with_spread(settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION))
    rows = {
        (code, source): HypothesisScore(code=code, source=source, **_columns(judged, revision))
        for code, source, judged in scores
    }
    return list(rows.values())


def _columns(judged: Verdict, revision: int) -> dict[str, Any]:
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
        "comparisons": [[c.state, c.say()] for c in judged.comparisons[:KEPT]],
        "revision": revision,
        "asked": _rules(),
    }
