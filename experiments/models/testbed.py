"""What was measured on: server, storage, and the configurations between benchmark and disk."""

from django.db import models
from django.db.models import Q

from kdb.host_storage import BACKENDS, VOLUMES, host_storage_key
from kdb.pairs import pair_key


class Server(models.Model):
    """One machine of a laboratory. Empty text or number: the source does not say."""

    slug = models.SlugField(max_length=60, unique=True)
    model = models.CharField(max_length=200, blank=True)
    cpu = models.CharField(max_length=200, blank=True)
    sockets = models.PositiveSmallIntegerField(null=True, blank=True)
    cores = models.CharField(max_length=80, blank=True, help_text="As stated.")
    ram_gib = models.FloatField(null=True, blank=True, help_text="GiB.")
    ram_kind = models.CharField(max_length=80, blank=True)
    network = models.CharField(max_length=80, blank=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.model or self.cpu or self.slug


class Storage(models.Model):
    """The disks that the measured file systems lay on, with their physical limits."""

    class Kind(models.TextChoices):
        HDD = "hdd", "hard disk"
        SSD = "ssd", "solid state"
        NVME = "nvme", "NVMe"
        MIXED = "mixed", "mixed"
        NOT_STATED = "", "not stated"

    server = models.ForeignKey(Server, on_delete=models.CASCADE, related_name="storages")
    slug = models.SlugField(max_length=60, unique=True)
    description = models.CharField(max_length=300)
    kind = models.CharField(max_length=10, choices=Kind, blank=True)
    controller = models.CharField(max_length=120, blank=True)
    raid = models.CharField(max_length=120, blank=True, help_text="As stated; empty: not stated.")
    sequential_read_limit = models.FloatField(null=True, blank=True, help_text="MB/s (10^6 bytes); empty: not stated.")
    sequential_write_limit = models.FloatField(null=True, blank=True, help_text="MB/s (10^6 bytes); empty: not stated.")
    interface_limit = models.FloatField(null=True, blank=True, help_text="MB/s (10^6 bytes); empty: not stated.")
    source = models.CharField(max_length=200, blank=True, help_text="Where the limits stand.")

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "storage"

    def __str__(self) -> str:
        return self.description


class Configuration(models.Model):
    """Everything that stands between benchmark and disk in one case study.

    Native is a configuration without hypervisor and guest: its file system is `host_fs`.
    Empty text or a missing reference: the source does not say.
    """

    class Virtualisation(models.TextChoices):
        FULL = "full", "full hardware virtualisation"
        PARA = "para", "para-virtualised"
        EMULATED = "emulated", "software emulation"
        NONE = "none", "none (native)"
        NOT_STATED = "", "not stated"

    case_study = models.ForeignKey("experiments.CaseStudy", on_delete=models.CASCADE, related_name="configurations")
    slug = models.SlugField(max_length=80, help_text="Unique inside the case study.")
    hypervisor = models.ForeignKey(
        "experiments.Hypervisor", null=True, blank=True, on_delete=models.PROTECT, related_name="configurations"
    )
    hypervisor_release = models.CharField(max_length=80, blank=True)
    virtualisation = models.CharField(max_length=10, choices=Virtualisation, blank=True)
    virtual_devices = models.CharField(max_length=120, blank=True, help_text="Virtual disk drivers, with version.")
    host_os = models.ForeignKey(
        "experiments.OperatingSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="as_host"
    )
    host_kernel = models.CharField(max_length=80, blank=True)
    host_fs = models.ForeignKey(
        "experiments.FileSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="as_host"
    )
    host_mount_options = models.CharField(max_length=200, blank=True)
    backend = models.CharField(
        max_length=10,
        choices=list(BACKENDS.items()),
        blank=True,
        help_text="What the disk images lie on; empty: a file where the host's file system is stated, else not stated.",
    )
    below = models.CharField(
        max_length=200, blank=True, help_text="What lies below the backend (RAID, layout of the pool), as stated."
    )
    image_format = models.CharField(max_length=40, blank=True)
    cache_mode = models.CharField(max_length=40, blank=True)
    disk_bus = models.CharField(max_length=40, blank=True)
    guest_os = models.ForeignKey(
        "experiments.OperatingSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="as_guest"
    )
    guest_kernel = models.CharField(max_length=80, blank=True)
    guest_fs = models.ForeignKey(
        "experiments.FileSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="as_guest"
    )
    guest_mount_options = models.CharField(max_length=200, blank=True)
    vm_vcpus = models.PositiveSmallIntegerField(null=True, blank=True)
    vm_ram_gib = models.FloatField(null=True, blank=True, help_text="GiB for each virtual machine.")
    vm_disk = models.CharField(max_length=200, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["case_study__slug", "slug"]
        constraints = [
            models.UniqueConstraint(fields=["case_study", "slug"], name="experiments_configuration_slug_is_unique"),
            models.CheckConstraint(
                condition=Q(hypervisor__isnull=False, guest_fs__isnull=False) & ~Q(virtualisation="none")
                | Q(
                    hypervisor__isnull=True,
                    guest_fs__isnull=True,
                    guest_os__isnull=True,
                    vm_ram_gib__isnull=True,
                    virtualisation="none",
                ),
                name="experiments_configuration_native_has_no_guest",
            ),
            models.CheckConstraint(
                condition=Q(host_fs__isnull=True) | ~Q(backend__in=list(VOLUMES)),
                name="experiments_configuration_volume_has_no_host_fs",
            ),
            models.CheckConstraint(
                condition=Q(hypervisor__isnull=False) | Q(backend=""),
                name="experiments_configuration_native_has_no_backend",
            ),
            models.CheckConstraint(  # it stands in keys, and a comma parts keys
                condition=~Q(cache_mode__contains=","), name="experiments_configuration_cache_mode_has_no_comma"
            ),
        ]

    def __str__(self) -> str:
        if self.hypervisor is None or self.guest_fs is None:
            return f"Native, {self.host_fs.name if self.host_fs else 'file system not stated'}"
        host_fs = self.host_fs.name if self.host_fs else "a host file system not stated"
        return f"{self.hypervisor.name}, {self.guest_fs.name} on {host_fs}"

    @property
    def is_native(self) -> bool:
        return self.hypervisor_id is None

    @property
    def host_storage(self) -> str | None:
        """ "dir-ext4", "lvm-thin" (kdb.host_storage); None for a native configuration or where it is not stated."""
        if self.is_native:
            return None
        return host_storage_key(self.backend, self.host_fs.slug if self.host_fs else None)

    @property
    def pair(self) -> str:
        """ "xfs-on-ext4", guest first; empty for a native configuration or an unknown host FS."""
        if self.guest_fs is None or self.host_fs is None:
            return ""
        return pair_key(self.guest_fs.slug, self.host_fs.slug)
