"""Members, sittings and laboratories are removed, and the trail says who did it; a token that measures does no more."""

import pytest
from django.test import Client

from experiments.models import AuditEntry, CaseStudy
from modelling.fleet.moving import plans
from modelling.models import Laboratory, LaboratoryAuditEntry, PlacementPlan, SeriesChange, Sitting
from modelling.own_lab import laboratories
from tests.factories import (
    make_case_study,
    make_host,
    make_series_change,
    make_sitting,
    make_token,
    make_user,
    revision,
)
from tests.kdb.laboratory import ask, make_laboratory, operations

pytestmark = [pytest.mark.sqlite, pytest.mark.django_db]

PAGE = "/laboratories/ours/"


@pytest.fixture
def ours(ada):
    make_user(username="bob")
    laboratory = Laboratory.objects.get(slug="ours")
    laboratories.add_member(laboratory, "bob", user=ada)
    return laboratory


@pytest.fixture
def pages(client, ada):
    client.force_login(ada)
    return client


@pytest.fixture
def api(ada):
    client = Client()
    client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {make_token(ada, ('laboratory',))}"
    return client


def trail(laboratory):
    entries = LaboratoryAuditEntry.objects.filter(laboratory=laboratory).order_by("pk")
    return list(entries.values_list("actor__username", "action", "detail"))


def members(laboratory):
    return set(laboratory.members.values_list("username", flat=True))


@pytest.mark.parametrize("door", ["page", "api"])
def test_a_member_is_removed_and_the_trail_says_by_whom(door, ours, pages, api):
    assert b'aria-label="Remove bob"' in pages.get(PAGE).content
    if door == "page":
        assert pages.post(PAGE, {"do": "remove-member", "username": "bob"}).status_code == 302
    else:
        assert api.delete("/api/v1/laboratories/ours/members/bob/").status_code == 204
    assert members(ours) == {"ada"}
    assert trail(ours) == [("ada", "begun", ""), ("ada", "member added", "bob"), ("ada", "member removed", "bob")]
    assert "ada: member removed, bob" in pages.get(PAGE).content.decode()


def test_the_last_member_stays_and_one_who_is_none_is_named(ours, pages, api):
    assert api.delete("/api/v1/laboratories/ours/members/eve/").status_code == 409
    assert pages.post(PAGE, {"do": "remove-member", "username": "ada"})["Location"] == "/laboratories/"
    assert members(ours) == {"bob"}
    pages.force_login(ours.members.get())
    refused = pages.post(PAGE, {"do": "remove-member", "username": "bob"})
    assert (refused.status_code, members(ours)) == (422, {"bob"})
    assert "bob is its last member: remove the laboratory." in refused.content.decode()


@pytest.mark.parametrize("door", ["page", "api"])
def test_a_sitting_is_removed_with_its_runs_and_what_was_shared_of_it_stays(door, ada, pages, api):
    sitting = make_sitting(ada, "hers")
    Sitting.objects.update(case_study=make_case_study("shared", owner=ada))
    if door == "page":
        assert pages.post(f"/laboratories/sittings/{sitting.pk}/", {"do": "remove"}).status_code == 302
    else:
        assert api.delete(f"/api/v1/sittings/{sitting.pk}/").status_code == 204
    assert not Sitting.objects.exists()
    assert CaseStudy.objects.filter(slug="shared").exists()
    assert trail(sitting.laboratory)[-1] == ("ada", "sitting removed", f"{sitting.pk}: fileserver on box, by ada")


def test_what_a_change_that_everybody_sees_rests_on_stays(ours, api):
    published = make_case_study("shared", status="published", published_revision=revision(1))
    change = make_series_change(ours, state="confirmed")
    Sitting.objects.filter(pk=change.sitting_id).update(case_study=published)
    earlier = Sitting.objects.create(
        **{"laboratory": ours, "choices": [], "known": {}, "machine": "box", "workload": "varmail", "engine": "fio"},
        **{"seconds": 30, "most_runs": 2},
    )
    change.earlier.add(earlier)
    refused = api.delete(f"/api/v1/sittings/{change.sitting_id}/")
    assert (refused.status_code, "everybody may see rests on it" in refused.json()["detail"]) == (409, True)
    assert api.delete(f"/api/v1/sittings/{earlier.pk}/").status_code == 409
    laboratories.remove_laboratory(ours)
    assert SeriesChange.objects.public().count() == 1
    assert Sitting.objects.count() == 2


@pytest.mark.parametrize("door", ["page", "api"])
def test_a_laboratory_is_removed_and_nothing_of_it_opens_to_others(door, ours, pages, api):
    make_series_change(ours)
    host = make_host(registered_by=make_user("operators"))
    plan = PlacementPlan.objects.create(rules={}, content={}, revision=1, model="x")
    plan.hosts.set([host])
    plan.laboratories.set([ours])
    if door == "page":
        assert "deletes its measurements and memberships" in pages.get(PAGE).content.decode()
        assert pages.post(PAGE, {"do": "remove"})["Location"] == "/laboratories/"
    else:
        assert api.delete("/api/v1/laboratories/ours/").status_code == 204
    assert (members(ours), Sitting.objects.count(), SeriesChange.objects.count()) == (set(), 0, 0)
    assert pages.get(PAGE).status_code == 404
    assert not plans.visible_to(host.registered_by).exists()  # it tells of their runs
    with pytest.raises(laboratories.Refused, match="it is taken"):
        laboratories.create_laboratory(host.registered_by, "ours", "Not theirs")
    assert trail(ours)[-1][:2] == ("ada", "removed")
    assert "members: ada, bob" in trail(ours)[-1][2]
    client = Client()
    client.force_login(make_user("administrators", is_staff=True))
    assert "members: ada, bob" in client.get("/admin/modelling/laboratoryauditentry/").content.decode()


def test_the_trail_of_a_draft_outlives_it(ada):
    make_case_study("mistake", owner=ada)
    client = Client()
    for scope, status in (("import", 403), ("delete", 204)):
        client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {make_token(ada, (scope,))}"
        assert client.delete("/api/v1/drafts/mistake/").status_code == status
    entry = AuditEntry.objects.get()
    assert (entry.deleted_case_study, entry.action, entry.actor) == ("mistake", "deleted", ada)
    client = Client()
    client.force_login(make_user("administrators", is_staff=True))
    assert "mistake" in client.get("/admin/experiments/auditentry/?q=mistake").content.decode()


# The scope measure

MEASURES = {"series_add_night", "sittings_create", "sittings_report", "sittings_retrieve"}


def test_a_token_that_measures_opens_its_laboratory_and_nothing_else():
    users, names = make_laboratory()
    theirs = make_sitting(users["owner"], "second-lab")
    key = make_token(users["owner"], ("measure",), laboratory="our-lab")
    statuses = {name: ask(name, names, key).status_code for name in operations(private=True)}
    assert {name for name, status in statuses.items() if status != 403} == MEASURES
    other = {**names, "sittings": theirs.pk}
    assert {ask(name, other, key).status_code for name in ("sittings_report", "sittings_retrieve")} == {404}
    body = {"laboratory": "second-lab", "machine": "box", "workload": "varmail"}
    body["choices"] = [{"name": fs, "place": "vdb", "settings": {"guest_fs": fs}} for fs in ("ext4", "xfs")]
    refused = ask("sittings_create", names, key, body=body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "laboratory")
    assert ask("series_add_night", {**names, "laboratories": "second-lab"}, key).status_code == 404
    Laboratory.objects.get(slug="our-lab").members.clear()
    assert ask("sittings_retrieve", names, key).status_code == 404


@pytest.mark.parametrize(
    ("scopes", "laboratory"), [(["measure"], ""), (["measure", "read"], "ours"), (["read"], "ours"), ([], "ours")]
)
def test_a_token_measures_in_one_laboratory_and_does_nothing_else_or_none_is_named(scopes, laboratory, pages, ada):
    with pytest.raises(ValueError, match="laboratory"):
        make_token(ada, scopes, laboratory=laboratory)
    posted = {"name": "box", "scopes": scopes, "laboratory": laboratory, "days": "30"}
    assert pages.post("/accounts/", posted).status_code == 422
    assert not ada.api_tokens.exists()


def test_the_laboratorys_page_leads_to_such_a_token(ours, pages, ada):
    assert 'href="/accounts/?measure=ours#tokens"' in pages.get(PAGE).content.decode()
    form = pages.get("/accounts/?measure=ours").context["form"]
    assert (form["laboratory"].value(), form["scopes"].value()) == ("ours", ["measure"])
    posted = {"name": "box", "scopes": ["measure"], "laboratory": "ours", "days": "30"}
    assert "measure in ours" in pages.post("/accounts/", posted).content.decode()
    assert (ada.api_tokens.get().scopes, ada.api_tokens.get().laboratory) == (["measure"], "ours")
