"""Makers' advice as pages and as data."""

import re

import pytest
from django.template.loader import render_to_string

from modelling.guidance import loading, selectors
from modelling.models import Advice
from tests.factories import make_user

API = "/api/v1/guidance/"


@pytest.fixture(autouse=True)
def guidance(db):
    loading.load()


@pytest.fixture(params=["a visitor", "an administrator"])
def reader(request, client):
    if request.param != "a visitor":
        client.force_login(make_user("", username="ada", is_superuser=True))
    return client


def text(response) -> str:
    assert response.status_code == 200
    return response.content.decode()


def listed(page: str) -> int:
    return len(re.findall('<li><a href="/guidance/[a-z]', page))


def test_a_statement_has_its_advice_its_source_and_who_disagrees(reader):
    page = text(reader.get("/guidance/pve-qm-10/"))
    assert "The default, no cache, is said to weigh safety and speed well" in page
    assert '<a href="https://github.com/proxmox/pve-docs/blob/e5010dce/qm.adoc">Proxmox VE Admin Guide' in page
    assert "the whole page or chapter" in page
    assert "commit e5010dce (2026-04-30)" in page
    assert "Cache mode on local disks under KVM" in page
    assert "For local disks writethrough is recommended" in page


def test_all_statements_stand_in_the_list_by_subject_and_page(reader):
    page = text(reader.get("/guidance/"))
    assert "<h2>Allocation of the image</h2>" in page
    assert "Page 1 of 10" in page
    assert listed(page) == 50


def test_the_list_is_filtered_by_axis_and_publisher(client):
    page = text(client.get("/guidance/?axis=cache-mode&publisher=OpenStack"))
    rows = Advice.objects.filter(axis="cache-mode", publisher="OpenStack").count()
    assert listed(page) == rows > 1
    assert client.get("/guidance/?axis=cash").status_code == 400


def test_every_contradiction_has_both_sides(reader):
    page = text(reader.get("/guidance/contradictions/"))
    assert page.count('<section class="card stack" id="c') == 31
    assert len(re.findall(r'<ul class="plain">\s*<li>', page.partition("<footer")[0])) == 62


@pytest.mark.parametrize(
    ("address", "queries"),
    [("/guidance/", 3), ("/guidance/contradictions/", 2), ("/guidance/pve-qm-10/", 3), (f"{API}?page_size=400", 1)],
)
def test_a_page_costs_a_constant_number_of_queries(client, django_assert_num_queries, address, queries):
    with django_assert_num_queries(queries):
        client.get(address)


def test_beside_an_answer_stand_five_statements_the_contradictions_and_the_default():
    advised = selectors.find_advice("cache-mode", ["none", "writeback"], hypervisor="proxmox")
    told = render_to_string("modelling/_makers_say.html", {"advised": advised})
    assert (advised.advised, advised.default, advised.discouraged) == (("none",), "none", ())
    assert told.count("<li>") == 5
    assert "Proxmox VE Admin Guide: QEMU/KVM Virtual Machines (2026)</a>: cache mode none, the default" in told
    assert "Makers disagree</a>: Cache mode on local disks under KVM: “none” against “writethrough”." in told
    assert "If you set nothing:" in told


def test_a_statement_as_data_says_the_same_as_its_page(reader):
    row = reader.get(f"{API}pve-qm-10/").json()
    assert (row["axis"], row["recommended"], row["wording"]) == ("cache-mode", ["none"], "default")
    assert row["statement"] in text(reader.get("/guidance/pve-qm-10/"))


@pytest.mark.parametrize("query", ["axis=cash", "publisher=Nobody", "wording=must"])
def test_a_filter_that_is_not_known_is_refused(client, query):
    response = client.get(f"{API}?{query}")
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [query.partition("=")[0]]


def test_nobody_changes_advice_by_the_api(reader):
    assert reader.post(API, {"statement": "x"}, content_type="application/json").status_code in (401, 403, 405)
