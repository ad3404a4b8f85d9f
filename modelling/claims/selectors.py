"""Counts what was claimed of something by its verdicts, as other features ask for it."""

from django.db.models import Count, Exists, OuterRef

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
    rows = claims.filter(verdicts__scope=own).order_by("publication__slug", "verdicts__verdict")
    tally: dict[str, dict[str, int]] = {}
    if as_of is None:
        numbers = rows.values_list("publication__slug", "verdicts__verdict").annotate(number=Count("pk"))
        for publication, verdict, number in numbers:
            tally.setdefault(publication, {})[verdict] = number
        return tally
    then = verdicts.as_of(as_of)
    for pk, publication in claims.order_by("publication__slug", "code").values_list("pk", "publication__slug"):
        if (pk, own) in then:
            counts = tally.setdefault(publication, {})
            verdict = then[pk, own].verdict
            counts[verdict] = counts.get(verdict, 0) + 1
    return tally
