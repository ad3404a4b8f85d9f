"""The steps of a run before its benchmark: the host is reached, and the machines and their loads are made ready."""

from contextlib import ExitStack

from django.utils.timezone import now

from experiments.campaigns import checks, hosts
from experiments.laboratory import plan
from experiments.laboratory.benchmarks import bench, calibration, engines
from experiments.laboratory.targets import drivers, steps
from experiments.laboratory.targets.drivers import Machine, RunSpec
from experiments.laboratory.transport import health, remote
from experiments.laboratory.transport.remote import Area
from experiments.laboratory.transport.ssh import Connection
from experiments.models import Campaign, CampaignRun, Host, StoragePool

from .attempt import Attempt
from .content import Record


def machines(attempt: Attempt, record: Record, stack: ExitStack) -> tuple[Connection | None, list[Machine]]:
    """Make and return the machines to run on, with the host's connection, where there is one."""
    campaign, pool, host = attempt.campaign, attempt.campaign.pool, attempt.host
    if campaign.driver == Host.Driver.ATTACHED or pool is None:
        return None, _attached(attempt, record, stack)
    connection = stack.enter_context(hosts.connect(host))
    is_storage = pool.kind == StoragePool.Kind.STORAGE
    folder = hosts.folder_beside(host) if is_storage else pool.path
    area = Area(connection, folder, attempt.token)
    record.areas.append(area)
    spec = _run_spec(attempt, pool, folder)
    if spec.journal_pool:  # also where this run has none: what an earlier one left there is taken away
        record.areas.append(Area(connection, spec.journal_pool, attempt.token))
    if not is_storage:
        record.warnings += _calibrate(attempt, area)
    record.facts |= {"host_kernel": host.facts.get("kernel", ""), "accelerator": spec.accelerator}
    if campaign.driver == Host.Driver.NATIVE:
        made = drivers.native(connection, spec, attempt.step)
    else:
        image, hypervisor = host.facts["guest_image"], drivers.HYPERVISORS[campaign.driver]
        record.facts["guest_image"] = {"distribution": image["distribution"], "sha256": image["sha256"]}
        made = drivers.guests(stack, hypervisor, connection, spec, attempt.step, attempt.keep)
    record.facts["machines"] = [{"name": machine.name, **machine.facts} for machine in made]
    return connection, made


def _run_spec(attempt: Attempt, pool: StoragePool, folder: str) -> RunSpec:
    """Return the run as a request to a driver. folder : on the host, for the run's notes"""
    campaign, run, host = attempt.campaign, attempt.run, attempt.host
    image = host.facts.get("guest_image", {})
    beside = checks.journal_pool(campaign) if "journal" in campaign.disk["pool_devices"] else None
    return RunSpec(
        token=attempt.token,
        host_fs=run.host_fs,
        guest_fs=run.guest_fs,
        pool=folder,
        storage=pool.path if pool.kind == StoragePool.Kind.STORAGE else "",
        makes_image=pool.kind == StoragePool.Kind.IMAGE,
        host_disk_mib=plan.host_disk_mib(campaign.driver, campaign.disk_mib, [run.vm_count or 1]),
        disk_mib=campaign.disk_mib,
        vm_count=run.vm_count,
        ram_mib=campaign.vm_ram_mib,
        vcpus=campaign.vm_vcpus,
        options=run.options,
        pinned_cpus=tuple(campaign.pinned_cpus),
        image_folder=host.guest_image,
        image_host_key=image.get("host_key", ""),
        accelerator=host.facts.get("accelerator", ""),
        maker=campaign.driver,
        journal_pool=beside.path if beside else "",
    )


def _calibrate(attempt: Attempt, area: Area) -> list[str]:
    """Run a reference load before the first run of each repetition, and before the repeats; return its drift."""
    run, campaign = attempt.run, attempt.campaign
    before = "the repeats" if run.repeats_id else f"repetition {run.repetition}" if run.repetition else "the warm-up"
    known = Campaign.objects.values_list("calibrations", flat=True).get(pk=campaign.pk) or []
    if before not in [calibrated["before"] for calibrated in known]:
        attempt.step(steps.CALIBRATE)
        area.call("begin", *drivers.makers([campaign.driver]), timeout=120)
        answer = remote.call(
            *(area.machine, "calibrate", area.pool, area.token, calibration.MIB, calibration.ROUNDS), timeout=300
        )
        figures = calibration.medians(remote.facts(answer))
        known = [*known, {"before": before, "run": run.position, "at": now().isoformat(), **figures}]
        Campaign.objects.filter(pk=campaign.pk).update(calibrations=known)
    return calibration.drift(known, before)


def _attached(attempt: Attempt, record: Record, stack: ExitStack) -> list[Machine]:
    """Prepare virtual machines that exist. Raises RunFailed where there are too few."""
    campaign, run = attempt.campaign, attempt.run
    pools = checks.machines_for(campaign, run.host_fs, run.guest_fs)[: run.vm_count]
    if len(pools) < run.vm_count:
        raise bench.RunFailed(
            f"{run.vm_count} machines for {run.guest_fs} on {run.host_fs} are needed, {len(pools)} are left."
        )
    attempt.attached = [pool.host for pool in pools]
    reached = []
    for pool in pools:
        connection = stack.enter_context(hosts.connect(pool.host))
        record.areas.append(Area(connection, pool.path, attempt.token))
        reached.append((connection, pool.path, pool.kind == StoragePool.Kind.IMAGE))
    spec = RunSpec(attempt.token, run.host_fs, run.guest_fs, "", False, 0, campaign.disk_mib, run.vm_count)
    made = drivers.attached(reached, spec, attempt.step)
    record.facts["machines"] = [
        {"name": pool.host.name, **machine.facts} for pool, machine in zip(pools, made, strict=True)
    ]
    return made


def note_health(attempt: Attempt, record: Record, host: Connection | None) -> None:
    """Note the host's health if the host can be reached: an attached machine does not know it."""
    pool = attempt.campaign.pool
    if host is None or pool is None:
        return
    looked = health.look(host, [] if pool.kind == StoragePool.Kind.STORAGE else [pool.path])
    record.facts["health"] = looked
    record.warnings += health.warnings(looked)


def load(attempt: Attempt, record: Record, machine: Machine) -> engines.Load:
    """Return the load of a machine, and note its parameters."""
    campaign, facts, program = attempt.campaign, attempt.host.facts, ""
    if campaign.driver in drivers.HYPERVISORS:
        image = facts["guest_image"]
        version = image["filebench"] if campaign.engine == "filebench" else image["packages"]["fio"]
    else:
        if campaign.driver == Host.Driver.ATTACHED:
            facts = attempt.attached[machine.number - 1].facts
        version, program = facts[campaign.engine], facts.get(f"{campaign.engine}_program", "")
    memory_mib, is_made = checks.memory_mib(campaign, facts), campaign.driver in drivers.HYPERVISORS
    made = engines.load(
        campaign.engine,
        version,
        attempt.run.workload,
        f"{machine.area.pool}/.kdb",
        machine.folder,
        campaign.run_seconds,
        campaign.scale_percent,
        program=program,
        memory_mib=memory_mib,
        is_limited=memory_mib > 0 and not is_made,
        is_direct=checks.passes_memory_by(campaign, facts),
        is_shipped=campaign.personality == Campaign.Personality.SHIPPED,
        is_compressible=checks.compares_compression(campaign),
    )
    record.facts |= {"parameters": dict(made.parameters), "working_set_bytes": made.working_set_bytes}
    if campaign.driver == Host.Driver.NATIVE:
        _refuse_another_load(attempt.run, made.working_set_bytes)
    return made


def _refuse_another_load(run: CampaignRun, size: int) -> None:
    """Raise HostError where earlier runs of the workload had files of another size: the host's memory limit changed."""
    alike = run.campaign.runs.filter(workload=run.workload, state=CampaignRun.State.DONE).order_by("-position")
    before = alike.values_list("facts__working_set_bytes", flat=True).first()
    if before not in (None, size):
        raise hosts.HostError(
            f"{run.workload} would use {size / 2**20:,.0f} MiB of files, and used {before / 2**20:,.0f} before: since "
            "its last check the host can limit a benchmark’s memory, or no longer can. Mend that and check it again, "
            "or plan this campaign anew."
        )
