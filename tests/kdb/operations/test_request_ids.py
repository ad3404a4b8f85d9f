"""Which request a line of the log belongs to."""

import json
import logging

import pytest
from django.test import Client

from kdb.jobs import jobs
from kdb.models import Job
from kdb.operations import log_lines, request_ids

pytestmark = pytest.mark.sqlite


def test_every_answer_tells_its_own_id():
    first, second = (Client().get("/healthz")["X-Request-ID"] for _ in range(2))
    assert first != second
    assert len(first) == 16


@pytest.mark.parametrize(
    ("proxies", "told", "is_taken"),
    [
        (1, "from-the-proxy-42", True),
        (0, "from-a-stranger-42", False),
        (1, "short", False),
        (1, "two\tlines-of-log", False),
        (1, "x" * 37, False),
    ],
)
def test_only_a_proxy_of_ours_chooses_the_id_and_only_a_plain_one(settings, proxies, told, is_taken):
    settings.KDB_TRUSTED_PROXIES = proxies
    answered = Client().get("/healthz", headers={"X-Request-ID": told})["X-Request-ID"]
    assert (answered == told) is is_taken


def test_what_django_logs_of_a_request_has_its_id_too(db, caplog):
    seen = []
    caplog.handler.addFilter(lambda record: seen.append(request_ids.current()) or True)
    assert Client().get("/metrics")["X-Request-ID"] in seen  # Unauthorized
    assert request_ids.current() == ""


def test_a_job_logs_under_the_id_of_the_request_that_asked_for_it(db, caplog, monkeypatch):
    seen = []
    monkeypatch.setitem(jobs._handlers, "tried", lambda run: seen.append(request_ids.current()))
    with request_ids.use_id("asked-by-somebody"):
        job = jobs.enqueue("tried")
    assert request_ids.current() == ""
    jobs.run(job.pk)
    assert seen == ["asked-by-somebody"]
    assert Job.objects.get(pk=job.pk).request_id == "asked-by-somebody"


def test_a_line_of_json_holds_message_id_and_exception():
    try:
        raise ValueError("a\nb")
    except ValueError:
        record = logging.getLogger("kdb.tried").makeRecord(
            "kdb.tried", logging.ERROR, __file__, 1, "went %s", ("wrong",), __import__("sys").exc_info()
        )
    with request_ids.use_id("asked-by-somebody"):
        text = log_lines.JsonFormatter().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["message"], line["request_id"], line["level"]) == ("went wrong", "asked-by-somebody", "ERROR")
    assert "ValueError: a\nb" in line["exception"]
