"""The questions that a program's owner follows (scope `notify`)."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from experiments.case_studies.api import Conflict, OwnedViewSet
from kdb.api.bodies import fields_of
from kdb.api.errors import form_errors
from kdb.api.faults import FaultyRequest
from kdb.api.shapes import shape_of
from modelling.evidence.forms import QuestionForm
from modelling.evidence.question import Question
from modelling.models import FollowedQuestion

from . import followers

TAGS = ["notifications"]


class FollowedQuestionSerializer(serializers.ModelSerializer[FollowedQuestion]):
    """A question that you follow: you are notified when its answer changes."""

    question = serializers.SerializerMethodField()

    class Meta:
        model = FollowedQuestion
        fields = ("id", "question", "revision", "followed_at")
        read_only_fields = fields

    @extend_schema_field(shape_of(Question))
    def get_question(self, row: FollowedQuestion) -> dict[str, Any]:
        return Question.from_key(row.question).as_dict()


class AskedSerializer(shape_of(Question)):  # type: ignore[misc]
    """A question as it is asked of rankings; what is left out is any."""

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields: dict[str, serializers.Field[Any, Any, Any, Any]] = super().get_fields()
        for name, field in fields.items():
            field.required = name in ("axis", "workload")
        return fields


@extend_schema_view(list=extend_schema(operation_id="followed_questions_list", tags=TAGS))
class FollowedQuestionViewSet(mixins.ListModelMixin, OwnedViewSet):
    """Questions that you follow; a subscription to the topic `question` notifies you of changes."""

    queryset = FollowedQuestion.objects.all()
    serializer_class = FollowedQuestionSerializer
    lookup_value_converter = "int"

    def get_queryset(self) -> QuerySet[FollowedQuestion]:
        rows = super().get_queryset()
        return rows.filter(user=self.request.user) if self.request.user.is_authenticated else rows.none()

    @extend_schema(
        operation_id="followed_questions_create",
        tags=TAGS,
        request=AskedSerializer,
        responses={201: FollowedQuestionSerializer},
    )
    def create(self, request: Request) -> Response:
        """Follow a question. Repeating it changes nothing."""
        asked = AskedSerializer(data=fields_of(request, AskedSerializer))
        asked.is_valid(raise_exception=True)
        form = QuestionForm(asked.validated_data, axis=asked.validated_data["axis"])
        if not form.is_valid():
            raise FaultyRequest(form_errors(form))
        try:
            row = followers.follow(request.user, form.question())
        except followers.TooManyQuestions as refusal:
            raise Conflict(str(refusal)) from refusal
        return Response(self.get_serializer(row).data, status=status.HTTP_201_CREATED)

    @extend_schema(operation_id="followed_questions_delete", tags=TAGS, responses={204: None})
    def destroy(self, request: Request, pk: int) -> Response:
        """Stop following a question."""
        if not followers.unfollow(request.user, pk):
            raise Http404(f"no followed question {pk} of yours")
        return Response(status=status.HTTP_204_NO_CONTENT)
