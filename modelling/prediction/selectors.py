"""Forecasts of pairs of configurations, by everything published."""

from collections.abc import Mapping

from django.conf import settings

from modelling.answers.knowledge import everything
from modelling.estimation.cells import CONTAINER, choices, load_class
from modelling.evidence.axes import NATIVE

from .content import PairForecast, compares, forecast_pair


def forecast(
    a: Mapping[str, str], b: Mapping[str, str], workload: str, storage: str | None, as_of: int | None = None
) -> PairForecast | None:
    """Forecast the ratio of two entries, by what is published or counted at a revision.

    a, b : columns of arms to what each states
    Return None where they differ in a hypervisor, file system or backend that nobody compared.
    """
    known = everything(as_of, with_native=NATIVE in (a.get("hypervisor"), b.get("hypervisor")))
    first, second = (
        choices({**side, "virtualisation": CONTAINER if side.get("hypervisor") in known.containers else ""})
        for side in (a, b)
    )
    if not compares(known.cells, first, second):
        return None
    where = {"workload": workload, "load": load_class(workload, ""), "storage": storage or ""}
    return forecast_pair(known, first, second, where, margin())


def margin() -> float:
    """Return the share beyond which a difference of two speeds matters."""
    return float(settings.KDB_MARGIN)
