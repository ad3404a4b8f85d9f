"""The operator of an observed host is told of pools that fill up, and of disks that became slow."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.utils.timezone import now

from experiments.fleet import latency, notifications, retention, watching
from experiments.fleet.driver.contract import Listing
from experiments.models import DiskStatistics, ObservedDisk
from kdb.notifications import subscriptions
from kdb.notifications.models import Delivery
from tests.experiments.fleet.test_watching import listing
from tests.factories import make_host, make_machine, make_user

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
    watching.save_listing(host, Listing((here,), ()))
    host.observed_pools.update(**pool)
    assert {delivery.subscription.user.username for delivery in Delivery.objects.all()} <= {"ada"}
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


# Slow disks

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LAST = now().replace(minute=0, second=0, microsecond=0) - 2 * HOUR  # the beginning of the last full hour


def worked(disk: ObservedDisk, at: datetime, milliseconds: float, requests: int = 2000, span: str = "hour") -> None:
    """Let so many reads take so long each."""
    sums = {"seconds": 60.0, "busy_seconds": 60.0, "read_bytes": 0, "write_bytes": 0, "flushes": 0}
    sums |= {"writes": 0, "write_seconds": 0.0, "flush_seconds": 0.0}
    took = requests * milliseconds / 1000
    DiskStatistics.objects.create(disk=disk, span=span, starts_at=at, reads=requests, read_seconds=took, **sums)


@pytest.fixture
def disks(host) -> list[ObservedDisk]:
    """Give two machines of the host two weeks of requests that took 2 ms."""
    observed_disks = [make_machine(host, name=name).disks.first() for name in ("mail", "web")]
    for disk in observed_disks:
        for hours in range(3, 24 * (latency.DAYS + 1)):
            worked(disk, LAST - hours * HOUR, 2.0)
    return observed_disks


def hours_of(disk: ObservedDisk, *milliseconds: float, last: datetime = LAST, requests: int = 2000) -> None:
    """Let reads of the last hours take so long each."""
    for back, request_ms in enumerate(reversed(milliseconds)):
        worked(disk, last - back * HOUR, request_ms, requests)


def told() -> list[str]:
    return list(Delivery.objects.order_by("created_at").values_list("subject", flat=True))


def test_disks_that_became_slow_are_told_in_one_message_once_until_they_are_as_usual(disks):
    for disk in disks:
        hours_of(disk, 7.0, 8.0, 9.0)
    for _ in range(2):
        notifications.notify_of_slow_disks(LAST)
    assert told() == ["lab-1: 2 disks became slow"]
    text = Delivery.objects.get().text
    assert "mail vda" in text
    assert "9 ms a request in the last hour, 4.5 times the 2 ms that were usual at this time of day" in text

    hours_of(disks[0], 2.5, last=LAST + HOUR)
    notifications.notify_of_slow_disks(LAST + HOUR)
    assert [disk.slow_since is None for disk in ObservedDisk.objects.order_by("machine__name")] == [True, False]
    assert len(told()) == 1


@pytest.mark.parametrize(
    ("milliseconds", "requests"),
    [((2.0, 9.0, 9.0), 2000), ((5.9, 5.9, 5.9), 2000), ((9.0, 9.0), 2000), ((9.0, 9.0, 9.0), 999)],
    ids=["two hours", "less than three times", "an hour is not known", "too few requests"],
)
def test_less_is_no_news(disks, milliseconds, requests):
    hours_of(disks[0], *milliseconds, requests=requests)
    notifications.notify_of_slow_disks(LAST)
    assert told() == []


def test_the_job_that_sums_up_tells_when_an_hour_is_over(disks):
    hours_of(disks[0], 9.0, 9.0, 9.0)
    worked(disks[0], LAST, 9.0, span="minute")
    retention.roll_up(None)
    assert told() == []
    worked(disks[0], LAST + HOUR, 9.0, span="minute")
    for _ in range(2):
        retention.roll_up(None)
        assert told() == ["lab-1: mail vda became slow"]
