"""What a person does to a host or a campaign: one table for the buttons of the pages and the paths of the API."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied

from experiments import permissions
from experiments.models import Campaign, Host
from kdb.api.bodies import Fields

from . import cleanup, control, deletion, groups, hosts, nightly, statements
from .inputs import (
    FingerprintSerializer,
    NightlySerializer,
    OperatorsSerializer,
    StatementSerializer,
    TopUpSerializer,
)

ASKED = 202  # a worker does it


def _may_see(user: permissions.User, row: Host | Campaign) -> bool:
    """Tell whether the user may do what everybody may who sees the row, which each door looks up."""
    return True


@dataclass(frozen=True)
class Action:
    """Something done to one row.

    words : for the API's document
    run : called with the row, the fields that were sent, and the user; raises HostError or CampaignError
    may : whether a user who sees the row may do it
    body : of the API; where it is made of a form, that form checks the fields
    status : of the API's answer
    """

    words: str
    run: Callable[[Any, Mapping[str, Any], User], None]
    may: Callable[[permissions.User, Any], bool]
    body: type[Fields] | None = None
    status: int = 200

    @property
    def form(self) -> Any:
        return getattr(self.body, "form", None)

    def check_permission(self, row: Host | Campaign, user: User) -> None:
        """Raise PermissionDenied where the user may not do it."""
        if not self.may(user, row):
            raise PermissionDenied


def _accept_key(host: Host, fields: Mapping[str, Any], user: User) -> None:
    hosts.accept_key(host, fields.get("fingerprint", ""), any_key=permissions.may_use_any_key(user))


HOST_ACTIONS = {
    "contact": Action(
        "Have the host's key read.",
        lambda host, fields, user: hosts.request_contact(host),
        permissions.may_change_host,
        status=ASKED,
    ),
    "accept-key": Action(
        "Trust the key with this fingerprint, and check the host.",
        _accept_key,
        permissions.may_change_host,
        FingerprintSerializer,
        ASKED,
    ),
    "check": Action(
        "Find out what the host is and has; `facts` then says.",
        lambda host, fields, user: hosts.request_check(host, with_limits="limits" in fields),
        _may_see,
        status=ASKED,
    ),
    "clear": Action(
        "Have what runs left there, and no area knows any more, taken away; `left_overs` then says what stays.",
        lambda host, fields, user: cleanup.request_cleanup(host),
        _may_see,
        status=ASKED,
    ),
    "statement": Action(
        "Keep what a script of ours printed on the hypervisor as stated facts.",
        lambda host, fields, user: statements.keep_statement(host, fields.get("text", "")),
        permissions.may_change_host,
        StatementSerializer,
    ),
    "take": Action(
        "Make a host that nobody owns yours; administrators may.",
        lambda host, fields, user: hosts.take_ownership(host, user=user),
        permissions.may_take_host,
    ),
    "bring-back": Action(
        "Take the host out of the archive.",
        lambda host, fields, user: deletion.restore_host(host, user=user),
        permissions.may_change_host,
    ),
    "operators": Action(
        "Say who else may load the host, move its machines, and stop both; what others began there is cancelled.",
        lambda host, fields, user: groups.choose_operators(host, fields["operators"], user=user),
        permissions.may_change_host,
        OperatorsSerializer,
    ),
    "stop": Action(
        "Cancel all campaigns on the host, call off its moves, and watch its machines no longer, whoever began it.",
        lambda host, fields, user: groups.stop_everything(host, user=user),
        permissions.may_change_host,
    ),
}
CAMPAIGN_ACTIONS = {
    "start": Action(
        "Start the campaign, or let it go on.",
        lambda campaign, fields, user: control.start(campaign),
        permissions.may_steer,
    ),
    "pause": Action(
        "Begin no further run; the one under way goes on.",
        lambda campaign, fields, user: control.pause(campaign),
        _may_see,
    ),
    "cancel": Action(
        "Give up what waits, and end the run under way.",
        lambda campaign, fields, user: control.cancel(campaign),
        _may_see,
    ),
    "top-up": Action(
        "Add repetitions of every cell.",
        lambda campaign, fields, user: control.top_up(campaign, fields["repetitions"]),
        permissions.may_steer,
        TopUpSerializer,
    ),
    "nightly": Action(
        "Measure one more repetition of every cell each night, from tomorrow on at this time; without `minutes`, no\n"
        "more.",
        lambda campaign, fields, user: nightly.schedule(campaign, fields["minutes"]),
        permissions.may_steer,
        NightlySerializer,
    ),
    "bring-back": Action(
        "Take the campaign out of the archive.",
        lambda campaign, fields, user: deletion.restore_campaign(campaign, user=user),
        permissions.may_steer,
    ),
}
