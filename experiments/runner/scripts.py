"""The scripts that a runner may be asked to run. The owner of its host reads them and allows each by its digest."""

from dataclasses import dataclass

from experiments.fleet.driver.libvirt.moving import LibvirtMoving
from experiments.fleet.driver.proxmox.moving import ProxmoxMoving
from experiments.laboratory.benchmarks import engines
from experiments.laboratory.transport import remote, ssh


@dataclass(frozen=True)
class Script:
    """A shell script of this release."""

    digest: str
    name: str
    about: str
    text: str


SCRIPTS = {
    script.digest: script
    for script in (
        Script(ssh.digest_of(text), name, about, text)
        for name, about, text in (
            ("remote.sh", "checks, observation, campaigns", remote.SCRIPT),
            ("fio.sh", "starts fio's jobs; remote.sh runs it in a campaign", engines.FIO_COMMANDS),
            ("barrier.sh", "has a benchmark wait for its beginning; remote.sh puts it beside the job", engines.BARRIER),
            ("moving-libvirt.sh", "moves of disks under libvirt", LibvirtMoving.script),
            ("moving-proxmox.sh", "moves of disks under Proxmox VE", ProxmoxMoving.script),
        )
    )
}
