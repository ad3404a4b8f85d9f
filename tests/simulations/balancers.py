"""The published rules of BASIL and the thresholds of Storage DRS, for pools and machines that are watched. No Django.

BASIL (Gulati, Kumar, Ahmad and Kumar, FAST 2010, usenix.org/event/fast10/tech/full_papers/gulati.pdf): a machine's load
is a product of its outstanding requests, their size, share of reads and of random ones, each plus a constant; a pool is
the slope of its latency over outstanding requests, fitted to what was seen; the normalised load of a pool is the sum of
its machines' loads times its slope. While pools are unbalanced, the machine whose move to the least loaded pool eases
most for its size leaves the most loaded one.

Storage DRS (VMware, vSphere Resource Management, "Setting the Aggressiveness Level for Storage DRS"): every 8 hours;
where space in use is above 80 % of a pool and at least 5 points more than where it goes; where the 90th percentile of
the day's latency is above 15 ms and a fairness of 0 to 1 is below 1 - 5 %. How it computes the fairness and chooses
among machines is not published there; here it is Jain's index of the normalised loads, and BASIL's choice.
"""

from dataclasses import dataclass

import numpy as np

K1, K2, K3, K4 = 1.3, 51.0, 1.4, 0.7  # of BASIL: outstanding requests, KiB, shares of reads and of random requests
IMBALANCE = 0.05  # of BASIL, here: the spread of normalised loads over their mean that is left alone
LATENCY_MS, SPACE, SPACE_APART, FAIR = 15.0, 0.80, 0.05, 0.95  # of Storage DRS, as it is set unless told


@dataclass(frozen=True)
class Watched:
    """A moment as a balancer sees it, of n machines on P pools.

    here : (n,) pools; load : (n,) of BASIL, the day's mean; sizes : (n,) bytes; may_move : (n,)
    slope : (P,) of latency over outstanding requests, > 0, ms; latency : (P,) 90th percentile of the day, ms
    used, capacity : (P,) bytes
    """

    here: np.ndarray
    load: np.ndarray
    sizes: np.ndarray
    may_move: np.ndarray
    slope: np.ndarray
    latency: np.ndarray
    used: np.ndarray
    capacity: np.ndarray

    @property
    def normalised(self) -> np.ndarray:
        """Return each pool's normalised load."""
        return np.bincount(self.here, self.load, len(self.slope)) * self.slope

    def fits(self, machine: int, pool: int) -> bool:
        """Tell whether there is room, up to the threshold of space."""
        return bool(self.used[pool] + self.sizes[machine] <= SPACE * self.capacity[pool])


def load_of(
    outstanding: np.ndarray, kibibytes: np.ndarray, read_share: np.ndarray, random_share: np.ndarray
) -> np.ndarray:
    """Return BASIL's load of machines, up to a constant factor."""
    return (K1 + outstanding) * (K2 + kibibytes) * (K3 + read_share) * (K4 + random_share)


def slope(outstanding: np.ndarray, latency: np.ndarray) -> float:
    """Return the slope of latency over outstanding requests, (N,) each, by least squares.

    Where they show none, as where hardly anything changed, it is that of the line through zero.
    """
    apart = outstanding - outstanding.mean()
    spread = float(apart @ apart)
    fitted = float(apart @ latency) / spread if spread > 0 else 0.0
    return fitted if fitted > 0 else float(latency.sum() / max(outstanding.sum(), 1e-9))


def basil(seen: Watched) -> tuple[int, int] | None:
    """Return the machine that moves now and its pool; None: the pools are balanced, or nothing would ease them."""
    loads = seen.normalised
    if np.std(loads) <= IMBALANCE * loads.mean():
        return None
    return _eased(seen, int(np.argmax(loads)))


def storage_drs(seen: Watched) -> tuple[int, int] | None:
    """Return the machine that moves now and its pool, for space first; None: no threshold is crossed."""
    share = seen.used / seen.capacity
    full, empty = int(np.argmax(share)), int(np.argmin(share))
    if share[full] > SPACE and share[full] - share[empty] >= SPACE_APART:
        able = [m for m in np.flatnonzero((seen.here == full) & seen.may_move).tolist() if seen.fits(m, empty)]
        enough = [m for m in able if seen.used[full] - seen.sizes[m] <= SPACE * seen.capacity[full]]
        if able:
            one = min(enough, key=lambda m: seen.sizes[m]) if enough else max(able, key=lambda m: seen.sizes[m])
            return one, empty
    loads = seen.normalised
    slow = np.flatnonzero(seen.latency > LATENCY_MS)
    is_fair = loads.sum() ** 2 / (len(loads) * (loads @ loads)) >= FAIR
    if not len(slow) or is_fair:
        return None
    return _eased(seen, int(slow[np.argmax(loads[slow])]))


def _eased(seen: Watched, source: int) -> tuple[int, int] | None:
    """Return the machine of a pool whose move to the least loaded one eases most for its size; None: none eases."""
    loads = seen.normalised
    target = int(np.argmin(loads))
    best: tuple[float, int] | None = None
    for machine in np.flatnonzero((seen.here == source) & seen.may_move).tolist():
        left = loads[source] - seen.load[machine] * seen.slope[source]
        there = loads[target] + seen.load[machine] * seen.slope[target]
        if source != target and there < loads[source] and seen.fits(machine, target):
            benefit = float(loads[source] - max(left, there)) / seen.sizes[machine]
            if best is None or benefit > best[0]:
                best = (benefit, machine)
    return None if best is None else (best[1], target)
