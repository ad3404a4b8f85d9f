"""Signing in, one's own account, roles, tokens, and what guessing a password costs."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from kdb import throttle, tokens
from kdb.models import ApiToken, FailedLogin
from kdb.roles import ROLES, bring_up_to_date
from tests.factories import make_token, make_user

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 7"


@pytest.fixture
def ada():
    return make_user(username="ada", password=PASSWORD, email="ada@example.org")


def sign_in(client: Client, password: str = PASSWORD, name: str = "ada", **headers):
    return client.post("/accounts/login/", {"username": name, "password": password}, **headers)


# Signing in


def test_who_signs_in_comes_to_where_they_wanted(client, ada):
    assert client.get("/drafts/").url == "/accounts/login/?next=/drafts/"
    response = client.post("/accounts/login/", {"username": "ada", "password": PASSWORD, "next": "/drafts/"})
    assert response.url == "/drafts/"
    assert client.get("/drafts/").status_code == 200


def test_nobody_is_led_to_another_site(client, ada):
    response = client.post("/accounts/login/", {"username": "ada", "password": PASSWORD, "next": "https://x.org/"})
    assert response.url == "/accounts/"


@pytest.mark.parametrize("name", ["ada", "nobody"])
def test_a_failure_does_not_tell_whether_the_user_exists(client, ada, name):
    response = sign_in(client, "wrong", name)
    assert response.status_code == 200
    assert "do not belong together" in response.content.decode()


def test_who_guesses_must_wait_and_the_right_password_does_not_help(client, ada):
    for _ in range(throttle.MOST_BY_NAME):
        assert sign_in(client, "wrong").status_code == 200
    response = sign_in(client)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= throttle.WINDOW.total_seconds()
    assert not FailedLogin.objects.filter(name_digest__contains="ada").exists()


def test_another_process_and_another_name_count_too(ada):
    for number in range(throttle.MOST_BY_ADDRESS):
        sign_in(Client(), "wrong", f"user-{number}")
    assert sign_in(Client()).status_code == 429
    assert sign_in(Client(), REMOTE_ADDR="127.0.0.9").status_code == 302


def test_a_success_forgets_what_was_mistyped(client, ada):
    for _ in range(throttle.MOST_BY_NAME - 1):
        sign_in(client, "wrong")
    assert sign_in(client).status_code == 302
    assert not FailedLogin.objects.exists()


def test_failures_count_for_a_while_only(client, ada):
    for _ in range(throttle.MOST_BY_NAME):
        sign_in(client, "wrong")
    FailedLogin.objects.update(at=now() - throttle.WINDOW - timedelta(seconds=1))
    assert sign_in(client).status_code == 302


@pytest.mark.parametrize(("behind_proxy", "address"), [(False, "127.0.0.1"), (True, "127.0.0.7")])
def test_an_address_is_the_proxys_word_only_behind_one(rf, settings, behind_proxy, address):
    settings.KDB_BEHIND_PROXY = behind_proxy
    assert throttle.address_of(rf.get("/", headers={"x-forwarded-for": "8.8.8.8, 127.0.0.7"})) == address


def test_the_administration_uses_the_same_door(client):
    assert client.get("/admin/login/?next=/admin/").url == "/accounts/login/?next=/admin/"


def test_a_password_is_reset_by_mail(client, ada):
    assert client.post("/accounts/reset/", {"email": "ada@example.org"}).url == "/accounts/reset/sent/"
    (letter,) = mail.outbox
    address = re.search(r"http://testserver(\S+)", letter.body)[1]
    form = client.get(address).url
    assert (
        client.post(form, {"new_password1": "another horse 8", "new_password2": "another horse 8"}).status_code == 302
    )
    assert sign_in(client, "another horse 8").status_code == 302
    assert "was used before" in client.get(address, follow=True).content.decode()


def test_a_mail_to_nobody_looks_the_same(client, ada):
    assert client.post("/accounts/reset/", {"email": "x@example.org"}).url == "/accounts/reset/sent/"
    assert mail.outbox == []


@pytest.mark.parametrize("path", ["login/", "logout/", "password/", "reset/", ""])
def test_every_form_wants_its_csrf_token(ada, path):
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.post(f"/accounts/{path}", {"username": "ada", "password": PASSWORD}).status_code == 403


@pytest.mark.parametrize("path", ["", "password/"])
def test_an_account_is_for_its_owner(client, path):
    assert client.get(f"/accounts/{path}").url.startswith("/accounts/login/")


# Roles


def test_roles_are_groups_and_are_brought_back_to_their_table():
    Group.objects.get(name="researchers").permissions.clear()
    bring_up_to_date()
    for role, labels in ROLES.items():
        found = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")
        assert {f"{app}.{codename}" for app, codename in found} == set(labels)


# Tokens

API = "/api/v1/drafts/"


def ask(client: Client, key: str, path: str = API, method: str = "get", **data):
    return getattr(client, method)(path, headers={"authorization": f"Bearer {key}"}, **data)


def test_a_token_acts_in_its_users_name(client, ada):
    key = make_token(ada)
    assert ask(client, key).status_code == 200
    token = ApiToken.objects.get()
    assert key not in str(vars(token))
    assert token.last_used_at is not None


def test_the_last_use_is_kept_to_the_minute(client, ada, django_assert_num_queries):
    key = make_token(ada)
    ask(client, key)
    first = ApiToken.objects.get().last_used_at
    ask(client, key)
    assert ApiToken.objects.get().last_used_at == first


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: tokens.revoke(token),
        lambda token: ApiToken.objects.update(expires_at=now() - timedelta(seconds=1)),
        lambda token: type(token.user).objects.update(is_active=False),
        lambda token: ApiToken.objects.update(digest="0" * 64),
    ],
    ids=["revoked", "expired", "user inactive", "another key"],
)
def test_a_token_that_does_not_count_is_401(client, ada, spoil):
    key = make_token(ada)
    spoil(ApiToken.objects.get())
    response = ask(client, key)
    assert (response.status_code, response["Content-Type"]) == (401, "application/problem+json")
    assert response["WWW-Authenticate"].startswith("Bearer")


def test_a_token_does_what_its_scopes_say(client, ada):
    reader = make_token(ada, ("read",))
    assert ask(client, reader).status_code == 200
    assert ask(client, reader, method="post", data={}, content_type="application/json").status_code == 403
    importer = make_token(ada, ("import",))
    assert ask(client, importer).status_code == 403


def test_a_token_in_the_address_is_none(client, ada):
    assert client.get(f"{API}?token={make_token(ada)}").status_code == 401


def test_a_token_is_made_shown_once_and_revoked_on_the_page(client, ada):
    client.force_login(ada)
    page = client.post("/accounts/", {"name": "laptop", "scopes": ["read"], "days": "30"}).content.decode()
    key = re.search(r"kdb_[\w-]{43}", page)[0]
    assert ask(Client(), key).status_code == 200
    assert key not in client.get("/accounts/").content.decode()
    again = client.post("/accounts/", {"name": "laptop", "scopes": ["read"], "days": "30"})
    assert again.status_code == 422
    client.post(f"/accounts/tokens/{ApiToken.objects.get().pk}/revoke/")
    assert ask(Client(), key).status_code == 401


def test_nobody_revokes_the_token_of_another(client, ada):
    make_token(ada)
    client.force_login(make_user())
    assert client.post(f"/accounts/tokens/{ApiToken.objects.get().pk}/revoke/").status_code == 404


def test_neither_password_nor_key_is_logged(client, ada, caplog):
    caplog.set_level("DEBUG")
    key = make_token(ada)
    ask(client, key)
    sign_in(client, "secret-guess")
    sign_in(client)
    assert not re.search(f"{key}|secret-guess|{PASSWORD}", caplog.text)


# Commands


def test_users_and_tokens_are_made_at_the_command_line(client, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", type("In", (), {"readline": lambda self: f"{PASSWORD}\n"})())
    call_command("create_user", "bob", role=["researchers"], password_stdin=True)
    assert sign_in(client, name="bob").status_code == 302
    call_command("create_token", "laptop", user="bob", scope=["read"])
    key = capsys.readouterr().out.split()[-1]
    assert ask(Client(), key).status_code == 200
    with pytest.raises(CommandError, match="already"):
        call_command("create_token", "laptop", user="bob", scope=["read"])
    with pytest.raises(CommandError, match="already"):
        call_command("create_user", "bob", role=["researchers"], password_stdin=True)


def test_a_weak_password_makes_no_user(monkeypatch):
    monkeypatch.setattr("sys.stdin", type("In", (), {"readline": lambda self: "12345678\n"})())
    with pytest.raises(CommandError, match="common"):
        call_command("create_user", "bob", role=["researchers"], password_stdin=True)
