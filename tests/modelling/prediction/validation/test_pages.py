"""The report on the models' quality: kept, renewed, and shown as page, API, command and documentation."""

import io
import re

import pytest
from django.core.management import call_command

from experiments.published_evidence.corrections import apply_corrections
from experiments.published_evidence.load import load_outside
from kdb.models import Job
from modelling.evidence import storage
from modelling.models import Arm, QualityReport
from modelling.prediction.validation import reports, tables
from tests.factories import (
    make_case_study,
    make_configuration,
    make_measurement,
    make_publication,
    make_storage,
    publish,
)
from tests.test_architecture import ROOT

pytestmark = pytest.mark.django_db

PAGE = "/model-quality/"
API = "/api/v1/model-quality/"
DOCUMENT = ROOT / "docs" / "models" / "quality.md"


def published_guests(**fields):
    """Publish a case study that compares ext4 with xfs as guest."""
    case_study = make_case_study()
    for guest_fs, value in (("ext4", 100.0), ("xfs", 200.0)):
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, **fields)
    publish(case_study)


def printed(*arguments) -> str:
    out = io.StringIO()
    call_command("model_quality", *arguments, stdout=out)
    return out.getvalue()


# Kept and renewed


def test_the_first_visit_computes_it_and_the_second_reads_it(client, django_assert_num_queries):
    published_guests()
    assert client.get(API).status_code == 200
    assert QualityReport.objects.count() == 1
    with django_assert_num_queries(1):
        client.get(API)
    client.get(PAGE)
    with django_assert_num_queries(3):  # the report, the revision now, and what became of moves
        client.get(PAGE)


def test_a_publication_renews_a_report_that_somebody_reads(client):
    published_guests()
    assert not Job.objects.filter(kind=reports.JOB).exists()
    client.get(PAGE)
    published_guests()
    published_guests()
    assert Job.objects.filter(kind=reports.JOB).count() == 1  # one that has not begun sees both
    assert "Newer evidence" in client.get(PAGE).content.decode()
    assert client.get(API).json()["revision"] == 1
    reports.KEPT.bring_up_to_date()
    assert "Newer evidence" not in client.get(PAGE).content.decode()
    assert client.get(API).json()["revision"] == 3


def test_with_much_evidence_a_worker_computes_it_while_the_visitor_is_told(client, monkeypatch):
    published_guests()
    monkeypatch.setattr(storage, "MOST_AT_ONCE", 1)
    assert Arm.objects.count() > 1
    for _ in range(2):
        page, data = client.get(PAGE), client.get(API)
        assert (page.status_code, data.status_code) == (503, 503)
        assert page["Retry-After"] == data["Retry-After"] == "30"
    assert "being worked out" in page.content.decode()
    assert data["Content-Type"] == "application/problem+json"
    assert Job.objects.filter(kind=reports.JOB).count() == 1


# Shown


@pytest.mark.parametrize("address", [PAGE, API])
def test_without_evidence_it_says_so(client, address):
    assert "Fewer than two research groups" in client.get(address).content.decode()


def test_numbers_that_no_disk_made_are_listed_with_their_case_study(client):
    measurement = make_measurement(400.0)  # on one hard disk
    publish(measurement.configuration.case_study)
    (number,) = client.get(API).json()["flagged"]
    slug = measurement.configuration.case_study.slug
    assert (number["case_study"], number["flag"]) == (slug, "above the interface")
    (table,) = [tables._implausible_table({"flagged": [number]}, {"workload": {}})]
    assert (table.rows[0][0], table.links) == (slug, (f"/case-studies/{slug}/#protocol",))
    assert client.get(table.links[0]).status_code == 200


def test_it_counts_what_sources_state_of_disks_year_and_memory(client):
    """A draft counts nowhere; a study that states something of one number only is counted apart."""
    whole = make_case_study(
        storage=make_storage(kind="nvme"), publication=make_publication(year=2020), fits_cache="yes"
    )
    partly, draft = (make_case_study(storage=make_storage(kind=""), publication=None) for _ in range(2))
    for case_study in (whole, partly, draft):
        for kind in ("hdd", ""):
            make_measurement(configuration=make_configuration(case_study, storage_kind=kind))
    publish(whole, partly)
    disks, year, memory = client.get(API).json()["notes"][-3:]
    assert disks == "The kind of disk is stated of 3 of 4 numbers (75%): of all in 1 of 2 case studies."
    assert year == "The year is stated of 2 of 4 numbers (50%): of all in 1 of 2 case studies."
    assert memory.startswith("Whether files fit into memory is stated of 2 of 4 numbers (50%)")
    assert memory.endswith("Of 2 it is known that they fit: a cache may have answered.")


def test_plots_draw_what_the_report_says_and_tabulate_it(client):
    for _ in range(3):
        published_guests()
    response = client.get(PAGE)
    text, groups = response.content.decode(), response.context["report"].result["groups"]
    calibration, examples = response.context["plots"]
    drawn = [(p["x"] / 100, p["value"] / 100) for line in calibration.chart.data["series"] for p in line["points"]]
    for point, told in zip(drawn, groups["calibration"], strict=True):
        assert point == pytest.approx((told["said"], told["came_true"]))
    (series,) = examples.chart.data["series"]
    numbers = [(point["x"], point["value"], point["low"], point["high"]) for point in series["points"]]
    assert numbers == [(e["found"], e["forecast"], e["low"], e["high"]) for e in groups["examples"]]
    for plot in (calibration, examples):
        assert f'id="{plot.chart.data_id}"' in text
        assert len(plot.table.rows) == sum(len(line["points"]) for line in plot.chart.data["series"])
    assert [row[0] for row in examples.table.rows] == ["xfs against ext4"] * 3


def test_page_and_api_agree(client):
    for _ in range(3):
        published_guests()
    body = client.get(API).json()
    assert body == QualityReport.objects.get().result
    response = client.get(PAGE)
    (table,) = response.context["tables"]
    assert [int(row[2]) for row in table.rows] == [form["contrasts"] for form in body["groups"]["forms"]]
    assert all(len(row) == len(table.columns) for row in table.rows)
    assert f">{table.title}<" in response.content.decode()


# On the published evidence


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.sqlite
def test_with_what_others_published_the_form_in_use_is_not_worse_than_the_naive_or_the_page_says_so(published_evidence):
    """And the documented tables are what the command prints, but for the last digit of an estimate."""
    load_outside(ROOT / "fixtures" / "outside")
    apply_corrections()
    text = printed("--markdown").strip()
    result = QualityReport.objects.get().result
    # Of the forms that may forecast it is the one that answers everything; else the page says that it should not be.
    assert (result["forecasts"]["shortfalls"] == []) != ("On this evidence it should not be" in text)
    documented = DOCUMENT.read_text().partition("\n## The tables\n")[2].partition("that.\n\n")[2].strip()
    first_lines = [part.partition("\n")[0] for part in documented.split("\n### ")]
    text = "\n### ".join(part for part in text.split("\n### ") if part.partition("\n")[0] in first_lines).strip()
    shown = {line.split("|")[1] for line in documented.splitlines() if line.startswith("|")}  # it leaves out rows
    text = "\n".join(line for line in text.splitlines() if not line.startswith("|") or line.split("|")[1] in shown)
    number = r"\d+\.\d\d|\d+%"
    assert re.sub(number, "#", text) == re.sub(number, "#", documented)
    values = [[float(figure.rstrip("%")) for figure in re.findall(number, tables)] for tables in (text, documented)]
    assert values[0] == pytest.approx(values[1], abs=0.011, rel=0.03)


def test_the_command_prints_each_table_in_columns():
    for _ in range(3):
        published_guests()
    lines = printed().splitlines()
    assert lines[0] == "What nobody measured is forecast by the hierarchical model, since 28 November 2026."
    first = lines.index("Each research group left out")
    assert lines[first + 3].startswith("Everything ")
