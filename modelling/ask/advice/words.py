"""Word advice, and lay out a profile as a table. No Django."""

from collections.abc import Sequence
from dataclasses import dataclass

from modelling.evidence.words import listed, load, percent, size
from modelling.workloads.profiles import Profile

from .content import Advice, Recommendation
from .reasoning import FAR, Neighbour

SAME = 0.005  # a distance that is printed as 0.00

_KINDS = ("Random reads", "Sequential reads", "Random writes", "Sequential writes")  # in the order of Accesses
_FILTERS = {"hypervisor": "the hypervisor", "host_fs": "the host file system"}


def summary(recommended: Sequence[Recommendation], is_far: bool) -> list[str]:
    """Return sentences on what to do, most important first."""
    if not recommended:
        return ["The knowledge base is empty, so there is nothing to hold this load against."]
    if not is_far:
        return [_describe_transfer(recommendation) for recommendation in recommended]
    nearest = recommended[0]
    return [
        f"Nothing that was measured is like this load. The nearest, {load(nearest.label)}, is at distance "
        f"{nearest.distance:.2f}, and beyond {FAR} no answer carries over."
    ]


def _describe_transfer(recommended: Recommendation) -> str:
    """Write "As for a mail server: start with Btrfs on ext4."."""
    workload, sentence = load(recommended.label), recommended.verdict.sentence
    if not recommended.parts:
        return f"It is most like {workload}, for which no comparison is published."
    return f"As for {workload}: {sentence[:1].lower()}{sentence[1:]}"


def explain_left_out(names: Sequence[str], workload: str) -> str:
    """State which filters were dropped because the workload has no answer with them, or ""."""
    if not names:
        return ""
    filters = listed(_FILTERS[name] for name in names)
    return f"With {filters} asked for, no published case study compares pairs for {load(workload)}; this is without."


@dataclass(frozen=True)
class AdvicePage:
    """The context of the advice's template.

    read : the profile in a sentence; rows : kind of operation, share of operations and of bytes, "" without bytes
    facts : label and value of the rest of the profile
    recommended : each recommendation, with a sentence on dropped filters
    """

    advice: Advice
    read: str
    basis: str
    rows: list[tuple[str, str, str]]
    facts: list[tuple[str, str]]
    recommended: list[tuple[Recommendation, str]]


def advice_page(advice: Advice) -> AdvicePage:
    """Lay out the advice for its template."""
    return AdvicePage(
        advice=advice,
        read=_describe_profile(advice.profile),
        basis=_basis(advice.nearest[0]) if advice.nearest else "",
        rows=_rows(advice.profile),
        facts=_facts(advice.profile),
        recommended=[
            (recommendation, explain_left_out(recommendation.without, recommendation.label))
            for recommendation in advice.recommendation
        ],
    )


def _describe_profile(profile: Profile) -> str:
    """Write a profile: "55 % metadata operations, 15 % random reads; 16 threads, 1,000 files"."""
    shares = sorted(
        [*zip(_KINDS, profile.operations.shares(), strict=True), *_without_bytes(profile)],
        key=lambda kind: -kind[1],
    )
    parts = [f"{percent(share)} {kind[:1].lower()}{kind[1:]}" for kind, share in shares if share >= 0.005]
    counts = [
        f"{number:,} {what}" for number, what in ((profile.concurrency, "threads"), (profile.files, "files")) if number
    ]
    return "; ".join(filter(None, [listed(parts), listed(counts)]))


def _basis(nearest: Neighbour) -> str:
    """State what the advice rests on."""
    if nearest.is_far:
        return "No evidence carries over to this load."
    if nearest.distance < SAME:
        return "The load has the profile of that workload."
    return "Transferred from the evidence on the nearest workload; nobody measured this load itself."


def _rows(profile: Profile) -> list[tuple[str, str, str]]:
    kinds = zip(_KINDS, profile.operations.shares(), profile.bytes.shares(), strict=True)
    return [
        *((label, percent(share), percent(moved)) for label, share, moved in kinds),
        *((label, percent(share), "") for label, share in _without_bytes(profile)),
    ]


def _without_bytes(profile: Profile) -> list[tuple[str, float]]:
    """Return the kinds of operations that move no bytes, with their shares."""
    return [("Metadata operations", profile.metadata_share), ("Flushes (fsync)", profile.flush_share)]


def _facts(profile: Profile) -> list[tuple[str, str]]:
    """Return label and value of the known sizes and counts of the profile."""
    numbers = {"Threads at work": profile.concurrency, "Files": profile.files}
    sizes = {
        "Mean file size": profile.mean_file_bytes,
        "Working set": profile.working_set_bytes,
        "Mean request": profile.mean_io_bytes,
    }
    writes = profile.operations.random_write + profile.operations.sequential_write
    facts = [("Synchronous", f"{percent(profile.sync_share)} of the writes" if writes else "no writes")]
    facts += [(label, f"{number:,}") for label, number in numbers.items() if number is not None]
    facts += [(label, size(number)) for label, number in sizes.items() if number is not None]
    return facts
