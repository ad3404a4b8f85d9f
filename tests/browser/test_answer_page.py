"""The pages in a real browser: an answer in place, its chart, both themes, a phone, and no JavaScript."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.test_page_budgets import BUDGETS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FILE_SERVER = "/?axis=hypervisor&workload=fileserver"
TABS = ("ranking", "why", "set-up", "trade-offs", "evidence", "history")
PAGES = (
    "/",
    FILE_SERVER,
    *(f"{FILE_SERVER}&tab={tab}" for tab in TABS),
    "/?axis=fs-pair&workload=varmail&hypervisor=kvm",
    "/?axis=configuration&workload=fileserver",
    "/advisor/?example=varmail",
    "/case-studies/",
    "/case-studies/p0/",
    "/case-studies/p3-cs1/",
    "/case-studies/p4/",
    "/knowledge/",
    "/knowledge/workloads/varmail/",
)


@pytest.fixture
def site(transactional_db, published_evidence, live_server) -> str:
    return live_server.url


@pytest.fixture
def quiet_page(page: Page):
    """Give a page that must log no error at all."""
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield page
    # What is still asked for would be answered, and kept in memory, from the emptied database of the next test.
    expect(page.locator("[hx-trigger=load]")).to_have_count(0)
    assert errors == []


def ask_for_file_server(page: Page) -> None:
    page.get_by_text("Say more").click()
    page.get_by_label("Workload").select_option("fileserver")
    page.get_by_role("button", name="Ask").click()


def chart_of(page: Page) -> dict:
    """Return what the drawn chart shows: its names, its values with their limits."""
    return page.evaluate("""() => {
        const chart = Chart.getChart(document.querySelector("canvas[data-chart]"));
        const points = chart.data.datasets[0].data;
        return {
            labels: chart.data.labels,
            values: points.map((p) => p.x),
            limits: points.map((p) => [p.xMin ?? null, p.xMax ?? null]),
        };
    }""")


def ink_on_chart(page: Page) -> int:
    """Count the pixels of the canvas that are painted."""
    return page.evaluate("""() => {
        const canvas = document.querySelector("canvas[data-chart]");
        const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
        return pixels.filter((value, i) => i % 4 === 3 && value > 0).length;
    }""")


def scrolls_sideways(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_a_question_is_answered_in_place_and_has_its_address(site, quiet_page: Page):
    page = quiet_page
    page.goto(site)
    page.evaluate("window.wasNotReloaded = true")
    ask_for_file_server(page)
    expect(page).to_have_title("File server: which hypervisor? · KDB")
    expect(page.locator("#answer-heading")).to_be_focused()
    expect(page.get_by_text("Low confidence:").first).to_be_visible()
    expect(page).to_have_url(site + FILE_SERVER)
    expect(page).to_have_title("File server: which hypervisor? · KDB")
    assert page.evaluate("window.wasNotReloaded")


def test_the_address_gives_the_same_answer_again(site, quiet_page: Page):
    page = quiet_page
    page.goto(site)
    ask_for_file_server(page)
    expect(page).to_have_title("File server: which hypervisor? · KDB")
    expect(page.locator("#answer-heading")).to_be_focused()
    charted = page.locator("#saves button", has_text="PNG").first  # comes last
    expect(charted).to_be_attached()
    in_place = page.locator("#answer").inner_text()
    page.reload()
    expect(charted).to_be_attached()
    assert page.locator("#answer").inner_text() == in_place
    assert page.get_by_label("Workload").input_value() == "fileserver"


def test_the_reasons_come_when_they_are_asked_for(site, quiet_page: Page):
    page = quiet_page
    page.goto(site + FILE_SERVER)
    expect(page.locator("#why .steps")).to_have_count(0)
    page.evaluate("window.wasNotReloaded = true")
    page.get_by_role("link", name="Why", exact=True).click()
    expect(page.locator("#why .steps")).to_be_visible()
    expect(page).to_have_url(f"{site}{FILE_SERVER}&tab=why")
    expect(page.get_by_role("link", name="Why", exact=True)).to_be_focused()
    assert page.evaluate("window.wasNotReloaded")
    page.go_back()
    expect(page.locator("#why .steps")).to_have_count(0)


def test_a_chip_opens_the_form_at_its_field(site, quiet_page: Page):
    page = quiet_page
    page.goto(f"{site}/?axis=fs-pair&workload=varmail&hypervisor=kvm")
    expect(page.get_by_label("Hypervisor", exact=True)).to_be_hidden()
    page.get_by_role("link", name="Hypervisor: KVM", exact=True).click()
    expect(page.get_by_label("Hypervisor", exact=True)).to_be_visible()
    page.get_by_role("link", name="Ask without Hypervisor: KVM").click()
    expect(page).to_have_title("Mail server: which file-system pair? · KDB")


@pytest.mark.parametrize("path", [FILE_SERVER, "/?axis=fs-pair&workload=varmail&hypervisor=kvm"])
def test_an_answer_fits_on_two_screens_of_a_phone(site, quiet_page: Page, path):
    page = quiet_page
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(site + path)
    assert page.locator("#answer-tabs nav").evaluate("tabs => tabs.getBoundingClientRect().bottom") <= 2 * 844


def test_on_a_phone_no_interval_scrolls_out_of_sight(site, quiet_page: Page):
    page = quiet_page
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{site}{FILE_SERVER}&tab=ranking")
    page.get_by_text("All numbers, and what they mean").click()
    for cell in page.locator(".ranking td[data-low]").all():
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 360


def test_going_back_shows_the_question_before(site, page: Page):
    page.goto(site)
    ask_for_file_server(page)
    expect(page.locator("#answer")).to_be_visible()
    page.get_by_text("Change the question").click()
    page.get_by_label("Workload").select_option("varmail")
    page.get_by_role("button", name="Ask").click()
    expect(page).to_have_title("Mail server: which hypervisor? · KDB")
    page.go_back()
    expect(page).to_have_title("File server: which hypervisor? · KDB")
    assert ink_on_chart(page) > 1000
    page.go_back()
    expect(page.get_by_role("heading", name="What KDB recommends")).to_be_visible()


def test_without_javascript_the_same_question_has_the_same_answer(site, browser: Browser, page: Page):
    page.goto(f"{site}{FILE_SERVER}&tab=ranking")
    with_script = page.locator(".ranking").first.inner_text()
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(site)
    ask_for_file_server(plain)
    expect(plain).to_have_url(site + FILE_SERVER)
    expect(plain.locator("figure.chart").first).to_be_hidden()
    assert "Proxmox VE" in plain.locator(".answer-head .dots").inner_text()
    plain.get_by_role("link", name="Ranking", exact=True).click()
    assert plain.locator(".ranking").first.inner_text() == with_script
    context.close()


def test_the_chart_is_drawn_with_the_numbers_of_the_table(site, quiet_page: Page):
    page = quiet_page
    page.goto(f"{site}{FILE_SERVER}&tab=ranking")
    chart = chart_of(page)
    rows = page.locator(".ranking").first.locator("tbody tr")
    names = rows.locator("th").all_inner_texts()
    ratios = [row.locator("td.num").nth(1).inner_text() for row in rows.all()]
    assert chart["labels"] == [re.sub(r"\s*(use|start with|either|rather not|avoid)$", "", name) for name in names]
    assert [f"{value:.2f}×" for value in chart["values"]] == ratios
    assert chart["limits"][0] == [None, None]  # of the reference
    assert all(low < value < high for value, (low, high) in zip(chart["values"][1:], chart["limits"][1:], strict=True))
    assert ink_on_chart(page) > 1000


def test_an_answer_in_place_has_its_chart_drawn(site, quiet_page: Page):
    page = quiet_page
    page.goto(site)
    ask_for_file_server(page)
    expect(page.locator("canvas[data-chart]").first).to_be_visible()
    assert ink_on_chart(page) > 1000
    page.get_by_text("Change the question").click()
    page.get_by_label("Workload").select_option("varmail")
    page.get_by_role("button", name="Ask").click()
    expect(page).to_have_title("Mail server: which hypervisor? · KDB")
    assert (
        len(page.evaluate("Object.values(Chart.instances).map((c) => c.canvas.id)")) == page.locator("canvas").count()
    )


def test_a_field_that_is_not_understood_is_marked_in_place(site, page: Page):
    page.goto(site)
    page.get_by_text("Say more").click()
    # At once: what lies behind the choices may come in between, with selects that have no such option.
    page.get_by_label("Workload").evaluate(
        "(select) => { select.add(new Option('Quake', 'quake')); select.value = 'quake'; select.form.requestSubmit() }"
    )
    expect(page.get_by_text("'quake' is not known here")).to_be_visible()
    expect(page.get_by_label("Workload")).to_have_attribute("aria-invalid", "true")


def test_a_question_without_a_workload_asks_for_it_in_place(site, page: Page):
    page.goto(site)
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("A workload is required: choose one, or write what you run.")).to_be_visible()


def test_a_server_that_fails_is_not_passed_over_in_silence(site, page: Page):
    page.goto(site)
    page.route("**/?text=*", lambda route: route.fulfill(status=503, body=""))
    ask_for_file_server(page)
    expect(page.get_by_text("The server could not answer.")).to_be_visible()


def test_a_refusal_is_explained_as_it_is_without_javascript(site, page: Page):
    """A tab of an answer that was not kept: it said that the server could not answer, and to ask again in a moment."""
    page.goto(site + FILE_SERVER)
    page.locator("#tab-evidence").evaluate("link => { link.setAttribute('hx-get', link.href + '&as_of=99999') }")
    page.locator("#tab-evidence").evaluate("link => { htmx.process(link); link.click() }")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()


def test_the_theme_follows_the_reader_and_so_does_the_chart(site, page: Page):
    page.emulate_media(color_scheme="light")
    page.goto(site + FILE_SERVER)
    colours = """() => [
        getComputedStyle(document.body).backgroundColor,
        Chart.getChart("chart-part-1").options.scales.y.ticks.color,
    ]"""
    light = page.evaluate(colours)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"(light) => ({colours})()[1] !== light", arg=light[1])
    dark = page.evaluate(colours)
    assert light[0] != dark[0]


def test_no_page_scrolls_sideways(site, quiet_page: Page):
    page, wide = quiet_page, []
    for width in (360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        for path in PAGES:
            page.goto(site + path)
            for details in page.locator("details").all():
                details.evaluate("(element) => { element.open = true; }")
            wide += [(path, width)] if scrolls_sideways(page) else []
    assert wide == []


def test_everything_is_reached_by_keyboard(site, quiet_page: Page):
    page = quiet_page
    page.goto(site)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("What do you want to run, on what?")).to_be_focused()
    page.keyboard.type("file server, which hypervisor?")
    page.keyboard.press("Enter")
    expect(page.locator("#answer-heading")).to_be_focused()


def test_without_javascript_a_comparison_and_a_case_study_say_all_they_say(site, browser: Browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/compare/?axis=hypervisor&workload=fileserver&a=kvm&b=hyper-v&c=esxi")
    assert page.locator(".data-path li").count() == 7
    page.get_by_role("link", name="Side by side", exact=True).click()
    expect(page.get_by_role("heading", name="May they be compared?")).to_be_visible()
    page.goto(f"{site}/case-studies/p1/")
    page.get_by_role("link", name="Which of its numbers may be compared").click()
    expect(page.get_by_text("54 numbers in 9 fair-play groups")).to_be_visible()
    page.goto(f"{site}/case-studies/p1/")
    assert "Table V" in page.locator("a.value").last.get_attribute("title")
    page.get_by_role("link", name="checkable statements about these results").click()
    expect(page.get_by_role("link", name="P1-C06")).to_be_visible()
    context.close()


@pytest.mark.parametrize("path", ["/", FILE_SERVER, "/case-studies/p1/", "/knowledge/"])
def test_a_page_asks_for_no_more_than_it_may(site, quiet_page, path):
    """The browser's cache is empty. tests/test_page_budgets.py counts this from the HTML of every kind of page."""
    answers = []
    quiet_page.on("response", lambda response: answers.append(response))
    quiet_page.goto(site + path, wait_until="networkidle")
    assert all(answer.ok for answer in answers)
    assert len(answers) <= BUDGETS[path].requests, [answer.url for answer in answers]
