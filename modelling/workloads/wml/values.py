"""Evaluate values: replace variables, and random variables by their mean."""

import difflib
from collections.abc import Iterable, Mapping

from .tree import Attributes, Joined, Place, Random, Value, Variable, WmlError

LARGEST_NUMBER = 2**63 - 1  # Filebench's numbers are signed 64-bit
LONGEST_NAME = 1024  # characters; MAXPATHLEN
MOST_COMPARED = 1000  # names to compare a misspelt one with, to bound the work


def suggestion(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word[:40], list(known)[:MOST_COMPARED], n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def resolve(value: Value, variables: Mapping[str, Value]) -> Value:
    """Return the value with its variables replaced. Raises WmlError where one is not set."""
    if isinstance(value, Joined):
        return "".join(as_text(resolve(part, variables), value.place, "a part") for part in value.parts)
    if not isinstance(value, Variable):
        return value
    if value.name in variables:
        return variables[value.name]
    if value.is_outside:
        raise WmlError(value.place, f"${value.name} has a value only where Filebench runs")
    close = suggestion(f"${value.name}", (f"${known}" for known in variables))
    raise WmlError(value.place, f"the variable ${value.name} is not set before it is needed{close}")


def as_whole(value: Value, place: Place, what: str) -> int:
    if isinstance(value, Random):
        raise WmlError(place, f"{what} cannot be random")
    if isinstance(value, bool) or not isinstance(value, int):
        shown = str(value).lower() if isinstance(value, bool) else repr(str(value)[:60])
        raise WmlError(place, f"{what} needs a number, not {shown}")
    return value


def as_text(value: Value, place: Place, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise WmlError(place, f"{what} needs a name")
    if len(str(value)) > LONGEST_NAME:
        raise WmlError(place, f"{what} is longer than {LONGEST_NAME} characters")
    return str(value)


class Values:
    """Attributes with their variables replaced; evaluates all of them, so that errors in unused ones are found."""

    def __init__(self, attributes: Attributes, variables: Mapping[str, Value]) -> None:
        self.attributes = attributes
        self.variables = variables
        self.values = {name: resolve(attribute.value, variables) for name, attribute in attributes.items()}

    def name(self, place: Place, what: str) -> str:
        if "name" not in self.values:
            raise WmlError(place, f"{what} needs a name")
        return as_text(self.values["name"], self.attributes["name"].place, "name")

    def text(self, name: str) -> str | None:
        return as_text(self.values[name], self.attributes[name].place, name) if name in self.values else None

    def flag(self, name: str) -> bool:
        value = self.values.get(name, False)
        if not isinstance(value, bool | int):
            raise WmlError(self.attributes[name].place, f"{name} needs true or false")
        return bool(value)

    def whole(self, name: str, default: int = 0) -> int:
        return as_whole(self.values[name], self.attributes[name].place, name) if name in self.values else default

    def mean(self, name: str, default: float = 0.0) -> float:
        """Return the number, or the mean of the random variable."""
        value = self.values.get(name)
        if not isinstance(value, Random):
            return default if value is None else float(self.whole(name))
        mean = random_mean(value, self.variables)
        if not 0 <= mean <= LARGEST_NUMBER:
            raise WmlError(self.attributes[name].place, f"the mean of {name} is negative or too large")
        return mean


def random_mean(variable: Random, variables: Mapping[str, Value]) -> float:
    """Return the mean as in fb_random.c: the table's if none is given; gamma/1000 for gamma without one."""
    number = Values(variable.attributes, variables).whole
    if variable.kind == "tabular":
        return number("mean") or variable.own_mean or 0.0
    if variable.own_mean is not None:
        return min(max(variable.own_mean, number("min", -LARGEST_NUMBER)), number("max", LARGEST_NUMBER))
    if variable.kind == "gamma" and "mean" not in variable.attributes:
        return max(number("gamma", 1500) / 1000, number("min"))
    return number("mean")
