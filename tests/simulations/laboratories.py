"""What simulated laboratories measured of file systems or pairs, and what the one model knows by it. No Django."""

from collections.abc import Iterable
from itertools import product

import pandas as pd

from modelling.estimation.bayes import Posterior
from modelling.estimation.cells import COLUMNS, entry_rows
from modelling.estimation.hierarchy import Knowledge, Scales, published_scales
from modelling.evidence.axes import AXES

# Where all measured and one asks for: a load of which nothing is expected before.
WHERE = {"workload": "fileserver", "load": "mixed", "storage": "hdd", "hypervisor": "kvm"}
GUESTS, HOSTS = ("ext4", "btrfs", "xfs", "zfs"), ("ext4", "btrfs", "xfs")
GRID = {f"{guest}-on-{host}": (guest, host) for guest, host in product(GUESTS[:3], HOSTS)}


NOTHING_KNOWN = Knowledge(pd.DataFrame(columns=COLUMNS), published_scales())


def entries_of(size: int) -> pd.DataFrame:
    """Return what one asks for, index the names: 4 file systems or 9 pairs."""
    guests = size == len(GUESTS)
    return entry_rows(AXES["guest-fs" if guests else "fs-pair"], GUESTS if guests else list(GRID), NOTHING_KNOWN, WHERE)


def known_by(
    entries: pd.DataFrame, measured: Iterable[tuple[int, int, float]], variance: float, scales: Scales
) -> Posterior:
    """Return the posterior of entries in a laboratory that nobody has seen.

    measured : laboratory, place of the entry and ln speed of each cell; each laboratory is a research group of its own
    variance : of each
    """
    laboratories, places, outcomes = zip(*measured, strict=True) if measured else ((), (), ())
    names = [f"laboratory {number}" for number in laboratories]
    cells = entries.iloc[list(places)].assign(laboratory=names, group=names, case_study="", level=laboratories)
    cells = cells.assign(configuration=range(len(names)), outcome=outcomes, variance=variance)
    return Knowledge(cells.reindex(columns=COLUMNS), scales).posterior(entries)
