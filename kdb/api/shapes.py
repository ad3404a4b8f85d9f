"""Make serializers for the API's document from dataclasses of content, so that fields are described once."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from functools import cache
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from rest_framework import serializers

from kdb.content import NOT_SERVED, Among

from .bodies import Fields

_Field = serializers.Field[Any, Any, Any, Any]
_PLAIN: dict[Any, type[_Field]] = {
    str: serializers.CharField,
    int: serializers.IntegerField,
    float: serializers.FloatField,
    bool: serializers.BooleanField,
    date: serializers.DateField,
    datetime: serializers.DateTimeField,
    Any: serializers.JSONField,
}


@cache
def shape_of(content: type, *further: type) -> type[Fields]:
    """Return the serializer that a dataclass or TypedDict describes (kdb.content). Only NotRequired is optional.

    further : dataclasses whose fields the same object has, too
    Raises KeyError where a field is of a type that JSON does not have.
    """
    described = {name: field for kind in (*further, content) for name, field in _fields(kind)}
    name = vars(content).get("component", content.__name__)
    return type(f"{name}Serializer", (Fields,), {"__doc__": cleandoc(content.__doc__ or ""), **described})


def _fields(content: Any) -> list[tuple[str, _Field]]:
    hints = get_type_hints(content, include_extras=True)
    names = [*hints] if is_typeddict(content) else [field.name for field in fields(content)]
    served = [name for name in names if NOT_SERVED not in get_args(hints[name])]
    return [(name, _field(hints[name])) for name in served]


def _field(hint: Any, **options: Any) -> _Field:
    """Return the serializer field of a type. options : its arguments, from annotations of the type"""
    kind, arguments = get_origin(hint), get_args(hint)
    if kind is Annotated:
        for note in hint.__metadata__:
            options = {**({"choices": note.values} if isinstance(note, Among) else {"help_text": note}), **options}
        return _field(arguments[0], **options)
    if kind in (Union, UnionType):
        inner = [argument for argument in arguments if argument is not NoneType]
        if len(inner) < len(arguments):
            options["allow_null"] = True
        return _field(inner[0], **options) if len(inner) == 1 else serializers.DictField(**options)
    if kind is Literal or "choices" in options:
        return serializers.ChoiceField(**{"choices": arguments, **options})
    if kind is NotRequired:
        return _field(arguments[0], required=False, **options)
    if is_dataclass(hint) or is_typeddict(hint):
        return shape_of(hint)(**options)
    if kind in (tuple, list, Sequence):
        return serializers.ListField(child=_field(arguments[0]), **options)
    if kind in (dict, Mapping):
        return serializers.DictField(child=_field(arguments[1]), **options)
    return _PLAIN[hint](**options)
