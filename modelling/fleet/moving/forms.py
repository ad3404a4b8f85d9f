"""Forms of operators: plan, plan with changes, policy, moves by hand, and a machine's mix."""

from collections.abc import Iterator
from dataclasses import fields, replace
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
from modelling.models import Laboratory, PlacementPlan, PlacementPolicy
from modelling.own_lab.selectors import laboratories_of

from .manual import Room, targets
from .observed_fleet import WhatIf

_RULES = Rules()
_DAY = 86_400


def _lines(text: str) -> Iterator[tuple[int, str, str, float]]:
    """Yield number, name, amount as written and as a float (nan: not a number) of each line that is not empty."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            name, _, written = line.strip().rpartition(" ")
            try:
                amount = float(written)
            except ValueError:
                amount = nan
            yield number, name, written, amount


def _shown_rules(rules: Rules) -> dict[str, Any]:
    """Return rules in the units of the form: shares in percent, the horizon in days."""
    return {
        "margin_percent": 100 * rules.margin,
        "least_gaining_percent": 100 * rules.least_gaining,
        "most_losing_percent": round(100 * rules.most_losing, 6),
        "least_strength": rules.least_strength,
        "horizon_days": rules.horizon / _DAY,
    }


class PlanForm(forms.Form):
    """The hosts to plan for, and what a move must promise."""

    hosts = forms.ModelMultipleChoiceField(
        Host.objects.none(), to_field_name="slug", widget=forms.CheckboxSelectMultiple, label="Hosts"
    )
    margin_percent = forms.FloatField(min_value=0, max_value=90, label="Gain that counts, %")
    least_gaining_percent = forms.FloatField(min_value=0, max_value=100, label="Probability of gaining it at least, %")
    most_losing_percent = forms.FloatField(min_value=0, max_value=100, label="Probability of losing at most, %")
    least_strength = forms.ChoiceField(
        choices=[(word, word) for word in STRENGTHS], label="Strength of evidence at least"
    )
    horizon_days = forms.FloatField(min_value=0.1, max_value=3650, label="A move must pay within, days")

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", _shown_rules(_RULES))
        super().__init__(*args, **kwargs)
        hosts = permissions.hosts_visible_to(user).filter(observed_machines__isnull=False).distinct().order_by("slug")
        if "hosts" in self.fields:
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

    def what_if(self) -> WhatIf:
        return WhatIf()


class WhatIfForm(PlanForm):
    """A variant of a plan, with machines pinned, pools left out, other reserves or rules."""

    pinned = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Leave where they are"
    )
    freed = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Let go although they are pinned"
    )
    excluded = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Pools to leave out"
    )
    reserves = forms.CharField(
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        label="Reserves, a pool and GiB a line",
    )

    def __init__(self, plan: PlacementPlan, *args: Any, **kwargs: Any) -> None:
        rules = plan.rules
        initial = {name: rules.get(name, []) for name in ("pinned", "freed", "excluded")}
        initial |= _shown_rules(
            Rules(**{field.name: rules[field.name] for field in fields(Rules) if field.name in rules})
        )
        initial["reserves"] = "\n".join(f"{name} {size / 2**30:g}" for name, size in rules.get("reserves", {}).items())
        kwargs.setdefault("initial", initial)
        super().__init__(None, *args, **kwargs)
        del self.fields["hosts"]
        machines = [(row["machine"], row["machine"]) for row in plan.content["machines"]]
        pools = [(pool["name"], pool["name"]) for pool in plan.content["pools"]]
        for name, choices in (("pinned", machines), ("freed", machines), ("excluded", pools)):
            field_of(self, name, forms.MultipleChoiceField).choices = choices
        self.pools = [name for name, _ in pools]

    def clean_reserves(self) -> dict[str, int]:
        reserves = {}
        for number, name, written, gib in _lines(self.cleaned_data["reserves"]):
            if name not in self.pools:
                raise ValidationError(
                    f"Line {number}: {name!r} is no pool of the plan; there are {', '.join(self.pools)}."
                )
            if not 0 <= gib <= 2**20:
                raise ValidationError(f"Line {number}: {written!r} is no number of GiB from 0 to {2**20:,}.")
            reserves[name] = round(gib * 2**30)
        return reserves

    def what_if(self) -> WhatIf:
        data = self.cleaned_data
        return WhatIf(data["pinned"], data["freed"], data["excluded"], data["reserves"])


class PolicyForm(ModelForm[PlacementPolicy]):
    """The policy of a host. A laboratory of which the user is no member is neither shown nor changed."""

    class Meta:
        model = PlacementPolicy
        fields = (
            *("mode", "least_gaining", "least_gain", "most_moves_a_day", "copy_rate_mib", "keeps_days", "removes_kept"),
            "laboratory",
        )
        labels = {
            "mode": "What may be done",
            "least_gaining": "By itself only with a probability of gaining of at least",
            "least_gain": "By itself only with an expected gain of at least",
            "most_moves_a_day": "Moves that begin by themselves, a day at most",
            "copy_rate_mib": "A copy takes at most, MiB/s",
            "keeps_days": "Old images are kept, days",
            "removes_kept": "Remove them after that without being asked, unless a move was for the worse",
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
        (key, f"{pool}, {pool.host_fs or pool.get_backend_display()}: room for {data_size(room[pool])}")
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
        for number, name, written, share in _lines(self.cleaned_data["shares"]):
            slug = names.slug_for("workload", name)
            if slug is None:
                known = ", ".join(names.names()["workload"])
                raise ValidationError(f"Line {number}: {name!r} is no workload here; there are {known}.")
            if slug in shares:
                raise ValidationError(f"Line {number}: {slug} is given twice.")
            if not 0 < share <= 1e6:
                raise ValidationError(f"Line {number}: {written!r} is no share above 0.")
            shares[slug] = share
        return shares
