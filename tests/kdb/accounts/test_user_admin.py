"""Who keeps the users cannot make more of themselves than they are."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def administrator(client):
    user = make_user("administrators", username="adm", is_staff=True)
    client.force_login(user)
    return user


def change(client: Client, user, **said):
    """Post the change form with what it shows for this user, and what is said instead."""
    fields = {
        "username": user.username,
        "is_active": "on",
        "is_staff": "on",
        "groups": [str(pk) for pk in user.groups.values_list("pk", flat=True)],
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    return client.post(f"/admin/auth/user/{user.pk}/change/", fields | said)


def test_an_administrator_gives_roles_and_nothing_beyond_them(client, administrator):
    powerful = Group.objects.create(name="powerful")
    powerful.permissions.set(Permission.objects.filter(codename="delete_user"))
    friend = make_user("researchers", username="friend")
    reviewers, administrators = Group.objects.get(name="reviewers"), Group.objects.get(name="administrators")

    page = client.get(f"/admin/auth/user/{friend.pk}/change/").content.decode()
    assert 'name="groups"' in page
    assert 'name="is_superuser"' not in page
    assert 'name="user_permissions"' not in page
    assert change(client, friend, groups=[reviewers.pk, administrators.pk]).status_code == 302
    assert set(friend.groups.all()) == {reviewers, administrators}
    assert change(client, friend, groups=[powerful.pk]).status_code == 200  # not among the choices
    assert set(friend.groups.all()) == {reviewers, administrators}


def test_an_administrator_does_not_become_superuser(client, administrator):
    permission = Permission.objects.get(codename="delete_user")
    privileges = {"is_superuser": "on", "user_permissions": [permission.pk]}
    assert change(client, administrator, **privileges).status_code == 302
    administrator.refresh_from_db()
    assert not administrator.is_superuser
    assert not administrator.user_permissions.exists()
    new = {"username": "new", "usable_password": "true", "password1": "correct horse 7", "password2": "correct horse 7"}
    assert client.post("/admin/auth/user/add/", new | privileges).status_code == 302
    made = type(administrator).objects.get(username="new")
    assert not made.is_superuser
    assert not made.user_permissions.exists()


@pytest.mark.parametrize("more", ["superuser", "inactive superuser", "permission", "group"])
def test_an_administrator_does_not_take_over_who_may_more(client, administrator, more):
    other = make_user("", username="other", is_superuser="superuser" in more, is_active="inactive" not in more)
    permission = Permission.objects.get(codename="delete_user")
    if more == "permission":
        other.user_permissions.add(permission)
    if more == "group":
        group = Group.objects.create(name="powerful")
        group.permissions.add(permission)
        other.groups.add(group)
    password = {"usable_password": "true", "password1": "correct horse 7", "password2": "correct horse 7"}
    assert client.post(f"/admin/auth/user/{other.pk}/password/", password).status_code == 403
    assert change(client, other, email="adm@example.org").status_code == 403
    assert client.post(f"/admin/auth/user/{other.pk}/delete/", {"post": "yes"}).status_code == 403
    before = other.password, other.email
    other.refresh_from_db()
    assert (other.password, other.email) == before


def test_an_administrator_sets_the_password_of_a_researcher(client, administrator):
    researcher = make_user("researchers", username="ada")
    password = {"usable_password": "true", "password1": "correct horse 7", "password2": "correct horse 7"}
    assert client.post(f"/admin/auth/user/{researcher.pk}/password/", password).status_code == 302
    researcher.refresh_from_db()
    assert researcher.check_password("correct horse 7")


def test_a_superuser_makes_superusers(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("root"))
    other = make_user("administrators", username="adm")
    assert change(client, other, is_superuser="on").status_code == 302
    other.refresh_from_db()
    assert other.is_superuser
