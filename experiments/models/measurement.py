"""Measured values, and values that follow from a paper's text by arithmetic."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from kdb.database.digest import Digest
from kdb.units import METRICS, UNITS


class Observation(models.Model):
    """The coordinates that measured and derived values have in common."""

    # Every table's unique index begins with the configuration; a second index would only cost writes.
    configuration = models.ForeignKey("experiments.Configuration", on_delete=models.CASCADE, db_index=False)
    variant = models.ForeignKey("experiments.WorkloadVariant", on_delete=models.PROTECT)
    operation = models.CharField(max_length=40, default="mixed", help_text='"read", "write"; "mixed": the whole load.')
    block_size_bytes = models.PositiveBigIntegerField(null=True, blank=True, help_text="Bytes; empty: not applicable.")
    vm_count = models.PositiveSmallIntegerField(help_text="Virtual machines running together; 0 is native.")
    metric = models.CharField(max_length=20, choices=[(m, m) for m in METRICS], default="throughput")
    unit = models.CharField(max_length=10, choices=[(u, u) for u in UNITS])
    reference = models.CharField(
        max_length=80, blank=True, help_text="What a ratio is a ratio to; empty for every other metric."
    )
    source = models.CharField(max_length=120, blank=True, help_text='"Table III"; empty for a result file.')
    note = models.TextField(blank=True)

    class Meta:
        abstract = True


class Measurement(Observation):
    """One number as a benchmark or a paper's table reports it."""

    class Quality(models.TextChoices):
        EXACT = "exact", "as reported"
        OCR_AMBIGUOUS = "ocr-ambiguous", "read from a scan that allows two readings"
        DIGITISED = "digitised", "read off a chart"

    variant = models.ForeignKey(  # an index for lists begins with it
        "experiments.WorkloadVariant", on_delete=models.PROTECT, db_index=False
    )
    value = models.FloatField(help_text="In `unit`; never zero: a run without a result is no measurement.")
    machine = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        help_text="Of one of the machines that ran together, numbered from 1; empty: not of one alone.",
    )
    alternative_value = models.FloatField(null=True, blank=True, help_text="The other reading, in `unit`.")
    quality = models.CharField(max_length=15, choices=Quality, default=Quality.EXACT)
    repetition = models.PositiveIntegerField(default=1, help_text="Number of the run; 1 for a published mean.")
    repetitions = models.PositiveIntegerField(null=True, blank=True, help_text="Runs averaged; empty: not stated.")
    standard_deviation = models.FloatField(null=True, blank=True, help_text="Of the runs averaged, in `unit`.")
    minimum = models.FloatField(null=True, blank=True, help_text="Least of the runs, in `unit`; empty: not stated.")
    maximum = models.FloatField(null=True, blank=True, help_text="Greatest of the runs, in `unit`; empty: not stated.")
    excluded_because = models.CharField(
        max_length=300, blank=True, help_text="Why it is shown but counts nowhere; empty: it counts."
    )
    excluded_by = models.CharField(max_length=80, blank=True, help_text="Who excluded it: the source, or a person.")
    # No constraint and no index, as for raw_file below: an ending stays as long as its case study.
    ending = models.ForeignKey(
        "experiments.Ending",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
        help_text="Since which it counts no longer, though it was published; excluded_because says why.",
    )
    # No constraint and no index: deleting a file must not look through every measurement. Files of a
    # filed import stay as long as its rows do (experiments.imports.pipeline).
    raw_file = models.ForeignKey(
        "experiments.RawFile",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
        help_text="The file it was read from; empty: transcribed from `source`.",
    )
    line = models.PositiveIntegerField(null=True, blank=True, help_text="In the file, from 1; empty: the whole file.")

    class Meta:
        ordering = ["pk"]
        # Lists are sorted by configuration. With these indexes, a list by any filter reads only the rows that it shows.
        # The purpose and size of each: docs/scale.md, "Indexes of measurements".
        indexes = [
            models.Index(fields=[name, "configuration"], name=f"measured_by_{name}")
            for name in ("variant", "metric", "operation", "vm_count")
        ] + [
            models.Index(
                fields=["block_size_bytes", "configuration"],
                condition=Q(block_size_bytes__isnull=False),
                name="measured_by_block_size",
            ),
            models.Index(fields=["configuration"], condition=~Q(quality="exact"), name="measured_not_exactly"),
            models.Index(fields=["configuration"], condition=~Q(excluded_because=""), name="measured_but_excluded"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(value__gt=0), name="experiments_measurement_value_is_positive"),
            models.CheckConstraint(
                condition=Q(quality="ocr-ambiguous", alternative_value__isnull=False, alternative_value__gt=0)
                | ~Q(quality="ocr-ambiguous") & Q(alternative_value__isnull=True),
                name="experiments_measurement_ambiguous_has_both_readings",
            ),
            models.CheckConstraint(
                condition=Q(standard_deviation__isnull=True) | Q(standard_deviation__gte=0),
                name="experiments_measurement_deviation_is_not_negative",
            ),
            models.CheckConstraint(
                condition=(Q(minimum__isnull=True) | Q(minimum__gt=0, minimum__lte=F("value")))
                & (Q(maximum__isnull=True) | Q(maximum__gte=F("value"))),
                name="experiments_measurement_value_is_within_its_range",
            ),
            models.CheckConstraint(
                condition=Q(excluded_because="", excluded_by="") | ~Q(excluded_because="") & ~Q(excluded_by=""),
                name="experiments_measurement_exclusion_has_reason_and_author",
            ),
            models.CheckConstraint(
                condition=Q(metric="relative") & ~Q(reference="") | ~Q(metric="relative") & Q(reference=""),
                name="experiments_measurement_ratio_has_a_reference",
            ),
            models.CheckConstraint(
                condition=Q(machine__isnull=True) | Q(machine__gte=1, machine__lte=F("vm_count")),
                name="experiments_measurement_machine_is_one_of_them",
            ),
            models.UniqueConstraint(
                F("configuration"),
                Digest(
                    *("variant", "vm_count", Coalesce("block_size_bytes", 0), "metric", "repetition"),
                    *(Coalesce("machine", 0), "operation"),
                ),
                name="experiments_measurement_cell_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}"


class DerivedValue(Observation):
    """One value that follows from a paper's text by the arithmetic in `formula`."""

    class Quantity(models.TextChoices):
        POINT = "point", "value with interval"
        INTERVAL = "interval", "interval only"
        BOUND = "bound", "bound only"
        MEAN = "mean", "mean over VM counts"

    quantity = models.CharField(max_length=10, choices=Quantity)
    route = models.CharField(max_length=40, help_text="Which statements of the text it follows from.")
    formula = models.TextField()
    value = models.FloatField(null=True, blank=True, help_text="In `unit`; empty: the text gives no point.")
    low = models.FloatField(null=True, blank=True, help_text="In `unit`; empty: no lower limit.")
    high = models.FloatField(null=True, blank=True, help_text="In `unit`; empty: no upper limit.")
    is_evidence = models.BooleanField(
        help_text="The one value of its cell that rankings use; the others show the way to it."
    )
    # A mean over several VM counts belongs to none of them. Django lets a field of an abstract base be replaced.
    vm_count = models.PositiveSmallIntegerField(  # type: ignore[assignment]
        null=True, blank=True, help_text="Empty: over several VM counts."
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(value__isnull=True) | Q(value__gt=0), name="experiments_derivedvalue_value_is_positive"
            ),
            models.CheckConstraint(
                condition=Q(low__isnull=False) | Q(high__isnull=False),
                name="experiments_derivedvalue_has_a_limit",
            ),
            models.CheckConstraint(
                condition=Q(low__isnull=True) | Q(high__isnull=True) | Q(low__lte=F("high")),
                name="experiments_derivedvalue_low_is_below_high",
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=True)
                | (Q(low__isnull=True) | Q(low__lte=F("value"))) & (Q(high__isnull=True) | Q(high__gte=F("value"))),
                name="experiments_derivedvalue_value_is_within_its_limits",
            ),
            models.CheckConstraint(
                condition=Q(is_evidence=False)
                | Q(value__isnull=False, low__isnull=False, high__isnull=False, vm_count__isnull=False),
                name="experiments_derivedvalue_evidence_has_an_interval",
            ),
            models.UniqueConstraint(
                F("configuration"),
                F("variant"),
                Coalesce("vm_count", 0),
                F("operation"),
                Coalesce("block_size_bytes", 0),
                F("metric"),
                F("route"),
                name="experiments_derivedvalue_route_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.value:g} {self.unit}" if self.value is not None else f"{self.low} to {self.high} {self.unit}"
