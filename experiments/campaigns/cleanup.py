"""Things that runs left on a host and no area there knows any more: found, named, and taken away on order.

An area may be removed under a run (`rm -rf`), and its notes with it. Everything KDB makes names the area all the same:
a mount point, the file of a loop device, the console of a virtual machine. The path of the area is that of a storage
pool, which the database has.
"""

import logging

from django.db import transaction
from django.db.models import Model

from experiments.laboratory.targets import drivers
from experiments.laboratory.transport import ssh
from experiments.models import CampaignRun, Host
from kdb.jobs import jobs

from . import hosts

logger = logging.getLogger(__name__)

CLEAR_JOB = "clear_host"


def find_leftovers(machine: ssh.Connection, host: Host, *, clear: bool = False) -> list[str]:
    """Ask the host for left-overs, after removing them if that is wanted, and keep the answer in its row.

    Raises what remote.call raises.
    """
    left = drivers.find_leftovers(machine, hosts.folders(host), host.drivers, clear=clear)
    Host.objects.filter(pk=host.pk).update(left_overs="\n".join(left))
    return left


def request_cleanup(host: Host) -> None:
    """Have a worker take away what runs left on the host. Raises HostError during a run, and as hosts.address."""
    hosts.address(host)
    with transaction.atomic():
        hosts.locked(host.pk)
        if CampaignRun.objects.filter(host=host, state=CampaignRun.State.ACTIVE).exists():
            raise hosts.HostError(f"A run is under way on {host}: pause its campaign first.")
        host.job = jobs.enqueue(CLEAR_JOB, queue=host.queue, host_id=host.pk)
        Model.save(host, update_fields=["job"])


def clear_host(run: jobs.JobRun, host_id: int) -> None:
    """Take away what is left in the pools of the host. Raises what remote.call raises."""
    host = Host.objects.get(pk=host_id)
    with hosts.connect(host) as machine:
        before = find_leftovers(machine, host)
        if stays := find_leftovers(machine, host, clear=True):
            raise hosts.HostError(f"This stays on {host}: {', '.join(stays)}.")
    logger.info("cleared host=%s removed=%s", host.slug, before)
