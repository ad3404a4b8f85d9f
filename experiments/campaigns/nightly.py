"""Campaigns that are measured again each night: one more repetition of every cell, begun by the tick.

The row says when the next night is. One that cannot be begun is skipped, with its reason; the one after it is tried.
"""

import logging
from datetime import timedelta

from django.db import transaction
from django.utils.timezone import now

from experiments import permissions
from experiments.models import Campaign

from . import checks, control, hosts
from .control import CampaignError

logger = logging.getLogger(__name__)

NIGHT = timedelta(days=1)


def schedule(campaign: Campaign, minutes: int | None) -> None:
    """Repeat the campaign each night from tomorrow on, at this time of day; None: no more. Raises CampaignError.

    minutes : that a night may take; what is estimated to take longer is refused, now and each night
    """
    if minutes is not None and (reason := _too_long(campaign, minutes)):
        raise CampaignError(reason)
    at = None if minutes is None else now() + NIGHT
    Campaign.objects.filter(pk=campaign.pk).update(nightly_at=at, nightly_minutes=minutes, nightly_skipped="")


def reconcile() -> None:
    """Begin the nights that are due, each once. Called by every tick."""
    due = Campaign.objects.filter(nightly_at__lte=now(), archived_at__isnull=True)
    for pk, host_id in due.values_list("pk", "host_id"):
        with transaction.atomic():
            hosts.locked(host_id)
            campaign = due.select_related("host", "pool", "owner").filter(pk=pk).first()
            if campaign is None or campaign.nightly_at is None:  # another tick was at it
                continue
            missed = (now() - campaign.nightly_at) // NIGHT
            campaign.nightly_at += (missed + 1) * NIGHT
            campaign.nightly_skipped = _skipped(campaign)
            campaign.save(update_fields=["nightly_at", "nightly_skipped"])
            logger.info("night of campaign=%s skipped=%r", campaign.slug, campaign.nightly_skipped)


def _skipped(campaign: Campaign) -> str:
    """Begin a night; say why it is skipped, "" where it is begun."""
    reason = _why_not(campaign)
    if not reason:
        try:
            with transaction.atomic():
                control.top_up(campaign, 1)
                control.start(campaign)
        except CampaignError as error:
            reason = str(error)
    return f"{now():%Y-%m-%d}: {reason}" if reason else ""


def _why_not(campaign: Campaign) -> str:
    if campaign.owner and not (campaign.owner.is_active and permissions.may_steer(campaign.owner, campaign)):
        return f"{campaign.owner.get_username()} may steer campaigns no more."
    if campaign.state != Campaign.State.FINISHED:
        return f"The night before has not ended: the campaign is {campaign.get_state_display()}."
    other = Campaign.objects.filter(host=campaign.host_id, state=Campaign.State.RUNNING).first()
    if other is not None:
        return f"{campaign.host} is busy with the campaign {other.slug}."
    if reason := campaign.host.blocked_reason or control.why_no_run(campaign.host):
        return f"{campaign.host} is busy: {reason}"
    return _too_long(campaign, campaign.nightly_minutes or 0)


def _too_long(campaign: Campaign, minutes: int) -> str:
    seconds = checks.estimate(campaign).seconds / campaign.repetitions
    if seconds <= 60 * minutes:
        return ""
    return f"One repetition takes about {seconds / 60:.0f} minutes, more than the {minutes} of a night."
