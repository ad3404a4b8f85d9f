"""Make a draft case study of a session, by the import of published tables."""

import csv
import io
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.text import slugify

from experiments.imports.tables.conditions import Conditions
from experiments.imports.tables.drafting import TableRefused, make_draft
from experiments.imports.tables.parsing import PlainTable
from experiments.laboratory.benchmarks.engines import PERSONALITY
from experiments.models import CaseStudy, ImportBatch
from kdb.disk_path import SETTINGS
from modelling.evidence import names as catalogue
from modelling.models import Sitting

from . import loads, sessions
from .content import PROGRAMS, Choice, Refused


def share_session(session: Sitting, user: User | None, door: ImportBatch.Door) -> CaseStudy:
    """Return the draft that the session becomes, the same one each time. Raises Refused. user : None: a visitor

    Callers check that the user may see the session and begin a draft.
    """
    with transaction.atomic():
        # Two members may share it at once; and whatever dies meanwhile leaves no draft that the session does not know.
        session = Sitting.objects.select_for_update().get(pk=session.pk)
        if session.case_study is None:
            session.case_study = _draft(session, user, door)
            session.save(update_fields=["case_study"])
        return session.case_study


def _draft(session: Sitting, user: User | None, door: ImportBatch.Door) -> CaseStudy:
    """Return a new draft of what was measured. Raises Refused."""
    if session.state == Sitting.State.OPEN:
        raise Refused("The sitting is open: it can be shared when it has ended.")
    if session.like:
        raise Refused("It ran under the load of one machine, which is no workload that others measured.")
    rows = _rows(session)
    if not rows:
        raise Refused("No run of the sitting counts, so there is nothing to share.")
    if session.facts.get("virtual") == "yes" and "hypervisor" not in session.facts:
        raise Refused("It is not known which hypervisor the machine runs under: measure with --hypervisor NAME.")
    header = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name, "") for name in header] for row in rows]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header, *cells])
    table = PlainTable(header, cells, list(range(2, len(cells) + 2)))
    name = f"sitting-{session.pk}.csv"
    try:
        return make_draft(name, text.getvalue().encode(), table, _conditions(session, header), user=user, door=door)
    except TableRefused as error:
        raise Refused(f"It cannot become a draft: {error}.") from error


def _conditions(session: Sitting, header: list[str]) -> Conditions:
    """Return the conditions of all runs, without the machine's name, which nobody else needs."""
    facts = session.facts
    of_machine = {} if sessions.is_guest(session) else {"cpu": facts.get("cpu", ""), "cores": facts.get("cores", "")}
    if not sessions.is_guest(session):
        of_machine["ram_gib"] = facts.get("ram_gib", "")
    disturbed = session.runs.exclude(disturbed="")
    laboratory = session.laboratory
    places = list(dict.fromkeys(choice.place for choice in sessions.choices_of(session)))
    names = f"{len(places)} of a visitor's" if laboratory.expires_at else ", ".join(places)
    # A visitor's own short name is the address of what was measured, and nobody else's business.
    slug = f"visitor-{laboratory.pk}" if laboratory.expires_at else laboratory.slug
    of = "on a visitor's machine" if laboratory.expires_at else f"on a machine of {laboratory.name}"
    return Conditions(
        case_study={
            "slug": f"{slug}-{session.workload[:20]}-{session.pk}",
            "title": f"{session.workload.capitalize()} {of}"[:200],
            "laboratory": slug,
            "run_seconds": session.seconds,
            "warm_up_seconds": loads.warm_up_seconds(session.seconds),
            "quiet_host": facts.get("quiet_host", ""),
            "measured_year": session.created_at.year,
            "value_scope": CaseStudy.Scope.PER_VM,
            "procedure": _procedure(session),
            "notes": [
                *(f"Run {run.number} does not count: {run.disturbed}." for run in disturbed[:20]),
                *(f"{name}: {note}." for name, note in sessions.notes_of(session).items()),
            ],
        },
        server=of_machine,
        storage={"description": f"Places: {names}."[:300], "kind": facts.get("storage_kind", "")},
        columns={name: name for name in header},
    )


_BLOCKS = (
    "runs in blocks of several choices in random order, as many as the decision took. A run that other programs or "
    "the hypervisor disturbed does not count and was made again."
)
_NIGHT = "as many runs of each choice, in the same order every night. A run that was disturbed does not count."


def _procedure(session: Sitting) -> str:
    made = (
        "inside a virtual machine, its hypervisor as seen from there" if sessions.is_guest(session) else "on the host"
    )
    direct = ", direct I/O" * (session.engine == "fio")
    return (
        f"kdb measure: {session.engine}, {session.seconds} s a run {made}{direct} on files made anew for each run; "
        f"{_NIGHT if session.is_night else _BLOCKS}"
    )


def _rows(session: Sitting) -> list[dict[str, str]]:
    """Return a row of the import template for each run that counts."""
    of_choices = [_settings(session, place, choice) for place, choice in enumerate(sessions.choices_of(session))]
    load = loads.load_of(session)
    of_load = {
        "workload": "database" if session.workload in PROGRAMS else session.workload,
        "benchmark": session.engine,
        "benchmark_version": session.facts.get(session.engine, ""),
        "parameter:direct": int(session.engine == "fio"),
        "parameter:run_seconds": session.seconds,
        "parameter:threads": load.threads,
    }
    if session.engine in PROGRAMS:  # which make files of their own
        of_load["unit"] = "TPS"
    else:
        of_load |= {
            "parameter:personality": PERSONALITY,
            "parameter:files": load.threads * load.files,
            "parameter:file_size_bytes": load.file_bytes,
            "working_set_bytes": load.threads * load.files * load.file_bytes,
            "unit": "ops/s",
        }
    return [
        {
            **{name: str(value) for name, value in (of_choices[run.choice] | of_load).items()},
            "repetition": str(run.number),
            "value": f"{run.value:f}",
        }
        for run in session.runs.filter(disturbed="", value__isnull=False)
    ]


def _settings(session: Sitting, place: int, choice: Choice) -> dict[str, Any]:
    """Return the columns of a choice's configuration; two disks are two, whatever is on them."""
    facts, settings = session.facts, dict(choice.settings)
    is_guest = sessions.is_guest(session)
    backend = settings.pop("backend", "")
    is_known = is_guest and backend in catalogue.names()["backend"]
    below = f"Place {choice.place}" + (f": {backend}" if backend and not is_known else "")
    kernel = "guest_kernel" if is_guest else "host_kernel"
    columns = {
        "configuration": f"{slugify(choice.name)[:70]}-{place + 1}".lstrip("-"),
        "hypervisor": facts.get("hypervisor", "") if is_guest else "native",
        "backend": backend if is_known else "",
        "below": below,
        kernel: facts.get("kernel", ""),
        **{name: value for name, value in settings.items() if is_guest or name == "host_fs" or _is_native(name)},
    }
    if is_guest:
        columns |= {"vm_vcpus": facts.get("cores", ""), "vm_ram_gib": facts.get("ram_gib", ""), "vm_count": 1}
    return columns


def _is_native(column: str) -> bool:
    return column in SETTINGS and SETTINGS[column].is_native
