"""Annotations by which a class of content tells the API's document what its fields mean. No Django.

    ratio: Annotated[float | None, "Null: only tier lists place it."]
    grade: Annotated[str, Among(GRADES)]

Beside a field's type a text is its description, `Among` names the values that it may have, and NOT_SERVED keeps it out
of the API. The class's docstring describes the component, whose name is the class's, or `component` where it has that.
"""

from collections.abc import Iterable
from dataclasses import fields
from typing import Annotated, Any, TypeVar

from .units import METRICS

NOT_SERVED = object()
Content = TypeVar("Content")


class Among:
    """The values that a text may have."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = tuple(values)


def taken(content: type[Content], source: object, **beside: Any) -> Content:
    """Return content whose fields are those of the same names in the source, but for those given beside.

    source : None where there is none; then the fields are None, as is what the source lacks
    """
    names = [field.name for field in fields(content)]  # type: ignore[arg-type]
    return content(**{name: beside[name] if name in beside else getattr(source, name, None) for name in names})


MetricName = Annotated[str, Among(METRICS)]
