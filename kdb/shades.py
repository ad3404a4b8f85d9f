"""Choose the tint of each cell of a table, for the classes heat-0 to heat-4 of static/css/kdb.css."""

from collections.abc import Sequence


def shades(heights: Sequence[float]) -> list[int]:
    """Return 0 for the lowest to 4 for the highest; 4 for all where they are equal."""
    low, high = min(heights, default=0.0), max(heights, default=0.0)
    return [4 if high == low else round(4 * (height - low) / (high - low)) for height in heights]
