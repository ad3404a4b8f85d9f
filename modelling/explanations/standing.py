"""Says how the answer stands: its evidence, whether model and evidence agree, and what is missing. No Django."""

from collections.abc import Iterator

from modelling.evidence.words import capital, column, listed, load, value

from .content import MEASURED, MODEL, MOST_SHOWN, OPEN, STATED, HeldAgainst, Open, Reference, Sources, Step
from .facts import ExplanationFacts


def evidence(facts: ExplanationFacts) -> Iterator[Step]:
    """Name the case studies behind the comparison, and where the claims made about the workload there are judged."""
    studies = list(facts.case_studies)
    if not studies:
        return
    graded = [f"{side.label} has grade {side.grade}" for side in (facts.a, facts.b) if side.grade]
    text = f"The comparison rests on {facts.named(studies)}{f'; {listed(graded)}' if graded else ''}."
    yield Step(
        "evidence",
        "What it rests on",
        MEASURED if facts.contrast else STATED,
        text,
        Sources(dict(facts.case_studies), {slug: dict(counts) for slug, counts in facts.claims.items()}),
        evidence=(
            *(Reference("case study", slug, facts.case_studies[slug]) for slug in studies[:MOST_SHOWN]),
            *(Reference("claims", slug, f"Claims of {facts.publications.get(slug, slug)}") for slug in facts.claims),
        ),
    )


def agreement(facts: ExplanationFacts) -> Iterator[Step]:
    """Say plainly whether the model's expectation and the evidence point the same way."""
    expectation = facts.expectation
    if expectation is None or expectation.sign is None:
        return
    seen = facts.contrast.sign if facts.contrast is not None else facts.list_sign
    known = facts.contrast is not None or bool(facts.tiers)
    a, b = facts.a.label, facts.b.label
    ahead = {1: f"{a} ahead of {b}", -1: f"{b} ahead of {a}", 0: "no difference"}
    expected = f"The mechanisms let one expect {ahead[expectation.sign]}"
    if not known:
        verdict, text = "untested", f"{expected}; no evidence tests this yet."
    elif expectation.sign == seen:
        verdict, text = "agrees", f"{expected}, and the evidence agrees."
    elif seen == 0:
        verdict, text = "undecided", f"{expected}; the evidence is not sharp enough to confirm or contradict it."
    else:
        verdict = "contradicted"
        text = f"{expected}, but the evidence contradicts it and puts {ahead[seen]}: the recommendation follows that."
    if differ := [side for side in ("hypervisor",) if facts.a.parts.get(side) != facts.b.parts.get(side)]:
        text += f" The {listed(column(name) for name in differ)} differs as well, on which the mechanisms say nothing."
    yield Step(
        "agreement",
        "Whether model and evidence agree",
        MODEL,
        text,
        HeldAgainst(verdict, expectation.sign, seen if known else None),
        source="docs/models/mechanisms.md",
    )


def open_questions(facts: ExplanationFacts) -> Iterator[Step]:
    """Say what would settle what is still open: the missing measurements, named."""
    questions = list(_missing(facts))
    if not questions:
        return
    yield Step(
        "open",
        "What would settle it",
        OPEN,
        " ".join(questions),
        Open(tuple(questions)),
    )


def _missing(facts: ExplanationFacts) -> Iterator[str]:
    a, b = facts.a.label, facts.b.label
    if facts.contrast is None and not facts.tiers:
        yield (
            f"One case study that measures {a} and {b} with {load(facts.workload_label)}, same benchmark version and "
            "machine size, would give a first answer."
        )
    elif facts.contrast is None:
        yield f"Throughput figures for {a} and {b}, where now only lists exist, would give the distance between them."
    elif not facts.groups:
        yield f"A case study that measures {a} and {b} side by side would replace the indirect comparison."
    elif facts.contrast.sign == 0:
        yield (
            f"The interval covers one: more repetitions of {a} and {b}, with their spread published, would decide "
            "whether there is a difference."
        )
    studies = {group.case_study for group in facts.groups}
    if len(studies) == 1:
        yield (
            f"Only {facts.named(studies)} measured the two side by side; a second laboratory would show whether "
            "the difference carries over."
        )
    for name in facts.comes_along:
        if facts.groups and facts.a.parts.get(name) != facts.b.parts.get(name):
            mine = value(facts.names, name, facts.a.parts.get(name))
            other = value(facts.names, name, facts.b.parts.get(name))
            yield (
                f"{capital(column(name))} and {column(facts.axis_column)} changed together ({mine} with {a}, {other} "
                f"with {b}); measuring both with the same {column(name)} would separate them."
            )
