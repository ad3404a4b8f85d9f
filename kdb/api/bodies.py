"""Check the types of JSON bodies against the API's document, before a form reads their values.

Forms expect text as browsers post it: any text ticks a checkbox, and a line break in a name starts the next line of a
list. So types are checked here, once for every operation that takes an object.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from django import forms
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from kdb.api.formats import MOST_ERRORS

from .faults import FaultyRequest, FieldError

# The style of REST framework for text areas, which marks the only texts that may have several lines.
TEXT_AREA = {"base_template": "textarea.html"}
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SHOWN = 60  # characters of a faulty value that a message quotes


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
class OneOrSeveral(serializers.ListField):
    """A text, or a list of texts where there are several."""

    child = serializers.CharField()

    def to_representation(self, data: list[str]) -> Any:
        return data[0] if len(data) == 1 else data


class Fields(serializers.Serializer[Any]):
    # No docstring, which the API's document would give to every subclass without one of its own.
    if TYPE_CHECKING:
        # REST framework removes declared fields from the class; the stubs see them override attributes.
        context: Any
        create: Any
        data: Any
        label: Any
        source: Any


class FormFields(Fields):
    # The fields of `form` as serializer fields with the same limits, and the declared ones. No docstring: see above.
    form: Any
    names: tuple[str, ...] = ()  # of the form's fields; empty: all
    about: Mapping[str, str] = {}  # help texts by field
    fills_in = False  # whether missing fields have the form's initial values

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        declared, offered = super().get_fields(), self.form.base_fields
        fields = {
            name: declared.get(name) or self._serializer_field(name, offered[name]) for name in self.names or offered
        }
        return fields | declared

    def _serializer_field(self, name: str, field: forms.Field) -> serializers.Field[Any, Any, Any, Any]:
        options: dict[str, Any] = {"required": field.required and not (self.fills_in and field.initial is not None)}
        if name in self.about:
            options["help_text"] = self.about[name]
        if isinstance(field, forms.MultipleChoiceField):
            return serializers.ListField(child=serializers.CharField(), **options)
        limits = {limit: getattr(field, limit, None) for limit in ("min_value", "max_value", "max_length")}
        options |= {limit: value for limit, value in limits.items() if value is not None}
        kind = next(kind for form_kind, kind in _SERIALIZER_FIELDS if isinstance(field, form_kind))
        return kind(**options)


_SERIALIZER_FIELDS: tuple[tuple[type[forms.Field], Any], ...] = (
    (forms.FloatField, serializers.FloatField),
    (forms.IntegerField, serializers.IntegerField),
    (forms.BooleanField, serializers.BooleanField),
    (forms.SlugField, serializers.SlugField),
    (forms.Field, serializers.CharField),
)


def fields_of(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the body's fields without those that are null, which the form then treats as missing.

    Raises FaultyRequest where the body is no object, or a field is unknown to `shape` or of another type.
    """
    if not isinstance(request.data, dict):
        raise FaultyRequest([{"field": "body", "message": "An object is expected."}])
    if errors := faults(request.data, shape):
        raise FaultyRequest(errors)
    return {name: value for name, value in request.data.items() if value is not None}


def faults(fields: dict[str, Any], shape: type[serializers.Serializer[Any]]) -> list[FieldError]:
    """Return the first MOST_ERRORS fields that `shape` does not have or that are of other types."""
    return [*islice(_object_faults(shape(), fields, ""), MOST_ERRORS)]


def _object_faults(shape: serializers.Serializer[Any], fields: dict[str, Any], prefix: str) -> Iterator[FieldError]:
    for name, value in fields.items():
        if name not in shape.fields:
            allowed = [f"{prefix}{name}" for name in shape.fields]
            message = f"There is no such field; there are {', '.join(allowed)}."
            yield {"field": f"{prefix}{name}"[:200], "message": message, "allowed": allowed}
        elif value is not None:
            yield from _field_faults(shape.fields[name], value, f"{prefix}{name}")


def _field_faults(field: Any, value: Any, place: str) -> Iterator[FieldError]:
    if isinstance(field, serializers.JSONField):
        return
    is_right, allowed = next((is_right, allowed) for kind, is_right, allowed in _TYPES if isinstance(field, kind))
    if not is_right(value):
        yield _fault(place, value, allowed)
    elif isinstance(field, serializers.Serializer):
        yield from _object_faults(field, value, f"{place}.")
    elif isinstance(field, serializers.ListField):
        for number, item in enumerate([value] if isinstance(value, str) else value):
            yield from _field_faults(field.child, item, f"{place}[{number}]")
    elif isinstance(field, serializers.DictField):
        for name, item in value.items():
            yield from _line_faults(name, place)
            yield from _field_faults(field.child, item, f"{place}.{name}")
    elif isinstance(value, str) and field.style != TEXT_AREA:
        yield from _line_faults(value, place)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


_TYPES: list[tuple[type[serializers.Field[Any, Any, Any, Any]], Callable[[Any], bool], str]] = [
    (serializers.Serializer, lambda value: isinstance(value, dict), "an object"),
    (serializers.DictField, lambda value: isinstance(value, dict), "an object"),
    (OneOrSeveral, lambda value: isinstance(value, str | list), "a text, or a list of texts,"),
    (serializers.ListField, lambda value: isinstance(value, list), "a list"),
    (serializers.BooleanField, lambda value: isinstance(value, bool), "true or false"),
    (serializers.IntegerField, lambda value: _is_number(value) and value == int(value), "a whole number"),
    (serializers.FloatField, _is_number, "a number"),
    (serializers.CharField, lambda value: isinstance(value, str), "a text"),
    (serializers.ChoiceField, lambda value: isinstance(value, str), "a text"),
]


def _line_faults(value: str, place: str) -> Iterator[FieldError]:
    if _BREAKS.search(value):
        yield _fault(place, value, "a text of one line, without control characters,")


def _fault(place: str, value: Any, allowed: str) -> FieldError:
    text = json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return {"field": place[:200], "message": f"Found {shown}; {allowed} is allowed."}
