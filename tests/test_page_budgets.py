"""The most that a page of each kind may weigh, ask for and look up, where browser and server keep nothing yet.

No clock decides. Counted from the page itself: what its elements load, and the library that its first chart brings
(static/js/kdb.js). tests/browser/test_answer_page.py holds the count of requests against a browser.
"""

import gzip
import re
from dataclasses import astuple, dataclass
from functools import cache

import brotli
import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

ANSWER = "/?axis=hypervisor&workload=fileserver"


@dataclass(frozen=True)
class Budget:
    """kilobytes : pages by gzip as of docs/deployment.md's proxy, files as they were collected
    queries : of the page without what it fetches later"""

    kilobytes: int
    requests: int
    queries: int


BUDGETS = {
    "/": Budget(36, 5, 19),
    ANSWER: Budget(101, 6, 20),
    f"{ANSWER}&tab=ranking": Budget(101, 6, 20),
    f"{ANSWER}&tab=evidence": Budget(102, 6, 21),
    "/?axis=fs-pair&workload=varmail&hypervisor=kvm": Budget(39, 5, 20),
    "/case-studies/": Budget(34, 5, 11),
    "/case-studies/p1/": Budget(103, 8, 16),
    "/guides/": Budget(33, 5, 5),
    "/guides/cache-mode/": Budget(36, 5, 14),
    "/kits/": Budget(33, 5, 6),
    "/kits/cache-mode/": Budget(36, 5, 18),
    "/knowledge/": Budget(36, 5, 12),
    "/knowledge/workloads/varmail/": Budget(33, 5, 5),
    "/claims/": Budget(33, 5, 7),
    "/claims/p1/": Budget(36, 5, 15),
    "/search/?q=kvm": Budget(34, 5, 20),
    "/status/": Budget(32, 5, 14),
}


def weight_of(client: Client, path: str) -> Budget:
    """Return what the page takes; its answer is worked out before, as by whoever asked first."""
    client.get(path)
    for kept in caches.all(initialized_only=True):
        kept.clear()
    with CaptureQueriesContext(connection) as queries:
        response = client.get(path)
        looked_up = len(queries)  # now: the next request empties what was captured
    assert response.status_code == 200, path
    html = response.content.decode()
    tags = re.findall(r"<[a-z][^>]*>", html)
    fragments = [
        address.replace("&amp;", "&")
        for tag in tags
        if re.search('hx-trigger="load', tag)
        for address in re.findall('hx-get="([^"]+)"', tag)
    ]
    files = re.findall('<(?:link|script)[^>]* (?:href|src)="/static/([^"]+)"', html)
    if " data-chart=" in html:
        files += re.findall('data-charts="/static/([^"]+)"', html)
    pages = [response.content]
    pages += [client.get(address, headers={"hx-request": "true"}).content for address in fragments]
    size = sum(len(gzip.compress(page, 6)) for page in pages) + sum(map(static_size, files))
    return Budget(round(size / 1000), len(pages) + len(files), looked_up)


@cache
def static_size(name: str) -> int:
    """Return the bytes of the file as production collects and browsers take it (tests/kdb/web/test_static_files.py)."""
    return len(brotli.compress((settings.BASE_DIR / "static" / name).read_bytes()))


@pytest.mark.sqlite
def test_no_page_takes_more_than_its_budget(client, published_evidence):
    taken = {path: weight_of(client, path) for path in BUDGETS}
    assert {
        path: (astuple(took), astuple(BUDGETS[path]))
        for path, took in taken.items()
        if any(least > most for least, most in zip(astuple(took), astuple(BUDGETS[path]), strict=True))
    } == {}


@pytest.mark.sqlite
def test_a_kept_answer_that_was_just_sent_takes_two_queries_whose_sql_is_there(
    client, published_evidence, settings, sql_written
):
    settings.KDB_CPU_SECONDS_A_REQUEST = 3600  # a stranger's page may be left to a worker, and the first query looks
    client.get(ANSWER)
    sql_written.clear()
    with CaptureQueriesContext(connection) as queries:
        client.get(ANSWER)
    assert (len(queries), sql_written) == (2, [])
