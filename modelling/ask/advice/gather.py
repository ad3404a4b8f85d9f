"""Build the advice for a profile from stored answers.

Source: docs/models/profiles.md, section "From a profile to advice".
"""

from collections.abc import Iterator
from contextlib import nullcontext

from django.conf import settings

from kdb.cost import budget
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.answers.words import address, api_address, title
from modelling.evidence import counts, names
from modelling.evidence.question import Question
from modelling.workloads.profiles import Profile, distance, known_profiles

from .content import Advice, NearWorkload
from .words import summarize

# Distance beyond which no answer carries over. The published orders of web server and random file access (0.155 apart)
# agree; those of workloads 0.37 and more apart are unrelated.
FAR = 0.25
ALSO_NEAR = 0.05  # largest distance beyond the nearest up to which a further workload's answer carries over, too
# Processor time. Without stored answers advice takes 0.5 s, and 1 s on a busy machine; concurrent requests share the
# limit. Rankings computed by then are stored, so the next request gets further.
MOST_SECONDS = 3.0


def advise(profile: Profile, *, hypervisor: str | None = None, host_fs: str | None = None) -> Advice:
    """Advise on a load with this profile, for page and API. hypervisor, host_fs : slugs of choices already made"""
    with budget.limit_seconds(MOST_SECONDS) if settings.KDB_CPU_SECONDS_A_REQUEST else nullcontext():
        nearest = tuple(nearest_workloads(profile, hypervisor, host_fs))
        return Advice(tuple(summarize(nearest)), profile, profile.notes, nearest, counts.revision())


def nearest_workloads(profile: Profile, hypervisor: str | None, host_fs: str | None) -> Iterator[NearWorkload]:
    """Yield every known workload of the catalogue, nearest first, with the answers that carry over."""
    known = names.names()
    distances = sorted(
        (distance(profile, other), slug) for slug, other in known_profiles().items() if slug in known["workload"]
    )
    for how_far, slug in distances:
        question = Question("fs-pair", slug, hypervisor=hypervisor, host_fs=host_fs)
        carries_over = how_far <= min(distances[0][0] + ALSO_NEAR, FAR)
        yield NearWorkload(
            workload=slug,
            label=known["workload"][slug],
            distance=how_far,
            is_far=how_far > FAR,
            title=title(question, known),
            url=address(question),
            api_url=api_address(question),
            verdict=answer_in(current_snapshot(question)).verdict if carries_over else None,
        )
