"""A plan as a document: what is compared and how it is measured, and not where, so that another host can repeat it."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from experiments.laboratory.targets import disks
from experiments.models import Campaign, CampaignRun
from experiments.permissions import User
from kdb.api.bodies import faults

from .control import CampaignError
from .forms import CampaignForm
from .inputs import FORMAT, PlanSerializer

MOST_BYTES = 2**20
FIELDS = PlanSerializer.names
State = CampaignRun.State


def document(campaign: Campaign) -> dict[str, Any]:
    """Return the plan, JSON-ready; units as in `Campaign`. What the form calls empty is left out."""
    values = {name: getattr(campaign, name) for name in FIELDS if name not in disks.CHOICES}
    values |= {name: chosen if len(chosen) > 1 else chosen[0] for name, chosen in campaign.disk.items()}
    return {"format": FORMAT, **{name: value for name, value in values.items() if value not in (None, "", [])}}


def text(campaign: Campaign) -> str:
    return json.dumps(document(campaign), indent=2) + "\n"


def read_document(content: bytes, name: str) -> dict[str, Any]:
    """Return a document's fields. Raises CampaignError, which names the file, the field and what is allowed."""
    if len(content) > MOST_BYTES:
        raise CampaignError(f"{name}: larger than {MOST_BYTES:,} bytes, the most that a plan may have.")
    try:
        fields = json.loads(content)
        json.dumps(fields, ensure_ascii=False).encode()  # half a character can be escaped, and stored nowhere
    except (ValueError, RecursionError) as error:
        raise CampaignError(f"{name}: no JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise CampaignError(f"{name}: a JSON object is expected.")
    if (format_given := fields.pop("format", None)) != FORMAT:
        raise CampaignError(f"{name}, format: found {format_given!r}, allowed is {FORMAT!r}.")
    # A document of a version before has no word of the protocol, and nobody followed it.
    fields = {"follows_protocol": False} | {field: value for field, value in fields.items() if value is not None}
    if errors := faults(fields, PlanSerializer):
        raise CampaignError("\n".join(f"{name}, {error['field']}: {error['message']}" for error in errors))
    return fields


def plan_form(fields: dict[str, Any], *, user: User) -> CampaignForm:
    """Return the form filled in with a document's fields and the keys of host and pool; the rest is as on the form."""
    initial = {name: field.initial for name, field in CampaignForm.base_fields.items() if field.initial is not None}
    return CampaignForm({**initial, **fields}, user=user)


def copy_query(campaign: Campaign) -> str:
    """Return the query of a new campaign like this one, on the same host; its short name is left open."""
    fields = {name: value for name, value in document(campaign).items() if name not in ("format", "slug", "seed")}
    fields |= {name: " ".join(map(str, fields[name])) for name in ("vm_counts", "pinned_cpus") if name in fields}
    fields |= {"title": f"{campaign.title} (copy)"[:300], "host": campaign.host_id}
    fields["follows_protocol"] = fields["follows_protocol"] or ""  # as of a box without a tick
    if campaign.pool_id:
        fields["pool"] = campaign.pool_id
    return urlencode(fields, doseq=True)


def deviations(campaign: Campaign, runs: list[CampaignRun]) -> list[str]:
    """Return a sentence for each difference to the plan: cells without all repetitions, conditions that changed.

    runs : all of the campaign's
    """
    return [*_unfinished(runs), *_changed([run for run in runs if run.state == State.DONE])]


def _unfinished(runs: list[CampaignRun]) -> Iterator[str]:
    cells: dict[str, list[CampaignRun]] = {}
    for run in runs:
        if run.repeats_id is None and run.repetition:
            cells.setdefault(run.cell, []).append(run)
    for cell, mine in cells.items():
        states = [State(run.state) for run in mine]
        if all(state in (State.DONE, State.WAITING, State.ACTIVE) for state in states):
            continue
        others = {state: states.count(state) for state in State if state in states and state != State.DONE}
        rest = ", ".join(f"{count} {state.label}" for state, count in others.items())
        yield f"{cell}: {states.count(State.DONE)} of {len(mine)} repetitions are done ({rest})."


def _changed(done: list[CampaignRun]) -> Iterator[str]:
    """Yield the conditions of which runs with the same file systems found several."""
    counts: dict[tuple[str, ...], dict[str, int]] = {}
    for run in done:
        systems = run.configuration
        conditions = {
            ("benchmark", ""): run.facts.get("tool_version"),
            ("host kernel", ""): run.facts.get("host_kernel"),
        }
        if image := run.facts.get("guest_image"):
            digests = (f"{name} {digest[:12]}" for name, digest in image["sha256"].items())
            conditions["guest image", ""] = ", ".join([image["distribution"], *digests])
        for machine in run.facts.get("machines", []):
            conditions |= {(name.replace("_", " "), systems): machine.get(name) for name in ("mount_options", "mkfs")}
            conditions["kernel", systems] = machine.get("kernel")
        for about, value in conditions.items():
            if value:
                values = counts.setdefault(about, {})
                values[value] = values.get(value, 0) + 1
    for (what, systems), values in counts.items():
        if len(values) > 1:
            where = f" of {systems}" if systems else ""
            listed = ", ".join(f"{value} ({count} runs)" for value, count in values.items())
            yield f"Not the same in all runs, {what}{where}: {listed}."
