"""Plans learn from the host itself: what came of moves counts, and what would tell is proposed."""

import json
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils.timezone import now

from experiments.models import DiskStatistics, FileSystem, Workload
from modelling.fleet.moving import comparison, outcomes, plans
from modelling.models import PlacementMove
from tests.factories import entry, make_minutes, make_user
from tests.modelling.fleet.moving.fleets import mail_server, moved, observed_host
from tests.modelling.fleet.moving.test_pages import Api

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

BETTER = {"verdict": comparison.KEPT, "speed": 2.1, "low": 2.0, "high": 2.2}
NOT_TOLD = {"verdict": comparison.UNKNOWN, "speed": None, "low": None, "high": None}


@pytest.fixture
def ada():
    return make_user("operators", username="ada")


@pytest.fixture
def host(ada):
    """Two mail servers on ext4 beside a pool on XFS, of which nothing is published; one of them moved there."""
    for slug in ("ext4", "xfs"):
        entry(FileSystem, slug)
    host = observed_host(registered_by=ada)
    mail_server(host)
    mail_server(host, "mail-2")
    return host


def move(host, outcome=BETTER, **fields) -> PlacementMove:
    """Let mail-1 have moved to XFS by hand, eight days ago."""
    machine = host.observed_machines.get(name="mail-1")
    told = {"outcome": outcome, "switched_at": now() - timedelta(days=8), "started_at": now() - timedelta(days=8)}
    row = moved(machine, **told | fields)
    machine.disks.update(pool=row.to_pool)
    return row


def advice(plan, machine="kvm-1/mail-2") -> dict:
    return next(entry for entry in plan.content["machines"] if entry["machine"] == machine)


def test_what_came_of_a_move_advises_it_to_the_machine_like_it(host, ada):
    assert advice(plans.make_plan([host], user=ada))["why"] == "not known"
    row = move(host)
    plan = plans.make_plan([host], user=ada)
    told = advice(plan)
    assert (told["why"], told["pool"], told["prospect"]["moves"]) == ("moves", "kvm-1/srv/xfs", 1)
    assert told["explanation"][1].startswith("Measured here, one move: it is expected to see 2.0 times the")
    assert [(counted["kind"], counted["number"]) for counted in plan.content["counted"]] == [("move", row.pk)]
    assert advice(plan, "kvm-1/mail-1")["pool"] == "kvm-1/srv/xfs"
    assert advice(plan, "kvm-1/mail-1")["why"] == "no gain"


def test_one_for_the_worse_is_advised_to_nobody_and_back_for_the_disk_that_moved(host, ada):
    host.observed_pools.update(is_target=True)
    move(host, {"verdict": comparison.WORSE, "speed": 0.5, "low": 0.45, "high": 0.55})
    plan = plans.make_plan([host], user=ada)
    assert not advice(plan)["is_move"]
    assert advice(plan, "kvm-1/mail-1")["pool"] == "kvm-1/srv/ext4"


def test_a_move_of_which_nothing_can_be_told_does_not_count(host, ada):
    move(host, NOT_TOLD)
    plan = plans.make_plan([host], user=ada)
    assert advice(plan)["why"] == "not known"
    assert plan.content["counted"] == []


def test_a_planned_move_counts_under_the_load_that_its_plan_saw(host, ada):
    move(host, advice={"guest_fs": "ext4", "mix": {"shares": {"fileserver": 1.0}}})
    assert plans.make_plan([host], user=ada).content["counted"] == []  # a load that the catalogue has no more
    entry(Workload, "fileserver")
    assert plans.make_plan([host], user=ada).content["counted"] == []
    PlacementMove.objects.update(advice={"guest_fs": "ext4", "mix": {"shares": {"varmail": 2.0}}})
    plans.state_mix(host.observed_machines.get(name="mail-1"), {"fileserver": 1.0}, user=ada)
    assert len(plans.make_plan([host], user=ada).content["counted"]) == 1


def test_the_page_says_which_moves_count_and_what_would_tell(client, host, ada):
    client.force_login(ada)
    first = plans.make_plan([host], user=ada)
    page = client.get(reverse("placement-plan", args=[first.pk])).content.decode()
    assert "What would tell here" in page
    assert "kdb measure varmail --laboratory NAME --machine kvm-1 --place=/srv/ext4=/srv/ext4" in page
    row = move(host)
    second = plans.make_plan([host], user=ada)
    page = client.get(reverse("placement-plan", args=[second.pk])).content.decode()
    assert (
        f'href="{reverse("placement-move", args=[row.pk])}">Move {row.pk}</a>: kvm-1/mail-1 from kvm-1/srv/ext4' in page
    )
    assert "2.10 times as fast (95 %: 2.00 to 2.20)" in page
    told = Api(client, ada)("get", f"plans/{second.pk}/").json()
    assert json.dumps(told["content"]["counted"]) == json.dumps(second.content["counted"])


def test_a_trial_is_asked_for_by_a_form_filled_in_and_only_once_at_a_time(client, host, ada):
    trial = next(
        proposal
        for proposal in plans.make_plan([host], user=ada).content["proposals"]
        if proposal["kind"] == "trial move"
    )
    assert (trial["machine"], trial["machines"]) == ("kvm-1/mail-1", 2)
    assert 0.05 < trial["gain"] < 0.4
    client.force_login(ada)
    page = client.get(trial["address"]).content.decode()
    pool = host.observed_pools.get(path="/srv/xfs")
    assert f'<option value="{pool.pk}" selected>' in page
    move(host, NOT_TOLD, switched_at=now() - timedelta(days=1))
    kinds = [proposal["kind"] for proposal in plans.make_plan([host], user=ada).content["proposals"]]
    assert kinds == ["runs"]


def test_before_and_after_end_where_the_disk_was_moved_before_and_again(host):
    """Requests take 4, 2 and 1 units on three stretches: each move is held against its own neighbours."""
    machine = host.observed_machines.get(name="mail-1")
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
