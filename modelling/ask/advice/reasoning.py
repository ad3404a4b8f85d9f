"""Find the measured workloads nearest to a profile, whose answers carry over if they are near enough. No Django.

Source: docs/models/profiles.md, section "From a profile to advice".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

from modelling.workloads.profiles import Accesses, Profile, distance

# Distance beyond which no answer carries over. The published orders of web server and random file access (0.155 apart)
# agree; those of workloads 0.37 and more apart are unrelated.
FAR = 0.25
ALSO_NEAR = 0.05  # largest distance beyond the nearest up to which a further workload's answer is shown, too
ADD_UP = 0.01  # tolerance of the sum of shares, which people round


@dataclass(frozen=True)
class Neighbour:
    """A known workload and its distance, 0 (the same profile) to 1."""

    workload: str
    label: str
    distance: float
    is_far: Annotated[bool, "Its answer does not carry over."]  # beyond FAR
    speaks: Annotated[bool, "Its answer is among `recommendation`."]  # where it is far, for orientation


def neighbours(profile: Profile, known: Mapping[str, Profile], labels: Mapping[str, str]) -> list[Neighbour]:
    """Return every known workload, nearest first. `speaks` marks the nearest, and others about as near but not far.

    labels : of workloads, by slug; one without a label is left out
    """
    distances = sorted((distance(profile, other), workload) for workload, other in known.items() if workload in labels)
    limit = min(distances[0][0] + ALSO_NEAR, FAR) if distances else 0.0
    return [
        Neighbour(workload, labels[workload], how_far, how_far > FAR, place == 0 or how_far <= limit)
        for place, (how_far, workload) in enumerate(distances)
    ]


# A profile without a personality


class SharesError(ValueError):
    """Shares of all operations that add up to `total` and not to 1."""

    def __init__(self, total: float) -> None:
        super().__init__(f"the shares add up to {total:.4g} and not to 1")
        self.total = total


def profile_from_shares(
    operations: Accesses,
    *,
    metadata: float = 0.0,
    flush: float = 0.0,
    sync: float = 0.0,
    threads: int | None = None,
    files: int | None = None,
    mean_file_bytes: float | None = None,
) -> Profile:
    """Return the profile of a load whose shares are known, but not its personality.

    operations, metadata, flush : shares of all operations, together 1; sync : of the writes, 0..1.
    None: not known. Every access is taken to move as much as any other. Raises SharesError where
    the shares do not add up to 1 within ADD_UP.
    """
    total = sum(operations.shares()) + metadata + flush
    if abs(total - 1.0) > ADD_UP + 1e-9:
        raise SharesError(total)
    accesses = sum(operations.shares())
    writes = operations.random_write + operations.sequential_write
    return Profile(
        operations=Accesses(*(share / total for share in operations.shares())),
        bytes=Accesses(*(share / accesses for share in operations.shares())) if accesses else Accesses(),
        metadata_share=metadata / total,
        flush_share=flush / total,
        sync_share=sync if writes else 0.0,
        concurrency=threads,
        files=files,
        mean_file_bytes=mean_file_bytes,
        working_set_bytes=files * mean_file_bytes if files is not None and mean_file_bytes is not None else None,
        notes=tuple(_assumptions(accesses, writes, sync, threads, files, mean_file_bytes)),
    )


def _assumptions(
    accesses: float, writes: float, sync: float, threads: int | None, files: int | None, mean_file_bytes: float | None
) -> Iterable[str]:
    if accesses:
        yield "Every read and write is taken to move the same number of bytes."
    if sync and not writes:
        yield "There are no writes, so the share of synchronous ones counts nothing."
    if files is not None and mean_file_bytes is not None:
        yield "All files are taken to be in use."
    numbers = {"threads": threads, "number of files": files, "mean file size": mean_file_bytes}
    if unknown := [name for name, value in numbers.items() if value is None]:
        yield f"Not given, and left out of the distance: {', '.join(unknown)}."
