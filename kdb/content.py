"""How a class of content tells the API's document what its fields mean. No Django.

    ratio: Annotated[float | None, "Null: only tier lists place it."]
    grade: Annotated[str, Among(GRADES)]

Beside a field's type a text is its description, `Among` names the values that it may have, and NOT_SERVED keeps it out
of the API. The class's docstring describes the component, whose name is the class's, or `component` where it has that.
"""

from collections.abc import Iterable
from typing import Annotated

from .units import METRICS

NOT_SERVED = object()


class Among:
    """The values that a text may have."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = tuple(values)


MetricName = Annotated[str, Among(METRICS)]
