"""The advisor in a real browser: pasted, answered in place, mended after a refusal, and without JavaScript."""

import pytest
from playwright.sync_api import Browser, Page, expect

from modelling.workloads.profiles import PERSONALITIES
from tests.browser.test_answer_page import scrolls_sideways

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MAIL = (PERSONALITIES / "varmail.f").read_text()
HEADING = "Advice for this load"


@pytest.fixture
def site(transactional_db, published_evidence, live_server) -> str:
    return f"{live_server.url}/advisor/"


def paste(page: Page, text: str) -> None:
    page.get_by_label("Filebench personality").fill(text)
    page.get_by_role("button", name="Advise").click()


def test_a_pasted_personality_is_answered_in_place(site, page: Page):
    page.goto(site)
    page.evaluate("window.wasNotReloaded = true")
    page.get_by_label("Hypervisor").select_option("kvm")
    paste(page, MAIL)
    expect(page.get_by_role("heading", name=HEADING)).to_be_focused()
    expect(page.get_by_text("As for a mail server: start with")).to_be_visible()
    expect(page).to_have_title("Advice for a load of your own · KDB")
    assert page.evaluate("window.wasNotReloaded")


def test_a_refused_text_stays_and_can_be_mended(site, page: Page):
    page.goto(site)
    paste(page, MAIL.replace("flowop fsync name=storesync", "flowop fsnyc name=storesync"))
    expect(page.get_by_text("Line 21, column 12: there is no flowop 'fsnyc'")).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="could not be understood")).to_be_focused()
    field = page.get_by_label("Filebench personality")
    paste(page, field.input_value().replace("fsnyc", "fsync"))
    expect(page.get_by_role("heading", name=HEADING)).to_be_focused()


def test_a_file_is_uploaded_in_place(site, page: Page):
    page.goto(site)
    page.get_by_label("or a file").set_input_files(PERSONALITIES / "webserver.f")
    page.get_by_role("button", name="Advise").click()
    expect(page.get_by_text("As for a web server")).to_be_visible()


def test_an_example_fills_the_form(site, page: Page):
    page.goto(site)
    page.get_by_role("link", name="mail server").click()
    expect(page.get_by_label("Filebench personality")).to_have_value(MAIL)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_advice_does_not_scroll_sideways(site, page: Page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(site)
    paste(page, MAIL + "# " + "long " * 200)
    expect(page.get_by_role("heading", name=HEADING)).to_be_visible()
    for details in page.locator("details").all():
        details.evaluate("(element) => { element.open = true; }")
    assert not scrolls_sideways(page)


def test_it_works_without_javascript(site, browser: Browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    paste(page, MAIL)
    expect(page.get_by_role("heading", name=HEADING)).to_be_visible()
    page.get_by_text("Change the load").click()
    paste(page, "nonsense")
    expect(page.get_by_text("Line 1, column 1")).to_be_visible()
    context.close()
