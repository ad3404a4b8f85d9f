"""What is away is one line of the log a minute, and how often."""

import fcntl
import logging
from io import StringIO

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from kdb.operations import outages


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
def log(settings, tmp_path, monkeypatch) -> Log:
    monkeypatch.setattr(outages, "INTERVAL_SECONDS", 60)
    settings.KDB_OUTAGES_DIR = tmp_path / "outages"
    return Log()


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    moments = [1e9]
    monkeypatch.setattr(outages.time, "time", lambda: moments[-1])
    return moments


@pytest.fixture(scope="module")
def away() -> redis.ConnectionError:
    """Return the error of a server that is not there."""
    with pytest.raises(redis.ConnectionError) as met:
        redis.Redis(port=1, retry=Retry(NoBackoff(), 0)).ping()  # else it waits and asks again for seconds
    return met.value


def test_an_outage_is_one_line_a_minute_without_a_traceback_and_with_a_count(log, clock, away, monkeypatch):
    for _ in range(213):
        log.logger.error("could not count path=%s", "/", exc_info=away)
    monkeypatch.setattr(outages, "_logged_at", {})  # as in another process
    log.logger.error("could not count path=%s", "/", exc_info=away)

    assert len(log.lines()) == 1
    assert log.lines()[0].startswith("the broker did not answer (")
    assert log.lines()[0].endswith("could not count path=/")
    clock.append(clock[-1] + outages.INTERVAL_SECONDS)
    log.logger.error("could not count path=%s", "/", exc_info=away)
    assert len(log.lines()) == 2
    assert log.lines()[1].endswith("; 213 more times before")


def test_where_nothing_can_be_written_each_process_logs_one_line_a_minute(log, settings, tmp_path, away):
    (tmp_path / "file").touch()
    settings.KDB_OUTAGES_DIR = tmp_path / "file"
    for _ in range(3):
        log.logger.error("could not count", exc_info=away)

    assert len(log.lines()) == 1


def test_a_stopped_process_that_holds_the_lock_keeps_nobody_waiting(log, away):
    outages.settings.KDB_OUTAGES_DIR.mkdir()
    with outages._path("the broker did not answer").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        log.logger.error("could not count", exc_info=away)

    assert len(log.lines()) == 1


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
