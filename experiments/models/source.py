"""Sources that are looked at again: what was found, and what somebody should look at."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from .case_study import Publication


class SourceCheck(models.Model):
    """The last look at a publication's address, with the digest of the text that later ones are held against."""

    class Outcome(models.TextChoices):
        SAME = "same", "as it was read"
        CHANGED = "changed", "its text has changed"
        VANISHED = "vanished", "it is not there any more"
        REFUSED = "refused", "its robots.txt asks not to look"
        UNREACHABLE = "unreachable", "it could not be reached"

    publication = models.OneToOneField(Publication, on_delete=models.CASCADE, related_name="last_check")
    address = models.URLField(max_length=500, help_text="That was looked at; the digest is of its text.")
    checked_at = models.DateTimeField()
    outcome = models.CharField(max_length=12, choices=Outcome)
    detail = models.CharField(max_length=300, blank=True, help_text="In words, where there is more to say.")
    failures = models.PositiveSmallIntegerField(default=0, help_text="Looks in a row at which it was not to be had.")
    digest = models.CharField(
        max_length=64,
        blank=True,
        help_text="SHA-256 of the text that was read, as sources.text has it; empty: never read.",
    )
    digest_of = models.DateTimeField(null=True, blank=True, help_text="When that text was read; empty: never.")
    found_digest = models.CharField(
        max_length=64, blank=True, help_text="Of the text at the last look, where it differs; empty: it does not."
    )

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.publication_id} {self.outcome}"


class SourceTask(models.Model):
    """Something about a source that a reviewer should look at. It changes no evidence by itself."""

    publication = models.ForeignKey(Publication, on_delete=models.CASCADE, related_name="tasks")
    finding = models.CharField(max_length=12, choices=SourceCheck.Outcome)
    detail = models.CharField(max_length=300, blank=True)
    found_at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True, blank=True, help_text="Empty: it is open.")
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    note = models.TextField(blank=True, help_text="What the reviewer found, and did.")

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["publication"], condition=Q(resolved_at__isnull=True), name="experiments_sourcetask_one_open"
            ),
            models.CheckConstraint(
                condition=Q(resolved_at__isnull=True, note="") | Q(resolved_at__isnull=False) & ~Q(note=""),
                name="experiments_sourcetask_resolved_with_a_note",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.publication_id} {self.finding}"
