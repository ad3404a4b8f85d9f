"""Pools that a laboratory measured: its runs tell them apart in plans, which its members alone see."""

import json
from math import log

import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse
from django.utils.timezone import now

from experiments.models import FileSystem, Workload
from modelling.fleet.detection import persistence
from modelling.fleet.moving import comparison, moves, outcomes, plans
from modelling.models import DetectedHour, DetectionModel, PlacementMove, PlacementPlan, PlacementPolicy
from modelling.own_lab import laboratories, pools, sessions
from modelling.own_lab.content import Choice
from tests.factories import entry, make_pool, make_user
from tests.modelling.fleet.moving.fleets import mail_server, moved, observed_host
from tests.modelling.fleet.moving.test_pages import Api

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]

NVME, DISK = "/srv/nvme", "/srv/ext4"
GUESTS = [Choice(place, place, {"guest_fs": "ext4"}) for place in (NVME, DISK)]


@pytest.fixture
def ada():
    return make_user("operators", username="ada")


@pytest.fixture
def host(ada):
    """A mail server on an ext4 pool, beside another one on ext4; nothing is published of the two."""
    for kind, slugs in ((FileSystem, ("ext4", "xfs")), (Workload, ("varmail", "fileserver"))):
        for slug in slugs:
            entry(kind, slug)
    host = observed_host(registered_by=ada)
    make_pool(host, NVME, name="fast", host_fs="ext4", is_target=True)
    mail_server(host)
    return host


@pytest.fixture
def laboratory(ada, host):
    laboratory = laboratories.create_laboratory(ada, "ours", "Our laboratory")
    PlacementPolicy.objects.create(host=host, laboratory=laboratory)
    return laboratory


def measure(laboratory, ratio: float = 2.5, choices=GUESTS, **fields):
    """Measure the choices to the end, the first so many times as fast as the others."""
    told = {"machine": "kvm-1", "workload": "varmail", "engine": "fio", "seconds": 30, "most_runs": 12, "facts": {}}
    sitting = sessions.begin_session(laboratory, laboratory.members.first(), choices=choices, **told | fields)
    while runs := sessions.planned_runs(sitting):
        for run in runs:
            is_first = run.choice == choices[0].name
            sessions.report_run(
                sitting, run.number, (1000.0 if is_first else 1000.0 / ratio) * (1 + run.number % 3 / 100)
            )
    return sitting


def advice(host, user) -> dict:
    (told,) = plans.make_plan([host], user=user).content["machines"]
    return told


def test_two_pools_of_one_file_system_are_told_apart_by_what_was_measured_on_each(ada, host, laboratory):
    runs = measure(laboratory).runs.filter(disturbed="").count()
    told = advice(host, ada)
    assert (told["pool"], told["why"]) == ("kvm-1/srv/nvme", "moves")
    assert (told["prospect"]["runs"], told["prospect"]["measured"]) == (runs, 1.0)
    assert told["prospect"]["low"] < 2.5 < told["prospect"]["high"] < 5
    assert told["explanation"][1].startswith("Measured here, four runs: it is expected to see 2.")
    assert "laboratories)" not in told["explanation"][1]


def test_without_runs_on_both_the_plan_is_as_today(ada, host, laboratory):
    before = advice(host, ada)
    assert before["why"] == "not known"  # the pool on XFS: nothing is published; that on ext4 is not compared
    for fields in (
        {"machine": "box"},
        {"choices": [GUESTS[0], Choice("else", "/srv/else", {"guest_fs": "ext4"})]},
    ):
        measure(laboratory, **fields)
        plan = plans.make_plan([host], user=ada)
        assert plan.content["machines"][0]["why"] == "not known"
        assert not plan.laboratories.exists()


def test_runs_on_the_host_itself_count_by_the_pools_name_and_at_a_distance(ada, host, laboratory):
    measure(laboratory)
    inside = advice(host, ada)["prospect"]
    measure(laboratory, choices=[Choice(place, place, {"host_fs": "ext4"}) for place in ("fast", DISK)])
    outside = advice(host, ada)["prospect"]
    assert outside["ratio"] == pytest.approx(inside["ratio"], rel=0.1)
    assert log(outside["high"] / outside["low"]) > 1.1 * log(inside["high"] / inside["low"])


def test_nights_hide_no_sitting_that_compares_pools(ada, host, laboratory):
    measure(laboratory)
    night = sessions.Sitting.objects.get()
    night.pk, night.is_night = None, True
    for _ in range(pools._MOST_SESSIONS):
        night.pk = None
        night.save()
    assert advice(host, ada)["why"] == "moves"


def test_what_the_newest_sitting_says_counts(ada, host, laboratory):
    measure(laboratory)
    measure(laboratory, ratio=1 / 2.5)
    assert advice(host, ada)["pool"] == "kvm-1/srv/ext4"


def test_runs_under_one_load_tell_of_others_at_a_distance(ada, host, laboratory):
    measure(laboratory, workload="fileserver")
    borrowed = advice(host, ada)
    assert borrowed["why"] == "not sure"
    assert (borrowed["prospect"]["measured"], borrowed["prospect"]["borrowed"]) == (0.0, 1.0)
    assert "four runs under other loads: it is expected to see 1." in borrowed["explanation"][1]
    measure(laboratory)
    assert (advice(host, ada)["why"], advice(host, ada)["prospect"]["measured"]) == ("moves", 1.0)
    plans.state_mix(host.observed_machines.get(), {"varmail": 3.0, "fileserver": 1.0}, user=ada)
    assert (advice(host, ada)["why"], advice(host, ada)["prospect"]["measured"]) == ("moves", 1.0)


def detected(host, **minutes) -> None:
    """Let detection say this of the mail server, of thirty minutes; nothing is stated."""
    machine = host.observed_machines.get()
    plans.state_mix(machine, {}, user=None)
    model, _ = DetectionModel.objects.get_or_create(
        method=persistence.METHOD, digest="0", defaults={"signatures": 80, "training": {}, "report": {}}
    )
    empty = {"minutes": 30, "idle": 0, "unlike": 0, "shares": {}, "others": {}, "certainty": 0.0}
    at = now().replace(minute=0, second=0, microsecond=0)
    DetectedHour.objects.update_or_create(machine=machine, starts_at=at, defaults={"model": model, **empty | minutes})


def test_a_load_that_detection_is_fairly_sure_of_moves_where_other_loads_do_not_speak_against_it(ada, host, laboratory):
    measure(laboratory, ratio=6.0)
    detected(host, shares={"varmail": 30}, certainty=18.0)
    told = advice(host, ada)
    assert (told["why"], told["pool"]) == ("moves", "kvm-1/srv/nvme")
    assert (told["mix"]["probability"], told["mix"]["others"][0]["probability"]) == pytest.approx((0.6, 0.4))
    assert (told["prospect"]["measured"], told["prospect"]["borrowed"]) == pytest.approx((0.6, 0.4))
    measure(laboratory, workload="fileserver", ratio=1 / 6.0)
    assert advice(host, ada)["why"] == "not sure"


def test_a_machine_that_is_unlike_anything_known_moves_where_every_load_that_was_measured_says_so(
    client, ada, host, laboratory
):
    detected(host, unlike=30)
    assert advice(host, ada)["why"] == "not known"
    for workload in ("varmail", "fileserver", "database", "sequential-write"):
        measure(laboratory, ratio=6.0, workload=workload)
        why = advice(host, ada)["why"]
    assert why == "moves"
    client.force_login(ada)
    page = client.get(reverse("placement-plan", args=[PlacementPlan.objects.latest("pk").pk])).content.decode()
    assert "its load: a load that is not known" in page
    assert "under other loads" in page
    measure(laboratory, ratio=1 / 6.0)
    assert advice(host, ada)["why"] == "not sure"


def test_what_is_like_a_database_is_as_the_measured_database(ada, host, laboratory):
    detected(host, others={"flushed-database": 30})
    measure(laboratory, ratio=6.0, workload="database")
    told = advice(host, ada)
    assert (told["prospect"]["measured"], told["prospect"]["borrowed"]) == (0.5, 0.5)


def test_its_own_load_on_both_pools_decides_for_a_machine(ada, host, laboratory):
    detected(host, unlike=30)
    for workload in ("varmail", "fileserver"):
        measure(laboratory, ratio=1 / 6.0, workload=workload)
    load = {"machine": "kvm-1/mail-1", "sentence": "As mail-1.", "load": {}}
    measure(laboratory, ratio=1.5, workload="", like=load)
    plan = plans.make_plan([host], user=ada)
    (told,) = plan.content["machines"]
    assert (told["why"], told["pool"], told["prospect"]["measured"]) == ("moves", "kvm-1/srv/nvme", 1.0)
    assert "under the load of kvm-1/mail-1." in plan.content["counted"][0]["text"]


@pytest.fixture
def bob(host):
    bob = make_user("operators", username="bob")
    host.operators.add(bob)
    return bob


def test_a_plan_that_tells_of_runs_is_seen_by_members_alone(client, ada, bob, host, laboratory):
    measure(laboratory)
    plan = plans.make_plan([host], user=ada)
    address = reverse("placement-plan", args=[plan.pk])
    for user, status in ((ada, 200), (bob, 404), (make_user(is_superuser=True), 404)):
        client.force_login(user)
        assert client.get(address).status_code == status
        assert (f"Plan {plan.pk}<" in client.get(reverse("placement")).content.decode()) == (status == 200)
    for user, status, count in ((ada, 200, 1), (bob, 404, 0)):
        ask = Api(client, user)
        assert ask("get", f"plans/{plan.pk}/").status_code == status
        assert len(ask("get", "plans/").json()["results"]) == count
    refused = Api(client, bob)("post", f"plans/{plan.pk}/confirm/", {"machines": ["kvm-1/mail-1"]})
    assert refused.status_code == 404
    client.force_login(ada)
    assert "only members of Our laboratory see it" in client.get(address).content.decode()
    laboratories.add_member(laboratory, "bob")
    assert Api(client, bob)("get", f"plans/{plan.pk}/").status_code == 200
    bob.laboratories.clear()
    assert Api(client, bob)("get", f"plans/{plan.pk}/").status_code == 404


def test_who_is_no_member_plans_without_the_runs_and_a_policys_plan_has_them(client, ada, bob, host, laboratory):
    measure(laboratory)
    assert advice(host, bob)["why"] == "not known"
    assert len(Api(client, bob)("get", "plans/").json()["results"]) == 1
    assert advice(host, None)["why"] == "moves"
    assert list(PlacementPlan.objects.latest("pk").laboratories.all()) == [laboratory]


def test_a_move_is_seen_by_operators_and_what_its_plan_promised_by_members_alone(client, ada, bob, host, laboratory):
    measure(laboratory)
    make_pool(host, "/srv/none")
    plan = plans.make_plan([host], user=ada)
    told = {"advice": plan.content["machines"][0], "outcome": {"verdict": comparison.KEPT, "speed": 1.7}}
    told["outcome"] |= {"low": 1.5, "high": 1.9, "minutes_before": 60, "minutes_after": 60}
    told["outcome"] |= {"watched_before": 60, "watched_after": 60}
    move = moved(host.observed_machines.get(), plan=plan, **told)
    for user, is_told in ((ada, True), (bob, False)):
        client.force_login(user)
        page = client.get(reverse("placement-move", args=[move.pk])).content.decode()
        assert "runs from its new image" in page
        shown = ("Measured here" in page, "promised were" in page, f"plan {plan.pk}" in page)
        assert shown == (is_told, is_told, is_told)
    assert outcomes.score()["promised"] is None
    PlacementMove.objects.update(advice={"prospect": {"gaining": 0.9}})
    assert outcomes.score()["promised"] == 0.9


def test_a_policy_takes_a_laboratory_of_the_users_and_shows_it_to_no_other(client, ada, bob, host):
    laboratory = laboratories.create_laboratory(ada, "ours", "Our laboratory")
    laboratories.create_laboratory(bob, "theirs", "Their laboratory")
    address = reverse("placement-policy", args=[host.slug])
    fields = {"mode": "off", "least_gaining": 0.9, "least_gain": 0.1, "most_moves_a_day": 1, "keeps_days": 7}
    client.force_login(ada)
    theirs = bob.laboratories.get()
    assert client.post(address, fields | {"laboratory": theirs.pk}).status_code == 422
    assert client.post(address, fields | {"laboratory": laboratory.pk}).status_code == 302
    assert moves.policy_of(host).laboratory == laboratory
    ask = Api(client, ada)
    there, nowhere = (ask("put", "policies/kvm-1/", {"laboratory": slug}) for slug in ("theirs", "nothere"))
    assert (there.status_code, nowhere.status_code) == (400, 400)
    assert json.dumps(there.json()).replace("theirs", "nothere") == json.dumps(nowhere.json())
    assert ask("put", "policies/kvm-1/", {"mode": "confirm"}).json()["laboratory"] == "ours"
    assert Api(client, bob)("get", "policies/kvm-1/").json()["laboratory"] == ""
    client.force_login(bob)
    assert "Our laboratory" not in client.get(address).content.decode()
    admin = get_user_model().objects.create_superuser("root")
    client.force_login(admin)
    assert client.post(address, fields | {"laboratory": ""}).status_code == 302
    assert moves.policy_of(host).laboratory == laboratory  # what he does not see he does not take away
    assert ask("put", "policies/kvm-1/", {"laboratory": ""}).json()["laboratory"] == ""
