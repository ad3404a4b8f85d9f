"""One run of a campaign, from a clean machine to figures and back to a clean machine.

The job holds the lease; its number makes the token by which machines refuse an older attempt. Every
attempt begins by taking away what an earlier one left, so it may die at any moment. Figures are stored in
one transaction that the lease guards: nothing counts twice.
"""

import hashlib
import logging
import re
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.timezone import now

from experiments.campaigns.laboratory.measuring.background import Background, Usage, between
from experiments.campaigns.laboratory.places.drivers import Machine, Wanted
from experiments.campaigns.laboratory.reach.remote import Area
from experiments.imports.readers.apart import MEMORY_BYTES, NotRead, ReadingProcess
from experiments.imports.readers.base import Reading
from experiments.imports.readers.table import Table
from experiments.models import Campaign, CampaignRun, Host, RunArtifact, RunLine, StoragePool
from kdb.work import jobs

from . import checks, fates, hosts, left_overs, signatures, steering
from .fates import Fate
from .laboratory import plan
from .laboratory.measuring import bench, calibration, curves, engines, precision
from .laboratory.places import drivers, hypervisors, libvirt, steps
from .laboratory.reach import health, remote, ssh

logger = logging.getLogger(__name__)

MAX_LOST_ATTEMPTS = 3
SPREAD_SECONDS = 0.1  # by which machines of a run may begin apart
GONE_SECONDS = 15  # within which a hypervisor sees that a guest's process is dead
FULL_MIB = 16  # less than this is free on a disk that is full
SHORTEST_SHARE = 0.9  # of the planned seconds
_LINE = 1000  # longest text of a log line

State = CampaignRun.State


def do_run(job: jobs.JobRun, run_id: int) -> None:
    """Do the run of a job. It ends done, failed, cancelled, or waits again; then the host's next run begins."""
    run = CampaignRun.objects.select_related("campaign", "host", "campaign__pool").get(pk=run_id)
    if run.job_id != job.job_id or run.state != State.ACTIVE:
        return
    mine = CampaignRun.objects.filter(pk=run_id, job=job.job_id, state=State.ACTIVE)
    mine.update(attempt=F("attempt") + 1)
    run.refresh_from_db(fields=["attempt"])
    _Attempt(job, run).do()


class _Attempt:
    """One attempt at one run."""

    def __init__(self, job: jobs.JobRun, run: CampaignRun) -> None:
        self.job, self.run, self.campaign, self.host = job, run, run.campaign, run.host
        self.token = hosts.token(job)
        self.steps = 0
        self.facts: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.disturbed = ""
        self.curves: list[dict[str, Any]] = []
        self.areas: list[Area] = []

    def do(self) -> None:
        if self.run.attempt > 1:
            self.say(f"attempt {self.run.attempt}")
        try:
            with ExitStack() as stack:
                try:
                    figures = self.measure(stack)
                except Exception as error:
                    cause = self.cause_of(error)
                    if cause is error:
                        raise
                    raise cause from error
                finally:
                    self.clean()
            self.end(State.DONE, figures=figures)
        except Exception as error:
            self.decide(error)
        steering.next_run(self.host.pk)

    def decide(self, error: Exception) -> None:
        """Do with the run what its fate is."""
        reason = _sentence(str(error))
        match fates.fate_of(error):
            case Fate.GIVEN_UP:
                raise jobs.LeaseLost(str(error)) from error
            case Fate.CANCELLED:
                self.end(State.CANCELLED)
            case Fate.DATABASE:
                raise error
            case Fate.WAITS:
                self.give_back(reason, looks_again=True)
            case Fate.WAITS_FOR_SOMEBODY:
                if isinstance(error, ssh.KeyChanged):
                    hosts.block(self.host, str(error))
                self.give_back(reason)
            case Fate.REPEATED:
                self.lost(str(error))
            case Fate.FAILED:
                self.end(State.FAILED, reason=reason)
            case Fate.MISTAKE:
                logger.exception("a run failed by a fault of ours run=%s", self.run.pk)
                self.end(State.FAILED, reason=f"KDB made a mistake: {error!r}")
                raise error

    def cause_of(self, error: Exception) -> Exception:
        """Return what is behind an error, which the host is asked for; the error itself where nothing else is known."""
        try:
            if isinstance(error, ssh.Unreachable) and error.guest:
                self.tell_guest_from_host(error)
            if isinstance(error, remote.LeftOvers) and self.areas:
                found = left_overs.look(self.areas[0].machine, self.host)
                return remote.LeftOvers(f"{error}. Left: {', '.join(found)}") if found else error
            if fates.fate_of(error) in (Fate.FAILED, Fate.REPEATED) and self.areas:
                self.see_room(self.areas[0])
        except (ssh.SshError, remote.NotNow, bench.Silent, hypervisors.GuestGone, hypervisors.GuestStopped) as cause:
            return cause
        except remote.Refused:
            pass
        return error

    def see_room(self, area: Area) -> None:
        """Raise NoRoom where the disk of the host, not one that was made for the run, is full."""
        remote.call(area.machine, "room", area.pool, FULL_MIB)

    # What an attempt does

    def measure(self, stack: ExitStack) -> list[dict[str, Any]]:
        if self.campaign.cool_down_seconds:
            self.step(f"cooling down for {self.campaign.cool_down_seconds} s")
            self.cool_down()
        self.step("connecting")
        host, machines = self.machines(stack)
        self.note_health(host)
        loads = [self.load(machine) for machine in machines]
        engine = self.campaign.get_engine_display()
        self.step(steps.make_files(engine, self.run.workload))
        domains = [machine.domain for machine in machines if machine.domain]

        is_counted = self.campaign.driver == Host.Driver.LIBVIRT
        by_number = {machine.number: machine.domain for machine in machines if machine.domain and is_counted}
        sampler = signatures.sampler(host, by_number, libvirt.TESTED.get(self.campaign.disk_bus, ""))

        def watch() -> None:
            for domain in domains:
                assert host is not None  # only it has domains
                drivers.HYPERVISORS[self.campaign.driver].check_running(host, domain)
            sampler.take()

        def settle() -> None:
            self.step(steps.DROP_CACHES)
            if not drivers.drop_caches(machines, host):
                self.warnings.append("Caches were not dropped: that takes root.")
            self.step(steps.benchmark(engine, self.run.workload, self.campaign.run_seconds, self.run.vm_count))
            if domains:
                before.append(Usage.of(self.areas[0].call("usage")))

        before: list[Usage] = []  # of the host of virtual machines
        seconds = self.campaign.run_seconds
        stretches: list[signatures.Stretch] = []
        after: list[Usage] = []

        def ended() -> None:
            stretches[:] = sampler.stretches(seconds)
            if before:
                after[:] = [Usage.of(self.areas[0].call("usage"))]

        try:
            left = bench.run(
                machines, loads, seconds, keep=self.keep, watch=watch, settle=settle, ended=ended, say=self.say
            )
        except bench.RunFailed:
            self.keep_what_is_there(machines)
            raise
        if silent := max(each.silent for each in left):
            self.warnings.append(
                f"The host did not answer for {silent:.0f} s of the run: what others did is a mean over more than it."
            )
            stretches = []  # nobody saw when the benchmark ended
        self.facts["benchmark_seconds"] = max(each.seconds for each in left)
        self.note_spread(bench.spread(left))
        self.note_background(left, between(before[0], after[0]) if before and after else None)
        self.curves = [_curve(each) for each in left if each.curve]
        self.step(steps.KEEP_OUTPUT)
        with transaction.atomic():
            self.job.step(self.steps)
            for each in left:
                self.store(f"{each.machine.name}.txt", each.output)
                if each.errors.strip():
                    self.store(f"{each.machine.name}.errors.txt", each.errors)
            signatures.store(self.run, stretches)
        return [figure for each in left for figure in self.read(each)]

    def tell_guest_from_host(self, error: ssh.Unreachable) -> None:
        """Find out whether guest or host fell silent. Raises GuestGone, GuestStopped, Silent where it is the guest.

        Else its host was away for a moment, or is: raises what that raises, or nothing.
        """
        hypervisor, host = drivers.HYPERVISORS[self.campaign.driver], self.areas[0].machine
        deadline = time.monotonic() + GONE_SECONDS
        while time.monotonic() < deadline:
            hypervisor.check_running(host, error.guest)
            time.sleep(1)
        key = self.host.facts["guest_image"]["host_key"]
        try:
            with drivers.log_in(hypervisor, host, error.guest, key, self.keep):
                return
        except ssh.Unreachable as still:
            if still.guest:
                raise bench.Silent(f"A virtual machine does not answer: {error}") from error
            raise

    def keep_what_is_there(self, machines: list[Machine]) -> None:
        """Keep the output of a run that went wrong, from machines that still answer."""
        for machine in machines:
            with suppress(remote.Refused, ssh.SshError):
                self.store(f"{machine.name}.txt", machine.area.output(f"{bench.NAME}.out"))
                self.store(f"{machine.name}.errors.txt", machine.area.output(f"{bench.NAME}.err"))

    def machines(self, stack: ExitStack) -> tuple[ssh.Connection | None, list[Machine]]:
        """Return the host's connection, where there is one, and the machines to run on."""
        campaign, run = self.campaign, self.run
        facts, pool = self.host.facts, campaign.pool
        if campaign.driver == Host.Driver.ATTACHED or pool is None:
            return None, self.attached(stack)
        host = stack.enter_context(hosts.connect(self.host))
        is_storage = pool.kind == StoragePool.Kind.STORAGE
        folder = hosts.folder_beside(self.host) if is_storage else pool.path
        self.areas.append(Area(host, folder, self.token))
        if not is_storage:
            self.calibrate(self.areas[0])
        image = facts.get("guest_image", {})
        wanted = Wanted(
            token=self.token,
            host_fs=run.host_fs,
            guest_fs=run.guest_fs,
            pool=folder,
            storage=pool.path if is_storage else "",
            makes_image=pool.kind == StoragePool.Kind.IMAGE,
            host_disk_mib=plan.host_disk_mib(campaign.driver, campaign.disk_mib, [run.vm_count or 1]),
            disk_mib=campaign.disk_mib,
            vm_count=run.vm_count,
            ram_mib=campaign.vm_ram_mib,
            vcpus=campaign.vm_vcpus,
            options=campaign.disk,
            pinned_cpus=tuple(campaign.pinned_cpus),
            image_folder=self.host.guest_image,
            image_disk=image.get("disk", ""),
            image_host_key=image.get("host_key", ""),
            accelerator=facts.get("accelerator", ""),
            maker=campaign.driver,
        )
        self.facts |= {"host_kernel": facts.get("kernel", ""), "accelerator": wanted.accelerator}
        if campaign.driver == Host.Driver.NATIVE:
            found = drivers.native(host, wanted, self.step)
        else:
            hypervisor = drivers.HYPERVISORS[campaign.driver]
            self.facts["guest_image"] = {name: image[name] for name in ("distribution", "sha256")}
            found = drivers.guests(stack, hypervisor, host, wanted, self.step, self.keep)
        self.facts["machines"] = [{"name": machine.name, **machine.facts} for machine in found]
        return host, found

    def calibrate(self, area: Area) -> None:
        """Run a reference load before the first run of each repetition, and before the repeats; its drift is noted."""
        before = "the repeats" if self.run.repeats_id else f"repetition {self.run.repetition}"
        known = Campaign.objects.values_list("calibrations", flat=True).get(pk=self.campaign.pk) or []
        if before not in [each["before"] for each in known]:
            self.step(steps.CALIBRATE)
            area.call("begin", *drivers.makers([self.campaign.driver]), timeout=120)
            said = remote.call(
                *(area.machine, "calibrate", area.pool, area.token, calibration.MIB, calibration.ROUNDS), timeout=300
            )
            found = calibration.medians(remote.facts(said))
            known = [*known, {"before": before, "run": self.run.position, "at": now().isoformat(), **found}]
            Campaign.objects.filter(pk=self.campaign.pk).update(calibrations=known)
        self.warnings += calibration.drift(known, before)

    def attached(self, stack: ExitStack) -> list[Machine]:
        run = self.run
        pools = checks.machines_for(self.campaign, run.host_fs, run.guest_fs)[: run.vm_count]
        if len(pools) < run.vm_count:
            raise bench.RunFailed(
                f"{run.vm_count} machines for {run.guest_fs} on {run.host_fs} are needed, {len(pools)} are left."
            )
        reached = []
        for pool in pools:
            connection = stack.enter_context(hosts.connect(pool.host))
            self.areas.append(Area(connection, pool.path, self.token))
            reached.append((connection, pool.path, pool.kind == StoragePool.Kind.IMAGE))
        wanted = Wanted(self.token, run.host_fs, run.guest_fs, "", False, 0, self.campaign.disk_mib, run.vm_count)
        found = drivers.attached(reached, wanted, self.step)
        self.facts["machines"] = [
            {"name": pool.host.name, **machine.facts} for pool, machine in zip(pools, found, strict=True)
        ]
        return found

    def load(self, machine: Machine) -> engines.Load:
        campaign, facts, program = self.campaign, self.host.facts, ""
        if campaign.driver in drivers.HYPERVISORS:
            image = facts["guest_image"]
            version = image["filebench"] if campaign.engine == "filebench" else image["packages"]["fio"]
        else:
            if campaign.driver == Host.Driver.ATTACHED:
                found = self.facts["machines"][machine.number - 1]["name"]
                facts = Host.objects.get(name=found, runs_on=self.host).facts
            version, program = facts[campaign.engine], facts.get(f"{campaign.engine}_program", "")
        load = engines.load(
            campaign.engine,
            version,
            self.run.workload,
            f"{machine.area.pool}/.kdb",
            machine.folder,
            campaign.run_seconds,
            campaign.scale_percent,
            program=program,
        )
        self.facts |= {"parameters": dict(load.parameters), "working_set_bytes": load.working_set_bytes}
        return load

    def read(self, left: bench.Left) -> list[dict[str, Any]]:
        """Return the figures of one machine. Raises RunFailed where its output is no result."""
        name = left.machine.name
        printed = left.output + (left.errors if self.campaign.engine == "filebench" else b"")
        reading = read_output(name, printed, self.keep)
        if reading.refused or not reading.runs:
            why = "; ".join(
                f"line {refusal.line}: {refusal.reason}" if refusal.line else refusal.reason
                for refusal in reading.refused
            )
            raise bench.RunFailed(f"{name}: {why or 'no result'} (exit status {left.status})")
        if left.status:
            raise bench.RunFailed(f"{name}: the benchmark ended with exit status {left.status}.")
        self.facts["tool_version"] = reading.runs[0].tool_version or reading.tool_version
        figures = []
        for run in reading.runs:
            least = SHORTEST_SHARE * self.campaign.run_seconds
            if run.duration_s is not None and run.duration_s < least:
                raise bench.RunFailed(f"{name}: it ran for {run.duration_s:.1f} s of {self.campaign.run_seconds} s.")
            self.warnings += [f"{name}: {warning}" for warning in run.warnings]
            figures.append(
                {
                    "machine": left.machine.number,
                    "operation": run.operation,
                    "throughput_mib_s": run.throughput_mib_s,
                    "ops_per_s": run.ops_per_s,
                    "latency_ms": run.latency_ms,
                    "duration_s": run.duration_s,
                }
            )
        return figures

    def note_spread(self, spread: tuple[float, float] | None) -> None:
        """Note how far apart several machines began to measure."""
        if spread is None:
            return
        seconds, unsure = spread
        self.facts |= {"start_spread_seconds": round(seconds, 3), "start_spread_unsure_seconds": round(unsure, 3)}
        if seconds > SPREAD_SECONDS:
            self.warnings.append(
                f"The machines began {seconds:.2f} s apart (known to {unsure:.2f} s); {SPREAD_SECONDS:g} s are allowed."
            )

    def note_background(self, left: list[bench.Left], host: Background | None) -> None:
        """Note what others did meanwhile. Machines made for the run are disturbed by what others do on their host."""
        found = {each.machine.name: each.background for each in left if each.background is not None}
        judged = {"the host": host} if host else found
        self.disturbed = " ".join(sentence for where, did in judged.items() for sentence in did.beyond_limits(where))
        found |= {"host": host} if host else {}
        self.facts["background"] = [{"where": where, **asdict(did)} for where, did in found.items()]

    def note_health(self, host: ssh.Connection | None) -> None:
        """Note the host's health where there is a way to it: an attached machine knows nothing of it."""
        if host is None or self.campaign.pool is None:
            return
        is_storage = self.campaign.pool.kind == StoragePool.Kind.STORAGE
        self.facts["health"] = health.look(host, [] if is_storage else [self.campaign.pool.path])
        self.warnings += health.warnings(self.facts["health"])

    def clean(self) -> None:
        """Take everything away again. What cannot be now is taken away by the next attempt."""
        for area in self.areas:
            try:
                area.call("clean", timeout=180)
            except remote.Superseded:
                raise
            except (ssh.SshError, remote.NotNow) as error:
                self.say(f"clean-up is left to the next run: {error}")
            except remote.Refused as error:
                self.say(f"clean-up: {error}")
                self.warnings.append(f"Clean-up: {error}")

    # What it leaves in the database

    def step(self, text: str) -> None:
        """Go to the next step, where the run is still this attempt's. Raises LeaseLost, Cancelled."""
        self.steps += 1
        self.keep()
        with transaction.atomic():
            self.job.step(self.steps)
            CampaignRun.objects.filter(pk=self.run.pk).update(step=text[:80])
            self.say(text)

    def keep(self) -> None:
        """Renew the lease. Raises LeaseLost where the run was given to another worker, Cancelled where it was."""
        if not self.job.renew():
            raise jobs.LeaseLost(f"{self.job} was given to another worker")
        if Campaign.objects.filter(pk=self.campaign.pk, state=Campaign.State.CANCELLED).exists():
            raise fates.Cancelled

    def cool_down(self) -> None:
        until = time.monotonic() + self.campaign.cool_down_seconds
        while (rest := until - time.monotonic()) > 0:
            self.keep()
            time.sleep(min(rest, 5))

    def say(self, text: str) -> None:
        RunLine.objects.create(run=self.run, text=text[:_LINE])

    def store(self, name: str, data: bytes) -> None:
        RunArtifact.objects.create(
            run=self.run, attempt=self.run.attempt, name=name, data=data, sha256=hashlib.sha256(data).hexdigest()
        )

    def end(self, state: State, *, figures: list[dict[str, Any]] | None = None, reason: str = "") -> None:
        with transaction.atomic():
            hosts.locked(self.host.pk)
            self.job.step(self.steps + 1, self.steps + 1)
            CampaignRun.objects.filter(pk=self.run.pk).update(
                state=state,
                figures=figures or [],
                facts=self.facts,
                warnings=self.warnings,
                disturbed=self.disturbed,
                curves=self.curves or None,
                reason=reason,
                step="",
                finished_at=now(),
            )
            self.say(f"{state.label}: {reason}" if reason else str(state.label))
            if state == State.DONE and self.disturbed:
                self.say(f"disturbed: {self.disturbed}")
                steering.repeat_at_the_end(self.run)
            if state == State.DONE:
                Campaign.objects.filter(pk=self.campaign.pk).update(looks=0)
                skip_what_is_known(self.campaign, self.run)
            if state == State.FAILED:
                self.pause_where_it_repeats(reason)
        logger.info("run=%s state=%s reason=%r", self.run.pk, state, reason)

    def pause_where_it_repeats(self, reason: str) -> None:
        """Pause after the second run in a row that failed alike, and after the fourth, eighth ... of who goes on.

        What does not depend on the run is its environment, and would fail every run of the matrix.
        """
        alike = 1
        before = self.campaign.runs.filter(state__in=[State.DONE, State.FAILED]).exclude(pk=self.run.pk)
        for state, other in before.order_by("-finished_at", "-pk").values_list("state", "reason").iterator():
            if state != State.FAILED or _cause(other) != _cause(reason):
                break
            alike += 1
        if alike > 1 and alike & (alike - 1) == 0:
            steering.pause_by_itself(self.campaign.pk, f"{alike} runs in a row failed alike: {reason}")

    def lost(self, reason: str) -> None:
        """Void a run whose machine died; it is repeated unless that happens again and again."""
        if self.run.lost_attempts + 1 >= MAX_LOST_ATTEMPTS:
            self.end(State.FAILED, reason=_sentence(f"{reason}, as in {MAX_LOST_ATTEMPTS - 1} attempts before"))
            return
        with transaction.atomic():
            self.wait_again(lost_attempts=F("lost_attempts") + 1)
            self.say(f"void, and to be repeated: {reason}")

    def give_back(self, reason: str, *, looks_again: bool = False) -> None:
        """Give back a run whose host cannot be used: it and its campaign wait for the host, or until somebody looks."""
        with transaction.atomic():
            self.wait_again()
            self.say(f"the host cannot be used: {reason}")
            steering.pause_by_itself(self.campaign.pk, reason, looks_again=looks_again)

    def wait_again(self, **values: Any) -> None:
        """Let the run wait, or cancel it with the campaign. The host is locked: nobody cancels it in between."""
        hosts.locked(self.host.pk)
        self.job.step(self.steps + 1, self.steps + 1)
        is_cancelled = Campaign.objects.filter(pk=self.campaign.pk, state=Campaign.State.CANCELLED).exists()
        values |= {"state": State.CANCELLED, "finished_at": now()} if is_cancelled else {"state": State.WAITING}
        CampaignRun.objects.filter(pk=self.run.pk).update(step="", **values)


def read_output(name: str, printed: bytes, keep: Callable[[], None], memory_bytes: int = MEMORY_BYTES) -> Reading:
    """Return what a machine's output holds, read in a process with limits: the machine may print what it likes.

    keep : called each second; raises where the run must be given up
    Raises RunFailed where it is not read within the limits, or is a table.
    """
    try:
        with ReadingProcess(memory_bytes=memory_bytes) as process:
            found = process.content(process.read([printed], keep))
    except NotRead as problem:
        raise bench.RunFailed(f"{name}: reading its output took {problem.args[0]}.") from problem
    if isinstance(found, Table):
        raise bench.RunFailed(f"{name}: its output is a table, and no result of a benchmark.")
    return found


def _curve(left: bench.Left) -> dict[str, Any]:
    found = curves.warm_up([interval.mib_s for interval in left.curve])
    return {
        "machine": left.machine.number,
        "until_s": [interval.until for interval in left.curve],
        "mib_s": [round(interval.mib_s, 3) for interval in left.curve],
        "warm_up_intervals": found,
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


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
            samples.setdefault(f"{done.guest_fs}:{done.host_fs}", []).append(value)
    widest = precision.widest_percent(samples)
    if widest is not None and widest <= campaign.precision_percent:
        planned.filter(state=State.WAITING).update(
            state=State.UNNEEDED,
            reason=f"After {run.repetition} repetitions every ratio is known to {widest:.1f} %; "
            f"{campaign.precision_percent} % were asked for.",
        )


def _cause(reason: str) -> str:
    """Return the reason without what differs from run to run: names of machines, sizes, times."""
    return re.sub(r"\d+", "#", reason)
