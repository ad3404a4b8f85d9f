"""Whoever is no member of a laboratory is told what he would be told if it were not there."""

import re

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import URLResolver, get_resolver, resolve

from modelling.estimation.ranking import METHOD
from modelling.own_lab import laboratories
from tests.factories import make_sitting, make_token, make_user
from tests.modelling.own_lab.test_local_answer import measured

pytestmark = pytest.mark.django_db

ANSWER = "workload=fileserver&here={slug}"
# Every address of a laboratory's: {slug} and {pk} are of one that is there, or of none.
OWN_PAGES = ["/laboratories/{slug}/", "/laboratories/sittings/{pk}/"]
OWN_DATA = ["/api/v1/laboratories/{slug}/", "/api/v1/sittings/{pk}/"]
OPEN_TO_ALL = [
    f"/?axis=guest-fs&{ANSWER}",
    f"/?axis=guest-fs&{ANSWER}&tab=ranking",
    f"/?axis=guest-fs&{ANSWER}&as_of=1&method={METHOD}",
    "/?here={slug}",
    "/?here={slug}&text=nonsense",
    f"/compare/?axis=guest-fs&{ANSWER}",
    f"/compare/?axis=guest-fs&{ANSWER}&a=ext4&b=xfs&as_of=1&method={METHOD}",
    "/compare/?axis=guest-fs&here={slug}",
    f"/api/v1/rankings/guest-fs/?{ANSWER}",
    f"/api/v1/rankings/guest-fs/?{ANSWER}&format=csv",
    f"/api/v1/rankings/guest-fs/?{ANSWER}&as_of=1",
    "/api/v1/rankings/guest-fs/?here={slug}",
    "/api/v1/rankings/nonsense/?here={slug}",
    f"/api/v1/comparisons/?axis=guest-fs&entries=ext4,xfs&{ANSWER}",
    f"/api/v1/comparisons/?axis=guest-fs&entries=ext4,xfs&{ANSWER}&as_of=1",
    "/api/v1/comparisons/?here={slug}",
    f"/mix/?axis=guest-fs&fileserver=1&{ANSWER}",
    f"/mix/?axis=guest-fs&fileserver=1&{ANSWER}&as_of=1&method={METHOD}",
    "/mix/?here={slug}",
    "/api/v1/mixes/?axis=guest-fs&weights=fileserver:1&here={slug}",
    "/api/v1/mixes/?axis=guest-fs&weights=fileserver:1&here={slug}&as_of=1",
    "/api/v1/mixes/?here={slug}",
]
TOLD = [OPEN_TO_ALL[place] for place in (0, 1, 5, 8, 13, 16, 19)]  # to members, whole
LISTS = [
    *("/laboratories/", "/api/v1/laboratories/", "/api/v1/sittings/", "/?axis=guest-fs&workload=fileserver"),
    "/mix/?axis=guest-fs&fileserver=1",
]
POSTED = {
    "/laboratories/{slug}/": {"username": "eve"},
    "/api/v1/laboratories/{slug}/members/": {"username": "eve"},
    "/api/v1/sittings/{pk}/runs/1/": {"value": 1.0},
    "/api/v1/sittings/{pk}/share/": {"anything": ""},
}
REMOVED = ["/api/v1/laboratories/{slug}/members/bob/", "/api/v1/laboratories/{slug}/", "/api/v1/sittings/{pk}/"]
NONE = {"slug": "gone", "pk": 99999}


@pytest.fixture
def theirs(published_evidence):
    """The slug and sitting of a laboratory of ada and bob."""
    ada = make_user(username="ada")
    laboratory = measured(ada)
    make_user(username="bob")
    laboratories.add_member(laboratory, "bob")
    return {"slug": laboratory.slug, "pk": laboratory.sittings.first().pk}


@pytest.fixture(params=["anonymous", "stranger", "superuser", "founder of another"])
def outsider(request, theirs):
    client = Client()
    if request.param != "anonymous":
        user = make_user(username="eve", is_superuser=request.param == "superuser")
        if request.param == "founder of another":
            make_sitting(user, "hers", machine="hers")
        client.force_login(user)
    return client


def shown(client: Client, address: str, of: dict, **body: object) -> tuple[object, ...]:
    """Return all that a reader is told, without what he asked and what no two answers share."""
    address = address.format(**of)
    response = client.post(address, body, content_type="application/json") if body else client.get(address)
    text = response.content.decode().replace(str(of["slug"]), "SLUG").replace(f"/{of['pk']}/", "/PK/")
    text = re.sub(r'csrfmiddlewaretoken" value="[^"]*"|X-CSRFToken[^}]*', "", text)
    headers = {name: response.get(name) for name in ("Cache-Control", "Vary", "ETag", "Content-Type")}
    location = response.get("Location", "").replace(str(of["slug"]), "SLUG").replace(f"/{of['pk']}/", "/PK/")
    return response.status_code, text, location, headers


def test_an_outsider_cannot_tell_it_from_one_that_is_not_there(outsider, theirs):
    wrong = {}
    for address in [*OWN_PAGES, *OWN_DATA, *OPEN_TO_ALL]:
        told = shown(outsider, address, theirs)
        is_refused = (told[0], told[3]["Cache-Control"]) == (404, "private, no-store")
        if told != shown(outsider, address, NONE) or told[0] == 200 or (address in OPEN_TO_ALL and not is_refused):
            wrong[address] = told
    assert wrong == {}


def test_an_outsider_cannot_add_to_it(outsider, theirs):
    wrong = {}
    for address, body in POSTED.items():
        told = shown(outsider, address, theirs, **body)
        if told != shown(outsider, address, NONE, **body) or told[0] not in (302, 401, 403, 404):
            wrong[address] = told
    assert wrong == {}


def test_an_outsider_removes_nothing_of_it(outsider, theirs):
    wrong = {}
    for address in REMOVED:
        statuses = [outsider.delete(address.format(**of)).status_code for of in (theirs, NONE)]
        if statuses not in ([401, 401], [403, 403], [404, 404]):
            wrong[address] = statuses
    assert wrong == {}


def test_no_list_names_it_to_an_outsider(outsider, theirs):
    texts = {address: outsider.get(address).content.decode() for address in LISTS}
    names = {theirs["slug"], "box"}
    assert {address for address, text in texts.items() if names & set(re.findall(r"[\w-]+", text))} == set()


def test_another_member_sees_it(theirs):
    client = Client()
    bob = get_user_model().objects.get(username="bob")
    client.force_login(bob)
    token = {"authorization": f"Bearer {make_token(bob)}"}
    wrong = {}
    for address in [*OWN_PAGES, *OWN_DATA, *TOLD]:
        asks, headers = (Client(), token) if address.startswith("/api/") else (client, {})
        response = asks.get(address.format(**theirs), headers=headers)
        if response.status_code != 200 or not {"box", "ada"} & set(re.findall(r"\w+", response.content.decode())):
            wrong[address] = response.status_code
    assert wrong == {}


def test_who_leaves_it_is_an_outsider_at_once(theirs):
    client = Client()
    bob = get_user_model().objects.get(username="bob")
    client.force_login(bob)
    address = OPEN_TO_ALL[0].format(**theirs)
    assert client.get(address).status_code == 200
    bob.laboratories.clear()
    assert client.get(address).status_code == 404


def of_this_room(resolver, prefix: str = ""):
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from of_this_room(entry, f"{prefix}{entry.pattern}")
        elif re.match(r"modelling\.own_lab\.(?!changes\.|kits\.)", entry.callback.__module__):
            yield f"{prefix}{entry.pattern}"


def test_no_address_of_laboratories_and_sittings_is_left_out():
    asked = [
        address.format(**NONE)
        for address in [*OWN_PAGES, *OWN_DATA, *LISTS[:3], *POSTED, *REMOVED, "/kdb.py", "/measured/x/"]
    ]
    assert set(of_this_room(get_resolver())) == {resolve(address).route for address in asked}
