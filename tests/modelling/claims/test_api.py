"""Claims and hypotheses as data."""

import csv
import io

import pytest

from experiments.case_studies import retraction
from experiments.models import CaseStudy
from tests import factories

pytestmark = pytest.mark.usefixtures("published_evidence")

CLAIMS, HYPOTHESES = "/api/v1/claims/", "/api/v1/hypotheses/"


def listed(client, **query) -> list[dict]:
    response = client.get(CLAIMS, {"page_size": 1000, **query})
    assert response.status_code == 200, response.content
    return response.json()["results"]


def test_a_claim_has_its_place_its_verdict_and_its_evidence(client):
    row = client.get(f"{CLAIMS}P1-C06/").json()
    assert (row["id"], row["paper"], row["location"]) == ("P1-C06", "p1", "Section VI; VII")
    assert (row["scope"], row["verdict"], row["basis"]) == ("own", "partly", "measured")
    assert (row["held"], row["failed"], row["undecided"]) == (1, 1, 0)
    assert len(row["evidence"]["measurements"]) == 18
    assert [state for state, _ in row["comparisons"]] == ["failed", "held"]
    assert row["checks"]["own"]["where"] == {"workload": "varmail"}


def test_a_claim_is_judged_by_others_when_asked(client):
    row = client.get(f"{CLAIMS}P1-C06/?scope=others").json()
    assert (row["scope"], row["verdict"], row["basis"]) == ("others", "contradicted", "listed")
    assert {row["scope"] for row in listed(client, scope="others")} == {"others"}


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ({}, 282),
        ({"paper": "p3"}, 92),
        ({"verdict": "contradicted"}, 6),
        ({"verdict": "contradicted", "scope": "others"}, 26),
        ({"paper": "p1", "verdict": "partly", "workload": "mail"}, 6),
        ({"case_study": "p3-cs2", "verdict": "contradicted"}, 4),
    ],
)
def test_claims_are_found_by_paper_verdict_kind_workload_and_scope(client, query, number):
    assert len(listed(client, **query)) == number


@pytest.mark.parametrize(
    ("address", "field"),
    [
        (f"{CLAIMS}?verdict=maybe", "verdict"),
        (f"{CLAIMS}?scope=mine", "scope"),
        (f"{CLAIMS}?paper=p9", "paper"),
        (f"{CLAIMS}P0-C01/?scope=mine", "scope"),
        (f"{CLAIMS}P0-C01/?verdict=partly", "verdict"),
        (f"{HYPOTHESES}?paper=p3", "paper"),
    ],
)
def test_what_is_not_known_is_refused(client, address, field):
    response = client.get(address)
    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


def test_a_claim_that_nobody_judged_yet_is_listed_without_a_verdict(client):
    study = CaseStudy.objects.get(slug="p1")
    factories.make_claim(code="P1-C99", publication=study.publication).case_studies.add(study)
    row = client.get(f"{CLAIMS}P1-C99/").json()
    assert (row["verdict"], row["held"], row["evidence"], row["comparisons"]) == (None, None, None, None)


def test_the_list_is_a_table(client):
    text = client.get(CLAIMS, {"format": "csv", "paper": "p4"}).content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 27
    assert rows[3]["verdict"] == "supported"


def test_a_list_costs_few_queries(client, django_assert_max_num_queries):
    with django_assert_max_num_queries(5):  # claims, case studies, workloads, verdicts; filters look a slug up
        client.get(CLAIMS, {"page_size": 1000})
    with django_assert_max_num_queries(3):  # revision, scores
        client.get(HYPOTHESES)


def test_hypotheses_have_their_score_by_source(client):
    body = client.get(HYPOTHESES).json()
    assert body["revision"] == 1
    assert len(body["hypotheses"]) == 20
    hypotheses = {row["id"]: row for row in body["hypotheses"]}
    assert hypotheses["H3.5"]["untestable"]
    assert not hypotheses["H3.5"]["sources"]
    tested = hypotheses["H1.1"]
    assert {score["source"] for score in tested["sources"]} == {"p0", "p1"}
    assert tested["disagree"] == sum(score["disagree"] for score in tested["sources"]) == 33
    assert hypotheses["H0.1"]["sources"][0]["evidence"]["measurements"]


def test_a_retracted_case_study_is_named(client):
    retraction.retract(CaseStudy.objects.get(slug="p4"), reason="wrong disk")
    assert client.get(f"{CLAIMS}P4-C04/").json()["retracted_case_studies"] == ["p4"]
