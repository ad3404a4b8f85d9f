"""Where a token is used from is kept as a network, and its owner is told when that is a new one."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils.timezone import now

from kdb.accounts import tokens
from kdb.models import ApiToken
from kdb.notifications.models import Delivery, Subscription
from tests.factories import make_token, make_user

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]


@pytest.fixture
def ada():
    ada = make_user("researchers", username="ada")
    Subscription.objects.create(
        user=ada, way="webhook", address="https://x.org/", topics=["token"], site="https://kdb.example"
    )
    return ada


@pytest.fixture
def ask(ada, client):
    """Return what asks the API from an address with one token of Ada's, and returns the status."""
    key = make_token(ada, ("read",))

    def ask(address: str, path: str = "drafts/") -> int:
        headers = {"Authorization": f"Bearer {key}"}
        return client.get(f"/api/v1/{path}", headers=headers, REMOTE_ADDR=address).status_code

    return ask


def test_the_first_network_is_only_kept_and_a_new_one_is_told_once(ask, ada):
    for address in ("192.0.2.1", "192.0.2.250"):
        assert ask(address) == 200
    assert not Delivery.objects.exists()
    for address in ("198.51.100.9", "198.51.100.10", "192.0.2.1"):
        assert ask(address) == 200
    delivery = Delivery.objects.get()
    assert (delivery.topic, delivery.subscription.user) == ("token", ada)
    assert "198.51.100.0/24" in delivery.text
    assert delivery.facts["network"] == "198.51.100.0/24"


def test_of_an_ipv6_address_the_network_of_a_customer_counts(ask):
    for address in ("2001:db8:1::5", "2001:db8:1:99::6"):
        ask(address)
    assert ApiToken.objects.get().last_network == "2001:db8:1::/48"
    assert not Delivery.objects.exists()


def test_what_the_token_may_not_do_is_told_as_well(ask):
    ask("192.0.2.1")
    assert ask("198.51.100.9", "notifications/") == 403
    assert Delivery.objects.count() == 1


def test_a_minute_of_use_is_one_write(ask, django_assert_num_queries):
    ask("192.0.2.1")
    token = ApiToken.objects.get()
    with django_assert_num_queries(0):
        tokens.note_use(token, "192.0.2.77")
    ApiToken.objects.update(last_used_at=now() - timedelta(minutes=2))
    ask("192.0.2.1")
    assert now() - ApiToken.objects.get().last_used_at < timedelta(minutes=1)


def test_no_network_but_the_last_can_be_read_and_ten_are_remembered(ask):
    for number in range(12):
        ask(f"10.0.{number}.1")
    token = ApiToken.objects.get()
    assert token.last_network == "10.0.11.0/24"
    assert len(token.known_networks.split()) == 10
    assert "10.0" not in token.known_networks
    other = tokens.make(token.user, "other", ["read"])[0]
    tokens.note_use(other, "10.0.11.1")
    other.refresh_from_db()
    assert other.known_networks not in token.known_networks  # of the same network: digests tell nothing across tokens


def test_a_thief_with_many_networks_does_not_flood_the_owner(ask):
    for number in range(20):
        ask(f"10.1.{number}.1")
    assert Delivery.objects.count() == 5


def test_the_account_lists_last_use_its_network_and_the_end(ask, ada, client):
    ask("192.0.2.1")
    ApiToken.objects.update(expires_at=now() - timedelta(days=1))
    client.force_login(ada)
    text = " ".join(client.get("/accounts/").content.decode().split())
    assert "from 192.0.2.0/24" in text
    assert f"ended {now() - timedelta(days=1):%Y-%m-%d}" in text


def test_the_command_makes_one_that_ends(ada):
    call_command("create_token", "box", user="ada", scope=["read"], days=30)
    assert timedelta(days=29) < ApiToken.objects.get(name="box").expires_at - now() <= timedelta(days=30)
