"""Hosts with observed machines, and laboratories whose numbers say that XFS is the better host for mail."""

from django.utils.timezone import now

from experiments.models import Host, Hypervisor, ObservedMachine, Workload
from modelling.fleet.moving import plans
from modelling.models import PlacementMove, PlacementPlan
from tests.factories import (
    entry,
    make_case_study,
    make_host,
    make_machine,
    make_measurement,
    make_minutes,
    make_pool,
    make_storage,
    publish,
    revision,
)

LABORATORIES = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta")


def numbers_for_xfs() -> None:
    """Six laboratories with a ratio of 3 on three kinds of disks, each of several runs, at revision 6."""
    studies = [
        make_case_study(laboratory=laboratory, storage=make_storage(kind=kind))
        for laboratory, kind in zip(LABORATORIES, 2 * ("hdd", "ssd", "nvme"), strict=True)
    ]
    for study in studies:
        for host_fs, value in (("ext4", 100.0), ("xfs", 300.0)):
            for number, spread in enumerate((0.99, 1.0, 1.01), start=1):
                fields = {"guest_fs": "ext4", "host_fs": host_fs, "workload": "varmail", "repetition": number}
                make_measurement(value * spread, case_study=study, **fields)
    for number in range(1, 6):
        revision(number)
    publish(*studies)


def observed_host(slug: str = "kvm-1", **fields) -> Host:
    """Return a host with a pool on ext4 and one on XFS that machines may be moved to, and no machine."""
    host = make_host(slug, hypervisor=entry(Hypervisor, "kvm"), **fields)
    make_pool(host, "/srv/ext4")
    make_pool(host, "/srv/xfs", is_target=True)
    return host


def mail_server(host: Host, name: str = "mail-1", **fields) -> ObservedMachine:
    """Make a mail server on ext4 that was watched for an hour and whose mix is stated."""
    pool = host.observed_pools.get(path="/srv/ext4")
    known = {"guest_fs": "ext4", "guest_fs_source": "operator"}
    machine = make_machine(host, name, pool=pool, **known | fields)
    make_minutes(machine, 60)
    entry(Workload, "varmail")
    plans.state_mix(machine, {"varmail": 1.0}, user=None)
    return ObservedMachine.objects.get(pk=machine.pk)


def moved(machine: ObservedMachine, **fields) -> PlacementMove:
    """Return a move that has switched and keeps its old image."""
    disk = machine.disks.select_related("pool").get()
    there = machine.host.observed_pools.get(path="/srv/xfs")
    defaults = {
        **{"host": machine.host, "machine": machine, "machine_uuid": machine.uuid, "machine_name": machine.name},
        **{"disk": disk.target, "from_pool": disk.pool, "to_pool": there, "old_path": disk.path, "revision": 1},
        **{"new_path": f"{there.path}/{machine.name}.k0123456789ab.raw", "token": "k0123456789ab", "runs_from": "new"},
        **{"size_bytes": disk.size_bytes, "state": "kept", "started_at": now(), "switched_at": now()},
        **{"keep_until": now()},
    }
    return PlacementMove.objects.create(**defaults | fields)


def shown(host: Host) -> None:
    """Make plan 1, move 1, machine 7 and pool 7 on a host that has nothing observed, for their pages."""
    pool = make_pool(host, "/srv/ext4", pk=7)
    make_pool(host, "/srv/xfs", is_target=True)
    Host.objects.filter(pk=host.pk).update(hypervisor=entry(Hypervisor, "kvm"))
    known = {"guest_fs": "ext4", "guest_fs_source": "operator"}
    machine = make_machine(host, "mail-1", pool=pool, pk=7, **known)
    make_minutes(machine, 5)
    entry(Workload, "varmail")
    plans.state_mix(machine, {"varmail": 1.0}, user=None)
    plan = plans.make_plan([Host.objects.get(pk=host.pk)], user=None)
    assert plan.pk == 1 or not PlacementPlan.objects.filter(pk=1).exists()
    hosts = list(plan.hosts.all())
    plan.pk, plan.made_at = 1, now()
    plan.save()
    plan.hosts.set(hosts)
    moved(machine, pk=1, plan=plan)
