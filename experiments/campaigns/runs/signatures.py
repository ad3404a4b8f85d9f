"""The block statistics of campaigns' own virtual machines, filed with the run: what detection learns from.

One `virsh domstats` for all machines of a run, ten seconds or more apart. Nothing is asked of the machines themselves.
"""

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from experiments.laboratory.targets.libvirt import virsh
from experiments.laboratory.transport import counters
from experiments.laboratory.transport.counters import Counts, since
from experiments.laboratory.transport.remote import Refused
from experiments.laboratory.transport.ssh import Connection, Unreachable
from experiments.models import CampaignRun, FileSystem, Signature

logger = logging.getLogger(__name__)

STRETCH_SECONDS = 10.0  # the shortest
_SLACK_SECONDS = 1.0  # the beginning is only estimated: the end less the planned seconds


@dataclass(frozen=True)
class Stretch:
    """The counts of one machine's disk between two looks; `starts_after` in s from the benchmark's beginning."""

    machine: int
    starts_after: float
    seconds: float
    counts: Counts


class Sampler:
    """Reads the disk counters of a run's virtual machines from libvirt while a benchmark runs.

    host, domains : the hypervisor, and number of a machine to its libvirt domain; without either nothing is read
    target : the disk under test of each domain, "vdb"
    """

    def __init__(self, host: Connection | None, domains: Mapping[int, str], target: str) -> None:
        self.host, self.domains, self.target = host, domains, target
        self._looks: list[tuple[float, Mapping[int, Counts]]] = []

    def take(self) -> None:
        """Look, where the last look is a stretch ago."""
        if not self._looks or time.monotonic() - self._looks[-1][0] >= STRETCH_SECONDS:
            counts = self._counts()
            self._looks.append((time.monotonic(), counts))

    def _counts(self) -> dict[int, Counts]:
        """Return what was counted by now, by the number of the machine."""
        if self.host is None or not self.domains:
            return {}
        try:
            by_domain = counters.read(virsh(self.host, "domstats", "--block", "--nowait", *self.domains.values()))
        except (Refused, Unreachable) as error:  # what is wrong with a machine, or its host, other checks say
            logger.warning("no statistics of a run's machines reason=%r", str(error))
            return {}
        seen = {number: by_domain.get(name, {}).get(self.target) for number, name in self.domains.items()}
        return {number: counts for number, counts in seen.items() if counts is not None}

    def stretches(self, run_seconds: float) -> list[Stretch]:
        """Return the stretches of the benchmark that has ended just now, without the making of its files."""
        ended = time.monotonic()
        began = ended - run_seconds
        return [
            Stretch(machine, max(0.0, earlier - began), later - earlier, did)
            for (earlier, before), (later, after) in zip(self._looks, self._looks[1:], strict=False)
            if began - _SLACK_SECONDS <= earlier and later <= ended
            for machine in sorted(before.keys() & after.keys())
            if (did := since(after[machine], before[machine])) is not None
        ]


def store(run: CampaignRun, stretches: Iterable[Stretch]) -> None:
    """File the stretches with the run, in place of those of an earlier attempt."""
    run.signatures.all().delete()
    guest_fs = FileSystem.objects.filter(slug=run.guest_fs).first()
    Signature.objects.bulk_create(
        Signature(
            run=run,
            machine=stretch.machine,
            starts_after=stretch.starts_after,
            seconds=stretch.seconds,
            workload=run.workload,
            guest_fs=guest_fs,
            **asdict(stretch.counts),
        )
        for stretch in stretches
    )
