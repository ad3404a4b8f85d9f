"""What the operator of an observed host is told of its pools."""

from dataclasses import replace

import pytest

from experiments.fleet import watching
from experiments.fleet.driver.contract import Listing
from kdb.notifications import subscriptions
from kdb.notifications.models import Delivery
from tests.experiments.fleet.test_watching import listing
from tests.factories import make_host, make_user

pytestmark = pytest.mark.django_db

TB = 10**12


@pytest.fixture
def host():
    ada, bob = make_user("operators", username="ada"), make_user("operators")
    for user in (ada, bob):
        subscriptions.add(user, "webhook", "https://x.org/", ["machines"], "https://kdb.example.org")
    return make_host("lab-1", registered_by=ada, is_observed=True)


def seen(host, free: float, **pool) -> list[str]:
    """Take over a list in which this share of a TB is free; return what was told until then."""
    first, _ = listing().pools
    here = replace(first, size_bytes=TB, free_bytes=round(free * TB))
    watching.keep_listing(host, Listing((here,), ()))
    host.observed_pools.update(**pool)
    assert {each.subscription.user.username for each in Delivery.objects.all()} <= {"ada"}
    return list(Delivery.objects.order_by("created_at").values_list("subject", flat=True))


def test_a_pool_that_fills_up_is_told_once_until_it_was_relieved(host):
    assert seen(host, 0.11) == []
    assert [subject.replace("\N{NO-BREAK SPACE}", " ") for subject in seen(host, 0.09)] == [
        "lab-1: fast has 83.8 GiB of 931.3 GiB left"
    ]
    for free in (0.05, 0.12, 0.09):  # to and fro about the bound is no news
        assert len(seen(host, free)) == 1
    assert host.observed_pools.get().filling_since is not None
    assert len(seen(host, 0.2)) == 1
    assert host.observed_pools.get().filling_since is None
    assert len(seen(host, 0.05)) == 2


def test_a_pool_that_eats_into_its_reserve_fills_up_however_large_it_is(host):
    assert seen(host, 0.6, reserve_bytes=TB // 2) == []
    assert len(seen(host, 0.4)) == 1
    assert Delivery.objects.get().facts["reserve_bytes"] == TB // 2


def test_a_pool_without_a_size_tells_nothing(host):
    first, _ = listing().pools
    watching.keep_listing(host, Listing((replace(first, size_bytes=0, free_bytes=0),), ()))
    assert not Delivery.objects.exists()
