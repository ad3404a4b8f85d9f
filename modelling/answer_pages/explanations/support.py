"""Write the steps on evidence, agreement with the model, and what is missing. No Django."""

from collections.abc import Iterator

from modelling.evidence.words import capital, column, counted, listed, load, some, value

from .content import MEASURED, MODEL, MOST_NAMED, MOST_SHOWN, OPEN, STATED, Reference, Step
from .facts import ExplanationFacts

_VERDICTS = ("supported", "open", "partly", "contradicted", "untestable")


def evidence(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on the case studies behind the comparison, and their claims about the workload."""
    studies = list(facts.case_studies)
    if not studies:
        return
    graded = [f"{side.label} has grade {side.grade}" for side in (facts.a, facts.b) if side.grade]
    text = (
        f"The comparison rests on {counted(len(studies), 'case study', 'case studies')} "
        f"({some([facts.sources[slug] for slug in studies], MOST_NAMED)})"
        + (f"; {listed(graded)}" if graded else "")
        + "."
    )
    if facts.claims:
        made = [
            f"{facts.publications[publication]} made {counted(sum(counts.values()), 'claim')} about this workload, "
            "of which "
            + listed(
                f"{counts[verdict]} {_verdict_words(verdict, counts[verdict])}"
                for verdict in _VERDICTS
                if counts.get(verdict)
            )
            for publication, counts in facts.claims.items()
        ]
        text += f" {'; '.join(made)}."
    yield Step(
        "evidence",
        "What it rests on",
        MEASURED if facts.contrast else STATED,
        text,
        {"case_studies": facts.case_studies, "claims": facts.claims},
        evidence=(
            *(Reference("case study", slug, facts.case_studies[slug]) for slug in studies[:MOST_SHOWN]),
            *(Reference("claims", slug, f"Claims of {facts.publications[slug]}") for slug in facts.claims),
        ),
    )


def _verdict_words(verdict: str, number: int) -> str:
    are, hold = ("is", "holds") if number == 1 else ("are", "hold")
    words = {
        "open": f"{hold} as far as anything decides it",
        "partly": f"{are} false in part",
        "untestable": "cannot be tested",
    }
    return words.get(verdict, f"{are} {verdict}")


def agreement(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on whether the mechanisms' expectation and the evidence agree."""
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
    elif seen == 0:
        verdict = "agrees" if expectation.sign == 0 else "undecided"
        text = (
            f"{expected}; the evidence finds none."
            if expectation.sign == 0
            else (f"{expected}; the evidence is not sharp enough to confirm or contradict it.")
        )
    elif expectation.sign == seen:
        verdict, text = "agrees", f"{expected}, and the evidence agrees."
    elif expectation.sign == 0:
        verdict, text = "contradicted", f"{expected}, but the evidence puts {ahead[seen]}: here the model falls short."
    else:
        verdict = "contradicted"
        text = (
            f"{expected}, but the evidence contradicts it and puts {ahead[seen]}. The recommendation follows the "
            "evidence, not the model."
        )
    if differ := [side for side in ("hypervisor",) if facts.a.parts.get(side) != facts.b.parts.get(side)]:
        text += f" The {listed(column(name) for name in differ)} differs as well, on which the mechanisms say nothing."
    yield Step(
        "agreement",
        "Whether model and evidence agree",
        MODEL,
        text,
        {"verdict": verdict, "predicted": expectation.sign, "seen": seen if known else None},
        source="docs/models/mechanisms.md",
    )


def open_questions(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield the step on measurements that would settle what is open."""
    questions = list(_missing(facts))
    if not questions:
        return
    yield Step(
        "open",
        "What would settle it",
        OPEN,
        " ".join(questions),
        {"missing": questions},
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
            f"Only {facts.sources[studies.pop()]} measured the two side by side; a second laboratory would show "
            "whether the difference carries over."
        )
    for name in facts.comes_along:
        if facts.groups and facts.a.parts.get(name) != facts.b.parts.get(name):
            mine = value(facts.names, name, facts.a.parts.get(name))
            other = value(facts.names, name, facts.b.parts.get(name))
            yield (
                f"{capital(column(name))} and {column(facts.axis_column)} changed together ({mine} with {a}, {other} "
                f"with {b}); measuring both with the same {column(name)} would separate them."
            )
    if facts.confounding.left_open:
        named = listed(map(column, facts.confounding.left_open))
        yield f"Runs of {a} and {b} that state the same {named} would show how much of the difference is left."
    if facts.decomposition is not None and facts.contrast is not None:
        for share in facts.decomposition.shares:
            if len(share.components) > 1 and not set(share.components) <= {facts.axis_column, *facts.comes_along}:
                kinds = [column(kind) for kind in share.components]
                yield f"Runs that vary the {listed(kinds, 'or')} alone would split what is now told together."
