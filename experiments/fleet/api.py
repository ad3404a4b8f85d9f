"""The API of observed hosts, for operators and their programs (scope `campaign`)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from django.utils.timezone import now
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.campaigns.api import OfHosts, OperatorViewSet, listed, removal_action
from experiments.campaigns.deletion import forget_observed, observation_deletion
from experiments.laboratory.transport.counters import NAMES
from experiments.models import Host, ObservedDisk, ObservedMachine, ObservedPool
from experiments.records.api.serializers import ReadSerializer, Slug
from kdb.accounts.users import user_of
from kdb.api.bodies import Fields, FormFields, fields_of
from kdb.api.errors import refuse_faults
from kdb.api.faults import FaultyRequest
from kdb.web.form_types import ModelForm

from . import actions, selectors
from .forms import MachineForm, ObserveForm, PoolForm

TAG = "observation"
Handler = TypeVar("Handler", bound=Callable[..., Any])
MAX_AGES = {"minute": timedelta(hours=6), "hour": timedelta(days=31), "day": timedelta(days=1830)}


def documented(operation: str, **options: Any) -> Callable[[Handler], Handler]:
    """Document an operation with this module's tag. options : of extend_schema"""
    return extend_schema(operation_id=operation, tags=[TAG], **options)


class ObservedHostSerializer(ReadSerializer):
    """A host, and whether the disks of its virtual machines are watched."""

    class Meta:
        model = Host
        fields = ("slug", "is_observed", "observed_every", "observed_at", "observation_error")


class ObserveSerializer(FormFields):
    """The interval between two looks at a host's machines."""

    form = ObserveForm
    fills_in = True
    about = {"every": "s between two looks; 10 unless said."}


class ObservedPoolSerializer(ReadSerializer):
    """A place on a host where images of virtual machines lie or could lie."""

    host = Slug("host.slug")

    class Meta:
        model = ObservedPool
        fields = (
            *("id", "host", "path", "name", "backend", "host_fs", "storage_kind", "size_bytes", "free_bytes"),
            *("seen_at", "is_target", "reserve_bytes", "most_load"),
        )


class PoolChangeSerializer(FormFields):
    """A change of a pool; what is left out stays as it is."""

    form = PoolForm
    about = {"is_target": "Machines may be moved there.", "reserve_bytes": "That stay free whatever is planned."}

    most_load = serializers.FloatField(required=False, allow_null=True, help_text="MiB/s of all its machines together.")


class ObservedDiskSerializer(ReadSerializer):
    pool = serializers.IntegerField(source="pool_id", allow_null=True, read_only=True, help_text="Its id.")

    class Meta:
        model = ObservedDisk
        fields = (
            *("target", "pool", "path", "image_format", "allocation", "cache_mode", "has_backing_chain"),
            *("size_bytes", "allocated_bytes", "seen_at", "slow_since"),
        )


class ObservedMachineSerializer(ReadSerializer):
    """A virtual machine of an observed host."""

    host = Slug("host.slug")
    disks = ObservedDiskSerializer(many=True, read_only=True)

    class Meta:
        model = ObservedMachine
        fields = (
            *("id", "host", "uuid", "name", "is_running", "guest_fs", "guest_fs_source", "first_seen_at", "seen_at"),
            *("is_pinned", "apart", "together", "disks"),
        )


class MachineChangeSerializer(FormFields):
    """A change of a machine; what is left out stays as it is."""

    form = MachineForm
    about = {
        "guest_fs": "Slug; empty: to be found out again.",
        "apart": "Of machines with this name no two in one pool.",
        "together": "Machines with this name stay in one pool.",
    }


class SumsSerializer(Fields):
    """The work of all disks of a machine in a span of time."""

    starts_at = serializers.DateTimeField()
    seconds = serializers.FloatField(help_text="That were watched.")
    busy_seconds = serializers.FloatField(help_text="Of these, in which anything was done.")
    reads = serializers.IntegerField(help_text="Requests.")
    read_bytes = serializers.IntegerField()
    read_seconds = serializers.FloatField(help_text="Summed over requests.")
    writes = serializers.IntegerField(help_text="Requests.")
    write_bytes = serializers.IntegerField()
    write_seconds = serializers.FloatField(help_text="Summed over requests.")
    flushes = serializers.IntegerField(help_text="Requests.")
    flush_seconds = serializers.FloatField(help_text="Summed over requests.")


class StatisticsSerializer(Fields):
    span = serializers.ChoiceField(choices=list(MAX_AGES))
    rows = SumsSerializer(many=True)


class _ChangeableViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OperatorViewSet):
    """Views of rows of a host, which its group may change."""

    lookup_field = "pk"
    lookup_value_converter = "int"
    form: type[ModelForm[Any]]
    shape: type[Fields]
    change_row: Any

    def change(self, request: Request) -> Response:
        row = self.get_object()
        given = fields_of(request, self.shape)
        assert isinstance(request.data, dict)  # or it was refused
        cleared = [name for name, value in request.data.items() if value is None]
        kept = {name: getattr(row, name) for name in self.shape().get_fields() if name not in cleared}
        form = self.form({**kept, **given}, instance=row)
        refuse_faults(form)
        changes = {name: form.cleaned_data[name] for name in (*given, *cleared)}
        type(self).change_row(self.get_object(), changes, user=user_of(request))
        return Response(self.get_serializer(self.get_object()).data)


@listed(TAG, "observed_hosts")
class ObservedHostViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OfHosts):
    """Hosts, and whether the disks of their virtual machines are watched."""

    serializer_class = ObservedHostSerializer
    queryset = Host.objects.order_by("slug")

    @documented("observed_hosts_turn_on", request=ObserveSerializer, responses=ObservedHostSerializer)
    @action(detail=True, methods=["post"], url_path="turn-on")
    def turn_on(self, request: Request, slug: str) -> Response:
        """Watch its virtual machines from now on, and list them and the pools at once."""
        host = self.get_object()
        form = ObserveForm({"every": host.observed_every, **fields_of(request, ObserveSerializer)})
        refuse_faults(form)
        actions.turn_on(host, user=user_of(request), **form.cleaned_data)
        return Response(self.get_serializer(self.get_object()).data)

    @documented("observed_hosts_turn_off", request=None, responses=ObservedHostSerializer)
    @action(detail=True, methods=["post"], url_path="turn-off")
    def turn_off(self, request: Request, slug: str) -> Response:
        """Stop watching; the statistics stay until they expire."""
        actions.turn_off(self.get_object(), user=user_of(request))
        return Response(self.get_serializer(self.get_object()).data)

    removal = removal_action(
        *(TAG, "observed_hosts", observation_deletion, forget_observed),
        "Say what becomes of what was observed if it is forgotten; forget it where posted.",
    )


@listed(TAG, "observed_pools")
class ObservedPoolViewSet(_ChangeableViewSet):
    """Places where images of observed machines lie or could lie."""

    serializer_class = ObservedPoolSerializer
    queryset = ObservedPool.objects.select_related("host")
    form, shape, change_row = PoolForm, PoolChangeSerializer, actions.change_pool

    @documented("observed_pools_change", request=PoolChangeSerializer, responses=ObservedPoolSerializer)
    def partial_update(self, request: Request, pk: int) -> Response:
        """Say whether machines may be moved there, what stays free, and what load it carries."""
        return self.change(request)


@listed(TAG, "observed_machines")
class ObservedMachineViewSet(_ChangeableViewSet):
    """Virtual machines of observed hosts."""

    serializer_class = ObservedMachineSerializer
    queryset = ObservedMachine.objects.select_related("host").prefetch_related("disks")
    form, shape, change_row = MachineForm, MachineChangeSerializer, actions.change_machine

    @documented("observed_machines_change", request=MachineChangeSerializer, responses=ObservedMachineSerializer)
    def partial_update(self, request: Request, pk: int) -> Response:
        """State its file system, pin it, keep it apart from others or together with them."""
        return self.change(request)

    @documented(
        "observed_machines_statistics",
        parameters=[
            OpenApiParameter(
                "span", enum=list(MAX_AGES), description="By what: minute (6 hours), hour (31 days) or day."
            )
        ],
        responses=StatisticsSerializer,
    )
    @action(detail=True, methods=["get"])
    def statistics(self, request: Request, pk: int) -> Response:
        """Return the work of the machine's disks by span, oldest first."""
        span = request.query_params.get("span", "hour")
        if span not in MAX_AGES:
            raise FaultyRequest([{"field": "span", "message": f"There is no {span!r}.", "allowed": list(MAX_AGES)}])
        rows = [
            {
                **{"starts_at": starts_at, "seconds": activity.seconds, "busy_seconds": activity.busy_seconds},
                **{name: getattr(activity.counts, name) for name in NAMES},
            }
            for starts_at, activity in selectors.activity_by_span(self.get_object(), span, now() - MAX_AGES[span])
        ]
        return Response(StatisticsSerializer({"span": span, "rows": rows}).data)
