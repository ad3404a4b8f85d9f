"""Objects for tests: each function makes one, with defaults for what the test does not care about.

Catalogue entries are named by their slug and made when they are missing:

    make_measurement(guest_fs="xfs", host_fs="ext4", value=120.0)
"""

import hashlib
import json
from dataclasses import asdict
from datetime import timedelta
from itertools import count
from uuid import uuid4

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import models
from django.utils.timezone import now

from experiments.models import (
    Benchmark,
    Campaign,
    CampaignRun,
    CaseStudy,
    Claim,
    Configuration,
    DerivedValue,
    FileSystem,
    Host,
    HostStorage,
    Hypervisor,
    ImportBatch,
    KnowledgeRevision,
    Measurement,
    ObservedMachine,
    ObservedPool,
    OperatingSystem,
    OrdinalFinding,
    PrintedRatio,
    Publication,
    RawChunk,
    RawFile,
    RunArtifact,
    Server,
    Storage,
    StoragePool,
    Workload,
    WorkloadVariant,
)
from kdb.accounts import tokens
from kdb.models import Job
from modelling.models import SeriesChange, Sitting
from modelling.own_lab import laboratories, sessions
from modelling.own_lab.changes import gather
from modelling.own_lab.content import Choice

_numbers = count(1)
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJrb2RSpmd8E5tMOPTxF1qbMd3eEhvg0Uih5N5VcxYWf"

# What a catalogue entry made by its slug alone gets.
_CATALOGUE_DEFAULTS = {
    Hypervisor: {"kind": Hypervisor.Kind.TYPE_1},
    OperatingSystem: {"family": OperatingSystem.Family.LINUX},
}
# The rows of host storage that KDB comes with.
STORAGES = json.loads((settings.BASE_DIR / "fixtures" / "catalogue.json").read_text("utf-8"))["host_storages"]
_CONFIGURATION_DEFAULTS = {"hypervisor": "kvm", "guest_fs": "ext4", "host_fs": "ext4"}


def entry(model: type[models.Model], slug: str | models.Model | None) -> models.Model | None:
    """Return the entry with this slug, made when missing; an entry or None is handed through."""
    if not isinstance(slug, str):
        return slug
    defaults = {"name": slug, **_CATALOGUE_DEFAULTS.get(model, {})}
    if model is HostStorage:
        defaults |= next((row for row in STORAGES if row["slug"] == slug), {})
    return model.objects.get_or_create(slug=slug, defaults=defaults)[0]


def make_publication(slug: str = "", **fields) -> Publication:
    return Publication.objects.create(slug=slug or f"publication-{next(_numbers)}", **{"title": "A paper"} | fields)


def make_server(**fields) -> Server:
    return Server.objects.create(**{"slug": f"server-{next(_numbers)}"} | fields)


def make_storage(**fields) -> Storage:
    defaults = {"slug": f"storage-{next(_numbers)}", "description": "One disk", "kind": Storage.Kind.HDD}
    return Storage.objects.create(**{"server": fields.get("server") or make_server()} | defaults | fields)


def make_case_study(slug: str = "", **fields) -> CaseStudy:
    """Make a draft; `publish` makes it knowledge."""
    storage = fields.pop("storage", None) or make_storage()
    slug = slug or f"case-study-{next(_numbers)}"
    defaults = {"title": slug, "server": storage.server, "storage": storage, "vm_counts": [1]}
    defaults["procedure"] = "As the benchmark runs it."  # without a word its single runs would count in nothing
    return CaseStudy.objects.create(slug=slug, **defaults | fields)


def make_configuration(
    case_study: CaseStudy | None = None,
    *,
    hypervisor: str | Hypervisor | None = "kvm",
    guest_fs: str | FileSystem | None = "ext4",
    host_fs: str | FileSystem | None = "ext4",
    **fields,
) -> Configuration:
    """Make a virtual configuration, or with `hypervisor=None` a native one, whose file system is `host_fs`."""
    is_native = hypervisor is None
    entry(HostStorage, fields.get("backend") or None)
    defaults = {
        "slug": f"configuration-{next(_numbers)}",
        "virtualisation": Configuration.Virtualisation.NONE if is_native else Configuration.Virtualisation.FULL,
    }
    return Configuration.objects.create(
        case_study=case_study or make_case_study(),
        hypervisor=entry(Hypervisor, hypervisor),
        guest_fs=None if is_native else entry(FileSystem, guest_fs),
        host_fs=entry(FileSystem, host_fs),
        guest_os=entry(OperatingSystem, fields.pop("guest_os", None)),
        host_os=entry(OperatingSystem, fields.pop("host_os", None)),
        **defaults | fields,
    )


def make_variant(
    workload: str | Workload = "varmail",
    *,
    benchmark: str | Benchmark = "filebench",
    benchmark_version: str = "1.4.9.1",
    parameters: dict | None = None,
) -> WorkloadVariant:
    """Make the variant with these parameters: the same one when it is there already."""
    return WorkloadVariant.objects.for_parameters(
        workload=entry(Workload, workload),
        benchmark=entry(Benchmark, benchmark),
        benchmark_version=benchmark_version,
        parameters=parameters or {},
    )


def _coordinates(fields: dict) -> dict:
    """Configuration, variant and VM count of a number, from the short names tests use.

    Inside one case study the same hypervisor and file systems are the same configuration.
    """
    variant = fields.pop("variant", None) or make_variant(fields.pop("workload", "varmail"))
    configuration = fields.pop("configuration", None)
    if configuration is None:
        case_study = fields.pop("case_study", None) or make_case_study()
        names = {name: fields.pop(name, default) for name, default in _CONFIGURATION_DEFAULTS.items()}
        slug = "-".join(str(getattr(part, "slug", part)) for part in names.values()).lower()
        configuration = case_study.configurations.filter(slug=slug).first() or make_configuration(
            case_study, slug=slug, **names
        )
    vm_count = 0 if configuration.is_native else 1
    return {"configuration": configuration, "variant": variant, "vm_count": vm_count, "unit": "MiB/s"}


def make_measurement(value: float = 100.0, **fields) -> Measurement:
    """Fields of Measurement, or in place of `configuration` and `variant`: case_study, hypervisor,
    guest_fs, host_fs, workload."""
    return Measurement.objects.create(value=value, **_coordinates(fields) | fields)


def make_derived_value(value: float | None = 100.0, **fields) -> DerivedValue:
    """Make a value of the text with its interval, used as evidence; fields as for make_measurement."""
    defaults = {
        "quantity": DerivedValue.Quantity.POINT,
        "route": "text",
        "formula": "as stated",
        "low": 90.0,
        "high": 110.0,
        "is_evidence": True,
    }
    return DerivedValue.objects.create(value=value, **_coordinates(fields) | defaults | fields)


def make_finding(
    tier: str = OrdinalFinding.Tier.BEST,
    *,
    guest_fs: str | FileSystem = "ext4",
    host_fs: str | FileSystem = "ext4",
    workload: str | Workload = "varmail",
    hypervisor: str | Hypervisor = "kvm",
    case_studies: list[CaseStudy] | None = None,
    **fields,
) -> OrdinalFinding:
    """Make a pair's place in the text list and the table list alike, unless told otherwise."""
    defaults = {"text_list": tier, "table_list": tier, "is_outstanding": False}
    finding = OrdinalFinding.objects.create(
        publication=fields.pop("publication", None) or make_publication(),
        variant=fields.pop("variant", None) or make_variant(workload),
        hypervisor=entry(Hypervisor, hypervisor),
        guest_fs=entry(FileSystem, guest_fs),
        host_fs=entry(FileSystem, host_fs),
        **defaults | fields,
    )
    finding.case_studies.set(case_studies or [])
    return finding


def make_printed_ratio(
    value: float = 1.35, *, numerator: str | None = "kvm", denominator: str = "xen", **fields
) -> PrintedRatio:
    """Make a ratio of two hypervisors as a text prints it; `numerator=None` is native."""
    ends = {"least": value, "least_rounding": 0.005, "greatest": value, "greatest_rounding": 0.005}
    defaults = {"vm_counts": [1], "is_overall": False, "printed": f"{value:g} times", "source": "Section 6", **ends}
    return PrintedRatio.objects.create(
        case_study=fields.pop("case_study", None) or make_case_study(),
        variant=fields.pop("variant", None) or make_variant(fields.pop("workload", "varmail")),
        numerator=entry(Hypervisor, numerator),
        denominator=entry(Hypervisor, denominator),
        **defaults | fields,
    )


def make_import(case_study: CaseStudy | None = None, **fields) -> ImportBatch:
    """Make a filed import, unless told otherwise."""
    defaults = {"door": ImportBatch.Door.COMMAND, "state": ImportBatch.State.FILED, "is_confirmed": True}
    fields = defaults | fields
    if fields["state"] == ImportBatch.State.FILED:
        fields.setdefault("filed_at", now())
    return ImportBatch.objects.create(case_study=case_study or make_case_study(), **fields)


def make_raw_file(case_study: CaseStudy | None = None, content: bytes = b"a result", **fields) -> RawFile:
    """Make a file of a filed import, with its bytes."""
    batch = fields.pop("batch", None) or make_import(case_study)
    defaults = {"name": "result.txt", "sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    file = RawFile.objects.create(case_study=batch.case_study, batch=batch, **defaults | fields)
    RawChunk.objects.create(file=file, number=0, data=content)
    return file


def make_user(role: str = "researchers", **fields):
    """Make a user in one of kdb.accounts.roles.ROLES; `role=""` is somebody without any."""
    user = get_user_model().objects.create_user(fields.pop("username", f"user-{next(_numbers)}"), **fields)
    if role:
        user.groups.add(Group.objects.get(name=role))
    return user


def make_token(user, scopes: tuple[str, ...] = ("read", "import", "review"), **options) -> str:
    """Make the key of a new API token."""
    return tokens.make(user, f"token-{next(_numbers)}", scopes, **options)[1]


def make_claim(**fields) -> Claim:
    defaults = {"code": f"claim-{next(_numbers)}", "kind": Claim.Kind.ORDERING, "statement": "A is faster than B"}
    return Claim.objects.create(**{"publication": fields.get("publication") or make_publication()} | defaults | fields)


def make_job(**fields) -> Job:
    return Job.objects.create(**{"kind": "test"} | fields)


def publish(*studies: CaseStudy, reason: str = "test") -> KnowledgeRevision:
    """Make case studies knowledge at one revision, with everything that follows from it."""
    from experiments.case_studies import lifecycle

    return lifecycle.publish(studies, reason=reason)


def revision(number: int) -> KnowledgeRevision:
    return KnowledgeRevision.objects.create(number=number, action=KnowledgeRevision.Action.PUBLISHED)


def make_host(slug: str = "", *, pools: tuple[str, ...] = ("/srv/pool",), **fields) -> Host:
    """Make a host whose key is accepted and which was checked: it has everything, and 100 GiB in each pool."""
    slug = slug or f"host-{next(_numbers)}"
    facts = {
        **{
            "kernel": "6.1.0",
            "fio": "fio-3.33",
            "filebench": "1.5-alpha3",
            "cores": 8,
            "ram_mib": 16_384,
            "missing": [],
        },
        **{"distribution": "Debian GNU/Linux 12", "distribution_id": "debian", "distribution_version": "12"},
        "pools": {path: {"file_system": "ext4", "free_mib": 102_400} for path in pools},
        "guest_image": {"filebench": "1.5-alpha3", "packages": {"fio": "3.33-3"}, "kernel": "6.1.0", "host_key": ""},
        "accelerator": "kvm",
    }
    defaults = {
        **{"name": slug, "address": f"{slug}.example", "host_key": HOST_KEY, "drivers": ["native", "libvirt"]},
        "facts": facts,
    }
    host = Host.objects.create(slug=slug, **defaults | fields)
    for path in pools:
        StoragePool.objects.create(host=host, path=path)
    return host


def make_pool(host: Host, path: str = "/srv/xfs", **fields) -> ObservedPool:
    """Make a place on an observed host where images lie; a TB on SSDs, half of it free."""
    defaults = {
        **{"backend": "file", "host_fs": path.rpartition("/")[2], "storage_kind": "ssd"},
        **{"size_bytes": 10**12, "free_bytes": 5 * 10**11, "seen_at": now()},
    }
    return ObservedPool.objects.create(host=host, path=path, **defaults | fields)


def make_machine(host: Host | None = None, name: str = "", *, pool: ObservedPool | None = None, **fields):
    """Make an observed machine that runs, with one raw disk of 10 GB."""
    host = host or make_host(is_observed=True)
    name = name or f"machine-{next(_numbers)}"
    defaults = {"uuid": uuid4(), "is_running": True, "seen_at": now()}
    machine = ObservedMachine.objects.create(host=host, name=name, **defaults | fields)
    pool = pool or host.observed_pools.first() or make_pool(host)
    machine.disks.create(
        target="vda",
        pool=pool,
        path=f"{pool.path}/{name}.raw",
        image_format="raw",
        size_bytes=10**10,
        allocated_bytes=10**10,
        seen_at=now(),
    )
    return machine


def make_minutes(machine: ObservedMachine, minutes: int = 10, *, begin=None, **counts) -> None:
    """Make so many minutes of a machine's first disk, up to now unless `begin` is given."""
    this_minute = now().replace(second=0, microsecond=0)
    begin = begin or this_minute - timedelta(minutes=minutes)
    done = {
        **{"reads": 600, "read_bytes": 600 * 16_384, "read_seconds": 0.6, "writes": 6000, "write_bytes": 6000 * 14_336},
        **{"write_seconds": 12.0, "flushes": 3000, "flush_seconds": 9.0, "seconds": 60.0, "busy_seconds": 60.0},
    } | counts
    for minute in range(minutes):
        machine.disks.first().statistics.create(span="minute", starts_at=begin + timedelta(minutes=minute), **done)


def make_campaign(host: Host | None = None, **fields) -> Campaign:
    """Make a native plan, unsaved; `campaigns.create` checks and stores it with its runs."""
    slug = f"campaign-{next(_numbers)}"
    defaults = {
        **{"slug": slug, "title": slug, "driver": "native", "engine": "fio", "host_file_systems": ["ext4"]},
        **{"workloads": ["varmail"], "repetitions": 1, "run_seconds": 60, "seed": 1},
    }
    host = host or make_host()
    return Campaign(host=host, **{"pool": host.pools.first()} | defaults | fields)


def make_run(campaign: Campaign | None = None, **fields) -> CampaignRun:
    """Make one run of a stored campaign."""
    if campaign is None:
        campaign = make_campaign()
        campaign.save()
    number = next(_numbers)
    defaults = {"position": number, "repetition": number, "host_fs": "ext4", "workload": "varmail", "vm_count": 0}
    return CampaignRun.objects.create(campaign=campaign, host=campaign.host, **defaults | fields)


def make_output(run: CampaignRun, name: str, data: bytes = b"printed", **fields) -> RunArtifact:
    """Make an output that a run left on one machine."""
    digest = hashlib.sha256(data).hexdigest()
    return run.artifacts.create(attempt=run.attempt, name=name, data=data, sha256=digest, **fields)


def make_sitting(user, slug: str = "ours", **fields):
    """Make a sitting in a laboratory whose only member is this user, with its first runs planned."""
    laboratory = laboratories.create_laboratory(user, slug, "Our laboratory")
    choices = [Choice(name, "vdb", {"guest_fs": name}) for name in ("ext4", "xfs")]
    told = {"machine": "box", "workload": "fileserver", "engine": "fio", "seconds": 30, "most_runs": 9, "facts": {}}
    return sessions.begin_session(laboratory, user, choices=choices, **told | fields)


def make_series_change(laboratory, **fields):
    """Make a change that was found in a laboratory and confirmed, with the sitting that it began with."""
    choices = [{"name": "xfs", "place": "vdb", "settings": {"guest_fs": "xfs"}}]
    told = {"machine": "box", "workload": "fileserver", "engine": "fio", "seconds": 30, "most_runs": 2, "facts": {}}
    ended = {"state": "spent", "ended_at": now(), "looked_at": now(), "known": {}}
    sitting = Sitting.objects.create(laboratory=laboratory, choices=choices, **told, **ended)
    sitting.runs.create(block=1, number=1, choice=0, value=1250.5, reported_at=now())
    ((series, name),) = gather.series_of(sitting)
    usual = {
        **{"series": series.key, "about": {**asdict(series), "name": name}, "sitting": sitting, "shown_by": sitting},
        "confirmed_by": sitting,
        **{"p": 1e-7, "ratio": 0.85, "low": 0.82, "high": 0.88},
        "facts": [{"name": "kernel", "before": "6.1", "after": "6.8"}],
    }
    return SeriesChange.objects.create(laboratory=laboratory, **usual | fields)
