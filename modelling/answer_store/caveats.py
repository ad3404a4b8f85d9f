"""Warn about forecasts on an axis by how they did on held-out research groups in the newest quality report.

Forecasts and rankings come from one model (docs/models/hierarchy.md); a ranking is of entries that somebody measured.
"""

from typing import Any

from django.core.cache import caches

from modelling.evidence.axes import AXES
from modelling.evidence.storage import get_or_compute
from modelling.models import QualityReport

_KEY = "modelling.forecast_caveats"
_SECONDS = 60  # cache lifetime: another process uses the previous report for so long


def forecast_caveat(axis: str) -> str:
    """Return the warning of the newest report about forecasts on an axis; "" where there is none.

    Read when an answer is shown, not stored with it: a revision's report is written after its answers.
    """
    caveats: dict[str, str] = get_or_compute(_KEY, _caveats, seconds=_SECONDS)
    return caveats.get(axis, "")


def clear_cache() -> None:
    """Clear the cached caveats, so that the newest report is read again."""
    caches["worked-out"].delete(_KEY)


def _caveats() -> dict[str, str]:
    reports = QualityReport.objects.order_by("-revision", "-method")
    held_out = reports.values_list("result__groups", flat=True).first()
    if held_out is None or held_out["forms"] is None:  # no report, one of an earlier method, or too many cells to test
        return {}
    forms = {form["name"]: form for form in held_out["forms"] if form["by"] == "choice"}
    return {axis: sentence for axis in AXES if (sentence := _sentence(forms.get(axis)))}


def _sentence(form: dict[str, Any] | None) -> str:
    if form is None or form["is_better"] is None:
        return "Don’t extrapolate: too few research groups compared this to test our predictions."
    return "" if form["is_better"] else "Don’t extrapolate: our predictions failed so far."
