"""Series that members let others see: each has a page and a badge at an address that cannot be guessed."""

import secrets
from dataclasses import asdict
from typing import Any

from django.db import transaction

from modelling.models import Laboratory, SharedSeries
from modelling.own_lab.selectors import audit

from .content import Series


def share_series(laboratory: Laboratory, series: Series, name: str, *, user: Any) -> None:
    """Let everybody who knows its address see a series; again it keeps that."""
    told = {"about": {**asdict(series), "name": name}, "address": secrets.token_hex(16)}
    with transaction.atomic():
        shared, is_new = SharedSeries.objects.get_or_create(laboratory=laboratory, series=series.key, defaults=told)
        if is_new:
            audit(laboratory, user, "series shared", str(shared))


def stop_sharing(laboratory: Laboratory, key: str, *, user: Any) -> None:
    """Let nobody but members see a series; its address leads nowhere any more."""
    with transaction.atomic():
        shared = SharedSeries.objects.filter(laboratory=laboratory, series=key).first()
        if shared:
            audit(laboratory, user, "series not shared any more", str(shared))
            shared.delete()
