"""The log of what is away: one line, and how often."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from kdb.operations import outages
from tests.kdb.jobs.test_serve import ROOT


class Log:
    def __init__(self) -> None:
        self.stream = StringIO()
        handler = logging.StreamHandler(self.stream)
        handler.addFilter(outages.SumUpOutages())
        self.logger = logging.Logger("test")
        self.logger.addHandler(handler)

    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()


@pytest.fixture
def log(settings, tmp_path) -> Iterator[Log]:
    settings.KDB_OUTAGES_DIR = tmp_path / "outages"
    yield Log()
    outages._leave_to_parent()


@pytest.fixture(autouse=True)
def minutes(monkeypatch) -> list[tuple]:
    """Return the minutes that began; they end when a test says so."""
    begun: list[tuple] = []
    monkeypatch.setattr(outages, "_begin_minute", lambda *arguments: begun.append(arguments))
    return begun


@pytest.fixture(scope="module")
def away() -> redis.ConnectionError:
    """Return the error that a server which is not there is met by."""
    with pytest.raises(redis.ConnectionError) as met:
        redis.Redis(port=1, retry=Retry(NoBackoff(), 0)).ping()  # else it waits and asks again for seconds
    return met.value


def test_an_outage_is_one_line_without_a_traceback_and_then_a_sum(log, minutes, caplog, away):
    for _ in range(214):
        log.logger.error("could not count path=%s", "/", exc_info=away)

    assert len(log.lines()) == 1
    assert log.lines()[0].startswith("the broker did not answer (")
    assert log.lines()[0].endswith("could not count path=/")
    outages._end_minute(*minutes.pop())
    assert caplog.messages == ["the broker did not answer, 213 more times in 60 s"]
    outages._end_minute(*minutes.pop())  # a minute without any
    assert (len(caplog.messages), minutes) == (1, [])
    log.logger.error("could not count path=%s", "/", exc_info=away)
    assert len(log.lines()) == 2


def test_what_a_message_quotes_counts_like_what_it_was_raised_by(log, away):
    for _ in range(3):
        log.logger.warning("could not wake a worker reason=%r", away)

    assert len(log.lines()) == 1


def test_a_mistake_keeps_its_traceback_each_time(log):
    for _ in range(2):
        try:
            {}["nothing"]
        except KeyError:
            log.logger.exception("failed")

    assert log.stream.getvalue().count("Traceback") == 2


_TELLS = """
import logging, time, django, redis
django.setup()
try:
    redis.Redis(port=1).ping()
except redis.ConnectionError:
    logging.getLogger("kdb").exception("first")
time.sleep(600)
"""


@pytest.mark.server
def test_processes_tell_together_and_another_tells_when_the_first_is_gone(log, tmp_path, away):
    environment = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "kdb.settings.local",
    }
    command = [sys.executable, "-c", _TELLS]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as other:
        assert "the broker did not answer" in other.stderr.readline()
        log.logger.error("could not count path=%s", "/", exc_info=away)
        assert log.lines() == []
        other.send_signal(signal.SIGKILL)
        other.wait()

    log.logger.error("could not count path=%s", "/", exc_info=away)

    assert len(log.lines()) == 1
