"""The settings of connections to PostgreSQL, and the answer to a request that keeps it busy for too long."""

import threading

import pytest
from django.conf import settings
from django.db import connection, connections, transaction

from kdb.database import postgresql
from tests import factories


def test_a_web_server_limits_what_its_requests_may_take():
    database = {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {"options": "-c jit=off"}}
    postgresql.limit_requests({"default": database}, 30)
    assert database["OPTIONS"]["options"] == (
        "-c jit=off -c statement_timeout=30s -c lock_timeout=20s -c idle_in_transaction_session_timeout=60s"
    )


def test_a_pooler_between_is_asked_for_no_settings():
    database = {"ENGINE": "django.db.backends.postgresql", "DISABLE_SERVER_SIDE_CURSORS": True}
    postgresql.limit_requests({"default": database}, 30)
    assert "OPTIONS" not in database


def test_sqlite_is_left_alone():
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": "x"}
    postgresql.limit_requests({"default": database}, 30)
    assert database == {"ENGINE": "django.db.backends.sqlite3", "NAME": "x"}


@pytest.fixture
def limited(transactional_db: None, monkeypatch: pytest.MonkeyPatch):
    """This thread's connection opened as a web server of few seconds opens it."""
    monkeypatch.setattr(settings, "KDB_STATEMENT_SECONDS", 2)
    before = dict(connection.settings_dict["OPTIONS"])
    connection.close()
    postgresql.limit_requests({"default": connection.settings_dict}, 2)
    yield
    connection.settings_dict["OPTIONS"] = before
    connection.close()


@pytest.mark.postgresql
@pytest.mark.parametrize("address", ["/api/v1/case-studies/", "/case-studies/"])
def test_a_request_that_takes_too_long_is_cut_off_with_a_sentence(client, limited, monkeypatch, address):
    client.raise_request_exception = False

    def slow(execute, sql, params, many, context):
        return execute(f"SELECT pg_sleep(60) /* {sql.replace('%', '')} */", None, many, context)

    with connection.execute_wrapper(slow):
        response = client.get(address)
    assert response.status_code == 503
    assert "longer than 2 s" in response.content.decode()
    assert int(response["Retry-After"]) > 0
    assert client.get(address).status_code == 200


@pytest.mark.postgresql
def test_a_request_that_waits_for_others_is_told_so(client, limited):
    client.raise_request_exception = False
    user = factories.make_user(password="a long one")
    client.force_login(user)
    locked, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic(), connections["default"].cursor() as cursor:
            cursor.execute("LOCK TABLE experiments_casestudy IN ACCESS EXCLUSIVE MODE")
            locked.set()
            done.wait(30)
        connections["default"].close()

    other = threading.Thread(target=hold)
    other.start()
    locked.wait(30)
    try:
        response = client.get("/api/v1/drafts/")
    finally:
        done.set()
        other.join()
    assert response.status_code == 503
    assert "Others are writing" in response.content.decode()
