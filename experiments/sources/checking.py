"""Look again at the addresses of sources. What changed or vanished opens a task for reviewers and changes no evidence.

Off unless settings.KDB_CHECK_SOURCES_DAYS says how often; `manage.py check_sources` looks at once. The first look at an
address keeps a digest of its text, which later ones are held against until a reviewer takes the new text as read.
"""

import logging
from collections.abc import Callable
from datetime import timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.timezone import now

from experiments import visible
from experiments.models import Publication, SourceCheck
from kdb.work import jobs
from kdb.work.alone import alone

from . import tasks, text
from .fetching import Fetcher, Gone, NotFetched, Refused

logger = logging.getLogger(__name__)

JOB = "check_sources"
MOST_AT_ONCE = 20  # of one job: the next tick asks for the others
FAILURES = 3  # looks in a row that found nothing before somebody is told

Outcome = SourceCheck.Outcome


def look_after() -> None:
    """Have sources looked at that are due, where that is switched on."""
    if settings.KDB_CHECK_SOURCES_DAYS and _due().exists():
        jobs.enqueue_for_leftovers(JOB)


def check_due(progress: Callable[[int, int], None]) -> None:
    """Look at the sources that are due, the longest unseen first."""
    if settings.KDB_CHECK_SOURCES_DAYS:
        check(_due()[:MOST_AT_ONCE], progress)


def every() -> QuerySet[Publication]:
    """Return the sources that have an address, the longest unseen first."""
    rows = visible.publications().exclude(address="").select_related("last_check")
    return rows.order_by(F("last_check__checked_at").asc(nulls_first=True), "slug")


def check(
    publications: QuerySet[Publication], progress: Callable[[int, int], None], fetcher: Fetcher | None = None
) -> list[SourceCheck]:
    """Look at these, one after the other; one process does at a time."""
    with alone("sources"):
        fetcher = fetcher or Fetcher()
        _remember_hosts(fetcher)
        rows, checks = list(publications), []
        for done, publication in enumerate(rows, start=1):
            checks.append(_check(publication, fetcher))
            progress(done, len(rows))
    return checks


def _due() -> QuerySet[Publication]:
    before = now() - timedelta(days=settings.KDB_CHECK_SOURCES_DAYS)
    return every().filter(Q(last_check__isnull=True) | Q(last_check__checked_at__lt=before))


def _remember_hosts(fetcher: Fetcher) -> None:
    """Let the pauses hold from one process to the next."""
    moment = now()
    for address, at in SourceCheck.objects.filter(checked_at__gt=moment - timedelta(minutes=2)).values_list(
        "address", "checked_at"
    ):
        seen = fetcher.clock() - (moment - at).total_seconds()
        host = (urlsplit(address).hostname or "").lower()
        fetcher.visited[host] = max(seen, fetcher.visited.get(host, seen))


def _check(publication: Publication, fetcher: Fetcher) -> SourceCheck:
    address, digest, detail = publication.address, "", ""
    try:
        page = fetcher.fetch(address)
    except Refused as error:
        outcome, detail = Outcome.REFUSED, str(error)
    except Gone as error:
        outcome, detail = Outcome.VANISHED, str(error)
    except NotFetched as error:
        outcome, detail = Outcome.UNREACHABLE, str(error)
    else:
        outcome, digest = Outcome.SAME, text.digest(page.body, page.content_type)
    with transaction.atomic():
        row = SourceCheck.objects.select_for_update().filter(publication=publication).first()
        if row is None or row.address != address:  # nothing to hold it against
            SourceCheck.objects.filter(publication=publication).delete()
            row = SourceCheck(publication=publication, address=address)
        row.checked_at, row.detail = now(), detail[:300]
        row.failures = row.failures + 1 if outcome in (Outcome.UNREACHABLE, Outcome.VANISHED) else 0
        row.found_digest = ""
        if digest and not row.digest:
            row.digest, row.digest_of = digest, row.checked_at
        elif digest and digest != row.digest:
            outcome, row.found_digest = Outcome.CHANGED, digest
        row.outcome = outcome
        row.save()
        is_lost = outcome == Outcome.UNREACHABLE and row.failures >= FAILURES
        if outcome in (Outcome.CHANGED, Outcome.VANISHED) or is_lost:
            tasks.open_task(row)
    logger.info("checked source=%s outcome=%s", publication.slug, row.outcome)
    return row
