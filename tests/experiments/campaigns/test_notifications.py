"""Messages to the owner of a campaign."""

import pytest

from experiments.campaigns import control
from experiments.models import Campaign, CampaignRun
from kdb.notifications import subscriptions
from kdb.notifications.models import Delivery
from tests.factories import make_campaign, make_host, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign() -> Campaign:
    ada, bob = make_user("operators"), make_user("operators")
    for user in (ada, bob):
        subscriptions.add(user, "webhook", "https://x.org/", ["campaign"], "https://kdb.example.org")
    made = control.create(make_campaign(make_host("lab-1", registered_by=ada), slug="night"), user=ada)
    control.start(made)
    return made


def told(campaign: Campaign) -> list[str]:
    deliveries = Delivery.objects.select_related("subscription")
    assert {delivery.subscription.user for delivery in deliveries} <= {campaign.owner}
    return [delivery.subject for delivery in deliveries]


def test_a_campaign_that_finishes_is_told_to_its_owner_with_what_failed(campaign):
    campaign.runs.update(state=CampaignRun.State.FAILED, reason="no space", job=None)
    assert told(campaign) == []
    control.next_run(campaign.host_id)
    failed = campaign.runs.count()
    assert told(campaign) == [f"night finished, {failed} failed"]
    control.next_run(campaign.host_id)
    assert len(told(campaign)) == 1


def test_a_campaign_that_pauses_by_itself_is_told_with_the_reason_once(campaign):
    control.pause_by_itself(campaign.pk, "2 runs in a row failed alike: no space")
    control.pause_by_itself(campaign.pk, "again")
    assert told(campaign) == ["night paused"]
    assert "no space" in Delivery.objects.get().text


def test_what_its_owner_does_himself_is_not_told(campaign):
    control.pause(campaign)
    control.start(campaign)
    control.cancel(campaign)
    assert told(campaign) == []
