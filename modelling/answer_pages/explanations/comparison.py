"""Write the steps on what was compared, what was equal, and the outcome. No Django."""

from collections.abc import Iterator

from modelling.evidence.words import capital, column, counted, listed, load, some, times

from .content import ESTIMATED, MEASURED, MOST_NAMED, MOST_SHOWN, OPEN, STATED, Reference, Step
from .facts import Confounding, DirectGroup, ExplanationFacts, Tier

_SOURCE = "docs/models/ranking.md, sections 1 to 5"
_STANDING = {2.0: "outstanding among the best", 1.0: "among the best", 0.0: "in neither list", -1.0: "among the worst"}


def comparison(facts: ExplanationFacts) -> Iterator[Step]:
    """Yield a step on numbers and one on tier lists, or one that says that nothing is compared."""
    if facts.contrast is not None:
        yield _numbers_step(facts)
    if facts.tiers:
        yield _lists_step(facts)
    if facts.contrast is None and not facts.tiers:
        yield Step(
            "comparison",
            "What was compared",
            OPEN,
            f"No published case study, and no chain of them, compares {facts.a.label} with {facts.b.label} for "
            f"{load(facts.workload_label)}. Nothing can be said about which is faster from evidence; what follows "
            "is what the model makes of it.",
            {},
            source=_SOURCE,
        )


def _numbers_step(facts: ExplanationFacts) -> Step:
    contrast = facts.contrast
    assert contrast is not None
    a, b = facts.a.label, facts.b.label
    outcome = f"{a} gives {times(contrast.ratio)} times the {facts.relative} of {b}"
    interval = f"{times(contrast.low)} to {times(contrast.high)} times with 95 %"
    outcome += (
        f" ({interval} on other machines)"
        if contrast.sign
        else (f"; on other machines it could be either way ({interval}): the evidence cannot tell them apart")
    )
    if facts.groups:
        text = f"{_describe_direct(facts)} Over all of the evidence {outcome}."
    else:
        text = (
            f"No case study measured {a} and {b} side by side. They are compared through entries that both were "
            f"measured against, and so {outcome}."
        )
    return Step(
        "comparison",
        "What was compared",
        MEASURED if facts.groups else ESTIMATED,
        text,
        {
            **vars(contrast),
            "direct": bool(facts.groups),
            "held_equal": facts.held,
            "confounded_with": (*facts.confounding.differing, *facts.confounding.left_open),
            "groups": facts.groups[:MOST_SHOWN],
            "group_count": len(facts.groups),
        },
        evidence=tuple(
            Reference("case study", study, f"{facts.sources[study]}, {source}", source)
            for study, source in sorted({(group.case_study, group.source) for group in facts.groups})[:MOST_SHOWN]
        ),
        source=_SOURCE,
    )


def _describe_direct(facts: ExplanationFacts) -> str:
    """Describe the fair-play groups with both entries: case studies, what was equal, and the range of ratios."""
    groups = facts.groups
    studies = sorted({facts.sources[group.case_study] for group in groups})
    text = (
        f"{some(studies, MOST_NAMED)} measured {facts.a.label} and {facts.b.label} side by "
        f"side in {counted(len(groups), 'fair-play group')} ({_conditions(groups)}): the same benchmark version and "
        f"workload parameters, with {listed(column(name) for name in facts.held)} equal."
    )
    ratios = sorted(group.ratio for group in groups)
    if len(ratios) == 1:
        text += f" It found {facts.a.label} {times(ratios[0])} times as fast as {facts.b.label}."
    else:
        span = f"{times(ratios[0])} to {times(ratios[-1])}"
        text += f" The ratio {facts.a.label} to {facts.b.label} ran from {span} over them."
    if any(group.origin == "derived" for group in groups):
        text += " Some of the values follow from the text of the paper by arithmetic; they are marked derived."
    return text + confounding(facts.confounding)


def confounding(columns: Confounding) -> str:
    """Return sentences, each after a space, on other columns that may be the cause; "" where there are none."""
    text, differing = "", columns.differing
    if differing:
        verb = "differs as well, because it comes" if len(differing) == 1 else "differ as well, because they come"
        text = f" The {listed(map(column, differing))} {verb} with the choice: the difference may be due to either."
    if columns.left_open:
        named = listed(map(column, columns.left_open), "or")
        text += f" Not both state the {named}, of which each hypervisor has a default of its own."
    return text


def _conditions(groups: tuple[DirectGroup, ...]) -> str:
    counts = sorted({group.vm_count for group in groups})
    text = f"{listed(map(str, counts))} virtual machine{'' if counts == [1] else 's'}" if any(counts) else "natively"
    operations = sorted({group.operation for group in groups} - {"mixed"})
    if operations:
        text += f"; {listed(operations)}s"
    sizes = {group.block_size_bytes for group in groups} - {None}
    return text + (f" at {counted(len(sizes), 'block size')}" if sizes else "")


def _lists_step(facts: ExplanationFacts) -> Step:
    texts = [_describe_tier(facts, tier) for tier in facts.tiers[:3]]
    if len(facts.tiers) > 3:
        texts.append(f"{capital(counted(len(facts.tiers) - 3, 'further comparison'))} of this kind stand in the data.")
    studies = sorted({study for tier in facts.tiers for study in tier.case_studies})
    closing = (
        f"The lists are said to hold for {some([facts.sources[study] for study in studies], MOST_NAMED)}; they give "
        "the order and no figures, so the distance is not known."
    )
    return Step(
        "comparison",
        "What the published lists say",
        STATED,
        " ".join([*texts, closing]),
        {"lists": facts.tiers},
        evidence=tuple(
            Reference("case study", study, f"{facts.sources[study]}, {source}", source)
            for study, source in sorted({(tier.case_studies[0], tier.source) for tier in facts.tiers})
        ),
        source="docs/models/ranking.md, section 7",
    )


def _describe_tier(facts: ExplanationFacts, tier: Tier) -> str:
    where = "".join(f" with {column(name)} {value}" for name, value in tier.held.items())
    a, b = _standing_words(tier.a), _standing_words(tier.b)
    if a == b:
        return f"{facts.publications[tier.publication]} puts {facts.a.label} and {facts.b.label} alike, {a}{where}."
    return f"{facts.publications[tier.publication]} puts {facts.a.label} {a} and {facts.b.label} {b}{where}."


def _standing_words(standing: float) -> str:
    if standing == -2.0:
        return "outstanding among the worst"
    return _STANDING.get(standing, "between the lists, because its text and its table disagree")
