"""A campaign is repeated each night by the tick: begun once, skipped with its reason, stopped. No machine is asked."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from experiments.campaigns import control, nightly
from tests.experiments.campaigns.test_campaigns import active, end, planned, running
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def repeated():
    """A campaign that has ended, and is due for its next night."""
    campaign = running()
    campaign.owner = make_user("operators", username="ada")
    campaign.save(update_fields=["owner"])
    campaign.host.operators.add(campaign.owner)
    end(active(campaign))
    nightly.schedule(campaign, 60)
    campaign.refresh_from_db()
    assert campaign.nightly_at > now() + timedelta(hours=23)
    return a_day_later(campaign)


def a_day_later(campaign):
    campaign.nightly_at -= timedelta(days=1, minutes=1)
    campaign.save(update_fields=["nightly_at"])
    return campaign


def look(campaign):
    nightly.reconcile()
    campaign.refresh_from_db()


def test_each_night_adds_one_repetition_and_begins_it_once(repeated):
    look(repeated)
    look(repeated)
    assert (repeated.repetitions, repeated.state, repeated.nightly_skipped) == (2, "running", "")
    assert active(repeated) is not None
    assert now() < repeated.nightly_at <= now() + timedelta(days=1)
    end(active(repeated))
    look(a_day_later(repeated))
    assert repeated.repetitions == 3


def test_nothing_is_caught_up_on(repeated):
    repeated.nightly_at -= timedelta(days=5)
    repeated.save(update_fields=["nightly_at"])
    look(repeated)
    assert repeated.repetitions == 2
    assert now() < repeated.nightly_at <= now() + timedelta(days=1)


def test_a_night_is_skipped_while_the_one_before_goes_on(repeated):
    look(repeated)
    look(a_day_later(repeated))
    assert repeated.repetitions == 2
    assert "The night before has not ended: the campaign is running." in repeated.nightly_skipped


def test_a_night_is_skipped_while_the_host_is_busy(repeated):
    other = planned(slug="other", host=repeated.host)
    control.start(other)
    look(repeated)
    assert repeated.repetitions == 1
    assert repeated.nightly_skipped.endswith("is busy with the campaign other.")


def test_a_night_is_skipped_where_it_would_take_too_long(repeated):
    repeated.nightly_minutes = 1
    repeated.save(update_fields=["nightly_minutes"])
    look(repeated)
    assert (repeated.repetitions, repeated.state) == (1, "finished")
    assert "more than the 1 of a night." in repeated.nightly_skipped
    with pytest.raises(control.CampaignError, match="One repetition takes about"):
        nightly.schedule(repeated, 1)


def test_whoever_may_steer_no_more_measures_no_more(repeated):
    repeated.owner.groups.clear()
    look(repeated)
    assert repeated.repetitions == 1
    assert "ada may steer campaigns no more." in repeated.nightly_skipped


def test_stopped_there_is_no_night(repeated):
    nightly.schedule(repeated, None)
    look(repeated)
    assert (repeated.repetitions, repeated.nightly_at) == (1, None)
