"""A series on a phone: its chart, its levels and its sittings, with nothing to push aside; a change confirmed there."""

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from modelling.models import Laboratory, SeriesChange
from modelling.own_lab.changes import detection, gather
from tests.factories import make_user
from tests.modelling.own_lab.changes.conftest import make_night

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_series_fits_a_phone_and_its_change_is_confirmed(transactional_db, live_server, page: Page, client):
    ada = make_user(username="ada")
    ours = Laboratory.objects.create(slug="ours", name="Our laboratory")
    ours.members.add(ada)
    for night in range(70):
        speed = (1000 + night % 7) * (0.85 if night >= 50 else 1)
        facts = {"kernel": "6.8.12-2-pve" if night >= 50 else "6.5.13-5-pve"}
        make_night(ours, night, [speed, speed * 1.02], disturbed=night % 9 == 0, facts=facts)
    detection.find_changes(lambda done, total: None)
    (line,) = gather.series_lines(ours)
    client.force_login(ada)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/laboratories/ours/series/{line.key}/")
    expect(page.locator("canvas")).to_be_visible()
    expect(page.get_by_text("0.85 times as fast from here on")).to_be_visible()
    for table in page.locator("main .table-scroll").all():
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.get_by_role("button", name="Share it: make a page and a badge").click()
    page.get_by_role("link", name="its address").click()
    expect(page.get_by_text("which shared this series")).to_be_visible()
    assert page.get_by_alt_text("perhaps slower").evaluate("image => image.complete && image.naturalWidth > 200")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.go_back()
    page.get_by_role("link", name="0.85 times as fast").click()
    page.get_by_label("What about it").select_option("confirm")
    page.get_by_role("button", name="Note it").click()
    expect(page.get_by_text("It is confirmed, said ada")).to_be_visible()
    assert SeriesChange.objects.get().state == "confirmed"
