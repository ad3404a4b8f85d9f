"""Changes of speed that were found in the series of a laboratory, and the series that others may see."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.timezone import now

from experiments.models import CaseStudy

from .own_lab import Laboratory, Sitting


class SeriesChangeQuerySet(models.QuerySet["SeriesChange"]):
    def public(self) -> "SeriesChangeQuerySet":
        """Return what everybody may see: measured side by side, confirmed by a member, and its first sitting was shared
        and published."""
        shared = {"sitting__case_study__status": CaseStudy.Status.PUBLISHED}
        return self.filter(state=SeriesChange.State.CONFIRMED, confirmed_by__isnull=False, **shared)


class SeriesChange(models.Model):
    """One change in one series: a suspicion when it was found, a change once a rerun side by side confirmed it."""

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
    p = models.FloatField(help_text="Of there being no change.")
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
        """Return the state as it is today: an excuse that ran out leaves the change new."""
        ran_out = self.excused_until is not None and self.excused_until < now().date()
        return self.State.NEW.value if ran_out else self.state


class SharedSeries(models.Model):
    """One series that whoever knows its address may see, without the name of its machine."""

    laboratory = models.ForeignKey(Laboratory, on_delete=models.CASCADE, related_name="shared_series")
    series = models.CharField(max_length=32, help_text="Digest of what makes it one series.")
    about = models.JSONField(help_text="The series in words: of modelling.own_lab.changes.content.Series.")
    address = models.SlugField(max_length=40, unique=True, help_text="Of its page: it cannot be guessed.")

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "shared series"
        constraints = [
            models.UniqueConstraint(fields=["laboratory", "series"], name="modelling_sharedseries_has_one_address"),
        ]

    def __str__(self) -> str:
        return f"{self.about['name']} at {self.address}"
