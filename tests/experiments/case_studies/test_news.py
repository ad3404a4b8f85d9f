"""Messages to reviewers."""

from types import SimpleNamespace

import pytest

from experiments.case_studies import lifecycle, reviews
from kdb.notifications import deliveries, subscriptions, webhook
from kdb.notifications.models import Delivery
from tests.factories import make_case_study, make_measurement, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def people(monkeypatch):
    monkeypatch.setattr(webhook.webhook_addresses, "resolve", lambda address: [])
    monkeypatch.setattr(webhook.http_client, "send_request", lambda *args, **kwargs: SimpleNamespace(status=200))
    users = {name: make_user(role) for name, role in (("rev", "reviewers"), ("ada", "administrators"), ("bob", ""))}
    for user in (users["rev"], users["ada"]):
        subscriptions.add(user, "webhook", "https://x.org/", ["review"], "https://kdb.example.org")
    return users


def submit(owner):
    study = make_case_study("my-lab", owner=owner)
    make_measurement(case_study=study)
    reviews.submit(study, user=owner)
    return study


def deliver() -> list[tuple[str, str]]:
    deliveries.deliver_due(lambda done: None)
    return [(delivery.state, delivery.error) for delivery in Delivery.objects.all()]


def test_who_may_publish_it_is_told_that_it_waits_and_its_author_is_not(people):
    submit(people["ada"])
    (only,) = Delivery.objects.all()
    assert only.subscription.user == people["rev"]
    assert (only.subject, only.path) == ("my-lab waits for a review", "/drafts/my-lab/")
    assert deliver() == [("sent", "")]


def test_what_waits_no_more_when_it_is_sent_is_not_sent(people):
    study = submit(people["ada"])
    lifecycle.give_back(study, reason="The second run is missing.", user=people["rev"])
    assert deliver() == [("given up", "It waits for you no more.")]
    reviews.submit(study, user=people["ada"])
    assert sorted(deliver()) == [("given up", "It waits for you no more."), ("sent", "")]


def test_who_took_part_in_it_meanwhile_learns_nothing_more(people):
    study = submit(people["ada"])
    study.owner = people["rev"]
    study.save()
    assert deliver() == [("given up", "It waits for you no more.")]
