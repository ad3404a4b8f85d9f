"""The contact with a host and its check, done by a worker: read its key, then find out what it is and has."""

import json
import logging
import re
from contextlib import suppress
from typing import cast

from django.utils.timezone import now

from experiments.laboratory.targets import disks, drivers, hypervisors, proxmox, xen
from experiments.laboratory.transport import health, proxmox_api, remote, ssh
from experiments.laboratory.transport.facts import HostFacts, ImageFacts
from experiments.laboratory.transport.remote import Area
from experiments.models import CampaignRun, Host, Hypervisor
from experiments.records import visible
from kdb.jobs import jobs

from . import hosts
from .abilities import missing_programs
from .hosts import HostError

logger = logging.getLogger(__name__)

PROBE_SECONDS = 30  # a guest under hardware virtualisation is up within five
PROBE_MIB = 64  # of its disk
DIGEST_SECONDS = 300  # of a guest image
RAW_MIB = 1024
_BY_FACT = {"pve": "proxmox", "xen": "xen"}  # what its own programs tell
_HYPERVISORS = {"kvm": "kvm", "qemu": "qemu-tcg", "xen": "xen"}
# Where to get what a host may lack: Debian's package, or the source.
PROGRAM_SOURCES = {
    "losetup": "package mount",
    "loop devices": "file systems in image files need them. Load the module loop; start a container with --privileged, "
    "or with --device for /dev/loop-control and each /dev/loopN; or name a pool of the kind existing",
    "fallocate": "package util-linux",
    "setsid": "package util-linux",
    "findmnt": "package util-linux",
    "timeout": "package coreutils",
    "mkfs.ext4": "package e2fsprogs",
    "mkfs.xfs": "package xfsprogs",
    "mkfs.btrfs": "package btrfs-progs",
    "fio": "package fio",
    "qemu-img": "package qemu-utils",
    "lvm": "package lvm2, for campaigns on LVM volumes only",
    "virsh": "package libvirt-clients (and libvirt-daemon-system for the daemon)",
    "filebench": "manage.py build_filebench and install_filebench: Debian has no package",
}


def contact(run: jobs.JobRun, host_id: int) -> None:
    """Read the host's key; a person accepts it, unless it is the accepted one."""
    host = Host.objects.get(pk=host_id)
    hosts.refuse_place(host.address)
    offered = _shown_key(host)
    hosts.fingerprint(offered)  # raises where it is no key
    if twin := hosts.twin_of(host, key=offered):
        raise HostError(hosts.registered_already(host, twin, "host key"))
    if offered == host.host_key:
        offered = ""
    elif host.host_key:
        hosts.block(host, _changed(host, offered))
    Host.objects.filter(pk=host_id, address=host.address, port=host.port).update(offered_key=offered)


def _shown_key(host: Host) -> str:
    """Return the key that the host shows. Raises what ssh raises."""
    scan = proxmox_api.scan if host.is_by_api else ssh.scan
    return scan(host.address, host.port)


def _changed(host: Host, offered: str) -> str:
    return (
        f"its key has changed: {hosts.fingerprint(host.host_key)} was accepted, it shows {hosts.fingerprint(offered)}. "
        "Either the machine was installed anew, or another one answers in its place. Find out which before you accept."
    )


def check(run: jobs.JobRun, host_id: int, with_limits: bool) -> None:
    """Find out and keep what the host is and has. Raises what ssh raises; a changed key blocks the host."""
    host = Host.objects.get(pk=host_id)
    try:
        with hosts.connect(host) as machine:
            facts = _by_api(machine) if host.is_by_api else _facts(machine, host, run, with_limits)
    except ssh.KeyChanged as error:
        hosts.block(host, str(error))
        with suppress(ssh.SshError):
            Host.objects.filter(pk=host_id).update(offered_key=_shown_key(host))
        raise
    Host.objects.filter(pk=host_id).update(facts=facts, checked_at=now())
    slug = next((key for fact, key in _BY_FACT.items() if facts.get(fact)), "")
    slug = slug or _HYPERVISORS.get(facts.get("accelerator", ""), "")
    detected = visible.entries(Hypervisor).filter(slug=slug).first()
    if detected is not None:  # what a person said stands
        Host.objects.filter(pk=host_id, hypervisor=None).update(hypervisor=detected)


def _by_api(machine: ssh.Connection) -> HostFacts:
    """Return what the API tells of a node by itself: its release. Raises what ssh raises, and Refused."""
    about = proxmox.asked(machine, "get", "/version")
    if not isinstance(about, dict) or "version" not in about:
        raise HostError(f"{machine.address} does not say which Proxmox VE it is.")
    return {"pools": {}, "missing": [], "pve": f"pve-manager/{about['version']}"[:200]}


def _facts(machine: ssh.Connection, host: Host, run: jobs.JobRun, with_limits: bool) -> HostFacts:
    pools = hosts.folders(host)
    with suppress(remote.NotNow):  # then the trial of a guest says why
        left = drivers.find_leftovers(machine, pools, host.drivers)
        Host.objects.filter(pk=host.pk).update(left_overs="\n".join(left))
    facts = facts_of(remote.call(machine, "facts", *pools))
    if twin := hosts.twin_of(host, machine_id=facts.get("machine_id", "")):
        raise HostError(hosts.registered_already(host, twin, "machine id"))
    facts["pools"] |= proxmox.storages(machine, hosts.storages(host))
    facts["health"] = health.look(machine, pools)
    is_free = not CampaignRun.objects.filter(host=host, state=CampaignRun.State.ACTIVE).exists()
    if host.guest_image and (maker := hosts.maker_of(host)):
        facts["guest_image"] = _image(machine, host.guest_image)
        if maker == Host.Driver.LIBVIRT and "virsh" in missing_programs(facts):
            pass  # no guest can be tried yet; what is missing is told
        elif is_free and pools:
            facts["accelerator"] = _try_guest(maker, machine, host, pools[0], facts, run)
        else:
            facts |= _tried_before(host, facts["guest_image"])
    facts["limits"] = _limits(machine, pools, run) if with_limits and is_free else host.facts.get("limits", {})
    return facts


def facts_of(text: str) -> HostFacts:
    """Return the lines of `facts` as one dict; pools by path, what is missing with where to get it."""
    facts: HostFacts = {"pools": {}, "missing": []}
    for key, value in remote.facts(text):
        path, _, rest = value.partition(" ")
        if key == "missing":
            facts["missing"].append({"program": value, "from": PROGRAM_SOURCES.get(value, "")})
        elif key == "pool_refused":
            facts["pools"][path] = {"is_missing": True, "why": rest}
        elif key == "pool":
            kind, free = rest.split()
            facts["pools"][path] = {"file_system": kind, "free_mib": int(free)}
        elif key == "pool_options":
            facts["pools"][path]["mount_options"] = rest
        elif key == "pool_disk":
            facts["pools"][path]["disk"] = rest
        else:
            facts |= cast(HostFacts, {key: int(value) if key in ("cores", "ram_mib") else value})
    return facts


def _image(machine: ssh.Connection, folder: str) -> ImageFacts:
    """Return what image.json says of the guest image. Raises HostError where one of its files has another digest."""
    try:
        image: ImageFacts = json.loads(remote.call(machine, "image", folder))
        expected = dict(image["sha256"])
    except (ValueError, TypeError, KeyError) as error:
        raise HostError(f"{folder}/image.json is not what build_guest_image wrote.") from error
    if "root.squashfs" not in expected:
        raise HostError(f"{folder} is no image of build_guest_image, from which guests start.")
    digests = dict(remote.facts(remote.call(machine, "digests", folder, *expected, timeout=DIGEST_SECONDS)))
    if changed := [f"{folder}/{name}" for name in expected if digests.get(name) != expected[name]]:
        raise HostError(f"{', '.join(changed)}: not what was made. Copy the folder again, or make it anew.")
    return image


def _tried_before(host: Host, image: ImageFacts) -> HostFacts:
    """Return what an earlier check found in a guest. Raises HostError where the image is another one by now."""
    old = host.facts.get("guest_image", {})
    if old and old.get("sha256") != image["sha256"]:
        raise HostError("The guest image is another one by now, and a run is under way: check again when it is over.")
    return {"accelerator": host.facts.get("accelerator", ""), "guest_image": old or image}


def _try_guest(maker: str, machine: ssh.Connection, host: Host, pool: str, facts: HostFacts, run: jobs.JobRun) -> str:
    """Return "kvm" where a guest comes up under it, else "qemu": /dev/kvm may open and guests hang all the same.

    "xen" where one comes up under Xen.
    """
    hypervisor = drivers.HYPERVISORS[maker]
    types = facts.get("domain_types", "").split()
    place, options = "fs", disks.Options()
    if maker == Host.Driver.XEN:
        if "xen" not in facts:
            raise HostError(f"{host} is no control domain of Xen: xl info says nothing there.")
        types, options = ["xen"], xen.USUAL
    if maker == Host.Driver.PROXMOX:
        types = ["kvm", "qemu"]
        place = next((name for name in hosts.storages(host) if not facts["pools"][name].get("is_missing")), "")
        if not place:
            raise HostError(f"{host} has no storage that a machine's disk could be made on.")
    for accelerator in [kind for kind in ("kvm", "qemu", "xen") if kind in types]:
        area = Area(machine, pool, hosts.token(run))
        area.call("begin", maker)
        try:
            area.call("make-folder", "fs", facts["pools"][area.pool]["file_system"])
            file_system = facts["pools"][area.pool]["file_system"]
            guest = hypervisors.Guest(
                name=f"kdb-probe-{area.token}",
                number=1,
                image_folder=host.guest_image,
                disk=hypervisor.make_disk(area, place, file_system, 1, PROBE_MIB, options),
                console=f"{area.pool}/.kdb/console1",
                ram_mib=512,
                vcpus=1,
                accelerator=accelerator,
                options=options,
            )
            seconds = PROBE_SECONDS if accelerator == "kvm" else hypervisors.BOOT_SECONDS
            hypervisor.start(area, guest)
            hypervisors.wait_ready(hypervisor, area, guest, seconds=seconds, keep=run.renew)
            return accelerator
        except (hypervisors.GuestGone, hypervisors.GuestNotUp, remote.Refused) as error:
            logger.warning("no guests under %s host=%s reason=%r", accelerator, host.slug, str(error))
            last = str(error)
        finally:
            area.call("clean")
    if not types:
        last = "libvirt offers neither kvm nor qemu"
        if not facts.get("uri"):
            last = "libvirt does not answer (virsh -c qemu:///system)"
            if facts.get("root") != "0":
                last = (
                    f"{host.login} may not ask libvirt: log in as root, or by a login that may sudo without a password"
                )
    raise HostError(f"No virtual machine comes up on {host}: {last}")


def _limits(machine: ssh.Connection, pools: list[str], run: jobs.JobRun) -> dict[str, dict[str, float]]:
    """Return what the disk below each pool reads and writes in sequence without caches, MB/s (10^6 bytes)."""
    limits = {}
    for pool in pools:
        area = Area(machine, pool, hosts.token(run))
        area.call("begin")
        try:
            speeds = area.call("raw-speed", RAW_MIB, timeout=120)
        finally:
            area.call("clean")
        # fio's terse version 3 prints KiB/s.
        limits[pool] = {
            name: round(int(speeds[f"raw_{name}"]) * 1024 / 1e6, 1)
            for name in ("read", "write")
            if re.fullmatch(r"[1-9]\d*", speeds.get(f"raw_{name}", ""))
        }
    return limits
