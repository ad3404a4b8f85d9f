"""Statements about results: tier lists without numbers, printed ratios, and claims."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from experiments.rules.claim_conditions import CheckError, parse_checks
from kdb.pairs import pair_key

from .fields import TypedJSONField, whole_numbers


class OrdinalFinding(models.Model):
    """The tier in which a publication places one pair for one workload, without a number.

    The list in the text, its outstanding marks and the summary table have fields of their own: they disagree in places.
    """

    class Tier(models.TextChoices):
        BEST = "best", "best"
        UNLISTED = "unlisted", "not listed"
        WORST = "worst", "worst"

    publication = models.ForeignKey("experiments.Publication", on_delete=models.PROTECT, related_name="findings")
    case_studies = models.ManyToManyField(
        "experiments.CaseStudy", related_name="findings", help_text="The case studies it is said to hold for."
    )
    variant = models.ForeignKey("experiments.WorkloadVariant", on_delete=models.PROTECT, related_name="findings")
    hypervisor = models.ForeignKey("experiments.Hypervisor", on_delete=models.PROTECT, related_name="findings")
    guest_fs = models.ForeignKey("experiments.FileSystem", on_delete=models.PROTECT, related_name="findings_as_guest")
    host_fs = models.ForeignKey("experiments.FileSystem", on_delete=models.PROTECT, related_name="findings_as_host")
    text_list = models.CharField(max_length=10, choices=Tier)
    is_outstanding = models.BooleanField(help_text="The text stresses it within its list.")
    table_list = models.CharField(max_length=10, choices=Tier)
    text_source = models.CharField(max_length=120)
    table_source = models.CharField(max_length=120)

    class Meta:
        ordering = ["publication__slug", "variant__workload__slug", "guest_fs__slug", "host_fs__slug"]
        constraints = [
            models.UniqueConstraint(
                fields=["publication", "variant", "hypervisor", "guest_fs", "host_fs"],
                name="experiments_ordinalfinding_one_per_pair",
            )
        ]

    def __str__(self) -> str:
        return f"{pair_key(self.guest_fs.slug, self.host_fs.slug)}: {self.text_list}"

    @property
    def is_contradictory(self) -> bool:
        """Tell whether the text and the table of the same publication put the pair into different lists."""
        return self.text_list != self.table_list


class PrintedRatio(models.Model):
    """A ratio of two throughputs that a text prints, where the throughputs themselves are in charts only.

    Claims are checked against it; rankings use the values derived from it (DerivedValue).
    """

    class Trend(models.TextChoices):
        GROWS = "grows", "grows with the VM count"
        SHRINKS = "shrinks", "shrinks with the VM count"
        NOT_STATED = "", "not stated"

    case_study = models.ForeignKey("experiments.CaseStudy", on_delete=models.CASCADE, related_name="printed_ratios")
    variant = models.ForeignKey("experiments.WorkloadVariant", on_delete=models.PROTECT, related_name="printed_ratios")
    numerator = models.ForeignKey(
        "experiments.Hypervisor",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: native.",
    )
    denominator = models.ForeignKey("experiments.Hypervisor", on_delete=models.PROTECT, related_name="+")
    guest_fs = models.ForeignKey(
        "experiments.FileSystem",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: whichever the case study ran.",
    )
    vm_counts = TypedJSONField(schema=whole_numbers(32_767), help_text="VM counts it holds for, ascending.")
    is_overall = models.BooleanField(help_text="One ratio of sums over these VM counts, not one for each.")
    least = models.FloatField(help_text="Lower end as printed, a ratio: 1.35 for 35 % more.")
    least_rounding = models.FloatField(help_text="Half a unit of its last digit.")
    greatest = models.FloatField(help_text="Upper end; the same as the lower where one figure is printed.")
    greatest_rounding = models.FloatField(help_text="Half a unit of its last digit.")
    trend = models.CharField(max_length=10, choices=Trend, blank=True)
    printed = models.CharField(max_length=40, help_text="As the text has it.")
    source = models.CharField(max_length=120)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(least__gt=F("least_rounding"), least_rounding__gt=0),
                name="experiments_printedratio_least_is_positive",
            ),
            models.CheckConstraint(
                condition=Q(greatest__gte=F("least"), greatest_rounding__gt=0),
                name="experiments_printedratio_greatest_is_above_least",
            ),
            models.UniqueConstraint(
                F("case_study"),
                F("variant"),
                Coalesce("numerator", 0),
                F("denominator"),
                Coalesce("guest_fs", 0),
                name="experiments_printedratio_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.printed} ({self.source})"


class Claim(models.Model):
    """A statement about results that somebody published, in this project's words and with the checks of it."""

    class Kind(models.TextChoices):
        ORDERING = "ordering", "ordering"
        HYPOTHESIS = "hypothesis", "hypothesis"
        WINNER_LIST = "winner_list", "list of winners"
        RELATIVE_TO_NATIVE = "relative_to_native", "relative to native"
        RATIO = "ratio", "ratio"
        BEST_PAIRS = "best_pairs", "best pairs"
        WORST_PAIRS = "worst_pairs", "worst pairs"
        RECOMMEND = "recommend", "recommendation"
        AVOID = "avoid", "advice against"
        SCALING = "scaling", "scaling"
        CACHE = "cache", "cache effect"

    code = models.CharField(max_length=20, unique=True)
    publication = models.ForeignKey("experiments.Publication", on_delete=models.PROTECT, related_name="claims")
    case_studies = models.ManyToManyField("experiments.CaseStudy", related_name="claims")
    location = models.CharField(max_length=120, help_text="Where it stands in the publication.")
    kind = models.CharField(max_length=20, choices=Kind)
    workloads = models.ManyToManyField("experiments.Workload", related_name="claims")
    scope = models.CharField(max_length=200, help_text="Which part of the results it speaks of.")
    statement = models.TextField()
    predicate = models.TextField(help_text="What would have to hold, in a formula.")
    checks = models.JSONField(
        default=dict,
        blank=True,
        help_text='The predicate as conditions, "own" and "others" (docs/models/claims.md); empty: none written.',
    )
    checkable_from = models.CharField(max_length=80, help_text="Which evidence could decide it.")

    class Meta:
        ordering = ["code"]

    def __str__(self) -> str:
        return self.code

    def clean(self) -> None:
        """Raise ValidationError where a check is empty or names something that cannot be queried."""
        try:
            parse_checks(self.checks)
        except CheckError as error:
            raise ValidationError(f"claim {self.code}, checks: {error}") from error
