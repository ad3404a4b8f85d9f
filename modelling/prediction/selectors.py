"""Forecast pairs of configurations from all published evidence."""

from collections.abc import Mapping

from django.conf import settings

from modelling.answers.knowledge import published_knowledge
from modelling.estimation.cells import CONTAINER, choices, load_class
from modelling.evidence.axes import NATIVE

from .content import PairForecast, forecast_pair, is_forecastable


def forecast(
    a: Mapping[str, str], b: Mapping[str, str], workload: str, storage: str | None, as_of: int | None = None
) -> PairForecast | None:
    """Forecast the ratio of two entries; None where they differ in a decisive choice that nobody compared.

    a, b : column of arms to value; as_of : use the evidence of this knowledge revision in place of the current one
    """
    known = published_knowledge(as_of, with_native=NATIVE in (a.get("hypervisor"), b.get("hypervisor")))
    containers = known.containers
    first, second = (
        choices(dict(side, virtualisation=CONTAINER if side.get("hypervisor") in containers else ""), known.networked)
        for side in (a, b)
    )
    if not is_forecastable(known.cells, first, second):
        return None
    where = {"workload": workload, "load": load_class(workload, ""), "storage": storage or ""}
    return forecast_pair(known, first, second, where, margin())


def margin() -> float:
    """Return the share beyond which a difference of two speeds matters."""
    return float(settings.KDB_MARGIN)
