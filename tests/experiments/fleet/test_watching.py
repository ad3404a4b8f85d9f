"""Looks at a host, and the rows that they leave in the database."""

import threading
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from django.utils.timezone import now

from experiments.fleet import actions, retention, watching
from experiments.fleet.driver.contract import ListedDisk, ListedMachine, ListedPool, Listing
from experiments.laboratory.transport.counters import Counts
from experiments.models import DiskStatistics, Host, ObservedMachine
from kdb.jobs import jobs
from kdb.models import Job
from tests import factories

pytestmark = [pytest.mark.both, pytest.mark.django_db]

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
UUID = "6a7b2a3c-0000-4000-8000-000000000001"


def listing(*, pool: str = "/srv/xfs", uuid: str = UUID) -> Listing:
    pools = (
        ListedPool("/srv/xfs", "fast", "file", "xfs", "ssd", 10**12, 10**11),
        ListedPool("/srv/ext4", "", "file", "ext4", "hdd", 10**12, 10**11),
    )
    disk = ListedDisk("vda", f"{pool}/mail.raw", pool, "raw", "sparse", "none", False, 10**10, 10**9)
    return Listing(pools, (ListedMachine(uuid, "mail", True, False, (disk,)),))


def look(seconds: float, uuid: str = UUID, **counts) -> watching.Look:
    return NOON + timedelta(seconds=seconds), {uuid: {"vda": Counts(**counts)}}


@pytest.fixture
def host():
    host = factories.make_host(is_observed=True)
    watching.save_listing(host, listing())
    return host


def minutes() -> list[tuple[float, int]]:
    return [(row.seconds, row.writes) for row in DiskStatistics.objects.filter(span="minute").order_by("starts_at")]


def test_a_list_taken_over_twice_adds_nothing_and_follows_a_move(host):
    watching.save_listing(host, listing())
    machine = ObservedMachine.objects.get()
    assert [str(disk.pool.path) for disk in machine.disks.all()] == ["/srv/xfs"]
    watching.save_listing(host, listing(pool="/srv/ext4"))
    (disk,) = machine.disks.all()
    assert (disk.pool.host_fs, disk.path) == ("ext4", "/srv/ext4/mail.raw")


def test_what_an_operator_said_of_a_pool_outlives_the_next_list(host):
    pool = host.observed_pools.get(path="/srv/xfs")
    actions.change_pool(pool, {"is_target": True, "most_load": 80.0}, user=None)
    watching.save_listing(host, listing())
    pool.refresh_from_db()
    assert (pool.is_target, pool.most_load) == (True, 80.0)
    assert [entry.detail for entry in host.audit_entries.all()] == ["/srv/xfs: is_target True, most_load 80.0"]


def test_looks_kept_twice_count_once(host):
    looks = [look(0), look(20, writes=20)]
    watching.save_looks(host, looks)
    watching.save_looks(host, looks)
    watching.save_looks(host, [*looks, look(40, writes=30)])
    assert minutes() == [(40, 30)]


def test_a_job_that_lost_its_lease_leaves_nothing(host):
    def gone():
        raise jobs.LeaseLost("given to another worker")

    with pytest.raises(jobs.LeaseLost):
        watching.save_looks(host, [look(0), look(20, writes=20)], gone)
    assert minutes() == []


ANEW = UUID.replace("1", "2")


def writes_of(machine: ObservedMachine) -> list[int]:
    return [row.writes for row in DiskStatistics.objects.filter(disk__machine=machine)]


def test_a_machine_that_was_made_anew_under_its_name_takes_nothing_from_the_old_one(host):
    watching.save_looks(host, [look(0, writes=5), look(10, writes=9)])
    watching.save_listing(host, listing(uuid=ANEW))
    watching.save_looks(host, [look(20, ANEW, writes=1), look(30, ANEW, writes=4)])
    old, new = ObservedMachine.objects.order_by("pk")
    assert (old.is_running, new.is_running) == (False, True)
    assert (writes_of(old), writes_of(new)) == ([4], [3])


def test_the_load_of_a_machine_made_anew_is_never_the_old_ones_also_before_the_next_list(host):
    watching.save_looks(host, [look(0, writes=5), look(10, writes=9)])
    watching.save_looks(host, [look(20, ANEW, writes=50), look(30, ANEW, writes=90)])
    (old,) = ObservedMachine.objects.all()
    assert (old.is_running, writes_of(old)) == (False, [4])


def test_a_machine_that_is_not_known_by_its_uuid_is_listed_at_once(host, monkeypatch):
    """Its name is known: of the machine that had it before."""
    Host.objects.update(listed_at=now() - watching.LIST_NEW - timedelta(seconds=1))
    host.refresh_from_db()
    seen = watching._Visit(host, None, lambda: None)
    anew = SimpleNamespace(read_counters=lambda: look(0, ANEW)[1], list_all=lambda: listing(uuid=ANEW))
    monkeypatch.setattr(seen, "driver", anew)
    monkeypatch.setattr(seen, "find_guest_file_systems", lambda listed: None)
    seen.look()
    assert {str(machine.uuid) for machine in host.observed_machines.filter(is_running=True)} == {ANEW}


def test_statements_do_not_grow_with_the_machines(host, django_assert_num_queries):
    disk = listing().machines[0].disks[0]
    many = tuple(
        ListedMachine(f"{UUID[:-3]}{number:03}", f"machine-{number}", True, False, (disk,)) for number in range(10, 40)
    )
    uuids = [machine.uuid for machine in many]
    watching.save_listing(host, Listing(listing().pools, many))
    looks = [(NOON + timedelta(seconds=s), {uuid: {"vda": Counts(reads=s)} for uuid in uuids}) for s in (0, 10, 70)]
    with django_assert_num_queries(10):
        watching.save_looks(host, looks)
    assert DiskStatistics.objects.count() == 60


def test_sums_by_hour_and_day_are_those_of_the_minutes_however_often_they_are_made(host):
    begin = (now() - timedelta(days=1)).replace(hour=10, minute=58, second=0, microsecond=0)
    looks = [(begin + timedelta(minutes=minute), {UUID: {"vda": Counts(writes=60 * minute)}}) for minute in range(5)]
    watching.save_looks(host, looks)
    for _ in range(2):
        retention.roll_up(None)
        sums = list(DiskStatistics.objects.exclude(span="minute").order_by("span", "starts_at"))
        assert [(row.span, row.seconds, row.writes) for row in sums] == [
            ("day", 240, 240),
            ("hour", 120, 120),
            ("hour", 120, 120),
        ]


def test_what_is_older_than_its_end_is_forgotten_and_its_sums_stay(host, settings):
    begin = (now() - timedelta(days=3)).replace(minute=0, second=0, microsecond=0)
    watching.save_looks(
        host, [(begin, {UUID: {"vda": Counts()}}), (begin + timedelta(minutes=1), {UUID: {"vda": Counts(reads=7)}})]
    )
    settings.KDB_OBSERVATION_MINUTES_DAYS = 2
    for _ in range(2):
        retention.roll_up(None)
        assert list(DiskStatistics.objects.order_by("span").values_list("span", "reads")) == [("day", 7), ("hour", 7)]


def test_a_tick_asks_for_one_job_a_laboratory_on_its_queue(host):
    factories.make_host()  # nobody asked for this one to be observed
    factories.make_host(is_observed=True)
    watching.enqueue_due_watches()
    watching.enqueue_due_watches()
    assert [(job.queue, job.arguments) for job in Job.objects.all()] == [(host.queue, {"laboratory": host.laboratory})]


def test_a_job_that_ends_asks_for_the_next_unless_another_is_there(host):
    watching.enqueue_due_watches()
    job = Job.objects.get()
    Job.objects.update(state="running", owner="worker:1", heartbeat_at=now())
    watching.enqueue_watch(host.laboratory)
    assert Job.objects.count() == 1
    watching.enqueue_watch(host.laboratory, instead_of=job.pk)
    assert Job.objects.filter(state="queued").count() == 1


def due(**visited) -> set[str]:
    keys = dict(Host.objects.values_list("slug", "pk"))
    return {host.slug for host in watching._hosts_due("local", {keys[slug]: at for slug, at in visited.items()})}


def test_each_host_is_due_after_its_interval_and_one_that_failed_after_a_minute():
    for slug, ago, error in (("fresh", 9, ""), ("old", 11, ""), ("failed", 300, "away"), ("new", None, "")):
        at = None if ago is None else now() - timedelta(seconds=ago)
        factories.make_host(slug, is_observed=True, observed_at=at, observation_error=error)
    factories.make_host("blocked", is_observed=True, blocked_reason="It shows another key.")
    factories.make_host("elsewhere", is_observed=True, laboratory="other")
    assert due() == {"old", "failed", "new"}
    assert due(failed=now() - timedelta(seconds=50), new=now()) == {"old"}
    assert due(failed=now() - timedelta(seconds=61)) == {"old", "failed", "new"}
    Host.objects.filter(slug="old").update(drivers=["proxmox"])  # whose command takes long to start
    assert due() == {"failed", "new"}


def test_many_hosts_and_many_machines_are_looked_at_less_often():
    assert watching.interval(10, machines=1, hosts=1) == 10
    assert watching.interval(10, machines=1, hosts=100) == 60
    assert watching.interval(10, machines=50, hosts=1) == 30
    assert watching.interval(10, machines=1, hosts=200) == watching.interval(10, machines=500, hosts=9_000) == 120


@pytest.mark.parametrize(("seconds", "is_listed"), [(10, True), (60, False)])
def test_hosts_that_are_looked_at_seldom_are_listed_seldom(host, monkeypatch, seconds, is_listed):
    Host.objects.update(listed_at=now() - watching.LIST_EVERY - timedelta(seconds=1))
    host.refresh_from_db()
    driver = SimpleNamespace(read_counters=lambda: {}, list_all=listing)
    monkeypatch.setattr(watching, "listing_driver", lambda host: lambda machine: driver)
    monkeypatch.setattr(watching.hosts, "connect", lambda host, *, persistent: nullcontext())
    monkeypatch.setattr(watching._Visit, "find_guest_file_systems", lambda self, listed: None)
    before = host.listed_at
    assert watching.visit(host, every=timedelta(seconds=seconds))
    host.refresh_from_db()
    assert (host.listed_at > before) == is_listed


@pytest.fixture
def short(monkeypatch):
    """Make a watch of half a second."""
    monkeypatch.setattr(watching, "SECONDS", 0.5)
    monkeypatch.setattr(watching, "_PAUSE_SECONDS", 0.05)


@pytest.mark.django_db(transaction=True)
def test_a_watch_visits_all_its_hosts_at_once_whatever_one_of_them_does(short, monkeypatch):
    hosts = {slug: factories.make_host(slug, is_observed=True) for slug in ("a", "b", "c", "faulty")}
    both = threading.Barrier(3)

    def look(self, list_every) -> None:
        if self.host.slug == "faulty":
            raise ValueError("no such column")
        both.wait(5)
        watching.save_looks(self.host, [(now(), {})], self.guard)

    monkeypatch.setattr(watching.hosts, "connect", lambda host, *, persistent: nullcontext())
    monkeypatch.setattr(watching._Visit, "look", look)
    watching.enqueue_due_watches()
    jobs.run(Job.objects.get().pk)
    assert set(Host.objects.exclude(observed_at=None).values_list("slug", flat=True)) == {"a", "b", "c"}
    assert Host.objects.get(pk=hosts["faulty"].pk).observation_error == "no such column"
    assert list(Job.objects.order_by("pk").values_list("state", flat=True)) == ["done", "queued"]


@pytest.mark.django_db(transaction=True)
def test_a_watch_that_another_took_over_ends_and_stores_nothing(short, host, monkeypatch):
    def look(self, list_every) -> None:
        Job.objects.update(attempt=7)  # another worker's
        watching.save_looks(self.host, [(now(), {})], self.guard)

    monkeypatch.setattr(watching.hosts, "connect", lambda host, *, persistent: nullcontext())
    monkeypatch.setattr(watching._Visit, "look", look)
    watching.enqueue_due_watches()
    assert not jobs.run(Job.objects.get().pk)
    host.refresh_from_db()
    assert (host.observed_at, Job.objects.count()) == (None, 1)


@pytest.mark.django_db(transaction=True)
def test_a_host_that_cannot_be_reached_says_so_and_the_next_watch_asks_again(short, host):
    Host.objects.filter(pk=host.pk).update(host_key="")
    watching.enqueue_due_watches()
    jobs.run(Job.objects.get().pk)
    host.refresh_from_db()
    assert (host.observation_error, host.observed_at) == (f"The key of {host} is not accepted yet.", None)
    assert not DiskStatistics.objects.exists()
    assert Job.objects.filter(state="queued").count() == 1


def test_only_a_host_with_libvirt_and_an_accepted_key_is_observed():
    for fields, why in (({"drivers": ["native"]}, "has no libvirt"), ({"host_key": ""}, "is not accepted")):
        host = factories.make_host(**fields)
        with pytest.raises(watching.hosts.HostError, match=why):
            actions.turn_on(host, user=None)
        assert not host.audit_entries.exists()


def test_turning_on_twice_is_one_entry_and_one_job():
    host = factories.make_host()
    actions.turn_on(host, user=None)
    actions.turn_on(host, user=None)
    assert [entry.action for entry in host.audit_entries.all()] == ["observation on"]
    assert Job.objects.count() == 1
    actions.turn_off(host, user=None)
    assert [entry.action for entry in host.audit_entries.all()] == ["observation on", "observation off"]
