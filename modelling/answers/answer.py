"""Turn an estimate into the answer: its evidence, the verdict, and what to do next."""

from functools import partial

from kdb.units import METRICS
from modelling.estimation.ranking import Ranking
from modelling.estimation.verdict import LEADS, USE
from modelling.evidence import names as catalogue
from modelling.evidence.axes import AXES
from modelling.evidence.names import in_sentence, label
from modelling.evidence.question import Question
from modelling.guidance.guide_texts import guide_for_axis
from modelling.workloads.curves import curves

from . import anecdotes, caches, caveats, decision, grounds, next_runs
from .abilities import abilities_of
from .content import Answer, AnswerPart, Grounds, RankedEntry
from .differences import find_differences, find_ratios, list_tiers
from .estimate import Estimate
from .knowledge import assumptions
from .makers import compare_with_makers
from .set_up import describe_set_ups
from .words import rests_on as rests_on_words


def answer(estimate: Estimate, revision: int) -> Answer:
    """Return the answer that the estimate gives to its question."""
    question, ranking = estimate.question, estimate.ranking
    axis, parts = AXES[question.axis], ranking.parts
    entry_name, in_words = partial(label, axis), partial(in_sentence, axis)
    rests_on = grounds.summarize_grounds(ranking)
    studies = grounds.read_studies(ranking)
    evidence = grounds.list_evidence(ranking, studies)
    equal = [grounds.describe_equal(axis, question, ranking, part) for part in parts]
    networks = [tuple(grounds.network_fit(network) for network in part.networks) for part in parts]
    described_anecdotes = anecdotes.describe_anecdotes(estimate.anecdotes, entry_name)
    missing = caveats.describe_missing(axis, question, ranking, estimate.measured, described_anecdotes)
    notes = [
        *caches.cache_caveats(question, ranking, studies, entry_name),
        *caveats.list_caveats(axis, question, ranking),
    ]
    notes += anecdotes.anecdote_caveat(described_anecdotes)
    runs = next_runs.propose_runs(question, estimate.run_sets)
    measure_next = next_runs.describe_runs(question, estimate.run_sets, runs)
    names = decision.part_names(ranking, entry_name, _name_of)
    entries = [(entry.key, entry_name(entry.key)) for part in parts for entry in part.entries]
    margin, advised = assumptions().margin, estimate.advised
    evidence_words = rests_on_words(rests_on, _only_hypervisor(question, rests_on))
    verdicts = [
        decision.decide_part(part, in_words, margin, advised, measure_next if len(parts) == 1 else "", evidence_words)
        for part in parts
    ]
    if axis.is_release:
        verdict = decision.decide_releases(verdicts, missing)
    elif estimate.is_ranked:
        verdict = decision.decide_answer(
            ranking, verdicts, names, in_words, margin, advised, measure_next, evidence_words
        )
    else:
        guide = guide_for_axis(axis.name)
        verdict = decision.decide_without_evidence(
            estimate.nearby, in_words, margin, missing, advised, guide.recommendation if guide else ""
        )
    return Answer(
        question=question,
        revision=revision,
        reference=parts[0].reference if parts else None,
        metric=ranking.metric,
        other_metrics=tuple(metric for metric in METRICS if metric in estimate.others),
        status=_status(ranking),
        verdict=verdict,
        grounds=rests_on,
        entries=tuple(
            RankedEntry(
                **vars(entry),
                label=entry_name(entry.key),
                recommended=decision.recommended_of(verdict, entry),
            )
            for part in parts
            for entry in sorted(part.entries, key=lambda entry: entry.key not in verdict.choice)
        ),
        parts=tuple(
            AnswerPart(
                part=part.number,
                name=name,
                verdict=verdict,
                basis=part.basis,
                reference=part.reference,
                **held,
                networks=fits,
            )
            for part, name, verdict, held, fits in zip(parts, names, verdicts, equal, networks, strict=True)
        ),
        abilities=abilities_of(question, entries, question.needs, catalogue.names()),
        best=verdict.choice,
        worst=verdict.rather_not,
        scaling=curves(ranking.arms, axis, entry_name, {slug: study.scope for slug, study in studies.items()}),
        next_runs=runs,
        measure_next=measure_next,
        differences=find_differences(parts, {ranking.metric: ranking.arms, **estimate.others}),
        side_by_side=find_ratios(ranking, verdict.choice),
        tier_lists=list_tiers(ranking, axis, catalogue.names()["file_system"]),
        trade_offs=estimate.trade_offs,
        set_ups=describe_set_ups(ranking, entry_name),
        notes=tuple(notes),
        evidence=evidence,
        compared=grounds.list_comparisons(ranking),
        anecdotes=described_anecdotes,
        missing=tuple(missing),
        makers=compare_with_makers(advised, verdict, in_words),
    )


def _name_of(column: str, value: str) -> str:
    """Return the display name of a value of one of the columns by which parts differ."""
    known = catalogue.names()
    return {"hypervisor": known["hypervisor"], "cache_mode": {}}.get(column, known["file_system"]).get(value, value)


def _only_hypervisor(question: Question, rests_on: Grounds) -> str:
    """Return the hypervisor of all evidence, where there is one and the question neither names nor compares any."""
    is_open = not question.hypervisor and "hypervisor" not in AXES[question.axis].entry
    first, *others = rests_on.facts["hypervisor"] or ("",)
    return catalogue.names()["hypervisor"].get(first, "") if is_open and not others else ""


def _status(ranking: Ranking) -> str:
    """Return one of content.STATUSES."""
    parts = ranking.parts
    if not parts:
        return "no comparison"
    if len(parts) > 1:
        return "ranked apart"
    return "ranked" if parts[0].verdict.kind in (USE, LEADS) else "indistinguishable"
