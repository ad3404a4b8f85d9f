"""Word advice. No Django."""

from collections.abc import Iterator, Sequence

from modelling.evidence.words import listed, load, percent
from modelling.workloads.profiles import Profile

from .content import NearWorkload

SAME = 0.005  # a distance that is printed as 0.00


def summarize(nearest: Sequence[NearWorkload]) -> Iterator[str]:
    """Yield sentences on what to do, most important first. nearest : nearest first"""
    if not nearest:
        yield "The knowledge base is empty, so there is nothing to hold this load against."
        return
    first = nearest[0]
    if first.is_far:
        yield (
            f"Nothing that was measured is like this load. The nearest, {load(first.label)}, is at distance "
            f"{first.distance:.2f}: its answer does not carry over."
        )
    for near in nearest:
        if near.verdict:
            sentence = near.verdict.sentence
            yield f"As for {load(near.label)}: {sentence[:1].lower()}{sentence[1:]}"
    if not first.is_far and first.distance >= SAME:
        yield "Carried over from the nearest workload; nobody measured this load itself."


def describe_profile(profile: Profile) -> str:
    """Write a profile: "55 % metadata operations, 15 % random reads; 16 threads, 1,000 files"."""
    kinds = ("random reads", "sequential reads", "random writes", "sequential writes")
    shares = list(zip(profile.operations.shares(), kinds, strict=True))
    shares += [(profile.metadata_share, "metadata operations"), (profile.flush_share, "flushes (fsync)")]
    shares.sort(key=lambda row: -row[0])
    parts = [f"{percent(share)} {kind}" for share, kind in shares if share >= 0.005]
    counts = [
        f"{number:,} {what}{'s' if number > 1 else ''}"
        for number, what in ((profile.concurrency, "thread"), (profile.files, "file"))
        if number
    ]
    return "; ".join(filter(None, [listed(parts), listed(counts)]))
