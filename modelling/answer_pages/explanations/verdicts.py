"""Write the steps on caches and on scaling with machines. No Django."""

from collections.abc import Callable, Iterator, Mapping

from modelling.evidence.words import listed
from modelling.workloads.scaling import Scaling

from .content import MEASURED, Reference, Step
from .facts import ExplanationFacts, Placed

_MOST = 2  # verdicts of one side in the text; the data has all


def cache(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step that compares throughput with the physical limit of the storage."""
    source = "P0, discussion of each workload; docs/models/cache-and-scaling.md"
    sides = (facts.a.cache, facts.b.cache)
    title = "Whether caches answer instead of the disk"
    yield from _step("cache", title, sides, lambda p: p.sentence, source, facts.sources)


def scaling(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on how throughput changes with the number of virtual machines."""
    source = "docs/models/cache-and-scaling.md"
    sides = (facts.a.scaling, facts.b.scaling)
    names = facts.sources
    title = "What more virtual machines do"
    yield from _step("scaling", title, sides, lambda p: _scaling(p, names[p.case_study]), source, names)


def _scaling(placed: Placed, study: str) -> str:
    """Write the change with each machine, and its meaning under each reading of the numbers."""
    scaling = placed.verdict
    assert isinstance(scaling, Scaling)
    change = f"{'falls' if scaling.fall.value >= 0 else 'rises'} by {abs(scaling.fall.value) * 100:.0f} %"
    scopes = {"aggregate": "the sum of all machines", "per-vm": "the share of one"}
    if len(scaling.readings) == 1:
        read = f"all machines together: {scaling.readings[0].name}"
    elif len({reading.name for reading in scaling.readings}) == 1:
        read = f"{scaling.readings[0].name}, be that the sum of all machines or the share of one"
    else:
        read = listed(f"{reading.name} if that is {scopes[reading.scope]}" for reading in scaling.readings)
    return (
        f"In {study}, {placed.what}: from {scaling.vm_counts[0]} to {scaling.vm_counts[-1]} "
        f"virtual machines the printed throughput {change} with each machine added ({read})."
    )


def _step(
    kind: str,
    title: str,
    sides: tuple[tuple[Placed, ...], tuple[Placed, ...]],
    text: Callable[[Placed], str],
    source: str,
    names: Mapping[str, str],
) -> Iterator[Step]:
    both = {placed.case_study for placed in sides[0]} & {placed.case_study for placed in sides[1]}
    of_both = [[placed for placed in side if not both or placed.case_study in both] for side in sides]
    shown = [placed for side in of_both for placed in side[:_MOST]]
    if not shown:
        return
    yield Step(
        kind,
        title,
        MEASURED,
        " ".join(dict.fromkeys(text(placed) for placed in shown)),
        {
            name: [
                {"case_study": p.case_study, "of": p.what, "verdict": p.verdict.name, "sentence": p.sentence}
                for p in side
            ]
            for name, side in zip("ab", sides, strict=True)
        },
        evidence=tuple(
            dict.fromkeys(
                Reference("case study", p.case_study, f"{names[p.case_study]}, {p.source}", p.source) for p in shown
            )
        ),
        source=source,
    )
