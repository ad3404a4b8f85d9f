"""Who may come in: tokens of programs."""

from django.conf import settings
from django.db import models


class ApiToken(models.Model):
    """A program's key to the API in a user's name. The key itself is not kept, only its SHA-256.

    A slow hash would add nothing: the key is 256 random bits, which nobody guesses.
    """

    class Scope(models.TextChoices):
        READ = "read", "read what the user may see"
        IMPORT = "import", "create drafts and import results"
        CAMPAIGN = "campaign", "run campaigns"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80, help_text="Where it is used.")
    prefix = models.CharField(max_length=12, help_text="Its first characters, to tell it from others.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute; empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = "API token"
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], condition=models.Q(revoked_at__isnull=True), name="kdb_apitoken_name_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
