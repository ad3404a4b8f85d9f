"""Choose the drivers of a host."""

from collections.abc import Callable

from experiments.campaigns.hosts import HostError
from experiments.laboratory.transport.ssh import Connection
from experiments.models import Host

from .driver.contract import MovingDriver
from .driver.libvirt.listing import LibvirtListing
from .driver.libvirt.moving import LibvirtMoving
from .driver.proxmox.listing import ProxmoxApiListing, ProxmoxListing
from .driver.proxmox.moving import ProxmoxMoving

ListingClass = type[LibvirtListing] | type[ProxmoxListing]
LISTING: dict[str, ListingClass] = {
    Host.Driver.LIBVIRT: LibvirtListing,
    Host.Driver.PROXMOX: ProxmoxListing,
}
MOVING: dict[str, Callable[[Connection], MovingDriver]] = {
    Host.Driver.LIBVIRT: LibvirtMoving,
    Host.Driver.PROXMOX: ProxmoxMoving,
}


def listing_driver(host: Host) -> ListingClass:
    """Return the class of the driver. Raises HostError where there is none for the host."""
    if not host.manager:
        raise HostError(f"{host} has no libvirt and no Proxmox VE: only what these run can be watched.")
    return ProxmoxApiListing if host.is_by_api else LISTING[host.manager]


def moving_driver(host: Host) -> Callable[[Connection], MovingDriver]:
    """Return the class of the driver. Raises HostError where there is none for the host."""
    if not host.manager:
        raise HostError(f"{host} is not registered for {' or '.join(MOVING)}, which moves disks.")
    if host.is_by_api:
        raise HostError(f"{host} is reached by Proxmox VE's API, for observation alone; disks are moved by ssh.")
    return MOVING[host.manager]
