"""Filters of makers' advice, for page and API."""

import django_filters

from . import selectors
from .words import AXIS_LABELS


class GuidanceFilters(django_filters.FilterSet):  # type: ignore[misc]  # django_filters has no types
    axis = django_filters.ChoiceFilter(
        choices=[*AXIS_LABELS.items()], label="About", empty_label="Any", help_text="What it is about."
    )
    publisher = django_filters.ChoiceFilter(
        choices=selectors.publisher_choices, label="Publisher", empty_label="Any", help_text="As a row has it."
    )
