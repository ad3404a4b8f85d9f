"""Rank the entries of an axis for a mix of workloads, and put the outcome into words.

Source: docs/models/mixes.md.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd

from kdb.units import METRICS, THROUGHPUT
from modelling.estimation.mixes import Mix, joint_posterior, mix, part_of, verdicts_by_share
from modelling.estimation.ranking import METHOD, Ranking, knowledge_from
from modelling.estimation.recommendation import Recommended
from modelling.estimation.verdict import NOT_KNOWN, STRENGTHS, Contrast, Verdict
from modelling.evidence import counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.dataframes import Evidence
from modelling.evidence.question import Question
from modelling.evidence.storage import get_or_compute
from modelling.evidence.words import listed

from .caveats import list_caveats
from .content import AnswerVerdict, MixAnswer, NamedMixEntry, Share
from .decision import describe_contrast, word_decision
from .estimate import ranking_of
from .grounds import summarize_grounds
from .knowledge import assumptions, knowledge_of, where_of


@dataclass(frozen=True)
class MixEstimate:
    """All numbers of a mix, before they are put into words.

    question : its workload is "", its metric the one in which the workloads are ranked
    shares : workload to its share of 1; rankings : workload to its ranking
    """

    question: Question
    shares: Mapping[str, float]
    rankings: Mapping[str, Ranking]
    mix: Mix


def estimate_mix(question: Question, shares: Mapping[str, float], as_of: int | None) -> MixEstimate:
    """Rank in one metric, as shares in several cannot be added up: the requested one, else the first that ranks any."""
    question = replace(question, workload="")
    if question.metric:
        return _estimate_in_metric(question, shares, as_of)
    common = _common_metrics(question, shares, as_of)
    for metric in [metric for metric in METRICS if metric in common]:
        estimated = _estimate_in_metric(replace(question, metric=metric), shares, as_of)
        if estimated.mix.entries:
            return estimated
    return _estimate_in_metric(replace(question, metric=THROUGHPUT), shares, as_of)


def _common_metrics(question: Question, shares: Mapping[str, float], as_of: int | None) -> set[str]:
    """Return the metrics in which all workloads were measured: counting is cheaper than ranking in vain."""
    evidence = (Evidence(replace(question, workload=workload), as_of=as_of) for workload in shares)
    return set.intersection(*({metric for metric, *_ in admitted.metrics_measured()} for admitted in evidence))


def _estimate_in_metric(question: Question, shares: Mapping[str, float], as_of: int | None) -> MixEstimate:
    rankings = {workload: _cached_ranking(replace(question, workload=workload), as_of) for workload in shares}
    axis, taken = AXES[question.axis], assumptions()
    evidence = {name: (own.arms, own.findings) for name, own in rankings.items()}
    known = knowledge_of(question, question.metric or THROUGHPUT, as_of) or knowledge_from(evidence, axis, taken)
    where = {workload: where_of(replace(question, workload=workload)) for workload in shares}
    mixed = mix(rankings, shares, joint_posterior(known, axis, shares, where), taken.margin, taken.differ)
    return MixEstimate(question, shares, rankings, mixed)


def _cached_ranking(question: Question, as_of: int | None) -> Ranking:
    """Return the ranking under one workload, cached, as it does not depend on the weights."""
    digest = hashlib.sha256(question.key.encode()).hexdigest()
    key = f"modelling.mixed.ranking:{METHOD}:{as_of or counts.revision()}:{as_of is None}:{digest}"
    return get_or_compute(key, partial(ranking_of, question, as_of), cache="rankings")


def answer_mix(estimate: MixEstimate, known: Sequence[Share], revision: int) -> MixAnswer:
    """Write the estimate in words. known : what is known of each share by itself"""
    question, mixed = estimate.question, estimate.mix
    axis = AXES[question.axis]
    label, in_words = partial(names.label, axis), partial(names.in_sentence, axis)
    used = {name: _restrict(ranking, mixed) for name, ranking in estimate.rankings.items()} if mixed.entries else {}
    notes = {name: list_caveats(axis, replace(question, workload=name), ranking) for name, ranking in used.items()}
    empty = next(iter(estimate.rankings.values()))
    arms, findings = ([getattr(ranking, kind) for ranking in used.values()] for kind in ("arms", "findings"))
    everything = Ranking(
        (),
        pd.concat(arms) if arms else empty.arms.iloc[:0],
        pd.concat(findings) if findings else empty.findings.iloc[:0],
    )
    return MixAnswer(
        question=question,
        weights=estimate.shares,
        revision=revision,
        verdict=_verdict(mixed, estimate.rankings, in_words) if mixed.entries else _decide_nothing(known, in_words),
        grounds=summarize_grounds(everything),
        entries=tuple(NamedMixEntry(**vars(entry), label=label(entry.key)) for entry in mixed.entries),
        ranges=mixed.ranges,
        left_out=mixed.left_out,
        unmeasured=mixed.unmeasured,
        shares=tuple(known),
        notes=name_workloads(notes),
    )


def _restrict(ranking: Ranking, mixed: Mix) -> Ranking:
    """Restrict a ranking to the part that holds the entries of the mix."""
    part = part_of(ranking, mixed.entries[0].key)
    arms, findings = (rows[rows["entry"].isin(part.members)] for rows in (ranking.arms, ranking.findings))
    return replace(ranking, parts=(part,), arms=arms, findings=findings)


def _verdict(mixed: Mix, rankings: Mapping[str, Ranking], label: Callable[[str], str]) -> AnswerVerdict:
    """Return a verdict as strong as that of the weakest share, with the reasons of all shares."""
    verdict_of = verdicts_by_share(mixed, rankings)
    if not verdict_of:
        return _decide_nothing((), label)
    weakest = min(verdict_of.values(), key=lambda verdict: STRENGTHS.index(verdict.strength))
    reasons = name_workloads(
        {workload: [reason for _, reason in verdict.reasons] for workload, verdict in verdict_of.items()}
    )
    contrast = weakest.contrast
    if len(verdict_of) > 1 and mixed.against is not None:
        one, other = mixed.entries[0], mixed.entries[mixed.against]
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
    return word_decision(
        Verdict(weakest.kind, weakest.strength, tuple(("", reason) for reason in reasons), contrast),
        mixed.recommended,
        label,
        describe_contrast(contrast, label),
        f"Runs of {listed(label(entry.key) for entry in mixed.entries[:2])} on your machine would tell most.",
        offered=len(mixed.entries),
    )


def _decide_nothing(known: Sequence[Share], label: Callable[[str], str]) -> AnswerVerdict:
    bare = [_workload_name(share.workload) for share in known if not share.has_numbers]
    reasons = [f"No numbers compare anything under {listed(bare)}."] if bare else []
    return word_decision(
        Verdict(NOT_KNOWN, STRENGTHS[0], tuple(("", reason) for reason in reasons)),
        Recommended(),
        label,
        "No two entries have numbers that may be compared under all of these workloads.",
        "A case study that measures two entries under each of these workloads would settle it.",
    )


def name_workloads(by_workload: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return each sentence once, prefixed with the names of its workloads unless all of them share it."""
    about: dict[str, list[str]] = {}
    for workload, sentences in by_workload.items():
        for sentence in sentences:
            about.setdefault(sentence, []).append(_workload_name(workload))
    return tuple(
        sentence if len(workloads) == len(by_workload) else f"{listed(workloads)}: {sentence}"
        for sentence, workloads in about.items()
    )


def _workload_name(workload: str) -> str:
    return names.names()["workload"].get(workload, workload)
