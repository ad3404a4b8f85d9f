"""Widgets of forms that render faster than Django's."""

from typing import Any

from django import forms
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe


class Select(forms.Select):
    """A select that is rendered in one step.

    Django renders two templates for each option, and every answer page has a form with 330 options.
    """

    def use_required_attribute(self, initial: Any) -> bool:
        # Check this first, as Django's method reads all options to look at the first.
        return self.is_required and super().use_required_attribute(initial)

    def render(self, name: str, value: Any, attrs: dict[str, Any] | None = None, renderer: Any = None) -> SafeString:
        widget = self.get_context(name, value, attrs)["widget"]
        groups = [
            format_html('<optgroup label="{}">{}</optgroup>', label, _options(options)) if label else _options(options)
            for label, options, _ in widget["optgroups"]
        ]
        body = format_html_join("", "{}", ((group,) for group in groups))
        return format_html('<select name="{}"{}>{}</select>', widget["name"], flatatt(widget["attrs"]), body)


def _options(options: list[dict[str, Any]]) -> SafeString:
    chosen = {True: mark_safe(" selected"), False: ""}
    rows = ((option["value"], chosen[option["selected"]], option["label"]) for option in options)
    return format_html_join("\n", '<option value="{}"{}>{}</option>', rows)
