"""Sign-in by OpenID Connect, against a provider that signs real tokens on this machine."""

import time

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.contrib.auth.models import Group, User
from django.test import Client

from kdb.models import OidcIdentity
from tests.factories import make_user

from .oidc_provider import CLIENT, SECRET, providing

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db, pytest.mark.urls("tests.kdb.oidc.oidc_urls")]
START, CALLBACK = "/accounts/oidc/", "/accounts/oidc/callback/"


@pytest.fixture
def provider(settings):
    with providing() as identity_provider:
        settings.KDB_OIDC_ISSUER = identity_provider.issuer
        settings.KDB_OIDC_NAME = "Example University"
        settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = CLIENT, SECRET
        settings.OIDC_OP_AUTHORIZATION_ENDPOINT = f"{identity_provider.issuer}/authorize"
        settings.OIDC_OP_TOKEN_ENDPOINT = f"{identity_provider.issuer}/token"
        settings.OIDC_OP_USER_ENDPOINT = f"{identity_provider.issuer}/userinfo"
        settings.OIDC_OP_JWKS_ENDPOINT = f"{identity_provider.issuer}/jwks"
        settings.AUTHENTICATION_BACKENDS = [*settings.AUTHENTICATION_BACKENDS, "kdb.oidc.OidcBackend"]
        yield identity_provider


def sign_in(client: Client, provider, start: str = START):
    return client.get(CALLBACK, provider.authorise(client.get(start).url))


def signed_in(client: Client) -> str:
    context = client.get("/accounts/").context
    return context["user"].username if context else ""


def test_a_new_person_gets_an_account_without_roles_and_comes_to_where_they_wanted(client, provider):
    assert sign_in(client, provider, f"{START}?next=/following/").url == "/following/"
    ada = User.objects.get()
    assert (signed_in(client), ada.has_usable_password(), list(ada.groups.all())) == ("ada", False, [])
    again = Client()
    sign_in(again, provider)
    assert signed_in(again) == "ada"
    assert User.objects.count() == 1


@pytest.mark.parametrize("is_verified", [True, False, None])
def test_no_account_is_taken_over_by_its_mail_address_or_its_name(client, provider, is_verified):
    mine = make_user("administrators", username="ada", email="ada@example.org")
    provider.person |= {"email": "ada@example.org", "email_verified": is_verified}
    sign_in(client, provider)
    assert signed_in(client) == "ada-2"
    assert not mine.oidc_identities.exists()
    assert User.objects.get(username="ada-2").email == ("ada@example.org" if is_verified else "")


def test_an_owner_joins_an_account_with_an_identity_and_only_so(client, provider):
    ada = make_user("reviewers", username="ada")
    client.force_login(ada)
    assert "Example University" in client.get("/accounts/").content.decode()
    assert client.get("/accounts/oidc/join/").status_code == 405
    assert Client(enforce_csrf_checks=True).post("/accounts/oidc/join/").status_code == 403
    start = client.post("/accounts/oidc/join/").url
    client.get(CALLBACK, provider.authorise(client.get(start).url))
    assert OidcIdentity.objects.get().user == ada
    other = Client()
    sign_in(other, provider)
    assert signed_in(other) == "ada"


def test_who_is_signed_in_is_not_joined_by_a_sign_in_that_he_did_not_ask_to_join(client, provider):
    client.force_login(make_user(username="bob"))
    sign_in(client, provider)
    assert not OidcIdentity.objects.filter(user__username="bob").exists()


def test_where_nobody_gets_an_account_by_signing_in_strangers_are_refused(client, provider, settings):
    settings.KDB_OIDC_CREATES_USERS = False
    response = sign_in(client, provider)
    assert response.status_code == 403
    assert "there is no account for you here" in response.content.decode()
    assert not User.objects.exists()


FAULTS = {
    "another issuer": {"iss": "https://evil.example.org"},
    "another client": {"aud": "another"},
    "another client among ours": {"aud": [CLIENT, "another"], "azp": "another"},
    "expired": {"exp": int(time.time()) - 3600},
    "without an end": {"exp": None},
    "another nonce": {"nonce": "another"},
    "without a nonce": {"nonce": None},
    "nobody": {"sub": None},
    "another person": {"sub": "person-2"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_token_that_is_not_right_signs_nobody_in(client, provider, fault):
    provider.token = FAULTS[fault]
    assert sign_in(client, provider).status_code == 403
    assert signed_in(client) == ""
    assert not User.objects.exists()


def test_a_token_that_somebody_else_signed_signs_nobody_in(client, provider):
    provider.signs_with = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert sign_in(client, provider).status_code == 403
    assert not User.objects.exists()


def test_a_code_that_another_browser_asked_for_signs_nobody_in(client, provider):
    brought = provider.authorise(Client().get(START).url)
    assert client.get(CALLBACK, brought).status_code == 403
    client.get(START)
    assert client.get(CALLBACK, brought).status_code == 403
    assert signed_in(client) == ""


def test_a_code_counts_once(client, provider):
    brought = provider.authorise(client.get(START).url)
    assert client.get(CALLBACK, brought).status_code == 302
    assert client.get(CALLBACK, brought).status_code == 403


def test_a_code_beside_a_password_is_nobodys_sign_in(client, provider):
    brought = provider.authorise(client.get(START).url) | {"next": ""}
    provider.token = {"nonce": None}
    query = "&".join(f"{name}={value}" for name, value in brought.items())
    response = client.post(f"/accounts/login/?{query}", {"username": "x", "password": "y"})
    assert response.status_code == 200
    assert provider.codes


def test_what_was_called_off_or_cannot_be_reached_is_told_in_a_sentence(client, provider, settings):
    client.get(START)
    assert client.get(CALLBACK, {"error": "access_denied"}).status_code == 403
    settings.OIDC_OP_TOKEN_ENDPOINT = "http://127.0.0.1:9/token"
    assert sign_in(client, provider).status_code == 403


def test_who_was_switched_off_does_not_come_in(client, provider):
    sign_in(client, provider)
    User.objects.update(is_active=False)
    assert sign_in(Client(), provider).status_code == 403


def test_who_is_switched_off_is_signed_in_no_more(client, provider):
    sign_in(client, provider)
    assert signed_in(client) == "ada"
    User.objects.update(is_active=False)
    assert client.get("/accounts/").url == "/accounts/login/?next=/accounts/"
    assert client.get("/api/v1/drafts/").status_code == 401


def test_roles_come_from_outside_only_where_that_is_configured(client, provider, settings):
    provider.person["groups"] = ["reviewers", "administrators", "wheel"]
    sign_in(client, provider)
    ada = User.objects.get()
    assert not ada.groups.exists()
    settings.KDB_OIDC_ROLES_CLAIM = "groups"
    provider.person["groups"] = ["reviewers", "wheel"]
    ada.groups.add(Group.objects.get(name="operators"), Group.objects.create(name="wheelwrights"))
    sign_in(Client(), provider)
    assert set(ada.groups.values_list("name", flat=True)) == {"reviewers", "wheelwrights"}
    assert not ada.is_superuser


@pytest.mark.parametrize("next_page", ["https://evil.example.org/", "//evil.example.org"])
def test_nobody_is_led_to_another_site(client, provider, next_page):
    assert sign_in(client, provider, f"{START}?next={next_page}").url == "/accounts/"


def test_the_page_of_signing_in_offers_it_only_where_it_is_switched_on(client, provider, settings):
    assert "Sign in with Example University" in client.get("/accounts/login/?next=/drafts/").content.decode()
    settings.KDB_OIDC_ISSUER = ""
    assert "Sign in with" not in client.get("/accounts/login/").content.decode()
