"""Forms of operators: plan, policy, moves by hand, and a machine's mix."""

from dataclasses import replace
from math import nan
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from experiments import permissions
from experiments.models import Host, ObservedDisk, ObservedMachine, ObservedPool
from experiments.templatetags.kdb_format import data_size
from kdb.web.form_types import ModelForm, field_of
from modelling.estimation.verdict import STRENGTHS
from modelling.evidence import names
from modelling.fleet.placement.selectors import Rules
from modelling.models import Laboratory, PlacementPolicy
from modelling.own_lab.selectors import laboratories_of

from .manual import Room, targets

_RULES = Rules()
_DAY = 86_400


class PlanForm(forms.Form):
    """The hosts to plan for, and what a move must promise."""

    hosts = forms.ModelMultipleChoiceField(
        Host.objects.none(), to_field_name="slug", widget=forms.CheckboxSelectMultiple, label="Hosts"
    )
    margin_percent = forms.FloatField(
        min_value=0, max_value=90, initial=100 * _RULES.margin, label="Gain that counts, %"
    )
    least_gaining_percent = forms.FloatField(
        min_value=0,
        max_value=100,
        initial=100 * _RULES.least_gaining,
        label="Probability of gaining it at least, %",
    )
    most_losing_percent = forms.FloatField(
        min_value=0,
        max_value=100,
        initial=round(100 * _RULES.most_losing, 6),
        label="Probability of losing at most, %",
    )
    least_strength = forms.ChoiceField(
        choices=[(word, word) for word in STRENGTHS],
        initial=_RULES.least_strength,
        label="Strength of evidence at least",
    )
    horizon_days = forms.FloatField(
        min_value=0.1, max_value=3650, initial=_RULES.horizon / _DAY, label="A move must pay within, days"
    )

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        hosts = permissions.hosts_visible_to(user).filter(observed_machines__isnull=False).distinct().order_by("slug")
        field_of(self, "hosts", forms.ModelMultipleChoiceField).queryset = hosts

    def rules(self) -> Rules:
        data = self.cleaned_data
        return replace(
            _RULES,
            margin=data["margin_percent"] / 100,
            least_gaining=data["least_gaining_percent"] / 100,
            most_losing=data["most_losing_percent"] / 100,
            least_strength=data["least_strength"],
            horizon=data["horizon_days"] * _DAY,
        )


class PolicyForm(ModelForm[PlacementPolicy]):
    """The policy of a host. A laboratory of which the user is no member is neither shown nor changed."""

    class Meta:
        model = PlacementPolicy
        fields = (
            *("mode", "least_gaining", "least_gain", "most_moves_a_day", "copy_rate_mib", "keeps_days", "removes_kept"),
            *("second_person", "laboratory"),
        )
        labels = {
            "mode": "What may be done",
            "least_gaining": "By itself only with a probability of gaining of at least",
            "least_gain": "By itself only with an expected gain of at least",
            "most_moves_a_day": "Moves that begin by themselves, a day at most",
            "copy_rate_mib": "A copy takes at most, MiB/s",
            "keeps_days": "Old images are kept, days",
            "removes_kept": "Remove them after that without being asked, unless a move was for the worse",
            "second_person": "Any move begins only once a second person of the host's group approved it",
            "laboratory": "Laboratory whose runs on its pools count in plans, which its members alone see then",
        }
        help_texts = dict.fromkeys(fields, "")

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = laboratories_of(user)
        field_of(self, "laboratory", forms.ModelChoiceField).queryset = own
        self.hidden_laboratory = None if self.instance.laboratory in own else self.instance.laboratory

    def clean_laboratory(self) -> Laboratory | None:
        return self.cleaned_data["laboratory"] or self.hidden_laboratory


def _pool_field(room: Room, empty: str, **options: Any) -> forms.TypedChoiceField:
    """Return the field for the pool to move to; its choices show the room left."""
    pools = {str(pool.pk): pool for pool in room}
    choices = [
        (key, f"{pool}, {pool.host_fs or pool.backend_label}: room for {data_size(room[pool])}")
        for key, pool in pools.items()
    ]
    return forms.TypedChoiceField(
        choices=[("", empty), *choices], coerce=pools.__getitem__, empty_value=None, label="To the pool", **options
    )


class MoveForm(forms.Form):
    """One disk of a machine, and the pool to move it to."""

    def __init__(self, machine: ObservedMachine, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        disks = ObservedDisk.objects.filter(machine=machine).select_related("machine__host", "pool").order_by("target")
        only = disks.first() if disks.count() == 1 else None
        self.fields["disk"] = forms.ModelChoiceField(disks, to_field_name="target", initial=only, label="Disk")
        self.fields["pool"] = _pool_field(targets(machine.host), "choose one")


class EmptyForm(forms.Form):
    """The pool to move everything on a pool to."""

    def __init__(self, pool: ObservedPool, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        room = {target: left for target, left in targets(pool.host).items() if target != pool}
        self.fields["to"] = _pool_field(room, "each where there is most room", required=False)


class MixForm(forms.Form):
    """The mix of a machine, a line for each workload and its share; empty deletes the statement."""

    shares = forms.CharField(
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        label="Workload and share, one a line",
    )

    def clean_shares(self) -> dict[str, float]:
        shares: dict[str, float] = {}
        for number, line in enumerate(self.cleaned_data["shares"].splitlines(), start=1):
            name, _, written = line.strip().rpartition(" ")
            if not line.strip():
                continue
            slug = names.slug_for("workload", name)
            if slug is None:
                known = ", ".join(names.names()["workload"])
                raise ValidationError(f"Line {number}: {name!r} is no workload here; there are {known}.")
            if slug in shares:
                raise ValidationError(f"Line {number}: {slug} is given twice.")
            try:
                share = float(written)
            except ValueError:
                share = nan
            if not 0 < share <= 1e6:
                raise ValidationError(f"Line {number}: {written!r} is no share above 0.")
            shares[slug] = share
        return shares
