"""A campaign as a draft case study: facts filled in, outputs attached, their figures filed by the import pipeline."""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from django.contrib.auth.models import User
from django.db import transaction

from experiments.case_studies import lifecycle
from experiments.imports import pipeline
from experiments.laboratory.targets import disks, drivers
from experiments.laboratory.targets.drivers import machine_name
from experiments.laboratory.transport.facts import HostFacts, ImageFacts
from experiments.models import Campaign, CampaignRun, CaseStudy, Host, ImportBatch, Server, Storage
from experiments.records.files import raw_files
from kdb.host_storage import FILE

from . import abilities, checks, plans
from .control import CampaignError
from .flagged import number_of
from .runs.content import GuestImage

_METRICS = (
    ("throughput_mib_s", "throughput", "MiB/s"),
    ("ops_per_s", "operation_rate", "ops/s"),
    ("latency_ms", "latency", "ms"),
)


def create_draft(campaign: Campaign, *, user: User | None) -> tuple[CaseStudy, ImportBatch]:
    """File the runs that are done as a draft of `user`, whatever became of the others.

    Raises CampaignError where it runs, nothing is done, it was filed before, or an output is gone or not to be kept.
    """
    try:
        return _file(campaign, user)
    except (raw_files.UploadError, pipeline.ImportRefused) as error:
        raise CampaignError(f"The outputs cannot be filed: {error}.") from error


def _file(campaign: Campaign, user: User | None) -> tuple[CaseStudy, ImportBatch]:
    with transaction.atomic():
        campaign = Campaign.objects.select_for_update(of=("self",)).select_related("host", "pool").get(pk=campaign.pk)
        if campaign.case_study:
            raise CampaignError(f"The campaign is filed as {campaign.case_study.slug}.")
        if campaign.state == Campaign.State.RUNNING:
            raise CampaignError("The campaign is running: pause it, or wait for its end.")
        done = list(campaign.runs.counting().order_by("position"))
        if not done:
            raise CampaignError("No run is done, so there is nothing to file.")
        draft = campaign.case_study = _draft(campaign, done, user)
        campaign.look_at = None  # of one that waits for its host: it does not go on by itself
        campaign.save(update_fields=["case_study", "look_at"])  # what is filed is held against its reference loads
        uploads = [*_outputs(campaign, done), raw_files.take("plan.json", [plans.text(campaign).encode()])]
        # A value is the mean over a run's machines, and comes with the output of the first; the rest is only kept.
        left_out = {upload.sha256: {"leave_out": True} for upload in uploads if not upload.rows}
        batch, _ = pipeline.receive(
            draft,
            uploads,
            user=user,
            door=ImportBatch.Door.CAMPAIGN,
            answers={"files": left_out},
            is_confirmed=True,
        )
    return draft, batch


def _draft(campaign: Campaign, done: list[CampaignRun], user: User | None) -> CaseStudy:
    """Create a draft of the campaign's short name, or of one with a number after it where that name is taken.

    Raises CampaignError where none of a hundred names will do.
    """
    for slug in (campaign.slug, *(f"{campaign.slug[:50]}-{number}" for number in range(2, 101))):
        case_study = _case_study(campaign, done, slug)
        try:
            return lifecycle.create_draft(case_study, _server(campaign.host), _storage(campaign), user=user)
        except lifecycle.CaseStudyError as error:
            refusal = error
    raise CampaignError(f"No draft can be made of it. {refusal}")


def _case_study(campaign: Campaign, done: list[CampaignRun], slug: str) -> CaseStudy:
    planned = campaign.runs.filter(repeats=None, repetition__gt=0).count()
    is_warm = campaign.runs.filter(repetition=0, state=CampaignRun.State.DONE).exists()
    notes = [] if len(done) == planned else [f"Partly finished: {len(done)} of {planned} runs are done."]
    failed = campaign.runs.filter(state=CampaignRun.State.FAILED)
    notes += [f"Failed: {run}: {run.reason}" for run in failed[:20]]
    if campaign.precision_percent is not None:
        notes.append(f"Repetitions stopped when all ratios were known to {campaign.precision_percent} %.")
    disturbed = campaign.runs.exclude(disturbed="").select_related("repeated_by").order_by("position")
    notes += [f"{run}: {run.disturbed} {_what_counts(run)}" for run in disturbed[:20]]
    if any("Caches were not dropped" in warning for run in done for warning in run.warnings):
        notes.append("Caches were not dropped before runs: the login was not root.")
    fresh = (
        "a file system made for each run"
        if campaign.pool is None or campaign.pool.kind == "image"
        else "one that was there"
    )
    shipped = " with the personalities that it ships" if campaign.personality == "shipped" else ""
    again = f" It measures {campaign.replicates.slug} again." if campaign.replicates else ""
    again += f" It is the kit {campaign.kit}." if campaign.kit else ""
    procedure = (
        f"KDB campaign {campaign.slug}: {campaign.get_engine_display()}{shipped}, {campaign.run_seconds} s a run, "
        f"{campaign.repetitions} repetitions planned, on {fresh}; caches dropped before each run; random order "
        f"within each repetition (seed {campaign.seed}); files and threads at {campaign.scale_percent} % of the usual. "
        f"At several machines they start together, and a value is the mean over them.{again}"
    )
    procedure += " The first run warmed up and is left out." if is_warm else ""
    if campaign.pinned_cpus and campaign.driver == Host.Driver.LIBVIRT:
        cpus = ", ".join(map(str, campaign.pinned_cpus))
        procedure += f" Each vCPU is pinned to a CPU of its own of the host, in this order: {cpus}."
    if "journal" in campaign.disk["pool_devices"] and (beside := checks.journal_pool(campaign)):
        disk = campaign.host.facts["pools"][beside.path].get("disk", "")
        procedure += f" A journal apart has {drivers.JOURNAL_MIB} MiB on another disk: {disk}."
    fits = any(number_of(campaign, run).fits_memory for run in done)
    return CaseStudy(
        slug=slug,
        title=campaign.title,
        laboratory=campaign.host.laboratory,
        run_seconds=campaign.run_seconds,
        warm_up_seconds=campaign.run_seconds if is_warm else None,
        measured_year=max((run.finished_at.year for run in done if run.finished_at), default=None),
        fits_cache=CaseStudy.FitsCache.YES if fits else CaseStudy.FitsCache.NOT_STATED,
        quiet_host=CaseStudy.QuietHost.NO if any(run.disturbed for run in done) else CaseStudy.QuietHost.YES,
        value_scope=CaseStudy.Scope.PER_VM,
        procedure=procedure,
        kit=campaign.kit,
        notes=notes,
    )


def _what_counts(run: CampaignRun) -> str:
    again = getattr(run, "repeated_by", None)
    if again is not None and again.counts:
        return f"Run {again.position}, its repeat, counts."
    return "It counts." if run.counts else f"It is {run.get_state_display()} and does not count."


def _server(host: Host) -> Server:
    facts = host.facts
    return Server(
        model=facts.get("model", "")[:200],
        cpu=facts.get("cpu", "")[:200],
        cores=str(facts.get("cores", "")),
        ram_gib=round(facts["ram_mib"] / 1024, 2) if "ram_mib" in facts else None,
    )


def _storage(campaign: Campaign) -> Storage:
    facts, pool = campaign.host.facts, campaign.pool
    about = facts.get("pools", {}).get(pool.path, {}) if pool else {}
    limits = facts.get("limits", {}).get(pool.path, {}) if pool else {}
    disk = about.get("disk", "").split()
    rotates = disk[-2] if len(disk) >= 3 and disk[-2] in ("0", "1") else ""
    name = disk[0] if disk else ""
    kind = (
        Storage.Kind.NVME if name.startswith("nvme") else {"0": Storage.Kind.SSD}.get(rotates, Storage.Kind.NOT_STATED)
    )
    return Storage(
        description=(pool.storage if pool and pool.storage else " ".join(disk) or "Not stated")[:300],
        kind=kind,
        sequential_read_limit=limits.get("read"),
        sequential_write_limit=limits.get("write"),
        source=f"Measured by KDB with fio on {campaign.host.checked_at:%Y-%m-%d}" if limits else "",
    )


def _outputs(campaign: Campaign, done: list[CampaignRun]) -> list[raw_files.Upload]:
    """Return the runs' outputs with their rows, the same bytes once. Raises CampaignError where an output is gone."""
    uploads: dict[str, raw_files.Upload] = {}
    for run in done:
        machine = machine_name(run.figures[0]["machine"])
        artifacts = {artifact.name: artifact for artifact in run.artifacts.filter(attempt=run.attempt) if artifact.data}
        # A benchmark may print all it has to say where errors go.
        first = next((name for name in (f"{machine}.txt", f"{machine}.errors.txt") if name in artifacts), "")
        if not first:
            raise CampaignError(f"{run}: its output {machine}.txt is gone, so its figures cannot be filed.")
        for name, artifact in artifacts.items():
            if artifact.sha256 not in uploads:
                uploads[artifact.sha256] = raw_files.take(_output_name(run, name), [bytes(artifact.data)])
        kept = uploads[artifacts[first].sha256]
        uploads[kept.sha256] = replace(kept, rows=[*kept.rows, *_rows(campaign, run)])
    return list(uploads.values())


def _output_name(run: CampaignRun, name: str) -> str:
    return f"run-{run.position:04d}/{name}"


def _rows(campaign: Campaign, run: CampaignRun) -> Iterator[dict[str, object]]:
    """Yield one row an operation and metric, in the fields of an import."""
    common = {
        **_configuration(campaign, run),
        "workload": run.workload,
        "benchmark": campaign.engine,
        "benchmark_version": run.facts["tool_version"],
        "vm_count": run.vm_count,
        "repetition": run.repetition,
        "source": f"run {run.position}",
        "working_set_bytes": run.facts["working_set_bytes"],
        "parameters": run.facts["parameters"],
    }
    for operation in dict.fromkeys(figure["operation"] for figure in run.figures):
        figures = [figure for figure in run.figures if figure["operation"] == operation]
        for name, metric, unit in _METRICS:
            values = [figure[name] for figure in figures]
            if any(value is None for value in values):
                continue
            note = [f"machine {figure['machine']}: {figure[name]:.6g} {unit}" for figure in figures if len(figures) > 1]
            yield {
                **common,
                **{"operation": operation, "metric": metric, "unit": unit},
                **{
                    "value": sum(values) / len(values),
                    "note": "; ".join(filter(None, [*note, *run.warnings, run.disturbed])),
                },
            }


def _configuration(campaign: Campaign, run: CampaignRun) -> dict[str, object]:
    """Return what the host's check and the run know; what only people know is taken from the host's record."""
    host, facts = campaign.host, campaign.host.facts
    machine = run.facts["machines"][0]
    known: dict[str, object] = {} if run.host_fs in abilities.BACKENDS else {"host_fs": run.host_fs}
    if facts:  # a host that moved to another address lost those of the old one
        known |= {"host_os": _system(facts), "host_kernel": facts.get("kernel", "")}
    if not run.guest_fs:
        known |= {
            name: run.options.values[name]
            for name in disks.OF_FILE_SYSTEM
            if campaign.disk[name] != [disks.USUAL[name]]
        }
        return {**host.stated, **known, "hypervisor": "native", "host_mount_options": machine["mount_options"]}
    known |= {
        "guest_fs": run.guest_fs,
        "guest_kernel": machine["kernel"],
        "guest_mount_options": machine["mount_options"][:200],
    }
    if campaign.driver in drivers.HYPERVISORS:
        is_emulated = run.facts["accelerator"] == "qemu"
        known |= {
            **_hypervisor(campaign, is_emulated),
            "virtualisation": "emulated" if is_emulated else "full",
            "virtual_devices": disks.DEVICES[run.options.disk_bus],
            "host_mount_options": machine["host_mount_options"][:200],
            **_disk_values(run.options),
            **_backend(campaign, run),
            "guest_os": _guest_system(facts.get("guest_image") or run.facts["guest_image"]),
            "vm_vcpus": campaign.vm_vcpus,
            "vm_ram_gib": campaign.vm_ram_mib / 1024,
            "vm_disk": f"{campaign.disk_mib} MiB",
        }
    elif host.hypervisor:
        known["hypervisor"] = host.hypervisor.slug
    return {**known, **host.stated} if campaign.driver == Host.Driver.ATTACHED else {**host.stated, **known}


def _disk_values(options: disks.Options) -> dict[str, str]:
    """Return what the virtual disk is; only an image with clusters has a size of them."""
    without = {*disks.OF_FILE_SYSTEM, *(["volume_block_bytes"] if options.image_format != "qcow2" else [])}
    return {name: value for name, value in options.values.items() if name not in without}


def _hypervisor(campaign: Campaign, is_emulated: bool) -> dict[str, object]:
    facts = campaign.host.facts
    if campaign.driver == Host.Driver.PROXMOX:
        slug, release = "proxmox", facts.get("pve", "")
    elif campaign.driver == Host.Driver.XEN:
        slug, release = "xen", facts.get("xen", "")
    else:
        slug, release = "kvm", f"{facts.get('running', '')}, libvirt {facts.get('libvirt', '')}"
    return {"hypervisor": "qemu-tcg" if is_emulated else slug, "hypervisor_release": release[:80]}


def _backend(campaign: Campaign, run: CampaignRun) -> dict[str, object]:
    """Return what the disk images lie on, as the run made it."""
    about = campaign.host.facts.get("pools", {}).get(str(campaign.pool), {})
    if campaign.driver == Host.Driver.PROXMOX:
        allocation = about.get("allocation", {}).get(run.options.image_format, "")
        known = {"allocation": allocation, "host_mount_options": about.get("mount_options", "")[:200]}
        return known | {"backend": run.host_fs if run.host_fs in abilities.BACKENDS else FILE}
    if run.host_fs not in abilities.BACKENDS:
        return {"backend": FILE}
    below = f"a loop device on a file on {about['file_system']}" if "file_system" in about else "a loop device"
    known = {"backend": run.host_fs, "below": below, "allocation": ""}
    # Xen serves a volume in its kernel, by none of the modes that QEMU has.
    return known | ({"io_mode": ""} if campaign.driver == Host.Driver.XEN else {})


def _guest_system(image: ImageFacts | GuestImage) -> str:
    """Return the system of a guest image; older ones say its version in the words of the distribution only."""
    version = next((word for word in image["distribution"].split() if word.isdigit()), "")
    return _system(cast(ImageFacts, {"distribution_version": version, **image}))


def _system(facts: HostFacts | ImageFacts) -> str:
    """Return "debian-12", which the catalogue may know; where it does not, the import asks what it is."""
    parts = [facts.get("distribution_id", ""), facts.get("distribution_version", "")]
    return "-".join(part for part in parts if part)
