"""Makes a draft case study of what was measured on a machine, by the door that published tables come in by."""

import csv
import io
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify

from experiments.laboratory.measuring import engines
from experiments.models import CaseStudy, ImportBatch
from experiments.tables.conditions import Conditions
from experiments.tables.drafting import TableRefused, make_draft
from experiments.tables.parsing import PlainTable
from kdb.disk_path import SETTINGS
from kdb.host_storage import BACKENDS
from modelling.models import Sitting

from . import sittings
from .content import Choice


class Refused(Exception):  # noqa: N818
    """The sitting cannot become a draft; the text says why."""


def share(sitting: Sitting, user: User, door: ImportBatch.Door) -> CaseStudy:
    """Return the draft that the sitting becomes; again it is the same one. Raises Refused.

    Members of its laboratory may see the sitting; who may begin a draft is asked before (experiments.permissions).
    """
    with transaction.atomic():
        # Two members may share it at once; and whatever dies meanwhile leaves no draft that the sitting does not know.
        sitting = Sitting.objects.select_for_update().get(pk=sitting.pk)
        if sitting.case_study is None:
            sitting.case_study = _draft(sitting, user, door)
            sitting.save(update_fields=["case_study"])
        return sitting.case_study


def _draft(sitting: Sitting, user: User, door: ImportBatch.Door) -> CaseStudy:
    """Return a new draft of what was measured. Raises Refused."""
    if sitting.state == Sitting.State.OPEN:
        raise Refused("The sitting is open: it can be shared when it has ended.")
    if sitting.like:
        raise Refused("It ran under the load of one machine, which is no workload that others measured.")
    rows = _rows(sitting)
    if not rows:
        raise Refused("No run of the sitting counts, so there is nothing to share.")
    if sitting.facts.get("virtual") == "yes" and "hypervisor" not in sitting.facts:
        raise Refused("It is not known which hypervisor the machine runs under: measure with --hypervisor NAME.")
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name, "") for name in header] for row in rows]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header, *cells])
    table = PlainTable(header, cells, list(range(2, len(cells) + 2)))
    name = f"sitting-{sitting.pk}.csv"
    try:
        return make_draft(name, text.getvalue().encode(), table, _conditions(sitting, header), user=user, door=door)
    except TableRefused as error:
        raise Refused(f"It cannot become a draft: {error}.") from error


def _conditions(sitting: Sitting, header: list[str]) -> Conditions:
    """Return what is said of all runs: no name of the machine, which nobody else needs."""
    facts = sitting.facts
    of_machine = {} if sittings.is_guest(sitting) else {"cpu": facts.get("cpu", ""), "cores": facts.get("cores", "")}
    if not sittings.is_guest(sitting):
        of_machine["ram_gib"] = facts.get("ram_gib", "")
    disturbed = sitting.runs.exclude(disturbed="")
    names = ", ".join(dict.fromkeys(choice.place for choice in sittings.choices_of(sitting)))
    return Conditions(
        case_study={
            "slug": f"{sitting.laboratory.slug}-{sitting.workload[:20]}-{sitting.pk}",
            "title": f"{sitting.workload.capitalize()} on a machine of {sitting.laboratory.name}"[:200],
            "laboratory": sitting.laboratory.slug,
            "run_seconds": sitting.seconds,
            "warm_up_seconds": sittings.warm_up_seconds(sitting.seconds),
            "quiet_host": facts.get("quiet_host", ""),
            "measured_year": sitting.created_at.year,
            "value_scope": CaseStudy.Scope.PER_VM,
            "procedure": _procedure(sitting),
            "notes": [f"Run {run.number} does not count: {run.disturbed}." for run in disturbed[:20]],
        },
        server=of_machine,
        storage={"description": f"Places: {names}."[:300], "kind": facts.get("storage_kind", "")},
        columns={name: name for name in header},
    )


def _procedure(sitting: Sitting) -> str:
    made = (
        "inside a virtual machine, its hypervisor as seen from there" if sittings.is_guest(sitting) else "on the host"
    )
    return (
        f"kdb measure: {sitting.engine}, {sitting.seconds} s a run {made}, direct I/O on files made anew for each run; "
        "runs in blocks of several choices in random order, as many as the decision took. A run that other programs or "
        "the hypervisor disturbed does not count and was made again."
    )


def _rows(sitting: Sitting) -> list[dict[str, str]]:
    """Return a row of the template for each run that counts."""
    of_choices = [_settings(sitting, place, choice) for place, choice in enumerate(sittings.choices_of(sitting))]
    shape = engines.SHAPES[sitting.workload]
    of_load = {
        "workload": sitting.workload,
        "benchmark": sitting.engine,
        "benchmark_version": sitting.facts.get("fio", ""),
        "parameter:direct": 1,
        "parameter:personality": engines.PERSONALITY,
        "parameter:threads": shape.threads,
        "parameter:files": shape.files,
        "parameter:file_size_bytes": shape.file_bytes,
        "parameter:run_seconds": sitting.seconds,
        "working_set_bytes": shape.files * shape.file_bytes,
        "unit": "ops/s",
    }
    return [
        {
            **{name: str(value) for name, value in (of_choices[run.choice] | of_load).items()},
            "repetition": str(run.number),
            "value": f"{run.value:f}",
        }
        for run in sitting.runs.filter(disturbed="", value__isnull=False)
    ]


def _settings(sitting: Sitting, place: int, choice: Choice) -> dict[str, Any]:
    """Return the columns of a choice's configuration; two disks are two, whatever is on them."""
    facts, settings = sitting.facts, dict(choice.settings)
    is_guest = sittings.is_guest(sitting)
    backend = settings.pop("backend", "")
    is_known = is_guest and backend in BACKENDS
    below = f"Place {choice.place}" + (f": {backend}" if backend and not is_known else "")
    kernel = "guest_kernel" if is_guest else "host_kernel"
    given = {
        "configuration": f"{slugify(choice.name)[:70]}-{place + 1}".lstrip("-"),
        "hypervisor": facts.get("hypervisor", "") if is_guest else "native",
        "backend": backend if is_known else "",
        "below": below,
        kernel: facts.get("kernel", ""),
        **{name: value for name, value in settings.items() if is_guest or name == "host_fs" or _is_native(name)},
    }
    if is_guest:
        given |= {"vm_vcpus": facts.get("cores", ""), "vm_ram_gib": facts.get("ram_gib", ""), "vm_count": 1}
    return given


def _is_native(column: str) -> bool:
    return column in SETTINGS and SETTINGS[column].is_native
