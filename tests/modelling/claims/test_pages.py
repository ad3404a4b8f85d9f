"""The pages on claims and hypotheses."""

import pytest

from experiments.case_studies import lifecycle, retraction
from experiments.models import CaseStudy, Claim
from modelling.claims import pages as claim_pages
from modelling.models import ClaimVerdict
from tests import factories

HTMX = {"HX-Request": "true"}


def text(response) -> str:
    return response.content.decode()


@pytest.mark.django_db
def test_an_empty_database_has_its_pages(client):
    assert "No claim is recorded yet" in text(client.get("/claims/"))
    assert "No published case study compares this yet" in text(client.get("/hypotheses/"))


@pytest.mark.usefixtures("published_evidence")
def test_the_front_page_counts_the_verdicts_of_each_paper(client):
    page = text(client.get("/claims/"))
    assert page.partition("<footer")[0].count("<h2 id=") == 5
    assert "92 claims" in page
    assert '<a href="/claims/p3/?verdict=partly&amp;scope=own">23</a>' in page
    assert '<a href="/claims/p0/?verdict=open&amp;scope=own">21</a>' in page
    assert '<a href="/claims/p1/?verdict=contradicted&amp;scope=others">8</a>' in page


@pytest.mark.django_db
def test_the_front_page_is_kept_until_something_is_published_or_judged(client, django_assert_num_queries):
    assert "No claim is recorded yet" in text(client.get("/claims/"))
    study = factories.make_case_study("lab")
    factories.make_claim(code="P9-C01").case_studies.add(study)
    lifecycle.publish([study], reason="measured")
    assert "1 claim</caption>" in text(client.get("/claims/"))
    with django_assert_num_queries(2):
        assert "verdict=contradicted" not in text(client.get("/claims/"))
    ClaimVerdict.objects.update(verdict="contradicted", revision=9)
    assert "verdict=contradicted" in text(client.get("/claims/"))


@pytest.mark.usefixtures("published_evidence")
@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("", 23),
        ("?verdict=contradicted&scope=others", 8),
        ("?verdict=partly&workload=mail&kind=recommend", 1),
        ("?kind=cache", 0),
    ],
)
def test_the_claims_of_a_paper_are_filtered_by_the_address(client, query, number):
    page = text(client.get(f"/claims/p1/{query}"))
    assert page.count('<th scope="row" class="nowrap"><a href="/claims/p1/') == number
    assert ("No claim of this paper matches" in page) == (number == 0)


@pytest.mark.usefixtures("published_evidence")
@pytest.mark.parametrize(("headers", "status"), [({}, 400), (HTMX, 422)])
@pytest.mark.parametrize("query", ["verdict=maybe", "workload=chess", "scope=mine"])
def test_a_filter_that_is_not_known_is_marked(client, query, headers, status):
    response = client.get(f"/claims/p1/?{query}", headers=headers)
    assert response.status_code == status
    assert "has-error" in text(response)


@pytest.mark.nightly
@pytest.mark.usefixtures("published_evidence")
@pytest.mark.sqlite
def test_every_claim_has_a_page_that_can_be_read(client):
    for publication, code in Claim.objects.values_list("publication__slug", "code"):
        response = client.get(f"/claims/{publication}/{code}/")
        assert response.status_code == 200, code
        assert "None" not in text(response).replace("None of the", ""), code


@pytest.mark.usefixtures("published_evidence")
def test_a_claims_page_shows_comparisons_and_leads_to_the_evidence(client):
    page = text(client.get("/claims/p1/P1-C06/"))
    assert "sum over 1 to 3 VMs" in page
    assert '<a href="/case-studies/p1/#table-iii">p1</a>' in page
    assert '<a href="/case-studies/p3-cs1/#findings">p3-cs1</a>' in page
    page = text(client.get("/claims/p0/P0-C08/"))
    assert '<a href="/case-studies/p0/#derived">p0</a>' in page
    assert "on ratios or limits that the text itself states" in page


@pytest.mark.usefixtures("published_evidence")
def test_the_hypotheses_page_shows_scores_and_reasons(client):
    page = text(client.get("/hypotheses/"))
    assert page.count('<section class="card" id="h') == 20
    assert "33 disagree" in page
    assert "no published configuration turns one off" in page


@pytest.mark.usefixtures("published_evidence")
def test_pages_say_when_newer_evidence_is_being_worked_in(client):
    addresses = ["/claims/p1/", "/claims/p1/P1-C06/", "/hypotheses/"]
    assert not any("Newer evidence" in text(client.get(address)) for address in addresses)
    retraction.retract(CaseStudy.objects.get(slug="p4"), reason="wrong disk")
    assert all("Newer evidence" in text(client.get(address)) for address in addresses)


@pytest.mark.usefixtures("published_evidence")
@pytest.mark.parametrize(
    ("address", "queries"),
    [
        ("/claims/", 5),
        ("/claims/p3/", 15),
        ("/claims/p3/?verdict=partly&scope=others&workload=web", 15),
        ("/claims/p0/P0-C08/", 12),
        ("/hypotheses/", 2),
    ],
)
def test_a_page_costs_few_queries(client, django_assert_max_num_queries, address, queries):
    with django_assert_max_num_queries(queries):
        client.get(address)


@pytest.mark.usefixtures("published_evidence")
def test_the_page_and_the_api_agree(client):
    shown = {
        line.claim.code: line.others.verdict
        for line in claim_pages.claims_of(CaseStudy.objects.get(slug="p1").publication, {})
    }
    rows = client.get("/api/v1/claims/?paper=p1&scope=others").json()["results"]
    assert shown == {row["id"]: row["verdict"] for row in rows}
    assert set(shown.values()) <= set(ClaimVerdict.Kind.values)


def test_the_page_of_a_case_study_brings_its_claims_with_their_verdicts(published_evidence, client):
    assert 'hx-get="/case-studies/p1/claims/"' in client.get("/case-studies/p1/").content.decode()
    fragment = client.get("/case-studies/p1/claims/", headers={"hx-request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<section id="claims-on"')
    for claim in Claim.objects.filter(case_studies__slug="p1"):
        assert f'href="/claims/{claim.publication.slug}/{claim.code}/"' in fragment
    assert "supported" in fragment
    assert client.get("/case-studies/p1/claims/").status_code == 200
