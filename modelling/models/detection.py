"""Models that detect workloads from statistics of disks, and the hours detected."""

from django.db import models
from django.db.models import F, Q


class DetectionModel(models.Model):
    """A model that detects workloads from block statistics, stored as its training data to be fitted again."""

    method = models.PositiveSmallIntegerField(help_text="Version of the way to it (fleet.detection.classifier).")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the signatures it was made from.")
    signatures = models.PositiveIntegerField(help_text="How many these are.")
    why_not = models.TextField(blank=True, help_text="Why nothing is foretold; empty: it is.")
    training = models.JSONField(
        help_text="Features, workload and run of each signature it is fitted to, and its parameters."
    )
    report = models.JSONField(help_text="How good it is, by runs left out (detection.content.Report).")
    sampled_report = models.JSONField(default=dict, db_default={}, help_text="Not used any more.")
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["method", "digest"], name="modelling_detectionmodel_one_per_signatures")
        ]

    def __str__(self) -> str:
        return f"detection model {self.pk}"


class DetectedHour(models.Model):
    """The detected minutes of one machine in one hour, summed by class."""

    machine = models.ForeignKey(
        "experiments.ObservedMachine", on_delete=models.CASCADE, related_name="detected_hours", db_index=False
    )
    starts_at = models.DateTimeField(help_text="Of the hour, UTC.")
    model = models.ForeignKey(DetectionModel, on_delete=models.CASCADE, related_name="+")
    minutes = models.PositiveSmallIntegerField(help_text="That were watched.")
    idle = models.PositiveSmallIntegerField(help_text="Of them, those on which its disks were idle.")
    unlike = models.PositiveSmallIntegerField(help_text="Of them, those unlike anything known.")
    shares = models.JSONField(db_default={}, help_text="Workload to the minutes that are like it alone.")
    others = models.JSONField(
        default=dict,
        db_default={},
        help_text="Loads that are no workload, and several not told apart, to the minutes like them.",
    )
    certainty = models.FloatField(help_text="Sum over these of the probability of the likeliest workload.")

    class Meta:
        ordering = ["machine", "starts_at"]
        constraints = [
            models.UniqueConstraint(fields=["machine", "starts_at"], name="modelling_detectedhour_is_unique"),
            models.CheckConstraint(
                condition=Q(minutes__gt=0, minutes__gte=F("idle") + F("unlike")),
                name="modelling_detectedhour_minutes_were_watched",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.machine_id} at {self.starts_at:%Y-%m-%d %H:%M}"
