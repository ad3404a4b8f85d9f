"""The invariants that must hold when the killing is over and everybody has ended what they began.

Each check looks at the database, or at the machine, and gives its complaints.
"""

import hashlib
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import Min

from experiments.models import (
    Campaign,
    CampaignRun,
    CaseStudy,
    Configuration,
    ImportBatch,
    KnowledgeRevision,
    Measurement,
    RawFile,
)
from experiments.records.files import raw_files
from kdb.models import Job
from modelling.answer_store import snapshots
from modelling.evidence.summaries import rebuild_arms
from modelling.models import Arm, ClaimVerdict
from tests.experiments.laboratory import lab

from .people import Ledger
from .place import HANG_SECONDS, ROOT, Place, complaints_in, copy_empty_database

_OPEN = (Job.State.QUEUED, Job.State.RUNNING)
_GIVEN_UP = "Given up after"  # of a job whose worker was killed each time
_PUT_OFF = "The worker was stopped while it was answered."  # of a question, twice; the tick takes it up again


def latest_revision() -> int:
    return KnowledgeRevision.objects.order_by("-number").values_list("number", flat=True).first() or 0


def under_way() -> str:
    """Return what is not done yet, in words; empty where all is calm."""
    connection.close()  # the one before may have been killed with the others
    open_jobs = Counter(Job.objects.filter(state__in=_OPEN).values_list("kind", flat=True))
    waiting = snapshots.renewal_state()["waiting"]
    oldest = ClaimVerdict.objects.aggregate(first=Min("revision"))["first"]
    unfinished = [f"{count} jobs {kind}" for kind, count in open_jobs.items()]
    unfinished += [f"{waiting} answers wait"] if waiting else []
    unfinished += ["verdicts are behind"] if oldest is not None and oldest < latest_revision() else []
    return ", ".join(unfinished)


def in_database(ledger: Ledger, revisions_before: int) -> Iterator[tuple[str, list[str]]]:
    """Name and complaints of each check, while KDB has stopped and its services run."""
    yield from of_filed(ledger, revisions_before)
    yield "jobs and imports have ended", list(_ended())
    yield "each planned run ended once, and is filed once", list(_campaigns(ledger))
    yield (
        "kept bytes are what was uploaded",
        [
            f"{file}: its bytes are not those of {file.sha256}"
            for file in RawFile.objects.all()
            if hashlib.sha256(raw_files.content(file)).hexdigest() != file.sha256
        ],
    )
    yield "arms are what their measurements sum up to", list(_arms())
    yield "every kept answer is what is computed from scratch", list(_answers())
    yield "the database is whole", list(_integrity())


def of_filed(ledger: Ledger, revisions_before: int) -> Iterator[tuple[str, list[str]]]:
    """Name and complaints of what people were told, whatever is still to follow from it."""
    yield "what was filed is there once, and nothing else", list(_studies(ledger))
    yield (
        "revisions have no gaps, and each tells of one publication or retraction",
        list(_revisions(ledger, revisions_before)),
    )


def _studies(ledger: Ledger) -> Iterator[str]:
    for slug, wanted in ledger.studies.items():
        rows = Measurement.objects.filter(configuration__case_study__slug=slug)
        there = Counter(rows.values_list("value", flat=True))
        if there != Counter(wanted):
            lost, more = Counter(wanted) - there, there - Counter(wanted)
            yield f"{slug}: {lost.total()} of {len(wanted)} values are lost, {more.total()} are there more often"
        empty = Configuration.objects.filter(case_study__slug=slug, measurement__isnull=True).count()
        if empty:
            yield f"{slug}: {empty} configurations without a number"
    statuses = dict(CaseStudy.objects.filter(slug__in=ledger.statuses).values_list("slug", "status"))
    for slug, wanted in ledger.statuses.items():
        if statuses.get(slug, "") != wanted:
            yield f"{slug}: is {statuses.get(slug, 'not there')!r}, and was said to be {wanted or 'deleted'!r}"
    known = {*ledger.statuses, *ledger.studies, *ledger.campaigns}
    for slug in (
        CaseStudy.objects.filter(title__startswith="Soak ").exclude(slug__in=known).values_list("slug", flat=True)
    ):
        yield f"{slug}: is there, and nobody was told"


def _revisions(ledger: Ledger, before: int) -> Iterator[str]:
    numbers = list(KnowledgeRevision.objects.order_by("number").values_list("number", flat=True))
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the revisions are {numbers}"
    told = Counter(ledger.statuses.values())
    wanted = before + told["published"] + 2 * told["retracted"]
    if len(numbers) != wanted:
        yield f"{len(numbers)} revisions, where {wanted} were made"


def _ended() -> Iterator[str]:
    for job in Job.objects.filter(state__in=_OPEN):
        yield f"{job} is {job.state}, attempt {job.attempt}"
    failed = Job.objects.filter(state=Job.State.FAILED)
    for job in failed.exclude(error__startswith=_GIVEN_UP).exclude(error__endswith=_PUT_OFF):
        yield f"{job} failed: {job.error}"
    for batch in ImportBatch.objects.exclude(state__in=[ImportBatch.State.FILED, ImportBatch.State.DISCARDED]):
        yield f"{batch} of {batch.case_study.slug} is {batch.state}: {batch.why_not_read}"


def _campaigns(ledger: Ledger) -> Iterator[str]:
    for slug, planned in ledger.campaigns.items():
        campaign = Campaign.objects.get(slug=slug)
        runs = list(campaign.runs.prefetch_related("artifacts"))
        first = [run for run in runs if run.repeats_id is None]  # a disturbed one is done once more
        if campaign.state != Campaign.State.FINISHED or len(first) != planned:
            yield f"{slug}: is {campaign.state} with {len(first)} of {planned} runs"
        for run in runs:
            if run.repeats_id and run.state == CampaignRun.State.UNNEEDED:
                continue  # called off, where the machine is always busy
            outputs = [artifact for artifact in run.artifacts.all() if artifact.attempt == run.attempt]
            if run.state != CampaignRun.State.DONE or not run.figures or not outputs:
                left = f"{len(run.figures)} figures, {len(outputs)} outputs"
                yield f"{slug}, {run}: is {run.state} with {left} {run.reason}"
        filed = Counter(
            Measurement.objects.filter(configuration__case_study__slug=slug).values_list("repetition", flat=True)
        )
        if len(filed) != planned or len(set(filed.values())) != 1:
            yield f"{slug}: filed by repetition are {dict(filed)} numbers"
    for slug in Campaign.objects.exclude(slug__in=ledger.campaigns).values_list("slug", flat=True):
        yield f"{slug}: is a campaign that nobody was told of"


def _arms() -> Iterator[str]:
    """Return the arms that count: those of published case studies."""
    names = [field.attname for field in Arm._meta.concrete_fields if field.attname != "id"]

    def kept() -> Counter[str]:
        rows = Arm.objects.values_list(*names)
        return Counter(json.dumps([_rounded(value) for value in row], default=str) for row in rows)

    there = kept()
    with transaction.atomic():
        ids = Arm.objects.values_list("configuration__case_study", flat=True).distinct()
        rebuild_arms([*ids, *CaseStudy.objects.filter(status="published").values_list("pk", flat=True)])
        fresh = kept()
        transaction.set_rollback(True)
    if there != fresh:
        yield f"{(there - fresh).total()} arms are kept that are not so, {(fresh - there).total()} are missing"


def _rounded(value: Any) -> Any:
    return f"{value:.9g}" if isinstance(value, float) else value


def _answers() -> Iterator[str]:
    stdout = io.StringIO()
    try:
        call_command("check_answers", stdout=stdout)
    except CommandError as error:
        yield f"{error}\n{stdout.getvalue()}"
    if not stdout.getvalue().endswith(" 0 wait.\n"):
        yield stdout.getvalue()


def _integrity() -> Iterator[str]:
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            rows = cursor.execute("PRAGMA integrity_check").fetchall()
            if rows != [("ok",)]:
                yield f"PRAGMA integrity_check: {rows}"
    connection.check_constraints()


# Beside the database


def on_machine(place: Place) -> Iterator[tuple[str, list[str]]]:
    """Once KDB has stopped: nothing is left that it would have to take away."""
    yield "nothing is left on the laboratory's host", place.lab.left_overs()
    yield "no loop device is left", [line for line in lab.loops() if str(place.lab.folder) in line]
    yield "no temporary file is left", [str(path) for path in place.temporary.rglob("*") if path.is_file()]
    yield "no torn backup is left", [str(path) for path in (place.folder / "backups").glob(".*")]
    yield "nobody made a mistake, by the log", complaints_in(place.log.read_text(errors="replace"))[:20]


def of_backups(ledger: Ledger, place: Place) -> Iterator[tuple[str, list[str]]]:
    """Restore the last backup into SQLite: it holds one moment, and its answers are those of that moment."""
    if ledger.backups:
        yield "the last backup taken meanwhile restores", list(_restored(ledger.backups[-1], ledger, place))


_LOOK = """
import django; django.setup()
import json
from experiments.models import CaseStudy, KnowledgeRevision, Measurement
def values(study):
    return list(Measurement.objects.filter(configuration__case_study=study).values_list("value", flat=True))
studies = CaseStudy.objects.filter(title__startswith="Soak ").exclude(status="draft")
revisions = KnowledgeRevision.objects.order_by("number").values_list("number", flat=True)
print(json.dumps({"revisions": list(revisions), "studies": {study.slug: values(study) for study in studies}}))
"""


def _restored(name: str, ledger: Ledger, place: Place) -> Iterator[str]:
    folder = place.folder / f"restored-{Path(name).stem}"
    folder.mkdir(mode=0o700)
    copy_empty_database(folder)
    environment = {**place.environment, "DATA_DIR": str(folder), "DATABASE_URL": "", "REDIS_URL": ""}

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
        )

    for arguments in (["manage.py", "restore", name], ["manage.py", "check_answers"]):
        done = run(*arguments)
        if done.returncode:
            yield f"{' '.join(arguments)}: {(done.stdout + done.stderr)[-1500:]}"
            return
    there = json.loads(run("-c", _LOOK).stdout)
    if there["revisions"] != list(range(1, len(there["revisions"]) + 1)):
        yield f"its revisions are {there['revisions']}"
    for slug, values in there["studies"].items():
        if slug in ledger.studies and Counter(values) != Counter(ledger.studies[slug]):
            yield f"{slug} has {len(values)} values, and was submitted with {len(ledger.studies[slug])}"
