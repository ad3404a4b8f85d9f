"""Learn how far effects and laboratories differ from everything published, for every ranking to start from."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from modelling.estimation import hierarchy
from modelling.estimation.network import EvidenceError
from modelling.estimation.partial_pooling import PUBLISHED, scales_of
from modelling.foretelling.selectors import cells


class Command(BaseCommand):
    help = (
        "Fit the hierarchical model to all published evidence and write its standard deviations into the file that "
        "rankings read, and where they were found into the one that forecasts begin with (docs/models/hierarchy.md). "
        "For whoever changes the model or the evidence that comes with KDB."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            model = hierarchy.fit(cells())
        except EvidenceError as error:
            raise CommandError(str(error)) from None
        scales = scales_of(model)
        kept = {name: np.round(part, 5).tolist() if name != "names" else part for name, part in asdict(scales).items()}
        lines = [f"{json.dumps(name)}: {json.dumps(part)}" for name, part in kept.items()]
        PUBLISHED.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
        scores = {name: round(score, 5) for name, score in model.proposal.scores.items()}
        proposal = {"scores": scores, "root": np.round(model.proposal.root, 5).tolist()}
        hierarchy.PUBLISHED.write_text(json.dumps(proposal) + "\n", encoding="utf-8")
        self.stdout.write(f"wrote {len(scales.weights)} draws of {len(scales.names)} choices")
