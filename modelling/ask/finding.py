"""Find answers, comparisons and pages for the search."""

from experiments.catalogue.search.find import Hit

from .gather import read_text


def find_answers(text: str) -> list[Hit]:
    """Return the readings of a text as hits, likeliest first, then pages that answer it."""
    understanding = read_text(text)
    readings = [
        Hit("Comparison" if len(reading.entries) > 1 else "Answer", reading.title, reading.address, "")
        for reading in understanding.readings
    ]
    pages = (*understanding.guides, *understanding.pages)
    return readings + [Hit("Answer", page.title, page.address, page.sentence) for page in pages]
