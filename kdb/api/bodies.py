"""Hold what is sent as JSON against the types that the API's document gives, before a form sees it.

Forms read text as pages post it: to them any text ticks a box, and a line break in a name begins the next line of a
list. So the types are checked here, once for every operation that takes an object.
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

# Shown as a text area, as REST framework's own forms do: the only texts that may have several lines.
TEXT_AREA = {"base_template": "textarea.html"}
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SHOWN = 60  # characters of a wrong value


@extend_schema_field({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
class OneOrSeveral(serializers.ListField):
    """A text, or a list of texts where there are several."""

    child = serializers.CharField()

    def to_representation(self, data: list[str]) -> Any:
        return data[0] if len(data) == 1 else data


class Fields(serializers.Serializer[Any]):
    # No docstring: the API's document would give it to every shape that has none.
    if TYPE_CHECKING:
        # REST framework takes fields out of the class that declares them; the stubs see its own attributes overwritten.
        context: Any
        create: Any
        data: Any
        label: Any
        source: Any


class FormFields(Fields):
    # The fields of `form` as a body has them, with its limits, and those that are declared. No docstring: see above.
    form: Any
    names: tuple[str, ...] = ()  # of the form's fields; empty: all
    about: Mapping[str, str] = {}  # help texts by field
    fills_in = False  # what is left out is as on the form before somebody fills it in

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        declared, like = super().get_fields(), self.form.base_fields
        fields = {name: declared.get(name) or self._like(name, like[name]) for name in self.names or like}
        return fields | declared

    def _like(self, name: str, field: forms.Field) -> serializers.Field[Any, Any, Any, Any]:
        options: dict[str, Any] = {"required": field.required and not (self.fills_in and field.initial is not None)}
        if name in self.about:
            options["help_text"] = self.about[name]
        if isinstance(field, forms.MultipleChoiceField):
            return serializers.ListField(child=serializers.CharField(), **options)
        limits = {limit: getattr(field, limit, None) for limit in ("min_value", "max_value", "max_length")}
        options |= {limit: value for limit, value in limits.items() if value is not None}
        kind = next(like for of, like in _LIKE if isinstance(field, of))
        return kind(**options)


_LIKE: tuple[tuple[type[forms.Field], Any], ...] = (
    (forms.FloatField, serializers.FloatField),
    (forms.IntegerField, serializers.IntegerField),
    (forms.BooleanField, serializers.BooleanField),
    (forms.SlugField, serializers.SlugField),
    (forms.Field, serializers.CharField),
)


def fields_of(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the body's fields. Null counts as a missing field, and the form judges missing fields.

    Raises FaultyRequest where it is no object, has fields that `shape` does not have, or values of other types.
    """
    if not isinstance(request.data, dict):
        raise FaultyRequest([{"field": "body", "message": "An object is expected."}])
    if errors := faults(request.data, shape):
        raise FaultyRequest(errors)
    return {name: value for name, value in request.data.items() if value is not None}


def faults(fields: dict[str, Any], shape: type[serializers.Serializer[Any]]) -> list[FieldError]:
    """Return the first fields that `shape` does not have, or that have values of other types."""
    return [*islice(_of_object(shape(), fields, ""), MOST_ERRORS)]


def _of_object(shape: serializers.Serializer[Any], fields: dict[str, Any], prefix: str) -> Iterator[FieldError]:
    for name, value in fields.items():
        if name not in shape.fields:
            allowed = [f"{prefix}{name}" for name in shape.fields]
            message = f"There is no such field; there are {', '.join(allowed)}."
            yield {"field": f"{prefix}{name}"[:200], "message": message, "allowed": allowed}
        elif value is not None:
            yield from _faults(shape.fields[name], value, f"{prefix}{name}")


def _faults(field: Any, value: Any, place: str) -> Iterator[FieldError]:
    if isinstance(field, serializers.JSONField):
        return
    is_right, allowed = next((is_right, allowed) for kind, is_right, allowed in _TYPES if isinstance(field, kind))
    if not is_right(value):
        yield _fault(place, value, allowed)
    elif isinstance(field, serializers.Serializer):
        yield from _of_object(field, value, f"{place}.")
    elif isinstance(field, serializers.ListField):
        for number, item in enumerate([value] if isinstance(value, str) else value):
            yield from _faults(field.child, item, f"{place}[{number}]")
    elif isinstance(field, serializers.DictField):
        for name, item in value.items():
            yield from _of_text(name, place)
            yield from _faults(field.child, item, f"{place}.{name}")
    elif isinstance(value, str) and field.style != TEXT_AREA:
        yield from _of_text(value, place)


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


def _of_text(value: str, place: str) -> Iterator[FieldError]:
    if _BREAKS.search(value):
        yield _fault(place, value, "a text of one line, without control characters,")


def _fault(place: str, value: Any, allowed: str) -> FieldError:
    text = json.dumps(value, ensure_ascii=False)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return {"field": place[:200], "message": f"Found {shown}; {allowed} is allowed."}
