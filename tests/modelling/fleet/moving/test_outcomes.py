"""A move is judged on the minutes before and after it, up to its neighbours."""

from datetime import timedelta

import pytest
from django.utils.timezone import now

from experiments.models import DiskStatistics
from modelling.fleet.moving import outcomes
from tests.factories import make_minutes, make_user
from tests.modelling.fleet.moving.fleets import mail_server, moved, observed_host

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def test_before_and_after_end_where_the_disk_was_moved_before_and_again():
    """Requests take 4, 2 and 1 units on three stretches: each move is held against its own neighbours."""
    machine = mail_server(observed_host(registered_by=make_user("operators", username="ada")))
    DiskStatistics.objects.all().delete()
    for hours, units in ((30, 4), (20, 2), (10, 1)):
        begin = now().replace(second=0, microsecond=0) - timedelta(hours=hours)
        make_minutes(machine, 8 * 60, begin=begin, read_seconds=units, write_seconds=units, flush_seconds=units)
    first, second = (
        moved(machine, token=token, started_at=at, switched_at=at + timedelta(minutes=5))
        for token, at in (("a", now() - timedelta(hours=21)), ("b", now() - timedelta(hours=11)))
    )
    assert outcomes.judge(first)["speed"] == pytest.approx(2.0, rel=0.01)
    assert outcomes.judge(second)["speed"] == pytest.approx(2.0, rel=0.01)
