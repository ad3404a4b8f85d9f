"""A claim's printed figure stands for whatever rounds to it: its check has these ends, and no hand chose others."""

import csv
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tests.test_architecture import ROOT

# "2-2.5 times" is of one decimal at both ends, "93% to 2 times" is 93 % at one machine.
BY_HAND = {"P0-C16": [1.95, 2.55], "P0-C49": [1.925, 1.935]}
FIGURES = re.compile(r"by (?:about )?(\d[\d.]*)(%| times)?(?:(?:-| to )(\d[\d.]*|two)(%| times))?$")


def claims() -> Iterator[tuple[str, str, Any]]:
    """Yield code, statement and own check of each claim that ends with figures: "by 35-53%", "by 2.7 times"."""
    with (ROOT / "fixtures" / "claims.csv").open(newline="") as file:
        statements = {row["code"]: row["statement"] for row in csv.DictReader(file)}
    checks = json.loads((ROOT / "fixtures" / "claim_checks.json").read_text())["claims"]
    for check in checks:
        if FIGURES.search(statement := statements[check["claim"]]):
            yield check["claim"], statement, check["checks"]["own"]


def ranges(check: Any) -> Iterator[list[float]]:
    """Yield the ranges that a check wants ratios to lie in."""
    if isinstance(check, dict):
        if "is" in check:
            yield check["is"]
        for part in check.values():
            yield from ranges(part)
    elif isinstance(check, list):
        for part in check:
            yield from ranges(part)


def ends(figure: str, unit: str) -> tuple[Decimal, Decimal]:
    """Return the least and greatest ratio that rounds to a printed figure."""
    value = Decimal({"two": "2"}.get(figure, figure))
    half = Decimal(5).scaleb(int(value.as_tuple().exponent) - 1)
    least, greatest = (1 + end / 100 if "%" in unit else end for end in (value - half, value + half))
    return least, greatest


@pytest.mark.parametrize(("code", "statement", "check"), [*claims()])
def test_the_range_of_a_claim_is_what_its_figures_round_to(code, statement, check):
    first, unit, second, second_unit = FIGURES.search(statement).groups(default="")
    unit = unit or second_unit
    of_figures = [ends(first, unit), *([ends(second, second_unit or unit)] if second else [])]
    rounded = [float(min(least for least, _ in of_figures)), float(max(greatest for _, greatest in of_figures))]
    assert [*ranges(check)] == [BY_HAND.get(code, rounded)]


def test_figures_are_looked_for_in_many_claims():
    assert len([*claims()]) > 20
