"""The next step from a change: old and new release side by side, on two hosts or on the machine itself."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group
from django.utils.html import escape
from django.utils.timezone import now

from experiments.models import Host
from modelling.own_lab.changes.bisection import bisections
from tests.factories import make_host, make_series_change, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def change(ours):
    """xfs became slower on a host's own disk, with kernel 6.8 in place of 6.1."""
    return make_series_change(ours)


def hosts(fields=None, **kernels):
    for slug, kernel in kernels.items():
        make_host(slug, name=slug.title(), facts={"kernel": kernel, "running": "QEMU 8.2.2"}, **(fields or {}))


def test_two_hosts_that_have_both_releases_are_a_filled_in_campaign_each(change):
    hosts(other="6.12", newer="6.8", older="6.1")
    (step,) = bisections(change, Host.objects.all())
    assert [(side.release, side.host) for side in step.sides] == [("6.1", "Older"), ("6.8", "Newer")]
    asked = [parse_qs(urlsplit(side.address).query) for side in step.sides]
    picked = [query.pop("host") for query in asked]
    assert picked == [[str(Host.objects.get(slug=slug).pk)] for slug in ("older", "newer")]
    assert asked[0] == asked[1]
    assert asked[0]["workloads"] == ["fileserver"]
    assert "kernel 6.1 and one with 6.8" in step.sentence


@pytest.mark.parametrize("kernels", [{}, {"older": "6.1"}, {"newer": "6.8"}, {"older": "6.1.5", "newer": "6.80"}])
def test_without_both_it_is_said_how_the_machine_itself_tells(change, kernels):
    hosts(**kernels)
    (step,) = bisections(change, Host.objects.all())
    assert step.sides == ()
    assert "boot kernel 6.1 again on the machine" in step.sentence
    assert "kdb measure fileserver --laboratory ours --again" in step.sentence


def test_hosts_that_run_no_campaign_are_left_out(change):
    hosts(older="6.1", newer="6.8")
    for fields in ({"archived_at": now()}, {"archived_at": None, "is_by_api": True}):
        Host.objects.filter(slug="older").update(**fields)
        assert bisections(change, Host.objects.all())[0].sides == ()


def test_the_kernel_of_a_guest_is_that_of_the_guest_image(change):
    hosts(older="6.1", newer="6.8")
    change.sitting.facts = {"virtual": "yes"}
    assert bisections(change, Host.objects.all())[0].sides == ()
    for slug, kernel in (("a", "6.1"), ("b", "6.8")):
        make_host(slug, name=slug, facts={"kernel": "6.12", "guest_image": {"kernel": kernel}})
    (step,) = bisections(change, Host.objects.all())
    assert [(side.release, side.host) for side in step.sides] == [("6.1", "a"), ("6.8", "b")]
    assert parse_qs(urlsplit(step.sides[0].address).query)["guest_file_systems"] == ["xfs"]


def test_what_was_not_known_before_is_no_release_to_go_back_to(change):
    change.facts = [{"name": "kernel", "before": "", "after": "6.8"}]
    assert bisections(change, Host.objects.all()) == []


def test_members_see_no_hosts_and_operators_come_to_a_form_that_is_filled_in(change, client, ada):
    hosts(older="6.1", newer="6.8", fields={"registered_by": ada})
    hosts(others="6.1", fields={"registered_by": make_user("operators")})
    client.force_login(ada)
    page = client.get(f"/series-changes/{change.pk}/").content.decode()
    assert "Old and new side by side" in page
    assert "Older" not in page
    ada.groups.add(Group.objects.get(name="operators"))
    (step,) = bisections(change, Host.objects.all())
    page = client.get(f"/series-changes/{change.pk}/").content.decode()
    assert f'<a href="{escape(step.sides[0].address)}">Plan it on Older (6.1)</a>' in page
    form = client.get(step.sides[0].address).content.decode()
    assert f'<option value="{Host.objects.get(slug="older").pk}" selected>Older' in form
