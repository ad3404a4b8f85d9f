"""manage.py fit_scales: learn the scales of effects and laboratories, the priors of every answer."""

import json
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError, CommandParser

from modelling.answers.knowledge import published_knowledge
from modelling.estimation.hierarchy import PUBLISHED, Hierarchy
from modelling.estimation.learning import learn
from modelling.estimation.network import EvidenceError


class Command(BaseCommand):
    help = (
        "Learn the scales of the hierarchical model, the factors of research groups and the sizes of choices from all "
        "published evidence, and write draws of them into the file that answers read (docs/models/hierarchy.md); some "
        "ten minutes. For whoever changes the model or the evidence that comes with KDB."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--trajectories", type=int, default=400, help="Of each chain, after half as many.")

    def handle(self, *args: Any, trajectories: int, **options: Any) -> None:
        try:
            scales = learn(Hierarchy(published_knowledge().cells), trajectories=trajectories, warm_up=trajectories // 2)
        except EvidenceError as error:
            raise CommandError(str(error)) from None
        kept = {
            "variances": _rounded(scales.variances),
            "freedom": scales.freedom.tolist(),
            "factors": {name: _rounded(part) for name, part in scales.factors.items()},
            "sizes": {name: _rounded(part) for name, part in scales.sizes.items()},
        }
        lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in kept.items()]
        PUBLISHED.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
        self.stdout.write(f"wrote {len(scales.weights)} draws, of {len(scales.factors)} research groups")


def _rounded(part: np.ndarray) -> Any:
    """Return the numbers with five digits, as lists."""
    digits = 4 - np.floor(np.log10(np.maximum(np.abs(part), 1e-12))).astype(int)
    return np.vectorize(round)(part.astype(float), digits).tolist()
