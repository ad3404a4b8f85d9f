"""The road of a move from end to end: machines found, watched, told and planned for, one of them moved, and judged."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.urls import reverse

from experiments.fleet import actions, watching
from experiments.models import FileSystem, Hypervisor, ObservedMachine, Workload
from experiments.published_evidence import signatures
from kdb.jobs import jobs
from kdb.models import Job
from modelling.fleet.detection import persistence, selectors
from modelling.fleet.moving import outcomes, plans, policies
from modelling.models import DetectedHour, PlacementDecision, PlacementMove, PlacementPolicy
from modelling.own_lab import laboratories
from modelling.own_lab.content import Choice
from tests import factories
from tests.experiments.fleet.driver.machines import DISK_MIB, Loaded, Machine, mount_pool
from tests.experiments.fleet.visits import watch_for
from tests.experiments.laboratory.conftest import keys, qemu_lab, stock_lab, wait_until  # noqa: F401 - fixtures
from tests.kdb.jobs.test_worker import Place, kill
from tests.modelling.fleet.moving.fleets import numbers_for_xfs
from tests.modelling.fleet.moving.test_killed import LONGEST_SECONDS, WORKER
from tests.modelling.fleet.moving.test_measured_pools import measure

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.sqlite,
    pytest.mark.django_db(transaction=True),
]

WATCHED_SECONDS = 15
LOADS = {"files-1": ("xfs", "fileserver", 1), "random-1": ("ext4", "randomfileaccess", 3)}
LOADS |= {"web-1": ("btrfs", "webserver", 3)}
MOVED = "lab/mail-1"


@pytest.fixture(params=["qemu_lab", pytest.param("stock_lab", marks=pytest.mark.nightly)])
def lab(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def pools(lab):
    """Host file system to where it is mounted."""
    points = {host_fs: mount_pool(lab, host_fs) for host_fs in ("ext4", "xfs", "btrfs")}
    yield points
    for point in points.values():
        lab.inside("umount", str(point))


@pytest.fixture
def mail(lab, pools):
    """Give a machine on ext4 that writes records, beside three others on the same host; all run."""
    mail = Machine(lab, "mail-1", pools["ext4"])
    others = [Loaded(lab, name, pools[host_fs], *load) for name, (host_fs, *load) in LOADS.items()]
    try:
        with ThreadPoolExecutor() as at_once:
            list(at_once.map(lambda machine: machine.start(), [mail, *others]))
        yield mail
    finally:
        for machine in (mail, *others):
            machine.forget()


@pytest.fixture
def host(lab, keys):  # noqa: F811
    """Register the host as its operator would; whoever moves its disks copies at most 12 MiB/s."""
    keys(lab)
    numbers_for_xfs()
    for _, workload, _ in LOADS.values():
        factories.entry(Workload, workload)
    factories.entry(FileSystem, "btrfs")
    about = {"address": "127.0.0.1", "port": lab.port, "key_name": "lab", "host_key": lab.host_key}
    about |= {
        "login": lab.login,
        "uses_sudo": lab.login != "root",
        "drivers": ["libvirt"],
        "hypervisor": factories.entry(Hypervisor, "kvm"),
    }
    ada = factories.make_user("operators", username="ada")
    host = factories.make_host("lab", pools=(), registered_by=ada, **about)
    policies.set_policy(PlacementPolicy(host=host, copy_rate_mib=12), user=ada)
    return host


@pytest.fixture
def place(tmp_path, migrated_sqlite, lab):
    """Workers of this test's own database."""
    place = Place(tmp_path, migrated_sqlite)
    place.environment["DATABASE_URL"] = f"sqlite:///{connection.settings_dict['NAME']}"
    place.environment["KEYS_DIR"] = str(lab.folder / "keys")
    yield place
    for worker in place.workers:
        kill(worker)


def watched(host) -> dict[str, ObservedMachine]:
    """Return the machines of the host by name, after another time of watching."""
    host.refresh_from_db()
    assert watch_for(host, WATCHED_SECONDS), host.observation_error
    host.refresh_from_db()
    return {machine.name: machine for machine in ObservedMachine.objects.all()}


def written(machine: ObservedMachine) -> int:
    """Requests in all minutes that were kept."""
    return sum(machine.disks.get().statistics.filter(span="minute").values_list("writes", flat=True))


def check_detected(machines: dict[str, ObservedMachine]) -> None:
    """Check that each has an hour that is accounted for, and that no workload is told that it is not like."""
    told = {}
    for name, machine in machines.items():
        hours = list(DetectedHour.objects.filter(machine=machine))
        for hour in hours:
            like_known = sum(hour.shares.values()) + sum(hour.others.values())
            assert like_known + hour.idle + hour.unlike == hour.minutes
        assert sum(hour.minutes for hour in hours) == machine.disks.get().statistics.filter(span="minute").count()
        mix = selectors.mix_of(machine)
        told[name] = max(mix.shares, key=lambda workload: mix.shares[workload]) if mix.shares else ""
        assert told[name] or "unlike anything known" in mix.why_not
    # Small requests with an fsync each, and large ones without: more depends on how busy the host is.
    assert (told["mail-1"] in ("varmail", ""), told["files-1"] in ("fileserver", "")) == (True, True), told


def judged(client, page: str) -> str:
    """The page of a move after the worker compared before and after."""
    job = jobs.enqueue(outcomes.JOB)
    wait_until(lambda: Job.objects.filter(pk=job.pk, state="done").exists(), LONGEST_SECONDS)
    return client.get(page).content.decode()


def test_four_machines_are_found_told_and_planned_for_and_one_is_moved_and_judged(
    host, pools, mail, place, client, monkeypatch
):
    ada = host.registered_by
    client.force_login(ada)
    monkeypatch.setattr(selectors, "LEAST_MINUTES", 1)
    monkeypatch.setattr(watching, "LIST_EVERY", timedelta(0))

    # Found and watched
    actions.turn_on(host, user=ada, every=5)
    machines = watched(host)
    lies_on = {name: machine.disks.get().pool for name, machine in machines.items()}
    host_fs = {name: load[0] for name, load in LOADS.items()} | {"mail-1": "ext4"}
    assert {name: (pool.path, pool.host_fs) for name, pool in lies_on.items()} == {
        name: (str(pools[kind]), kind) for name, kind in host_fs.items()
    }
    guest_fs = {name: (machine.guest_fs, machine.guest_fs_source) for name, machine in machines.items()}
    assert guest_fs == {**dict.fromkeys(LOADS, ("ext4", "superblock")), "mail-1": ("", "")}
    assert all(machine.is_running and written(machine) for machine in machines.values())

    # Told
    signatures.load(settings.BASE_DIR / "fixtures/signatures.csv")
    persistence.train()
    persistence.detect()
    check_detected(machines)

    # Planned for, whatever it does: three loads were measured on both pools. Nobody states the mix; of the one that has
    # no file system that anybody could see its operator knows that, and the others are to stay
    actions.change_machine(machines["mail-1"], {"guest_fs": "ext4"}, user=ada)
    for name in LOADS:
        actions.change_machine(machines[name], {"is_pinned": True}, user=ada)
    for pool in host.observed_pools.all():
        actions.change_pool(pool, {"is_target": True}, user=ada)
    laboratory = laboratories.create_laboratory(ada, "ours", "Our laboratory")
    host.placement_policy.laboratory = laboratory
    policies.set_policy(host.placement_policy, user=ada)
    places = [Choice(place, place, {"guest_fs": "ext4"}) for place in (str(pools["xfs"]), str(pools["ext4"]))]
    for workload in ("varmail", "fileserver", "database"):
        measure(laboratory, ratio=6.0, workload=workload, machine="lab", choices=places)
    plan = plans.make_plan([host], user=ada)
    (advice,) = (entry for entry in plan.content["machines"] if entry["is_move"])
    assert (advice["machine"], advice["pool"], advice["why"]) == (MOVED, f"lab{pools['xfs']}", "moves")
    assert advice["mix"]["minutes"] > 0
    assert advice["prospect"]["measured"] + advice["prospect"]["borrowed"] == pytest.approx(1.0)
    staying = {entry["machine"]: entry["explanation"] for entry in plan.content["machines"] if not entry["is_move"]}
    staying |= {entry["machine"]: entry["why"] for entry in plan.content["not_planned"]}
    assert {name for name, why in staying.items() if why} == {f"lab/{name}" for name in LOADS}

    # Moved, with a worker killed in the middle of the copy
    before = written(machines["mail-1"])
    first = place.start_worker(WORKER)
    address = reverse("placement-plan", args=[plan.pk])
    assert client.post(address, {"do": "confirm", "machine": [MOVED]}).status_code == 302
    wait_until(lambda: PlacementMove.objects.filter(done_bytes__gt=0).exists(), LONGEST_SECONDS)
    kill(first)
    move = PlacementMove.objects.get()
    assert (move.state, move.runs_from, move.done_bytes < move.size_bytes) == ("copying", "old", True)
    mail.writes_on()
    place.start_worker(WORKER)
    wait_until(lambda: PlacementMove.objects.filter(state__in=("kept", "failed")).exists(), LONGEST_SECONDS)
    move.refresh_from_db()
    assert (move.state, move.runs_from, move.attempt) == ("kept", "new", 2), list(move.lines.all())
    assert move.size_bytes == DISK_MIB * 2**20
    mail.writes_on()
    mail.virsh("suspend", "mail-1")
    assert mail.lost(move.new_path) == []
    mail.virsh("resume", "mail-1")
    mail.writes_on()

    # Watched again: the host itself says where it lies, and what it does there is counted
    machine = watched(host)["mail-1"]
    disk = machine.disks.get()
    assert (disk.path, disk.pool.host_fs) == (move.new_path, "xfs")
    assert written(machine) > before

    # Judged: of a quarter of a minute nothing can be told
    page = reverse("placement-move", args=[move.pk])
    assert "It cannot be told yet" in judged(client, page)

    # As if all that was hours ago, and the same load was watched for hours before and after
    switched_at = move.switched_at - timedelta(hours=8)
    PlacementMove.objects.update(started_at=switched_at, switched_at=switched_at)
    begin = switched_at.replace(second=0, microsecond=0)
    with transaction.atomic():
        factories.make_minutes(machine, 300, begin=begin - timedelta(hours=6))
        factories.make_minutes(machine, 300, begin=begin + timedelta(minutes=1), write_seconds=6.0, flush_seconds=4.5)
    shown = judged(client, page)
    assert "Kept its promise" in shown
    assert "300 minutes before and 300 after" in shown
    assert f"runs from its new image, <code>{move.new_path}" in shown

    # And written down, with who decided it and what it rested on
    decisions = PlacementDecision.objects.filter(plan=plan).order_by("pk")
    assert [(decision.action, decision.actor) for decision in decisions] == [
        ("planned", ada),
        ("confirmed", ada),
        ("switched", None),
    ]
    assert {(decision.revision, decision.model) for decision in decisions} == {(plan.revision, plan.model)}
    assert "move confirmed, by ada" in shown
