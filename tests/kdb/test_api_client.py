"""A client that a public generator makes from the OpenAPI document works against the running server."""

import csv
import importlib
import io
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command

from experiments.models import Measurement
from tests.factories import make_token, make_user

from .walk import TABLE

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.nightly]


@pytest.fixture(scope="module")
def client_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(folder / "schema.yml"))
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    command += ["--path", "schema.yml", "--output-path", "generated_client"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stdout + made.stderr
    # The bulk operation takes CSV and JSON lines too, for which this generator has no way.
    complaints = [line for line in (made.stdout + made.stderr).splitlines() if line.startswith(("WARNING", "ERROR"))]
    assert complaints == ["WARNING parsing POST /api/v1/drafts/{slug}/measurements/ within drafts."] * 2
    sys.path.insert(0, str(folder))
    yield "generated_client"
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == "generated_client"]:
        del sys.modules[name]


@pytest.fixture
def generated(client_package):
    """Name of a module of the client to the module."""
    return lambda name: importlib.import_module(f"{client_package}.{name}")


def test_a_reader_asks_with_the_generated_client(generated, transactional_db, published_evidence, live_server, client):
    with generated("client").Client(base_url=live_server.url, raise_on_unexpected_status=True) as api:
        read(generated, api, client)


def read(generated, api, client):
    axis = generated("models.ranking_axis").RankingAxis.HYPERVISOR
    ranking = generated("api.rankings.ranking").sync(axis, client=api, workload="fileserver")
    theirs = client.get("/api/v1/rankings/hypervisor/?workload=fileserver").json()
    assert ranking.to_dict()["entries"] == theirs["entries"]
    assert ranking.entries[0].key in theirs["best"]
    assert (ranking.superseded_by, ranking.entries[0].low) == (None, 1.0)
    keys, page = [], None
    measurements = generated("api.measurements.measurements_list")
    while page is None or page.next_:
        cursor = {"cursor": parse_qs(urlsplit(page.next_).query)["cursor"][0]} if page else {}
        page = measurements.sync(client=api, page_size=50, case_study="p1", **cursor)
        keys += [row.id for row in page.results]
    assert len(keys) == len(set(keys)) == Measurement.objects.filter(configuration__case_study__slug="p1").count()
    problem = generated("api.rankings.ranking").sync(axis, client=api, workload="nonsense")
    assert (problem.status, problem.errors[0].field) == (400, "workload")


def test_a_researcher_contributes_with_the_generated_client(
    generated, transactional_db, published_evidence, live_server
):
    token = make_token(make_user("researchers"))
    account = {"base_url": live_server.url, "token": token, "raise_on_unexpected_status": True}
    with generated("client").AuthenticatedClient(**account) as api:
        contribute(generated, api)


def contribute(generated, api):
    models = generated("models")
    storage = models.StorageFields(description="Two SSDs", kind="ssd")
    fields = models.DraftFields(slug="my-lab", title="Mail server on KVM", storage=storage, run_seconds=120)
    draft = generated("api.drafts.drafts_create").sync(client=api, body=fields)
    assert (draft.slug, draft.status.value, draft.repetitions) == ("my-lab", "draft", None)
    row = models.DraftsMeasurementsCreateJsonBodyItem.from_dict
    rows = [row(cells) for cells in csv.DictReader(io.StringIO(TABLE))]
    filed = generated("api.drafts.drafts_measurements_create").sync("my-lab", client=api, body=rows)
    assert filed.state.value == "filed"
    assert generated("api.drafts.drafts_submit").sync("my-lab", client=api).status.value == "submitted"
    decision = models.Decision(reason="I say so", content_digest="0" * 64)
    refused = generated("api.drafts.drafts_publish").sync("my-lab", client=api, body=decision)
    assert refused.status == 403
