"""Campaigns: a matrix of runs on one host, each run's progress, and everything it left behind."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from experiments.laboratory.targets import disks
from experiments.models.laboratory import Host
from kdb.models import Job
from kdb.pairs import pair_key

from .fields import check_slug


class Campaign(models.Model):
    """A matrix of runs on one host by one protocol: host FS x guest FS x workload x VM count x disk x repetition."""

    class State(models.TextChoices):
        PLANNED = "planned", "planned"
        RUNNING = "running", "running"
        PAUSED = "paused", "paused"
        FINISHED = "finished", "finished"
        CANCELLED = "cancelled", "cancelled"

    class Engine(models.TextChoices):
        FILEBENCH = "filebench", "Filebench"
        FIO = "fio", "fio"

    class Personality(models.TextChoices):
        KDB = "kdb", "KDB's own"
        SHIPPED = "shipped", "as Filebench ships them"

    slug = models.SlugField(max_length=60, unique=True, validators=[check_slug])
    title = models.CharField(max_length=300)
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="campaigns")
    pool = models.ForeignKey(
        "experiments.StoragePool", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    driver = models.CharField(max_length=10, choices=Host.Driver)
    engine = models.CharField(max_length=10, choices=Engine)
    personality = models.CharField(
        max_length=10, choices=Personality, default=Personality.KDB, db_default="kdb", help_text="Of the workloads."
    )
    host_file_systems = models.JSONField(default=list, help_text="Or volumes in their place.")
    guest_file_systems = models.JSONField(default=list, help_text="Empty: native.")
    workloads = models.JSONField(default=list)
    vm_counts = models.JSONField(default=list, help_text="Empty: native.")
    repetitions = models.PositiveSmallIntegerField(default=3)
    run_seconds = models.PositiveIntegerField(default=120, help_text="s")
    cool_down_seconds = models.PositiveIntegerField(default=0, help_text="s, before each run")
    scale_percent = models.PositiveSmallIntegerField(default=100, help_text="Of the standard numbers of files.")
    disk_mib = models.PositiveIntegerField(default=8192, help_text="MiB: each file system under test.")
    vm_ram_mib = models.PositiveIntegerField(default=2048, help_text="MiB; natively what the benchmark may use.")
    vm_vcpus = models.PositiveSmallIntegerField(default=1)
    # The options of the virtual disks that the campaign makes, as a configuration names them: all values of each in
    # `disk_values`, and the first in its column, for campaigns older than `disk_values` and for clients of the columns.
    disk_values = models.JSONField(
        null=True, blank=True, help_text="Option to its values; what is not in it: as the columns say."
    )
    cache_mode = models.CharField(max_length=20, default="none")
    io_mode = models.CharField(max_length=10, default="threads")
    image_format = models.CharField(max_length=10, default="raw")
    allocation = models.CharField(max_length=10, default="falloc")
    disk_bus = models.CharField(max_length=10, default="virtio")
    iothread = models.CharField(max_length=3, default="no")
    discard = models.CharField(max_length=10, default="ignore")
    pinned_cpus = models.JSONField(default=list, blank=True, help_text="Of the host, one a vCPU; empty: any.")
    seed = models.PositiveIntegerField(help_text="Of the order of the runs.")
    follows_protocol = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether its files are larger than the memory that may cache them, and its first run does not count.",
    )
    precision_percent = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Stop a workload when all its ratios are known this well; empty: never."
    )
    calibrations = models.JSONField(
        null=True,
        blank=True,
        help_text="A dict a repetition: what a reference load did before it; empty: none was run.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.PLANNED)
    state_reason = models.TextField(blank=True, help_text="Why it was paused by itself; empty: it was not.")
    look_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When the host of a paused one is looked at again; empty: a person decides.",
    )
    looks = models.PositiveSmallIntegerField(
        default=0, db_default=0, help_text="At the host that could not be used, since the last run that was done."
    )
    nightly_at = models.DateTimeField(
        null=True, blank=True, help_text="When one more repetition is begun, then each day; empty: it is not repeated."
    )
    nightly_minutes = models.PositiveIntegerField(null=True, blank=True, help_text="That a night may take.")
    nightly_skipped = models.TextField(
        blank=True, default="", db_default="", help_text="Day and reason of the last night, if skipped; else empty."
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="campaigns"
    )
    case_study = models.ForeignKey(
        "experiments.CaseStudy", null=True, blank=True, on_delete=models.SET_NULL, related_name="campaigns"
    )
    kit = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text='The kit that planned it: "cache-mode/1"; empty: none.',
    )
    replicates = models.ForeignKey(
        "experiments.CaseStudy",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="replications",
        help_text="The published case study that it measures again; empty: none.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when it is kept as a record only; empty: it is in use."
    )

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def disk(self) -> dict[str, list[str]]:
        """Return the values of each option of the virtual disks."""
        planned = self.disk_values or {}
        return {name: planned.get(name) or [getattr(self, name, usual)] for name, usual in disks.USUAL.items()}

    @disk.setter
    def disk(self, values: Mapping[str, Sequence[str]]) -> None:
        self.disk_values = {name: [*chosen] for name, chosen in values.items()}
        for name, chosen in values.items():
            setattr(self, name, chosen[0])

    @property
    def run_count(self) -> int:
        """Return the number of runs of the whole matrix, including the combinations that are left out."""
        machines = len(self.guest_file_systems) * len(self.vm_counts) if self.guest_file_systems else 1
        varied = prod(map(len, self.disk.values()))
        return len(self.host_file_systems) * machines * varied * len(self.workloads) * self.repetitions


class CampaignRunQuerySet(models.QuerySet["CampaignRun"]):
    def counting(self) -> Self:
        """Return the runs whose figures count: done, not done again since, and no warm-up."""
        done = self.filter(state=CampaignRun.State.DONE, repetition__gt=0)
        return done.exclude(repeated_by__state=CampaignRun.State.DONE)


class CampaignRun(models.Model):
    """One benchmark run. Its state is this row's; its job holds the lease, heartbeat and attempt.

    waiting -> active -> done or failed, or waiting again after a lost attempt; waiting -> cancelled or unneeded.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        ACTIVE = "active", "under way"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"
        UNNEEDED = "unneeded", "not needed"

    campaign = models.ForeignKey(Campaign, on_delete=models.CASCADE, related_name="runs")
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="+", help_text="The campaign's.")
    position = models.PositiveIntegerField(help_text="In the order of the campaign.")
    repetition = models.PositiveSmallIntegerField(help_text="0 is the warm-up, which does not count.")
    host_fs = models.CharField(max_length=40, help_text="Or the volume in its place.")
    guest_fs = models.CharField(max_length=40, blank=True, help_text="Empty: native.")
    workload = models.CharField(max_length=40)
    vm_count = models.PositiveSmallIntegerField(help_text="0 is native.")
    disk = models.CharField(
        max_length=400,
        blank=True,
        default="",
        db_default="",
        help_text='Of what its campaign varies of the virtual disks: "cache_mode=writeback io_mode=native".',
    )
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempt = models.PositiveIntegerField(default=0, help_text="How often it was begun.")
    lost_attempts = models.PositiveSmallIntegerField(default=0, help_text="Attempts that a dead machine made void.")
    step = models.CharField(max_length=80, blank=True, help_text="What is being done.")
    reason = models.TextField(blank=True, help_text="Why it failed, or why it is not needed.")
    figures = models.JSONField(default=list, help_text="A dict a machine and operation, in kdb's units.")
    facts = models.JSONField(
        default=dict, help_text="Kernels, mount options, versions, clocks, as found during the run."
    )
    warnings = models.JSONField(default=list)
    curves = models.JSONField(
        null=True,
        blank=True,
        help_text="A dict a machine: MiB/s of each interval, and where its warm-up ends; empty: not kept.",
    )
    disturbed = models.TextField(
        blank=True, db_default="", help_text="What others did beyond the limits; empty: nothing."
    )
    repeats = models.OneToOneField(
        "self",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="repeated_by",
        help_text="The run that is done once more by this one, and counts until this one is done.",
    )
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = CampaignRunQuerySet.as_manager()

    class Meta:
        ordering = ["campaign", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "host_fs", "guest_fs", "workload", "vm_count", "disk", "repetition"],
                condition=Q(repeats=None),
                name="experiments_campaignrun_is_run_once",
            ),
            models.UniqueConstraint(
                fields=["host"], condition=Q(state="active"), name="experiments_campaignrun_one_a_host"
            ),
            models.CheckConstraint(
                condition=~Q(state="done") | ~Q(figures=[]),
                name="experiments_campaignrun_done_has_figures",
            ),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(reason=""), name="experiments_campaignrun_failure_has_a_reason"
            ),
        ]

    def __str__(self) -> str:
        repetition = f"repetition {self.repetition}" if self.repetition else "warm-up"
        return f"{self.cell}, {repetition}{', again' if self.repeats_id else ''}"

    @property
    def options(self) -> disks.Options:
        planned = {name: chosen[0] for name, chosen in self.campaign.disk.items()}
        return disks.Options(**planned | disks.parse_combination(self.disk))

    @property
    def configuration(self) -> str:
        """Return the file systems, and the disk options in which the campaign's runs differ, in words."""
        systems = pair_key(self.guest_fs, self.host_fs) if self.guest_fs else f"native {self.host_fs}"
        return ", ".join(filter(None, [systems, disks.describe(self.disk)]))

    @property
    def cell(self) -> str:
        """Return what the run's repetitions have in common, in words."""
        machines = f", {self.vm_count} VM" if self.vm_count else ""
        return f"{self.configuration}, {self.workload}{machines}"

    @property
    def counts(self) -> bool:
        """Tell whether the run's figures count; the same rule as `counting`, which is for lists."""
        again = getattr(self, "repeated_by", None)
        is_latest = again is None or again.state != self.State.DONE
        return self.state == self.State.DONE and is_latest and self.repetition > 0


class RunLine(models.Model):
    """One line of a run's log."""

    run = models.ForeignKey(CampaignRun, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField(auto_now_add=True)
    text = models.CharField(max_length=1000)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.text


class RunArtifact(models.Model):
    """A file that a run wrote, byte for byte, stored before anything parses it."""

    run = models.ForeignKey(CampaignRun, on_delete=models.CASCADE, related_name="artifacts")
    attempt = models.PositiveIntegerField(help_text="Of the run; only the last one's count.")
    name = models.CharField(max_length=80, help_text='"machine-1.txt": the benchmark\'s output there.')
    data = models.BinaryField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["run", "attempt", "name"], name="experiments_runartifact_name_is_unique"),
        ]

    def __str__(self) -> str:
        return self.name
