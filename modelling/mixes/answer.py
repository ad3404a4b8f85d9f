"""From a mix to its answer: labels, verdict, grounds and notes in sentences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import pandas as pd

from modelling.answers.caveats import caveats
from modelling.answers.content import Decision
from modelling.answers.decision import of_contrast, worded
from modelling.answers.grounds import grounds
from modelling.estimation.mixes import Mix, part_of, verdicts_by_share
from modelling.estimation.ranking import Ranking
from modelling.estimation.recommendation import Recommended
from modelling.estimation.verdict import NOT_KNOWN, STRENGTHS, Contrast, Verdict
from modelling.evidence import names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question
from modelling.evidence.words import listed

from .content import MixAnswer, NamedMixEntry, Share


def answer(
    question: Question,
    shares: Mapping[str, float],
    mix: Mix,
    rankings: Mapping[str, Ranking],
    known: Sequence[Share],
    revision: int,
) -> MixAnswer:
    """Return the answer that a mix of rankings gives. question : as of MixAnswer; known : of each share"""
    axis = AXES[question.axis]
    label = partial(names.label, axis)
    in_words = partial(names.in_sentence, axis)
    used = {workload: _used(ranking, mix) for workload, ranking in rankings.items()} if mix.entries else {}
    notes = {
        workload: caveats(axis, replace(question, workload=workload), ranking) for workload, ranking in used.items()
    }
    empty = next(iter(rankings.values()))
    arms, findings = ([getattr(ranking, kind) for ranking in used.values()] for kind in ("arms", "findings"))
    everything = Ranking(
        (),
        pd.concat(arms) if arms else empty.arms.iloc[:0],
        pd.concat(findings) if findings else empty.findings.iloc[:0],
    )
    return MixAnswer(
        question=question,
        weights=shares,
        revision=revision,
        verdict=_verdict(mix, rankings, in_words) if mix.entries else _nothing_common(known, in_words),
        grounds=grounds(everything),
        entries=tuple(NamedMixEntry(**vars(entry), label=label(entry.key)) for entry in mix.entries),
        ranges=mix.ranges,
        left_out=mix.left_out,
        unmeasured=mix.unmeasured,
        shares=tuple(known),
        notes=of_shares(notes),
    )


def _used(ranking: Ranking, mix: Mix) -> Ranking:
    """Narrow a ranking to what is in the mix: the part that holds its entries."""
    part = part_of(ranking, mix.entries[0].key)
    arms, findings = (rows[rows["entry"].isin(part.members)] for rows in (ranking.arms, ranking.findings))
    return replace(ranking, parts=(part,), arms=arms, findings=findings)


def _verdict(mix: Mix, rankings: Mapping[str, Ranking], label: partial[str]) -> Decision:
    """Return a verdict as strong as the weakest of its shares, whose reasons it has."""
    verdict_of = verdicts_by_share(mix, rankings)
    if not verdict_of:
        return _nothing_common((), label)
    weakest = min(verdict_of.values(), key=lambda verdict: STRENGTHS.index(verdict.strength))
    reasons = of_shares(
        {workload: [reason for _, reason in verdict.reasons] for workload, verdict in verdict_of.items()}
    )
    contrast = weakest.contrast
    if len(verdict_of) > 1 and mix.against is not None:
        one, other = mix.entries[0], mix.entries[mix.against]
        contrast = Contrast(
            one.key,
            other.key,
            ratio=1 / other.ratio,
            low=1 / other.high,
            high=1 / other.low,
            measured=(),
            groups=min(verdict.contrast.groups for verdict in verdict_of.values() if verdict.contrast),
            cost=one.expected_loss / max(1 - one.probability_best, 1e-9),
            is_mixed=True,
        )
    verdict = Verdict(weakest.kind, weakest.strength, tuple(("", reason) for reason in reasons), contrast)
    return worded(
        verdict,
        mix.recommended,
        label,
        of_contrast(contrast, label, [entry.key for entry in mix.entries]),
        f"Runs of {listed(label(entry.key) for entry in mix.entries[:2])} on your machine would tell most.",
        offered=len(mix.entries),
    )


def _nothing_common(known: Sequence[Share], label: partial[str]) -> Decision:
    bare = [_name(share.workload) for share in known if not share.has_numbers]
    reasons = [f"No numbers compare anything under {listed(bare)}."] if bare else []
    return worded(
        Verdict(NOT_KNOWN, STRENGTHS[0], tuple(("", reason) for reason in reasons)),
        Recommended(),
        label,
        "No two entries have numbers that may be compared under all of these workloads.",
        "A case study that measures two entries under each of these workloads would settle it.",
    )


def of_shares(by_workload: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return sentences on the workloads, each once: with the names of those it is about where it is not about all."""
    about: dict[str, list[str]] = {}
    for workload, sentences in by_workload.items():
        for sentence in sentences:
            about.setdefault(sentence, []).append(_name(workload))
    return tuple(
        sentence if len(workloads) == len(by_workload) else f"{listed(workloads)}: {sentence}"
        for sentence, workloads in about.items()
    )


def _name(workload: str) -> str:
    return names.names()["workload"].get(workload, workload)
