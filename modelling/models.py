"""What is computed and kept: summaries of measurements, and answers already worked out."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from experiments.models.measurement import Observation


class Arm(Observation):
    """All measurements of one configuration in one fair-play group, in two numbers.

    Rankings read arms, never measurements, so an answer costs the same for ten repetitions and
    for a million. Rebuilt for a case study whenever it is published (modelling.services).
    """

    class Origin(models.TextChoices):
        MEASURED = "measured", "measured"
        DERIVED = "derived", "derived from the text"

    origin = models.CharField(max_length=10, choices=Origin)
    measurements = models.PositiveIntegerField(help_text="Rows behind it; a derived value counts as one.")
    runs = models.PositiveIntegerField(null=True, blank=True, help_text="Benchmark runs behind it; empty: not stated.")
    mean_log = models.FloatField(help_text="Mean of ln(value), value in `unit`.")
    variance = models.FloatField(
        null=True, blank=True, help_text="Of mean_log; empty: the source gives no spread, the default applies."
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(variance__isnull=True) | Q(variance__gt=0), name="modelling_arm_variance_is_positive"
            ),
            models.CheckConstraint(condition=Q(measurements__gt=0), name="modelling_arm_rests_on_measurements"),
            models.UniqueConstraint(
                F("configuration"),
                F("variant"),
                F("vm_count"),
                F("operation"),
                Coalesce("block_size_bytes", 0),
                F("metric"),
                F("unit"),
                F("origin"),
                name="modelling_arm_one_per_group",
            ),
        ]

    def __str__(self) -> str:
        return f"arm {self.pk}"


class RankingSnapshot(models.Model):
    """One answered question at one knowledge revision, kept so that a page costs one read."""

    question = models.CharField(max_length=300, help_text="The question in its one canonical spelling.")
    method = models.PositiveSmallIntegerField(help_text="Version of the way to the answer (modelling.ranking.METHOD).")
    revision = models.PositiveIntegerField(help_text="Knowledge revision it was computed from.")
    superseded_by = models.PositiveIntegerField(
        null=True, blank=True, help_text="First revision whose evidence may change it; empty: it stands."
    )
    workload = models.CharField(max_length=40, help_text="Of the question: which answers a publication may touch.")
    result = models.JSONField(help_text="The answer as the API gives it.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the result: the entity tag.")
    computed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["question", "-revision"]
        indexes = [
            models.Index(
                fields=["workload"], condition=Q(superseded_by__isnull=True), name="modelling_snapshot_standing"
            )
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["question", "method", "revision"], name="modelling_snapshot_one_per_revision"
            ),
            models.CheckConstraint(
                condition=Q(superseded_by__isnull=True) | Q(superseded_by__gt=F("revision")),
                name="modelling_snapshot_superseded_later",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.question} at revision {self.revision}"


class QualityReport(models.Model):
    """How well the models foretold each case study from all others, at one knowledge revision."""

    method = models.PositiveSmallIntegerField(help_text="Version of the way to it (modelling.quality.METHOD).")
    revision = models.PositiveIntegerField(help_text="Knowledge revision it was computed from.")
    result = models.JSONField(help_text="The report as the API gives it.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the result: the entity tag.")
    computed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-revision"]
        constraints = [
            models.UniqueConstraint(fields=["method", "revision"], name="modelling_qualityreport_one_per_revision")
        ]

    def __str__(self) -> str:
        return f"model quality at revision {self.revision}"
