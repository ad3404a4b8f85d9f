"""Find the error behind an error of an attempt, by asking the host."""

import time

from experiments.campaigns import cleanup
from experiments.laboratory.benchmarks import bench
from experiments.laboratory.targets import drivers, hypervisors
from experiments.laboratory.transport import remote, ssh
from experiments.laboratory.transport.remote import Area

from .attempt import Attempt
from .outcomes import Outcome, outcome_of

GONE_SECONDS = 15  # within which a hypervisor sees that a guest's process is dead
FULL_MIB = 16  # less than this is free on a disk that is full


def cause_of(attempt: Attempt, areas: list[Area], error: Exception) -> Exception:
    """Ask the host for the cause of an error and return it; the error itself where no other cause is known."""
    try:
        if isinstance(error, ssh.Unreachable) and error.guest:
            _tell_guest_from_host(attempt, areas[0], error)
        if isinstance(error, remote.Leftovers) and areas:
            leftovers = cleanup.find_leftovers(areas[0].machine, attempt.host)
            return remote.Leftovers(f"{error}. Left: {', '.join(leftovers)}") if leftovers else error
        if outcome_of(error) in (Outcome.FAILED, Outcome.REPEATED) and areas:
            # NoRoom where the disk of the host, not one that was made for the run, is full.
            remote.call(areas[0].machine, "room", areas[0].pool, FULL_MIB)
    except (ssh.SshError, remote.NotNow, bench.Silent, hypervisors.GuestGone, hypervisors.GuestStopped) as cause:
        return cause
    except remote.Refused:
        pass
    return error


def _tell_guest_from_host(attempt: Attempt, area: Area, error: ssh.Unreachable) -> None:
    """Find out whether guest or host fell silent. Raises GuestGone, GuestStopped, Silent where it is the guest.

    Else its host was away for a moment, or is: raises what that raises, or nothing.
    """
    hypervisor = drivers.HYPERVISORS[attempt.campaign.driver]
    deadline = time.monotonic() + GONE_SECONDS
    while time.monotonic() < deadline:
        hypervisor.check_running(area.machine, error.guest)
        time.sleep(1)
    key = attempt.host.facts["guest_image"]["host_key"]
    try:
        with drivers.log_in(hypervisor, area.machine, error.guest, key, attempt.keep):
            return
    except ssh.Unreachable as still:
        if still.guest:
            raise bench.Silent(f"A virtual machine does not answer: {error}") from error
        raise
