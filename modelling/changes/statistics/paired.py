"""Old and new in one block: what both share in a block cancels ("duet").

Source: Bulej et al. 2020, 10.1145/3358960.3379132; docs/models/change.md.
"""

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .student import RESOLUTION, Difference, judged


def paired(old: NDArray[np.float64], new: NDArray[np.float64]) -> Difference:
    """Return how fast the new is as a multiple of the old. old, new : ln speed by block, of two blocks or more

    Raises ValueError where there are fewer blocks, or not as many of one as of the other.
    """
    if len(old) != len(new) or len(old) < 2:
        raise ValueError(f"{len(old)} old and {len(new)} new runs: two blocks or more have one of each")
    differences = new - old
    spread = max(float(np.var(differences, ddof=1)), RESOLUTION**2)
    return judged(float(differences.mean()), sqrt(spread / len(differences)), len(differences) - 1)
