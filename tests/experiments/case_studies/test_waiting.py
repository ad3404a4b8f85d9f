"""The header of every page, by who looks at it."""

import re

import pytest

from tests.factories import make_case_study, make_user, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def header(client) -> str:
    return client.get("/case-studies/").content.decode().split("</header>")[0]


def test_a_visitor_may_sign_in_and_sees_nothing_of_others(client):
    make_case_study(status="submitted")
    shown = header(client)
    assert 'href="/accounts/login/">Sign in</a>' in shown
    assert "Sign out" not in shown
    assert "review" not in shown


@pytest.mark.parametrize(
    ("group", "rooms"),
    [
        (None, []),
        ("", []),
        ("researchers", ["drafts"]),
        ("reviewers", ["drafts"]),
        ("operators", ["drafts", "laboratory"]),
        ("administrators", ["drafts", "laboratory"]),
    ],
)
def test_rooms_are_shown_to_those_who_may_enter_them(client, group, rooms):
    if group is not None:
        client.force_login(make_user(group))
    shown = header(client)
    doors = {"drafts": "Contribute", "laboratory": "My hosts"}
    assert [room for room, name in doors.items() if re.search(rf'href="/{room}/[^"]*"[^>]*>{name}</a>', shown)] == rooms


@pytest.mark.parametrize("group", [None, "researchers", "reviewers"])
def test_a_published_case_study_can_be_retracted_by_those_who_see_the_link(client, group):
    publish(make_case_study("lab"))
    if group is not None:
        client.force_login(make_user(group))
    page = client.get("/case-studies/lab/").content.decode()
    assert ('href="/case-studies/lab/retract/"' in page) == (group == "reviewers")


def test_an_author_sees_the_drafts_that_wait(client):
    author = make_user("researchers", username="ada")
    for number in range(2):
        make_case_study(f"draft-{number}", owner=author)
    client.force_login(author)
    shown = header(client)
    assert 'href="/drafts/">2 drafts</a>' in shown
    assert 'href="/accounts/">ada</a>' in shown
    assert "Sign out" in shown
    assert "Administration" not in shown


def test_a_reviewer_sees_what_waits_for_review(client):
    make_case_study(status="submitted", owner=make_user("researchers"))
    client.force_login(make_user("reviewers"))
    assert "1 review</a>" in header(client)


def test_who_may_administer_is_led_there(client):
    client.force_login(make_user("administrators", is_staff=True))
    assert 'href="/admin/">Administration</a>' in header(client)


def test_a_visitors_page_costs_no_query_more(client, django_assert_num_queries):
    client.get("/accounts/login/")
    with django_assert_num_queries(0):
        client.get("/accounts/login/")
