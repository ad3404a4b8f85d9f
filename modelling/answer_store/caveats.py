"""Say how forecasts of this form did on research groups that were left out, by the newest quality report.

Forecasts and rankings come from one model (docs/models/hierarchy.md); a ranking is of entries that somebody measured.
"""

from typing import Any

from django.core.cache import caches

from modelling.evidence.axes import AXES
from modelling.evidence.storage import get_or_compute
from modelling.models import QualityReport

_KEY = "modelling.doubts"
_SECONDS = 60  # that another process may go on with the report before


def forecast_caveat(axis: str) -> str:
    """Return what the newest report says against forecasts on an axis; "" where nothing, or there is none.

    Read when an answer is shown, not stored with it: the report of a revision comes after its answers.
    """
    caveats: dict[str, str] = get_or_compute(_KEY, _caveats, seconds=_SECONDS)
    return caveats.get(axis, "")


def clear_cache() -> None:
    """Have the newest report read again."""
    caches["worked-out"].delete(_KEY)


def _caveats() -> dict[str, str]:
    reports = QualityReport.objects.order_by("-revision", "-method")
    tested = reports.values_list("result__groups", flat=True).first()
    if tested is None or tested["forms"] is None:  # none, of an earlier method, too many cells
        return {}
    forms = {form["name"]: form for form in tested["forms"] if form["by"] == "choice"}
    return {axis: sentence for axis in AXES if (sentence := _sentence(forms.get(axis)))}


def _sentence(form: dict[str, Any] | None) -> str:
    if form is None or form["is_better"] is None:
        return "Don’t extrapolate: too few research groups compared this to test our predictions."
    return "" if form["is_better"] else "Don’t extrapolate: our predictions failed so far."
