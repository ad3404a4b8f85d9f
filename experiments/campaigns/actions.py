"""What a person does to a host or a campaign: one table for the buttons of the pages and the paths of the API."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import transaction

from experiments.models import Campaign, Host
from experiments.permissions import User as AnyUser
from experiments.permissions import may_change_host, may_steer, may_take_host, may_use_any_key
from kdb.api.bodies import Fields

from . import cleanup, control, deletion, groups, hosts, nightly, statements
from .inputs import FingerprintSerializer, NightlySerializer, OperatorsSerializer, StatementSerializer, TopUpSerializer

Run = Callable[[Any, Mapping[str, Any], User], None]
_ACCEPTED = 202  # a worker does it


@dataclass(frozen=True)
class Action:
    """Something done to one row.

    words : for the API's document
    run : called with the row, the fields that were sent, and the user; raises HostError or CampaignError
    may : whether a user may do it who sees the row, which each door looks up
    body : of the API; where it is made of a form, that form checks the fields
    status : of the API's answer
    """

    words: str
    run: Run
    may: Callable[[AnyUser, Any], bool]
    body: type[Fields] | None = None
    status: int = 200

    @property
    def form(self) -> Any:
        return getattr(self.body, "form", None)

    def check_permission(self, row: Host | Campaign, user: User) -> None:
        """Raise PermissionDenied where the user may not do it."""
        if not self.may(user, row):
            raise PermissionDenied


def _everybody(user: AnyUser, row: Host | Campaign) -> bool:
    return True


def _of_row(function: Callable[[Any], None]) -> Run:
    return lambda row, fields, user: function(row)


def _noted(function: Callable[[Campaign], None], words: str) -> Run:
    """Return an action on a campaign that the audit trail of its host has by these words."""

    def run(campaign: Campaign, fields: Mapping[str, Any], user: User) -> None:
        with transaction.atomic():
            function(campaign)
            hosts.note(campaign.host, user, words, campaign.slug)

    return run


def _by_user(function: Callable[..., None]) -> Run:
    return lambda row, fields, user: function(row, user=user)


def _accept_key(host: Host, fields: Mapping[str, Any], user: User) -> None:
    hosts.accept_key(host, fields.get("fingerprint", ""), user=user, any_key=may_use_any_key(user))


def _check(host: Host, fields: Mapping[str, Any], user: User) -> None:
    hosts.request_check(host, with_limits="limits" in fields)


def _choose_operators(host: Host, fields: Mapping[str, Any], user: User) -> None:
    groups.choose_operators(host, fields["operators"], user=user)


def _keep_statement(host: Host, fields: Mapping[str, Any], user: User) -> None:
    statements.keep_statement(host, fields.get("text", ""))


def _top_up(campaign: Campaign, fields: Mapping[str, Any], user: User) -> None:
    control.top_up(campaign, fields["repetitions"])


def _schedule(campaign: Campaign, fields: Mapping[str, Any], user: User) -> None:
    nightly.schedule(campaign, fields["minutes"])


HOST_ACTIONS = {
    "contact": Action("Have the host's key read.", _of_row(hosts.request_contact), may_change_host, None, _ACCEPTED),
    "accept-key": Action(
        "Trust the key with this fingerprint, and check the host.",
        _accept_key,
        may_change_host,
        FingerprintSerializer,
        _ACCEPTED,
    ),
    "check": Action("Find out what the host is and has; `facts` then says.", _check, _everybody, None, _ACCEPTED),
    "clear": Action(
        "Have what runs left there, and no area knows any more, taken away; `left_overs` then says what stays.",
        _of_row(cleanup.request_cleanup),
        _everybody,
        None,
        _ACCEPTED,
    ),
    "statement": Action(
        "Keep what a script of ours printed on the hypervisor as stated facts.",
        _keep_statement,
        may_change_host,
        StatementSerializer,
    ),
    "take": Action(
        "Make a host that nobody owns yours; administrators may.", _by_user(hosts.take_ownership), may_take_host
    ),
    "bring-back": Action("Take the host out of the archive.", _by_user(deletion.restore_host), may_change_host),
    "operators": Action(
        "Say who else may load the host, move its machines, and stop both; what others began there is cancelled.",
        _choose_operators,
        may_change_host,
        OperatorsSerializer,
    ),
    "stop": Action(
        "Cancel all campaigns on the host, call off its moves, and watch its machines no longer, whoever began it.",
        _by_user(groups.stop_everything),
        may_change_host,
    ),
}
CAMPAIGN_ACTIONS = {
    "start": Action("Start the campaign, or let it go on.", _noted(control.start, "campaign started"), may_steer),
    "pause": Action(
        "Begin no further run; the one under way goes on.", _noted(control.pause, "campaign paused"), _everybody
    ),
    "cancel": Action(
        "Give up what waits, and end the run under way.", _noted(control.cancel, "campaign cancelled"), _everybody
    ),
    "top-up": Action("Add repetitions of every cell.", _top_up, may_steer, TopUpSerializer),
    "nightly": Action(
        "Measure one more repetition of every cell each night, from tomorrow on at this time; without `minutes`, no\n"
        "more.",
        _schedule,
        may_steer,
        NightlySerializer,
    ),
    "bring-back": Action("Take the campaign out of the archive.", _by_user(deletion.restore_campaign), may_steer),
}
