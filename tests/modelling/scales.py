"""Scales for tests that work intervals by hand."""

import numpy as np

from modelling.estimation.hierarchy import CHOICES
from modelling.estimation.partial_pooling import Scales

# Laboratories are taken to agree and effects may be anything, so that only the spread of runs is left.
ALIKE = Scales(
    names=tuple(CHOICES),
    weights=np.ones(1),
    choices=np.full((1, len(CHOICES)), 10.0),
    storage=np.zeros(1) + 1e-12,
    group=np.zeros(1),
    laboratory=np.zeros(1),
    trial=np.zeros(1),
    residual=np.full(1, 1e-12),
)
