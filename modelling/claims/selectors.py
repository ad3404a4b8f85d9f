"""Count claims by verdict, for other features."""

from collections import Counter

from django.db.models import Exists, OuterRef

from experiments.models import CaseStudy, Claim
from modelling.models import ClaimVerdict

from . import verdicts


def verdicts_on(workload: str, publications: set[int | None], as_of: int | None) -> dict[str, dict[str, int]]:
    """Return publication to {verdict: number of claims} about the workload, each judged by its own paper."""
    counted = CaseStudy.objects.published() if as_of is None else CaseStudy.objects.known_at(as_of)
    claims = Claim.objects.filter(
        Exists(counted.filter(claims=OuterRef("pk"))), workloads__slug=workload, publication__in=publications - {None}
    )
    own = ClaimVerdict.Scope.OWN
    kinds = dict(ClaimVerdict.objects.filter(scope=own, claim__in=claims).values_list("claim", "verdict"))
    if as_of is not None:
        kinds = {pk: row.verdict for (pk, scope), row in verdicts.verdicts_as_of(as_of).items() if scope == own}
    tally: dict[str, Counter[str]] = {}
    for pk, publication in claims.order_by("publication__slug").values_list("pk", "publication__slug"):
        if pk in kinds:
            tally.setdefault(publication, Counter())[kinds[pk]] += 1
    return {publication: dict(sorted(numbers.items())) for publication, numbers in tally.items()}
