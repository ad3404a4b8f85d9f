"""The page of one's notifications, and the same by the API."""

import pytest
from django.test import Client

from kdb.notifications import announcements, deliveries, subscriptions
from kdb.notifications.models import Delivery, Subscription
from tests.factories import make_token, make_user

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
PAGE, API = "/accounts/notifications/", "/api/v1/notifications/"
NEW = {"way": "webhook", "address": "https://hooks.example.org/kdb", "topics": ["question"]}


@pytest.fixture
def ada():
    return make_user(username="ada")


@pytest.fixture
def shown(client, ada):
    client.force_login(ada)
    return lambda: client.get(PAGE).content.decode()


def test_a_webhook_is_added_changed_tested_and_removed(client, shown):
    assert client.post(PAGE, NEW).url == PAGE
    mine = Subscription.objects.get()
    assert mine.site == "http://testserver"
    assert subscriptions.signing_key(mine) in shown()
    client.post(f"{PAGE}{mine.pk}/test/")
    assert "A test from KDB" in shown()
    client.post(f"{PAGE}{mine.pk}/remove/")
    assert not Subscription.objects.exists()


def test_failures_are_told_and_what_was_switched_off_is_switched_on_again(client, shown, ada, settings):
    settings.KDB_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    mine = subscriptions.add(ada, "webhook", "http://127.0.0.1:9/", ["question"], "https://kdb.example.org")
    announcements.send_test(mine)
    deliveries.deliver_due(lambda done: None)
    assert "It could not be reached." in shown()
    assert "1 attempt, next" in shown()
    subscriptions.switch_off(mine, "Nothing was taken there.")
    assert "Nothing was taken there." in shown()
    client.post(f"{PAGE}{mine.pk}/change/", {"topics": ["question"]})
    mine.refresh_from_db()
    assert (mine.off_at, mine.off_reason) == (None, "")


def test_what_is_wrong_is_said_on_the_page(client, shown):
    response = client.post(PAGE, NEW | {"address": "http://inside/"})
    assert response.status_code == 422
    assert "begins with https://" in response.content.decode()


def test_only_what_one_may_be_told_is_offered(client, ada):
    for role, offered in (("", 4), ("reviewers", 5), ("operators", 6), ("administrators", 7)):
        client.force_login(make_user(role))
        assert client.get(PAGE).content.decode().count('name="topics"') == offered


def test_mail_is_offered_where_it_can_be_sent_and_else_the_page_says_why_not(client, shown, ada, settings):
    assert "sends no mail" in shown()
    settings.KDB_MAIL_IS_SENT = True
    assert "no mail address" in shown()
    ada.email = "ada@example.org"
    ada.save()
    assert "mail to ada@example.org" in shown()


@pytest.mark.parametrize("deed", ["change", "remove", "test"])
def test_nobody_touches_the_notifications_of_another(client, shown, deed):
    theirs = subscriptions.add(make_user(), "webhook", "https://theirs.org/", ["question"], "https://kdb.example.org")
    assert client.post(f"{PAGE}{theirs.pk}/{deed}/", {"topics": ["question"]}).status_code == 404
    assert theirs.address not in shown()
    assert Subscription.objects.get().deliveries.count() == 0


def test_tests_are_limited(client, shown, ada):
    mine = subscriptions.add(ada, **NEW, site="https://kdb.example.org")
    for _ in range(announcements.MOST_TESTS):
        assert client.post(f"{PAGE}{mine.pk}/test/").status_code == 302
    assert client.post(f"{PAGE}{mine.pk}/test/").status_code == 429
    assert Delivery.objects.count() == announcements.MOST_TESTS


def ask(key: str, method: str = "get", path: str = "", body=None):
    options = {"data": body, "content_type": "application/json"} if body is not None else {}
    return getattr(Client(), method)(f"{API}{path}", headers={"authorization": f"Bearer {key}"}, **options)


def test_a_program_arranges_it_with_a_token_for_that(ada):
    assert ask(make_token(ada, ("read", "import", "campaign"))).status_code == 403
    key = make_token(ada, ("notify",))
    made = ask(key, "post", body=NEW).json()
    assert made["signing_key"] == subscriptions.signing_key(Subscription.objects.get())
    assert [row["id"] for row in ask(key).json()] == [made["id"]]
    assert ask(key, "post", f"{made['id']}/test/").status_code == 202
    (sent,) = ask(key, path=f"{made['id']}/deliveries/").json()
    assert (sent["topic"], sent["state"]) == ("test", "waiting")
    assert ask(key, "post", body=NEW).status_code == 422
    assert ask(key, "post", body=NEW | {"adress": "x"}).status_code == 400
    assert ask(key, "put", f"{made['id']}/", {"topics": ["review"]}).status_code == 422
    assert ask(make_token(make_user(), ("notify",)), path=f"{made['id']}/").status_code == 404
    assert ask(key, "delete", f"{made['id']}/").status_code == 204
