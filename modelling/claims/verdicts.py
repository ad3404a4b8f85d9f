"""Judges claims and hypotheses by the published facts, and keeps the result."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, TypeGuard

from django.conf import settings
from django.core.cache import caches
from django.db.models import Min, Q, QuerySet

from experiments import visible
from experiments.claim_conditions import CheckError, Condition, Untestable, is_shallow, parse_checks
from experiments.models import CaseStudy, Claim
from kdb import __version__
from kdb.cost import budget
from kdb.work import jobs
from modelling.evidence import counts
from modelling.evidence.keeping import keep
from modelling.models import ClaimVerdict, HypothesisScore

from . import gather, hypotheses
from .facts import PublishedFacts
from .judging import SCOPES, Verdict, evaluate
from .needs import NOTHING, Needs, needs_of

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


@dataclass(frozen=True)
class _Case:
    """One scope of a claim, on its way to a verdict."""

    claim: int
    scope: str
    known: frozenset[str]  # case studies: the only ones to count in its own scope, in the other all but these
    asked: str
    condition: Condition | Untestable | None = None
    needs: Needs = NOTHING  # of everybody else's facts
    fault: Verdict | None = None  # the verdict where no condition can be read

    @property
    def is_asked(self) -> bool:
        """Tell whether facts decide it."""
        return is_condition(self.condition)


def is_condition(check: Condition | Untestable | None) -> TypeGuard[Condition]:
    return not isinstance(check, Untestable | None)


def recompute(*, everything: bool = False) -> int:
    """Judge anew what publications since the last time can have changed; returns the number of rows that changed.

    everything : judge every claim and hypothesis

    Nothing is kept where a publication came in between: it asks for another round itself.
    """
    revision = counts.revision()
    cases = {(case.claim, case.scope): case for case in _cases(visible.claims())}
    before = {
        (claim, scope): (asked, at)
        for claim, scope, asked, at in ClaimVerdict.objects.values_list("claim_id", "scope", "asked", "revision")
    }
    scored = set(HypothesisScore.objects.values_list("asked", "revision"))
    is_first = everything or not before or {asked for asked, _ in scored} != {_rules()}
    counted = gather.counted()
    if is_first:
        due, anew = list(cases.values()), counted
    else:
        since = min(at for _, at in [*before.values(), *scored])
        came_or_went = Q(published_revision__gt=since) | Q(retracted_revision__gt=since)
        anew = CaseStudy.objects.filter(came_or_went | Q(rows_ended_revision__gt=since))
        touched = _touched(cases.values(), anew)
        due = [case for key, case in cases.items() if key in touched or before.get(key, ("",))[0] != case.asked]
    verdicts = list(_verdicts(due, counted))
    sources, scores = _scores(anew, counted)
    for row in (*verdicts, *scores):
        row.revision = revision
    changed = 0

    def store() -> None:
        nonlocal changed
        judged = {(case.claim, case.scope) for case in due}
        gone = [
            pk for pk, *key in ClaimVerdict.objects.values_list("pk", "claim_id", "scope") if tuple(key) not in cases
        ]
        changed = _store(ClaimVerdict, ("claim_id", "scope"), verdicts, lambda key: key in judged)
        changed += _store(HypothesisScore, ("code", "source"), scores, lambda key: is_first or key[1] in sources)
        ClaimVerdict.objects.filter(pk__in=gone).delete()
        for model in (ClaimVerdict, HypothesisScore):
            model._default_manager.exclude(revision=revision).update(revision=revision)

    if not keep(revision, store, wait=True):
        logger.info("a publication came in between revision=%s", revision)
    logger.info("judged claims and hypotheses revision=%s judged=%s changed=%s", revision, len(due), changed)
    return changed


def renew() -> None:
    """Judge anew in the background; at once if there are no verdicts to show meanwhile."""
    if not ClaimVerdict.objects.exists():
        if visible.claims().exists():
            recompute()
    else:
        jobs.enqueue_once(JOB)


def look_after() -> None:
    """Ask again for verdicts that are behind, whatever became of the job that was to renew them."""
    oldest = ClaimVerdict.objects.aggregate(first=Min("revision"))["first"]
    other_rules = HypothesisScore.objects.exclude(asked=_rules())
    if oldest is not None and (oldest < counts.revision() or other_rules.exists()):
        jobs.enqueue_for_leftovers(JOB)


def as_of(revision: int) -> dict[tuple[int, str], ClaimVerdict]:
    """Judge again by what counted at an earlier revision: (claim, scope) to its verdict, kept in memory for a while.

    Claims that came with a later publication are not among them.
    """
    key = f"modelling.claims.judging:{__version__}:{revision}"
    judged: Any = caches["verdicts"].get_or_set(key, lambda: _judged_at(revision), _AS_OF_SECONDS)
    return judged


def _judged_at(revision: int) -> dict[tuple[int, str], ClaimVerdict]:
    budget.look(ahead=1.0)
    judged = {}
    for row in _verdicts(_cases(visible.claims(revision)), gather.counted(revision), revision):
        row.revision = revision
        judged[row.claim_id, row.scope] = row
    return judged


# What is asked


def _rules() -> str:
    """Return a digest of the rules that all verdicts depend on besides the facts."""
    return _digest([__version__, settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _cases(claims: QuerySet[Claim]) -> list[_Case]:
    """Return each claim in each scope, as it is asked today."""
    rules, names = _rules(), gather.labels()
    cases = []
    for claim in claims.select_related("publication").prefetch_related("case_studies", "publication__case_studies"):
        paper = {row.slug for row in claim.case_studies.all() or claim.publication.case_studies.all()}
        text = json.dumps(claim.checks) if is_shallow(claim.checks) else ""
        named = sorted((slug, name) for slug, name in names.items() if f'"{slug}"' in text)
        asked = _digest([rules, text, sorted(paper), named])
        cases += [_case(claim, scope, frozenset(paper), asked) for scope in SCOPES]
    return cases


def _case(claim: Claim, scope: str, paper: frozenset[str], asked: str) -> _Case:
    """Return one scope of a claim as a case. `paper` are the case studies of the claim's paper."""
    case = _Case(claim.pk, scope, paper, asked)
    try:
        checks = parse_checks(claim.checks)
    except CheckError as error:
        return replace(case, fault=_undecided(claim.code, scope, error))
    if checks is None:
        return replace(case, fault=Verdict("untestable", "Nobody has written down yet what would decide it."))
    named = paper if checks.case_studies is None else checks.case_studies
    if scope == "own":
        return replace(case, condition=checks.own, known=named)
    needs = needs_of(checks.others) if is_condition(checks.others) else NOTHING
    return replace(case, condition=checks.others, known=paper | named, needs=needs)


def _undecided(claim: object, scope: str, error: CheckError) -> Verdict:
    logger.warning("check without a verdict claim=%s scope=%s reason=%s", claim, scope, error)
    return Verdict("untestable", f"Its check cannot be decided: {error}.")


# From facts to rows


def _touched(cases: Iterable[_Case], case_studies: QuerySet[CaseStudy]) -> set[tuple[int, str]]:
    """Return claim and scope of the rows that may look up facts of these case studies, counting or not."""
    slugs = set(case_studies.values_list("slug", flat=True))
    touched = {(case.claim, case.scope) for case in cases if case.scope == "own" and not slugs.isdisjoint(case.known)}
    others = {(case.claim, case.scope): case for case in cases if case.scope == "others" and case.needs != NOTHING}
    for facts in chain(gather.read_studies(case_studies), [gather.read_lists(case_studies)]):
        reached: dict[Needs, PublishedFacts] = {}
        for key, case in others.items():
            if key not in touched:
                if case.needs not in reached:
                    reached[case.needs] = case.needs.of(facts)
                if not reached[case.needs].without(case.known).is_empty:
                    touched.add(key)
    return touched


def _verdicts(
    cases: Iterable[_Case], case_studies: QuerySet[CaseStudy], as_of: int | None = None
) -> Iterator[ClaimVerdict]:
    """Judge by the facts of these case studies; keep in memory only those that cases with equal questions need.

    as_of : by the rows that counted at this knowledge revision
    """
    together: dict[Any, list[_Case]] = {}
    for case in cases:
        key = case.known if case.scope == "own" else tuple(map(case.needs.values, gather.READ_BY))
        together.setdefault((case.scope, case.is_asked, key), []).append(case)
    for (scope, is_asked, _), alike in together.items():
        facts = PublishedFacts()
        if is_asked and scope == "own":
            facts = gather.read_facts(case_studies.filter(slug__in=alike[0].known), as_of=as_of)
        elif is_asked:
            facts = gather.read_facts(case_studies, reduce(Needs.__or__, (case.needs for case in alike)), as_of)
        parts: dict[Any, PublishedFacts] = {}
        for case in alike:
            part = case.needs, case.known
            if part not in parts:
                parts[part] = facts if scope == "own" else case.needs.of(facts.without(case.known))
            judged = case.fault or _judged(case, parts[part])
            # the claim by its key alone, so that verdicts kept in memory (as_of) hold no claims
            yield ClaimVerdict(
                claim_id=case.claim, scope=scope, asked=case.asked, verdict=judged.verdict, **_columns(judged)
            )


def _judged(case: _Case, facts: PublishedFacts) -> Verdict:
    try:
        return evaluate(case.condition, facts, is_open=case.scope == "others")
    except CheckError as error:
        return _undecided(case.claim, case.scope, error)


def _scores(anew: QuerySet[CaseStudy], counted: QuerySet[CaseStudy]) -> tuple[set[str], list[HypothesisScore]]:
    """Return the sources that these case studies affect, and the scores of those that count."""
    sources = gather.sources(anew)
    studies = gather.read_studies(counted.filter(slug__in=sources))
    variation, rules = settings.KDB_DEFAULT_COEFFICIENT_OF_VARIATION, _rules()
    rows = {}
    for facts in chain(studies, [gather.read_lists(gather.with_lists_of(sources, counted))]):
        for code, source, judged in hypotheses.scores(facts.with_spread(variation)):
            if source in sources:
                rows[code, source] = HypothesisScore(code=code, source=source, asked=rules, **_columns(judged))
    return sources, list(rows.values())


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


def _store(
    model: type[ClaimVerdict] | type[HypothesisScore],
    key: tuple[str, ...],
    rows: list[Any],
    is_judged: Callable[[tuple[Any, ...]], bool],
) -> int:
    """Store the verdicts in these rows; return how many rows are new or changed."""
    names = [field.attname for field in model._meta.concrete_fields if not field.primary_key]
    columns = [name for name in names if name not in ("revision", "asked")]
    due = [pk for pk, *at in model.objects.values_list("pk", *key) if is_judged(tuple(at))]
    stored = {tuple(getattr(row, name) for name in key): row for row in model.objects.filter(pk__in=due)}
    changed = 0
    for row in rows:
        before = stored.pop(tuple(getattr(row, name) for name in key), None)
        changed += before is None or any(getattr(before, name) != getattr(row, name) for name in columns)
    model.objects.filter(pk__in=[row.pk for row in stored.values()]).delete()
    model.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=[name.removesuffix("_id") for name in key],
        update_fields=[name for name in names if name not in key],
    )
    return changed
