"""The catalogue: the names that evidence is filed under.

Each entry has a stable slug, which URLs and the API use, and aliases that imports accept in its place. All case
studies share the entries; what one laboratory installed is a Configuration.
"""

import hashlib
import json
import re
from typing import Any

from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from experiments.rules import entry_names
from experiments.rules.concurrency import Concurrency, concurrency_of
from kdb.host_storage import BACKEND

from .fields import TypedJSONField, texts

_SECONDS = 10  # rows of host storage are read again after so many: pages print hundreds of their names


class SharedRow(models.Model):
    """A row that case studies share. One that a draft adds belongs to the draft until that is published."""

    is_draft = models.BooleanField(
        default=False,
        editable=False,
        help_text="It came with a draft and only drafts use it: published with the first, deleted with the last.",
    )

    class Meta:
        abstract = True


class CatalogueEntry(SharedRow):
    """The fields that every entry of the catalogue has."""

    slug = models.SlugField(max_length=40, unique=True, help_text="Stable name in addresses and the API.")
    name = models.CharField(max_length=80, help_text="As the vendor or its authors write it.")
    aliases = TypedJSONField(
        schema=texts(80), default=list, blank=True, help_text="Other spellings accepted for the slug."
    )
    description = models.TextField(blank=True)
    source = models.CharField(max_length=200, blank=True, help_text="Paper and section of the facts stated here.")

    class Meta:
        abstract = True
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(
                condition=Q(slug__regex=entry_names.SLUG)
                & ~Q(slug__regex=entry_names.JOINING_WORD)
                & ~Q(slug__in=entry_names.RESERVED),
                name="%(app_label)s_%(class)s_slug_fits_addresses_and_keys",
            )
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the entry. Raises ValidationError where its slug, name or an alias is not allowed."""
        self.check_names()
        super().save(*args, **kwargs)

    def clean(self) -> None:
        super().clean()
        self.check_names()

    def check_names(self) -> None:
        """Raise ValidationError by field. The database refuses a second entry with the same slug."""
        others = type(self)._default_manager.exclude(pk=self.pk).exclude(slug=self.slug)
        taken = entry_names.owners(others.values_list("slug", "name", "aliases"))
        texts = [text for text in self.aliases if isinstance(text, str)] if isinstance(self.aliases, list) else []
        faults = entry_names.faults(
            self.slug, self.name, texts, taken
        )  # aliases that are no text are refused by the field
        if faults:
            raise ValidationError(faults)


def _family_field(example: str) -> "models.CharField[str, str]":
    help_text = f"A word that alike entries share: {example}. Empty: none."
    return models.CharField(max_length=40, blank=True, default="", db_default="", help_text=help_text)


class Hypervisor(CatalogueEntry):
    """One hypervisor product; its releases are named by configurations."""

    class Kind(models.TextChoices):
        TYPE_1 = "type-1", "type 1 (runs on the hardware)"
        TYPE_2 = "type-2", "type 2 (runs on an operating system)"
        DISPUTED = "disputed", "the sources disagree"
        CONTAINER = "container", "containers (the host's kernel for all)"

    kind = models.CharField(max_length=10, choices=Kind, help_text="As the sources classify it.")
    kernel_origin = models.CharField(max_length=200, help_text="Whose kernel does the hypervisor's work.")
    virtual_device_origin = models.CharField(max_length=200, help_text="Whose virtual disk drivers guests see.")
    vendor = models.CharField(max_length=80, blank=True)
    family = _family_field("Docker and Kubernetes are containers, which are alike where storage is compared")


class HostStorage(CatalogueEntry):
    """What disk images lie on, other than a directory on a file system. Configurations name it by its slug."""

    class Kind(models.TextChoices):
        FILE = "file", "a file on a file system"
        VOLUME = "volume", "a volume"
        SHARED = "shared", "a shared directory"
        MANAGED = "managed", "a directory of a volume manager"
        NOT_STATED = "", "not stated"

    class Reach(models.TextChoices):
        HOST = "host", "one host alone"
        NETWORK = "network", "several hosts, over the network"
        NOT_STATED = "", "not stated"

    kind = models.CharField(max_length=10, choices=Kind, blank=True)
    reach = models.CharField(max_length=10, choices=Reach, blank=True, help_text="Who uses it.")
    family = _family_field("Rook and RBD are Ceph")

    def check_names(self) -> None:
        super().check_names()
        if not re.search(BACKEND, self.slug):
            raise ValidationError(
                {"slug": f"{self.slug!r} has other characters than a-z, 0-9 and -, or names files (dir-, zfs)."}
            )

    @classmethod
    def by_slug(cls) -> "dict[str, HostStorage]":
        """Return every row, also of drafts, in the order of their slugs; read at most every few seconds."""
        return cache.get_or_set("experiments.host_storages", cls._read, _SECONDS) or {}

    @classmethod
    def _read(cls) -> "dict[str, HostStorage]":
        return {row.slug: row for row in cls._default_manager.all()}

    @classmethod
    def label(cls, slug: str) -> str:
        """Return the name of a host storage; the slug where there is no row."""
        row = cls.by_slug().get(slug)
        return row.name if row else slug

    @classmethod
    def volumes(cls) -> set[str]:
        return {slug for slug, row in cls.by_slug().items() if row.kind == cls.Kind.VOLUME}


class FileSystem(CatalogueEntry):
    """One file system. MechanismCost has its seven mechanisms where a source states them."""

    letter = models.CharField(
        max_length=1, blank=True, help_text="The papers' abbreviation (E, X, B); empty if they use none."
    )

    class Meta(CatalogueEntry.Meta):
        constraints = [
            *CatalogueEntry.Meta.constraints,
            models.UniqueConstraint(
                fields=["letter"], condition=~Q(letter=""), name="experiments_filesystem_letter_is_unique"
            ),
        ]


class MechanismCost(models.Model):
    """The mechanism by which a file system does one kind of operation: one cell C1.1-C3.7 of the cost matrix."""

    class Operation(models.IntegerChoices):
        UPDATE_METHOD = 1, "update method"
        DIRECTORY = 2, "directory operations"
        METADATA = 3, "metadata operations"
        FREE_LISTS = 4, "free list operations"
        BLOCK_ACCESS = 5, "file block access"
        HOUSEKEEPING = 6, "housekeeping"
        SMALL_FILES = 7, "small file embedding"

    file_system = models.ForeignKey(FileSystem, on_delete=models.CASCADE, related_name="mechanisms")
    operation = models.PositiveSmallIntegerField(choices=Operation)
    mechanism = models.CharField(max_length=80, help_text='The structure or method, e.g. "B+ tree".')
    code = models.CharField(max_length=8, unique=True, help_text='The cost term, "C3.1": file system 3, row 1.')
    source = models.CharField(max_length=200)

    class Meta:
        ordering = ["code"]
        constraints = [
            models.UniqueConstraint(
                fields=["file_system", "operation"], name="experiments_mechanismcost_one_per_operation"
            )
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.mechanism}"


class OperatingSystem(CatalogueEntry):
    """One operating system release, as guest or host; the kernel is named by the configuration."""

    class Family(models.TextChoices):
        LINUX = "linux", "Linux"
        WINDOWS = "windows", "Windows"
        OTHER = "other", "other"

    family = models.CharField(max_length=10, choices=Family)
    version = models.CharField(max_length=40, blank=True)


class Benchmark(CatalogueEntry):
    """One benchmark program; its version is part of a WorkloadVariant."""

    printed_unit = models.CharField(max_length=40, blank=True, help_text="How the tool itself writes throughput.")


class Workload(CatalogueEntry):
    """One load as users name it, "mail server", whichever benchmark imitates it.

    The profile fields have what the papers state about its access pattern, in words; empty where they state nothing.
    """

    class Share(models.TextChoices):
        DOMINANT = "dominant", "dominant"
        PRESENT = "present", "present"
        SMALL = "small", "small"
        NONE = "none", "none"
        NOT_STATED = "", "not stated"

    class Writes(models.TextChoices):
        SYNCHRONOUS = "synchronous", "synchronous"
        ASYNCHRONOUS = "asynchronous", "asynchronous"
        NOT_STATED = "", "not stated"

    random_reads = models.CharField(max_length=10, choices=Share, blank=True)  # T_RR
    sequential_reads = models.CharField(max_length=10, choices=Share, blank=True)  # T_SR
    random_writes = models.CharField(max_length=10, choices=Share, blank=True)  # T_RW
    sequential_writes = models.CharField(max_length=10, choices=Share, blank=True)  # T_SW
    metadata_operations = models.CharField(max_length=10, choices=Share, blank=True)
    writes = models.CharField(max_length=12, choices=Writes, blank=True)
    data_flow = models.CharField(max_length=80, blank=True, help_text="Volume of the data moved.")
    operation_rate = models.CharField(max_length=80, blank=True, help_text="Number of I/O operations.")
    cache_impact = models.CharField(max_length=200, blank=True, help_text="What caches are said to gain.")


class WorkloadVariantManager(models.Manager["WorkloadVariant"]):
    def for_parameters(
        self, workload: Workload, benchmark: Benchmark, benchmark_version: str, parameters: dict[str, Any]
    ) -> "WorkloadVariant":
        """Return the one variant with exactly these parameters, created when new."""
        variant, _ = self.get_or_create(
            workload=workload,
            benchmark=benchmark,
            benchmark_version=benchmark_version,
            digest=parameters_digest(parameters),
            defaults={"parameters": parameters},
        )
        return variant


def parameters_digest(parameters: dict[str, Any]) -> str:
    """Return SHA-256 of the parameters, the same for every order of the keys."""
    return hashlib.sha256(json.dumps(parameters, sort_keys=True).encode()).hexdigest()


class WorkloadVariant(models.Model):
    """One workload as one benchmark version runs it with one set of parameters.

    The same name with other parameters is another variant.
    """

    workload = models.ForeignKey(Workload, on_delete=models.PROTECT, related_name="variants")
    benchmark = models.ForeignKey(Benchmark, on_delete=models.PROTECT, related_name="variants")
    benchmark_version = models.CharField(max_length=40, blank=True, help_text="Empty: the source does not say.")
    parameters = models.JSONField(default=dict, blank=True, help_text="As stated; what is absent is not stated.")
    digest = models.CharField(max_length=64, editable=False, help_text="SHA-256 of the parameters.")

    objects = WorkloadVariantManager()

    class Meta:
        ordering = ["workload__slug", "benchmark__slug", "benchmark_version", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["workload", "benchmark", "benchmark_version", "digest"],
                name="experiments_workloadvariant_parameters_are_unique",
            )
        ]

    def __str__(self) -> str:
        version = self.benchmark_version or "version not stated"
        return f"{self.workload.name} ({self.benchmark.name} {version})"

    @property
    def concurrency(self) -> Concurrency:
        """Return its queue depth and number of jobs, as far as they are stated."""
        return concurrency_of(self.parameters)[0]


class ModelComponent(models.Model):
    """One of the seven components that make up the time of a workload in a virtual environment."""

    number = models.PositiveSmallIntegerField(unique=True, help_text="Position on the road of the data, 1-7.")
    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=80)
    description = models.TextField(blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.CheckConstraint(
                condition=Q(number__gte=1, number__lte=7), name="experiments_modelcomponent_number_is_1_to_7"
            )
        ]

    def __str__(self) -> str:
        return self.name


class ComponentName(models.Model):
    """The name that one paper gives a component, and the position in that paper's equation."""

    component = models.ForeignKey(ModelComponent, on_delete=models.CASCADE, related_name="names")
    publication = models.ForeignKey("experiments.Publication", on_delete=models.CASCADE, related_name="component_names")
    symbol = models.CharField(max_length=60, blank=True, help_text="Empty: the paper has no such component.")
    position = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Empty where symbol is.")
    source = models.CharField(max_length=200, help_text="Equation of the paper.")

    class Meta:
        ordering = ["publication__slug", "component__number"]
        constraints = [
            models.UniqueConstraint(
                fields=["component", "publication"], name="experiments_componentname_one_per_publication"
            ),
            models.CheckConstraint(
                condition=Q(symbol="", position__isnull=True) | (~Q(symbol="") & Q(position__isnull=False)),
                name="experiments_componentname_symbol_with_position",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.symbol or 'absent'} in {self.publication}"
