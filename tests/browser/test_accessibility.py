"""WCAG 2.2 AA as axe checks it, on every kind of page, light and dark; nothing wider than a phone, and no
column clipped on a screen of 1280."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings

from experiments.campaigns import control
from experiments.records import visible
from tests.factories import (
    HOST_KEY,
    make_campaign,
    make_case_study,
    make_host,
    make_machine,
    make_minutes,
    make_series_change,
    make_sitting,
    make_user,
)
from tests.modelling.fleet.moving.fleets import shown
from tests.pages import PRIVATE, PUBLIC

pytestmark = [pytest.mark.slow]

RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}
SCHEMES = ("light", "dark")
VIEWS = [("light", 1280), ("dark", 360), ("dark", 1280), ("light", 360)]  # a colour scheme and a width
# Tables and cells that hold more than they show, closed details opened for it.
CLIPPED = """() => {
    const closed = [...document.querySelectorAll("details:not([open])")];
    closed.forEach(each => { each.open = true; });
    const found = [...document.querySelectorAll("main .table-scroll, main th, main td")].filter(
        each => each.clientWidth && each.scrollWidth > each.clientWidth + 1
    );
    closed.forEach(each => { each.open = false; });
    return found.map(each => `clipped: ${each.ariaLabel || each.textContent.trim().slice(0, 80)}`);
}"""


def complaints(page) -> list[str]:
    """Return what axe finds wrong."""
    violations = Axe().run(page, options={**RULES, "resultTypes": ["violations"]}).response["violations"]
    return [f"{rule['id']}: {node['html'][:160]}" for rule in violations for node in rule["nodes"]]


def misfits(page) -> list[str]:
    """Return what does not fit on the page, after charts had time to follow the window."""
    for _ in range(20):
        overflowing = misfits_now(page)
        if not overflowing:
            break
        page.wait_for_timeout(100)
    return overflowing


def misfits_now(page) -> list[str]:
    """Return whether the page is wider than the window, and on a large screen what is clipped."""
    is_wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    clipped = page.evaluate(CLIPPED) if page.viewport_size["width"] >= 1280 else []
    return ["the page is wider than the window"] * is_wide + clipped


def check(page, addresses: list[str], *, everywhere: bool) -> None:
    """Open each address and look at it in each colour scheme and width; fail with all that is wrong.

    By default axe looks at every second page in light, and at the others in dark: what it finds lies in a template
    or in a colour, and few pages have either alone.
    """
    faults_by_view = {}
    for number, address in enumerate(addresses):
        assert page.goto(address).status == 200, address
        page.wait_for_load_state("networkidle")
        for scheme, width in VIEWS if everywhere else VIEWS[:2]:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size({"width": width, "height": 900})
            is_axes_turn = everywhere or scheme == SCHEMES[number % 2]
            faults_by_view[address, scheme, width] = misfits(page) + (complaints(page) if is_axes_turn else [])
    assert {view: faults for view, faults in faults_by_view.items() if faults} == {}


def test_axe_would_complain(live_server, page):
    page.goto(f"{live_server.url}/accounts/login/")
    page.evaluate(
        "document.querySelector('main').innerHTML = '<img src=\"data:,\"><pre>' + 'wide'.repeat(900) + '</pre>';"
        "document.querySelector('pre').style.overflow = 'visible'"
    )
    assert "image-alt" in " ".join(complaints(page))
    assert misfits(page) == ["the page is wider than the window"]


def test_a_clipped_column_is_told(live_server, page):
    page.goto(f"{live_server.url}/accounts/login/")
    table = f"<table><tr><td>{'wide' * 900}</td></tr></table>"
    page.evaluate(
        "html => { document.querySelector('main').innerHTML = html; }",
        f'<details><div class="table-scroll" role="region" aria-label="Figures">{table}</div></details>',
    )
    assert "clipped: Figures" in misfits(page)


EVERYWHERE = pytest.mark.parametrize(
    "everywhere", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["in one view", "in each view"]
)


@EVERYWHERE
def test_public_pages(everywhere, transactional_db, published_evidence, live_server, page):
    number = visible.measurements().first()
    paths = (*PUBLIC, f"/measurements/{number.pk}/")
    check(page, [live_server.url + path for path in paths], everywhere=everywhere)


@EVERYWHERE
def test_pages_of_people_with_an_account(everywhere, transactional_db, published_evidence, live_server, page, client):
    user = make_user("operators")
    make_case_study("my-lab", owner=user)
    host = make_host("lab-1", registered_by=user, host_key=HOST_KEY)
    study = visible.case_studies().get(slug="p3-cs1")
    control.start(control.create(make_campaign(host, slug="night", repetitions=2, replicates=study), user=user))
    shown(host)
    make_minutes(make_machine(host, pk=1), 3)
    sitting = make_sitting(user)
    client.force_login(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
    change = make_series_change(sitting.laboratory)
    series = f"/laboratories/ours/series/{change.series}/"
    paths = (*PRIVATE, f"/laboratories/sittings/{sitting.pk}/", series, f"/series-changes/{change.pk}/")
    check(page, [live_server.url + path for path in paths], everywhere=everywhere)
