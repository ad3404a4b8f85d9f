"""The standing answers: every choice under every workload, and with each hypervisor that anything compares.

A release ships those to its own evidence, so that a new instance has them before anybody asks. They are loaded only
where the database holds exactly the evidence they were computed from. `script/standing-answers` makes the file.
"""

import gzip
import hashlib
import json
import logging
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from experiments.case_studies import bundles
from experiments.models import CaseStudy, KnowledgeRevision
from experiments.published_evidence.load import DIRECTORY
from modelling.answers.knowledge import assumptions
from modelling.estimation.hierarchy import PUBLISHED
from modelling.estimation.ranking import METHOD
from modelling.evidence import choices, counts, names
from modelling.evidence.axes import AXES
from modelling.evidence.question import Question, choices_for
from modelling.guidance.selectors import digest as advice_digest
from modelling.models import RankingSnapshot

from . import selectors, snapshots

logger = logging.getLogger(__name__)

JOB = "ask_standing_questions"
FILE = Path(settings.BASE_DIR) / "fixtures" / "standing_answers.json.gz"
YEARS = 3  # years ahead that the file has answers for, because these get weaker as their evidence ages
# Questions offered to a first visitor, where their workload is in the catalogue.
EXAMPLES = (
    Question("fs-pair", "varmail", hypervisor="kvm"),
    Question("hypervisor", "fileserver"),
    Question("guest-fs", "varmail", hypervisor="proxmox"),
    Question("guest-fs", "fileserver", hypervisor="proxmox"),
    Question("hypervisor", "webserver", vm_count=1),
)


def examples() -> list[Question]:
    """Return the questions to offer a first visitor."""
    known = names.names()["workload"]
    return [question for question in EXAMPLES if question.workload in known]


def questions(*, only_compared: bool = False) -> list[Question]:
    """Return the standing questions.

    only_compared : only those for which published evidence compares something; none where there is too much to check
    """
    workloads = names.names()["workload"]
    standing = [] if only_compared else [*examples(), *(Question(axis, slug) for slug in workloads for axis in AXES)]
    measured = [slug for slug in names.names()["hypervisor"] if slug in names.measured_slugs()["hypervisor"]]
    for hypervisor in (None, *measured):  # others of a family have the same answers
        compared = choices.compared_under(workloads, {"hypervisor": hypervisor} if hypervisor else {}) or {}
        standing += [
            Question(axis, slug, hypervisor=hypervisor) for slug in compared for axis in AXES if compared[slug][axis]
        ]
        for slug in compared if hypervisor and not only_compared else ():
            standing += choices_for(slug, hypervisor) if any(compared[slug].values()) else []
    return list(dict.fromkeys(standing))


def enqueue_missing() -> None:
    """Have a worker answer the standing questions that have no answer yet, so that no visitor waits for one."""
    compared = questions(only_compared=True)
    stored = selectors.stored_answers(compared)
    if missing := [question for question in compared if question not in stored]:
        snapshots.enqueue_questions(*missing)


def build_file() -> bytes:
    """Compute the standing answers to what this database holds; return the content of FILE."""
    standing, first = questions(), _newest().created_at.year  # answers count the age of evidence from this year
    answers: dict[int, dict[str, Any]] = {first: {}}
    for year in range(first, first + YEARS):
        with transaction.atomic():
            then = _newest().created_at.replace(year=year, day=1)
            KnowledgeRevision.objects.filter(pk=_newest().pk).update(created_at=then)
            results = {question.key: snapshots.compute_current(question).result for question in standing}
            transaction.set_rollback(True)
        # For a later year, store only the answers that age makes weaker.
        answers[year] = {key: result for key, result in results.items() if result != answers[first].get(key)}
        standing = [question for question in standing if results[question.key]["entries"]]
    content = {"method": METHOD, "revisions": _revisions(), "evidence": _evidence(), "answers": answers}
    return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), mtime=0)


def shipped_answers() -> dict[str, Any]:
    """Return the shipped answers by question key; {} where the file is outdated, or of another method or evidence."""
    if not FILE.exists():
        return {}
    content = json.loads(gzip.decompress(FILE.read_bytes()))
    year = str(_newest().created_at.year)
    is_current = content["method"] == METHOD and year in content["answers"] and content["revisions"] == _revisions()
    if not is_current or content["evidence"] != _evidence():  # last, as it reads all published evidence
        return {}
    first: dict[str, Any] = next(iter(content["answers"].values()))
    return first | content["answers"][year]


def load_shipped() -> int:
    """Store the shipped answers in a database without answers of this method; return how many."""
    if not counts.revision() or RankingSnapshot.objects.filter(method=METHOD, revision__gt=0).exists():
        return 0
    count = snapshots.store_shipped({Question.from_key(key): result for key, result in shipped_answers().items()})
    logger.info("loaded standing answers count=%s", count)
    return count


def _newest() -> KnowledgeRevision:
    return KnowledgeRevision.objects.order_by("-number")[:1].get()


def _revisions() -> list[list[Any]]:
    return [list(row) for row in KnowledgeRevision.objects.order_by("number").values_list("number", "action", "reason")]


def _evidence() -> str:
    """Return a digest of all that determines answers besides the method: evidence, advice, scales, assumptions."""
    assumed = sorted((name, repr(value)) for name, value in vars(assumptions()).items() if name != "scales")
    files = [path.read_text(encoding="utf-8") for path in (PUBLISHED, DIRECTORY / "abilities.csv")]
    published = [
        (case_study.slug, case_study.published_revision_id, bundles.digest(case_study))
        for case_study in CaseStudy.objects.published().order_by("slug")
    ]
    return hashlib.sha256(repr((assumed, files, published, advice_digest())).encode()).hexdigest()
