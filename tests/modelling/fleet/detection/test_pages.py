"""Operators see observed machines and state facts of them, in the browser and by the API."""

import json

import pytest
from django.utils.timezone import now

from experiments.models import FileSystem, ObservedMachine
from experiments.published_evidence import signatures
from modelling.fleet.detection import persistence
from modelling.fleet.detection.classifier import METHOD
from modelling.models import DetectedHour, DetectionModel
from tests import factories
from tests.test_architecture import ROOT

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.fixture
def operator(client):
    user = factories.make_user("operators")
    client.force_login(user)
    return user


@pytest.fixture
def machine(operator):
    return factories.make_machine(factories.make_host("lab-1", registered_by=operator, is_observed=True), "mail")


def detected(machine, others: dict[str, int] | None = None, **shares: float) -> None:
    model = DetectionModel.objects.create(method=METHOD, digest="0", signatures=80, training={}, report={})
    hour = factories.now().replace(minute=0, second=0, microsecond=0)
    minutes = round(sum(shares.values()) + sum((others or {}).values()))
    DetectedHour.objects.create(
        machine=machine,
        starts_at=hour,
        model=model,
        minutes=minutes,
        idle=0,
        unlike=0,
        shares=shares,
        others=others or {},
        certainty=minutes * 0.9,
    )


def test_an_operator_turns_observation_on_and_the_trail_says_who(client, operator):
    host = factories.make_host("lab-1", registered_by=operator)
    response = client.post("/laboratory/hosts/lab-1/observed/", {"do": "on", "every": "15"}, follow=True)
    host.refresh_from_db()
    assert (host.is_observed, host.observed_every) == (True, 15)
    assert "/laboratory/trail/?host=lab-1" in response.content.decode()
    (entry,) = host.audit_entries.all()
    assert (entry.actor, entry.action, entry.detail) == (operator, "observation on", "every 15 s")


def test_an_operator_has_a_new_pool_listed_without_waiting(client, operator):
    seen = now()
    host = factories.make_host("lab-1", registered_by=operator, is_observed=True, observed_at=seen, listed_at=seen)
    assert "were listed at" in client.get("/laboratory/hosts/lab-1/observed/").content.decode()
    response = client.post("/laboratory/hosts/lab-1/observed/", {"do": "list"}, follow=True)
    host.refresh_from_db()
    assert host.listed_at is None
    assert "Machines and pools are listed at the next." in response.content.decode()


def test_the_list_says_where_a_machine_lies_what_it_does_and_what_that_is_like(client, machine):
    factories.make_minutes(machine, 5)
    factories.entry(factories.Workload, "varmail")
    detected(machine, varmail=45.0, fileserver=15.0)
    text = client.get("/laboratory/hosts/lab-1/observed/").content.decode()
    # 6,000 writes of 14 KiB a minute
    for words in ("mail</a>", "(xfs)", "not known: say which", '<td class="num">1.37</td>', "75 %", "25 %"):
        assert words in text, words


def test_the_list_costs_as_many_queries_for_thirty_machines_as_for_one(client, machine, django_assert_max_num_queries):
    for _ in range(30):
        factories.make_machine(machine.host)
    with django_assert_max_num_queries(24):
        client.get("/laboratory/hosts/lab-1/observed/")


def test_a_profile_leads_to_its_question_with_what_is_known_of_the_machine(client, machine, published_evidence):
    ObservedMachine.objects.update(guest_fs="xfs", guest_fs_source="superblock")
    detected(machine, varmail=45.0, fileserver=15.0)
    text = client.get(f"/laboratory/observed/{machine.pk}/").content.decode()
    address = text.partition('<a class="button" href="')[2].partition('"')[0].replace("&amp;", "&")
    assert address == "/mix/?axis=host-storage&guest_fs=xfs&varmail=75&fileserver=25"
    assert client.get(address).status_code == 200


def test_what_is_not_told_apart_and_what_is_no_workload_is_said_beside_the_mix(client, machine):
    factories.entry(factories.Workload, "varmail")
    detected(machine, {"flushed-database or varmail": 30, "backup": 20}, varmail=10.0)
    text = client.get(f"/laboratory/observed/{machine.pk}/").content.decode()
    for words in (
        "50 % a database that reads and flushes or varmail (not told apart)",
        "33 % everything read, one file after another",
    ):
        assert words in text, words
    mix = client.get(f"/api/v1/observed-machines/{machine.pk}/mix/").json()
    assert mix["others"] == {"backup": pytest.approx(1 / 3), "flushed-database or varmail": 0.5}


def test_the_page_of_the_model_says_what_it_reached(client, operator):
    for workload in ("fileserver", "varmail", "webserver", "randomfileaccess"):
        factories.entry(factories.Workload, workload)
    signatures.load(ROOT / "fixtures/signatures.csv")
    persistence.train()
    text = client.get("/laboratory/detection/").content.decode()
    for words in ("Cached, not used", "Programs that taught nothing", "at most 5 %", "small writes, each flushed"):
        assert words in text, words
    report = client.get("/api/v1/detection-model/").json()["report"]
    assert "varmail" not in {label for told in report["held_back"].values() for label in told}
    assert max(report["sureness"].values()) < 0.9  # as long as programs are told as workloads
    assert report["foreign_told"] > 0.05


def test_what_an_operator_states_stands_above_what_was_found(client, machine):
    factories.entry(FileSystem, "btrfs")
    ObservedMachine.objects.update(guest_fs="ext4", guest_fs_source="agent")
    client.post(f"/laboratory/observed/{machine.pk}/", {"guest_fs": "btrfs", "apart": "mail", "is_pinned": "on"})
    machine.refresh_from_db()
    assert (machine.guest_fs, machine.guest_fs_source, machine.apart) == ("btrfs", "operator", "mail")
    client.post(f"/laboratory/observed/{machine.pk}/", {"guest_fs": ""})
    machine.refresh_from_db()
    assert (machine.guest_fs, machine.guest_fs_source, machine.is_pinned) == ("", "", False)


def test_a_pool_is_told_in_gibibytes_and_kept_in_bytes(client, machine):
    pool = machine.disks.get().pool
    fields = {f"pool{pool.pk}-is_target": "on", f"pool{pool.pk}-reserve_gib": "1.5", f"pool{pool.pk}-most_load": "80"}
    client.post("/laboratory/hosts/lab-1/observed/", {"do": f"pool-{pool.pk}", **fields})
    pool.refresh_from_db()
    assert (pool.is_target, pool.reserve_bytes, pool.most_load) == (True, 3 * 2**29, 80.0)
    wrong = {"do": f"pool-{pool.pk}", f"pool{pool.pk}-most_load": "0"}
    assert client.post("/laboratory/hosts/lab-1/observed/", wrong).status_code == 422


def test_only_the_group_of_the_host_sees_and_changes_what_is_observed(client, machine):
    client.force_login(factories.make_user("operators"))
    for address, body in (
        ("/laboratory/hosts/lab-1/observed/", {"do": "off"}),
        (f"/laboratory/observed/{machine.pk}/", {"guest_fs": "", "is_pinned": "on"}),
    ):
        assert client.get(address).status_code == 404
        assert client.post(address, body).status_code == 404
    member = factories.make_user("operators")
    machine.host.operators.add(member)
    client.force_login(member)
    for address, body in (
        ("/laboratory/hosts/lab-1/observed/", {"do": "off"}),
        (f"/laboratory/observed/{machine.pk}/", {"guest_fs": "", "is_pinned": "on"}),
    ):
        assert client.post(address, body).status_code == 302
    client.force_login(factories.make_user("researchers"))
    for address in (
        "/laboratory/hosts/lab-1/observed/",
        f"/laboratory/observed/{machine.pk}/",
        "/laboratory/detection/",
    ):
        assert client.get(address).status_code == 403


def patched(client, path: str, body):
    return client.patch(f"/api/v1/{path}/", json.dumps(body), content_type="application/json")


def test_the_api_changes_what_is_given_and_nothing_else(client, machine):
    pool = machine.disks.get().pool
    factories.ObservedPool.objects.update(is_target=True, reserve_bytes=7, most_load=3.0)
    answer = patched(client, f"observed-pools/{pool.pk}", {"most_load": None}).json()
    assert (answer["is_target"], answer["reserve_bytes"], answer["most_load"]) == (True, 7, None)
    answer = patched(client, f"observed-machines/{machine.pk}", {"is_pinned": True}).json()
    assert (answer["is_pinned"], answer["guest_fs"]) == (True, None)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"guest_fs": "ext5"}, "guest_fs"), ({"colour": "red"}, "colour"), ([], "body"), ({"apart": "x" * 41}, "apart")],
)
def test_what_the_api_cannot_take_is_named(client, machine, body, field):
    response = patched(client, f"observed-machines/{machine.pk}", body)
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, field)


def test_page_and_api_say_the_same_of_the_load(client, machine):
    factories.make_minutes(machine, 2)
    rows = client.get(f"/api/v1/observed-machines/{machine.pk}/statistics/?span=minute").json()["rows"]
    assert [row["writes"] for row in rows] == [6000, 6000]
    assert client.get(f"/api/v1/observed-machines/{machine.pk}/statistics/?span=week").status_code == 400
    text = client.get(f"/laboratory/observed/{machine.pk}/?span=minute").content.decode()
    assert text.count('<td class="num">100.0</td>') == 2  # writes a second
