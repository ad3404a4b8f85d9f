"""The API of unpublished case studies and of decisions on published ones: edit, submit, publish, retract, end."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import Http404
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException, PermissionDenied
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from experiments import permissions
from experiments.models import CaseStudy
from experiments.records.api.serializers import ProtocolField, ReadSerializer, ServerSerializer, StorageSerializer
from kdb.accounts.users import user_of
from kdb.api.bodies import TEXT_AREA, Fields, fields_of
from kdb.api.errors import form_errors, refuse_faults
from kdb.api.faults import FaultyRequest, FieldError
from kdb.api.pagination import PageByKey

from . import bundles, lifecycle, retraction, reviews
from .forms import EndingForm, ReasonForm, draft_forms


class Conflict(APIException):
    """The request is not possible in the present state of the case study."""

    status_code = status.HTTP_409_CONFLICT


@method_decorator(conditional_page, name="dispatch")
class OwnedViewSet(GenericViewSet[Any]):
    """Views of rows that only some users may see; for others they answer as if there were none."""

    permission_classes = [IsAuthenticated]
    pagination_class = PageByKey


class AuditEntrySerializer(Fields):
    action = serializers.CharField(help_text="created, imported, submitted, published ...")
    actor = serializers.CharField(source="actor.username", allow_null=True, default=None)
    detail = serializers.CharField()
    at = serializers.DateTimeField()


class DraftSerializer(ReadSerializer):
    """An unpublished case study as it stands."""

    owner = serializers.CharField(source="owner.username", read_only=True, allow_null=True, default=None)
    server = ServerSerializer(read_only=True)
    storage = StorageSerializer(read_only=True)
    vm_counts = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    audit = AuditEntrySerializer(source="audit_entries", many=True, read_only=True)
    protocol = ProtocolField()
    content_digest = serializers.SerializerMethodField(
        help_text="SHA-256 of all it holds, which a publication may name; null in lists, and where it is not submitted."
    )

    class Meta:
        model = CaseStudy
        fields = (
            *("slug", "title", "status", "owner", "laboratory", "research_group", "run_seconds", "repetitions"),
            *("warm_up_seconds", "quiet_host", "measured_year", "fits_cache", "vm_counts", "value_scope", "procedure"),
            *("kit", "server", "storage", "protocol", "audit", "content_digest"),
        )

    def get_content_digest(self, draft: CaseStudy) -> str | None:
        is_one = not isinstance(self.parent, serializers.ListSerializer)
        return bundles.digest(draft) if is_one and draft.status == CaseStudy.Status.SUBMITTED else None


class ServerFieldsSerializer(Fields):
    """The machine. What is left out is not stated."""

    model = serializers.CharField(required=False)
    cpu = serializers.CharField(required=False)
    sockets = serializers.IntegerField(required=False)
    cores = serializers.CharField(required=False)
    ram_gib = serializers.FloatField(required=False, help_text="GiB.")
    ram_kind = serializers.CharField(required=False)
    network = serializers.CharField(required=False)


class StorageFieldsSerializer(Fields):
    """The disks under test; limits in MB/s (10^6 bytes)."""

    description = serializers.CharField()
    kind = serializers.CharField(required=False, help_text="hdd, ssd, nvme or mixed.")
    controller = serializers.CharField(required=False)
    raid = serializers.CharField(required=False)
    sequential_read_limit = serializers.FloatField(required=False)
    sequential_write_limit = serializers.FloatField(required=False)
    interface_limit = serializers.FloatField(required=False)
    source = serializers.CharField(required=False, help_text="Where the limits stand.")


class DraftFieldsSerializer(Fields):
    """The fields of a draft."""

    slug = serializers.SlugField(help_text="Name in addresses; fixed once the draft exists.")
    title = serializers.CharField()
    laboratory = serializers.CharField(
        required=False, help_text="Short name of who measured: results of one laboratory are not independent."
    )
    research_group = serializers.CharField(
        required=False,
        help_text="Short name of the people behind the laboratory; empty: case studies that share an author are one.",
    )
    run_seconds = serializers.IntegerField(required=False)
    repetitions = serializers.IntegerField(required=False)
    warm_up_seconds = serializers.IntegerField(required=False, help_text="Before what counts; 0: none.")
    quiet_host = serializers.CharField(required=False, help_text="yes, no, or empty: not stated.")
    measured_year = serializers.IntegerField(required=False, help_text="Left out: that of its publication.")
    fits_cache = serializers.CharField(
        required=False, help_text="Whether the files of its loads fit into memory: yes, no, or empty: not stated."
    )
    value_scope = serializers.CharField(required=False, help_text="per-vm, aggregate, or empty: not stated.")
    procedure = serializers.CharField(required=False, style=TEXT_AREA)
    server = ServerFieldsSerializer(required=False)
    storage = StorageFieldsSerializer()


class ReasonSerializer(Fields):
    reason = serializers.CharField(style=TEXT_AREA)


class DecisionSerializer(ReasonSerializer):
    content_digest = serializers.CharField(
        required=False, help_text="Of the draft, as you read it before you decided; left out: as it was submitted."
    )


class EndingFieldsSerializer(ReasonSerializer):
    """A request to end a whole case study or some of its numbers, with the reason."""

    replaced_by = serializers.CharField(
        required=False, help_text="Case study that the same source measured later, by slug; left out: it is doubted."
    )
    measurements = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        required=False,
        max_length=retraction.MAX_ROWS,
        help_text="Ids of those that end; left out: the whole case study.",
    )


class RevisionNumberSerializer(Fields):
    revision = serializers.IntegerField(help_text="Knowledge revision that this made.")


@extend_schema_view(
    list=extend_schema(operation_id="drafts_list", tags=["drafts"]),
    retrieve=extend_schema(operation_id="drafts_retrieve", tags=["drafts"]),
)
class DraftViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, OwnedViewSet):
    """Unpublished case studies: your own, and as a reviewer those that were submitted."""

    serializer_class = DraftSerializer
    lookup_field = "slug"
    lookup_value_converter = "slug"

    def get_queryset(self) -> QuerySet[CaseStudy]:
        return _with_details(permissions.drafts_of(self.request.user))

    @extend_schema(
        operation_id="drafts_create",
        tags=["drafts"],
        request=DraftFieldsSerializer,
        responses={201: DraftSerializer},
    )
    def create(self, request: Request) -> Response:
        """Create a draft."""
        if not permissions.may_create(request.user):
            raise PermissionDenied
        forms = draft_forms(_form_data(request))
        _check(forms)
        rows = (form.save(commit=False) for form in forms.values())
        draft = _or_conflict(lifecycle.create_draft, *rows, user=user_of(request))
        return self._draft_response(draft, status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="drafts_update", tags=["drafts"], request=DraftFieldsSerializer, responses=DraftSerializer
    )
    def partial_update(self, request: Request, slug: str) -> Response:
        """Change what is sent; what is left out stays."""
        draft = self._permitted_draft(permissions.may_edit)
        before = {
            f"{prefix}{name}": value
            for prefix, form in (("", "case_study"), ("server-", "server"), ("storage-", "storage"))
            for name, value in draft_forms(case_study=draft)[form].initial.items()
            if value is not None
        }
        forms = draft_forms({**before, **_form_data(request)}, draft)
        _check(forms)
        _or_conflict(
            lifecycle.edit_draft,
            draft,
            [(form.instance, [*form.fields]) for form in forms.values()],
            user=user_of(request),
        )
        return self._draft_response(draft)

    @extend_schema(operation_id="drafts_delete", tags=["drafts"], responses={204: None})
    def destroy(self, request: Request, slug: str) -> Response:
        """Delete a draft with everything in it."""
        draft = self._permitted_draft(permissions.may_edit)
        _or_conflict(lifecycle.delete_draft, draft, user=user_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(operation_id="drafts_submit", tags=["drafts"], request=None, responses=DraftSerializer)
    @action(detail=True, methods=["post"])
    def submit(self, request: Request, slug: str) -> Response:
        """Ask for review."""
        draft = self._permitted_draft(permissions.may_submit)
        _or_conflict(reviews.submit, draft, user=user_of(request))
        return self._draft_response(draft)

    @extend_schema(operation_id="drafts_return", tags=["drafts"], request=ReasonSerializer, responses=DraftSerializer)
    @action(detail=True, methods=["post"], url_path="return")
    def give_back(self, request: Request, slug: str) -> Response:
        """Give a submitted case study back to its author."""
        draft = self._permitted_draft(permissions.may_return)
        _or_conflict(
            lifecycle.give_back, draft, reason=_reason(fields_of(request, ReasonSerializer)), user=user_of(request)
        )
        return self._draft_response(draft)

    @extend_schema(
        operation_id="drafts_publish",
        tags=["drafts"],
        request=DecisionSerializer,
        responses=RevisionNumberSerializer,
    )
    @action(detail=True, methods=["post"])
    def publish(self, request: Request, slug: str) -> Response:
        """Make a submitted case study part of the knowledge, as it was read or submitted: 409 where it has changed."""
        draft = self._permitted_draft(
            permissions.may_publish, "A submitted case study is published by a reviewer who had no part in it."
        )
        fields = fields_of(request, DecisionSerializer)
        reason, seen = _reason(fields), fields.get("content_digest")
        if seen == "":
            message = "It is a text, the content_digest that GET drafts/<slug>/ has; left out: what was submitted."
            raise FaultyRequest([{"field": "content_digest", "message": message}])
        revision = _or_conflict(reviews.publish, draft, seen=seen, reason=reason, user=user_of(request))
        return Response({"revision": revision.number})

    def _permitted_draft(self, may: Any, otherwise: str | None = None) -> CaseStudy:
        draft = self.get_object()
        if not may(self.request.user, draft):
            raise PermissionDenied(otherwise)
        return draft

    def _draft_response(self, draft: CaseStudy, code: int = status.HTTP_200_OK) -> Response:
        """Return the present draft, also to a reviewer who has just returned it and may no longer see it."""
        draft = _with_details(CaseStudy.objects.all()).get(pk=draft.pk)
        return Response(self.get_serializer(draft).data, status=code)


def _with_details(rows: QuerySet[CaseStudy]) -> QuerySet[CaseStudy]:
    """Join what the serializer of drafts reads."""
    return rows.select_related("owner", "server", "storage__server").prefetch_related("audit_entries__actor")


def _visible_case_study(request: Request, slug: str, may: Any) -> CaseStudy:
    case_study = CaseStudy.objects.visible().filter(slug=slug).first()
    if case_study is None:
        raise Http404
    if not may(request.user, case_study):
        raise PermissionDenied
    return case_study


class RetractionViewSet(OwnedViewSet):
    """Retraction of a published case study."""

    queryset = CaseStudy.objects.visible()
    serializer_class = ReasonSerializer

    @extend_schema(
        operation_id="case_studies_retract",
        tags=["case-studies"],
        request=ReasonSerializer,
        responses=RevisionNumberSerializer,
    )
    def retract(self, request: Request, slug: str) -> Response:
        """Retract a published case study: it no longer counts, and stays visible with the reason."""
        case_study = _visible_case_study(request, slug, permissions.may_retract)
        revision = _or_conflict(
            retraction.retract, case_study, reason=_reason(fields_of(request, ReasonSerializer)), user=user_of(request)
        )
        return Response({"revision": revision.number})


class EndingViewSet(OwnedViewSet):
    """The end of a published case study, or of some of its numbers: superseded or doubted."""

    queryset = CaseStudy.objects.visible()
    serializer_class = EndingFieldsSerializer

    @extend_schema(
        operation_id="case_studies_end",
        tags=["case-studies"],
        request=EndingFieldsSerializer,
        responses=RevisionNumberSerializer,
    )
    def end(self, request: Request, slug: str) -> Response:
        """End a case study: it no longer counts, and stays visible with the reason and a link to what replaced it."""
        case_study = _visible_case_study(request, slug, permissions.may_end)
        fields = fields_of(request, EndingFieldsSerializer)
        serializer = EndingFieldsSerializer(data=fields)
        serializer.is_valid(raise_exception=True)
        measurements = serializer.validated_data.get("measurements", ())
        form = EndingForm({**fields, "measurements": " ".join(map(str, measurements))})
        refuse_faults(form)
        data = form.cleaned_data
        revision = _or_conflict(
            retraction.end,
            case_study,
            reason=data["reason"],
            replaced_by=data["replaced_by"],
            rows=data["measurements"],
            user=user_of(request),
        )
        return Response({"revision": revision.number})


def _form_data(request: Request) -> dict[str, Any]:
    """Flatten the nested object of a request to the field names of a page: `server-ram_gib`."""
    posted = {}
    for name, value in fields_of(request, DraftFieldsSerializer).items():
        if isinstance(value, dict):
            posted.update({f"{name}-{inner}": given for inner, given in value.items() if given is not None})
        else:
            posted[name] = value
    return posted


def _check(forms: Mapping[str, BaseForm]) -> None:
    errors: list[FieldError] = [
        {**error, "field": error["field"] if name == "case_study" else f"{name}.{error['field']}"}
        for name, form in forms.items()
        for error in form_errors(form)
    ]
    if errors:
        raise FaultyRequest(errors)


def _reason(fields: dict[str, Any]) -> str:
    form = ReasonForm(fields)
    refuse_faults(form)
    return form.cleaned_data["reason"]


def _or_conflict(step: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return step(*args, **kwargs)
    except lifecycle.CaseStudyError as error:
        raise Conflict(str(error)) from error
