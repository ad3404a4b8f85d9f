"""Publications, case studies, and the revisions of the knowledge."""

from django.conf import settings
from django.core.validators import RegexValidator, validate_slug
from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, NullIf

from .catalogue import SharedRow
from .fields import TypedJSONField, check_slug, texts, whole_numbers

LICENCE = r"^[A-Za-z0-9][A-Za-z0-9.+-]*\Z"  # an identifier of the SPDX list


class Publication(SharedRow):
    """One paper or report that case studies, claims and findings are cited from."""

    slug = models.SlugField(max_length=40, unique=True)
    title = models.CharField(max_length=300)
    authors = TypedJSONField(
        schema=texts(200), default=list, blank=True, help_text="Names in printed order; empty: none is stated."
    )
    venue = models.CharField(max_length=300, blank=True, help_text="Empty: not stated in the text.")
    year = models.PositiveSmallIntegerField(null=True, blank=True, help_text="Empty: not known; the note says why.")
    address = models.URLField(
        max_length=500, blank=True, default="", db_default="", help_text="Where it can be read; empty: not recorded."
    )
    doi = models.CharField(
        "DOI",
        max_length=120,
        blank=True,
        default="",
        db_default="",
        validators=[RegexValidator(r"^10\.\d{4,9}/[^\s\"<>]+\Z", "A DOI reads like 10.1000/182.")],
        help_text='"10.1000/182"; empty: none is known.',
    )
    made_on = models.DateField(
        null=True, blank=True, help_text="Day on which it was made, where the day is known; empty: not recorded."
    )
    read_on = models.DateField(null=True, blank=True, help_text="Day on which it was read; empty: not recorded.")
    archive_address = models.URLField(
        max_length=500,
        blank=True,
        default="",
        db_default="",
        help_text="A copy in an archive, where its licence allows one; empty: none.",
    )
    licence = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        validators=[RegexValidator(LICENCE, "An identifier of the SPDX list: CC-BY-4.0.")],
        help_text='Of the source, by its SPDX identifier: "CC-BY-4.0"; empty: none is stated, and only facts are held.',
    )
    is_reviewed = models.BooleanField(
        default=True, help_text="Whether others reviewed it before it was published, as they do papers."
    )
    note = models.TextField(blank=True, help_text="What is known about date and venue, and from where.")

    class Meta:
        ordering = ["slug"]
        constraints = [  # pages link to it: a javascript: address would run in the reader's browser
            models.CheckConstraint(
                condition=Q(address="") | Q(address__startswith="https://") | Q(address__startswith="http://"),
                name="experiments_publication_address_is_of_the_web",
            ),
            models.CheckConstraint(
                condition=Q(archive_address="")
                | Q(archive_address__startswith="https://")
                | Q(archive_address__startswith="http://"),
                name="experiments_publication_archive_address_is_of_the_web",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class KnowledgeRevision(models.Model):
    """One change of the evidence that counts. Rankings name the revision that they were computed from."""

    class Action(models.TextChoices):
        PUBLISHED = "published", "published"
        RETRACTED = "retracted", "retracted"
        SUPERSEDED = "superseded", "superseded"
        DOUBTED = "doubted", "doubted"

    number = models.PositiveIntegerField(primary_key=True)
    action = models.CharField(max_length=10, choices=Action)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"revision {self.number}"

    @classmethod
    def now(cls) -> int:
        """Return the number of the latest revision; 0 before the first publication."""
        return cls._default_manager.aggregate(last=models.Max("number"))["last"] or 0


class CaseStudyQuerySet(models.QuerySet["CaseStudy"]):
    def published(self) -> "CaseStudyQuerySet":
        """Return the case studies that count as knowledge now."""
        return self.filter(status=CaseStudy.Status.PUBLISHED)

    def known_at(self, revision: int) -> "CaseStudyQuerySet":
        """Return the case studies that counted as knowledge at this revision."""
        still = Q(retracted_revision__isnull=True) | Q(retracted_revision__gt=revision)
        return self.filter(still, published_revision__lte=revision)

    def visible(self) -> "CaseStudyQuerySet":
        """Return what every reader may see: case studies that are published or, shown with the reason, ended."""
        return self.filter(status__in=CaseStudy.VISIBLE)


def laboratory(path: str = "") -> Coalesce:
    """Return the laboratory of a case study as an expression: the one stated, else its publication, else itself.

    path : "" in a query of case studies, else the prefix of lookups that lead to one, "case_study__"
    Results of one laboratory are not independent of each other.
    """
    return Coalesce(
        NullIf(F(f"{path}laboratory"), Value("")),
        f"{path}publication__slug",
        f"{path}slug",
        output_field=models.CharField(),
    )


_ENDED = ["retracted", "superseded", "doubted"]
_VISIBLE = ["published", *_ENDED]


class CaseStudy(models.Model):
    """One laboratory, one server, one protocol, one or more configurations."""

    class Status(models.TextChoices):
        DRAFT = "draft", "draft"
        SUBMITTED = "submitted", "submitted for review"
        PUBLISHED = "published", "published"
        RETRACTED = "retracted", "retracted"
        SUPERSEDED = "superseded", "superseded by later numbers"
        DOUBTED = "doubted", "doubted"

    ENDED = (Status.RETRACTED, Status.SUPERSEDED, Status.DOUBTED)  # shown with the reason, but counted nowhere
    VISIBLE = (Status.PUBLISHED, *ENDED)  # to every reader

    class Scope(models.TextChoices):
        PER_VM = "per-vm", "per virtual machine"
        AGGREGATE = "aggregate", "all virtual machines together"
        NOT_STATED = "", "the source does not say"

    class QuietHost(models.TextChoices):
        YES = "yes", "nothing else ran"
        NO = "no", "something else ran"
        NOT_STATED = "", "not stated"

    class FitsCache(models.TextChoices):
        YES = "yes", "they fit: a cache can answer"
        NO = "no", "they do not fit"
        NOT_STATED = "", "not stated"

    slug = models.SlugField(max_length=60, unique=True, validators=[check_slug])
    title = models.CharField(max_length=300)
    publication = models.ForeignKey(
        Publication, null=True, blank=True, on_delete=models.PROTECT, related_name="case_studies"
    )
    server = models.ForeignKey("experiments.Server", on_delete=models.PROTECT, related_name="case_studies")
    storage = models.ForeignKey("experiments.Storage", on_delete=models.PROTECT, related_name="case_studies")

    laboratory = models.CharField(
        max_length=60,
        blank=True,
        validators=[validate_slug],
        help_text="Short name of who measured; case studies of one laboratory are not independent of one another. "
        "Empty: the publication, or the case study by itself.",
    )
    research_group = models.CharField(
        max_length=60,
        blank=True,
        db_default="",
        validators=[validate_slug],
        help_text="Short name of the people behind the laboratory, whose laboratories are not independent of one "
        "another; a laboratory's name stands for its group. Empty: case studies that share an author are one group.",
    )
    run_seconds = models.PositiveIntegerField(
        null=True, blank=True, help_text="Length of one run, s; empty: not stated."
    )
    repetitions = models.PositiveIntegerField(null=True, blank=True, help_text="Runs averaged; empty: not stated.")
    warm_up_seconds = models.PositiveIntegerField(
        null=True, blank=True, help_text="Of each run, before what counts, s; 0: none; empty: not stated."
    )
    quiet_host = models.CharField(
        max_length=3,
        choices=QuietHost,
        blank=True,
        default="",
        db_default="",
        help_text="Whether nothing else ran on the host meanwhile; empty: not stated.",
    )
    fits_cache = models.CharField(
        max_length=3,
        choices=FitsCache,
        blank=True,
        default="",
        db_default="",
        help_text="Whether the files of its loads fit into the memory of machine or host; empty: not stated.",
    )
    measured_year = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Year in which it was measured; empty: that of its publication."
    )
    vm_counts = TypedJSONField(
        schema=whole_numbers(32_767), default=list, help_text="Numbers of virtual machines that ran together."
    )
    value_scope = models.CharField(
        max_length=10, choices=Scope, blank=True, help_text="What a value at several machines means."
    )
    procedure = models.TextField(blank=True)
    kit = models.CharField(
        max_length=60,
        blank=True,
        default="",
        db_default="",
        help_text='The kit by whose plan it was measured, with its version: "cache-mode/1"; empty: none.',
    )
    notes = TypedJSONField(
        schema=texts(4_000), default=list, blank=True, help_text="Traps and doubts a reader should know."
    )

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="case_studies",
        help_text="Who may edit the draft; empty: it came with the published evidence, or from the command line.",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    submitted_digest = models.CharField(
        max_length=64,
        blank=True,
        editable=False,
        help_text="Of what was submitted (experiments.case_studies.bundles.digest); empty: not submitted.",
    )
    published_revision = models.ForeignKey(
        KnowledgeRevision, null=True, blank=True, on_delete=models.PROTECT, related_name="published_case_studies"
    )
    retracted_revision = models.ForeignKey(
        KnowledgeRevision,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="retracted_case_studies",
        help_text="Since which it counts no longer: retracted, superseded or doubted; empty: it counts.",
    )
    retraction_reason = models.TextField(blank=True)
    rows_ended_revision = models.PositiveIntegerField(
        null=True,
        blank=True,
        editable=False,
        help_text="Latest revision at which single rows of it ceased to count (Ending); empty: none ever did.",
    )

    objects = CaseStudyQuerySet.as_manager()

    class Meta:
        ordering = ["slug"]
        verbose_name_plural = "case studies"
        permissions = [
            ("publish_casestudy", "Can publish a submitted case study"),
            ("retract_casestudy", "Can retract a published case study"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["draft", "submitted"], published_revision__isnull=True)
                | Q(status__in=_VISIBLE, published_revision__isnull=False),
                name="experiments_casestudy_published_has_a_revision",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=_ENDED,
                    retracted_revision__isnull=False,
                    retracted_revision__gt=F("published_revision"),
                )
                & ~Q(retraction_reason="")
                | ~Q(status__in=_ENDED) & Q(retracted_revision__isnull=True),
                name="experiments_casestudy_retraction_has_revision_and_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def year(self) -> int | None:
        """Return the year in which it was measured, else published; None where neither is stated."""
        return self.measured_year or (self.publication.year if self.publication else None)


class Ending(models.Model):
    """One decision that a published case study, or rows of it, no longer count although they were not retracted."""

    class Kind(models.TextChoices):
        SUPERSEDED = "superseded", "superseded"
        DOUBTED = "doubted", "doubted"

    case_study = models.ForeignKey(CaseStudy, on_delete=models.CASCADE, related_name="endings")
    kind = models.CharField(max_length=10, choices=Kind)
    is_whole = models.BooleanField(help_text="Whether all of the case study; else the rows that name this ending.")
    replaced_by = models.ForeignKey(
        CaseStudy,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="replaces",
        help_text="Where its source measured again; empty: doubted.",
    )
    reason = models.TextField()
    revision = models.OneToOneField(KnowledgeRevision, on_delete=models.PROTECT, related_name="ending")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="superseded", replaced_by__isnull=False) | Q(kind="doubted", replaced_by__isnull=True),
                name="experiments_ending_superseded_by_something",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="experiments_ending_has_a_reason"),
            models.CheckConstraint(
                condition=Q(replaced_by__isnull=True) | ~Q(replaced_by=F("case_study")),
                name="experiments_ending_is_replaced_by_another",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.case_study_id} {self.kind}"
