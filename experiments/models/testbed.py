"""What measurements were made on: servers, storage, and the configurations between benchmark and disk."""

from functools import partial

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Expression, F, Q, Value
from django.db.models.functions import Cast, Coalesce, NullIf, Replace

from kdb.disk_path import SETTINGS, choices_of
from kdb.host_storage import BACKEND, host_storage_key
from kdb.pairs import pair_key

from .catalogue import HostStorage


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

    def clean(self) -> None:
        for name in ("sequential_read_limit", "sequential_write_limit", "interface_limit"):
            limit = getattr(self, name)
            if limit is not None and limit <= 0:
                raise ValidationError({name: f"{limit:g} MB/s: more than 0; empty where it is not stated."})


def storage_kind(path: str = "") -> Coalesce:
    """Return a configuration's kind of storage as an expression: its own, else its case study's.

    path : "" in a query of configurations, else the prefix of lookups that lead to one, "configuration__"
    """
    own = NullIf(F(f"{path}storage_kind"), Value(""))
    return Coalesce(own, f"{path}case_study__storage__kind", output_field=models.CharField())


def setting_keys(path: str = "") -> dict[str, Expression]:
    """Return annotations such as "cache_mode_as_key": each setting as text that keys and URLs may contain.

    A number is its digits; in a text, the separators of keys and filters are replaced; "" where it is not stated.
    path : as for storage_kind
    """
    return {
        f"{column}_as_key": Coalesce(Cast(f"{path}{column}", models.CharField()), Value(""))
        if setting.is_bytes
        else Replace(Replace(f"{path}{column}", Value(","), Value(";")), Value("&"), Value("+"))
        for column, setting in SETTINGS.items()
    }


def _setting_field(column: str, help_text: str) -> "models.CharField[str, str]":
    """Return the field of a setting whose values are those of kdb.disk_path."""
    choices = partial(choices_of, column)  # a callable, so that a new value needs no migration
    return models.CharField(max_length=20, choices=choices, blank=True, default="", db_default="", help_text=help_text)


class Configuration(models.Model):
    """All layers between benchmark and disk in one case study.

    A native configuration has neither hypervisor nor guest; its file system is `host_fs`. Empty text or a missing
    reference means that the source does not state it.
    """

    class Virtualisation(models.TextChoices):
        FULL = "full", "full hardware virtualisation"
        PARA = "para", "para-virtualised"
        EMULATED = "emulated", "software emulation"
        CONTAINER = "container", "container (the host's kernel)"
        NONE = "none", "none (native)"
        NOT_STATED = "", "not stated"

    class GuestAccess(models.TextChoices):
        FILE_SYSTEM = "file-system", "a file system"
        RAW_DEVICE = "raw-device", "the raw device, without a file system"
        NOT_STATED = "", "not stated"

    case_study = models.ForeignKey(
        "experiments.CaseStudy", on_delete=models.CASCADE, related_name="configurations", db_index=False
    )
    slug = models.SlugField(max_length=80, db_index=False, help_text="Unique inside the case study.")
    hypervisor = models.ForeignKey(
        "experiments.Hypervisor",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="configurations",
        db_index=False,
    )
    hypervisor_release = models.CharField(max_length=80, blank=True)
    virtualisation = models.CharField(max_length=10, choices=Virtualisation, blank=True)
    virtual_devices = models.CharField(max_length=120, blank=True, help_text="Virtual disk drivers, with version.")
    host_os = models.ForeignKey(
        "experiments.OperatingSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="as_host"
    )
    host_kernel = models.CharField(max_length=80, blank=True)
    host_fs = models.ForeignKey(
        "experiments.FileSystem",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="as_host",
        db_index=False,
    )
    host_mkfs_options = models.CharField(max_length=200, blank=True, help_text="Given to mkfs, beside the device.")
    host_mount_options = models.CharField(max_length=200, blank=True)
    host_fs_release = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="Of the file system or volume manager, where it has one.",
    )
    host_io_scheduler = models.CharField(max_length=40, blank=True, help_text='Of its disks: "none", "mq-deadline".')
    backend = models.CharField(
        max_length=40,
        default="",
        db_default="",
        blank=True,
        validators=[RegexValidator(BACKEND)],
        help_text="Slug of what the disk images lie on; empty: a file where the host's file system is stated, else not "
        "stated.",
    )
    below = models.CharField(
        max_length=200, blank=True, help_text="What lies below the backend (RAID, layout of the pool), as stated."
    )
    pool_layout = _setting_field("pool_layout", "How the disks below are put together.")
    pool_devices = _setting_field("pool_devices", "Of the pool, beside its data disks.")
    compression = models.CharField(
        max_length=20, blank=True, default="", db_default="", help_text='Of the host, "lz4"; "off" where there is none.'
    )
    encryption = _setting_field("encryption", "Where data are encrypted.")
    volume_block_bytes = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Bytes: volblocksize of a ZFS volume, recordsize of a dataset, cluster size of a qcow2 image, chunk "
        "size of a thin pool.",
    )
    snapshot = _setting_field("snapshot", "What kept an earlier state of the disk meanwhile.")
    storage_kind = models.CharField(
        max_length=10, choices=Storage.Kind, blank=True, help_text="Of these disks; empty: as the case study's storage."
    )
    image_format = models.CharField(max_length=40, blank=True)
    allocation = models.CharField(
        max_length=10, choices=SETTINGS["allocation"].choices, blank=True, help_text="Of the image's space."
    )
    cache_mode = models.CharField(max_length=40, blank=True)
    io_mode = models.CharField(max_length=10, choices=SETTINGS["io_mode"].choices, blank=True)
    discard = models.CharField(
        max_length=10, choices=SETTINGS["discard"].choices, blank=True, help_text="Of what the guest frees."
    )
    disk_bus = models.CharField(max_length=40, blank=True)
    iothread = models.CharField(
        max_length=10,
        choices=SETTINGS["iothread"].choices,
        blank=True,
        help_text="Whether a thread of its own serves the disk.",
    )
    guest_os = models.ForeignKey(
        "experiments.OperatingSystem", null=True, blank=True, on_delete=models.PROTECT, related_name="as_guest"
    )
    guest_kernel = models.CharField(max_length=80, blank=True)
    guest_fs = models.ForeignKey(
        "experiments.FileSystem",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="as_guest",
        db_index=False,
    )
    guest_access = models.CharField(
        max_length=12,
        choices=GuestAccess,
        blank=True,
        help_text="What the load works on in the guest; empty: the guest's file system where it is stated.",
    )
    guest_mkfs_options = models.CharField(max_length=200, blank=True, help_text="Given to mkfs, beside the device.")
    guest_mount_options = models.CharField(max_length=200, blank=True)
    guest_fs_release = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="Of the guest's file system, where it has its own.",
    )
    disk_driver_release = models.CharField(
        max_length=80,
        blank=True,
        default="",
        db_default="",
        help_text="Of the virtual disk in the guest, with its name, where it has its own.",
    )
    guest_io_scheduler = models.CharField(max_length=40, blank=True, help_text="Of the virtual disk, in the guest.")
    vm_vcpus = models.PositiveSmallIntegerField(null=True, blank=True)
    vm_ram_gib = models.FloatField(null=True, blank=True, help_text="GiB for each virtual machine.")
    vm_disk = models.CharField(max_length=200, blank=True)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["case_study__slug", "slug"]
        # Lists are sorted by key. With these indexes, a list by any filter, of configurations or of their measurements,
        # reads only the rows that it shows, and one look-up tells whether a case study has any.
        indexes = [
            *(
                models.Index(fields=[name, "id"], name=f"configurations_by_{name}")
                for name in ("case_study", "slug", "hypervisor", "guest_fs", "host_fs", "backend")
            ),
            *(
                models.Index(fields=[name, "case_study"], name=f"case_studies_by_{name}")
                for name in ("hypervisor", "guest_fs", "host_fs")
            ),
            models.Index(fields=["id"], condition=Q(hypervisor__isnull=True), name="configurations_native"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["case_study", "slug"], name="experiments_configuration_slug_is_unique"),
            models.CheckConstraint(
                condition=Q(hypervisor__isnull=False) & ~Q(virtualisation="none")
                | Q(
                    hypervisor__isnull=True,
                    guest_fs__isnull=True,
                    guest_os__isnull=True,
                    guest_access="",
                    vm_ram_gib__isnull=True,
                    virtualisation="none",
                ),
                name="experiments_configuration_native_has_no_guest",
            ),
            models.CheckConstraint(
                condition=Q(backend__regex=BACKEND), name="experiments_configuration_backend_is_a_key"
            ),
            models.CheckConstraint(
                condition=Q(guest_fs__isnull=True) | ~Q(guest_access="raw-device"),
                name="experiments_configuration_raw_device_has_no_guest_fs",
            ),
            models.CheckConstraint(
                condition=Q(hypervisor__isnull=False) | Q(backend=""),
                name="experiments_configuration_native_has_no_backend",
            ),
            models.CheckConstraint(  # keys contain it, and a comma separates keys
                condition=~Q(cache_mode__contains=","), name="experiments_configuration_cache_mode_has_no_comma"
            ),
        ]

    def __str__(self) -> str:
        if self.hypervisor is None:
            return f"Native, {self.host_fs.name if self.host_fs else 'file system not stated'}"
        host = self.host_fs.name if self.host_fs else self.backend_label or "a host file system not stated"
        return f"{self.hypervisor.name}, {self.guest} on {host}"

    def clean(self) -> None:
        if self.host_fs_id and self.backend in HostStorage.volumes():
            raise ValidationError({"host_fs": f"Nothing, because the images lie on {self.backend}, a volume."})

    @property
    def backend_label(self) -> str:
        """Return the name of the backend, "" where it is not stated."""
        return HostStorage.label(self.backend)

    @property
    def guest(self) -> str:
        """Return what the load uses inside the guest, in words: its file system, or "raw device"."""
        if self.guest_fs is not None:
            return self.guest_fs.name
        if self.guest_access == self.GuestAccess.RAW_DEVICE:
            return "raw device"
        inside = "container" if self.virtualisation == self.Virtualisation.CONTAINER else "guest"
        return f"{inside} file system not stated"

    @property
    def is_native(self) -> bool:
        return self.hypervisor_id is None

    @property
    def host_storage(self) -> str | None:
        """Return "dir-ext4", "lvm-thin" (kdb.host_storage); None for a native configuration or where not stated."""
        if self.is_native:
            return None
        return host_storage_key(self.backend, self.host_fs.slug if self.host_fs else None)

    @property
    def pair(self) -> str:
        """Return the pair's key, guest first: "xfs-on-ext4"; empty for native configurations and unknown host FS."""
        if self.guest_fs is None or self.host_fs is None:
            return ""
        return pair_key(self.guest_fs.slug, self.host_fs.slug)
