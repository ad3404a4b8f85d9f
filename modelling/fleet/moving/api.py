"""Plans, moves and policies, for operators and their programs (scope `campaign`); the score of the advice, for all."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.forms import DateField
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from experiments import permissions
from experiments.campaigns.api import OperatorViewSet, listed
from experiments.models import Host, HostAuditEntry, ObservedMachine
from experiments.records.api.serializers import ReadSerializer, Slug
from kdb.accounts.users import user_of
from kdb.api.bodies import Fields, fields_of
from kdb.api.errors import refuse_faults
from kdb.api.faults import FaultyRequest
from kdb.api.public import PublicView
from modelling.estimation.verdict import STRENGTHS
from modelling.evidence import names
from modelling.fleet.placement.selectors import Rules
from modelling.models import Laboratory, PlacementMove, PlacementPlan, PlacementPolicy
from modelling.own_lab.selectors import laboratories_of, laboratory_of

from . import manual, moves, outcomes, plans, policies, trail

TAGS = ["placement"]
TRAIL_FILTERS = [
    OpenApiParameter(name, date if isinstance(field, DateField) else str, description=f"{field.label}.")
    for name, field in trail.TrailForm.base_fields.items()
]
Handler = TypeVar("Handler", bound=Callable[..., Any])


def documented(operation: str, **options: Any) -> Callable[[Handler], Handler]:
    """Document an operation of this room. options : as of extend_schema"""
    return extend_schema(operation_id=f"placement_{operation}", tags=TAGS, **options)


class PlacementPlanSerializer(ReadSerializer):
    """A plan for the machines that were seen on some hosts."""

    hosts: serializers.SlugRelatedField[Host] = serializers.SlugRelatedField(
        slug_field="slug", many=True, read_only=True
    )
    rules = serializers.DictField(read_only=True, help_text="What a move must promise.")
    content = serializers.DictField(
        read_only=True,
        help_text="`machines` with what to do and why, `pools`, `not_planned`, `to_measure`, `counted`, `gain` and "
        "its `bound`.",
    )
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True, read_only=True)

    class Meta:
        model = PlacementPlan
        fields = ("id", "hosts", "rules", "content", "revision", "model", "made_by", "made_at")


class RulesSerializer(Fields):
    """The rules that a move must meet; what is left out is as in docs/placement.md."""

    margin = serializers.FloatField(required=False, min_value=0, max_value=0.9)
    least_gaining = serializers.FloatField(required=False, min_value=0, max_value=1)
    most_losing = serializers.FloatField(required=False, min_value=0, max_value=1)
    least_strength = serializers.ChoiceField(required=False, choices=STRENGTHS)
    horizon = serializers.FloatField(required=False, min_value=1, max_value=1e10, help_text="s")
    copy_rate = serializers.FloatField(required=False, min_value=1, max_value=1e15, help_text="Bytes a second.")
    slowdown = serializers.FloatField(required=False, min_value=0, max_value=1)


class PlacementPlanFieldsSerializer(Fields):
    """A plan as it is asked for."""

    hosts = serializers.ListField(child=serializers.SlugField(max_length=60), min_length=1, max_length=1_000)
    rules = RulesSerializer(required=False)


class MachinesSerializer(Fields):
    machines = serializers.ListField(
        child=serializers.CharField(max_length=500),
        min_length=1,
        max_length=10_000,
        help_text="As the plan names them.",
    )


class PlacementMoveSerializer(ReadSerializer):
    """One disk on its way, or moved."""

    host = Slug("host.slug")
    plan = serializers.IntegerField(source="plan_id", allow_null=True, read_only=True)
    back_of = serializers.IntegerField(source="back_of_id", allow_null=True, read_only=True)
    asked_by = serializers.CharField(source="asked_by.username", default=None, allow_null=True, read_only=True)
    approved_by = serializers.CharField(source="approved_by.username", default=None, allow_null=True, read_only=True)
    runs_from = serializers.ChoiceField(choices=["old", "new", ""], read_only=True)
    outcome = serializers.DictField(read_only=True, help_text="Before against after; {} before it was worked out.")
    warnings = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = PlacementMove
        fields = (
            *("id", "plan", "back_of", "host", "machine_uuid", "machine_name", "disk", "old_path", "new_path"),
            *("size_bytes", "revision", "model", "state", "runs_from", "is_called_off", "step", "reason"),
            *("left_over", "warnings", "done_bytes", "copy_seconds", "asked_by", "asked_at", "started_at"),
            *("approved_by", "switched_at", "keep_until", "finished_at", "outcome"),
        )


class DiskToMoveSerializer(Fields):
    """A disk, and where it is to go; both named as plans name them."""

    disk = serializers.CharField(
        max_length=500, help_text="kvm-1/mail-1:vda; of a machine with one disk kvm-1/mail-1 is enough."
    )
    pool = serializers.CharField(max_length=500, help_text="kvm-1/srv/xfs; or what libvirt calls it, kvm-1/fast.")


class PoolToEmptySerializer(Fields):
    """A pool, and where everything on it is to go."""

    pool = serializers.CharField(max_length=500, help_text="kvm-1/srv/old")
    to = serializers.CharField(
        required=False, max_length=500, help_text="Without it each disk goes where there is most room."
    )


class EmptiedSerializer(Fields):
    moves = PlacementMoveSerializer(many=True, read_only=True)
    stay = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="A sentence for each disk that stays."
    )


class PolicySerializer(serializers.ModelSerializer[PlacementPolicy]):
    """The policy of a host: what may be done on it without being asked for."""

    laboratory = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="One of yours, whose runs on its pools count in plans; these its members alone see. Empty: none.",
    )

    class Meta:
        model = PlacementPolicy
        fields = (
            *("mode", "least_gaining", "least_gain", "most_moves_a_day", "copy_rate_mib", "keeps_days", "removes_kept"),
            *("second_person", "laboratory"),
        )

    def validate_laboratory(self, slug: str) -> Laboratory | None:
        laboratory = laboratory_of(self.context["request"].user, slug) if slug else None
        if slug and laboratory is None:
            raise serializers.ValidationError("It is none of your laboratories.")
        return laboratory

    def to_representation(self, instance: PlacementPolicy) -> dict[str, Any]:
        """Tell of a laboratory to its members; to others it looks like none."""
        own = instance.laboratory in laboratories_of(self.context["request"].user)
        slug = instance.laboratory.slug if own and instance.laboratory else ""
        return super().to_representation(instance) | {"laboratory": slug}


class StatedMixSerializer(Fields):
    shares = serializers.DictField(
        child=serializers.FloatField(min_value=1e-6, max_value=1e6),
        help_text="Workload to its share; {} takes the statement back.",
    )


def _validate_body(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the body, checked."""
    asked = shape(data=fields_of(request, shape), context={"request": request})
    asked.is_valid(raise_exception=True)
    return dict(asked.validated_data)


def _find_visible(request: Request, field: str, find: Callable[[str], Any], text: str) -> Any:
    """Return what a field names on a host of the user's; on others' there is nothing. Raises FaultyRequest."""
    host, _, inside = text.partition("/")
    try:
        return find(text if permissions.hosts_visible_to(request.user).filter(slug=host).exists() else f"/{inside}")
    except plans.PlacementError as error:
        raise FaultyRequest([{"field": field, "message": str(error)}]) from error


class _PlacementViewSet(OperatorViewSet):
    conflicts = (*OperatorViewSet.conflicts, plans.PlacementError)
    lookup_field = "pk"
    lookup_value_converter = "int"


@listed("placement", "placement_plans")
class PlanViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, _PlacementViewSet):
    """Plans: which machines to move to which pool."""

    serializer_class = PlacementPlanSerializer
    queryset = PlacementPlan.objects.none()

    def get_queryset(self) -> QuerySet[PlacementPlan]:
        """Return the plans that the user may see."""
        return plans.visible_to(self.request.user).select_related("made_by").prefetch_related("hosts")

    @documented("plans_create", request=PlacementPlanFieldsSerializer, responses={201: PlacementPlanSerializer})
    def create(self, request: Request) -> Response:
        """Plan for all machines that were seen on these hosts. Nothing is moved."""
        fields = _validate_body(request, PlacementPlanFieldsSerializer)
        own = permissions.hosts_visible_to(request.user)
        hosts = list(own.filter(slug__in=fields["hosts"], observed_machines__isnull=False).distinct())
        if missing := sorted(set(fields["hosts"]) - {host.slug for host in hosts}):
            raise FaultyRequest(
                [{"field": "hosts", "message": f"{missing[0]} is no host whose machines are observed."}]
            )
        rules = replace(Rules(), **fields.get("rules", {}))
        plan = plans.make_plan(hosts, user=user_of(request), rules=rules)
        headers = {"Location": reverse("v1:placement-plan-detail", [plan.pk], request=request)}
        shown = self.get_serializer(self.get_queryset().get(pk=plan.pk))
        return Response(shown.data, status=status.HTTP_201_CREATED, headers=headers)

    @documented(
        "plans_confirm", request=MachinesSerializer, responses={201: PlacementMoveSerializer(many=True)}, filters=False
    )
    @action(detail=True, methods=["post"], pagination_class=None)
    def confirm(self, request: Request, pk: int) -> Response:
        """Let these machines move, one after another."""
        plan = self.get_object()
        fields = _validate_body(request, MachinesSerializer)
        made = moves.confirm(plan, fields["machines"], user=user_of(request))
        return Response(PlacementMoveSerializer(made, many=True).data, status=status.HTTP_201_CREATED)


@listed("placement", "placement_moves")
class MoveViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, _PlacementViewSet):
    """Moves: how far they are, from which image machines run, what became of them."""

    serializer_class = PlacementMoveSerializer
    queryset = PlacementMove.objects.select_related("host", "asked_by", "approved_by")

    @documented("moves_create", request=DiskToMoveSerializer, responses={201: PlacementMoveSerializer})
    def create(self, request: Request) -> Response:
        """Let a disk move to a pool, without a plan."""
        fields = _validate_body(request, DiskToMoveSerializer)
        disk = _find_visible(request, "disk", manual.find_disk, fields["disk"])
        pool = _find_visible(request, "pool", manual.find_pool, fields["pool"])
        move = manual.move_disk(disk, pool, user=user_of(request))
        headers = {"Location": reverse("v1:placement-move-detail", [move.pk], request=request)}
        shown = PlacementMoveSerializer(self.get_queryset().get(pk=move.pk)).data
        return Response(shown, status=status.HTTP_201_CREATED, headers=headers)

    @documented("moves_empty", request=PoolToEmptySerializer, responses={201: EmptiedSerializer}, filters=False)
    @action(detail=False, methods=["post"], pagination_class=None)
    def empty(self, request: Request) -> Response:
        """Let every disk on a pool move away; it is no target from then on."""
        fields = _validate_body(request, PoolToEmptySerializer)
        pool = _find_visible(request, "pool", manual.find_pool, fields["pool"])
        to = _find_visible(request, "to", manual.find_pool, fields["to"]) if "to" in fields else None
        made, stay = manual.empty_pool(pool, to, user=user_of(request))
        moves = PlacementMoveSerializer(self.get_queryset().filter(pk__in=[move.pk for move in made]), many=True)
        return Response({"moves": moves.data, "stay": stay}, status=status.HTTP_201_CREATED)

    @documented("moves_approve", request=None, responses=PlacementMoveSerializer)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: int) -> Response:
        """Let a move begin whose host's group wants a second person. Whoever proposed it cannot."""
        return self._done(moves.approve)

    @documented("moves_call_off", request=None, responses=PlacementMoveSerializer)
    @action(detail=True, methods=["post"], url_path="call-off")
    def call_off(self, request: Request, pk: int) -> Response:
        """End the move before it switches."""
        return self._done(moves.call_off)

    @documented("moves_back", request=None, responses=PlacementMoveSerializer)
    @action(detail=True, methods=["post"])
    def back(self, request: Request, pk: int) -> Response:
        """Move the disk back to the pool it came from; the answer is that move."""
        return self._done(moves.move_back)

    @documented("moves_remove_old", request=None, responses=PlacementMoveSerializer)
    @action(detail=True, methods=["post"], url_path="remove-old")
    def remove_old(self, request: Request, pk: int) -> Response:
        """Have the kept old image removed."""
        return self._done(moves.remove_old)

    def _done(self, step: Callable[..., Any]) -> Response:
        move = self.get_object()
        stepped = step(move, user=user_of(self.request)) or move
        return Response(PlacementMoveSerializer(self.get_queryset().get(pk=stepped.pk)).data)


class HostPolicyViewSet(OperatorViewSet):
    """Policies: what may be done on a host without being asked for."""

    host = "pk"
    serializer_class = PolicySerializer
    queryset = Host.objects.select_related("placement_policy")

    @documented("policy_retrieve", responses=PolicySerializer)
    def retrieve(self, request: Request, slug: str) -> Response:
        """Return the policy of a host; advice only where none was set."""
        return Response(self.get_serializer(moves.policy_of(self.get_object())).data)

    @documented("policy_update", request=PolicySerializer, responses=PolicySerializer)
    def update(self, request: Request, slug: str) -> Response:
        """Set the policy; what is left out stays."""
        host = self.get_object()
        policy = moves.policy_of(host)
        for name, value in _validate_body(request, PolicySerializer).items():
            setattr(policy, name, value)
        policies.set_policy(policy, user=user_of(request))
        return Response(self.get_serializer(policy).data)


class StatedMixViewSet(_PlacementViewSet):
    """Mixes of machines as their operators state them."""

    serializer_class = StatedMixSerializer
    queryset = ObservedMachine.objects.select_related("host", "stated_mix")

    @documented("mix_update", request=StatedMixSerializer, responses=StatedMixSerializer)
    def update(self, request: Request, pk: int) -> Response:
        """State the mix; it counts before what is detected."""
        machine = get_object_or_404(self.get_queryset(), pk=pk)
        shares: dict[str, float] = {}
        for name, share in _validate_body(request, StatedMixSerializer)["shares"].items():
            slug = names.slug_for("workload", name)
            if slug is None or slug in shares:
                allowed = list(names.names()["workload"])
                message = "There is no such workload." if slug is None else f"{slug} is given twice."
                raise FaultyRequest([{"field": "shares", "message": message, "allowed": allowed}])
            shares[slug] = share
        plans.state_mix(machine, shares, user=user_of(request))
        return Response({"shares": shares})


class TrailEntrySerializer(Fields):
    """Who did what, when, on which machine."""

    at = serializers.DateTimeField()
    who = serializers.CharField(help_text="User name; empty: a policy, or the command line.")
    what = serializers.CharField()
    host = serializers.CharField(source="where", help_text="Short name; empty: all hosts, or a token.")
    machine = serializers.CharField(help_text="With its disk, where it was a move.")
    move = serializers.IntegerField(source="move_number", allow_null=True)
    detail = serializers.CharField(source="more")


class TrailPages(PageNumberPagination):
    """Pages by number: the entries are of two tables, which have no key in common."""

    page_size = 100


class TrailViewSet(OperatorViewSet):
    """Who did what on your hosts, and with your tokens."""

    queryset = HostAuditEntry.objects.none()
    serializer_class = TrailEntrySerializer
    pagination_class = TrailPages  # type: ignore[assignment]

    @documented("audit_trail", parameters=TRAIL_FILTERS)
    def list(self, request: Request) -> Response:
        """List who did what, when, on which machine, the latest first."""
        form = trail.TrailForm(request.query_params)
        refuse_faults(form, request.query_params, "page")
        page = self.paginate_queryset(trail.entries(request.user, **form.cleaned_data)) or []
        return self.get_paginated_response(self.get_serializer(trail.in_words(page), many=True).data)


class ScoreSerializer(Fields):
    """The score of the advice, by what was observed before and after moves. No part of the published evidence."""

    moves = serializers.IntegerField(help_text="By plans, that have switched.")
    verdicts = serializers.DictField(child=serializers.IntegerField(), help_text="Verdict to number of moves.")
    promised = serializers.FloatField(allow_null=True, help_text="Mean probability of gaining, of those told.")
    kept_share = serializers.FloatField(allow_null=True, help_text="Of those told, that kept their promise.")


class ScoreView(PublicView):
    @documented("outcomes", responses=ScoreSerializer)
    def get(self, request: Request) -> Response:
        """Return the live score of the advice."""
        self.refuse_parameters()
        return Response(outcomes.score())
