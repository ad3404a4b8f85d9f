"""Hosts and campaigns, for operators and their programs (scope `campaign`)."""

from functools import cached_property
from typing import Any

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

from experiments import permissions, visible
from experiments.api.serializers import ReadSerializer, Slug
from experiments.case_studies.api import Conflict, OwnedViewSet
from experiments.laboratory.targets import disks
from experiments.models import Campaign, CampaignRun, Host, Hypervisor, RunArtifact, StoragePool
from kdb.accounts.users import user_of
from kdb.api.bodies import TEXT_AREA, Fields, FormFields, fields_of
from kdb.api.errors import refuse_faults
from kdb.api.faults import FaultyRequest

from . import checks, cleanup, control, drafts, groups, hosts, nightly, plans, statements
from . import deletion as removals
from .downloads import artifact_response
from .forms import CampaignForm, HostForm, NightlyForm, OperatorsForm, TopUpForm
from .inputs import (
    FORMAT,
    CampaignFieldsSerializer,
    HostFieldsSerializer,
    NightlySerializer,
    PlanSerializer,
    TopUpSerializer,
    disk_fields,
)

HOSTS, CAMPAIGNS = "hosts", "campaigns"


class OperatorViewSet(OwnedViewSet):
    """Views for operators, of rows that belong to hosts of theirs. host : the lookup from a row to its host"""

    host = "host"
    lookup_field = "slug"
    lookup_value_converter = "slug"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not permissions.may_operate(request.user):
            raise PermissionDenied

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


class FingerprintSerializer(Fields):
    fingerprint = serializers.CharField(help_text='"SHA256:...", or "AB:CD:..." of a certificate; as read on the host.')


class RemovalSerializer(Fields):
    """A removal says what becomes of everything. Case studies that were filed stay as they are."""

    deed = serializers.CharField(help_text="delete, archive, or forget what was observed; post it to have it done.")
    becomes = serializers.ListField(child=serializers.CharField(), help_text="A sentence for each kind of thing.")


class DeedSerializer(Fields):
    deed = serializers.CharField(help_text="As the removal says; 409 where that would be something else by now.")


def removal_action(tag: str, prefix: str, becomes: Any, remove: Any, words: str) -> Any:
    """Return the action of a viewset by which its objects are taken away, after it was said what becomes of them.

    prefix : of the names of its two operations; words : what they are documented with
    becomes : returns the Removal of an object; remove : does it
    """

    shown: dict[str, Any] = {"tags": [tag], "description": words, "responses": RemovalSerializer}

    @extend_schema(operation_id=f"{prefix}_removal", methods=["get"], **shown)
    @extend_schema(operation_id=f"{prefix}_remove", methods=["post"], request=DeedSerializer, **shown)
    @action(detail=True, methods=["get", "post"])
    def removal(self: Any, request: Request, slug: str) -> Response:
        row = self.to_change()
        try:
            outcome = becomes(row)
            if request.method == "POST":
                remove(row, fields_of(request, DeedSerializer).get("deed"), user=user_of(request))
        except (hosts.HostError, control.CampaignError, removals.Changed) as error:
            raise Conflict(str(error)) from error
        return Response(RemovalSerializer(outcome).data)

    return removal


class OperatorsSerializer(FormFields):
    """The group of a host beside its owner; who is left out is in it no longer."""

    form = OperatorsForm

    operators = serializers.ListField(child=serializers.CharField(max_length=150), max_length=100)


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


class StatementSerializer(Fields):
    text = serializers.CharField(
        style=TEXT_AREA, help_text="All that kdb-facts-esxi.sh or kdb-facts-hyper-v.ps1 printed."
    )


@extend_schema_view(
    list=extend_schema(operation_id="hosts_list", tags=[HOSTS]),
    retrieve=extend_schema(operation_id="hosts_retrieve", tags=[HOSTS]),
)
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
        any_key = permissions.may_use_any_key(request.user)
        try:
            host = hosts.register(
                form.save(commit=False), form.cleaned_data["pools"], user=user_of(request), any_key=any_key
            )
        except hosts.HostError as error:
            raise Conflict(str(error)) from error
        return self._shown(host, status.HTTP_201_CREATED)

    @extend_schema(operation_id="hosts_contact", tags=[HOSTS], request=None, responses={202: HostSerializer})
    @action(detail=True, methods=["post"])
    def contact(self, request: Request, slug: str) -> Response:
        """Have the host's key read."""
        return self._asked(hosts.ask_contact)

    @extend_schema(
        operation_id="hosts_accept_key", tags=[HOSTS], request=FingerprintSerializer, responses={202: HostSerializer}
    )
    @action(detail=True, methods=["post"], url_path="accept-key")
    def accept_key(self, request: Request, slug: str) -> Response:
        """Trust the key with this fingerprint, and check the host."""
        data = fields_of(request, FingerprintSerializer)
        any_key = permissions.may_use_any_key(request.user)
        return self._asked(hosts.accept_key, data.get("fingerprint", ""), any_key=any_key)

    @extend_schema(operation_id="hosts_check", tags=[HOSTS], request=None, responses={202: HostSerializer})
    @action(detail=True, methods=["post"])
    def check(self, request: Request, slug: str) -> Response:
        """Find out what the host is and has; `facts` then says."""
        return self._asked(hosts.ask_check, host=self.get_object())

    @extend_schema(operation_id="hosts_clear", tags=[HOSTS], request=None, responses={202: HostSerializer})
    @action(detail=True, methods=["post"])
    def clear(self, request: Request, slug: str) -> Response:
        """Have what runs left there, and no area knows any more, taken away; `left_overs` then says what stays."""
        return self._asked(cleanup.ask_clear, host=self.get_object())

    @extend_schema(operation_id="hosts_statement", tags=[HOSTS], request=StatementSerializer, responses=HostSerializer)
    @action(detail=True, methods=["post"])
    def statement(self, request: Request, slug: str) -> Response:
        """Keep what a script of ours printed on the hypervisor as stated facts."""
        data = fields_of(request, StatementSerializer)
        return self._asked(statements.take, data.get("text", ""), code=status.HTTP_200_OK)

    @extend_schema(operation_id="hosts_take", tags=[HOSTS], request=None, responses=HostSerializer)
    @action(detail=True, methods=["post"])
    def take(self, request: Request, slug: str) -> Response:
        """Make a host that nobody owns yours; administrators may."""
        host = self.get_object()
        if not permissions.may_take_host(request.user, host):
            raise PermissionDenied
        return self._asked(hosts.take, user=user_of(request), code=status.HTTP_200_OK)

    @extend_schema(operation_id="hosts_runner_token", tags=[HOSTS], request=None, responses={201: RunnerKeySerializer})
    @action(detail=True, methods=["post"], url_path="runner-token")
    def runner_token(self, request: Request, slug: str) -> Response:
        """Make a new token for the host's runner. An earlier one counts no more; this one is shown here only."""
        try:
            key = hosts.make_runner_token(self.to_change(), user=user_of(request))
        except hosts.HostError as error:
            raise Conflict(str(error)) from error
        return Response({"key": key}, status=status.HTTP_201_CREATED)

    removal = removal_action(
        *(HOSTS, "hosts", removals.of_host, removals.remove_host),
        "Say what becomes of a host and its evidence if it is taken away; take it away where posted.",
    )

    @extend_schema(operation_id="hosts_bring_back", tags=[HOSTS], request=None, responses=HostSerializer)
    @action(detail=True, methods=["post"], url_path="bring-back")
    def bring_back(self, request: Request, slug: str) -> Response:
        """Take the host out of the archive."""
        return self._asked(removals.bring_host_back, user=user_of(request), code=status.HTTP_200_OK)

    @extend_schema(operation_id="hosts_operators", tags=[HOSTS], request=OperatorsSerializer, responses=HostSerializer)
    @action(detail=True, methods=["post"])
    def operators(self, request: Request, slug: str) -> Response:
        """Say who else may load the host, move its machines, and stop both; what others began there is cancelled."""
        self.to_change()
        form = OperatorsForm(fields_of(request, OperatorsSerializer))
        refuse_faults(form)
        chosen = form.cleaned_data["operators"]
        return self._asked(groups.choose_operators, chosen, user=user_of(request), code=status.HTTP_200_OK)

    @extend_schema(operation_id="hosts_stop", tags=[HOSTS], request=None, responses=HostSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, slug: str) -> Response:
        """Cancel all campaigns on the host, call off its moves, and watch its machines no longer, whoever began it."""
        return self._asked(groups.stop_everything, user=user_of(request), code=status.HTTP_200_OK)

    def _asked(
        self, step: Any, *args: Any, host: Host | None = None, code: int = status.HTTP_202_ACCEPTED, **kwargs: Any
    ) -> Response:
        host = host or self.to_change()
        try:
            step(host, *args, **kwargs)
        except hosts.HostError as error:
            raise Conflict(str(error)) from error
        return self._shown(host, code)

    def _shown(self, host: Host, code: int) -> Response:
        headers = {"Location": reverse("v1:host-detail", [host.slug], request=self.request)}
        return Response(self.get_serializer(self.get_queryset().get(pk=host.pk)).data, status=code, headers=headers)


class CalibrationSerializer(Fields):
    """The figures of a short reference load on the pool. A figure that is missing could not be measured there."""

    before = serializers.CharField(help_text='"repetition 2", "the repeats"')
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
            *("slug", "title", "state", "state_reason", "look_at", "host", "pool", "driver", "engine"),
            *("host_file_systems", "guest_file_systems", "workloads", "vm_counts", "repetitions", "run_seconds"),
            *("cool_down_seconds", "scale_percent", "disk_mib", "vm_ram_mib", "vm_vcpus", "pinned_cpus"),
            *("precision_percent", "seed"),
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


class StepsSerializer(Fields):
    run = serializers.CharField()
    steps = serializers.ListField(child=serializers.CharField())


class EstimateSerializer(Fields):
    """An estimate of what a plan takes; nothing is stored or done."""

    runs = serializers.IntegerField()
    seconds = serializers.IntegerField()
    pool_mib = serializers.IntegerField(help_text="Needed in the pool at a time.")
    free_mib = serializers.IntegerField(allow_null=True, help_text="Free there at the last check; null: not known.")
    files_mib = serializers.DictField(
        child=serializers.IntegerField(), help_text="Workload to the files that it works on, on each machine."
    )
    left_out = serializers.ListField(
        child=serializers.CharField(), help_text="Of the matrix: which disks on what cannot be run, and why."
    )
    steps = StepsSerializer(many=True)


class FigureSerializer(Fields):
    machine = serializers.IntegerField(help_text="From 1; 0 is the host itself.")
    operation = serializers.CharField()
    throughput_mib_s = serializers.FloatField(allow_null=True)
    ops_per_s = serializers.FloatField(allow_null=True)
    latency_ms = serializers.FloatField(allow_null=True)
    duration_s = serializers.FloatField(allow_null=True)


class CurveSerializer(Fields):
    """The throughput that the benchmark read and wrote at over the time of the run."""

    machine = serializers.IntegerField(help_text="From 1; 0 is the host itself.")
    until_s = serializers.ListField(child=serializers.FloatField(), help_text="Ends of the intervals.")
    mib_s = serializers.ListField(child=serializers.FloatField(), help_text="Of each interval.")
    warm_up_intervals = serializers.IntegerField(
        allow_null=True, help_text="That are warm-up; null: no steady part is seen."
    )


class ArtifactSerializer(Fields):
    id = serializers.IntegerField()
    attempt = serializers.IntegerField()
    name = serializers.CharField()
    sha256 = serializers.CharField()


class RunSerializer(ReadSerializer):
    """One run of a campaign."""

    disk = serializers.SerializerMethodField(help_text="Of what its campaign varies of the virtual disks.")
    figures = FigureSerializer(many=True, read_only=True)
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)
    repeats = serializers.IntegerField(
        source="repeats.position",
        default=None,
        allow_null=True,
        read_only=True,
        help_text="Position of the run that this one is done for once more; it counts until this one is done.",
    )
    curves = CurveSerializer(many=True, read_only=True, allow_null=True, help_text="One a machine; null: not kept.")
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
        return disks.read(run.disk)


class FiledSerializer(Fields):
    case_study = serializers.CharField()
    import_id = serializers.IntegerField(help_text="The import that files its figures.")


@extend_schema_view(
    list=extend_schema(operation_id="campaigns_list", tags=[CAMPAIGNS]),
    retrieve=extend_schema(operation_id="campaigns_retrieve", tags=[CAMPAIGNS]),
)
class CampaignViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OperatorViewSet):
    """Matrices of benchmark runs."""

    serializer_class = CampaignSerializer
    queryset = Campaign.objects.select_related("host", "pool", "owner", "case_study")

    @extend_schema(
        operation_id="campaigns_create",
        tags=[CAMPAIGNS],
        request=CampaignFieldsSerializer,
        responses={201: CampaignSerializer},
    )
    def create(self, request: Request) -> Response:
        """Plan a campaign. 400 says everything that keeps the host from running it."""
        form = _campaign_form(request)
        campaign = _or_conflict(control.create, form.instance, user=user_of(request))
        headers = {"Location": reverse("v1:campaign-detail", [campaign.slug], request=request)}
        return Response(self.get_serializer(campaign).data, status=status.HTTP_201_CREATED, headers=headers)

    @extend_schema(
        operation_id="campaigns_estimate",
        tags=[CAMPAIGNS],
        request=CampaignFieldsSerializer,
        responses=EstimateSerializer,
    )
    @action(detail=False, methods=["post"])
    def estimate(self, request: Request) -> Response:
        """Return the time, the space and every step of a plan: a dry run, which stores nothing."""
        estimate = checks.estimate(_campaign_form(request).instance)
        steps = [{"run": words, "steps": steps} for words, steps in estimate.steps]
        return Response(EstimateSerializer({**vars(estimate), "steps": steps}).data)

    @extend_schema(operation_id="campaigns_start", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def start(self, request: Request, slug: str) -> Response:
        """Start the campaign, or let it go on."""
        return self._steered(control.start)

    @extend_schema(operation_id="campaigns_pause", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, slug: str) -> Response:
        """Begin no further run; the one under way goes on."""
        return self._steered(control.pause, campaign=self.get_object())

    @extend_schema(operation_id="campaigns_cancel", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, slug: str) -> Response:
        """Give up what waits, and end the run under way."""
        return self._steered(control.cancel, campaign=self.get_object())

    @extend_schema(
        operation_id="campaigns_top_up", tags=[CAMPAIGNS], request=TopUpSerializer, responses=CampaignSerializer
    )
    @action(detail=True, methods=["post"], url_path="top-up")
    def top_up(self, request: Request, slug: str) -> Response:
        """Add repetitions of every cell."""
        form = TopUpForm(fields_of(request, TopUpSerializer))
        refuse_faults(form)
        return self._steered(control.top_up, form.cleaned_data["repetitions"])

    @extend_schema(
        operation_id="campaigns_nightly", tags=[CAMPAIGNS], request=NightlySerializer, responses=CampaignSerializer
    )
    @action(detail=True, methods=["post"])
    def nightly(self, request: Request, slug: str) -> Response:
        """Measure one more repetition of every cell each night, from tomorrow on at this time; without `minutes`, no
        more.
        """
        form = NightlyForm(fields_of(request, NightlySerializer))
        refuse_faults(form)
        return self._steered(nightly.repeat, form.cleaned_data["minutes"])

    @extend_schema(operation_id="campaigns_draft", tags=[CAMPAIGNS], request=None, responses={201: FiledSerializer})
    @action(detail=True, methods=["post"])
    def draft(self, request: Request, slug: str) -> Response:
        """File what is done as a draft case study."""
        campaign = self.to_change()
        draft, batch = _or_conflict(drafts.make, campaign, user=user_of(request))
        return Response({"case_study": draft.slug, "import_id": batch.pk}, status=status.HTTP_201_CREATED)

    removal = removal_action(
        *(CAMPAIGNS, "campaigns", removals.of_campaign, removals.remove_campaign),
        "Say what becomes of a campaign, its runs and outputs if it is taken away; take it away where posted.",
    )

    @extend_schema(operation_id="campaigns_bring_back", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"], url_path="bring-back")
    def bring_back(self, request: Request, slug: str) -> Response:
        """Take the campaign out of the archive."""
        return self._steered(removals.bring_campaign_back, user=user_of(request))

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
        """Return where what ran differs from the plan: cells without all repetitions, conditions that changed."""
        campaign = self.get_object()
        return Response({"deviations": plans.deviations(campaign, list(campaign.runs.all()))})

    @extend_schema(operation_id="campaigns_retry", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"], url_path="runs/<int:position>/retry")
    def retry(self, request: Request, slug: str, position: int) -> Response:
        """Do one run again; what it measured counts until the new is done."""
        return self._steered(control.retry, self._run(position))

    @extend_schema(operation_id="campaigns_retry_cell", tags=[CAMPAIGNS], request=None, responses=CampaignSerializer)
    @action(detail=True, methods=["post"], url_path="runs/<int:position>/retry-cell")
    def retry_cell(self, request: Request, slug: str, position: int) -> Response:
        """Do all repetitions of this run's cell again; what they measured counts until the new are done."""
        return self._steered(control.retry_cell, self._run(position))

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

    def _steered(self, step: Any, *args: Any, campaign: Campaign | None = None, **kwargs: Any) -> Response:
        campaign = campaign or self.to_change()
        _or_conflict(step, campaign, *args, **kwargs)
        return Response(CampaignSerializer(get_object_or_404(self.get_queryset(), pk=campaign.pk)).data)


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
    if (format_given := data.pop("format", FORMAT)) != FORMAT:
        raise FaultyRequest(
            [{"field": "format", "message": f"{format_given!r:.60} is no format.", "allowed": [FORMAT]}]
        )
    candidates = permissions.hosts_visible_to(request.user).filter(runs_on=None, archived_at=None)
    host = candidates.filter(slug=data.get("host")).first()
    if host is None:
        raise FaultyRequest(
            [
                {
                    "field": "host",
                    "message": "There is no such host.",
                    "allowed": _slugs(candidates),
                }
            ]
        )
    data["host"] = host.pk
    if (path := data.pop("pool", None)) is not None:
        pool = host.pools.filter(path=path).first()
        if pool is None:
            allowed = list(host.pools.values_list("path", flat=True))
            raise FaultyRequest([{"field": "pool", "message": f"{host} has no such pool.", "allowed": allowed}])
        data["pool"] = pool.pk
    form = plans.form_of(data, user=request.user)
    refuse_faults(form)
    return form


def _key_of(queryset: QuerySet[Any], slug: Any, field: str) -> int | None:
    if slug in (None, ""):
        return None
    entry = queryset.filter(slug=slug).first()
    if entry is None:
        raise FaultyRequest([{"field": field, "message": "There is no such entry.", "allowed": _slugs(queryset)}])
    return entry.pk


def _slugs(queryset: QuerySet[Any]) -> list[str]:
    return list(queryset.order_by("slug").values_list("slug", flat=True)[:100])


def _or_conflict(step: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return step(*args, **kwargs)
    except control.CampaignError as error:
        raise Conflict(str(error)) from error
