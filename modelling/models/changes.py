"""Changes of speed found in the series of laboratories, and the numbers of tests that found them."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from experiments.models import CaseStudy

from .own_lab import Laboratory, Sitting


class MonthOfTests(models.Model):
    """The number of tests in one calendar month, over all series of this KDB; each change refers to one of them."""

    month = models.DateField(unique=True, help_text="Its first day, UTC.")
    tests = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-month"]
        verbose_name_plural = "months of tests"

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"


class SeriesChangeQuerySet(models.QuerySet["SeriesChange"]):
    def public(self) -> "SeriesChangeQuerySet":
        """Return the changes that everybody may see: confirmed side by side, with the first sitting published."""
        shared = {"sitting__case_study__status": CaseStudy.Status.PUBLISHED}
        return self.filter(state=SeriesChange.State.CONFIRMED, confirmed_by__isnull=False, **shared)


class SeriesChange(models.Model):
    """One change in one series: suspected when found, confirmed by a rerun side by side."""

    class State(models.TextChoices):
        NEW = "new", "new"
        ACKNOWLEDGED = "acknowledged", "acknowledged"
        EXCUSED = "excused", "excused"
        CONFIRMED = "confirmed", "confirmed"

    laboratory = models.ForeignKey(Laboratory, on_delete=models.CASCADE, related_name="changes")
    series = models.CharField(max_length=32, help_text="Digest of what makes it one series.")
    about = models.JSONField(help_text="The series in words: of modelling.own_lab.changes.content.Series.")
    sitting = models.ForeignKey(
        Sitting, on_delete=models.CASCADE, related_name="+", help_text="The first one after the change."
    )
    earlier = models.ManyToManyField(Sitting, related_name="+", help_text="Those of its series before the change.")
    shown_by = models.ForeignKey(
        Sitting, on_delete=models.CASCADE, related_name="+", help_text="The one with which the change was sure."
    )
    confirmed_by = models.ForeignKey(
        Sitting,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The later one that confirmed it, in blocks of both sides; empty: it is a suspicion.",
    )
    month = models.ForeignKey(MonthOfTests, on_delete=models.PROTECT, related_name="changes")
    test = models.PositiveIntegerField(help_text="The number of the test among those of its month, from 1.")
    p = models.FloatField(help_text="Of there being no change.")
    level = models.FloatField(help_text="That p had to be below.")
    ratio = models.FloatField(help_text="Speed as a multiple of before.")
    low = models.FloatField(help_text="Lower end of its 95 % interval.")
    high = models.FloatField(help_text="Upper end of its 95 % interval.")
    facts = models.JSONField(help_text="What else was new at the first sitting after it: name, before, after.")
    found_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=12, choices=State, default=State.NEW)
    reason = models.CharField(max_length=500, blank=True, help_text="Why it is excused.")
    excused_until = models.DateField(null=True, blank=True, help_text="It is new again after this day, UTC.")
    handled_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    handled_at = models.DateTimeField(null=True, blank=True)

    objects = SeriesChangeQuerySet.as_manager()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["laboratory", "series", "sitting"], name="modelling_serieschange_once_a_place"
            ),
            models.UniqueConstraint(fields=["month", "test"], name="modelling_serieschange_one_a_test"),
            models.CheckConstraint(condition=Q(ratio__gt=0), name="modelling_serieschange_ratio_is_positive"),
            models.CheckConstraint(
                condition=Q(state="excused", excused_until__isnull=False) & ~Q(reason="")
                | ~Q(state="excused") & Q(excused_until__isnull=True, reason=""),
                name="modelling_serieschange_excuse_has_reason_and_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.ratio:.2f} in {self.series}"

    @property
    def standing(self) -> str:
        """Return the current state: the change is new again after its excuse expired."""
        ran_out = self.excused_until is not None and self.excused_until < now().date()
        return self.State.NEW.value if ran_out else self.state
