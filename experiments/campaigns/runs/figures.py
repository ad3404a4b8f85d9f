"""The figures in what a benchmark printed, and what they come to over the runs of a campaign."""

from collections.abc import Callable

from experiments.laboratory.benchmarks import bench, precision
from experiments.models import Campaign, CampaignRun
from experiments.readers.base import Reading
from experiments.readers.reading_process import MEMORY_BYTES, NotRead, ReadingProcess
from experiments.readers.table import Table

from .attempt import Attempt
from .content import Figure, Record

SHORTEST_SHARE = 0.9  # of the planned seconds

State = CampaignRun.State


def figures(attempt: Attempt, record: Record, result: bench.MachineResult) -> list[Figure]:
    """Return the figures of one machine. Raises RunFailed where its output is no result."""
    name, campaign = result.machine.name, attempt.campaign
    printed = result.output + (result.errors if campaign.engine == "filebench" else b"")
    reading = read_output(name, printed, attempt.keep)
    if reading.refused or not reading.runs:
        why = "; ".join(
            f"line {refusal.line}: {refusal.reason}" if refusal.line else refusal.reason for refusal in reading.refused
        )
        raise bench.RunFailed(f"{name}: {why or 'no result'} (exit status {result.status})")
    if result.status:
        raise bench.RunFailed(f"{name}: the benchmark ended with exit status {result.status}.")
    record.facts["tool_version"] = reading.runs[0].tool_version or reading.tool_version
    for run in reading.runs:
        if run.duration_s is not None and run.duration_s < SHORTEST_SHARE * campaign.run_seconds:
            raise bench.RunFailed(f"{name}: it ran for {run.duration_s:.1f} s of {campaign.run_seconds} s.")
        record.warnings += [f"{name}: {warning}" for warning in run.warnings]
    return [
        {
            "machine": result.machine.number,
            "operation": run.operation,
            "throughput_mib_s": run.throughput_mib_s,
            "ops_per_s": run.ops_per_s,
            "latency_ms": run.latency_ms,
            "duration_s": run.duration_s,
        }
        for run in reading.runs
    ]


def read_output(name: str, printed: bytes, keep: Callable[[], None], memory_bytes: int = MEMORY_BYTES) -> Reading:
    """Return what a machine's output holds, read in a process with limits: the machine may print what it likes.

    keep : called each second; raises where the run must be given up
    Raises RunFailed where it is not read within the limits, or is a table.
    """
    try:
        with ReadingProcess(memory_bytes=memory_bytes) as process:
            content = process.content(process.read([printed], keep))
    except NotRead as problem:
        raise bench.RunFailed(f"{name}: reading its output took {problem.args[0]}.") from problem
    if isinstance(content, Table):
        raise bench.RunFailed(f"{name}: its output is a table, and no result of a benchmark.")
    return content


def throughput(run: CampaignRun) -> float | None:
    """Return MiB/s for each machine, the mean over machines of the sum over operations; None where one prints none."""
    if not run.figures or any(figure["throughput_mib_s"] is None for figure in run.figures):
        return None
    return sum(figure["throughput_mib_s"] for figure in run.figures) / max(run.vm_count, 1)


def skip_what_is_known(campaign: Campaign, run: CampaignRun) -> None:
    """Call off the waiting runs of this workload and number of machines where all its ratios are known well enough.

    Asked after each whole repetition, so that all configurations have as many.
    """
    if campaign.precision_percent is None:
        return
    alike = campaign.runs.filter(workload=run.workload, vm_count=run.vm_count)
    planned = alike.filter(repeats=None)
    if planned.filter(repetition__lte=run.repetition, state__in=[State.WAITING, State.ACTIVE]).exists():
        return
    samples: dict[str, list[float]] = {}
    for done in alike.counting():
        if (value := throughput(done)) is not None:
            samples.setdefault(done.configuration, []).append(value)
    widest = precision.widest_percent(samples)
    if widest is not None and widest <= campaign.precision_percent:
        planned.filter(state=State.WAITING).update(
            state=State.UNNEEDED,
            reason=f"After {run.repetition} repetitions every ratio is known to {widest:.1f} %; "
            f"{campaign.precision_percent} % were asked for.",
        )
