"""Hosts and campaigns, for operators and their programs (scope `campaign`)."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from experiments import permissions
from experiments.case_studies.api import Conflict, OwnedViewSet
from experiments.laboratory.targets import disks
from experiments.models import Campaign, CampaignRun, Freeze, Host, Hypervisor, RunArtifact, StoragePool
from experiments.records import visible
from experiments.records.api.serializers import ReadSerializer, Slug
from kdb.accounts.users import user_of
from kdb.api.bodies import Fields, fields_of
from kdb.api.errors import refuse_faults
from kdb.api.faults import FaultyRequest
from kdb.api.shapes import shape_of

from . import checks, control, deletion, drafts, hosts, plans, replication
from .actions import CAMPAIGN_ACTIONS, HOST_ACTIONS, Action
from .downloads import artifact_response
from .flagged import flagged_cells
from .forms import CampaignForm, HostForm
from .inputs import FORMAT, CampaignFieldsSerializer, HostFieldsSerializer, PlanSerializer, disk_fields
from .kits import definitions, planning
from .runs.content import Curve, Figure

HOSTS, CAMPAIGNS = "hosts", "campaigns"


def listed(tag: str, resource: str) -> Any:
    """Document the list and the object of a viewset."""
    list_of, one = (extend_schema(operation_id=f"{resource}_{name}", tags=[tag]) for name in ("list", "retrieve"))
    return extend_schema_view(list=list_of, retrieve=one)


def perform(operation: Action, request: Request, row: Host | Campaign) -> None:
    """Check the request and run the action on a host or campaign. Raises its refusals, and FaultyRequest."""
    user = user_of(request)
    operation.check_permission(row, user)
    fields = fields_of(request, operation.body) if operation.body else {}
    if operation.form:
        form = operation.form(fields)
        refuse_faults(form)
        fields = form.cleaned_data
    operation.run(row, fields, user)


def add_actions(view_set: type[Any], tag: str, actions: Mapping[str, Action]) -> None:
    """Give the viewset, which has a method `perform_action`, a path for each action."""
    for name, operation in actions.items():
        method = name.replace("-", "_")

        def post(self: Any, request: Request, slug: str, name: str = name) -> Response:
            answer: Response = self.perform_action(name)
            return answer

        post.__name__ = method
        post = action(detail=True, methods=["post"], url_path=name)(post)
        described: dict[str, Any] = {"description": operation.words, "request": operation.body, "tags": [tag]}
        responses = {operation.status: view_set.serializer_class}
        setattr(view_set, method, extend_schema(operation_id=f"{tag}_{method}", responses=responses, **described)(post))


class OperatorViewSet(OwnedViewSet):
    """Views for operators, of rows that belong to hosts of theirs.

    host : the lookup from a row to its host
    conflicts : errors that say why something cannot be done now, with a text to show
    """

    host = "host"
    conflicts: tuple[type[Exception], ...] = (hosts.HostError, control.CampaignError, deletion.DeletionChanged)
    lookup_field = "slug"
    lookup_value_converter = "slug"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not permissions.may_operate(request.user):
            raise PermissionDenied

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(Conflict(str(exc)) if isinstance(exc, self.conflicts) else exc)

    def get_queryset(self) -> QuerySet[Any]:
        return super().get_queryset().filter(**{f"{self.host}__in": permissions.hosts_visible_to(self.request.user)})


class PoolSerializer(ReadSerializer):
    """A folder that campaigns may write in, or a storage of the hypervisor."""

    host_fs = Slug("host_fs.slug", allow_null=True)

    class Meta:
        model = StoragePool
        fields = ("path", "kind", "host_fs")


class HostSerializer(ReadSerializer):
    """A machine that campaigns run on."""

    hypervisor = Slug("hypervisor.slug", allow_null=True)
    runs_on = Slug("runs_on.slug", allow_null=True)
    drivers = serializers.ListField(child=serializers.CharField(), read_only=True)
    pools = PoolSerializer(many=True, read_only=True)
    accepted_key = serializers.SerializerMethodField(help_text="Fingerprint of the key that is trusted.")
    offered_key = serializers.SerializerMethodField(help_text="Fingerprint of the key it shows, to be accepted.")
    facts = serializers.DictField(read_only=True, help_text="What the last check found.")
    stated = serializers.DictField(read_only=True, child=serializers.CharField())
    left_overs = serializers.SerializerMethodField(help_text="What runs left there and no area knows, as last seen.")
    registered_by = serializers.CharField(
        source="registered_by.username", default=None, read_only=True, allow_null=True, help_text="Its owner."
    )
    operators: Any = serializers.SlugRelatedField(
        "username", many=True, read_only=True, help_text="Its group beside its owner."
    )
    job_state = serializers.CharField(source="job.state", default=None, read_only=True, allow_null=True)
    job_error = serializers.CharField(source="job.error", default=None, read_only=True, allow_null=True)

    class Meta:
        model = Host
        fields = (
            *("slug", "name", "address", "port", "login", "uses_sudo", "key_name", "is_by_runner", "runner_heard_at"),
            *("is_by_api", "laboratory", "drivers"),
            *("hypervisor", "runs_on", "guest_image", "window_start", "window_end", "pools", "stated"),
            *("accepted_key", "offered_key", "blocked_reason", "checked_at", "facts", "job_state", "job_error"),
            *("left_overs", "registered_by", "operators", "archived_at"),
        )

    def get_accepted_key(self, host: Host) -> str | None:
        return hosts.fingerprint(host.host_key) if host.host_key else None

    def get_left_overs(self, host: Host) -> list[str]:
        return host.left_overs.splitlines()

    def get_offered_key(self, host: Host) -> str | None:
        return hosts.fingerprint(host.offered_key) if host.offered_key else None


class DeedSerializer(Fields):
    deed = serializers.CharField(help_text="As the removal says; 409 where that would be something else by now.")


def removal_action(tag: str, prefix: str, becomes: Any, remove: Any, words: str) -> Any:
    """Return the action of a viewset by which its objects are taken away, after it was said what becomes of them.

    prefix : of the names of its two operations; words : what they are documented with
    becomes : returns the Removal of an object; remove : does it
    """

    shown: dict[str, Any] = {"tags": [tag], "description": words, "responses": shape_of(deletion.Deletion)}

    @extend_schema(operation_id=f"{prefix}_removal", methods=["get"], **shown)
    @extend_schema(operation_id=f"{prefix}_remove", methods=["post"], request=DeedSerializer, **shown)
    @action(detail=True, methods=["get", "post"])
    def removal(self: Any, request: Request, slug: str) -> Response:
        row = self.to_change()
        outcome = becomes(row)
        if request.method == "POST":
            remove(row, fields_of(request, DeedSerializer).get("deed"), user=user_of(request))
        return Response(shape_of(deletion.Deletion)(outcome).data)

    return removal


class RunnerKeySerializer(Fields):
    key = serializers.CharField(help_text='"kdb_...", for the file that the runner reads.')


class OfHosts(OperatorViewSet):
    """Views of hosts. Who may change one is the host's own matter."""

    host = "pk"

    def to_change(self) -> Host:
        host: Host = self.get_object()
        if not permissions.may_change_host(self.request.user, host):
            raise PermissionDenied
        return host


@listed(HOSTS, "hosts")
class HostViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OfHosts):
    """Machines that campaigns run on."""

    serializer_class = HostSerializer
    queryset = Host.objects.select_related("hypervisor", "runs_on", "job", "registered_by").prefetch_related(
        "pools__host_fs", "operators"
    )

    @extend_schema(
        operation_id="hosts_create",
        tags=[HOSTS],
        request=HostFieldsSerializer,
        responses={201: HostSerializer},
    )
    def create(self, request: Request) -> Response:
        """Register a host. A worker reads its key; it is used once you accept that."""
        data = fields_of(request, HostFieldsSerializer)
        for name, rows in (
            ("hypervisor", visible.entries(Hypervisor)),
            ("runs_on", permissions.hosts_visible_to(request.user)),
        ):
            data[name] = _key_of(rows, data.get(name), name)
        form = HostForm(data, user=request.user)
        refuse_faults(form)
        host, pools = form.save(commit=False), form.cleaned_data["pools"]
        hosts.register(host, pools, user=user_of(request), any_key=permissions.may_use_any_key(request.user))
        return self._shown(host, status.HTTP_201_CREATED)

    @extend_schema(operation_id="hosts_runner_token", tags=[HOSTS], request=None, responses={201: RunnerKeySerializer})
    @action(detail=True, methods=["post"], url_path="runner-token")
    def runner_token(self, request: Request, slug: str) -> Response:
        """Make a new token for the host's runner. An earlier one counts no more; this one is shown here only."""
        key = hosts.make_runner_token(self.to_change(), user=user_of(request))
        return Response({"key": key}, status=status.HTTP_201_CREATED)

    removal = removal_action(
        *(HOSTS, "hosts", deletion.host_deletion, deletion.remove_host),
        "Say what becomes of a host and its evidence if it is taken away; take it away where posted.",
    )

    def perform_action(self, name: str) -> Response:
        """Do one of HOST_ACTIONS."""
        host, operation = self.get_object(), HOST_ACTIONS[name]
        perform(operation, self.request, host)
        return self._shown(host, operation.status)

    def _shown(self, host: Host, code: int) -> Response:
        headers = {"Location": reverse("v1:host-detail", [host.slug], request=self.request)}
        return Response(self.get_serializer(self.get_queryset().get(pk=host.pk)).data, status=code, headers=headers)


add_actions(HostViewSet, HOSTS, HOST_ACTIONS)


class FreezeSerializer(ReadSerializer):
    """The freeze of all hosts: while it stands no run and no move begins. Without one every field is null."""

    reason = serializers.CharField(read_only=True, allow_null=True, default=None)
    by = serializers.CharField(
        source="by.username", read_only=True, allow_null=True, default=None, help_text="null: the command line, too."
    )
    since = serializers.DateTimeField(read_only=True, allow_null=True, default=None)

    class Meta:
        model = Freeze
        fields = ("reason", "by", "since")


class FreezeFieldsSerializer(Fields):
    reason = serializers.CharField(max_length=300, help_text="Operators read it.")


class FreezeViewSet(OperatorViewSet):
    """The freeze of all hosts: operators read it, administrators set and end it."""

    serializer_class = FreezeSerializer

    @extend_schema(operation_id="freeze_retrieve", tags=[HOSTS])
    def retrieve(self, request: Request) -> Response:
        """Return why, since when and by whom all hosts are frozen; nulls where they are not."""
        return Response(self.get_serializer(Freeze.objects.select_related("by").first() or {}).data)

    @extend_schema(operation_id="freeze_set", tags=[HOSTS], request=FreezeFieldsSerializer)
    def update(self, request: Request) -> Response:
        """Freeze all hosts: let no run and no move begin. What is under way ends as usual."""
        user = self._administrator()
        fields = FreezeFieldsSerializer(data=fields_of(request, FreezeFieldsSerializer))
        fields.is_valid(raise_exception=True)
        hosts.freeze_all(fields.validated_data["reason"], user=user)
        return self.retrieve(request)

    @extend_schema(operation_id="freeze_end", tags=[HOSTS])
    def destroy(self, request: Request) -> Response:
        """Thaw all hosts: what waits goes on."""
        hosts.thaw_all(user=self._administrator())
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _administrator(self) -> User:
        if not permissions.may_use_any_key(self.request.user):
            raise PermissionDenied
        return user_of(self.request)


class CalibrationSerializer(Fields):
    """The figures of a short reference load on the pool. A figure that is missing could not be measured there."""

    before = serializers.CharField(help_text='"the warm-up", "repetition 2", "the repeats"')
    run = serializers.IntegerField(help_text="Position of the run that followed.")
    at = serializers.DateTimeField()
    write_mib_s = serializers.FloatField(required=False, help_text="Written past the caches.")
    read_mib_s = serializers.FloatField(required=False, help_text="Read past the caches.")
    sync_writes_s = serializers.FloatField(required=False, help_text="Blocks of 4 KiB written, each waited for.")
    hash_mib_s = serializers.FloatField(required=False, help_text="SHA-256 by one processor.")


class CampaignSerializer(ReadSerializer):
    """A plan and how far it is."""

    host = Slug("host.slug")
    pool = serializers.CharField(source="pool.path", default=None, allow_null=True, read_only=True)
    owner = serializers.CharField(source="owner.username", default=None, allow_null=True, read_only=True)
    case_study = Slug("case_study.slug", allow_null=True)
    replicates = Slug("replicates.slug", allow_null=True)
    host_file_systems = serializers.ListField(child=serializers.CharField(), read_only=True)
    guest_file_systems = serializers.ListField(child=serializers.CharField(), read_only=True)
    workloads = serializers.ListField(child=serializers.CharField(), read_only=True)
    vm_counts = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    pinned_cpus = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    is_untried = serializers.SerializerMethodField(help_text="Nobody has filed a campaign by this driver yet.")
    calibrations = CalibrationSerializer(many=True, read_only=True, allow_null=True, help_text="null: none was run.")

    class Meta:
        model = Campaign
        fields = (
            *("slug", "title", "state", "state_reason", "look_at", "host", "pool", "driver", "engine", "personality"),
            *("replicates", "kit", "host_file_systems", "guest_file_systems", "workloads", "vm_counts", "repetitions"),
            *("run_seconds", "cool_down_seconds", "scale_percent", "disk_mib", "vm_ram_mib", "vm_vcpus", "pinned_cpus"),
            *("precision_percent", "seed", "follows_protocol"),
            *("nightly_at", "nightly_minutes", "nightly_skipped"),
            *("owner", "case_study", "created_at", "archived_at", "is_untried", "calibrations"),
        )

    def get_fields(self) -> dict[str, Any]:
        fields = super().get_fields() | disk_fields(read_only=True)
        for name in disks.CHOICES:
            fields[name].source = f"disk.{name}"
        return fields

    def get_is_untried(self, campaign: Campaign) -> bool:
        if campaign.driver not in self._untried:
            self._untried[campaign.driver] = checks.is_untried(campaign.driver)
        return self._untried[campaign.driver]

    @cached_property
    def _untried(self) -> dict[str, bool]:
        """Return an empty cache: driver to whether it is untried, so that a list asks once a driver."""
        return {}


class DeviationsSerializer(Fields):
    """The differences between the plan and what ran."""

    deviations = serializers.ListField(child=serializers.CharField(), help_text="A sentence each; none: as planned.")
    flagged = serializers.DictField(child=serializers.CharField(), help_text="Cells that look like no disk's, and why.")


class ArtifactSerializer(Fields):
    id = serializers.IntegerField()
    attempt = serializers.IntegerField()
    name = serializers.CharField()
    sha256 = serializers.CharField()


class RunSerializer(ReadSerializer):
    """One run of a campaign."""

    disk = serializers.SerializerMethodField(help_text="Of what its campaign varies of the virtual disks.")
    figures = shape_of(Figure)(many=True, read_only=True)
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)
    repeats = serializers.IntegerField(
        source="repeats.position",
        default=None,
        allow_null=True,
        read_only=True,
        help_text="Position of the run that this one is done for once more; it counts until this one is done.",
    )
    curves = shape_of(Curve)(many=True, read_only=True, allow_null=True, help_text="One a machine; null: not kept.")
    counts = serializers.BooleanField(read_only=True, help_text="Whether a draft takes its figures.")
    facts = serializers.DictField(
        read_only=True,
        help_text="As found: kernels, mount options, versions; what others did meanwhile (`background`: CPU-seconds a "
        "second, MiB/s); how far apart several machines began (`start_spread_seconds`).",
    )
    artifacts = ArtifactSerializer(many=True, read_only=True)

    class Meta:
        model = CampaignRun
        fields = (
            *("position", "repetition", "host_fs", "guest_fs", "workload", "vm_count", "disk", "state", "step"),
            "reason",
            *("attempt", "lost_attempts", "started_at", "finished_at", "figures", "warnings", "disturbed", "repeats"),
            *("counts", "facts", "curves", "artifacts"),
        )

    def get_disk(self, run: CampaignRun) -> dict[str, str]:
        return disks.parse_combination(run.disk)


class ReplicationFieldsSerializer(Fields):
    """A published case study, and the host that shall measure it again."""

    case_study = serializers.CharField(help_text="Slug, or that of a publication: its first case study.")
    host = serializers.CharField(help_text="Slug.")
    pool = serializers.CharField(required=False, help_text="Path; left out: the first that fits.")
    short = serializers.BooleanField(required=False, help_text="One number of machines, 30 s, two repetitions.")
    dry_run = serializers.BooleanField(required=False, help_text="Say what would be planned, and store nothing.")


class StudyFieldsSerializer(Fields):
    """A kit, and the host that shall run it."""

    kit = serializers.CharField(help_text="Slug.")
    host = serializers.CharField(help_text="Slug.")
    pool = serializers.CharField(required=False, help_text="Path; left out: the first that fits.")
    short = serializers.BooleanField(required=False, help_text="30 s, two repetitions, the first workload.")
    dry_run = serializers.BooleanField(required=False, help_text="Say what would be planned, and store nothing.")


class FiledSerializer(Fields):
    case_study = serializers.CharField()
    import_id = serializers.IntegerField(help_text="The import that files its figures.")


@listed(CAMPAIGNS, "campaigns")
class CampaignViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OperatorViewSet):
    """Matrices of benchmark runs."""

    serializer_class = CampaignSerializer
    queryset = Campaign.objects.select_related("host", "pool", "owner", "case_study", "replicates")

    @extend_schema(
        operation_id="campaigns_create",
        tags=[CAMPAIGNS],
        request=CampaignFieldsSerializer,
        responses={201: CampaignSerializer},
    )
    def create(self, request: Request) -> Response:
        """Plan a campaign. 400 says everything that keeps the host from running it."""
        form = _campaign_form(request)
        campaign = control.create(form.instance, user=user_of(request))
        headers = {"Location": reverse("v1:campaign-detail", [campaign.slug], request=request)}
        return Response(self.get_serializer(campaign).data, status=status.HTTP_201_CREATED, headers=headers)

    @extend_schema(
        operation_id="campaigns_estimate",
        tags=[CAMPAIGNS],
        request=CampaignFieldsSerializer,
        responses=shape_of(checks.Estimate),
    )
    @action(detail=False, methods=["post"])
    def estimate(self, request: Request) -> Response:
        """Return the time, the space and every step of a plan: a dry run, which stores nothing."""
        return Response(shape_of(checks.Estimate)(checks.estimate(_campaign_form(request).instance)).data)

    @extend_schema(
        operation_id="campaigns_replicate",
        tags=[CAMPAIGNS],
        request=ReplicationFieldsSerializer,
        responses=dict.fromkeys((200, 201), shape_of(replication.Replication)),
    )
    @action(detail=False, methods=["post"])
    def replicate(self, request: Request) -> Response:
        """Plan a published case study's matrix on a host, and say what cannot be done there, and why."""
        data = fields_of(request, ReplicationFieldsSerializer)
        host, pool = _host_and_pool(request, data)
        case_study = replication.published(data.get("case_study", ""))
        campaigns, outline = replication.prepare(host, case_study, pool, short=data.get("short", False))
        return _planned(request, data, campaigns, outline, case_study.slug)

    @extend_schema(
        operation_id="campaigns_study",
        request=StudyFieldsSerializer,
        responses=dict.fromkeys((200, 201), shape_of(planning.KitPlan)),
        tags=[CAMPAIGNS],
    )
    @action(detail=False, methods=["post"])
    def study(self, request: Request) -> Response:
        """Plan a kit on a host, and say what cannot be done there, and why."""
        data = fields_of(request, StudyFieldsSerializer)
        host, pool = _host_and_pool(request, data)
        kit = definitions.named(data.get("kit", ""))
        campaigns, outline = planning.prepare(host, kit, pool, short=data.get("short", False))
        return _planned(request, data, campaigns, outline, outline.kit)

    @extend_schema(operation_id="campaigns_draft", tags=[CAMPAIGNS], request=None, responses={201: FiledSerializer})
    @action(detail=True, methods=["post"])
    def draft(self, request: Request, slug: str) -> Response:
        """File what is done as a draft case study."""
        campaign = self.to_change()
        draft, batch = drafts.create_draft(campaign, user=user_of(request))
        return Response({"case_study": draft.slug, "import_id": batch.pk}, status=status.HTTP_201_CREATED)

    removal = removal_action(
        *(CAMPAIGNS, "campaigns", deletion.campaign_deletion, deletion.remove_campaign),
        "Say what becomes of a campaign, its runs and outputs if it is taken away; take it away where posted.",
    )

    @extend_schema(operation_id="campaigns_runs", tags=[CAMPAIGNS], responses=RunSerializer(many=True))
    @action(detail=True, methods=["get"], serializer_class=RunSerializer)
    def runs(self, request: Request, slug: str) -> Response:
        """Return the campaign's runs, in their order."""
        runs = self.get_object().runs.select_related("repeats", "repeated_by").prefetch_related("artifacts")
        runs = runs.order_by("pk")
        return self.get_paginated_response(RunSerializer(self.paginate_queryset(runs), many=True).data)

    @extend_schema(operation_id="campaigns_plan", tags=[CAMPAIGNS], responses=PlanSerializer)
    @action(detail=True, methods=["get"])
    def plan(self, request: Request, slug: str) -> Response:
        """Return what is compared and how, without where: to be kept, changed, and run on another host."""
        return Response(plans.document(self.get_object()))

    @extend_schema(operation_id="campaigns_deviations", tags=[CAMPAIGNS], responses=DeviationsSerializer)
    @action(detail=True, methods=["get"])
    def deviations(self, request: Request, slug: str) -> Response:
        """Return where what ran differs from the plan: cells without all repetitions, conditions that changed; and the
        cells whose figures look like no disk's."""
        campaign = self.get_object()
        runs = list(campaign.runs.select_related("repeated_by"))
        flagged = flagged_cells(campaign, runs)
        return Response({"deviations": plans.deviations(campaign, runs), "flagged": flagged})

    @extend_schema(operation_id="campaigns_retry", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"], url_path="runs/<int:position>/retry")
    def retry(self, request: Request, slug: str, position: int) -> Response:
        """Do one run again; what it measured counts until the new is done. One that waits goes on, where the campaign
        was paused."""
        run = self._run(position)
        control.retry(run.campaign, run)
        return self._shown(run.campaign)

    @extend_schema(operation_id="campaigns_retry_cell", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"], url_path="runs/<int:position>/retry-cell")
    def retry_cell(self, request: Request, slug: str, position: int) -> Response:
        """Do all repetitions of this run's cell again; what they measured counts until the new are done."""
        run = self._run(position)
        control.retry_cell(run.campaign, run)
        return self._shown(run.campaign)

    def _run(self, position: int) -> CampaignRun:
        run = self.to_change().runs.filter(position=position).first()
        if run is None:
            raise FaultyRequest([{"field": "position", "message": "There is no such run."}], 404)
        return run

    def to_change(self) -> Campaign:
        campaign = self.get_object()
        if not permissions.may_steer(self.request.user, campaign):
            raise PermissionDenied
        return campaign

    def perform_action(self, name: str) -> Response:
        """Do one of CAMPAIGN_ACTIONS."""
        campaign = self.get_object()
        perform(CAMPAIGN_ACTIONS[name], self.request, campaign)
        return self._shown(campaign)

    def _shown(self, campaign: Campaign) -> Response:
        return Response(CampaignSerializer(get_object_or_404(self.get_queryset(), pk=campaign.pk)).data)


add_actions(CampaignViewSet, CAMPAIGNS, CAMPAIGN_ACTIONS)


class ArtifactViewSet(OperatorViewSet):
    """The outputs that runs left."""

    host = "run__campaign__host"
    queryset = RunArtifact.objects.all()
    serializer_class = ArtifactSerializer

    @extend_schema(
        operation_id="campaign_outputs_content",
        tags=[CAMPAIGNS],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def content(self, request: Request, pk: int) -> HttpResponse:
        """Return the output of one run, byte for byte."""
        artifact = self.get_queryset().filter(pk=pk).first()
        if artifact is None:
            raise FaultyRequest([{"field": "id", "message": "There is no such output."}], 404)
        return artifact_response(artifact)


def _campaign_form(request: Request) -> CampaignForm:
    data = fields_of(request, CampaignFieldsSerializer)
    if "format" in data:  # a document from before the protocol has no word of it, as plans.read_document says
        data.setdefault("follows_protocol", False)
    if (format_given := data.pop("format", FORMAT)) != FORMAT:
        raise FaultyRequest(
            [{"field": "format", "message": f"{format_given!r:.60} is no format.", "allowed": [FORMAT]}]
        )
    host, pool = _host_and_pool(request, data)
    data |= {"host": host.pk, **({"pool": pool.pk} if pool else {})}
    form = plans.plan_form(data, user=request.user)
    refuse_faults(form)
    return form


def _planned(
    request: Request, data: dict[str, Any], campaigns: Any, outline: replication.Outline, what: str
) -> Response:
    """Create the campaigns, unless it is a dry run, and return their outline."""
    if is_made := not data.get("dry_run"):
        replication.create(campaigns, outline, what, user=user_of(request))
    kind: Any = type(outline)
    return Response(shape_of(kind)(outline).data, status=201 if is_made else 200)


def _host_and_pool(request: Request, data: dict[str, Any]) -> tuple[Host, StoragePool | None]:
    """Return the user's host and its pool that the body names. Raises FaultyRequest."""
    candidates = permissions.hosts_visible_to(request.user).filter(runs_on=None, archived_at=None)
    host, path = candidates.filter(slug=data.get("host")).first(), data.get("pool")
    if host is None:
        raise FaultyRequest([{"field": "host", "message": "There is no such host.", "allowed": _slugs(candidates)}])
    pool = None if path is None else host.pools.filter(path=path).first()
    if path is not None and pool is None:
        allowed = list(host.pools.values_list("path", flat=True))
        raise FaultyRequest([{"field": "pool", "message": f"{host} has no such pool.", "allowed": allowed}])
    return host, pool


def _key_of(queryset: QuerySet[Any], slug: Any, field: str) -> int | None:
    if slug in (None, ""):
        return None
    entry = queryset.filter(slug=slug).first()
    if entry is None:
        raise FaultyRequest([{"field": field, "message": "There is no such entry.", "allowed": _slugs(queryset)}])
    return entry.pk


def _slugs(queryset: QuerySet[Any]) -> list[str]:
    return list(queryset.order_by("slug").values_list("slug", flat=True)[:100])
