"""The API of a user's subscriptions and their deliveries (scope `notify`)."""

from typing import Any

from django.db.models import QuerySet
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import Throttled
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from kdb.api.bodies import Fields, fields_of
from kdb.api.errors import name_errors
from kdb.api.faults import FaultyRequest
from kdb.api.formats import FORMAT_PARAMETER
from kdb.web.addresses import site_of

from . import announcements, subscriptions
from .models import Delivery, Subscription, Topic

TAGS = ["notifications"]
_SHOWN = 100  # deliveries


class SubscriptionSerializer(serializers.ModelSerializer[Subscription]):
    """A subscription: topics, and the address at which you are notified."""

    topics = serializers.ListField(child=serializers.ChoiceField(choices=Topic.choices), read_only=True)
    signing_key = serializers.SerializerMethodField(help_text="Of a webhook's HMAC; null for mail.")

    class Meta:
        model = Subscription
        fields = (
            "id",
            "way",
            "address",
            "topics",
            "signing_key",
            "created_at",
            "failing_since",
            "off_at",
            "off_reason",
        )
        read_only_fields = fields

    def get_signing_key(self, row: Subscription) -> str | None:
        return subscriptions.signing_key(row) if row.way == Subscription.Way.WEBHOOK else None


class TopicsSerializer(Fields):
    """The topics of a subscription from now on; one that was switched off is on again."""

    topics = serializers.ListField(child=serializers.ChoiceField(choices=Topic.choices), min_length=1, max_length=10)


class SubscriptionFieldsSerializer(TopicsSerializer):
    """The fields of a new subscription."""

    way = serializers.ChoiceField(choices=Subscription.Way.choices)
    address = serializers.CharField(
        required=False, max_length=500, help_text="Of the webhook; mail goes to the account's own address."
    )


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """A message to a subscription, and the state of its delivery."""

    class Meta:
        model = Delivery
        fields = ("id", "topic", "subject", "state", "attempts", "due_at", "error", "created_at", "ended_at")
        read_only_fields = fields


@extend_schema_view(
    list=extend_schema(operation_id="notifications_list", tags=TAGS),
    retrieve=extend_schema(operation_id="notifications_retrieve", tags=TAGS),
    destroy=extend_schema(operation_id="notifications_delete", tags=TAGS),
)
@method_decorator(conditional_page, name="dispatch")
class NotificationViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, GenericViewSet[Subscription]
):
    """Your subscriptions to notifications. There are ten at most, so the list has no pages."""

    permission_classes = [IsAuthenticated]
    queryset = Subscription.objects.all()
    serializer_class = SubscriptionSerializer
    pagination_class = None
    filter_backends = []
    lookup_value_converter = "uuid"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if errors := name_errors(request.query_params, [FORMAT_PARAMETER]):
            raise FaultyRequest(errors)

    def get_queryset(self) -> QuerySet[Subscription]:
        rows = super().get_queryset()
        return rows.filter(user=self.request.user) if self.request.user.is_authenticated else rows.none()

    @extend_schema(
        operation_id="notifications_create",
        tags=TAGS,
        request=SubscriptionFieldsSerializer,
        responses={201: SubscriptionSerializer},
    )
    def create(self, request: Request) -> Response:
        """Add a subscription."""
        body = _checked_body(request, SubscriptionFieldsSerializer)
        try:
            subscription = subscriptions.add(
                request.user, body["way"], body.get("address", ""), body["topics"], site_of(request)
            )
        except subscriptions.SubscriptionError as refusal:
            raise FaultyRequest([{"field": "body", "message": str(refusal)}], status_code=422) from refusal
        return Response(self.get_serializer(subscription).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="notifications_update",
        tags=TAGS,
        request=TopicsSerializer,
        responses={200: SubscriptionSerializer},
    )
    def update(self, request: Request, pk: str) -> Response:
        """Set its topics; one that was switched off is on again."""
        subscription = self.get_object()
        try:
            subscriptions.change(subscription, _checked_body(request, TopicsSerializer)["topics"])
        except subscriptions.SubscriptionError as refusal:
            raise FaultyRequest([{"field": "topics", "message": str(refusal)}], status_code=422) from refusal
        subscription.refresh_from_db()
        return Response(self.get_serializer(subscription).data)

    @extend_schema(operation_id="notifications_test", tags=TAGS, request=None, responses={202: None})
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: str) -> Response:
        """Send a test message. Its delivery is listed among the others."""
        subscription = self.get_object()
        if not announcements.may_test(request.user):
            raise Throttled(announcements.TEST_SECONDS)
        announcements.send_test(subscription)
        return Response(status=status.HTTP_202_ACCEPTED)

    @extend_schema(operation_id="notifications_deliveries", tags=TAGS, responses={200: DeliverySerializer(many=True)})
    @action(detail=True)
    def deliveries(self, request: Request, pk: str) -> Response:
        """Return the last hundred messages, newest first."""
        rows = self.get_object().deliveries.all()[:_SHOWN]
        return Response(DeliverySerializer(rows, many=True).data)


def _checked_body(request: Request, shape: type[Fields]) -> dict[str, Any]:
    """Return the validated body. Raises FaultyRequest or ValidationError."""
    serializer = shape(data=fields_of(request, shape))
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)
