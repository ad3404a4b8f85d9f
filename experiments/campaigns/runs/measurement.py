"""The benchmark of a run on all its machines together, and what is known of the time it took."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from django.db import transaction

from experiments.laboratory.benchmarks import bench, curves
from experiments.laboratory.benchmarks.background import Background, Usage, between
from experiments.laboratory.benchmarks.engines import Load
from experiments.laboratory.targets import drivers, libvirt, steps
from experiments.laboratory.targets.drivers import Machine
from experiments.laboratory.transport import remote, ssh
from experiments.laboratory.transport.remote import Area
from experiments.models import Host

from . import signatures
from .attempt import Attempt
from .content import Curve, Record
from .signatures import Sampler

SPREAD_SECONDS = 0.1  # by which machines of a run may begin apart


@dataclass
class _Host:
    """What a run is looked at from outside. before, after : the usage of the host's processors and disks"""

    area: Area
    driver: str
    domains: list[str]
    sampler: Sampler
    before: Usage | None = None
    after: Usage | None = None

    def watch(self) -> None:
        """Raise what its hypervisor says of a machine that does not run."""
        for domain in self.domains:
            drivers.HYPERVISORS[self.driver].check_running(self.area.machine, domain)
        self.sampler.take()

    def usage(self) -> Usage:
        return Usage.of(self.area.call("usage"))

    @property
    def background(self) -> Background | None:
        return between(self.before, self.after) if self.before and self.after else None


def benchmark(
    attempt: Attempt, record: Record, host: ssh.Connection | None, machines: Sequence[Machine], loads: Sequence[Load]
) -> list[bench.MachineResult]:
    """Have the benchmark measure, note what others did meanwhile, and keep its outputs and the disks' statistics."""
    campaign, run = attempt.campaign, attempt.run
    engine, seconds = campaign.get_engine_display(), campaign.run_seconds
    by_number = {machine.number: machine.domain for machine in machines if machine.domain}
    counted = by_number if campaign.driver == Host.Driver.LIBVIRT else {}
    sampler = Sampler(host, counted, libvirt.TESTED.get(run.options.disk_bus, ""))
    around = _Host(record.areas[0], campaign.driver, [*by_number.values()], sampler)
    stretches: list[signatures.Stretch] = []

    def settle() -> None:
        attempt.step(steps.DROP_CACHES)
        if not drivers.drop_caches(machines, host):
            record.warnings.append("Caches were not dropped: that takes root.")
        attempt.step(steps.benchmark(engine, run.workload, seconds, run.vm_count))
        if around.domains:
            around.before = around.usage()

    def ended() -> None:
        stretches[:] = sampler.stretches(seconds)
        if around.domains:
            around.after = around.usage()

    attempt.step(steps.make_files(engine, run.workload))
    try:
        results = bench.run(
            machines,
            loads,
            seconds,
            keep=attempt.keep,
            watch=around.watch,
            settle=settle,
            ended=ended,
            say=attempt.say,
        )
    except bench.RunFailed:
        _keep_what_is_there(attempt, machines)
        raise
    if silent := max(result.silent for result in results):
        record.warnings.append(
            f"The host did not answer for {silent:.0f} s of the run: what others did is a mean over more than it."
        )
        stretches = []  # nobody saw when the benchmark ended
    record.facts["benchmark_seconds"] = max(result.seconds for result in results)
    _note_spread(record, bench.spread(results))
    _note_background(record, results, around.background)
    record.curves = [_curve(result) for result in results if result.curve]
    attempt.step(steps.KEEP_OUTPUT)
    with transaction.atomic():
        attempt.job.step(attempt.steps)
        for result in results:
            attempt.store(f"{result.machine.name}.txt", result.output)
            if result.errors.strip():
                attempt.store(f"{result.machine.name}.errors.txt", result.errors)
        signatures.store(run, stretches)
    return results


def _keep_what_is_there(attempt: Attempt, machines: Sequence[Machine]) -> None:
    """Keep the output of a run that went wrong, from machines that still answer."""
    for machine in machines:
        with suppress(remote.Refused, ssh.SshError):
            attempt.store(f"{machine.name}.txt", machine.area.output(f"{bench.NAME}.out"))
            attempt.store(f"{machine.name}.errors.txt", machine.area.output(f"{bench.NAME}.err"))


def _note_spread(record: Record, spread: tuple[float, float] | None) -> None:
    """Note how far apart several machines began to measure."""
    if spread is None:
        return
    seconds, unsure = spread
    record.facts |= {"start_spread_seconds": round(seconds, 3), "start_spread_unsure_seconds": round(unsure, 3)}
    if seconds > SPREAD_SECONDS:
        record.warnings.append(
            f"The machines began {seconds:.2f} s apart (known to {unsure:.2f} s); {SPREAD_SECONDS:g} s are allowed."
        )


def _note_background(record: Record, results: Sequence[bench.MachineResult], host: Background | None) -> None:
    """Note what others did meanwhile. Machines made for the run are disturbed by what others do on their host."""
    seen = {result.machine.name: result.background for result in results if result.background is not None}
    judged = {"the host": host} if host else seen
    record.disturbed = " ".join(sentence for where, did in judged.items() for sentence in did.beyond_limits(where))
    seen |= {"host": host} if host else {}
    record.facts["background"] = [
        {
            "where": where,
            "cpu": did.cpu,
            "steal": did.steal,
            "read_mib_s": did.read_mib_s,
            "write_mib_s": did.write_mib_s,
        }
        for where, did in seen.items()
    ]


def _curve(result: bench.MachineResult) -> Curve:
    return {
        "machine": result.machine.number,
        "until_s": [interval.until for interval in result.curve],
        "mib_s": [round(interval.mib_s, 3) for interval in result.curve],
        "warm_up_intervals": curves.warm_up([interval.mib_s for interval in result.curve]),
    }
