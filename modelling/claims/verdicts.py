"""Judge claims and hypotheses by the published facts, and store the result."""

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db.models import Min, QuerySet

from experiments.models import Claim
from experiments.records import visible
from experiments.rules.claim_conditions import CheckError, Condition, Untestable, parse_checks, workloads_of
from kdb import __version__
from kdb.cost import budget
from kdb.jobs import jobs
from modelling.evidence import counts
from modelling.evidence.storage import store_if_current
from modelling.models import ClaimVerdict, HypothesisScore

from . import gather, hypotheses
from .evaluation import Evaluation, evaluate
from .facts import PublishedFacts

logger = logging.getLogger(__name__)

JOB = "recompute_claims"
_AS_OF_SECONDS = 3600  # for which verdicts of an earlier revision are cached
_RULES_DIGITS = 16  # leading digits of a digest that depend on the rules alone
MOST_STORED = 500  # comparisons and ids in a row; its counts are of all
KINDS_OF_EVIDENCE = {
    "measurement": "measurements",
    "derived": "derived_values",
    "ratio": "printed_ratios",
    "finding": "findings",
}


@dataclass(frozen=True)
class _Question:
    """A claim to be judged by its own paper or by everybody else.

    condition : or the error in its check
    about : the case studies whose facts decide it; for scope OTHERS those whose facts do not
    """

    claim: Claim
    scope: ClaimVerdict.Scope
    condition: Condition | Untestable | CheckError
    about: frozenset[str]

    @property
    def is_open(self) -> bool:
        return self.scope == ClaimVerdict.Scope.OTHERS

    def digest(self, facts: PublishedFacts) -> str:
        """Return a digest of the rules, the condition and all facts that can change the verdict."""
        if isinstance(self.condition, CheckError | Untestable):
            return _digest(self.condition)
        evidence = facts.digest(self.about, workloads_of(self.condition), others=self.is_open)
        return _digest(self.condition, _labels_in(self.claim.checks, facts), evidence)


def recompute() -> None:
    """Judge each claim and each hypothesis whose evidence or rules changed, and store the verdicts.

    Nothing is stored if something was published meanwhile, because that enqueues another run.
    """
    revision, facts = counts.revision(), gather.read_facts()
    rows = {(row.claim_id, row.scope): row for row in ClaimVerdict.objects.only("claim", "scope", "asked")}
    changed, unchanged = [], []
    for question in _questions(visible.claims()):
        digest, row = question.digest(facts), rows.get((question.claim.pk, question.scope.value))
        if row and row.asked == digest:
            unchanged.append(row.pk)
        else:
            changed.append((question, digest))
    verdicts = list(_judge(changed, facts, revision))
    digests = {study.source: _score_digest(study) for study in facts.studies}
    scores = {row.pk: row for row in HypothesisScore.objects.only("source", "asked")}
    unchanged_scores = [pk for pk, row in scores.items() if digests.get(row.source) == row.asked]
    known_sources = {scores[pk].source for pk in unchanged_scores}
    new_scores = list(_score(facts, {s: digest for s, digest in digests.items() if s not in known_sources}, revision))

    def store() -> None:
        ClaimVerdict.objects.exclude(pk__in=unchanged).delete()
        ClaimVerdict.objects.update(revision=revision)
        ClaimVerdict.objects.bulk_create(verdicts)
        HypothesisScore.objects.exclude(pk__in=unchanged_scores).delete()
        HypothesisScore.objects.update(revision=revision)
        HypothesisScore.objects.bulk_create(new_scores)

    if not store_if_current(revision, store, wait=True):
        logger.info("a publication came in between revision=%s", revision)
    logger.info("judged claims revision=%s anew=%s unchanged=%s", revision, len(verdicts), len(unchanged))


def renew() -> None:
    """Judge again in the background, or at once if there are no verdicts to show meanwhile."""
    if ClaimVerdict.objects.exists():
        jobs.enqueue_once(JOB)
    elif visible.claims().exists():
        recompute()


def reconcile() -> None:
    """Enqueue the job again if verdicts are out of date, in case an earlier job was lost."""
    oldest = ClaimVerdict.objects.aggregate(first=Min("revision"))["first"]
    other_rules = ClaimVerdict.objects.exclude(asked__startswith=_rules())
    if oldest is not None and (oldest < counts.revision() or other_rules.exists()):
        jobs.enqueue_with_backoff(JOB)


def verdicts_as_of(revision: int) -> dict[tuple[int, str], ClaimVerdict]:
    """Judge by the evidence of an earlier revision: (claim, scope) to its verdict, cached.

    Claims of a later publication are left out.
    """

    def judge() -> dict[tuple[int, str], ClaimVerdict]:
        budget.check(ahead=1.0)
        facts, questions = gather.read_facts(revision), _questions(visible.claims(revision))
        rows = _judge(((question, "") for question in questions), facts, revision)
        return {(row.claim_id, row.scope): row for row in rows}

    key = f"modelling.claims.judging:{__version__}:{revision}"
    verdicts: Any = caches["verdicts"].get_or_set(key, judge, _AS_OF_SECONDS)
    return verdicts


def _questions(claims: QuerySet[Claim]) -> Iterator[_Question]:
    """Yield two questions a claim: of its own case studies, and of all others."""
    for claim in claims.select_related("publication").prefetch_related("case_studies", "publication__case_studies"):
        paper = frozenset(row.slug for row in claim.case_studies.all() or claim.publication.case_studies.all())
        own, others = ClaimVerdict.Scope.OWN, ClaimVerdict.Scope.OTHERS
        try:
            checks = parse_checks(claim.checks)
        except CheckError as error:
            yield from (_Question(claim, scope, error, paper) for scope in ClaimVerdict.Scope)
            continue
        about = checks.case_studies or paper
        yield _Question(claim, own, checks.own, about)
        yield _Question(claim, others, checks.others, about | paper)


def _judge(questions: Iterable[tuple[_Question, str]], facts: PublishedFacts, revision: int) -> Iterator[ClaimVerdict]:
    """Yield the verdict on each question. questions : with their digests"""
    facts_of = lru_cache(maxsize=8)(lambda case_studies, others: facts.of_studies(case_studies, others=others))
    for question, digest in questions:
        try:
            if isinstance(question.condition, CheckError):
                raise question.condition
            judged = evaluate(question.condition, facts_of(question.about, question.is_open), is_open=question.is_open)
        except CheckError as error:
            logger.warning("undecidable check claim=%s scope=%s reason=%s", question.claim.code, question.scope, error)
            judged = Evaluation("untestable", f"Its check cannot be decided: {error}.")
        # the key of the claim alone, so that cached verdicts (verdicts_as_of) hold no claims
        key = {"claim_id": question.claim.pk, "scope": question.scope.value}
        yield ClaimVerdict(**key, verdict=judged.verdict, **_columns(judged, revision, digest))


def _score(facts: PublishedFacts, digests: Mapping[str, str], revision: int) -> Iterator[HypothesisScore]:
    """Yield the scores by these sources. digests : of all facts of each"""
    studies = facts.with_spread(settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION).studies
    for code, source, judged in hypotheses.scores(study for study in studies if study.source in digests):
        yield HypothesisScore(code=code, source=source, **_columns(judged, revision, digests[source]))


def _columns(judged: Evaluation, revision: int, digest: str) -> dict[str, Any]:
    evidence: dict[str, list[int]] = {name: [] for name in KINDS_OF_EVIDENCE.values()}
    for name in judged.evidence[:MOST_STORED]:
        kind, _, pk = name.partition(":")
        evidence[KINDS_OF_EVIDENCE[kind]].append(int(pk))
    return {
        "held": judged.held,
        "failed": judged.failed,
        "undecided": judged.undecided,
        "reason": judged.reason,
        "basis": judged.basis,
        "evidence": {name: sorted(ids) for name, ids in evidence.items()},
        "comparisons": [[c.state, c.say()] for c in judged.comparisons[:MOST_STORED]],
        "revision": revision,
        "asked": digest,
    }


def _score_digest(study: PublishedFacts) -> str:
    """Return a digest of the rules and of all facts of one source."""
    conditions = [hypothesis.condition for hypothesis in hypotheses.HYPOTHESES]
    return _digest(_labels_in(conditions, study), study.digest((), None, others=True))


def _labels_in(condition: Any, facts: PublishedFacts) -> list[str | None]:
    """Return the labels of all names in a condition, as the reason of the verdict shows them."""
    names = re.findall(r'"([^"]+)"', json.dumps(condition))
    return [facts.labels.get(slug) for name in names for slug in (name, *name.split("-on-"))]


def _digest(*parts: object) -> str:
    return (_rules() + hashlib.sha256(repr(parts).encode()).hexdigest())[:64]


def _rules() -> str:
    """Return the leading digits of all digests made by the current rules."""
    rules = [__version__, settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION]
    return hashlib.sha256(json.dumps(rules).encode()).hexdigest()[:_RULES_DIGITS]
