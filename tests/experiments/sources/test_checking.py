"""Sources are looked at again, politely: what changed or vanished opens a task, and changes no evidence."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.test import Client

from experiments.models import Measurement, SourceCheck, SourceTask
from experiments.sources import checking
from experiments.sources.fetching import MOST_BYTES, PAUSE, Fetcher
from kdb import lookups
from kdb.models import Job
from kdb.notifications.models import Delivery, Subscription
from tests.factories import make_case_study, make_measurement, make_publication, make_user, publish

pytestmark = pytest.mark.django_db


class Site:
    """pages : path to status, text and headers; asked : the paths, in order"""

    def __init__(self) -> None:
        self.pages: dict[str, tuple] = {"/": (200, "<p>52170 IOPS</p>")}
        self.asked: list[str] = []


@pytest.fixture
def site(monkeypatch):
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            status, text, *headers = site.pages.get(self.path, (404, ""))
            self.send_response(status)
            for name, value in headers or [("Content-Type", "text/html")]:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    monkeypatch.setattr(lookups, "is_public", lambda address: True)  # this machine stands for the Internet
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.address = f"http://127.0.0.1:{server.server_address[1]}/"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield site
        server.shutdown()
        thread.join()


class Clock:
    """Time that passes where somebody waits."""

    def __init__(self) -> None:
        self.now, self.waited = 1000.0, []

    def pause(self, seconds: float) -> None:
        self.waited.append(round(seconds, 3))
        self.now += seconds


def source(address: str, slug: str = "report") -> None:
    study = make_case_study(f"{slug}-study", publication=make_publication(slug, address=address))
    make_measurement(case_study=study)
    publish(study)


def look(clock: Clock | None = None) -> str:
    clock = clock or Clock()
    fetcher = Fetcher(pause=clock.pause, clock=lambda: clock.now)
    return checking.check(checking.every(), lambda done, total: None, fetcher)[-1].outcome


def test_a_change_opens_one_task_until_a_reviewer_has_looked(site, client):
    source(site.address)
    reviewer = make_user("reviewers")
    Subscription.objects.create(user=reviewer, way="webhook", address="https://x.org/", topics=["review"], site="s")
    values = list(Measurement.objects.values())
    assert [look(), look()] == ["same", "same"]
    site.pages["/"] = (200, "<p>35435 IOPS</p>")
    assert [look(), look()] == ["changed", "changed"]
    (task,) = SourceTask.objects.all()
    assert Delivery.objects.get().facts["source_task"] == task.pk
    assert list(Measurement.objects.values()) == values
    address = f"/sources/tasks/{task.pk}/"
    assert "To be looked at" not in client.get("/sources/").content.decode()
    assert Client().get("/api/v1/source-tasks/").status_code in (401, 403)
    client.force_login(make_user("researchers"))
    assert client.post(address, {"note": "fine"}).status_code == 403
    client.force_login(reviewer)
    assert client.get("/api/v1/source-tasks/").json()["results"][0]["publication"] == "report"
    assert client.post(address, {"note": " "}).status_code == 422
    assert client.post(address, {"note": "Only the wording."}).status_code == 302
    assert client.post(address, {"note": "Me too."}).status_code == 409
    assert look() == "same"
    assert SourceTask.objects.filter(resolved_at__isnull=True).count() == 0


def test_what_vanished_is_told_at_once_and_what_cannot_be_reached_after_some_looks(site):
    source(site.address)
    site.pages["/"] = (503, "")
    assert [look() for _ in range(checking.FAILURES - 1)] == ["unreachable"] * (checking.FAILURES - 1)
    assert not SourceTask.objects.exists()
    assert look() == "unreachable"
    assert SourceTask.objects.get().finding == "unreachable"
    site.pages["/"] = (410, "")
    assert look() == "vanished"
    assert SourceTask.objects.get().finding == "vanished"


def test_no_host_is_asked_more_often_than_every_ten_seconds_and_robots_are_obeyed(site):
    for number in range(3):
        source(f"{site.address}page{number}", f"report-{number}")
        site.pages[f"/page{number}"] = (200, "text")
    site.pages["/robots.txt"] = (200, "User-agent: *\nDisallow: /page1\n")
    clock = Clock()
    look(clock)
    assert site.asked == ["/robots.txt", "/page0", "/page2"]
    assert clock.waited == [PAUSE, PAUSE]
    assert SourceCheck.objects.get(publication__slug="report-1").outcome == "refused"
    again = Clock()
    look(again)
    assert again.waited[0] > PAUSE - 5  # from one process to the next as well
    site.pages["/robots.txt"] = (200, "User-agent: *\nCrawl-delay: 30\n")
    slow = Clock()
    look(slow)
    assert slow.waited[-1] == 30


def test_redirects_are_followed_a_few_times_and_each_is_judged(site, monkeypatch):
    source(f"{site.address}old")
    site.pages["/old"] = (301, "", ("Location", "/"))
    assert look() == "same"
    site.pages["/old"] = (301, "", ("Location", "/old"))
    assert look() == "unreachable"
    site.pages["/old"] = (301, "", ("Location", "http://inside.example.org/"))
    monkeypatch.setattr(
        lookups, "addresses", lambda host, port, **k: [(2, ("10.0.0.1" if "inside" in host else "127.0.0.1", port))]
    )
    monkeypatch.setattr(lookups, "is_public", lambda address: address != "10.0.0.1")
    assert look() == "unreachable"
    assert "public Internet" in SourceCheck.objects.get().detail


def test_a_page_that_is_too_long_is_not_read(site, monkeypatch):
    monkeypatch.setattr("experiments.sources.fetching.MOST_BYTES", 10)
    source(site.address)
    assert look() == "unreachable"
    assert MOST_BYTES > 10
    assert SourceCheck.objects.get().digest == ""


def test_nothing_is_looked_at_by_itself_unless_that_is_switched_on(settings):
    source("https://example.org/")
    checking.look_after()
    assert not Job.objects.filter(kind=checking.JOB).exists()
    settings.KDB_CHECK_SOURCES_DAYS = 30
    checking.look_after()
    assert Job.objects.filter(kind=checking.JOB).count() == 1
