"""Readers' own laboratories, and their measurements run by run."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from experiments.models.fields import check_slug


class Laboratory(models.Model):
    """A group of people who measure on machines of their own; only its members see the numbers."""

    slug = models.SlugField(max_length=40, unique=True, validators=[check_slug])
    name = models.CharField(max_length=200)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="laboratories")
    key_digest = models.CharField(
        max_length=64,
        null=True,
        blank=True,
        unique=True,
        help_text="SHA-256 of the key of a visitor, who has no account.",
    )
    expires_at = models.DateTimeField(
        null=True, blank=True, db_index=True, help_text="When what a visitor measured is deleted; empty: never."
    )

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "laboratories"

    def __str__(self) -> str:
        return self.name


class LaboratoryAuditEntry(models.Model):
    """One action on a laboratory, with its actor and time; written in the same transaction, never changed."""

    laboratory = models.ForeignKey(Laboratory, on_delete=models.CASCADE, related_name="audit_entries")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: somebody at the server's own command line.",
    )
    action = models.CharField(max_length=40, help_text='In words: "member added".')
    detail = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "laboratory audit entries"

    def __str__(self) -> str:
        return f"{self.laboratory_id} {self.action}"


class Sitting(models.Model):
    """One decision on one machine: choices that are measured run by run until one is clear.

    Planned runs are stored before they are reported, so that asking again returns the same ones.
    """

    class State(models.TextChoices):
        OPEN = "open", "open"
        DECIDED = "decided", "decided"
        SPENT = "spent", "its runs are used up"

    laboratory = models.ForeignKey(Laboratory, on_delete=models.CASCADE, related_name="sittings")
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    machine = models.CharField(max_length=80, help_text="As its owner calls it.")
    workload = models.SlugField(max_length=60)
    like = models.JSONField(
        null=True,
        blank=True,
        help_text="An observed machine whose load, as it was then, stands in place of a workload, which is empty then.",
    )
    engine = models.CharField(max_length=20, help_text="What makes the load: numbers of two are never mixed.")
    choices = models.JSONField(help_text="What is compared: name, place and settings of each, in a fixed order.")
    known = models.JSONField(help_text="What was published of the choices when it began, as modelling.own_lab.prior.")
    facts = models.JSONField(default=dict, help_text="Of the machine, as the program found them.")
    seconds = models.PositiveIntegerField(help_text="Of one run.")
    most_runs = models.PositiveIntegerField(help_text="How many runs it may take.")
    set_mib = models.PositiveIntegerField(
        default=0, db_default=0, help_text="MiB of the files of a run; 0: as the load has them."
    )
    is_night = models.BooleanField(
        default=False, db_default=False, help_text="Whether its runs were planned beforehand: it decides nothing."
    )
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    before = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The decision whose leading choices it measures again; empty: it is a first one.",
    )
    case_study = models.ForeignKey(
        "experiments.CaseStudy",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="What it was shared as; empty: it was not.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    looked_at = models.DateTimeField(
        null=True, blank=True, help_text="When its series were looked at for changes; empty: not yet."
    )

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(
                fields=["ended_at"],
                condition=Q(ended_at__isnull=False, looked_at__isnull=True),
                name="modelling_sitting_to_look_at",
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(workload="", like__isnull=False) | ~Q(workload="") & Q(like__isnull=True),
                name="modelling_sitting_has_one_load",
            )
        ]

    def __str__(self) -> str:
        return f"{self.load_name} on {self.machine}"

    @property
    def load_name(self) -> str:
        return f"the load of {self.like['machine']}" if self.like else self.workload


class SittingRun(models.Model):
    """One run of a sitting: planned, then reported once."""

    sitting = models.ForeignKey(Sitting, on_delete=models.CASCADE, related_name="runs")
    block = models.PositiveIntegerField(
        help_text="Runs of one block follow one another at once; 0: a warm-up, which does not count."
    )
    number = models.PositiveIntegerField(help_text="Its place among all runs of the sitting, from 1.")
    choice = models.PositiveIntegerField(help_text="The place of what it measures among the choices, from 0.")
    value = models.FloatField(null=True, blank=True, help_text="Operations a second; empty: not reported yet.")
    disturbed = models.CharField(max_length=200, blank=True, help_text="What disturbed it: it counts for nothing.")
    note = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="What is to be said of it, on its page."
    )
    reported_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["sitting", "number"], name="modelling_sittingrun_one_number"),
            models.CheckConstraint(
                condition=Q(value__isnull=True) | Q(value__gt=0), name="modelling_sittingrun_value_is_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.number} of sitting {self.sitting_id}"
