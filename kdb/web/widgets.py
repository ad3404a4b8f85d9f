"""Fields of forms that Django would write more slowly."""

from typing import Any

from django import forms
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe


class Select(forms.Select):
    """A list to choose from, written in one go.

    Django renders two templates an option, and the form of a question has 330 options on every page of an answer.
    """

    def use_required_attribute(self, initial: Any) -> bool:
        # Django reads the first option, and so all of them, before it asks this.
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
