"""The news that the owner of a campaign may want to be told."""

from django.db.models import Count, Q
from django.urls import reverse

from experiments import permissions
from experiments.models import Campaign, CampaignRun
from kdb.notifications import announcements
from kdb.notifications.models import Delivery, Topic

State, RunState = Campaign.State, CampaignRun.State


def reason_to_withhold(delivery: Delivery) -> str:
    """Say why somebody is not told of a host after all; "" where nothing is against it."""
    host = delivery.facts.get("host")
    if campaign := delivery.facts.get("campaign"):
        host = Campaign.objects.filter(slug=campaign).values_list("host__slug", flat=True).first()
    if delivery.topic not in (Topic.CAMPAIGN, Topic.MACHINES) or host is None:
        return ""
    may_know = permissions.hosts_visible_to(delivery.subscription.user).filter(slug=host).exists()
    return "" if may_know else "You are not in the group of its host any more, or it is gone."


def notify_owner(campaign: Campaign) -> None:
    """Tell the owner that the campaign finished, or paused by itself; call it in the transaction in which it does."""
    if campaign.owner_id is None:
        return
    ended = campaign.runs.aggregate(
        done=Count("pk", filter=Q(state=RunState.DONE)), failed=Count("pk", filter=Q(state=RunState.FAILED))
    )
    runs = f"{ended['done']} runs are done, {ended['failed']} failed."
    subject = f"{campaign.slug} {'finished' if campaign.state == State.FINISHED else 'paused'}"
    if ended["failed"]:
        subject += f", {ended['failed']} failed"
    announcements.announce(
        Topic.CAMPAIGN,
        subject=subject,
        text=" ".join(filter(None, (f"{campaign.title}:", campaign.state_reason, runs))),
        path=reverse("campaign-detail", args=[campaign.slug]),
        facts={"campaign": campaign.slug, "state": campaign.state, "reason": campaign.state_reason or None, **ended},
        users=[campaign.owner_id],
        may=lambda user: permissions.may_use_host(user, campaign.host),
    )
