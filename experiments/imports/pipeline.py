"""Import results into a draft: receive, read, correct, confirm, discard. Pages, API, commands and campaigns use this.

    receive    store the bytes, and enqueue a job that reads them
    read       (job) make a row or a fault of every line, and a report of what would be imported
    correct    map names, give context, leave files out; the job reads again
    confirm    the job reads again and files the rows: all of them with their configurations, or none
    discard    delete the files, and filed rows from the draft

A job that dies starts again from the bytes. Rows are filed in one transaction.
"""

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import count
from tempfile import TemporaryFile
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.timezone import now

from experiments.case_studies import ownership
from experiments.case_studies.lifecycle import audit
from experiments.models import (
    AuditEntry,
    CaseStudy,
    Configuration,
    DerivedValue,
    ImportBatch,
    Measurement,
    RawFile,
)
from experiments.readers import archives
from experiments.readers.reading_process import (
    ARCHIVES,
    MEMORY_BYTES_OF_A_PAGE,
    SECONDS_OF_A_PAGE,
    NotRead,
    ReadingProcess,
    keep_waiting,
)
from experiments.readers.table_columns import FIELDS, IGNORED, PARAMETER, is_column_role
from experiments.records.files import raw_files
from experiments.records.files.raw_files import Upload, UploadError
from kdb.jobs import jobs
from kdb.json_values import refuse_unkeepable
from kdb.models import Job

from . import manifest
from .normalise import FILE_CONTEXT, KINDS
from .reading import FileContents, ImportFiler, ImportReader, NoLongerWanted, Outdated
from .report import Report
from .tables.conditions import LONGEST, ConditionsError

logger = logging.getLogger(__name__)

READ_JOB = "read_import"
MAX_FILES = 1_000  # of one import
MAX_RUN_CONTEXTS = 1_000  # of one file, each with context of its own

State = ImportBatch.State


class ImportRefused(Exception):  # noqa: N818 - the user's matter, not a failure of ours
    """The step cannot be taken in the import's present state; the message may be shown to users."""


class Unusable(ImportRefused):
    """A file, an archive, or the answers that came with it cannot be an import."""

    field = "file"


class UnusableAnswers(Unusable):
    field = "answers"


class KeyReused(ImportRefused):
    """The idempotency key stands for another request already."""


# Receiving


def receive(
    case_study: CaseStudy,
    uploads: Iterable[Upload],
    *,
    user: User | None,
    door: ImportBatch.Door,
    answers: Mapping[str, Any] | None = None,
    is_confirmed: bool = False,
    idempotency_key: str = "",
    wait: Callable[[], None] = keep_waiting,
) -> tuple[ImportBatch, bool]:
    """Store the files and enqueue their reading. Return the import and whether it is new.

    A ZIP is replaced by its members. Bytes that the case study has already are skipped; if all are, the latest of
    their imports is returned, and read again with these answers unless it was filed.
    uploads : consumed one by one; wait : called each second while an archive is opened, raises to give up
    Raises ImportRefused where the case study takes no imports, Unusable, KeyReused.
    """
    with ExitStack() as stack:
        try:
            received = [stack.enter_context(closing(upload)) for upload in uploads]
            answers = checked_answers({} if answers is None else answers)
            files = [stack.enter_context(closing(file)) for file in _expand_archives(received, wait)]
        except (UploadError, archives.ArchiveError) as error:
            raise Unusable(str(error)) from error
        if not files:
            raise Unusable("There is no file in the upload.")
        answers, patterns = _with_manifest(answers, files)
        # Those of campaigns are KDB's own, as many as campaigns.checks.MAX_RUNS.
        if len(files) - bool(patterns) > MAX_FILES and door != ImportBatch.Door.CAMPAIGN:
            raise Unusable(f"{len(files):,} files are more than one import takes ({MAX_FILES:,}).")
        request = [case_study.pk, sorted(file.sha256 for file in files), answers, is_confirmed]
        digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        wanted = partial(
            ImportBatch,
            case_study=case_study,
            uploaded_by=user,
            door=door,
            answers=answers,
            is_confirmed=is_confirmed,
            idempotency_key=idempotency_key,
            request_digest=digest,
        )
        try:
            return _receive_once(wanted(), files, patterns)
        except IntegrityError:  # the same request or bytes arrived concurrently: the second attempt sees them
            return _receive_once(wanted(), files, patterns)


def _with_manifest(answers: dict[str, Any], files: list[Upload]) -> tuple[dict[str, Any], list[str]]:
    """Return the answers with what the manifest among the files says of each, and its patterns' uses; [] without one.

    What the answers say of a file stands before it. Raises Unusable.
    """
    manifests = [file for file in files if file.name.rsplit("/", 1)[-1] == manifest.NAME]
    if not manifests:
        return answers, []
    if len(manifests) > 1:
        raise Unusable(f"found {len(manifests)} files {manifest.NAME}, allowed is one: {manifests[1].name}")
    (own,) = manifests
    folder = own.name.removesuffix(manifest.NAME)
    digest_of = {file.name.removeprefix(folder): file.sha256 for file in files if file is not own}
    if len(digest_of) < len(files) - 1:
        raise Unusable("Two files have the same path, after signs that names may not have became _.")
    try:
        text = own.content.read(4 * LONGEST).decode("utf-8-sig")
        explained = manifest.explain(manifest.read_manifest(text), list(digest_of))
    except (UnicodeDecodeError, ConditionsError) as error:
        raise Unusable(f"{own.name}: {error}") from error
    finally:
        own.content.seek(0)
    if explained.unexplained:
        raise Unusable(f"{own.name}: " + list(manifest.lines_of(explained))[-1])
    of_files: dict[str, dict[str, Any]] = {own.sha256: {"leave_out": True}}
    for path, settings in explained.settings.items():
        said_here = {"context": settings or {}, "leave_out": settings is None}
        if of_files.setdefault(digest_of[path], said_here) != said_here:
            raise Unusable(f"{path}: found the bytes of another file with other settings, allowed is each result once")
    for digest, given in answers["files"].items():
        of_file = of_files.setdefault(digest, {})
        of_files[digest] = {**of_file, **given, "context": {**of_file.get("context", {}), **given.get("context", {})}}
    return checked_answers({**answers, "files": of_files}), list(manifest.lines_of(explained))


@transaction.atomic
def _receive_once(batch: ImportBatch, files: list[Upload], patterns: list[str]) -> tuple[ImportBatch, bool]:
    case_study, key = batch.case_study, batch.idempotency_key
    same_key = ImportBatch.objects.filter(uploaded_by=batch.uploaded_by, idempotency_key=key)
    if key and (earlier := same_key.first()):
        if earlier.request_digest != batch.request_digest:
            raise KeyReused("This idempotency key was used for another request.")
        if earlier.state != State.READING or earlier.is_being_read:
            return earlier, False
        _lock_draft(case_study.pk)
        return _read_once_more(_lock(earlier.pk), batch), False  # its worker died, or its job failed
    _lock_draft(case_study.pk)
    same_bytes = RawFile.objects.filter(case_study=case_study, sha256__in=[file.sha256 for file in files])
    imports = dict(same_bytes.values_list("sha256", "batch_id"))
    new_files = {file.sha256: file for file in files if file.sha256 not in imports}
    if not new_files:
        return _read_once_more(_lock(max(imports.values())), batch), False
    known = [{"name": file.name, "import": imports[file.sha256]} for file in files if file.sha256 in imports]
    batch.report = {"known": known, "patterns": patterns}
    batch.save()
    for file in new_files.values():
        raw_files.store(batch, file)
    _enqueue(batch)
    logger.info(
        "received import=%s case_study=%s files=%s door=%s", batch.pk, case_study.slug, len(new_files), batch.door
    )
    return batch, True


def _read_once_more(batch: ImportBatch, wanted: ImportBatch) -> ImportBatch:
    """Read an import again with the answers and choice of `wanted`, unless it was filed or is being read with them."""
    is_the_same = batch.answers == wanted.answers and batch.is_confirmed == wanted.is_confirmed
    if batch.state != State.FILED and not (is_the_same and batch.is_being_read):
        batch.answers, batch.is_confirmed, batch.state = wanted.answers, wanted.is_confirmed, State.READING
        batch.save()
        _enqueue(batch)
    return batch


def _expand_archives(uploads: Iterable[Upload], wait: Callable[[], None]) -> Iterator[Upload]:
    for upload in uploads:
        name = file_name(upload.name)
        if upload.size_bytes == 0:
            upload.close()
            raise UploadError(f"{name}: the file is empty")
        if upload.content.read(4) == b"PK\x03\x04":
            upload.content.seek(0)
            chunks = iter(partial(upload.content.read, raw_files.CHUNK_BYTES), b"")
            number = 0
            try:
                with ReadingProcess(SECONDS_OF_A_PAGE, MEMORY_BYTES_OF_A_PAGE) as process:
                    for member in process.members(process.read(chunks, wait, ARCHIVES, name=name)):
                        number += 1
                        yield raw_files.take(file_name(f"{name}/{member.name}"), [member.data])
            except NotRead as limit:
                raise UploadError(f"{name}: found {limit.args[0]}, expected {limit.args[1]}") from limit
            if number:
                upload.close()
                continue
        upload.content.seek(0)
        yield replace(upload, name=name)


def file_name(name: str) -> str:
    """Return the name we give an uploaded file: printable, relative, and not longer than we can keep."""
    parts = [re.sub(r"[^\w .()+,=@#-]", "_", part) for part in re.split(r"[/\\]", name) if part.strip(". ")]
    return "/".join(parts)[-200:] or "file"


# Answers: what the user says beyond the files


def checked_answers(answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers in their one form. Raises Unusable where they have another shape.

    {"context": {field: text},                      for every file
     "files": {sha256: {"context": {...}, "leave_out": bool,
                        "parts": {name: {"context": {...}, "leave_out": bool}},   for one part of a file of several
                        "runs": {line: {field: text}}}},   for the runs on one line of a benchmark's output
     "names": {kind: {name in the files: slug}},
     "create": {kind: {name in the files: {"slug", "name", ...}}},
     "columns": {header in the tables: field, "pair", "parameter:NAME" or "ignore"}}     where there are any
    """
    if not isinstance(answers, Mapping) or set(answers) - {"context", "files", "names", "create", "columns"}:
        raise UnusableAnswers("answers: an object with context, files, names, create and columns is expected.")
    try:
        refuse_unkeepable(answers)
    except ValueError as error:
        raise UnusableAnswers(f"answers: {error}.") from error
    files = {}
    for digest, of_file in _mapping(answers, "files").items():
        if not isinstance(of_file, Mapping) or set(of_file) - {"context", "leave_out", "parts", "runs"}:
            raise UnusableAnswers("files: each is named by its SHA-256 and has context, leave_out, parts and runs.")
        files[digest] = _checked_part(of_file)
        parts = _mapping(of_file, "parts")
        if any(not isinstance(part, Mapping) or set(part) - {"context", "leave_out"} for part in parts.values()):
            raise UnusableAnswers("parts: each is named as in the report and has context and leave_out.")
        if parts:
            files[digest]["parts"] = {str(name): _checked_part(part) for name, part in parts.items()}
        runs = {str(line): _context(given) for line, given in _mapping(of_file, "runs").items()}
        if len(runs) > MAX_RUN_CONTEXTS or not all(re.fullmatch("[0-9]{1,9}", line) for line in runs):
            raise UnusableAnswers(
                f"runs: {{line: {{field: text}}}}, a line is a number, and at most {MAX_RUN_CONTEXTS:,} are said."
            )
        if runs:
            files[digest]["runs"] = runs
    names = {}
    for kind, mapped in _mapping(answers, "names").items():
        if kind not in KINDS or not isinstance(mapped, Mapping) or not all(map(_is_text, mapped.values())):
            raise UnusableAnswers(f"names: {{kind: {{name: slug}}}}, the kinds are {', '.join(KINDS)}.")
        names[kind] = {str(name): slug for name, slug in mapped.items() if slug}
    create = {}
    for kind, wanted in _mapping(answers, "create").items():
        if kind not in KINDS or not isinstance(wanted, Mapping):
            raise UnusableAnswers(f"create: {{kind: {{name: {{slug, name, ...}}}}}}, the kinds are {', '.join(KINDS)}.")
        for name, fields in wanted.items():
            if not isinstance(fields, Mapping) or not all(map(_is_text, fields.values())):
                raise UnusableAnswers(f"create, {kind}, {name:.60}: an object of field and text is expected.")
        create[kind] = dict(wanted)
    columns = {header: name for header, name in _mapping(answers, "columns").items() if name not in (None, "")}
    for header, name in columns.items():
        if not (_is_text(name) and is_column_role(name)):
            raise UnusableAnswers(
                f"columns: {header!r} may be {IGNORED}, pair, {PARAMETER}<name>, or one of {', '.join(FIELDS)}."
            )
    checked = {"context": _context(answers.get("context", {})), "files": files, "names": names, "create": create}
    return {**checked, "columns": columns} if columns else checked


def _checked_part(answers: Mapping[str, Any]) -> dict[str, Any]:
    leave_out = answers.get("leave_out", False)
    if not isinstance(leave_out, bool):
        raise UnusableAnswers(f"leave_out: found {leave_out!r:.60}; true or false is allowed.")
    return {"context": _context(answers.get("context", {})), "leave_out": leave_out}


def _mapping(answers: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = answers.get(name, {})
    if not isinstance(section, Mapping):
        raise UnusableAnswers(f"{name}: an object is expected.")
    return section


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _context(context: Any) -> dict[str, str]:
    if not isinstance(context, Mapping):
        raise UnusableAnswers("context: an object of field and text is expected.")
    for name, text in context.items():
        if name not in FILE_CONTEXT and not name.startswith(PARAMETER):
            fields = f"{', '.join(FILE_CONTEXT)}, and {PARAMETER}NAME"
            raise UnusableAnswers(f"context: {name!r} is not a field; the fields are {fields}.")
        if isinstance(text, bool) or not isinstance(text, str | int | float | None):
            raise UnusableAnswers(f"context, {name}: found {text!r:.60}; a text is allowed.")
    return {name: str(text).strip() for name, text in context.items() if text not in (None, "")}


# What a user decides


def correct(batch: ImportBatch, answers: Mapping[str, Any]) -> None:
    """Take these answers in place of the ones before, and read again. Raises ImportRefused."""
    answers = checked_answers(answers)
    with transaction.atomic():
        batch = _lock_in_state(batch, State.FAULTY, State.READY)
        batch.answers, batch.state, batch.is_confirmed = answers, State.READING, False
        batch.save()
        _enqueue(batch)


def confirm(batch: ImportBatch) -> None:
    """Enqueue a job that reads it again and files its rows. Raises ImportRefused unless it was read without errors."""
    with transaction.atomic():
        batch = _lock_in_state(batch, State.READY)
        batch.state, batch.is_confirmed = State.READING, True
        batch.save()
        _enqueue(batch)


def finish(batch: ImportBatch, *, tell: Callable[[Job], None] = lambda job: None) -> ImportBatch:
    """Read the import here, or wait for the worker that does, and return it. Raises ImportRefused where that failed.

    The job is queued again if its worker died.
    tell : called with the job every half second of waiting
    """
    while True:
        # Import and job in one query: another reading may be queued between two.
        batch.refresh_from_db(from_queryset=ImportBatch.objects.select_related("job"))
        if batch.state != State.READING:
            return batch
        if batch.job is None or batch.job.state not in (Job.State.QUEUED, Job.State.RUNNING):
            raise ImportRefused(f"{str(batch).capitalize()} could not be read: {batch.why_not_read}")
        if not batch.is_being_read:
            with suppress(ImportRefused):  # another process was faster
                read_again(batch)
        elif not jobs.run(batch.job.pk):
            tell(batch.job)
            time.sleep(0.5)


def read_again(batch: ImportBatch) -> None:
    """Queue the reading again after its job failed or its worker died. Raises ImportRefused while one reads."""
    with transaction.atomic():
        batch = _lock_in_state(batch, State.READING)
        if batch.is_being_read:
            raise ImportRefused("The import is being read.")
        _enqueue(batch)


def discard(batch: ImportBatch, *, user: User | None) -> None:
    """Delete the files, and their rows from the draft. Raises ImportRefused where it is discarded already."""
    with transaction.atomic():
        batch = _lock_in_state(batch, State.READING, State.FAULTY, State.READY, State.FILED)
        if batch.state == State.FILED:
            owned = ownership.owned_by(batch.case_study)
            files = list(batch.files.values_list("pk", flat=True))
            rows = Measurement.objects.filter(configuration__case_study=batch.case_study_id, raw_file__in=files)
            count = rows.count()
            vm_counts = set(rows.values_list("vm_count", flat=True).distinct())
            rows.delete()
            Configuration.objects.filter(
                case_study=batch.case_study_id, slug__in=batch.report["new_configurations"]
            ).exclude(
                pk__in=Measurement.objects.filter(configuration__case_study=batch.case_study_id).values("configuration")
            ).delete()
            _remove_unused_vm_counts(batch.case_study, vm_counts)
            ownership.delete_unused(owned)
            audit(batch.case_study, user, AuditEntry.Action.WITHDRAWN, f"{batch}: {count:,} measurements")
        batch.files.all().delete()
        batch.state, batch.filed_at = State.DISCARDED, None
        batch.save()
    logger.info("discarded import=%s", batch.pk)


def _remove_unused_vm_counts(case_study: CaseStudy, candidates: set[int]) -> None:
    """Remove from the case study those of these VM counts that nothing in it has any more."""
    used = {count for counts in case_study.printed_ratios.values_list("vm_counts", flat=True) for count in counts}
    for model in (Measurement, DerivedValue):
        rows = model.objects.filter(configuration__case_study=case_study, vm_count__in=candidates)
        used.update(rows.values_list("vm_count", flat=True).distinct())
    case_study.vm_counts = [count for count in case_study.vm_counts if count not in candidates - used]
    case_study.save(update_fields=["vm_counts"])


def _lock_in_state(batch: ImportBatch, *states: State) -> ImportBatch:
    """Return the import, locked, in one of these states and of a draft. Raises ImportRefused."""
    case_study = _lock_draft(batch.case_study_id)  # first, in the order in which filing locks
    batch = _lock(batch.pk)
    batch.case_study = case_study
    if batch.state not in states:
        raise ImportRefused(f"{str(batch).capitalize()} {batch.get_state_display()}.")
    return batch


def _lock(pk: int) -> ImportBatch:
    return ImportBatch.objects.select_for_update(of=("self",)).select_related("job").get(pk=pk)


def _lock_draft(case_study_id: int) -> CaseStudy:
    """Return the case study, locked. Raises ImportRefused where it takes no imports any more, or was deleted."""
    case_study = CaseStudy.objects.select_for_update().filter(pk=case_study_id).first()
    if case_study is None:
        raise ImportRefused("The case study was deleted meanwhile.")
    if case_study.status != CaseStudy.Status.DRAFT:
        raise ImportRefused(
            f"{case_study.slug} is {case_study.get_status_display()}; results go into drafts only. New results of the "
            "same laboratory are a case study of their own."
        )
    return case_study


def _enqueue(batch: ImportBatch) -> None:
    batch.job = jobs.enqueue(READ_JOB, import_id=batch.pk)
    batch.save(update_fields=["job"])


# Reading and filing


def read(run: jobs.JobRun, import_id: int) -> None:
    """Read the import of a job and keep the report; file the rows where that was confirmed."""
    batch = ImportBatch.objects.select_related("case_study").filter(pk=import_id).first()
    if batch is None or batch.state != State.READING or batch.job_id != run.job_id:
        return  # discarded, queued again, or deleted with its draft meanwhile
    try:
        with FileContents(batch, run.job_id, run.step) as contents:
            _read(batch, run, contents)
    except NoLongerWanted:
        logger.info("stopped reading import=%s", batch.pk)
    except Exception:
        if ImportBatch.objects.filter(pk=batch.pk).exists():
            raise
        logger.info("stopped reading import=%s: it was deleted with its draft", batch.pk)


def _read(batch: ImportBatch, run: jobs.JobRun, contents: FileContents) -> None:
    def report_progress(rows: int) -> None:
        run.step(rows, 0)  # how many there will be is not known yet

    if not batch.is_confirmed:
        report = ImportReader(batch, contents, report_progress).read()
        with transaction.atomic():
            _save_report(batch, run, report, report.state)
        return
    for attempt in count(1):
        # Other imports into the draft made two readings outdated: hold its lock during the third.
        with TemporaryFile() as row_file, transaction.atomic() if attempt > 2 else nullcontext():
            with transaction.atomic():
                batch.case_study = _lock_draft(batch.case_study_id)
            filing = ImportFiler(batch, contents, report_progress, row_file)
            report = filing.read()
            try:
                with transaction.atomic():
                    if report.state == State.READY:
                        filing.write(_lock_draft(batch.case_study_id))
                    _save_report(batch, run, report, State.FILED if report.state == State.READY else State.FAULTY)
                return
            except Outdated:
                logger.info("reading anew import=%s: the draft or the catalogue changed meanwhile", batch.pk)
            except IntegrityError:  # deleting another draft deleted catalogue entries that this import uses
                if attempt > 2:
                    raise
                logger.info("reading anew import=%s: what it uses was deleted meanwhile", batch.pk)


def _save_report(batch: ImportBatch, run: jobs.JobRun, report: Report, state: State) -> None:
    report.known, report.patterns = batch.report.get("known", []), batch.report.get("patterns", [])
    formats = {file.sha256: file.format for file in report.files}
    for file in batch.files.all():
        if file.format != formats[file.sha256]:
            RawFile.objects.filter(pk=file.pk).update(format=formats[file.sha256])
    updated = ImportBatch.objects.filter(pk=batch.pk, job_id=run.job_id, state=State.READING).update(
        state=state,
        is_confirmed=state == State.FILED,
        report=asdict(report),
        filed_at=now() if state == State.FILED else None,
    )
    if not updated:
        raise jobs.LeaseLost(f"import {batch.pk} was decided otherwise")
    run.step(report.rows, report.rows)
    logger.info("read import=%s state=%s rows=%s faults=%s", batch.pk, state, report.rows, report.fault_count)
