"""Hosts of campaigns, and the places on them where a campaign may write."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from experiments.laboratory.transport import pools
from kdb.models import ApiToken, Job

from .fields import check_slug

# No leading hyphen, which ssh would take for an option.
ADDRESS = RegexValidator(r"^[A-Za-z0-9\[][A-Za-z0-9.:\]_-]*$", "A host name or an IP address.")
LOGIN = RegexValidator(r"^[a-z_][a-z0-9_.-]*$", "A login name: small letters, digits, hyphens, dots.")
KEY_NAME = RegexValidator(r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", "The name of a file in the worker's folder of keys.")
# No character that a shell would need quoted, and no "..".
PATH = RegexValidator(r"^(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)+$", "An absolute path of letters, digits, . _ + and -.")
# The rule of Proxmox VE for names of storages.
STORAGE = RegexValidator(r"^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$", "The name of a storage: letters, digits, . _ and -.")


def check_pool(path: str) -> None:
    """Raise ValidationError where the folder belongs to the system (laboratory.transport.pools) or is no path.

    A text without a leading slash is the name of a storage.
    """
    if not path.startswith("/"):
        STORAGE(path)
        return
    PATH(path)
    if pools.is_of_the_system(path):
        raise ValidationError(
            f"{path} belongs to the system and cannot be a storage pool; a folder such as /srv/kdb, /mnt/disk1 or "
            "/var/lib/kdb can."
        )


class Host(models.Model):
    """A machine that is reached by OpenSSH, by its runner or by an API: bare metal, a hypervisor, or a guest of one.

    Private keys are files or an ssh agent of the worker; the database has their `key_name` alone.
    """

    class Driver(models.TextChoices):
        NATIVE = "native", "native: no virtual machine"
        LIBVIRT = "libvirt", "libvirt: the campaign makes its virtual machines"
        PROXMOX = "proxmox", "Proxmox VE: the campaign makes its virtual machines"
        XEN = "xen", "Xen, by xl: the campaign makes its virtual machines"
        ATTACHED = "attached", "attached: virtual machines that exist"

    # The drivers that can list, watch and move virtual machines which no campaign made.
    MANAGERS = (Driver.PROXMOX, Driver.LIBVIRT)

    slug = models.SlugField(max_length=60, unique=True, validators=[check_slug])
    name = models.CharField(max_length=200)
    address = models.CharField(max_length=255, validators=[ADDRESS], blank=True, help_text="Empty: not reached itself.")
    port = models.PositiveIntegerField(default=22)
    login = models.CharField(max_length=40, default="root", validators=[LOGIN])
    uses_sudo = models.BooleanField(default=False, help_text="The login is not root and may `sudo -n`.")
    key_name = models.CharField(max_length=80, blank=True, validators=[KEY_NAME], help_text="Empty: the ssh agent's.")
    host_key = models.CharField(max_length=1000, blank=True, help_text='As accepted: "ssh-ed25519 AAAA...".')
    offered_key = models.CharField(max_length=1000, blank=True, help_text="Shown by the host, not accepted yet.")
    is_by_runner = models.BooleanField(
        default=False, db_default=False, help_text="It is not logged in to: its own runner asks what to do."
    )
    is_by_api = models.BooleanField(
        default=False,
        db_default=False,
        help_text="It is not logged in to: Proxmox VE's API is asked, with the token in the file `key_name`.",
    )
    runner_token = models.OneToOneField(
        ApiToken, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", help_text="Of its runner alone."
    )
    runner_heard_at = models.DateTimeField(null=True, blank=True, help_text="When its runner asked last.")
    laboratory = models.SlugField(max_length=40, default="local", help_text="Names the queue of its workers.")
    drivers = models.JSONField(default=list, help_text="What it can be asked for: Driver values.")
    hypervisor = models.ForeignKey(
        "experiments.Hypervisor", null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    runs_on = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="machines",
        help_text="The host whose virtual machine this is; empty: a machine of its own.",
    )
    guest_image = models.CharField(
        max_length=200, blank=True, validators=[PATH], help_text="Folder on the host, made by build_guest_image."
    )
    stated = models.JSONField(
        default=dict, blank=True, help_text="What no command can find out: fields of a configuration and their text."
    )
    window_start = models.TimeField(null=True, blank=True, help_text="UTC: maintenance, when no run may be under way.")
    window_end = models.TimeField(null=True, blank=True, help_text="UTC.")
    is_observed = models.BooleanField(default=False, help_text="Its virtual machines' disks are watched.")
    observed_every = models.PositiveSmallIntegerField(default=10, help_text="s between two looks at them.")
    samples_offsets = models.BooleanField(default=False, db_default=False, help_text="Not used any more.")
    offsets_error = models.TextField(blank=True, db_default="", help_text="Not used any more.")
    observed_at = models.DateTimeField(null=True, blank=True, help_text="The last look that succeeded.")
    listed_at = models.DateTimeField(null=True, blank=True, help_text="When its machines were listed last.")
    observation_error = models.TextField(blank=True, help_text="Why the last look failed; empty: it did not.")
    blocked_reason = models.TextField(blank=True, help_text="Why nothing runs here; empty: not blocked.")
    facts = models.JSONField(default=dict, blank=True, help_text="What the last check found.")
    left_overs = models.TextField(
        blank=True, db_default="", help_text="What runs left there and no area knows, a line each, as last seen."
    )
    checked_at = models.DateTimeField(null=True, blank=True)
    job = models.ForeignKey(
        Job,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The latest contact or check.",
    )
    registered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="hosts"
    )
    operators = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="+",
        help_text="Its group beside its owner: who may load it, move its machines, and stop both. Nobody else sees it.",
    )
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when it is kept for what was measured there only; empty: it is in use."
    )

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(window_start__isnull=True, window_end__isnull=True)
                | Q(window_start__isnull=False, window_end__isnull=False),
                name="experiments_host_window_has_both_ends",
            ),
            models.CheckConstraint(
                condition=Q(is_by_runner=False) | Q(address=""), name="experiments_host_runner_has_no_address"
            ),
            models.CheckConstraint(
                condition=Q(is_by_api=False) | ~Q(address=""), name="experiments_host_by_api_has_an_address"
            ),
            models.CheckConstraint(condition=Q(port__gte=1, port__lte=65535), name="experiments_host_port_is_a_port"),
            models.UniqueConstraint(
                Lower("address"),
                "port",
                condition=~Q(address=""),
                name="experiments_host_address_is_unique",
                violation_error_message="Another host is registered with this address and port.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def queue(self) -> str:
        return f"lab-{self.laboratory}"

    @property
    def manager(self) -> str:
        """Return the driver that lists and moves the host's other virtual machines; "" where there is none."""
        return next((driver for driver in self.MANAGERS if driver in self.drivers), "")


class Freeze(models.Model):
    """While its one row, with the key 1, is there, no run and no move begins on any host."""

    reason = models.CharField(max_length=300)
    # Empty: somebody at the server's own command line.
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    since = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        by = self.by or "somebody at the server"
        return f"all hosts are frozen since {self.since:%Y-%m-%d %H:%M} UTC by {by}: {self.reason.rstrip('.')}"


class AskedCommand(models.Model):
    """One command for a host's runner, deleted once its answer was read or nobody waits for it any more.

    The words are a program with its arguments, or arguments of the script with this digest.
    """

    class Outcome(models.TextChoices):
        DONE = "done", "it ended"
        REFUSED = "refused", "the runner may not do it"
        TOO_MUCH = "too_much", "it printed too much"
        LATE = "late", "it did not end in time"
        LOST = "lost", "the runner died meanwhile"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="asked_commands")
    script = models.CharField(max_length=64, blank=True, help_text="SHA-256; empty: a program of the host.")
    name = models.CharField(max_length=100, blank=True, help_text="The script's own name, $0.")
    words = models.JSONField(default=list)
    given = models.BinaryField(default=b"", help_text="Its standard input.")
    seconds = models.PositiveIntegerField(help_text="That it may take.")
    most_bytes = models.PositiveIntegerField(help_text="That it may print.")
    leased_by = models.CharField(max_length=36, blank=True, help_text="The runner that has it; empty: none yet.")
    expires_at = models.DateTimeField(help_text="When nobody waits for it any more.")
    outcome = models.CharField(max_length=10, choices=Outcome, blank=True, help_text="Empty: not answered.")
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="With which it ended.")
    output = models.BinaryField(default=b"")
    errors = models.TextField(blank=True, help_text="What it said of errors, or why the runner refused.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome="done", status__isnull=False) | ~Q(outcome="done") & Q(status__isnull=True),
                name="experiments_askedcommand_what_ended_has_a_status",
            ),
        ]

    def __str__(self) -> str:
        return f"command {self.pk} for {self.host}"


class PrivateKey(models.Model):
    """A private key of the workers, which only hosts of its owner may use: the operator who named it first."""

    name = models.CharField(
        max_length=80, unique=True, blank=True, help_text="A file in the worker's folder of keys; empty: its ssh agent."
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: the server's administrators.",
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return f"the key {self.name}" if self.name else "the worker's ssh agent"


class StoragePool(models.Model):
    """A folder of a host, or a storage of its hypervisor: the only places where campaigns write.

    In a folder, a campaign formats, mounts and removes nothing outside `path`/.kdb. In a storage, the hypervisor makes
    a disk for each virtual machine of a campaign, and removes it with the machine.
    """

    class Kind(models.TextChoices):
        IMAGE = "image", "file systems are made in image files"
        EXISTING = "existing", "tested as it is mounted"
        STORAGE = "storage", "disks are made by Proxmox VE"

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="pools")
    path = models.CharField(max_length=200, validators=[check_pool], help_text="Or the name of a storage.")
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.IMAGE)
    storage = models.CharField(max_length=300, blank=True, help_text="The disks below, in words.")
    host_fs = models.ForeignKey(
        "experiments.FileSystem",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Of a virtual machine's pool: the host file system that its disk lies on.",
    )

    class Meta:
        ordering = ["host", "path"]
        constraints = [
            models.UniqueConstraint(fields=["host", "path"], name="experiments_storagepool_path_is_unique"),
            models.CheckConstraint(
                condition=Q(path__startswith="/") ^ Q(kind="storage"),
                name="experiments_storagepool_a_path_or_a_storage",
                violation_error_message="A folder begins with a slash, and a storage does not.",
            ),
        ]

    def __str__(self) -> str:
        return self.path
