"""Apply fixtures/endings.csv, which ends published evidence that its source replaced or that is doubted.

A line names a case study, or single measurements of it by their configuration, their place in the source, or both.
`replaced_by` names the case study in which the source measured again, and is empty where the numbers are doubted.
"""

import logging
from pathlib import Path

from django.db import transaction

from experiments.case_studies import retraction
from experiments.case_studies.lifecycle import CaseStudyError
from experiments.models import CaseStudy, Measurement
from kdb.jobs.locks import exclusive_lock

from .files import Entry, EvidenceError, read_csv
from .load import DIRECTORY

logger = logging.getLogger(__name__)

FILE = "endings.csv"
COLUMNS = ("case_study", "configuration", "source", "replaced_by", "reason")


def apply_corrections(directory: Path = DIRECTORY) -> list[str]:
    """End everything in the file that still counts, all or nothing. Return a sentence for each line applied.

    Lines about case studies that are not loaded are skipped. Raises EvidenceError.
    """
    path = directory / FILE
    if not path.exists():
        return []
    sentences = []
    with exclusive_lock("load"), transaction.atomic():
        for entry in read_csv(path, COLUMNS):
            if sentence := _end(entry):
                sentences.append(sentence)
    return sentences


def _end(entry: Entry) -> str:
    fields = entry.fields
    old = CaseStudy.objects.published().filter(slug=fields["case_study"]).first()
    new = CaseStudy.objects.published().filter(slug=fields["replaced_by"]).first() if fields["replaced_by"] else None
    if old is None or (fields["replaced_by"] and new is None):
        return ""
    rows = None
    if fields["configuration"] or fields["source"]:
        named = {"configuration__slug": fields["configuration"], "source": fields["source"]}
        measurements = Measurement.objects.filter(
            configuration__case_study=old, **{name: value for name, value in named.items() if value}
        )
        if not measurements.exists():
            raise entry.error("source" if fields["source"] else "configuration", "one of the case study's measurements")
        rows = list(measurements.filter(excluded_because="").values_list("pk", flat=True))
        if not rows:
            return ""
    try:
        revision = retraction.end(old, reason=fields["reason"], replaced_by=new, rows=rows)
    except CaseStudyError as error:
        raise EvidenceError(f"{entry.place}: {error}") from error
    what = old.slug if rows is None else f"{len(rows)} measurements of {old.slug}"
    by = f" superseded by {new.slug}" if new else " doubted"
    logger.info("ended %s%s", what, by)
    return f"{what}{by}, as {revision}"
