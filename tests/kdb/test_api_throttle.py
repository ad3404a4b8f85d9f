"""The API takes so many requests a minute, and says when to come back."""

import pytest

from kdb.accounts import tokens
from kdb.api import throttle as api_throttle
from tests.factories import make_user

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.fixture
def at(settings, monkeypatch):
    """Allow three requests a minute, at a time that the test sets."""
    settings.KDB_API_REQUESTS_A_MINUTE = 3
    now = [6000.0]
    monkeypatch.setattr(api_throttle.time, "time", lambda: now[0])

    def set_time(seconds: float) -> None:
        now[0] = 6000.0 + seconds

    return set_time


def statuses(client, count: int, **extra) -> list[int]:
    return [client.get("/api/v1/hypervisors/", **extra).status_code for _ in range(count)]


def test_one_too_many_is_told_when_to_come_back(at, client):
    at(20)
    assert statuses(client, 4) == [200, 200, 200, 429]
    answer = client.get("/api/v1/rankings/")
    assert (answer.status_code, answer["Retry-After"]) == (429, "40")
    assert answer["Content-Type"] == "application/problem+json"
    at(60)
    assert statuses(client, 1) == [200]


def test_each_address_and_each_user_has_its_own(at, client):
    assert statuses(client, 4, REMOTE_ADDR="192.0.2.1")[-1] == 429
    assert statuses(client, 1, REMOTE_ADDR="192.0.2.2") == [200]
    _, key = tokens.make(make_user("researchers"), "a", ["read"])
    private = [client.get("/api/v1/drafts/", headers={"Authorization": f"Bearer {key}"}).status_code for _ in range(4)]
    assert private == [200, 200, 200, 429]


def test_pages_are_not_counted(at, client):
    assert [client.get("/accounts/login/").status_code for _ in range(5)] == [200] * 5


def test_nothing_is_counted_without_a_limit(at, settings, client):
    settings.KDB_API_REQUESTS_A_MINUTE = 0
    assert statuses(client, 6) == [200] * 6
