"""Takes hosts and campaigns away: deletes what no evidence rests on, archives the rest, and says so first.

An archived host or campaign is listed apart, does nothing any more, and can be brought back. What was filed as a case
study has its own copies of the outputs, so nothing here touches a case study.
"""

import logging
from dataclasses import dataclass
from typing import Annotated

from django.db import models, transaction
from django.db.models import Count, Sum
from django.db.models.functions import Length
from django.utils.timezone import now

from experiments.models import (
    Campaign,
    CampaignRun,
    CaseStudy,
    DiskStatistics,
    Host,
    HostAuditEntry,
    ObservedDisk,
    RunArtifact,
    Signature,
)
from experiments.permissions import User

from . import control, hosts
from .control import CampaignError
from .hosts import HostError, note

logger = logging.getLogger(__name__)

DELETE, ARCHIVE, FORGET = "delete", "archive", "forget"


class DeletionChanged(Exception):  # noqa: N818
    """The object has changed since its removal was shown: something else would be done than was agreed to."""


@dataclass(frozen=True)
class Deletion:
    """A removal says what becomes of everything. Case studies that were filed stay as they are."""

    component = "Removal"

    deed: Annotated[str, "delete, archive, or forget what was observed; post it to have it done."]
    becomes: Annotated[list[str], "A sentence for each kind of thing."]


# Campaigns


def campaign_deletion(campaign: Campaign) -> Deletion:
    """Say what becomes of a campaign. Raises CampaignError where it cannot be taken away now."""
    if campaign.archived_at:
        raise CampaignError("The campaign is archived already.")
    if campaign.state == Campaign.State.RUNNING:
        raise CampaignError("The campaign is running: cancel or pause it first.")
    if campaign.runs.filter(state=CampaignRun.State.ACTIVE).exists():
        raise CampaignError("A run is under way: wait for its end.")
    outputs = RunArtifact.objects.filter(run__campaign=campaign)
    size = outputs.aggregate(size=Sum(Length("data")))["size"] or 0
    runs = f"Its {_count(campaign.runs.count(), 'run')} with figures and logs"
    kept = f"{_count(outputs.count(), 'raw output')} ({size / 2**20:,.1f} MiB)"
    signatures = _count(Signature.objects.filter(run__campaign=campaign).count(), "block statistic")
    case_study = campaign.case_study
    if case_study is None:
        return Deletion(
            DELETE,
            [
                "Nothing of it was filed, so no case study changes.",
                f"{runs} are deleted for good, and so are {kept}, of which there is no other copy here.",
                f"{signatures} of its guests, which detection learns from, are deleted.",
            ],
        )
    return Deletion(
        ARCHIVE,
        [
            f"It was filed as {case_study.slug}, which is {case_study.get_status_display()} and stays as it is.",
            f"{runs} stay, and so do {kept} and {signatures} of its guests.",
            "It is listed apart and cannot go on, until it is brought back.",
        ],
    )


def remove_campaign(campaign: Campaign, deed: str, *, user: User) -> None:
    """Do what `campaign_deletion` says. Raises DeletionChanged if that is no longer `deed`, and CampaignError."""
    with transaction.atomic():
        hosts.locked(campaign.host_id)
        campaign = Campaign.objects.select_for_update(of=("self",)).get(pk=campaign.pk)
        agreed = _agreed(campaign_deletion(campaign), deed)
        note(campaign.host, user, f"campaign {agreed.deed}d", f"{campaign.slug}: {' '.join(agreed.becomes)}")
        if agreed.deed == DELETE:
            campaign.delete()
        else:
            Campaign.objects.filter(pk=campaign.pk).update(archived_at=now(), look_at=None)
    logger.info("campaign=%s deed=%s", campaign.slug, agreed.deed)


def restore_campaign(campaign: Campaign, *, user: User) -> None:
    """Take a campaign out of the archive; safe to call again. Raises CampaignError where its host is archived."""
    with transaction.atomic():
        if hosts.locked(campaign.host_id).archived_at:
            raise CampaignError(f"{campaign.host} is archived: bring it back first.")
        if Campaign.objects.filter(pk=campaign.pk).exclude(archived_at=None).update(archived_at=None):
            note(campaign.host, user, "campaign brought back", campaign.slug)


# Hosts


def host_deletion(host: Host) -> Deletion:
    """Say what becomes of a host. Raises HostError where it cannot be taken away now."""
    if host.archived_at:
        raise HostError(f"{host} is archived already.")
    if host.campaigns.filter(state=Campaign.State.RUNNING).exists() or _is_busy(host):
        raise HostError(f"A campaign is running on {host}: cancel or pause it, and wait for the end of its run.")
    if why := control.reason_to_wait(host):
        raise HostError(f"{host} cannot be taken away now: {why}.")
    if machines := ", ".join(host.machines.filter(archived_at=None).values_list("slug", flat=True)):
        raise HostError(f"Virtual machines of {host} are registered: take {machines} away first.")
    observed = [_observed(host)]
    if host.left_overs:
        observed.append(f"On the machine itself stays what runs left there; clean it up first: {host.left_overs}")
    if not _is_referred_to(host):
        becomes = ["Nothing was measured or moved there, so nothing else changes."]
        return Deletion(DELETE, [*becomes, "Its record, storage pools and facts are deleted for good.", *observed])
    filed = CaseStudy.objects.filter(campaigns__host=host).order_by("slug")
    studies = [f"{case_study.slug} ({case_study.get_status_display()})" for case_study in filed]
    return Deletion(
        ARCHIVE,
        [
            f"Case studies that were filed from it stay as they are: {', '.join(studies) or 'there are none'}.",
            f"Its record stays with {_count(host.campaigns.count(), 'campaign')}, their runs and raw outputs, and so "
            "do its moves. None of them goes on, until the host is brought back.",
            *observed,
        ],
    )


def remove_host(host: Host, deed: str, *, user: User) -> None:
    """Do what `host_deletion` says. Raises DeletionChanged if that is no longer `deed`, and HostError."""
    with transaction.atomic():
        host = hosts.locked(host.pk)
        agreed = _agreed(host_deletion(host), deed)
        _forget_observed(host)
        note(host, user, f"{agreed.deed}d", " ".join(agreed.becomes))
        if agreed.deed == DELETE:
            HostAuditEntry.objects.filter(host=host).update(host=None, deleted_host=host.slug)
            hosts.unregister(host)
        else:
            Host.objects.filter(pk=host.pk).update(archived_at=now())
            host.campaigns.update(look_at=None)  # those that wait for it to answer wait no longer
    logger.info("host=%s deed=%s", host.slug, agreed.deed)


def restore_host(host: Host, *, user: User) -> None:
    """Take a host out of the archive; safe to call again."""
    with transaction.atomic():
        if Host.objects.filter(pk=host.pk).exclude(archived_at=None).update(archived_at=None):
            note(host, user, "brought back", "")


def _is_busy(host: Host) -> bool:
    return CampaignRun.objects.filter(host=host, state=CampaignRun.State.ACTIVE).exists()


def _is_referred_to(host: Host) -> bool:
    """Tell whether something stays that the host belongs to: campaigns, moves, decisions, archived machines."""
    return any(
        relation.related_model._base_manager.filter(**{relation.field.name: host}).exists()
        for relation in Host._meta.related_objects
        if relation.on_delete is models.PROTECT
    )


# What was observed


def observation_deletion(host: Host) -> Deletion:
    """Say what happens to the observations of a host."""
    return Deletion(
        FORGET,
        [
            _observed(host),
            "The host, its campaigns, their signatures and all case studies stay. Moves that were made stay, without "
            "the machine's page.",
        ],
    )


def forget_observed(host: Host, deed: str, *, user: User) -> None:
    """Do what `observation_deletion` says. Raises DeletionChanged, and HostError while something moves."""
    with transaction.atomic():
        host = hosts.locked(host.pk)
        agreed = _agreed(observation_deletion(host), deed)
        if why := control.reason_to_wait(host):
            raise HostError(f"It cannot be forgotten now: {why}.")
        _forget_observed(host)
        note(host, user, "observation forgotten", agreed.becomes[0])


def _observed(host: Host) -> str:
    """Say in a sentence what was observed, and that it is deleted."""
    machines, pools = host.observed_machines.count(), host.observed_pools.count()
    if not (machines or pools):
        return "Nothing was observed there."
    statistics = DiskStatistics.objects.filter(disk__machine__host=host)
    by_span = statistics.order_by("span").values_list("span").annotate(Count("pk"))
    listed = ", ".join(_count(count, span) for span, count in by_span) or "none"
    return (
        f"Observation ends, and what was observed is deleted for good: {_count(machines, 'virtual machine')}, "
        f"{_count(pools, 'pool')}, statistics of disks ({listed}) and what was detected from them."
    )


def _forget_observed(host: Host) -> None:
    DiskStatistics.objects.filter(disk__machine__host=host)._raw_delete(using="default")
    ObservedDisk.objects.filter(machine__host=host).delete()
    host.observed_machines.all().delete()
    host.observed_pools.all().delete()
    Host.objects.filter(pk=host.pk).update(is_observed=False, observed_at=None, observation_error="")


def _agreed(removal: Deletion, deed: str) -> Deletion:
    """Return what would be done. Raises DeletionChanged if that is not what was agreed to."""
    if removal.deed != deed:
        raise DeletionChanged(f"Meanwhile this would be something else ({removal.deed}): look at it again.")
    return removal


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
