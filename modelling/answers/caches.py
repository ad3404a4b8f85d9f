"""Warn where caches answered the load instead of the disks. No Django."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from kdb.units import THROUGHPUT, convert
from modelling.estimation.ranking import Ranking
from modelling.evidence.question import Question
from modelling.evidence.words import capital, some
from modelling.workloads.cache_effect import cache_verdict, caches_answered_above
from modelling.workloads.profiles import known_profiles

from .grounds import Study

MOST_STUDIES = 3  # case studies to name, greatest excess first


def cache_caveats(
    question: Question, ranking: Ranking, studies: Mapping[str, Study], label_of: Callable[[str], str]
) -> list[str]:
    """State which entries moved more bytes per second than their case study's storage can carry; [] where none did.

    label_of : an entry's key to its label
    Applies the rule of explanations (modelling.workloads.cache_effect) to each entry's greatest excess in a case study.
    """
    profile = known_profiles().get(question.workload)
    read_share = profile.bytes.reads if profile else None
    beyond = _arms_above_limits(ranking, studies, read_share)
    if beyond.empty:
        return []
    clauses = [
        _describe_study(rows, studies[str(slug)], read_share, label_of)
        for slug, rows in beyond.groupby("case_study", sort=False, observed=True)
    ]
    others = len(clauses) - MOST_STUDIES
    more = [f"likewise in {others} other case studies" if others > 1 else "likewise in another case study"]
    shown = [*clauses[:MOST_STUDIES], *(more if others > 0 else [])]
    return [
        f"These tests measured memory, not disks. {capital('; '.join(shown))}. They say little about data that do not "
        "fit into memory."
    ]


def _arms_above_limits(ranking: Ranking, studies: Mapping[str, Study], read_share: float | None) -> pd.DataFrame:
    """Return the arm of each entry and case study that exceeds its storage most, greatest excess first."""
    arms = ranking.arms
    if ranking.metric != THROUGHPUT or arms.empty:
        return arms.iloc[:0]
    limit = {slug: caches_answered_above(study.limits, read_share) for slug, study in studies.items()}
    slugs, units = arms["case_study"].astype(str), arms["unit"].astype(str)
    is_known = arms["storage"].astype(str) == slugs.map({slug: study.storage for slug, study in studies.items()})
    per_machine = (slugs.map({slug: study.scope for slug, study in studies.items()}) == "per-vm").to_numpy()
    machines = np.where(per_machine, arms["vm_count"].clip(lower=1), 1)
    scale = units.map({unit: convert(1.0, unit, "MB/s") for unit in units.unique()})
    times = np.exp(arms["mean_log"]) * scale * machines / slugs.map(limit).astype(float)
    beyond = arms.assign(times=times.where(is_known))
    beyond = beyond[beyond["times"] > 1.0].sort_values(["times", "case_study", "entry"], ascending=[False, True, True])
    return beyond.drop_duplicates(["case_study", "entry"])


def _describe_study(rows: pd.DataFrame, study: Study, read_share: float | None, label_of: Callable[[str], str]) -> str:
    """Write "in “Four hypervisors” KVM reached 2.50 times the 600 MB/s of the interface limit and Xen 1.06 times"."""
    first = next(rows.itertuples(index=False))
    verdict = cache_verdict(
        float(np.exp(first.mean_log)),
        first.unit,
        study.limits,
        read_share=read_share,
        vm_count=first.vm_count,
        scope=study.scope,
    )
    limit = f" the {verdict.limit:,.0f} MB/s of the {verdict.limit_name}"
    clauses = [
        f"{label_of(row.entry)}{'' if number else ' reached'} {row.times:.2f} times{'' if number else limit}"
        for number, row in enumerate(rows.itertuples(index=False))
    ]
    return f"in “{study.title}” {some(clauses)}"
