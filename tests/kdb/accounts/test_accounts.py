"""Signing in, one's own account, roles, tokens, and what guessing a password costs."""

import io
import re
import socket
from datetime import timedelta

import pytest
from axes.models import AccessAttempt, AccessLog
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, Group
from django.core import mail
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from kdb.accounts import login_limits, tokens
from kdb.accounts.roles import ROLES, update_groups
from kdb.accounts.users import user_of
from kdb.accounts.views import MOST_RESETS_BY_ADDRESS
from kdb.jobs import jobs
from kdb.models import ApiToken, Job
from kdb.web import addresses
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
    assert "Wrong name or password" in response.content.decode()


def guess(times: int, name: str = "ada", address: str = "127.0.0.1") -> None:
    for _ in range(times):
        sign_in(Client(), "wrong", name, REMOTE_ADDR=address)


def test_who_guesses_must_wait_and_the_right_password_does_not_help(client, ada):
    guess(login_limits.MOST_BY_NAME_AND_ADDRESS - 1)
    assert sign_in(client, "wrong").status_code == 429
    response = sign_in(client)
    assert (response.status_code, response["Retry-After"]) == (429, "900")
    assert "Try again in 15 minutes" in response.content.decode()
    assert not AccessAttempt.objects.filter(username__contains="ada").exists()
    assert not AccessAttempt.objects.filter(post_data__contains="wrong").exists()
    assert sign_in(Client(), REMOTE_ADDR="127.0.0.9").status_code == 302


def test_another_process_and_another_name_count_too(ada):
    for number in range(login_limits.MOST_BY_ADDRESS):
        guess(1, f"user-{number}")
    assert sign_in(Client()).status_code == 429
    assert sign_in(Client(), REMOTE_ADDR="127.0.0.9").status_code == 302


def test_a_success_with_ones_own_name_does_not_let_one_guess_at_others(ada):
    make_user(username="mallory", password=PASSWORD)
    for number in range(login_limits.MOST_BY_ADDRESS - 1):
        guess(1, f"user-{number}")
    assert sign_in(Client(), name="mallory").status_code == 302
    guess(1, "ada")
    assert sign_in(Client()).status_code == 429


def test_all_of_an_ipv6_network_is_one_address(ada):
    for number in range(login_limits.MOST_BY_NAME_AND_ADDRESS):
        guess(1, address=f"2001:db8:1:2:{number}::1")
    assert sign_in(Client(), REMOTE_ADDR="2001:db8:1:2:ffff::9").status_code == 429
    assert sign_in(Client(), REMOTE_ADDR="2001:db8:1:3::9").status_code == 302


def guess_from_everywhere(times: int = login_limits.MOST_BY_NAME) -> None:
    for number in range(times):
        guess(1, address=f"192.0.2.{number}")


def test_guesses_from_many_addresses_are_stopped(ada):
    guess_from_everywhere()
    assert sign_in(Client(), REMOTE_ADDR="198.51.100.1").status_code == 429
    assert sign_in(Client(), "wrong", "bob", REMOTE_ADDR="198.51.100.1").status_code == 200  # and no other name is


def test_the_owner_comes_in_from_where_they_were_before(ada):
    assert sign_in(Client()).status_code == 302
    guess_from_everywhere()
    assert sign_in(Client()).status_code == 302
    AccessLog.objects.update(attempt_time=now() - login_limits.KNOWN_FOR - timedelta(seconds=1))
    assert sign_in(Client()).status_code == 429


def test_the_owner_comes_in_from_anywhere_by_mail(client, ada):
    guess_from_everywhere()
    assert client.post(reset_form(client), NEW).url == "/accounts/"
    assert client.get("/accounts/").status_code == 200
    assert sign_in(Client(), NEW["new_password1"]).status_code == 302  # and from there by password


def test_who_waits_is_not_kept_waiting_by_trying_on(ada):
    guess(login_limits.MOST_BY_NAME_AND_ADDRESS)
    before = AccessAttempt.objects.values_list("failures_since_start", "attempt_time").get()
    guess(3)
    assert AccessAttempt.objects.values_list("failures_since_start", "attempt_time").get() == before


def test_a_success_forgets_what_was_mistyped(client, ada):
    guess(login_limits.MOST_BY_NAME_AND_ADDRESS - 1)
    assert sign_in(client).status_code == 302
    assert not AccessAttempt.objects.exists()


def test_failures_count_for_a_while_only(client, ada, settings):
    guess(login_limits.MOST_BY_NAME_AND_ADDRESS)
    AccessAttempt.objects.update(attempt_time=now() - settings.AXES_COOLOFF_TIME - timedelta(seconds=1))
    assert sign_in(client).status_code == 302


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "8.8.8.8", "127.0.0.1"),
        (1, "8.8.8.8, 192.0.2.7", "192.0.2.7"),
        (1, "192.0.2.7:5678", "192.0.2.7"),
        (1, "8.8.8.8, [2001:db8::1]:80", "2001:db8::1"),
        (1, "[::1]", "::1"),
        (1, "2001:db8::1", "2001:db8::1"),
        (1, "fe80::1%eth0", "fe80::1"),
        (1, "::ffff:192.0.2.7", "192.0.2.7"),
        (1, "8.8.8.8, unknown", "127.0.0.1"),
        (1, "", "127.0.0.1"),
        (2, "8.8.8.8, 192.0.2.7, 10.0.0.1", "192.0.2.7"),
        (2, "192.0.2.7", "192.0.2.7"),
        (3, "8.8.8.8, 192.0.2.7", "192.0.2.7"),
    ],
)
def test_an_address_is_what_our_proxies_say(rf, settings, proxies, forwarded, address):
    settings.KDB_TRUSTED_PROXIES = proxies
    assert addresses.address_of(rf.get("/", headers={"x-forwarded-for": forwarded})) == address


def test_the_administration_uses_the_same_door(client):
    assert client.get("/admin/login/?next=/admin/").url == "/accounts/login/?next=/admin/"


NEW = {"new_password1": "another horse 8", "new_password2": "another horse 8"}


def ask_for_reset(client: Client, email: str = "ada@example.org", **headers):
    """Ask, and let the job do its part."""
    response = client.post("/accounts/reset/", {"email": email}, **headers)
    for job in Job.objects.filter(kind="mail_password_reset", state="queued"):
        jobs.run(job.pk)
    return response


def reset_form(client: Client) -> str:
    """Return the address of the form that the letter leads to."""
    ask_for_reset(client)
    return client.get(re.search(r"http://testserver(\S+)", mail.outbox[-1].body)[1]).url


def test_a_password_is_reset_by_mail(client, ada):
    assert client.post("/accounts/reset/", {"email": "ada@example.org"}).url == "/accounts/reset/sent/"
    assert mail.outbox == []  # a job sends it
    form = reset_form(client)
    assert [letter.to for letter in mail.outbox] == [["ada@example.org"]] * 2
    assert mail.outbox[0].subject == "A new password for KDB"
    assert client.post(form, NEW).status_code == 302
    assert sign_in(Client(), NEW["new_password1"]).status_code == 302
    address = re.search(r"http://testserver(\S+)", mail.outbox[-1].body)[1]
    assert "was used before" in Client().get(address, follow=True).content.decode()


def test_a_mail_to_nobody_looks_the_same(client, ada):
    assert ask_for_reset(client, "x@example.org").url == "/accounts/reset/sent/"
    assert mail.outbox == []
    assert Job.objects.get().state == "done"


def test_letters_are_limited_by_mail_address_and_by_place(ada):
    for email in ("ada@example.org", "ADA@example.org", "ada@example.org"):
        assert ask_for_reset(Client(), email).status_code == 302
    refused = ask_for_reset(Client(), REMOTE_ADDR="127.0.0.9")
    assert (refused.status_code, refused["Retry-After"]) == (429, "3600")
    assert "Look into your mail" in refused.content.decode()
    assert len(mail.outbox) == 3
    for number in range(MOST_RESETS_BY_ADDRESS):
        ask_for_reset(Client(), f"{number}@example.org", REMOTE_ADDR=f"2001:db8::{number}")
    assert ask_for_reset(Client(), "new@example.org", REMOTE_ADDR="2001:db8::ffff").status_code == 429


def test_a_letter_that_cannot_be_sent_is_told_of_and_nobody_waits_for_the_mail_server(client, ada, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the connection and never says a word
        settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = silent.getsockname()[1], 0.2
        assert ask_for_reset(client).status_code == 302
    job = Job.objects.get()
    assert job.state == "failed"
    assert "timed out" in job.error


def test_the_mail_server_has_a_time_limit(settings):
    assert settings.EMAIL_TIMEOUT


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
    update_groups()
    for role, labels in ROLES.items():
        permissions = Group.objects.get(name=role).permissions.values_list("content_type__app_label", "codename")
        assert {f"{app}.{codename}" for app, codename in permissions} == set(labels)


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


@pytest.mark.parametrize("door", ["reset", "change", "command line"])
def test_tokens_end_with_the_password(client, ada, door):
    key, other = make_token(ada), make_token(make_user())
    match door:
        case "reset":
            client.post(reset_form(client), NEW)
        case "change":
            client.force_login(ada)
            client.post("/accounts/password/", {"old_password": PASSWORD, **NEW})
        case "command line":
            ada.set_password("another horse 8")
            ada.save()
    assert sign_in(Client(), NEW["new_password1"]).status_code == 302
    assert ask(Client(), key).status_code == 401
    assert ask(Client(), other).status_code == 200


def test_a_letter_that_was_sent_before_an_account_was_switched_off_sets_no_password(client, ada):
    address = reset_form(client)
    ada.is_active = False
    ada.save()
    client.post(address, NEW)
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_tokens_outlive_a_password_that_is_only_hashed_anew(client, ada, settings):
    key, before = make_token(ada), ada.password
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher", *settings.PASSWORD_HASHERS]
    assert sign_in(client).status_code == 302
    ada.refresh_from_db()
    assert ada.password != before
    assert ask(Client(), key).status_code == 200


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


def test_who_is_not_signed_in_is_nobody(rf):
    request = rf.get("/")
    request.user = AnonymousUser()
    with pytest.raises(PermissionDenied):
        user_of(request)


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


def test_where_nobody_can_be_asked_for_a_password_no_user_is_made(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("getpass.getpass", lambda prompt: input())  # as getpass does without a terminal
    with pytest.raises(CommandError, match="use --password-stdin"):
        call_command("create_user", "bob", role=["researchers"])
    assert not get_user_model().objects.filter(username="bob").exists()
