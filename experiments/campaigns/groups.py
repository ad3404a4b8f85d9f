"""The group of a host: its owner chooses it, and stops everything there, whoever began it."""

from collections.abc import Collection

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from experiments.models import Campaign, Host
from experiments.signals import host_stopped

from . import control, hosts

State = Campaign.State


def choose_operators(host: Host, operators: Collection[User], *, user: User) -> None:
    """Let these and the owner use the host, and nobody else; what those who are left out run there is ended.

    Raises HostError where it is a virtual machine, which is of its host's group.
    """
    if host.runs_on:
        raise hosts.HostError(f"{host} is of the group of {host.runs_on}, on which it runs: choose that one's.")
    with transaction.atomic():
        host = hosts.locked(host.pk)
        left_out = [operator for operator in host.operators.all() if operator not in operators]
        host.operators.set(operators)
        for operator in left_out:
            _end(host.campaigns.filter(owner=operator))
            host_stopped.send(sender=Host, host=host, user=user, asked_by=operator)
        names = ", ".join(sorted(operator.get_username() for operator in operators))
        hosts.note(host, user, "group", f"beside its owner: {names or 'nobody'}")


def stop_everything(host: Host, *, user: User) -> None:
    """Cancel campaigns that run, pause or come back each night, call off moves, and end observation."""
    with transaction.atomic():
        host = hosts.locked(host.pk)
        _end(host.campaigns.all())
        host_stopped.send(sender=Host, host=host, user=user, asked_by=None)
        Host.objects.filter(pk=host.pk).update(is_observed=False, observation_error="")
        hosts.note(host, user, "everything stopped", "")


def _end(campaigns: QuerySet[Campaign]) -> None:
    campaigns.update(nightly_at=None)
    for campaign in campaigns.filter(state__in=[State.RUNNING, State.PAUSED]):
        control.cancel(campaign)
