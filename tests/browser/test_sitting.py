"""A sitting on a phone: what was decided, the choices and the runs, with nothing to push aside."""

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from modelling.own_lab import laboratories
from modelling.own_lab.content import Choice
from tests.factories import make_user
from tests.modelling.own_lab.test_local_answer import measured

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SPEED = {"zvol none native xfs": 900.0, "dir-ext4 writeback threads btrfs": 2150.5}


def test_the_tables_of_a_sitting_fit_a_phone(transactional_db, live_server, page: Page, client):
    ada = make_user(username="ada")
    laboratories.create_laboratory(ada, "ours", "Our laboratory")
    settings_of = {"guest_fs": "xfs", "cache_mode": "none", "io_mode": "native", "disk_bus": "virtio"}
    choices = [Choice(name, name, settings_of) for name in SPEED]
    sitting = measured(ada, SPEED, choices, facts={"virtual": "yes", "hypervisor": "kvm"}).sittings.get()
    sitting.runs.filter(number=1).update(value=None, disturbed="the host took 14% of the processors' time away")
    client.force_login(ada)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server.url}/laboratories/sittings/{sitting.pk}/")
    expect(page.get_by_role("heading", name="Fileserver on box")).to_be_visible()
    for table in page.locator("main .table-scroll").all():
        assert table.evaluate("table => table.scrollWidth <= table.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
