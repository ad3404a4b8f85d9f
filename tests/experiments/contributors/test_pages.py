"""Who wants to be named for published case studies gets a page, a citation and a badge; nobody else is named."""

import pytest
from django.urls import reverse

from experiments.case_studies import lifecycle, retraction
from experiments.contributors.contributors import choose_name
from experiments.models import Contributor
from tests.factories import make_case_study, make_measurement, make_user, publish

pytestmark = pytest.mark.django_db
FORM = "/contributors/your-name/"


@pytest.fixture
def ada():
    return make_user("researchers", username="ada")


def published_of(user, slug="hers", numbers=2):
    case_study = make_case_study(slug, owner=user, title="Hers")
    for number in range(numbers):
        make_measurement(case_study=case_study, guest_fs=("ext4", "xfs")[number])
    publish(case_study)
    return case_study


def test_nobody_is_named_who_did_not_choose_to_be(client, ada):
    published_of(ada)
    for address in ("/case-studies/hers/", "/case-studies/hers/citation.bib"):
        text = client.get(address).content.decode()
        assert "ada" not in text
        assert "Brought by" not in text


def test_a_chosen_name_stands_on_the_study_its_citation_and_a_page_of_its_own(client, ada):
    published_of(ada)
    client.force_login(ada)
    assert client.post(FORM, {"name": "Ada Lovelace"}).status_code == 302
    client.logout()
    page = client.get("/contributors/ada-lovelace/").content.decode()
    assert "<h1>Ada Lovelace</h1>" in page
    assert 'href="/case-studies/hers/"' in page
    assert "1 case study, 2 measurements" in page
    assert "Ada Lovelace: 1 case study, 2 measurements. KDB, knowledge revision 1. http" in page
    assert "author = {Ada Lovelace}" in page
    assert "author = {Ada Lovelace}" in client.get("/case-studies/hers/citation.bib").content.decode()
    assert 'href="/contributors/ada-lovelace/">Ada Lovelace</a>' in client.get("/case-studies/hers/").content.decode()


def test_the_badge_counts_what_is_published(client, ada):
    published_of(ada)
    choose_name(ada, "Ada")
    badge = client.get("/contributors/ada/badge.svg")
    assert badge["Content-Type"] == "image/svg+xml"
    assert "KDB: 1 case study, 2 measurements" in badge.content.decode()
    assert "max-age=600" in badge["Cache-Control"]


def test_a_page_shows_nothing_that_is_not_published(client, ada):
    make_measurement(case_study=make_case_study("secret", owner=ada))
    choose_name(ada, "Ada")
    assert client.get("/contributors/ada/").status_code == 404
    published_of(ada)
    text = client.get("/contributors/ada/").content.decode()
    assert "secret" not in text


def test_what_ended_stays_listed_and_counts_no_longer(client, ada):
    case_study = published_of(ada)
    published_of(ada, "other", numbers=1)
    choose_name(ada, "Ada")
    case_study.refresh_from_db()
    retraction.retract(case_study, reason="in doubt")
    text = client.get("/contributors/ada/").content.decode()
    assert "2 case studies, 1 measurement" in text
    assert "retracted" in text


def test_an_address_stays_when_the_name_changes_and_goes_when_it_is_withdrawn(client, ada):
    published_of(ada)
    client.force_login(ada)
    client.post(FORM, {"name": "Ada"})
    client.post(FORM, {"name": "Countess"})
    assert "<h1>Countess</h1>" in client.get("/contributors/ada/").content.decode()
    client.post(FORM, {"name": "Countess", "withdraw": "1"})
    assert client.get("/contributors/ada/").status_code == 404
    assert "Brought by" not in client.get("/case-studies/hers/").content.decode()


def test_two_of_one_name_have_two_addresses_and_none_is_that_of_the_form(ada):
    first, second = choose_name(ada, "Ada"), choose_name(make_user(username="eve"), "Ada")
    assert (first.slug, second.slug[:4]) == ("ada", "ada-")
    assert choose_name(make_user(username="bob"), "Your name").slug != "your-name"
    assert choose_name(make_user(username="yu"), "玉").slug.startswith("contributor")
    assert reverse("your-name") == FORM


@pytest.mark.parametrize("name", ["", "Ada\u202elovE", "x" * 121, "Ada\x00"])
def test_a_name_that_cannot_be_printed_is_refused(client, ada, name):
    client.force_login(ada)
    assert client.post(FORM, {"name": name}).status_code == 422
    assert not Contributor.objects.exists()


def test_the_form_is_for_the_signed_in_alone(client):
    assert client.get(FORM).status_code == 302


def test_a_page_costs_the_same_for_many_studies(client, ada, django_assert_max_num_queries):
    lifecycle.publish([make_case_study(f"study-{n}", owner=ada) for n in range(5)], reason="measured")
    choose_name(ada, "Ada")
    with django_assert_max_num_queries(6):
        client.get("/contributors/ada/")
