"""Who changed what in the administration: a page to look through, for administrators, which nobody changes."""

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
LOG = "/admin/admin/logentry/"


@pytest.fixture
def log():
    """Log two changes by two people."""
    for who, what, flag in (("ada", "night", ADDITION), ("grace", "dawn", CHANGE)):
        user = make_user(username=who)
        LogEntry.objects.log_actions(user.pk, [User(pk=1, username=what)], flag, f"because of {what}")


def test_administrators_look_through_it_by_deed_person_and_word(client, log):
    client.force_login(make_user("administrators", username="adm", is_staff=True))
    ada = LogEntry.objects.get(user__username="ada").user_id
    everything = client.get(LOG).content.decode()
    assert everything.index("Changed “dawn”") < everything.index("Added “night”")
    for query in (f"action_flag__exact={ADDITION}", f"user__id__exact={ada}", "q=night", "q=ada"):
        page = client.get(f"{LOG}?{query}").content.decode()
        assert "Added “night”" in page, query
        assert "Changed “dawn”" not in page, query


def test_nobody_changes_it_and_only_administrators_see_it(client, log):
    entry = LogEntry.objects.first()
    client.force_login(make_user("", username="root", is_staff=True, is_superuser=True))
    assert client.get(f"{LOG}add/").status_code == 403
    assert client.post(f"{LOG}{entry.pk}/change/", {"change_message": "nothing"}).status_code == 403
    assert client.post(f"{LOG}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    client.force_login(make_user("reviewers", username="rev", is_staff=True))
    assert client.get(LOG).status_code == 403


def test_it_takes_as_many_queries_for_thirty_entries_as_for_two(client, log, django_assert_num_queries):

    client.force_login(make_user("administrators", username="adm", is_staff=True))
    client.get(LOG)
    with CaptureQueriesContext(connection) as before:
        client.get(LOG)
    ada = User.objects.get(username="ada")
    for number in range(28):
        LogEntry.objects.log_actions(ada.pk, [User(pk=1, username=f"u-{number}")], CHANGE, "again")
    with django_assert_num_queries(len(before)):
        client.get(LOG)
