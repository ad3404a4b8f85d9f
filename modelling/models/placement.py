"""Models of placement for observed machines: mixes, policies, plans, moves and decisions."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from experiments.models import Host, ObservedMachine, ObservedPool
from kdb.models import Job

from .own_lab import Laboratory


class StatedMix(models.Model):
    """The mix of a machine as its operator states it, which takes precedence over the detected one."""

    machine = models.OneToOneField(ObservedMachine, on_delete=models.CASCADE, related_name="stated_mix")
    shares = models.JSONField(help_text="Slug of a workload to its share, above 0, in any unit.")
    stated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    stated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["machine"]
        constraints = [models.CheckConstraint(condition=~Q(shares={}), name="modelling_statedmix_says_something")]

    def __str__(self) -> str:
        return f"mix of {self.machine_id}"


class PlacementPolicy(models.Model):
    """The policy of a host: what KDB may do on it by itself, and how disks are moved. No row: a dry run."""

    class Mode(models.TextChoices):
        OFF = "off", "advice only"
        DRY_RUN = "dry run", "dry run: plans once a day, and moves nothing"
        CONFIRM = "confirm", "a person confirms each plan"
        AUTOMATIC = "automatic", "by itself, inside the bounds"

    host = models.OneToOneField(Host, on_delete=models.CASCADE, related_name="placement_policy")
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.DRY_RUN, db_default=Mode.DRY_RUN)
    least_gaining = models.FloatField(
        default=0.9,
        validators=[MinValueValidator(0.5), MaxValueValidator(1)],
        help_text="Probability of gaining the margin that a move by itself needs at least.",
    )
    least_gain = models.FloatField(
        default=0.1,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Expected gain, net of the copy, that it needs at least; 0.1 is a tenth.",
    )
    most_moves_a_day = models.PositiveSmallIntegerField(default=1, help_text="That begin by themselves.")
    copy_rate_mib = models.PositiveIntegerField(
        null=True, blank=True, default=100, help_text="MiB/s that a copy may take; empty: no limit."
    )
    keeps_days = models.PositiveSmallIntegerField(default=7, help_text="That an old image is kept at least.")
    second_person = models.BooleanField(
        default=False, db_default=False, help_text="A move begins only once another of the host's group approved it."
    )
    laboratory = models.ForeignKey(
        Laboratory,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Whose runs on the host's pools count in its plans; its members alone see them. Empty: none's.",
    )
    removes_kept = models.BooleanField(
        default=False, help_text="Old images are removed after that by themselves, unless a move was for the worse."
    )

    class Meta:
        ordering = ["host"]
        verbose_name_plural = "placement policies"
        constraints = [
            models.CheckConstraint(
                condition=Q(least_gaining__gte=0.5, least_gaining__lte=1, least_gain__gte=0, least_gain__lte=1),
                name="modelling_placementpolicy_bounds_are_shares",
            )
        ]

    def __str__(self) -> str:
        return f"{self.host_id}: {self.mode}"


class PlacementPlan(models.Model):
    """A plan for some hosts. It is never changed."""

    hosts = models.ManyToManyField(Host, related_name="placement_plans")
    rules = models.JSONField(help_text="Of fleet.placement.content.Rules, and what was pinned or excluded.")
    content = models.JSONField(help_text="The plan as the API gives it.")
    revision = models.PositiveIntegerField(help_text="Knowledge revision it rests on.")
    model = models.CharField(max_length=80, help_text="Versions of the models it rests on.")
    laboratories = models.ManyToManyField(
        Laboratory, related_name="+", help_text="Whose runs it tells of: who is no member of all does not see it."
    )
    instead_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+", help_text="Not used any more."
    )
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: a policy, or somebody at the server's own command line.",
    )
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"plan {self.pk}"


class PlacementMove(models.Model):
    """One move of a disk to another pool. This row holds its state, its job the lease and the attempt.

    waiting -> copying -> switched -> kept -> done. Failed from copying and switched; cancelled from waiting and
    copying; undone from kept and done, once the move back has switched.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        COPYING = "copying", "being copied"
        SWITCHED = "switched", "runs from its new image"
        KEPT = "kept", "moved, its old image is kept"
        DONE = "done", "moved, its old image is removed"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"
        UNDONE = "undone", "moved back"

    class Image(models.TextChoices):
        OLD = "old", "its old image"
        NEW = "new", "its new image"
        NOT_KNOWN = "", "not known"

    plan = models.ForeignKey(PlacementPlan, null=True, blank=True, on_delete=models.PROTECT, related_name="moves")
    back_of = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="ways_back", help_text="It undoes this."
    )
    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="placement_moves")
    machine = models.ForeignKey(ObservedMachine, null=True, on_delete=models.SET_NULL, related_name="placement_moves")
    machine_uuid = models.UUIDField()
    machine_name = models.CharField(max_length=200)
    disk = models.CharField(max_length=20, help_text="As the machine's definition names it.")
    from_pool = models.ForeignKey(ObservedPool, null=True, on_delete=models.SET_NULL, related_name="+")
    to_pool = models.ForeignKey(ObservedPool, null=True, on_delete=models.SET_NULL, related_name="+")
    old_path = models.CharField(max_length=500)
    new_path = models.CharField(max_length=500)
    token = models.CharField(max_length=20, unique=True, help_text="In the name of all that it makes on the host.")
    size_bytes = models.PositiveBigIntegerField(help_text="Bytes the machine sees.")
    advice = models.JSONField(default=dict, help_text="What the plan says of it; {} for a way back.")
    revision = models.PositiveIntegerField(help_text="Knowledge revision the decision rests on.")
    model = models.CharField(max_length=80, blank=True, help_text="Versions of the models it rests on.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    runs_from = models.CharField(
        max_length=3, choices=Image, blank=True, default=Image.OLD, help_text="When the host was last asked."
    )
    is_called_off = models.BooleanField(default=False, help_text="It is to end before it switches.")
    step = models.CharField(max_length=200, blank=True, help_text="What is being done.")
    reason = models.TextField(blank=True, help_text="Why it failed.")
    left_over = models.CharField(
        max_length=500, blank=True, help_text="An image that its machine does not use and still has open."
    )
    warnings = models.JSONField(default=list)
    done_bytes = models.PositiveBigIntegerField(default=0)
    copy_seconds = models.FloatField(null=True, blank=True, help_text="s until the new image followed every write.")
    attempt = models.PositiveIntegerField(default=0)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: the host's policy, or somebody at the server's own command line.",
    )
    asked_at = models.DateTimeField(auto_now_add=True)
    # The second person, where the host's group wants one.
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    approved_as = models.JSONField(
        null=True, blank=True, help_text="What was approved; another fact ends the approval."
    )
    started_at = models.DateTimeField(null=True, blank=True)
    switched_at = models.DateTimeField(null=True, blank=True)
    keep_until = models.DateTimeField(null=True, blank=True, help_text="The old image is not removed before.")
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.JSONField(default=dict, help_text="Before against after, as last worked out; {}: not yet.")

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["host"],
                condition=Q(state__in=["copying", "switched"]),
                name="modelling_placementmove_one_a_host",
            ),
            models.UniqueConstraint(
                fields=["machine_uuid", "disk"],
                condition=Q(state__in=["waiting", "copying", "switched"]),
                name="modelling_placementmove_one_a_disk",
            ),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(reason=""), name="modelling_placementmove_failure_has_a_reason"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["switched", "kept", "done"]) | Q(switched_at__isnull=False),
                name="modelling_placementmove_moved_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.machine_name}, {self.disk}"


class MoveLine(models.Model):
    """One line of a move's log."""

    move = models.ForeignKey(PlacementMove, on_delete=models.CASCADE, related_name="lines")
    at = models.DateTimeField(auto_now_add=True)
    text = models.CharField(max_length=1000)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return self.text


class PlacementDecision(models.Model):
    """A decision about placement: actor, action and knowledge revision; written in its transaction, never changed."""

    class Action(models.TextChoices):
        PLANNED = "planned", "planned"
        CONFIRMED = "confirmed", "move confirmed"
        APPROVED = "approved", "move approved by a second person"
        LAPSED = "lapsed", "approval lapsed"
        CALLED_OFF = "called off", "move called off"
        SWITCHED = "switched", "machine runs from its new image"
        FAILED = "failed", "move failed"
        BACK = "back", "move back asked for"
        REMOVED = "removed", "removal of the old image asked for"
        POLICY = "policy", "policy set"
        MIX = "mix", "mix stated"

    host = models.ForeignKey(Host, on_delete=models.PROTECT, related_name="placement_decisions")
    plan = models.ForeignKey(PlacementPlan, null=True, blank=True, on_delete=models.PROTECT, related_name="decisions")
    move = models.ForeignKey(PlacementMove, null=True, blank=True, on_delete=models.PROTECT, related_name="decisions")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Empty: KDB by the host's policy, or somebody at the server's own command line.",
    )
    action = models.CharField(max_length=10, choices=Action)
    detail = models.TextField(blank=True)
    revision = models.PositiveIntegerField(help_text="Knowledge revision it rested on.")
    model = models.CharField(max_length=80, blank=True, help_text="Versions of the models it rested on.")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.action} {self.at:%Y-%m-%d %H:%M}"
