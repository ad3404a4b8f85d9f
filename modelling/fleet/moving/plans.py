"""Make plans for observed machines, and store them with their evidence."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from experiments import permissions
from experiments.models import Host, ObservedMachine
from kdb.pairs import pair_key
from kdb.units import THROUGHPUT
from modelling.answers.words import address, comparison_address
from modelling.evidence import counts, names
from modelling.evidence.question import Question
from modelling.fleet.placement.selectors import (
    MODEL,
    FleetError,
    Measured,
    Plan,
    Rules,
    compute_plan,
    plan_document,
)
from modelling.models import Laboratory, PlacementDecision, PlacementPlan, PlacementPolicy, StatedMix
from modelling.own_lab.selectors import laboratories_of

from .observed_fleet import Fleet, fleet_of, with_measured_rate

Action = PlacementDecision.Action


class PlacementError(Exception):
    """A plan, a move or a policy is not possible; the text is for users."""


def write_decision(host: Host, action: str, *, user: User | None, **about: Any) -> None:
    """Record a decision. about : fields of PlacementDecision"""
    defaults = {"revision": about.pop("revision", None) or counts.revision(), "model": about.pop("model", "") or MODEL}
    PlacementDecision.objects.create(host=host, action=action, actor=user, **defaults, **about)


def visible_to(user: Any) -> QuerySet[PlacementPlan]:
    """Return the plans that the user may see: only for hosts and with laboratories that are theirs."""
    others = Laboratory.objects.exclude(pk__in=laboratories_of(user))
    hosts = Host.objects.exclude(pk__in=permissions.hosts_visible_to(user))
    return PlacementPlan.objects.exclude(laboratories__in=others).exclude(hosts__in=hosts)


def _measured(hosts: Collection[Host], fleet: Fleet, user: User | None) -> list[Measured]:
    """Return the laboratories of the hosts' policies: those of the user, or all if the plan is by policy."""
    policies = PlacementPolicy.objects.filter(host__in=hosts, laboratory__isnull=False)
    if user is not None:
        policies = policies.filter(laboratory__in=laboratories_of(user))
    return [
        Measured(
            policy.host.slug,
            policy.laboratory,
            {
                place: name
                for name, pool in fleet.pool_rows.items()
                for place in (pool.name, pool.path)
                if place and pool.host_id == policy.host_id
            },
        )
        for policy in policies.select_related("host", "laboratory")
        if policy.laboratory
    ]


def make_plan(
    hosts: Collection[Host], *, user: User | None, rules: Rules | None = None, is_dry: bool = False
) -> PlacementPlan:
    """Plan for the machines seen on these hosts, and store the plan. Raises PlacementError.

    is_dry : it decides nothing, and does not last
    """
    rules, earlier_moves = rules or Rules(), 0
    if rules.copy_rate == Rules().copy_rate:
        rules, earlier_moves = with_measured_rate(rules, hosts)
    fleet = fleet_of(hosts)
    measured = _measured(hosts, fleet, user)
    revision = counts.revision()
    try:
        best = compute_plan(fleet.machines, fleet.pools, rules, measured)
    except FleetError as error:
        raise PlacementError(str(error)) from error
    content = {
        **plan_document(best),
        "pools": _pools_with_loads(fleet, best),
        "moves": {advice.machine: [advice.pool, advice.gain] for advice in best.advice if advice.is_move},
        "not_planned": [{"machine": name, "why": why} for name, why in sorted(fleet.not_planned.items())],
        "copy_rate_from_moves": earlier_moves,
    }
    for entry in content["machines"]:
        entry.update(_machine_details(entry, fleet))
    for entry in content["to_measure"]:
        entry["campaign"] = _campaign_address(entry, hosts)
    for entry in content["counted"]:
        entry["address"] = reverse("sitting", args=[entry["number"]])
    with transaction.atomic():
        plan = PlacementPlan.objects.create(
            rules=asdict(rules),
            content=json.loads(json.dumps(content)),
            **{"revision": revision, "model": MODEL, "made_by": user},
        )
        plan.hosts.set(hosts)
        plan.laboratories.set([site.laboratory for site in measured if site.site in best.measured])
        for host in hosts if not is_dry else ():
            write_decision(host, Action.PLANNED, user=user, plan=plan, revision=revision, detail=content["solved"])
    return plan


def _pools_with_loads(fleet: Fleet, best: Plan) -> list[dict[str, Any]]:
    """Return the pools with the load and the bytes of the planned machines on each, now and after the moves."""
    machines = {machine.name: machine for machine in fleet.machines}
    rows = {pool.name: asdict(pool) | {"load": 0.0, "load_after": 0.0, "bytes_in": 0.0} for pool in fleet.pools}
    for advice in best.advice:
        machine = machines[advice.machine]
        rows[advice.here]["load"] += machine.load
        rows[advice.pool]["load_after"] += machine.load
        rows[advice.pool]["bytes_in"] += machine.size_bytes if advice.is_move else 0.0
    return [*rows.values()]


def _machine_details(advice: Mapping[str, Any], fleet: Fleet) -> dict[str, Any]:
    """Return what the page and the moves need of a machine besides the advice."""
    disk, mix = fleet.disks[advice["machine"]], fleet.mixes[advice["machine"]]
    machine = disk.machine
    others = [{"probability": other.probability, "shares": dict(other.shares)} for other in mix.others]
    return {
        **{"machine_id": machine.pk, "machine_uuid": str(machine.uuid), "machine_name": machine.name},
        **{"host": machine.host.slug, "disk_id": disk.pk, "disk": disk.target, "path": disk.path},
        **{"guest_fs": machine.guest_fs, "mix": {**asdict(mix), "shares": dict(mix.shares), "others": others}},
        "links": _links(advice, fleet),
    }


def _links(advice: Mapping[str, Any], fleet: Fleet) -> list[dict[str, str]]:
    """Return links to the answer for the main workload, and to the comparison of both pairs."""
    disk, mix = fleet.disks[advice["machine"]], fleet.mixes[advice["machine"]]
    hypervisor = disk.machine.host.hypervisor
    main = names.slug_for("workload", max(mix.shares, key=lambda name: mix.shares[name]))
    if main is None:
        return []
    question = Question("fs-pair", main, hypervisor=hypervisor.slug if hypervisor else "", metric=THROUGHPUT)
    links = [{"text": "What the knowledge base says of its pairs", "address": address(question)}]
    here, there = fleet.pool_rows[advice["here"]], fleet.pool_rows[advice["pool"]]
    if here.host_fs != there.host_fs:
        pairs = (pair_key(disk.machine.guest_fs, pool.host_fs) for pool in (there, here))
        links.append({"text": "Why there rather than here", "address": comparison_address(question, pairs)})
    return links


def _campaign_address(missing: Mapping[str, Any], hosts: Collection[Host]) -> str:
    """Return the address of a filled-in campaign for a comparison, on the first host with its hypervisor."""
    able = (host for host in hosts if host.hypervisor and host.hypervisor.slug == missing["hypervisor"])
    host = next(able, None)
    pairs = [pair.split("-on-") for pair in missing["pairs"]]
    parameters = {
        **({"host": host.pk} if host else {}),
        **{"driver": Host.Driver.LIBVIRT.value, "workloads": missing["workload"], "vm_counts": 1},
        "guest_file_systems": sorted({pair[0] for pair in pairs}),
        "host_file_systems": sorted({pair[1] for pair in pairs}),
    }
    return f"{reverse('campaign-new')}?{urlencode(parameters, doseq=True)}"


def state_mix(machine: ObservedMachine, shares: Mapping[str, float], *, user: User | None) -> None:
    """Store a machine's mix as its operator states it; {} deletes the statement."""
    with transaction.atomic():
        if shares:
            StatedMix.objects.update_or_create(machine=machine, defaults={"shares": dict(shares), "stated_by": user})
        else:
            StatedMix.objects.filter(machine=machine).delete()
        detail = ", ".join(f"{name} {share:g}" for name, share in shares.items()) or "taken back"
        write_decision(machine.host, Action.MIX, user=user, detail=f"{machine}: {detail}")
