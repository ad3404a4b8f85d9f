"""Stored results: summaries of measurements, answers, verdicts and reports."""

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce
from django.utils.timezone import now

from experiments.models.measurement import Observation


class CurrentArms(models.Manager["Arm"]):
    """The current arms, and those of drafts; `Arm.ever` includes arms of earlier revisions."""

    def get_queryset(self) -> models.QuerySet["Arm"]:
        return super().get_queryset().filter(until_revision__isnull=True)


class Arm(Observation):
    """The mean and variance of all measurements of one configuration in one fair-play group.

    Rankings read arms and not measurements, so that the cost of an answer does not depend on the number of repetitions.
    The arms of a case study are rebuilt when it is published (modelling.evidence.summaries).
    """

    class Origin(models.TextChoices):
        MEASURED = "measured", "measured"
        DERIVED = "derived", "derived from the text"

    origin = models.CharField(max_length=10, choices=Origin)
    measurements = models.PositiveIntegerField(help_text="Rows behind it; a derived value counts as one.")
    runs = models.PositiveIntegerField(null=True, blank=True, help_text="Benchmark runs behind it; empty: not stated.")
    mean_log = models.FloatField(help_text="Mean of ln(value), value in `unit`.")
    variance = models.FloatField(
        null=True,
        blank=True,
        help_text="Of mean_log, from the spread of its runs alone; empty: the source gives no spread. What an answer "
        "makes of it is pooled with the other arms of the case study.",
    )
    is_implausible = models.BooleanField(
        null=True,
        blank=True,
        help_text="Whether it looks like no disk's number (experiments.rules.plausibility); empty: not looked at yet.",
    )
    since_revision = models.PositiveIntegerField(
        null=True, blank=True, help_text="At which other rows of its case study ended; empty: since publication."
    )
    until_revision = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="At which rows of its case study ended, so others stand for it; empty: it counts.",
    )

    objects = CurrentArms()
    ever: models.Manager["Arm"] = models.Manager()

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(variance__isnull=True) | Q(variance__gte=0), name="modelling_arm_variance_is_not_negative"
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
                F("reference"),
                F("origin"),
                Coalesce("until_revision", 0),
                name="modelling_arm_one_per_group_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"arm {self.pk}"


RENEWED_WITHIN = timedelta(days=7)  # of its last request a superseded answer is computed again without a new one


class RankingSnapshotQuerySet(models.QuerySet["RankingSnapshot"]):
    def followed(self) -> "RankingSnapshotQuerySet":
        """Add `is_followed`: whether a newer answer to the same question is stored."""
        newer = RankingSnapshot.objects.filter(
            question=OuterRef("question"), method=OuterRef("method"), revision__gt=OuterRef("revision")
        )
        return self.annotate(is_followed=Exists(newer))

    def waiting(self) -> "RankingSnapshotQuerySet":
        """Return the answers to compute: superseded and recently asked for, or never computed.

        This is derived from the rows, so that no lost message matters. Other superseded ones rest until somebody asks.
        """
        is_wanted = Q(asked_at__gt=now() - RENEWED_WITHIN) | Q(revision=0)
        return self.followed().filter(is_wanted, Q(is_followed=False), superseded_by__isnull=False)

    def failing(self) -> "RankingSnapshotQuerySet":
        """Return the waiting answers with an attempt that failed or whose worker died."""
        return self.waiting().filter(~Q(error="") | Q(attempts__gt=1))


class RankingSnapshot(models.Model):
    """The answer to one question at one knowledge revision, stored so that a page needs one read."""

    question = models.CharField(max_length=300, help_text="The question in its one canonical spelling.")
    method = models.PositiveSmallIntegerField(
        help_text="Version of the way to the answer (modelling.estimation.ranking.METHOD)."
    )
    revision = models.PositiveIntegerField(help_text="Knowledge revision it was computed from.")
    superseded_by = models.PositiveIntegerField(
        null=True, blank=True, help_text="First revision whose evidence may change it; empty: it stands."
    )
    workload = models.CharField(max_length=40, help_text="Of the question: which answers a publication may touch.")
    result = models.JSONField(help_text="The answer as the API gives it.")
    digest = models.CharField(max_length=64, help_text="SHA-256 of the result: the entity tag.")
    computed_at = models.DateTimeField(auto_now_add=True)
    asked_at = models.DateTimeField(default=now, help_text="When somebody last asked for it, to the day.")
    attempts = models.PositiveIntegerField(default=0, help_text="To answer again since it was superseded.")
    retry_at = models.DateTimeField(null=True, blank=True, help_text="Not tried again before; empty: at once.")
    error = models.TextField(blank=True, help_text="Why the last attempt failed.")

    objects = RankingSnapshotQuerySet.as_manager()

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

    @property
    def is_resting(self) -> bool:
        """Tell whether it is superseded but not asked for recently, so that it is not computed again."""
        return bool(self.revision) and self.superseded_by is not None and self.asked_at <= now() - RENEWED_WITHIN

    @classmethod
    def unsaved(
        cls, result: dict[str, Any], method: int, computed_at: datetime, question: str = "", workload: str = ""
    ) -> Self:
        """Return an unsaved row of an answer. result : as JSON data"""
        return cls(
            question=question,
            method=method,
            revision=result["revision"],
            workload=workload,
            result=result,
            digest=hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest(),
            computed_at=computed_at,
        )


class PinnedAnswer(models.Model):
    """An answer as first given at its permanent address, which contains revision and method.

    It is never changed, computed again or deleted, whatever is published and whichever method is current.
    """

    asked = models.CharField(max_length=64, help_text="SHA-256 of what was asked, as pins name it.")
    revision = models.PositiveIntegerField(help_text="Knowledge revision in the address.")
    method = models.PositiveSmallIntegerField(
        help_text="Version of the way to the answer (modelling.estimation.ranking.METHOD)."
    )
    body = models.BinaryField(help_text="The answer as the API gave it: JSON, compressed by zlib.")
    given_at = models.DateTimeField(help_text="When it was worked out.")
    is_visitors = models.BooleanField(
        default=True, help_text="Whether it takes of the room for visitors (settings.KDB_PINNED_ANSWERS)."
    )
    is_combined = models.BooleanField(default=False, help_text="A comparison or mix, which take a share of that room.")

    class Meta:
        ordering = ["pk"]
        indexes = [models.Index(fields=["is_visitors", "is_combined"], name="modelling_pinned_room")]
        constraints = [
            models.UniqueConstraint(fields=["asked", "revision", "method"], name="modelling_pinnedanswer_one_each")
        ]

    def __str__(self) -> str:
        return f"answer {self.asked[:8]} at revision {self.revision} by method {self.method}"


class PublicationPreview(models.Model):
    """The changes that publishing a draft would make in the rankings, computed as answers are."""

    case_study = models.OneToOneField("experiments.CaseStudy", on_delete=models.CASCADE, related_name="preview")
    method = models.PositiveSmallIntegerField(
        help_text="Version of the way to an answer (modelling.estimation.ranking.METHOD)."
    )
    revision = models.PositiveIntegerField(help_text="Knowledge revision it was held against.")
    token = models.CharField(max_length=64, help_text="Of the draft's evidence: another one, and the preview is stale.")
    result = models.JSONField(help_text="The preview as the API gives it.")
    computed_at = models.DateTimeField()

    class Meta:
        ordering = ["case_study"]

    def __str__(self) -> str:
        return f"preview of {self.case_study_id}"


class RevisionEffects(models.Model):
    """The answers changed by one ending or retraction, computed before and after it by one method."""

    revision = models.PositiveIntegerField(primary_key=True, help_text="That the ending made.")
    method = models.PositiveSmallIntegerField(help_text="As of RankingSnapshot.")
    result = models.JSONField(help_text="As modelling.answer_store.previews gives it.")
    computed_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "revision effects"

    def __str__(self) -> str:
        return f"effects of revision {self.revision}"


class QualityReport(models.Model):
    """A report on how well the models predict each case study from all others, at one knowledge revision."""

    method = models.PositiveSmallIntegerField(
        help_text="Version of the way to it (modelling.prediction.validation.reports.METHOD)."
    )
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


class Judgement(models.Model):
    """The common fields of verdicts on claims and scores of hypotheses: counts of comparisons, and their evidence."""

    held = models.PositiveIntegerField(help_text="Comparisons that hold.")
    failed = models.PositiveIntegerField(help_text="Comparisons that do not.")
    undecided = models.PositiveIntegerField(help_text="Comparisons that the facts leave open.")
    reason = models.TextField(help_text="One or two sentences.")
    basis = models.CharField(max_length=10, blank=True, help_text="The least sure kind of evidence; empty: none.")
    evidence = models.JSONField(help_text="Kind of evidence to the ids of its rows, the first ones.")
    comparisons = models.JSONField(help_text="Each as [state, text], the first ones.")
    revision = models.PositiveIntegerField(help_text="Knowledge revision it was computed at.")
    asked = models.CharField(max_length=64, default="", help_text="SHA-256 of what was asked, and by which rules.")

    class Meta:
        abstract = True


class ClaimVerdict(Judgement):
    """The computed verdict on a claim, by its own paper's facts or by everybody else's."""

    class Scope(models.TextChoices):
        OWN = "own", "its own paper"
        OTHERS = "others", "everybody else's data"

    class Kind(models.TextChoices):
        SUPPORTED = "supported", "supported"
        OPEN = "open", "open"
        PARTLY = "partly", "partly false"
        CONTRADICTED = "contradicted", "contradicted"
        UNTESTABLE = "untestable", "untestable"

    claim = models.ForeignKey("experiments.Claim", on_delete=models.CASCADE, related_name="verdicts", db_index=False)
    scope = models.CharField(max_length=10, choices=Scope)
    verdict = models.CharField(max_length=15, choices=Kind)

    class Meta:
        ordering = ["claim__code", "scope"]
        constraints = [models.UniqueConstraint(fields=["claim", "scope"], name="modelling_claimverdict_one_per_scope")]

    def __str__(self) -> str:
        return f"{self.claim}: {self.verdict} by {self.get_scope_display()}"


class HypothesisScore(Judgement):
    """The agreement of one source with a hypothesis of modelling.claims.hypotheses, comparison by comparison."""

    code = models.CharField(max_length=10, help_text="Of the hypothesis.")
    source = models.SlugField(max_length=60, help_text="Case study, or publication of lists.")

    class Meta:
        ordering = ["code", "source"]
        constraints = [
            models.UniqueConstraint(fields=["code", "source"], name="modelling_hypothesisscore_one_per_source")
        ]

    def __str__(self) -> str:
        return f"{self.code} by {self.source}"


class KeptMachine(models.Model):
    """Not used any more: a machine of its owner, whose facts an address holds as well."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="machines")
    name = models.CharField(max_length=60)
    hypervisor = models.CharField(max_length=40, blank=True, help_text="Slug.")
    disks = models.CharField(max_length=10, blank=True, help_text="Of modelling.ask.machine.DISKS.")
    images = models.CharField(max_length=40, blank=True, help_text="Slug of a file system or host storage.")
    guest_os_family = models.CharField(max_length=10, blank=True)
    vm_count = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Machines at once.")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="modelling_keptmachine_one_per_name"),
            models.CheckConstraint(condition=~Q(name=""), name="modelling_keptmachine_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name


class FollowedQuestion(models.Model):
    """A question of whose changes a user wants to be notified, and the revision of the last notification."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="followed_questions")
    question = models.CharField(max_length=300, help_text="In its one canonical spelling.")
    method = models.PositiveSmallIntegerField(help_text="Version of the way to the answer.")
    revision = models.PositiveIntegerField(help_text="Knowledge revision up to which they were told.")
    said = models.CharField(max_length=64, blank=True, help_text="Digest of what the answer said; empty: none yet.")
    followed_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["user", "question"], name="modelling_followedquestion_once_each")
        ]
        indexes = [models.Index(fields=["question"], name="modelling_followed_question")]

    def __str__(self) -> str:
        return self.question
