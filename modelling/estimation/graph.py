"""Find the entries that a chain of comparisons joins. No Django."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components


def connected(links: np.ndarray, *, strongly: bool = False) -> list[np.ndarray]:
    """Return the sets of indices that a square matrix of links joins, each ascending, largest first.

    Any non-zero element of `links` joins its row and column; `strongly` requires a path back as well. Sets of equal
    size are sorted by their first index.
    """
    kind = "strong" if strongly else "weak"
    count, label = connected_components(csr_array(links), directed=True, connection=kind)
    sets = [np.flatnonzero(label == number) for number in range(count)]
    return sorted(sets, key=lambda members: (-len(members), members[0]))
