"""Models of tokens, identities, second factors, jobs, workers and deferred requests."""

from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.timezone import now


class ApiToken(models.Model):
    """A token with which a program uses the API in a user's name. Only the SHA-256 of its key is stored.

    The key has 256 random bits, so a slow hash would not make it safer.
    """

    class Scope(models.TextChoices):
        READ = "read", "read what the user may see"
        IMPORT = "import", "create drafts and import results"
        DELETE = "delete", "delete drafts"
        REVIEW = "review", "publish and retract case studies"
        CAMPAIGN = "campaign", "run campaigns"
        NOTIFY = "notify", "choose what you are told, and where"
        LABORATORY = "laboratory", "begin laboratories; choose their members; remove them and what was measured there"
        MEASURE = "measure", "measure in one laboratory, and nothing else"
        RUNNER = "runner", "be asked as the runner of one host"  # made with the host

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80, help_text="Where it is used.")
    prefix = models.CharField(max_length=12, help_text="Its first characters, to tell it from others.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list)
    laboratory = models.CharField(
        max_length=40,
        blank=True,
        db_default="",
        help_text="The only one it opens, by its short name: of the scope measure.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="To the minute; empty: never.")
    last_network = models.CharField(
        max_length=50, blank=True, db_default="", help_text='Where it was last used from: "192.0.2.0/24".'
    )
    known_networks = models.TextField(
        blank=True, db_default="", editable=False, help_text="Digests of the last ten, the latest last."
    )
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


class OidcIdentity(models.Model):
    """The subject by which an issuer of OpenID Connect identifies the owner of an account."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="oidc_identities")
    issuer = models.CharField(max_length=200)
    subject = models.CharField(max_length=255, help_text="Its name for the person, which never changes.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = "OpenID Connect identity"
        verbose_name_plural = "OpenID Connect identities"
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="kdb_oidcidentity_is_of_one_account")]

    def __str__(self) -> str:
        return self.subject


class SecondFactor(models.Model):
    """The second factor that an account asks for after its password (kdb.accounts.second_factor)."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_factor")
    secret = models.CharField(max_length=200, editable=False, help_text="Encrypted by a key made of SECRET_KEY.")
    recovery_digests = models.JSONField(default=list, editable=False, help_text="SHA-256 of each unused code.")
    last_step = models.BigIntegerField(default=0, editable=False, help_text="Of the last password taken.")
    confirmed_at = models.DateTimeField(null=True, blank=True, help_text="Empty: not set up yet, and not asked for.")

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class Job(models.Model):
    """One piece of background work, from its request to its end.

    A worker holds a running job by a lease, whose time it renews in `heartbeat_at`. When it expires, the job is queued
    again with the next `attempt`. Updates of a worker that was only slow name the old attempt, and so change nothing.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "waiting"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    kind = models.CharField(max_length=40, help_text="Which handler does it.")
    queue = models.CharField(max_length=60, blank=True, help_text="Whose workers do it; empty: anybody's.")
    arguments = models.JSONField(default=dict, blank=True, help_text="Keywords of the handler.")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    attempt = models.PositiveIntegerField(default=1)
    owner = models.CharField(max_length=120, blank=True, help_text="The worker that holds the lease.")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    progress = models.PositiveIntegerField(default=0, help_text="Steps done.")
    total = models.PositiveIntegerField(null=True, blank=True, help_text="Steps in all; empty: not known yet.")
    error = models.TextField(blank=True)
    # db_default, because workers of the release before make rows without it.
    request_id = models.CharField(
        max_length=36, blank=True, db_default="", help_text="Of the request that asked; empty: none did."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        indexes = [
            models.Index(fields=["state", "queue", "heartbeat_at"], name="kdb_job_by_state"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="running", heartbeat_at__isnull=False) & ~Q(owner="") | ~Q(state="running"),
                name="kdb_job_running_has_an_owner_and_a_heartbeat",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["done", "failed"], finished_at__isnull=False)
                | Q(state__in=["queued", "running"], finished_at__isnull=True),
                name="kdb_job_ended_has_an_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_alive(self) -> bool:
        """Tell whether it is queued or running. After twice its lease without a heartbeat, no tick came either."""
        if self.state != self.State.RUNNING or self.heartbeat_at is None:
            return self.state == self.State.QUEUED
        return now() - self.heartbeat_at < timedelta(seconds=2 * settings.KDB_JOB_LEASE_SECONDS)


class WorkerHeartbeat(models.Model):
    """When a worker process last ran a tick, which shows that clock and worker are connected."""

    name = models.CharField(max_length=120, unique=True)
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class LeftRequest(models.Model):
    """An anonymous request that costs the web server too much, so that a worker answers it (kdb.cost.deferral)."""

    key = models.CharField(max_length=64, unique=True, help_text="SHA-256 of what is asked.")
    asked = models.JSONField(help_text="The request as its view reads it, by names of WSGI.")
    kind = models.CharField(max_length=80, blank=True, db_default="", help_text="The view that answers it.")
    address = models.CharField(max_length=45, db_index=True, help_text="Whose turn it takes.")
    seconds = models.FloatField(default=0, db_default=0, help_text="What a worker's processor spent on it.")
    polled_at = models.DateTimeField(help_text="When somebody last asked for it, to some seconds.")
    attempts = models.PositiveSmallIntegerField(default=0)
    answered_at = models.DateTimeField(null=True, blank=True, help_text="Empty: it waits.")
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    content = models.BinaryField(default=bytes)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"request left to a worker {self.pk}"


class Turn(models.Model):
    """The workers' time that an address or a network has used; kept also after its requests were deleted."""

    address = models.CharField(max_length=45, primary_key=True)
    served_at = models.DateTimeField()
    seconds = models.FloatField(default=0, db_default=0, help_text="Owed at that moment; each minute halves it.")

    def __str__(self) -> str:
        return self.address

    @property
    def owed(self) -> float:
        """Return the seconds that still count, as half of them are forgiven each minute."""
        return float(self.seconds * 0.5 ** ((now() - self.served_at) / timedelta(minutes=1)))


class Installation(models.Model):
    """The identity of this KDB among others that use the same hosts: one row, made when it is first needed."""

    identity = models.UUIDField(default=uuid4, editable=False)

    def __str__(self) -> str:
        return str(self.identity)
