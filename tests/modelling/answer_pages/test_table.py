"""One question under several workloads, as one table."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from drf_spectacular.generators import SchemaGenerator

from modelling.answer_store import snapshots
from modelling.answer_store.selectors import current_snapshot
from modelling.evidence.question import Question
from modelling.models import RankingSnapshot

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/tables/?axis=hypervisor&workloads=varmail,fileserver,webserver&vm_count=1"


@pytest.fixture
def asked(client, published_evidence):
    return client.get(ADDRESS).json()


def test_every_cell_is_what_the_answer_to_its_workload_says(asked):
    assert [column["workload"] for column in asked["workloads"]] == ["varmail", "fileserver", "webserver"]
    shown = 0
    for place, column in enumerate(asked["workloads"]):
        answer = current_snapshot(Question("hypervisor", column["workload"], vm_count=1)).result
        assert {name: column[name] for name in ("metric", "revision", "status", "verdict")} == {
            name: answer[name] for name in ("metric", "revision", "status", "verdict")
        }
        of_key = {entry["key"]: entry for entry in answer["entries"]}
        for row in asked["entries"]:
            cell, entry = row["cells"][place], of_key.get(row["key"])
            assert cell == (entry and {name: entry[name] for name in cell})
            shown += cell is not None
    assert shown > 3
    assert asked["waiting"] == []


def test_kept_answers_come_by_one_query_however_many_workloads(client, asked):
    assert RankingSnapshot.objects.count() >= 2
    client.get(ADDRESS)
    with CaptureQueriesContext(connection) as queries:
        client.get(ADDRESS)
    about_answers = [query["sql"] for query in queries if "modelling_rankingsnapshot" in query["sql"]]
    assert len(about_answers) == 1


def test_a_publication_that_changes_one_answer_changes_the_tag(client, asked):
    tag = client.get(ADDRESS)["ETag"]
    assert client.get(ADDRESS, headers={"if-none-match": tag}).status_code == 304
    RankingSnapshot.objects.filter(question="hypervisor?workload=fileserver&vm_count=1").update(superseded_by=99)
    again = client.get(ADDRESS, headers={"if-none-match": tag})
    assert again.status_code == 200
    assert {row["workload"]: row["superseded_by"] for row in again.json()["workloads"]}["fileserver"] == 99


def test_an_answer_that_a_worker_works_out_waits_and_the_others_are_there(client, asked, settings):
    RankingSnapshot.objects.filter(question="hypervisor?workload=fileserver&vm_count=1").delete()
    settings.KDB_MOST_ARMS_AT_ONCE = 1
    table = client.get(ADDRESS).json()
    assert table["waiting"] == ["fileserver"]
    assert [column["workload"] for column in table["workloads"]] == ["varmail", "webserver"]
    snapshots.answer_waiting_questions(lambda done, total: None)
    assert client.get(ADDRESS).json() == asked


@pytest.mark.parametrize(
    ("workloads", "said"),
    [
        ("varmail,nothing", "'nothing' is no workload here"),
        ("varmail,mail", "varmail is given twice"),
        (",".join(["varmail"]) + ",", "'' is no workload here"),
    ],
)
def test_what_is_no_list_of_workloads_is_refused(client, published_evidence, workloads, said):
    response = client.get(f"/api/v1/tables/?axis=hypervisor&workloads={workloads}")
    assert response.status_code == 400
    assert said in response.json()["detail"]


def test_the_schema_says_that_a_cell_may_be_null():
    entry = SchemaGenerator().get_schema(public=True)["components"]["schemas"]["TableEntry"]
    assert entry["properties"]["cells"]["items"]["nullable"]
