"""Who did what, when, on which machine: the audit entries of hosts and the decisions about moves, as one list."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import BigIntegerField, CharField, F, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Concat

from experiments import permissions
from experiments.campaigns.hosts import FROZEN, THAWED
from experiments.models import HostAuditEntry
from modelling.models import PlacementDecision

_COLUMNS = ("at", "who", "what", "where", "machine", "move_number", "more")
_DECISIONS = dict(PlacementDecision.Action.choices)  # action to words


class TrailForm(forms.Form):
    """What of the trail is shown; every field may stay empty."""

    who = forms.CharField(required=False, max_length=150, label="User")
    host = forms.CharField(required=False, max_length=60, label="Host (short name)")
    text = forms.CharField(required=False, max_length=100, label="What, machine or detail")
    since = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}), label="From")
    until = forms.DateField(required=False, widget=forms.DateInput(attrs={"type": "date"}), label="To")


def entries(user: Any, *, who: str = "", host: str = "", text: str = "", since: Any = None, until: Any = None) -> Any:
    """Return the entries that the user may see, the latest first, as one query of dictionaries.

    Operators see those of their hosts, every freeze, and what they did themselves to tokens and hosts that are gone.
    """
    noted: QuerySet[Any] = HostAuditEntry.objects.all()
    decided: QuerySet[Any] = PlacementDecision.objects.all()
    if not permissions.may_use_any_key(user):
        hosts = permissions.hosts_visible_to(user)
        mine = Q(host=None, actor=user) | Q(host=None, deleted_host="", action__in=(FROZEN, THAWED))
        noted, decided = noted.filter(Q(host__in=hosts) | mine), decided.filter(host__in=hosts)
    about = [action for action, label in _DECISIONS.items() if text.lower() in label.lower()]
    noted = noted.filter(Q(action__icontains=text) | Q(detail__icontains=text))
    decided = decided.filter(Q(action__in=about) | Q(detail__icontains=text) | Q(move__machine_name__icontains=text))
    if host:
        noted = noted.filter(Q(host__slug=host) | Q(deleted_host=host))
        decided = decided.filter(host__slug=host)
    common = {"actor__username": who} if who else {}
    common |= {"at__date__gte": since} if since else {}
    common |= {"at__date__lte": until} if until else {}
    return (
        _columns(
            noted.filter(**common),
            where=Coalesce(F("host__slug"), F("deleted_host")),
            machine=Value("", CharField()),
            move_number=Value(None, BigIntegerField()),
        )
        .union(
            _columns(
                decided.filter(**common),
                where=F("host__slug"),
                machine=Coalesce(Concat("move__machine_name", Value(", "), "move__disk"), Value("")),
                move_number=F("move_id"),
            ),
            all=True,
        )
        .order_by("-at")
    )


def in_words(page: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries with what was decided in words."""
    return [entry | {"what": _DECISIONS.get(entry["what"], entry["what"])} for entry in page]


def _columns(rows: QuerySet[Any], **special: Any) -> QuerySet[Any]:
    names = {"who": Coalesce("actor__username", Value("")), "what": F("action"), "more": F("detail")}
    return rows.order_by().annotate(**names, **special).values(*_COLUMNS)
