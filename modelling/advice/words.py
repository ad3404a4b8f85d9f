"""Advice in sentences, and a profile as the rows of a table. No Django."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from modelling.evidence.words import capital, listed, load, percent, size
from modelling.workloads.profiles import Profile

from .content import Advice, Recommendation
from .reasoning import FAR, Neighbour

SAME = 0.005  # a distance that is printed as 0.00

_KINDS = ("Random reads", "Sequential reads", "Random writes", "Sequential writes")  # in the order of Accesses
_FILTERS = {"hypervisor": "the hypervisor", "host_fs": "the host file system"}


def summary(recommended: Sequence[Recommendation], is_far: bool) -> list[str]:
    """Say what to do, the most important first."""
    if not recommended:
        return ["The knowledge base is empty, so there is nothing to hold this load against."]
    if not is_far:
        return [sentence for recommendation in recommended for sentence in _transferred(recommendation)]
    nearest = recommended[0]
    return [
        f"Nothing that was measured is like this load. The nearest, {load(nearest.label)}, is at distance "
        f"{nearest.distance:.2f}, and beyond {FAR} no answer carries over."
    ]


def _transferred(recommended: Recommendation) -> Iterable[str]:
    """Say what carries over: "As for a mail server: not known: no numbers compare them."."""
    workload, parts = load(recommended.label), recommended.parts
    if not parts:
        yield f"It is most like {workload}, for which no comparison is published."
    elif len(parts) == 1:
        yield f"As for {workload}: {_lower(parts[0].text)}"
    else:
        yield f"As for {workload}, whose evidence falls into {len(parts)} parts that cannot be held against each other."
        yield from (f"{capital(part.name)}: {_lower(part.text)}" for part in parts)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def without(names: Sequence[str], workload: str) -> str:
    """Say which filters had to go for the workload to have an answer, or ""."""
    if not names:
        return ""
    filters = listed(_FILTERS[name] for name in names)
    return f"With {filters} asked for, no published case study compares pairs for {load(workload)}; this is without."


@dataclass(frozen=True)
class ProfileRow:
    """A kind of operation: its share of the operations and of the bytes, None where it moves none."""

    label: str
    operations: str
    bytes: str | None


@dataclass(frozen=True)
class AdvicePage:
    """Everything the advice's template prints.

    read : what was read from what was given, in a sentence
    facts : what else the profile holds, label and value
    recommended : each recommendation, and why it is without some filters
    """

    advice: Advice
    read: str
    basis: str
    rows: list[ProfileRow]
    facts: list[tuple[str, str]]
    recommended: list[tuple[Recommendation, str]]


def page(advice: Advice) -> AdvicePage:
    """Return the advice made ready for its template."""
    return AdvicePage(
        advice=advice,
        read=_read(advice.profile),
        basis=_basis(advice.nearest[0]) if advice.nearest else "",
        rows=_rows(advice.profile),
        facts=_facts(advice.profile),
        recommended=[
            (recommendation, without(recommendation.without, recommendation.label))
            for recommendation in advice.recommendation
        ],
    )


def _read(profile: Profile) -> str:
    """Say a profile: "55 % metadata operations, 15 % random reads; 16 threads, 1,000 files"."""
    shares = sorted(
        [*zip(_KINDS, profile.operations.shares(), strict=True), *_unmoved(profile)], key=lambda kind: -kind[1]
    )
    parts = [f"{percent(share)} {kind[:1].lower()}{kind[1:]}" for kind, share in shares if share >= 0.005]
    counts = [
        f"{number:,} {what}" for number, what in ((profile.concurrency, "threads"), (profile.files, "files")) if number
    ]
    return "; ".join(filter(None, [listed(parts), listed(counts)]))


def _basis(nearest: Neighbour) -> str:
    """Say what the advice rests on, in a word to the reader."""
    if nearest.is_far:
        return "No evidence carries over to this load."
    if nearest.distance < SAME:
        return "The load has the profile of that workload."
    return "Transferred from the evidence on the nearest workload; nobody measured this load itself."


def _rows(profile: Profile) -> list[ProfileRow]:
    kinds = zip(_KINDS, profile.operations.shares(), profile.bytes.shares(), strict=True)
    return [
        *(ProfileRow(label, percent(share), percent(moved)) for label, share, moved in kinds),
        *(ProfileRow(label, percent(share), None) for label, share in _unmoved(profile)),
    ]


def _unmoved(profile: Profile) -> list[tuple[str, float]]:
    """Return the kinds of operations that move no bytes, with their shares."""
    return [("Metadata operations", profile.metadata_share), ("Flushes (fsync)", profile.flush_share)]


def _facts(profile: Profile) -> list[tuple[str, str]]:
    """Return what else the profile holds, as (label, value with unit); what is not known is left out."""
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
