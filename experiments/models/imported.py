"""Uploaded files, the imports that read them, and the audit trail of case studies."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q


class ImportBatch(models.Model):
    """One upload into one draft. All of its files become measurements together, or none does.

    reading -> ready or faulty -> (corrected: reading) -> (confirmed: reading) -> filed; discarded from any.
    """

    class State(models.TextChoices):
        READING = "reading", "being read"
        FAULTY = "faulty", "has errors to correct"
        READY = "ready", "waits to be confirmed"
        FILED = "filed", "in the case study"
        DISCARDED = "discarded", "discarded"

    class Door(models.TextChoices):
        BROWSER = "browser", "browser"
        API = "api", "API"
        COMMAND = "command", "command"
        CAMPAIGN = "campaign", "campaign"
        BUNDLE = "bundle", "bundle"

    case_study = models.ForeignKey("experiments.CaseStudy", on_delete=models.CASCADE, related_name="imports")
    uploaded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="imports",
        help_text="Empty: somebody at the server's own command line.",
    )
    door = models.CharField(max_length=10, choices=Door)
    state = models.CharField(max_length=10, choices=State, default=State.READING)
    is_confirmed = models.BooleanField(default=False, help_text="To be filed as soon as it was read without errors.")
    answers = models.JSONField(
        default=dict,
        blank=True,
        help_text='What the user said beyond the files: "names" mapped to the catalogue, "files" with their context.',
    )
    report = models.JSONField(
        default=dict, blank=True, help_text="What the last reading found (imports.report.Report)."
    )
    job = models.ForeignKey(
        "kdb.Job", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", help_text="The latest."
    )
    idempotency_key = models.CharField(max_length=80, blank=True, help_text="Of the request; empty: none given.")
    request_digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of what that request asked for.")
    created_at = models.DateTimeField(auto_now_add=True)
    filed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = "import"
        constraints = [
            models.UniqueConstraint(
                fields=["uploaded_by", "idempotency_key"],
                condition=~Q(idempotency_key=""),
                name="experiments_importbatch_idempotency_key_is_unique",
            ),
            models.CheckConstraint(
                condition=Q(state="filed", filed_at__isnull=False) | ~Q(state="filed"),
                name="experiments_importbatch_filed_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"import {self.pk}"

    @property
    def is_being_read(self) -> bool:
        """Tell whether a job is reading it; not where that ended without a result, or its worker is presumed dead."""
        return self.state == self.State.READING and self.job is not None and self.job.is_alive

    @property
    def why_not_read(self) -> str:
        """Return why the reading broke off; empty while it is under way and after it ended."""
        if self.state != self.State.READING or self.is_being_read:
            return ""
        return (self.job and self.job.error) or "Its reading was broken off."

    @property
    def how_far(self) -> str:
        """Return the progress of the reading in words: "3 of 12 files are read." """
        if self.job is None or self.job.state == self.job.State.QUEUED:
            return "It waits for a worker."
        if self.job.total:
            return f"{self.job.progress:,} of {self.job.total:,} files are read."
        return f"The files are read; {self.job.progress:,} {'row' if self.job.progress == 1 else 'rows'} so far."

    @property
    def full_report(self) -> dict[str, Any]:
        """Return the report with empty values for the keys that it lacks, as it does before the reading."""
        lists = ("files", "patterns", "known", "faults", "unknown", "lint", "sample", "new_configurations", "new_names")
        return {"rows": 0, "fault_count": 0, "suggested": {}, **{name: [] for name in lists}, **self.report}


class RawFile(models.Model):
    """One uploaded file, byte for byte. A case study stores the same bytes once."""

    case_study = models.ForeignKey("experiments.CaseStudy", on_delete=models.CASCADE, related_name="raw_files")
    batch = models.ForeignKey(ImportBatch, on_delete=models.CASCADE, related_name="files")
    name = models.CharField(max_length=200, help_text='As uploaded; "results.zip/kvm/run1.txt" for a member of a ZIP.')
    sha256 = models.CharField(max_length=64)
    size_bytes = models.PositiveBigIntegerField()
    format = models.CharField(max_length=30, blank=True, help_text="Of the reader; empty: not read, or not known.")
    rows = models.JSONField(
        default=list,
        blank=True,
        help_text="What it says, from whoever made it: objects of field and value, one a number. Empty: it is read.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["case_study", "sha256"], name="experiments_rawfile_same_bytes_once"),
        ]

    def __str__(self) -> str:
        return self.name


class RawChunk(models.Model):
    """A part of a file's bytes, so that a process that only forwards a file need not hold all of it."""

    file = models.ForeignKey(RawFile, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["file", "number"]
        constraints = [
            models.UniqueConstraint(fields=["file", "number"], name="experiments_rawchunk_number_is_unique"),
        ]

    def __str__(self) -> str:
        return f"part {self.number} of {self.file_id}"


class PastedTable(models.Model):
    """One published table that is to become a draft: the pasted text, and what its owner has stated so far."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="pasted_tables")
    name = models.CharField(max_length=200, help_text="Of the file; of pasted text what it is called in the draft.")
    content = models.BinaryField(help_text="The bytes, as they were pasted or uploaded.")
    number = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Which of its tables is meant, from 0; empty: not said yet."
    )
    conditions = models.JSONField(
        default=dict,
        blank=True,
        help_text="What was said so far (experiments.imports.tables.conditions), section by section.",
    )
    case_study = models.ForeignKey(
        "experiments.CaseStudy",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The draft that it became; empty: none yet.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        """Return the title of the case study, if one is stated."""
        return str(self.conditions.get("case_study", {}).get("title") or self.name)


class AuditEntry(models.Model):
    """One action on a case study, with who did it and when. Written in the transaction of the action, never changed."""

    class Action(models.TextChoices):
        CREATED = "created", "created"
        EDITED = "edited", "edited"
        IMPORTED = "imported", "results imported"
        WITHDRAWN = "withdrawn", "import taken out"
        SUBMITTED = "submitted", "submitted for review"
        RETURNED = "returned", "returned to its author"
        PUBLISHED = "published", "published"
        RETRACTED = "retracted", "retracted"
        SUPERSEDED = "superseded", "superseded"
        DOUBTED = "doubted", "doubted"
        DELETED = "deleted", "deleted"

    case_study = models.ForeignKey(
        "experiments.CaseStudy",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="audit_entries",
        help_text="Empty: deleted.",
    )
    deleted_case_study = models.CharField(
        max_length=60, blank=True, db_default="", help_text="Short name of a draft that was deleted; empty: it was not."
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: somebody at the server's own command line.",
    )
    action = models.CharField(max_length=10, choices=Action)
    detail = models.TextField(blank=True, help_text="The reason, or what was imported.")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.case_study_id or self.deleted_case_study} {self.action}"
