"""Parse numbers: plain cells of the template, and cells as papers and web pages print them. No Django.

A template's cell   123.4, 16 (also as the numbers of a spreadsheet, like 16.0)
A printed cell      123.4, 1,234, 145K, 1.2 GB/s, 120-140 (its middle, with least and greatest), 120 ± 5, ~500, 85 %
                    of another value, +12 % against it, 1,251,093 KiB/s (~1.2 GB/s)
"""

import math
import re
from dataclasses import dataclass, replace

from kdb.units import PREFIXES, UNITS, SpelledUnit, convert, spelled_unit

LONGEST_NUMBER = 120  # characters of a printed cell
LARGEST = 2**63 - 1
IN_RANGE = "The middle of the printed range."
ABOUT = "Printed as about that."
ALIKE = 0.1  # a number and the rounded one in brackets behind it differ by at most this share


class WrongValue(Exception):  # noqa: N818 - becomes a fault of a line, which the raiser does not know
    """The field, what was found in it, and what is expected."""


# Cells of the template


def positive_number(field: str, cell: str | int | float, *, or_zero: bool = False) -> float:
    """Return a finite number above zero, from a number or a text with at most a decimal point. Raises WrongValue."""
    try:
        value = math.nan if isinstance(cell, str) and "_" in cell else float(cell)
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or value < 0 or (value == 0 and not or_zero):
        expected = f"a number {'not below' if or_zero else 'above'} zero, like 123.4"
        raise WrongValue(field, "nothing" if cell == "" else str(cell), expected)
    return value


def whole_number(field: str, cell: str | int | float, *, lowest: int = 1, largest: int = LARGEST) -> int:
    """Return a whole number; 4.0 and "4.0" are one, because spreadsheets write so. Raises WrongValue."""
    if isinstance(cell, str):
        digits = cell.removesuffix(".0")
        value = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else math.nan
    else:
        value = int(cell) if isinstance(cell, int) or cell.is_integer() else math.nan
    if not lowest <= value <= largest:
        expected = f"a whole number from {lowest} to {largest:,}"
        raise WrongValue(field, "nothing" if cell == "" else str(cell), expected)
    return int(value)


# Printed cells

_LOOKS_NUMERIC = re.compile(
    r"[~≈<>+-]?\d[\d.,]*(?: ?[^\s\d]{1,7})?(?: ?(?:±|\+/-|-|–|to) ?\d.{0,15})?(?: ?\([~≈]?\d[^()]{0,30}\))?"
)
_NUMBER = r"\d{1,20}(?:[.,']\d{1,20}){0,8}(?:[eE][+-]?\d{1,3})?"
_CELL = re.compile(
    rf"(?P<about>~|≈|about |approx\. ?|ca\. ?)?(?P<sign>[+-]|−)? ?(?P<low>{_NUMBER})(?P<low_prefix>[kKMGT]?)"
    rf"(?:(?P<own_space> ?)(?P<own>[A-Za-zµμ%/]{{1,12}}))?"
    rf"(?:(?: ?(?:-|–|—|\.\.\.?|…|to) ?)(?P<high>{_NUMBER})(?P<high_prefix>[kKMGT]?))?"
    rf"(?: ?(?:±|\+/-|\+-) ?(?P<deviation>{_NUMBER})(?P<deviation_prefix>[kKMGT]?)(?P<deviation_percent> ?%)?)?"
    r"(?P<space> ?)(?P<unit>\D.{0,20})?"
)
_RESTATED = re.compile(
    r"([^()]{0,80}\d[^()]{0,80}?) ?\(((?:~|≈|about |approx\. ?|ca\. ?|= ?)?\d[^()]{0,40}[A-Za-z][^()]{0,40})\)"
)


def looks_numeric(cell: str) -> bool:
    """Tell whether a printed cell is a number, with or without a unit, a range or a deviation."""
    return _LOOKS_NUMERIC.fullmatch(cell) is not None


@dataclass(frozen=True)
class PrintedNumber:
    """A printed cell, in a unit of UNITS.

    unit : None for a percentage, whose value is a share: 0.85 of 85 % and 1.12 of +12 %
    text : the cell as it was printed, where value is that number unchanged
    """

    value: float
    unit: SpelledUnit | None
    minimum: float | None = None
    maximum: float | None = None
    deviation: float | None = None
    notes: tuple[str, ...] = ()
    text: str = ""

    def scaled_by(self, base: float, unit: SpelledUnit) -> "PrintedNumber":
        """Return the number times `base`, in another unit."""

        def scaled(number: float | None) -> float | None:
            return None if number is None else number * base

        spread = scaled(self.minimum), scaled(self.maximum), scaled(self.deviation)
        return PrintedNumber(self.value * base, unit, *spread, self.notes)

    def columns(self) -> dict[str, str]:
        """Return the columns of the template that the cell fills."""
        assert self.unit is not None
        columns = {"value": self.text or number_text(self.value), "unit": self.unit.unit}
        spread = {"minimum": self.minimum, "maximum": self.maximum, "standard_deviation": self.deviation}
        return columns | {name: number_text(number) for name, number in spread.items() if number is not None}


def printed_number(
    column: str, cell: str, unit_of_column: str, decimal: str, *, or_zero: bool = False
) -> PrintedNumber:
    """Return the number in a printed cell, in the unit that it or its column says. Raises WrongValue.

    decimal : "." or ",", the sign before the decimals
    """
    if len(cell) <= LONGEST_NUMBER and (restated := _RESTATED.fullmatch(cell)):
        return _printed_twice(column, restated[1], restated[2], unit_of_column, decimal)
    match = _CELL.fullmatch(cell) if len(cell) <= LONGEST_NUMBER else None
    if match is None:
        bound = "; a bound is no value: leave the row out, or say it in words" if cell[:1] in "<>≤≥" else ""
        allowed = "a number such as 123.4, 145K, 1.2 GB/s, 120-140 or 120 ± 5; n/a for none"
        raise WrongValue(column, cell[:80], allowed + bound)
    unit_text, space = match["own"] or "", match["own_space"]
    if (last := (match["unit"] or "").strip()) and last != unit_text:
        if unit_text and (match["high"] or match["deviation"]):
            raise WrongValue(column, cell[:80], "one unit for all of a cell")
        unit_text, space = f"{unit_text} {last}".strip(), space if unit_text else match["space"]
    prefix = match["high_prefix"] or match["low_prefix"]
    if unit_text in PREFIXES and unit_text:  # "145 K"
        prefix, unit_text = unit_text, ""
    elif unit_text and not space and prefix and unit_text != "%":  # "1.2GB/s"
        unit_text, prefix = prefix + unit_text, ""
    is_percent = unit_text == "%" or (unit_of_column == "%" and not unit_text)
    if match["sign"] and not is_percent:
        raise WrongValue(column, cell[:80], "a number above zero")
    unit = None if is_percent else spelled_unit(unit_text or unit_of_column)
    if unit is None and not is_percent:
        allowed = f"one of {', '.join(UNITS)}, with a prefix or without, like GB/s, kIOPS or ns"
        raise WrongValue("unit", unit_text or unit_of_column, allowed)

    def in_unit(name: str) -> float | None:
        if not match[name]:
            return None
        letter = prefix if name in ("low", "high") else match["deviation_prefix"] or prefix
        return decimal_number(column, match[name], decimal) * PREFIXES[letter] * (unit.factor if unit else 0.01)

    low, high, deviation = in_unit("low"), in_unit("high"), in_unit("deviation")
    assert low is not None
    if match["sign"]:
        low, high = 1 + (low if match["sign"] == "+" else -low), None
    if high is not None and low > high:
        low, high = high, low
    value = low if high is None else (low + high) / 2
    if deviation is not None and match["deviation_percent"] and not is_percent:
        deviation = value * decimal_number(column, match["deviation"], decimal) / 100
    if not (value > 0 or (value == 0 and or_zero)) or value == math.inf:
        raise WrongValue(column, cell[:80], "a number above zero")
    notes = (*([IN_RANGE] if high is not None else []), *([ABOUT] if match["about"] else []))
    is_as_printed = cell == match["low"] and decimal == "." and "," not in cell and "'" not in cell
    text = cell if is_as_printed and unit is not None and unit.factor == 1 else ""
    return PrintedNumber(value, unit, None if high is None else low, high, deviation, notes, text)


def _printed_twice(column: str, first: str, again: str, unit_of_column: str, decimal: str) -> PrintedNumber:
    """Return the first number of a cell that has the same again in brackets, in another unit. Raises WrongValue.

    A number of another metric in brackets, as IOPS beside MiB/s, is kept as a note.
    """
    number = printed_number(column, first, unit_of_column, decimal)
    other = printed_number(column, again.removeprefix("=").strip(), "", decimal)
    if number.unit is None or other.unit is None:
        raise WrongValue(column, f"{first} ({again})"[:80], "a number with its unit before the brackets and in them")
    if number.unit.metric != other.unit.metric:
        return replace(number, notes=(*number.notes, f"Printed beside it: {again}."), text="")
    if abs(number.value - convert(other.value, other.unit.unit, number.unit.unit)) > ALIKE * number.value:
        raise WrongValue(column, f"{first} ({again})"[:80], "the same value in brackets, rounded or in another unit")
    return number


def decimal_number(column: str, text: str, decimal: str) -> float:
    """Return the number of "1,234.5", or with a decimal comma of "1.234,5". Raises WrongValue."""
    thousands = "," if decimal == "." else "."
    whole, _, rest = text.partition(decimal)
    groups = re.split(rf"[{thousands}']", whole)
    is_grouped = len(groups) == 1 or (len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))
    if thousands in rest or decimal in rest or not is_grouped:
        allowed = f'a number with "{decimal}" before its decimals; say decimal = "," for the other one'
        raise WrongValue(column, text, allowed)
    return float("".join(groups) + ("." + rest if rest else ""))


def number_text(number: float) -> str:
    """Return a number as text, without the traces of binary arithmetic."""
    return repr(float(f"{number:.12g}")).removesuffix(".0")
