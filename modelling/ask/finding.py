"""Find the answers and comparisons for the search: the questions that the words ask."""

from experiments.catalogue.search.find import Hit

from .gather import understood


def found_in(text: str) -> list[Hit]:
    """Return the readings of a text, the likeliest first, then pages that answer where no ranking does."""
    understanding = understood(text)
    readings = [
        Hit("Comparison" if len(reading.entries) > 1 else "Answer", reading.title, reading.address, "")
        for reading in understanding.readings
    ]
    pages = (*understanding.guides, *understanding.pages)
    return readings + [Hit("Answer", page.title, page.address, page.sentence) for page in pages]
