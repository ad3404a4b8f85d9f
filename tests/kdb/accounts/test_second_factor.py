"""A second factor: asked for after the password, at every door; the database alone does not give it."""

import re
import time

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.core import mail
from django.test import Client

from kdb.accounts import login_limits, second_factor
from kdb.models import SecondFactor
from tests.factories import make_token, make_user
from tests.kdb.accounts.test_accounts import NEW, PASSWORD, reset_form, sign_in

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]
SECOND, SET_UP = "/accounts/login/second/", "/accounts/second-factor/"


@pytest.fixture
def ada():
    return make_user("administrators", username="ada", password=PASSWORD, email="ada@example.org", is_staff=True)


@pytest.fixture
def clock(monkeypatch):
    """Seconds since 1970 as the server has them; a test moves them."""
    moment = [1_800_000_000.0]
    monkeypatch.setattr(second_factor.time, "time", lambda: moment[0])
    return moment


def app(user, clock, difference: float = 0) -> str:
    """Return the password that the user's app shows."""
    secret = second_factor._cipher().decrypt(SecondFactor.objects.get(user=user).secret)
    return TOTP(secret, 6, SHA1(), 30).generate(clock[0] + difference).decode()


@pytest.fixture
def codes(ada, clock) -> list[str]:
    second_factor.begin(ada)
    recovery_codes = second_factor.confirm(ada, app(ada, clock))
    clock[0] += 30
    return recovery_codes


def is_signed_in(client: Client) -> bool:
    return client.get("/accounts/").status_code == 200


def test_the_password_alone_opens_neither_pages_nor_the_administration(client, ada, codes):
    assert sign_in(client).url == SECOND
    assert not is_signed_in(client)
    assert client.get("/admin/").status_code == 302
    assert client.get("/admin/login/?next=/admin/").url == "/accounts/login/?next=/admin/"


def test_password_and_code_lead_to_where_one_wanted(client, ada, codes, clock):
    client.post("/accounts/login/", {"username": "ada", "password": PASSWORD, "next": "/admin/"})
    assert client.post(SECOND, {"code": "000000"}).status_code == 422
    assert not is_signed_in(client)
    assert client.post(SECOND, {"code": app(ada, clock)}).url == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_a_code_counts_once_and_only_around_its_time(ada, codes, clock):
    now = app(ada, clock)
    assert second_factor.verify(ada, now)
    assert not second_factor.verify(ada, now)
    assert not second_factor.verify(ada, app(ada, clock, -30))  # an older one after it
    clock[0] += 300
    for difference, counts in ((-60, False), (60, False), (-30, True), (30, True)):
        assert second_factor.verify(ada, app(ada, clock, difference)) is counts


def test_a_recovery_code_lets_one_in_once(client, ada, codes):
    assert len(set(codes)) == 10
    for expected in (302, 422):
        client = Client()
        sign_in(client)
        assert client.post(SECOND, {"code": codes[0].upper()}).status_code == expected
    assert second_factor.verify(ada, codes[1])


def test_who_guesses_codes_must_wait_as_who_guesses_passwords(client, ada, codes, clock):
    sign_in(client)
    for _ in range(login_limits.MOST_BY_NAME_AND_ADDRESS):
        client.post(SECOND, {"code": "000000"})
    response = client.post(SECOND, {"code": app(ada, clock)})
    assert (response.status_code, is_signed_in(client)) == (429, False)
    assert sign_in(Client()).status_code == 429


def test_the_second_step_is_for_who_gave_the_password_and_for_a_while(client, ada, codes, clock):
    assert client.get(SECOND).url == "/accounts/login/"
    sign_in(client)
    session = client.session
    session["second_factor"] = session["second_factor"] | {"at": time.time() - 601}
    session.save()
    assert client.post(SECOND, {"code": app(ada, clock)}).url == "/accounts/login/"


def test_who_was_switched_off_between_the_steps_does_not_come_in(client, ada, codes, clock):
    sign_in(client)
    ada.is_active = False
    ada.save()
    assert client.post(SECOND, {"code": app(ada, clock)}).url == "/accounts/login/"


def test_a_new_password_by_mail_is_not_the_second_factor(client, ada, codes):
    client.post(reset_form(client), NEW)
    assert mail.outbox
    assert not is_signed_in(client)
    assert sign_in(client, NEW["new_password1"]).url == SECOND


def test_tokens_are_asked_for_no_second_factor(client, ada, codes):
    key = make_token(ada)
    assert client.get("/api/v1/drafts/", headers={"authorization": f"Bearer {key}"}).status_code == 200


def test_it_is_set_up_confirmed_and_switched_off_on_its_page(client, ada, clock):
    client.force_login(ada)
    page = client.get(SET_UP).content.decode()
    assert "data:image/svg+xml" in page
    assert second_factor.typed_secret(SecondFactor.objects.get()) in page
    assert not second_factor.is_on(ada)  # until a code was seen
    assert client.post(SET_UP, {"code": "000000"}).status_code == 422
    shown = client.post(SET_UP, {"code": app(ada, clock)}).content.decode()
    codes = re.findall(r"<code>([0-9a-f]{16})</code>", shown)
    assert (second_factor.is_on(ada), len(codes)) == (True, 10)
    assert not any(code in client.get(SET_UP).content.decode() for code in codes)
    assert client.post(SET_UP, {"code": "000000"}).status_code == 422
    assert client.post(SET_UP, {"code": codes[0]}).status_code == 302
    assert not SecondFactor.objects.exists()


def test_the_database_alone_gives_neither_codes_nor_secret(ada, codes, clock, settings):
    kept = str(SecondFactor.objects.values().get())
    secret = second_factor._cipher().decrypt(SecondFactor.objects.get().secret)
    assert secret.hex() not in kept
    assert second_factor.typed_secret(SecondFactor.objects.get()) not in kept
    assert not any(code in kept for code in codes)
    right = app(ada, clock)
    settings.SECRET_KEY = "another"
    assert not second_factor.verify(ada, right)
    assert second_factor.verify(ada, codes[0])


def test_superusers_take_it_away_in_the_administration_and_nobody_sees_the_secret(client, ada, codes):
    row = SecondFactor.objects.get()
    client.force_login(ada)
    assert client.get(f"/admin/kdb/secondfactor/{row.pk}/change/").status_code == 403
    client.force_login(make_user("", is_superuser=True, is_staff=True))
    page = client.get(f"/admin/kdb/secondfactor/{row.pk}/change/").content.decode()
    assert row.secret not in page
    client.post(f"/admin/kdb/secondfactor/{row.pk}/delete/", {"post": "yes"})
    assert not second_factor.is_on(ada)
