"""Case studies that were loaded from releases of other installations."""

from django.db import models


class Origin(models.Model):
    """Another installation whose releases were loaded here."""

    identity = models.UUIDField(unique=True, help_text="The name that the installation gave itself.")
    name = models.CharField(max_length=200, help_text="As its latest release has it.")
    address = models.URLField(max_length=500, blank=True, help_text="Where it can be read; empty: not stated.")
    key = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        help_text="The public key that signs its releases, of the first one loaded; empty: none was.",
    )

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name


class LoadedCaseStudy(models.Model):
    """A case study as it was in one release of its origin. For each origin and slug the newest row counts."""

    case_study = models.OneToOneField("experiments.CaseStudy", on_delete=models.CASCADE, related_name="loaded")
    origin = models.ForeignKey(Origin, on_delete=models.PROTECT, related_name="case_studies")
    slug = models.SlugField(max_length=60, help_text="Its short name there; here another may have had that one.")
    number = models.PositiveIntegerField(help_text="Knowledge revision of the release it came with.")
    signer = models.ForeignKey(
        Origin,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="Whose release it came with; empty: before releases were signed.",
    )
    digest = models.CharField(
        max_length=64, help_text="Of what rankings rest on (experiments.published_evidence.releases.digests)."
    )

    class Meta:
        ordering = ["pk"]
        verbose_name = "loaded case study"
        verbose_name_plural = "loaded case studies"
        constraints = [
            models.UniqueConstraint(
                fields=["origin", "slug", "number", "signer"], name="experiments_loadedcasestudy_once_a_release"
            )
        ]

    def __str__(self) -> str:
        return f"{self.slug} of {self.origin}, release {self.number}"
