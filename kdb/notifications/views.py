"""The page of a user's subscriptions and their deliveries."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from kdb.accounts.users import user_of
from kdb.web.addresses import site_of

from . import announcements, subscriptions
from .forms import SubscriptionForm, TopicsForm
from .models import Delivery, Subscription

_SHOWN = 20  # deliveries


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def notifications(request: HttpRequest) -> HttpResponse:
    """Show the user's subscriptions and deliveries, or add a subscription."""
    user = user_of(request)
    form = SubscriptionForm(request.POST or None, user=user)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            subscriptions.add(user, data["way"], data["address"], data["topics"], site_of(request))
        except subscriptions.SubscriptionError as refusal:
            form.add_error(None, str(refusal))
        else:
            return redirect("notifications")
    context = {
        "form": form,
        "subscriptions": [
            {
                "row": row,
                "form": TopicsForm({"topics": row.topics}, user=user, auto_id=f"id_{row.pk}_%s"),
                "key": subscriptions.signing_key(row) if row.way == Subscription.Way.WEBHOOK else "",
            }
            for row in Subscription.objects.filter(user=user)
        ],
        "deliveries": Delivery.objects.filter(subscription__user=user).select_related("subscription")[:_SHOWN],
        "why_no_mail": subscriptions.why_no_mail(user),
    }
    return render(request, "accounts/notifications.html", context, status=422 if form.is_bound else 200)


@require_POST
@login_required
def change(request: HttpRequest, pk: str) -> HttpResponse:
    """Change the topics of a subscription; if none is ticked, it stays as it is."""
    form = TopicsForm(request.POST, user=user_of(request))
    subscription = _get_own(request, pk)
    if form.is_valid():
        subscriptions.change(subscription, form.cleaned_data["topics"])
    return redirect("notifications")


@require_POST
@login_required
def remove(request: HttpRequest, pk: str) -> HttpResponse:
    _get_own(request, pk).delete()
    return redirect("notifications")


@require_POST
@login_required
def send_test(request: HttpRequest, pk: str) -> HttpResponse:
    subscription = _get_own(request, pk)
    if not announcements.may_test(request.user):
        response = render(request, "accounts/notifications_wait.html", status=429)
        response["Retry-After"] = announcements.TEST_SECONDS
        return response
    announcements.send_test(subscription)
    return redirect("notifications")


def _get_own(request: HttpRequest, pk: str) -> Subscription:
    return get_object_or_404(Subscription, pk=pk, user=user_of(request))
