"""An observed host's pools and virtual machines, and the sums of what their disks do.

These are counts, bytes and times of the block layer, never contents of a disk. Only operators see them.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q

from kdb.disk_path import SETTINGS

from .campaign import CampaignRun
from .catalogue import FileSystem, HostStorage
from .laboratory import PATH, Host
from .testbed import Storage


class ObservedPool(models.Model):
    """A place on a host where disk images of virtual machines lie or could lie.

    For Proxmox VE it is a storage, and both path and name are the storage's name, without a leading slash.
    """

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="observed_pools")
    path = models.CharField(max_length=200, validators=[PATH], help_text="Mount point, or device of a volume group.")
    name = models.CharField(max_length=80, blank=True, help_text="Of libvirt's pool; empty: it has none there.")
    backend = models.CharField(max_length=20, default="", db_default="")
    host_fs = models.CharField(max_length=40, blank=True, help_text="As found mounted; empty: a volume.")
    storage_kind = models.CharField(max_length=10, choices=Storage.Kind, blank=True)
    size_bytes = models.PositiveBigIntegerField(help_text="Bytes.")
    free_bytes = models.PositiveBigIntegerField(help_text="Bytes, when it was last seen.")
    seen_at = models.DateTimeField()
    is_target = models.BooleanField(default=False, help_text="Its operator lets machines be moved there.")
    reserve_bytes = models.PositiveBigIntegerField(default=0, help_text="Bytes that stay free whatever is planned.")
    filling_since = models.DateTimeField(
        null=True, blank=True, help_text="When its operator was told that it fills up; empty: it does not."
    )
    most_load = models.FloatField(
        null=True, blank=True, help_text="MiB/s that all its machines together may ask of it; empty: not known."
    )

    class Meta:
        ordering = ["host", "path"]
        constraints = [
            models.UniqueConstraint(fields=["host", "path"], name="experiments_observedpool_path_is_unique"),
            models.CheckConstraint(
                condition=Q(most_load__isnull=True) | Q(most_load__gt=0),
                name="experiments_observedpool_load_is_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.path

    @property
    def backend_label(self) -> str:
        return HostStorage.label(self.backend)


class ObservedMachine(models.Model):
    """A virtual machine that no campaign made, and that no campaign changes or stops.

    Its UUID identifies it; another machine may get its name once it is gone.
    """

    class GuestSource(models.TextChoices):
        AGENT = "agent", "told by its guest agent"
        SUPERBLOCK = "superblock", "read from its disk's superblock"
        OPERATOR = "operator", "stated by its operator"
        NOT_KNOWN = "", "not known"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="observed_machines")
    uuid = models.UUIDField(help_text="Libvirt's.")
    name = models.CharField(max_length=200)
    runs_as = models.CharField(
        max_length=60,
        blank=True,
        db_default="",
        help_text="Its name in the counters of its host (fleet.driver.contract); empty: the host lists it no longer.",
    )
    is_running = models.BooleanField()
    guest_fs = models.CharField(max_length=40, blank=True, help_text="That its load works on; empty: not known.")
    guest_fs_source = models.CharField(max_length=10, choices=GuestSource, blank=True)
    first_seen_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(help_text="When the host last listed it.")
    is_pinned = models.BooleanField(default=False, help_text="Its operator keeps it where it is.")
    apart = models.CharField(max_length=40, blank=True, help_text="Of machines with this name no two in one pool.")
    together = models.CharField(max_length=40, blank=True, help_text="Machines with this name stay in one pool.")

    class Meta:
        ordering = ["host", "name"]
        constraints = [
            models.UniqueConstraint(fields=["host", "uuid"], name="experiments_observedmachine_uuid_is_unique"),
            models.CheckConstraint(
                condition=Q(guest_fs="", guest_fs_source="") | ~Q(guest_fs="") & ~Q(guest_fs_source=""),
                name="experiments_observedmachine_guest_fs_has_a_source",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ObservedDisk(models.Model):
    """A writable disk of an observed machine, and the pool that it is stored in."""

    machine = models.ForeignKey(ObservedMachine, on_delete=models.CASCADE, related_name="disks")
    target = models.CharField(max_length=20, help_text='As the machine\'s definition names it: "vda".')
    pool = models.ForeignKey(
        ObservedPool, null=True, blank=True, on_delete=models.SET_NULL, related_name="disks", help_text="Empty: none."
    )
    path = models.CharField(max_length=500, help_text="Of the image file or device on the host.")
    image_format = models.CharField(max_length=20, blank=True)
    allocation = models.CharField(max_length=10, choices=SETTINGS["allocation"].choices, blank=True)
    cache_mode = models.CharField(max_length=20, blank=True, help_text="Empty: the hypervisor's default.")
    has_backing_chain = models.BooleanField(default=False, help_text="Another image lies below it, or a snapshot.")
    size_bytes = models.PositiveBigIntegerField(help_text="Bytes the machine sees.")
    allocated_bytes = models.PositiveBigIntegerField(help_text="Bytes it takes on the host.")
    seen_at = models.DateTimeField()
    counts = models.JSONField(
        null=True,
        blank=True,
        help_text="Counters at the last look that was kept (laboratory.transport.counters.Counts).",
    )
    counted_at = models.DateTimeField(null=True, blank=True, help_text="When; empty: its machine did not run.")
    slow_since = models.DateTimeField(
        null=True, blank=True, help_text="When its operator was told that it became slow; empty: it is as usual."
    )

    class Meta:
        ordering = ["machine", "target"]
        constraints = [
            models.UniqueConstraint(fields=["machine", "target"], name="experiments_observeddisk_target_is_unique"),
        ]

    def __str__(self) -> str:
        return self.target


class HostAuditEntry(models.Model):
    """One action on a host, on what is observed there, on all hosts or a token, and who did it. It is never changed."""

    host = models.ForeignKey(
        Host, null=True, blank=True, on_delete=models.CASCADE, related_name="audit_entries", help_text="Empty: none."
    )
    deleted_host = models.CharField(
        max_length=60, blank=True, db_default="", help_text="Short name of a host that was deleted; empty: it was not."
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: somebody at the server's own command line.",
    )
    action = models.CharField(max_length=40, help_text='In words: "observation on".')
    detail = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "host audit entries"

    def __str__(self) -> str:
        return f"{self.host_id or self.deleted_host} {self.action}".strip()


class BlockSums(models.Model):
    """Sums of the requests of a disk in a span of time, from differences of the hypervisor's counters."""

    seconds = models.FloatField(help_text="s that were watched; less than the span where some were missed.")
    reads = models.PositiveBigIntegerField(help_text="Requests.")
    read_bytes = models.PositiveBigIntegerField(help_text="Bytes.")
    read_seconds = models.FloatField(help_text="s, summed over requests.")
    writes = models.PositiveBigIntegerField(help_text="Requests.")
    write_bytes = models.PositiveBigIntegerField(help_text="Bytes.")
    write_seconds = models.FloatField(help_text="s, summed over requests.")
    flushes = models.PositiveBigIntegerField(help_text="Requests.")
    flush_seconds = models.FloatField(help_text="s, summed over requests.")
    offsets = models.JSONField(null=True, blank=True, help_text="Not used any more.")

    class Meta:
        abstract = True


class DiskStatistics(BlockSums):
    """Sums of one disk for one minute, hour or day (UTC)."""

    class Span(models.TextChoices):
        MINUTE = "minute", "minute"
        HOUR = "hour", "hour"
        DAY = "day", "day"

    disk = models.ForeignKey(ObservedDisk, on_delete=models.CASCADE, related_name="statistics", db_index=False)
    span = models.CharField(max_length=6, choices=Span)
    starts_at = models.DateTimeField()
    sequential_share = models.FloatField(null=True, blank=True, help_text="Empty: not counted.")
    busy_seconds = models.FloatField(help_text="s of `seconds` in which the disk did anything.")

    class Meta:
        ordering = ["disk", "span", "starts_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["disk", "span", "starts_at"], name="experiments_diskstatistics_span_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(seconds__gt=0, busy_seconds__gte=0, busy_seconds__lte=models.F("seconds")),
                name="experiments_diskstatistics_time_was_watched",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.span} from {self.starts_at:%Y-%m-%d %H:%M}"


class Signature(BlockSums):
    """The block statistics of one machine under a known load, from which the detection of workloads is trained."""

    run = models.ForeignKey(
        CampaignRun, null=True, blank=True, on_delete=models.CASCADE, related_name="signatures", help_text="Where from."
    )
    machine = models.PositiveSmallIntegerField(default=1, help_text="Number of the machine in the run.")
    starts_after = models.FloatField(help_text="s after the benchmark began.")
    workload = models.CharField(max_length=40, help_text="What ran: a workload's slug.")
    guest_fs = models.ForeignKey(FileSystem, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    sequential_share = models.FloatField(null=True, blank=True, help_text="Empty: not counted.")
    source = models.CharField(
        max_length=120, blank=True, help_text="Of one without a run here: the run elsewhere that it was recorded in."
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "machine", "starts_after"], name="experiments_signature_stretch_is_unique"
            ),
            models.CheckConstraint(condition=Q(seconds__gt=0), name="experiments_signature_time_was_watched"),
        ]

    def __str__(self) -> str:
        return f"{self.workload}, {self.seconds:g} s"
