"""The text of a page that counts: all that a reader sees of it, and nothing that changes by itself."""

import pytest

from experiments.sources.text import digest

PAGE = "<html><head><style>p{}</style></head><body><nav>Home</nav><p>Random  reads:\n52170 IOPS</p>%s</body></html>"


def of(html: str, kind: str = "text/html; charset=utf-8") -> str:
    return digest(html.encode(), kind)


@pytest.mark.parametrize(
    "beside",
    [
        "<script>let now = 12;</script>",
        "<footer>3 visitors</footer>",
        "<p>2026-05-26 12:34</p>",
        "<p>26 May 2026, 9:05 pm</p>".replace(", ", " "),
        "<time>yesterday</time>",
        "<aside><b>Read next<i>more</aside>",
    ],
)
def test_what_changes_by_itself_does_not_count(beside):
    assert of(PAGE % beside) == of(PAGE % "")


@pytest.mark.parametrize("beside", ["<p>Withdrawn</p>", "<p>4 KiB</p>"])
def test_what_a_reader_sees_counts(beside):
    assert of(PAGE % beside) != of(PAGE % "")


def test_other_texts_lose_space_alone_and_what_is_no_text_loses_nothing():
    assert of("a,b\n1,2\n", "text/csv") == of("a,b\r\n1,2", "text/csv")
    assert of("at 12:34", "text/plain") != of("at 12:35", "text/plain")
    assert of("a b", "application/pdf") != of("a  b", "application/pdf")
