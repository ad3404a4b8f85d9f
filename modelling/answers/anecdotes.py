"""Describe numbers below the protocol's minimum, which are shown with an answer and do not count in it."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from experiments.models import CaseStudy
from modelling.estimation.arms import trials
from modelling.evidence.dataframes import ANECDOTE
from modelling.evidence.words import counted, times

from .content import Anecdote

MOST = 20  # case studies that are described one by one


def describe_anecdotes(arms: pd.DataFrame, label: Callable[[str], str]) -> tuple[Anecdote, ...]:
    """Describe each case study's anecdotes. arms : of modelling.answers.estimate._comparable_anecdotes"""
    slugs = sorted(arms["case_study"].unique())[:MOST]
    titles = dict(CaseStudy.objects.filter(slug__in=slugs).values_list("slug", "title")) if slugs else {}
    described = (_describe_study(slug, titles[slug], arms[arms["case_study"] == slug], label) for slug in slugs)
    return tuple(anecdote for anecdote in described if anecdote is not None)


def anecdote_caveat(anecdotes: tuple[Anecdote, ...]) -> list[str]:
    """Return [a sentence on how many anecdotes there are], [] where there are none."""
    if not anecdotes:
        return []
    numbers = sum(anecdote.numbers for anecdote in anecdotes)
    which = f"{counted(numbers, 'number')} of {counted(len(anecdotes), 'case study', 'case studies')}".capitalize()
    return [
        f"{which} {'is an anecdote' if numbers == 1 else 'are anecdotes'}: neither repeated nor, as far as is stated, "
        "measured for long enough. The evidence shows what they found; nothing here counts them."
    ]


def _describe_study(slug: str, title: str, arms: pd.DataFrame, label: Callable[[str], str]) -> Anecdote | None:
    largest = max(trials(arms), key=lambda trial: len(trial.treatments), default=None)
    if largest is None:
        return None
    order = np.argsort(-largest.means, kind="stable").tolist()
    labels = [label(largest.treatments[place]) for place in order]
    ratio = float(np.exp(largest.effects[order[0], order[-1]]))
    own = arms[arms[ANECDOTE]]
    return Anecdote(
        case_study=slug,
        title=title,
        numbers=int(own["measurements"].sum()),
        metric=str(own["metric"].iloc[0]),
        entries=tuple(largest.treatments[place] for place in order),
        sentence=f"{labels[0]} came out {times(ratio)} times as fast as {labels[-1]}.",
        why=_explain_anecdote(own),
    )


def _explain_anecdote(own: pd.DataFrame) -> str:
    """Explain why the numbers are below the minimum: what is too little, or not stated."""
    seconds = own["run_seconds"].dropna()
    if len(seconds):
        return f"Runs of {seconds.min():g} s, of which none is known to be repeated."
    if own["runs"].notna().all():
        return "One run each, of which neither the length nor how it was measured is stated."
    return "Neither the number of runs, nor their length, nor how it was measured is stated."
