"""Nights of one's own laboratory, the clock moved: a file system gets slower beside its neighbour, is told once, and
the answer names it."""

from datetime import timedelta

import numpy as np
import pytest
from django.conf import settings
from django.db.models import F
from playwright.sync_api import Page, expect

from experiments.case_studies import lifecycle
from experiments.models import CaseStudy
from kdb.notifications import subscriptions
from kdb.notifications.models import Delivery
from modelling.models import SeriesChange, Sitting
from modelling.own_lab import laboratories
from modelling.own_lab.changes import detection
from tests.factories import make_token, make_user

pytestmark = [pytest.mark.browser, pytest.mark.nightly, pytest.mark.django_db(transaction=True)]

SPEED = {"ext4": 1000.0, "xfs": 1400.0}
SLOWER, NIGHTS = 12, 24  # ten nights are the least that a level is known by; then as many as it takes
FACTS = {"virtual": "yes", "hypervisor": "kvm", "cpu": "A processor", "cores": "8", "ram_gib": "32.0", "fio": "3.33"}
BODY = {
    **{"laboratory": "ours", "machine": "box", "workload": "varmail", "seconds": 30, "most_runs": 8},
    "choices": [{"name": name, "place": "vdb", "settings": {"guest_fs": name}} for name in SPEED],
}


def pass_a_day():
    """Move the clock: all that was measured is a day older."""
    Sitting.objects.update(ended_at=F("ended_at") - timedelta(days=1))


def test_a_slower_file_system_is_told_once_confirmed_and_named_by_the_answer(
    published_evidence, live_server, page: Page, client, settings_of_hooks
):
    ada = make_user(username="ada")
    laboratories.create_laboratory(ada, "ours", "Our laboratory")
    subscriptions.add(ada, "webhook", "http://hooks.test/a", ["change"], "http://kdb.test")
    headers = {"authorization": f"Bearer {make_token(ada)}"}
    noise = np.random.default_rng(4)

    def asked(path, body):
        answer = client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)
        assert answer.status_code < 300, answer.content
        return answer.json()

    def night(number):
        """Measure as the timer does: first to decide, then what led again."""
        pass_a_day()
        kernel = "6.8" if number >= SLOWER else "6.1"
        sitting = asked("sittings/", {**BODY, "facts": {**FACTS, "kernel": kernel}, "again": number > 0})
        while sitting["next"]:
            for run in sitting["next"]:
                slower = 0.85 if run["choice"] == "xfs" and number >= SLOWER else 1.0
                value = SPEED[run["choice"]] * slower * np.exp(noise.normal(0, 0.01))
                sitting = asked(f"sittings/{sitting['id']}/runs/{run['number']}/", {"value": value})
        detection.find_changes(lambda done, total: None)
        return sitting["id"]

    sittings = [night(number) for number in range(NIGHTS)]
    change = SeriesChange.objects.get()
    assert Delivery.objects.filter(topic="change").count() == 1
    assert (change.about["name"], change.sitting_id) == ("xfs", sittings[SLOWER])
    assert change.facts == [{"name": "kernel", "before": "6.1", "after": "6.8"}]

    for number in (sittings[0], sittings[SLOWER]):
        draft = CaseStudy.objects.get(slug=asked(f"sittings/{number}/share/", {})["case_study"])
        lifecycle.publish([draft], reason="it meets what a result needs")
    question = f"{live_server.url}/?axis=guest-fs&workload=varmail&hypervisor=kvm&metric=operation_rate"
    named = "Since it was measured, xfs became 0.8"
    page.goto(question)
    expect(page.locator("main .recommendation")).to_be_visible()
    expect(page.get_by_text(named)).to_have_count(0)

    client.force_login(ada)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": live_server.url}])
    page.goto(f"{live_server.url}/series-changes/")
    page.get_by_role("link", name="xfs on box under varmail").click()
    expect(page.get_by_text("kernel 6.8 (was 6.1): of 1 further series")).to_be_visible()
    page.get_by_label("What about it").select_option("confirm")
    page.get_by_role("button", name="Note it").click()
    expect(page.get_by_text("It is confirmed, said ada")).to_be_visible()
    page.goto(question)
    expect(page.get_by_role("status").get_by_text(named)).to_be_visible()
    expect(page.get_by_role("status").get_by_text("It came with kernel 6.8 (was 6.1).")).to_be_visible()
    page.get_by_role("link", name="The change").click()
    expect(page.get_by_role("heading", name="Slower: xfs")).to_be_visible()


@pytest.fixture
def settings_of_hooks(settings):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["hooks.test"]
