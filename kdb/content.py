"""Annotations that describe the fields of content classes for the API's document. No Django.

    ratio: Annotated[float | None, "Null: only tier lists place it."]
    grade: Annotated[str, Among(GRADES)]

In Annotated, a text is the field's description, `Among` has the values that it may have, and NOT_SERVED leaves it out
of the API. The class's docstring describes the component, whose name is the attribute `component` or the class's.
"""

from collections.abc import Iterable
from dataclasses import fields
from typing import Annotated, Any, TypeVar

from .units import METRICS

NOT_SERVED = object()
Content = TypeVar("Content")


class Among:
    """The allowed values of a text field."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = tuple(values)


def taken(content: type[Content], source: object, **beside: Any) -> Content:
    """Return content with the source's attributes of the same names; attributes that it lacks are None.

    source : may be None, then all are
    beside : values of fields that are not taken from the source
    """
    names = [field.name for field in fields(content)]  # type: ignore[arg-type]
    return content(**{name: beside[name] if name in beside else getattr(source, name, None) for name in names})


MetricName = Annotated[str, Among(METRICS)]
