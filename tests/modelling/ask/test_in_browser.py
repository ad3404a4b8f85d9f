"""Questions typed into the box in Chromium: with JavaScript the page says what it says without."""

from collections.abc import Iterator
from itertools import chain
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from .test_language import rows

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# One of each kind: compared with a load and without, asked for one, a page, nothing known.
REPRESENTATIVE = (
    "lxc or kvm for nginx",
    "Proxmox, ESXi or Hyper-V?",
    "best guest filesystem for nextcloud",
    "half of the host's IOPS in the guest, normal?",
    "zorkfs",
)
SAYS = "h1, .recommendation, #understood, #loads-heading + p"


@pytest.fixture
def pages(transactional_db: None, whole_catalogue: None, live_server, browser: Browser) -> Iterator[tuple[Page, Page]]:
    """Give the first page with JavaScript, and without."""
    contexts = [browser.new_context(base_url=live_server.url, java_script_enabled=on) for on in (True, False)]
    yield contexts[0].new_page(), contexts[1].new_page()
    for context in contexts:
        context.close()


def asked(page: Page, question: str) -> dict[str, object]:
    """Type a question into the box, send it off, and return where that leads and what is said there."""
    page.goto("/")
    page.get_by_label("What do you want to run, on what?").fill(question)
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#understood, form[aria-label=Comparison]")).to_be_visible(timeout=60_000)
    page.wait_for_load_state()
    address = urlsplit(page.url)
    links = page.locator("#understood a, #loads-heading + p a").evaluate_all("all => all.map(a => a.href)")
    said = page.locator(SAYS).all_inner_texts()
    return {"path": address.path, "query": parse_qs(address.query), "says": said, "links": links}


def differing(pages: tuple[Page, Page], questions: list[str]) -> dict[str, object]:
    """Return what is said with JavaScript and without, of the questions where that is not the same."""
    answers = {question: [asked(page, question) for page in pages] for question in questions}
    return {question: both for question, both in answers.items() if both[0] != both[1]}


def test_with_javascript_a_question_has_the_answer_that_it_has_without(pages):
    assert differing(pages, list(REPRESENTATIVE)) == {}


@pytest.mark.nightly
def test_with_javascript_every_question_has_the_answer_that_it_has_without(pages):
    table = [row["question"] for row in chain(rows("forum_questions.csv"), rows("phrasings.csv"))]
    assert differing(pages, table) == {}
