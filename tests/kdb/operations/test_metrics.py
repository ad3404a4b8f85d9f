"""/metrics: what happens, for administrators' tokens, with labels that no visitor can make up."""

import re

import pytest
from django.conf import settings
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from kdb.models import Job
from kdb.operations.metrics import ANSWERS
from tests import factories


def metrics(**headers: str) -> dict[tuple[str, ...], float]:
    """Return each sample by its name and its labels' values, in the order of the labels' names."""
    key = factories.make_token(factories.make_user("administrators"))
    response = Client().get("/metrics", headers={"Authorization": f"Bearer {key}", **headers})
    assert response.status_code == 200
    families = text_string_to_metric_families(response.content.decode())
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


@pytest.mark.parametrize("role", [None, "researchers", "reviewers", "operators"])
def test_only_administrators_may_read_them(db, role):
    headers = {}
    if role:
        headers = {"Authorization": f"Bearer {factories.make_token(factories.make_user(role))}"}
    assert Client().get("/metrics", headers=headers).status_code == (403 if role else 401)


def test_requests_are_counted_by_view_and_status_with_their_queries(db):
    before = metrics()
    for _ in range(3):
        Client().get("/api/v1/hypervisors/")
    after = metrics()

    def grown(*sample: str) -> float:
        return after[sample] - before.get(sample, 0)

    view = "v1:hypervisor-list"
    assert grown("kdb_responses_total", "200", view) == 3
    assert grown("kdb_request_seconds_count", "GET", view) == 3
    assert grown("kdb_database_queries_total", view) > 0
    assert grown("kdb_database_seconds_total", view) > 0


def test_a_stranger_makes_no_new_series_by_his_requests(db):
    before = metrics()
    for number in range(5):
        Client().generic(f"BREW{number}", f"/nothing/{number}/?a={number}")
        Client().get(f"/api/v1/case-studies/none-{number}/")
    after = metrics()
    assert len({key for key in after if key not in before}) < 60  # a view's or two's, with their buckets
    assert not [key for key in after if re.search(r"BREW|none-\d", " ".join(key))]


def test_jobs_are_told_by_kind_and_state_with_the_age_of_the_oldest(db):
    factories.make_job(kind="tried", state=Job.State.QUEUED)
    factories.make_job(kind="tried", state=Job.State.QUEUED, attempt=3)
    samples = metrics()
    assert samples["kdb_jobs", "tried", "queued"] == 2
    assert samples["kdb_job_leases_lost", "tried"] == 2
    assert 0 <= samples["kdb_job_oldest_seconds", "tried"] < 600


def test_knowledge_campaigns_and_imports_are_told(db):
    factories.make_run()
    factories.make_import()
    samples = metrics()
    assert ("kdb_revision",) in samples
    assert ("kdb_answers_waiting",) in samples
    assert samples["kdb_campaign_runs", "waiting"] == 1
    assert any(key[0] == "kdb_imports" for key in samples)


def test_the_dashboard_asks_for_what_is_told(db):
    dashboard = (settings.BASE_DIR / "docs/grafana/kdb.json").read_text()
    Client().get("/api/v1/hypervisors/")
    factories.make_job(state=Job.State.QUEUED)
    factories.make_run()
    factories.make_import()
    ANSWERS.labels("yes").inc()
    told = {key[0] for key in metrics()}
    asked = set(re.findall(r"kdb_\w+", dashboard))
    assert asked
    assert asked <= told
