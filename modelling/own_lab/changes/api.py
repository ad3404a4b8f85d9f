"""Series of your laboratories over time, and the changes that were found in them."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from experiments import permissions
from experiments.case_studies.api import OwnedViewSet
from kdb.api.bodies import Fields, FormFields, fields_of
from kdb.api.errors import form_errors
from kdb.api.faults import FaultyRequest
from kdb.api.shapes import shape_of
from modelling.models import Laboratory, SeriesChange
from modelling.own_lab.selectors import NightFieldsSerializer, add_night, laboratories_of

from . import bisection, causes, detection, gather, selectors, words
from .bisection import Bisection
from .content import DEEDS, Cause, Current, Fact, Handling, History, Series, SeriesLine
from .forms import HandlingForm, MonthForm

TAGS = ["my machine"]
MONTH = OpenApiParameter("month", description="In which they were found, 2026-11; this month unless given.")


class NightSerializer(Fields):
    """A night that was added to the series of its choices."""

    sitting = serializers.IntegerField()
    series = shape_of(Current)(many=True)


class SeriesListSerializer(Fields):
    """The series of a laboratory, that measured last first."""

    series = shape_of(SeriesLine)(many=True)


class SeriesChangeSerializer(serializers.ModelSerializer[SeriesChange]):
    """A suspicion that a series changed, a change once `confirmed_by` a rerun; and what members say of it."""

    laboratory = serializers.SlugField(source="laboratory.slug", read_only=True)
    about = serializers.SerializerMethodField()
    name = serializers.CharField(source="about.name", read_only=True, help_text="Of what is measured.")
    sentence = serializers.SerializerMethodField(help_text="The verdict, and what was new with it.")
    command = serializers.SerializerMethodField(help_text="Measures it beside its neighbour, which confirms or not.")
    facts = shape_of(Fact)(many=True, read_only=True, help_text="What was new at the first sitting after it.")
    handling = serializers.SerializerMethodField()

    class Meta:
        model = SeriesChange
        fields = (
            *("id", "laboratory", "series", "about", "name", "sitting", "shown_by", "confirmed_by", "found_at"),
            *("sentence", "command", "ratio", "low", "high", "p", "facts", "handling"),
        )
        read_only_fields = fields

    @extend_schema_field(shape_of(Series))
    def get_about(self, change: SeriesChange) -> Any:
        return shape_of(Series)(Series.of(change.about)).data

    def get_sentence(self, change: SeriesChange) -> str:
        return selectors.sentence_of(change, change.about)

    def get_command(self, change: SeriesChange) -> str:
        return words.rerun_command(change.about, change.laboratory.slug)

    @extend_schema_field(shape_of(Handling))
    def get_handling(self, change: SeriesChange) -> Any:
        until = change.excused_until
        by = change.handled_by.get_username() if change.handled_by else ""
        handling = Handling(change.standing, change.reason, until.isoformat() if until else None, by)
        return shape_of(Handling)(handling).data


class ChangeCausesSerializer(Fields):
    """The facts that changed with the speed, what further series say of each, and what measures it side by side."""

    causes = shape_of(Cause)(many=True)
    bisections = shape_of(Bisection)(many=True)


class ChangeHandlingFieldsSerializer(FormFields):
    """One deed of a member to a change; reason and until are those of an excuse."""

    form = HandlingForm
    about = {"until": "Last day of the excuse: 2026-12-31."}
    deed = serializers.ChoiceField(choices=list(DEEDS))


class SeriesViewSet(OwnedViewSet):
    """The series that a laboratory of yours measures again and again."""

    queryset = Laboratory.objects.none()

    @extend_schema(operation_id="series_list", tags=TAGS, responses=SeriesListSerializer)
    def index(self, request: Request, slug: str) -> Response:
        """List its series."""
        lines = gather.series_lines(_laboratory(request, slug))
        return Response({"series": [shape_of(SeriesLine)(line).data for line in lines]})

    @extend_schema(
        operation_id="series_add_night", tags=TAGS, request=NightFieldsSerializer, responses={201: NightSerializer}
    )
    def add_night(self, request: Request, slug: str) -> Response:
        """Add runs that were planned beforehand to the series of their choices. The answer says how fast each is now,
        and whether it changed. The same runs and facts again are the same night.
        """
        night = add_night(request, slug)
        detection.examine_sitting(night.pk)
        speeds = selectors.speeds_now(night.laboratory, gather.series_of(night))
        answer = {"sitting": night.pk, "series": [shape_of(Current)(speed).data for speed in speeds]}
        return Response(answer, status=status.HTTP_201_CREATED)

    @extend_schema(operation_id="series_retrieve", tags=TAGS, responses=shape_of(History))
    def retrieve(self, request: Request, slug: str, key: str) -> Response:
        """Return a series over time: its points, and its levels between the changes."""
        history = selectors.history_of(_laboratory(request, slug), key)
        if history is None:
            raise Http404(f"no series {key}")
        return Response(shape_of(History)(history).data)


@extend_schema_view(
    list=extend_schema(operation_id="series_changes_list", tags=TAGS, parameters=[MONTH]),
    retrieve=extend_schema(operation_id="series_changes_retrieve", tags=TAGS),
)
class SeriesChangeViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OwnedViewSet):
    """Changes in the series of your laboratories."""

    queryset = SeriesChange.objects.all()
    serializer_class = SeriesChangeSerializer
    lookup_value_converter = "int"

    def get_queryset(self) -> QuerySet[SeriesChange]:
        if self.action != "list":
            return selectors.changes_of(self.request.user)
        form = MonthForm(self.request.query_params)
        if not form.is_valid():
            raise FaultyRequest(form_errors(form))
        return selectors.changes_found_in(self.request.user, form.cleaned_data["month"])

    @extend_schema(operation_id="series_changes_causes", tags=TAGS, responses=ChangeCausesSerializer)
    @action(detail=True)
    def causes(self, request: Request, pk: int) -> Response:
        """List what changed with the speed, with the series that took it and those that did not: all of its laboratory,
        of others those that they shared.
        """
        change = self.get_object()
        plans = bisection.bisections(change, permissions.hosts_visible_to(request.user))
        return Response(
            {
                "causes": [shape_of(Cause)(cause).data for cause in causes.causes_of(change, is_member=True)],
                "bisections": [shape_of(Bisection)(plan).data for plan in plans],
            }
        )

    @extend_schema(
        operation_id="series_changes_handle",
        tags=TAGS,
        request=ChangeHandlingFieldsSerializer,
        responses={200: SeriesChangeSerializer},
    )
    @action(detail=True, methods=["post"])
    def handle(self, request: Request, pk: int) -> Response:
        """Acknowledge, excuse, confirm or reopen it; the same again does no harm."""
        change = self.get_object()
        form = HandlingForm(fields_of(request, ChangeHandlingFieldsSerializer))
        if not form.is_valid():
            raise FaultyRequest(form_errors(form))
        detection.handle(change, request.user, **form.cleaned_data)
        return Response(self.get_serializer(self.get_object()).data)


def _laboratory(request: Request, slug: str) -> Laboratory:
    return get_object_or_404(laboratories_of(request.user), slug=slug)
