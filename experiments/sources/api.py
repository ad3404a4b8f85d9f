"""The API of what reviewers should look at in sources."""

from typing import Any

from django.db.models import QuerySet
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from experiments import permissions
from experiments.api.serializers import ReadSerializer, Slug
from experiments.models import SourceTask
from kdb.accounts.users import user_of
from kdb.api.bodies import TEXT_AREA, Fields, fields_of
from kdb.api.errors import refuse_faults
from kdb.api.pagination import PageByKey

from . import tasks
from .forms import NoteForm

TAGS = ["sources"]


class SourceTaskSerializer(ReadSerializer):
    """Something about a source that a reviewer should look at."""

    publication = Slug("publication.slug")
    address = serializers.CharField(source="publication.address", read_only=True)

    class Meta:
        model = SourceTask
        fields = ("id", "publication", "address", "finding", "detail", "found_at")


class NoteSerializer(Fields):
    note = serializers.CharField(style=TEXT_AREA, help_text="What you found, and did.")


class MayLookAfterSources(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        return request.user.is_authenticated and permissions.may_look_after_sources(request.user)


class AlreadyResolved(APIException):
    status_code = status.HTTP_409_CONFLICT


@extend_schema_view(
    list=extend_schema(operation_id="source_tasks_list", tags=TAGS),
    retrieve=extend_schema(operation_id="source_tasks_retrieve", tags=TAGS),
)
@method_decorator(conditional_page, name="dispatch")
class SourceTaskViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[SourceTask]):
    """Sources that changed or vanished since they were read, and that nobody has looked at yet: for reviewers."""

    permission_classes = [MayLookAfterSources]
    pagination_class = PageByKey
    serializer_class = SourceTaskSerializer
    queryset = SourceTask.objects.none()
    lookup_value_converter = "int"

    def get_queryset(self) -> QuerySet[SourceTask]:
        return tasks.open_tasks()

    @extend_schema(operation_id="source_tasks_resolve", tags=TAGS, request=NoteSerializer, responses={204: None})
    @action(detail=True, methods=["post"])
    def resolve(self, request: Request, pk: int) -> Response:
        """Note what you found and did; no evidence changes by it."""
        form = NoteForm(fields_of(request, NoteSerializer))
        task = self.get_object()
        refuse_faults(form)
        try:
            tasks.resolve(task, note=form.cleaned_data["note"], user=user_of(request))
        except tasks.TaskError as error:
            raise AlreadyResolved(str(error)) from error
        return Response(status=status.HTTP_204_NO_CONTENT)
