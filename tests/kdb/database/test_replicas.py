"""Which database a request reads from: a replica where everybody reads the same, else the primary."""

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpResponse

from kdb import env
from kdb.database import replicas
from kdb.database.replicas import Replicas, Router, reading_from, replica_middleware


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Log:
    """Where the logs of the primary and of its replicas are; None: it does not answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **replayed: int | None) -> None:
        self.written: int | None = 0
        self.replayed = replayed
        monkeypatch.setattr(replicas, "_one", self.one)

    def one(self, query: str, alias: str, *values: int):
        if alias == DEFAULT_DB_ALIAS:
            return self.written
        at = self.replayed[alias]
        return None if at is None else at >= values[0] if values else 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


def seen(pool: Replicas, clock: Clock, after: float = replicas.ASKED_EVERY) -> set[str]:
    clock.now += after
    return {pool.next() for _ in range(6)}


def test_replicas_take_turns(monkeypatch, clock):
    Log(monkeypatch, a=0, b=0)
    assert seen(Replicas(["a", "b"], clock), clock) == {"a", "b"}


def test_one_that_is_down_is_left_out_and_comes_back(monkeypatch, clock):
    log = Log(monkeypatch, a=0, b=None)
    pool = Replicas(["a", "b"], clock)
    assert seen(pool, clock) == {"a"}
    log.replayed["b"] = 0
    assert seen(pool, clock) == {"a", "b"}


def test_one_that_lags_is_left_out_once_it_is_too_far_behind(monkeypatch, clock):
    log = Log(monkeypatch, a=0, b=0)
    pool = Replicas(["a", "b"], clock)
    assert seen(pool, clock) == {"a", "b"}
    log.written = log.replayed["a"] = 7
    assert seen(pool, clock) == {"a", "b"}, "it may be a little behind"
    assert seen(pool, clock, replicas.MOST_BEHIND + 1) == {"a"}


def test_without_any_the_primary_is_read(monkeypatch, clock):
    Log(monkeypatch, a=None, b=None)
    assert seen(Replicas(["a", "b"], clock), clock) == {DEFAULT_DB_ALIAS}


@pytest.fixture
def ask(monkeypatch, settings, rf):
    """Ask for a page; returns the databases it was read from, in turn."""
    monkeypatch.setattr(replicas, "aliases", lambda: ["a"])
    log = Log(monkeypatch, a=0)
    read: list[str] = []

    def page(request):
        read.append(replicas._chosen.get())
        is_down = read[-1] == "a" and log.replayed["a"] is None
        return HttpResponse(status=503 if is_down else 200)

    middleware = replica_middleware(page)

    def asked(method: str = "get", down_now: bool = False, cookie: str = "", **headers: str) -> list[str]:
        read.clear()
        request = getattr(rf, method)("/", headers=headers)
        if cookie:
            request.COOKIES[settings.SESSION_COOKIE_NAME] = cookie
        if down_now:
            log.replayed["a"] = None
        assert middleware(request).status_code == 200
        return list(read)

    return asked


def test_strangers_read_from_a_replica(ask):
    assert ask() == ["a"]


@pytest.mark.parametrize("how", [{"cookie": "x"}, {"Authorization": "Bearer x"}, {"method": "post"}])
def test_who_is_known_or_writes_reads_from_the_primary(ask, how):
    assert ask(**how) == [DEFAULT_DB_ALIAS]


def test_a_replica_that_dies_under_a_request_costs_the_reader_nothing(ask):
    assert ask() == ["a"]
    assert ask(down_now=True) == ["a", DEFAULT_DB_ALIAS]


def test_writes_and_what_a_transaction_reads_go_to_the_primary(db):
    with reading_from("a"):
        assert Router().db_for_write(User) == DEFAULT_DB_ALIAS
        assert Router().db_for_read(User) == DEFAULT_DB_ALIAS, "each test is in a transaction"


def test_only_the_primary_is_migrated():
    assert [Router().allow_migrate(alias, "kdb") for alias in (DEFAULT_DB_ALIAS, "a")] == [True, False]


def test_replicas_are_named_in_the_environment(monkeypatch):
    monkeypatch.setenv("REPLICA_URLS", "postgres://u:p@one/kdb, postgres://u:p@two:5433/kdb")
    assert [(replica["HOST"], replica["NAME"]) for replica in env.replicas()] == [("one", "kdb"), ("two", "kdb")]


def test_an_address_that_cannot_be_read_is_not_repeated(monkeypatch):
    monkeypatch.setenv("REPLICA_URLS", "mysql://u:swordfish@one/kdb")
    with pytest.raises(ImproperlyConfigured, match="REPLICA_URLS") as failed:
        env.replicas()
    assert "swordfish" not in str(failed.value)
