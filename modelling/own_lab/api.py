"""Laboratories of one's own and what is measured there, for their members: what `kdb measure` asks."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotAuthenticated, PermissionDenied, Throttled
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from experiments import permissions
from experiments.case_studies.api import Conflict, OwnedViewSet
from experiments.models import ImportBatch
from kdb.accounts.users import user_of
from kdb.api.bodies import Fields, FormFields, fields_of
from kdb.api.errors import form_errors
from kdb.api.faults import FaultyRequest
from kdb.api.shapes import shape_of
from kdb.disk_path import SETTINGS
from kdb.models import ApiToken
from kdb.web.addresses import site_of
from modelling.models import Laboratory, Sitting

from . import laboratories, loads, observed_load, rechecks, sessions, sharing, visitors
from .content import MOST_RUNS, MOST_SET_MIB, SECONDS, Choice, Decision, Like, Load, PlannedRun, Refused
from .forms import LaboratoryForm, MemberForm

TAGS = ["my machine"]
MOST_FACTS = 40
SETTING_NAMES = ("guest_fs", "host_fs", "backend", *SETTINGS)


class LaboratoryFieldsSerializer(FormFields):
    """A laboratory as it is begun."""

    form = LaboratoryForm


class MemberSerializer(FormFields):
    """A further member."""

    form = MemberForm


class LaboratorySerializer(serializers.ModelSerializer[Laboratory]):
    """A laboratory of yours."""

    members: Any = serializers.SlugRelatedField("username", many=True, read_only=True)

    class Meta:
        model = Laboratory
        fields = ("slug", "name", "members")
        read_only_fields = fields


class ChoiceFieldsSerializer(Fields):
    """One of the things that are compared."""

    name = serializers.CharField(max_length=80)
    place = serializers.CharField(max_length=80)
    settings = serializers.DictField(
        child=serializers.CharField(max_length=80), required=False, help_text=f"Of {', '.join(SETTING_NAMES)}."
    )


class RunReportSerializer(Fields):
    """A run says either what it showed or what disturbed it."""

    value = serializers.FloatField(
        required=False, min_value=1e-9, max_value=1e15, help_text="Operations a second; left out where it failed."
    )
    disturbed = serializers.CharField(required=False, max_length=200, help_text="It counts for nothing then.")
    note = serializers.CharField(required=False, max_length=200, help_text="What is to be said of it, on its page.")


class RunMadeSerializer(RunReportSerializer):
    """A run that was made without a server."""

    block = serializers.IntegerField(min_value=1, max_value=200, help_text="Those of one follow one another at once.")
    choice = serializers.CharField(max_length=80, help_text="The name of what it measured.")


class NightFieldsSerializer(Fields):
    """Runs that were planned beforehand and made, of a workload on choices of a machine."""

    machine = serializers.CharField(max_length=80, help_text="As you call it.")
    workload = serializers.ChoiceField(
        choices=list(loads.WORKLOADS),
        error_messages={"invalid_choice": f"Found {{input}}; allowed are {', '.join(loads.WORKLOADS)}."},
    )
    seconds = serializers.IntegerField(min_value=2, max_value=3600, default=SECONDS, help_text="Of one run.")
    set_mib = serializers.IntegerField(
        min_value=0,
        max_value=MOST_SET_MIB,
        default=0,
        help_text="MiB of the files of a run, about; 0, or less than the load has: as it has them.",
    )
    choices = serializers.ListField(child=ChoiceFieldsSerializer(), min_length=1, max_length=sessions.MOST_CHOICES)
    facts = serializers.DictField(child=serializers.CharField(max_length=200), default=dict)
    runs = serializers.ListField(
        child=RunMadeSerializer(), min_length=1, max_length=200, help_text="Sent again they are the same night."
    )


class SittingFieldsSerializer(NightFieldsSerializer):
    """A sitting as it is begun."""

    laboratory = serializers.SlugField(max_length=40, required=False, help_text="Yours; left out without an account.")
    workload = serializers.ChoiceField(
        choices=list(loads.WORKLOADS),
        required=False,
        error_messages={"invalid_choice": f"Found {{input}}; allowed are {', '.join(loads.WORKLOADS)}."},
    )
    like = serializers.CharField(
        max_length=300,
        required=False,
        help_text="In place of a workload: an observed machine that you may see, vm-117 or lab-1/vm-117.",
    )
    most_runs = serializers.IntegerField(min_value=2, max_value=200, default=MOST_RUNS)
    choices = serializers.ListField(child=ChoiceFieldsSerializer(), min_length=2, max_length=sessions.MOST_CHOICES)
    again = serializers.BooleanField(
        default=False,
        help_text="Of these choices, measure the two that led when the machine was last decided, with its seconds.",
    )
    if_changed = serializers.BooleanField(
        default=False,
        help_text="With `again`: only where a fact or setting changed; else the last sitting is answered, with 200.",
    )
    runs = serializers.ListField(
        child=RunMadeSerializer(),
        required=False,
        max_length=200,
        help_text="Made without a server: all there will be. Sent again it is the same sitting.",
    )


class SittingSerializer(serializers.ModelSerializer[Sitting]):
    """A sitting: what is known so far, and what to run next."""

    laboratory = serializers.SlugField(source="laboratory.slug", read_only=True)
    case_study = serializers.SlugField(
        source="case_study.slug", read_only=True, default=None, allow_null=True, help_text="What it was shared as."
    )
    choices = serializers.SerializerMethodField()
    like = shape_of(Like)(allow_null=True, read_only=True)
    load = serializers.SerializerMethodField()
    next = serializers.SerializerMethodField()
    decision = serializers.SerializerMethodField()
    key = serializers.SerializerMethodField(
        help_text="Of a visitor: goes on with it as a bearer token, and is told where it begins; null: told before."
    )
    page = serializers.SerializerMethodField(help_text="Of a visitor: shows it to whoever knows it; else null.")

    class Meta:
        model = Sitting
        fields = (
            *("id", "laboratory", "machine", "workload", "like", "engine", "seconds", "most_runs", "state", "choices"),
            *("created_at", "ended_at", "case_study", "load", "next", "decision", "key", "page"),
        )
        read_only_fields = fields

    def get_key(self, session: Sitting) -> str | None:
        key: str | None = self.context.get("key")
        return key

    def get_page(self, session: Sitting) -> str | None:
        if session.laboratory.expires_at is None:
            return None
        return f"{site_of(self.context['request'])}{reverse('visit', args=[session.laboratory.slug])}"

    @extend_schema_field(shape_of(Choice)(many=True))
    def get_choices(self, session: Sitting) -> Any:
        return [shape_of(Choice)(choice).data for choice in sessions.choices_of(session)]

    @extend_schema_field(shape_of(Load))
    def get_load(self, session: Sitting) -> Any:
        return shape_of(Load)(loads.load_of(session)).data

    @extend_schema_field(shape_of(PlannedRun)(many=True))
    def get_next(self, session: Sitting) -> Any:
        return [shape_of(PlannedRun)(run).data for run in sessions.planned_runs(session)]

    @extend_schema_field(shape_of(Decision))
    def get_decision(self, session: Sitting) -> Any:
        return shape_of(Decision)(sessions.decide(session)).data


class SittingLineSerializer(serializers.ModelSerializer[Sitting]):
    """A sitting in a list."""

    laboratory = serializers.SlugField(source="laboratory.slug", read_only=True)
    like = shape_of(Like)(allow_null=True, read_only=True)

    class Meta:
        model = Sitting
        fields = ("id", "laboratory", "machine", "workload", "like", "state", "created_at", "ended_at")
        read_only_fields = fields


class MayMeasure(BasePermission):
    """Lets members see and do everything in their laboratories, visitors begin a sitting, and its key go on with it."""

    def has_permission(self, request: Request, view: Any) -> bool:
        by_key = isinstance(request.auth, Laboratory) and view.action in ("retrieve", "runs")
        return by_key or request.user.is_authenticated or (view.action == "create" and request.auth is None)


@extend_schema_view(
    list=extend_schema(operation_id="laboratories_list", tags=TAGS),
    retrieve=extend_schema(operation_id="laboratories_retrieve", tags=TAGS),
)
class LaboratoryViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OwnedViewSet):
    """The laboratories that you are a member of."""

    queryset = Laboratory.objects.all()
    serializer_class = LaboratorySerializer
    lookup_field = "slug"

    def get_queryset(self) -> QuerySet[Laboratory]:
        return laboratories.laboratories_of(self.request.user).prefetch_related("members")

    @extend_schema(
        operation_id="laboratories_create",
        tags=TAGS,
        request=LaboratoryFieldsSerializer,
        responses={201: LaboratorySerializer},
    )
    def create(self, request: Request) -> Response:
        """Begin a laboratory; you are its first member."""
        form = LaboratoryForm(fields_of(request, LaboratoryFieldsSerializer))
        if not form.is_valid():
            raise FaultyRequest(form_errors(form))
        with _refusals_as_conflicts():
            laboratory = laboratories.create_laboratory(request.user, **form.cleaned_data)
        return Response(self.get_serializer(laboratory).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="laboratories_members", tags=TAGS, request=MemberSerializer, responses=LaboratorySerializer
    )
    @action(detail=True, methods=["post"])
    def members(self, request: Request, slug: str) -> Response:
        """Let somebody see and add its numbers."""
        laboratory = self.get_object()
        form = MemberForm(fields_of(request, MemberSerializer))
        if not form.is_valid():
            raise FaultyRequest(form_errors(form))
        with _refusals_as_conflicts():
            laboratories.add_member(laboratory, form.cleaned_data["username"], user=user_of(request))
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(operation_id="laboratories_remove_member", tags=TAGS, responses={204: None})
    @action(detail=True, methods=["delete"], url_path="members/<str:username>")
    def member(self, request: Request, slug: str, username: str) -> Response:
        """Let somebody see its numbers no longer. The last member removes the laboratory instead."""
        with _refusals_as_conflicts():
            laboratories.remove_member(self.get_object(), username, user=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="laboratories_remove", tags=TAGS, responses={204: None})
    def destroy(self, request: Request, slug: str) -> Response:
        """Forget all that was measured in it; nobody is a member any more, and its short name stays taken."""
        laboratories.remove_laboratory(self.get_object(), user=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


@extend_schema_view(
    list=extend_schema(operation_id="sittings_list", tags=TAGS, responses=SittingLineSerializer(many=True)),
    retrieve=extend_schema(operation_id="sittings_retrieve", tags=TAGS),
)
class SittingViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OwnedViewSet):
    """Decisions on machines of your laboratories, measured run by run."""

    authentication_classes = [visitors.VisitorAuthentication, *APIView.authentication_classes]
    permission_classes = [MayMeasure]
    queryset = Sitting.objects.all()
    lookup_value_converter = "int"

    def get_serializer_class(self) -> Any:
        return SittingLineSerializer if self.action == "list" else SittingSerializer

    def get_queryset(self) -> QuerySet[Sitting]:
        return Sitting.objects.filter(laboratory__in=_opened_by(self.request)).select_related(
            "laboratory", "started_by", "case_study"
        )

    @extend_schema(
        operation_id="sittings_create",
        tags=TAGS,
        request=SittingFieldsSerializer,
        responses={200: SittingSerializer, 201: SittingSerializer},
    )
    def create(self, request: Request) -> Response:
        """Begin a sitting; the answer says what to run first. Without an account its key goes on with it."""
        asked, choices = _checked_measurement(request, SittingFieldsSerializer)
        is_visitor = not request.user.is_authenticated
        laboratory = _opened_by(request).filter(slug=asked.pop("laboratory", None)).first()
        if is_visitor and "laboratory" in request.data:
            raise NotAuthenticated
        if laboratory is None and not is_visitor:
            raise FaultyRequest([{"field": "laboratory", "message": "You are a member of no laboratory of that name."}])
        runs = asked.pop("runs", [])
        if runs and asked["again"]:
            raise FaultyRequest([{"field": "again", "message": "Runs that were made are no measurement made again."}])
        like, if_changed = _load_name(asked, runs), asked.pop("if_changed")
        if laboratory is None:
            return self._begin_as_visitor(request, choices, asked, runs)
        if asked.pop("again"):
            choices = _recheck(laboratory, choices, asked, like)
            if if_changed and (last := rechecks.find_unchanged(asked["before"], choices, asked["facts"])):
                return Response(self.get_serializer(last).data)
        elif like:
            asked["like"] = _like(request, like, asked)
        asked |= {"engine": loads.engine_of(asked["workload"]), "choices": choices, "runs": runs}
        with _refusals_as_conflicts():
            session = sessions.begin_session(laboratory, request.user, **asked)
        return Response(self.get_serializer(session).data, status=status.HTTP_201_CREATED)

    def _begin_as_visitor(
        self, request: Request, choices: list[Choice], asked: dict[str, Any], runs: list[dict[str, Any]]
    ) -> Response:
        if asked.pop("again") or not asked["workload"]:
            raise NotAuthenticated
        if not visitors.is_within_limits("sitting", visitors.MOST_VISITS, request._request):
            raise Throttled(visitors.DAY, "As many visitors measured today as may: measure with --offline FILE.")
        asked |= {"engine": loads.engine_of(asked["workload"]), "choices": choices, "runs": runs}
        session, key = visitors.begin_session(**asked)
        answer = SittingSerializer(session, context={**self.get_serializer_context(), "key": key})
        return Response(answer.data, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="sittings_report", tags=TAGS, request=RunReportSerializer, responses={200: SittingSerializer}
    )
    @action(detail=True, methods=["post"], url_path="runs/<int:number>")
    def runs(self, request: Request, pk: int, number: int) -> Response:
        """Report a run; again with the same says the same. The answer says what to run next, or what to use."""
        session = self.get_object()
        report = _checked(request, RunReportSerializer)
        _check_report(report)
        with _refusals_as_conflicts():
            sessions.report_run(session, number, **{"value": None, **report})
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(operation_id="sittings_remove", tags=TAGS, responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Forget it with its runs; what was shared of it stays."""
        with _refusals_as_conflicts():
            laboratories.remove_session(self.get_object(), user=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="sittings_share", tags=TAGS, request=None, responses={200: SittingSerializer})
    @action(detail=True, methods=["post"])
    def share(self, request: Request, pk: int) -> Response:
        """Make a draft case study of it, which you own; again it is the same one. Needs the role of a researcher."""
        session = self.get_object()
        if not permissions.may_create(request.user):
            raise PermissionDenied
        with _refusals_as_conflicts():
            sharing.share_session(session, user_of(request), ImportBatch.Door.API)
        return Response(self.get_serializer(self.get_object()).data)


@contextmanager
def _refusals_as_conflicts() -> Iterator[None]:
    try:
        yield
    except Refused as refusal:
        raise Conflict(str(refusal)) from refusal


def _opened_by(request: Request) -> QuerySet[Laboratory]:
    """Return the user's laboratories; with a token that measures, or a visitor's key, the one that it is for."""
    token: Any = request.auth
    if isinstance(token, Laboratory):
        return Laboratory.objects.filter(pk=token.pk)
    own = laboratories.laboratories_of(request.user)
    is_bound = isinstance(token, ApiToken) and ApiToken.Scope.MEASURE in token.scopes
    return own.filter(slug=token.laboratory) if is_bound else own


def _checked(request: Request, shape: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Return the fields of the body, in the limits of the shape. Raises FaultyRequest or ValidationError."""
    fields = shape(data=fields_of(request, shape))
    fields.is_valid(raise_exception=True)
    return fields.validated_data


def add_night(request: Request, slug: str) -> Sitting:
    """Keep the runs of the body as a night of a laboratory. Raises as a view does."""
    asked, choices = _checked_measurement(request, NightFieldsSerializer)
    laboratory = get_object_or_404(_opened_by(request), slug=slug)
    asked |= {"engine": loads.engine_of(asked["workload"]), "choices": choices, "most_runs": 0, "is_night": True}
    with _refusals_as_conflicts():
        return sessions.begin_session(laboratory, request.user, **asked)


def _checked_measurement(request: Request, shape: type[NightFieldsSerializer]) -> tuple[dict[str, Any], list[Choice]]:
    """Return the fields of the body, and the choices in it, of which its runs are. Raises FaultyRequest or
    ValidationError.
    """
    asked = _checked(request, shape)
    choices = [_choice(place, **{"settings": {}, **given}) for place, given in enumerate(asked.pop("choices"))]
    names, runs = {choice.name for choice in choices}, asked.get("runs", [])
    if len(names) < len(choices):
        raise FaultyRequest([{"field": "choices", "message": "Each name once."}])
    for place, run in enumerate(runs):
        if run["choice"] not in names:
            raise FaultyRequest([{"field": f"runs[{place}].choice", "message": "It is none of the choices."}])
        _check_report(run, f"runs[{place}].")
    if len({(run["block"], run["choice"]) for run in runs}) < len(runs):
        raise FaultyRequest([{"field": "runs", "message": "Each choice once in a block."}])
    _check_facts(asked["facts"])
    return asked, choices


def _check_report(report: Mapping[str, Any], of: str = "") -> None:
    """Raise FaultyRequest unless it says either the value or what disturbed the run."""
    if (report.get("value") is None) == (not report.get("disturbed")):
        message = "Say either the value or what disturbed the run."
        raise FaultyRequest([{"field": f"{of}value", "message": message}])


def _check_facts(facts: Mapping[str, str]) -> None:
    """Raise FaultyRequest where there are more, or longer names, than a program finds."""
    if len(facts) > MOST_FACTS or any(len(name) > MOST_FACTS for name in facts):
        message = f"At most {MOST_FACTS} facts, with names of at most {MOST_FACTS} characters."
        raise FaultyRequest([{"field": "facts", "message": message}])


def _load_name(asked: dict[str, Any], runs: Sequence[object]) -> str:
    """Take the machine whose load it shall be out of what is asked; "" under a workload. Raises FaultyRequest."""
    like: str = asked.pop("like", "")
    if bool(like) == ("workload" in asked):
        message = "Name either a workload or, as `like`, a machine whose load it shall be."
        raise FaultyRequest([{"field": "workload", "message": message, "allowed": list(loads.WORKLOADS)}])
    if like and runs:
        message = "The load of a machine is made when a sitting begins: no run was made under it before."
        raise FaultyRequest([{"field": "runs", "message": message}])
    asked.setdefault("workload", "")
    return like


def _like(request: Request, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the load of the observed machine of this name. Raises FaultyRequest or PermissionDenied."""
    if isinstance(request.auth, ApiToken) and ApiToken.Scope.READ not in request.auth.scopes:
        raise PermissionDenied("What was observed needs a token with the scope read, too.")
    try:
        return observed_load.make_load(request.user, name, version=asked["facts"].get("fio", ""))
    except Refused as refusal:
        raise FaultyRequest([{"field": "like", "message": str(refusal)}]) from refusal


def _recheck(laboratory: Laboratory, choices: list[Choice], asked: dict[str, Any], like: str) -> list[Choice]:
    """Return the choices that led last time, and ask for the same as then. Raises FaultyRequest."""
    before = rechecks.last_decision(laboratory, asked["machine"], asked["workload"], like)
    if before is None:
        under = asked["workload"] or f"the load of {like}"
        message = f"No decision under {under} on {asked['machine']} is kept in this laboratory."
        raise FaultyRequest([{"field": "again", "message": message}])
    leading = [row.name for row in sessions.decide(before).choices[: rechecks.COMPARED]]
    if missing := [name for name in leading if name not in {choice.name for choice in choices}]:
        message = f"The last decision was between {' and '.join(leading)}: {' and '.join(missing)} is not among these."
        raise FaultyRequest([{"field": "choices", "message": message}])
    asked |= {"before": before, "seconds": before.seconds, "like": before.like, "set_mib": before.set_mib}
    return [choice for choice in choices if choice.name in leading]


def _choice(number: int, name: str, place: str, settings: Mapping[str, str]) -> Choice:
    """Return one of the things that are compared. Raises FaultyRequest."""
    for column in settings:
        if column not in SETTING_NAMES:
            field = f"choices[{number}].settings"
            message = f"Found {column[:80]}; allowed are {', '.join(SETTING_NAMES)}."
            raise FaultyRequest([{"field": field, "message": message, "allowed": [*SETTING_NAMES]}])
    return Choice(name, place, {column: value for column, value in settings.items() if value})
