"""The same entries under every workload, and three entries or more in one sentence."""

import html

import pytest

from modelling.comparisons.comparison import compare
from modelling.comparisons.content import WorkloadRatio
from modelling.comparisons.over_workloads import ratios
from modelling.comparisons.presentation import present_comparison, present_workloads
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = pytest.mark.django_db

QUESTION = Question("guest-fs", "varmail")
PAGE = "/compare/?axis=guest-fs&workload=varmail"


def guests(workload: str, **values: float) -> None:
    case_study = make_case_study()
    for guest_fs, value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload=workload)
    publish(case_study)


def test_the_first_is_held_against_each_other_where_numbers_join_them():
    guests("varmail", ext4=100.0, xfs=200.0)
    guests("webserver", ext4=100.0, xfs=100.0, btrfs=50.0)
    guests("fileserver", xfs=100.0, btrfs=50.0)
    compared = {(row.workload, row.other): row for row in ratios(QUESTION, ["ext4", "xfs", "btrfs"])}
    assert set(compared) == {("varmail", "xfs"), ("webserver", "xfs"), ("webserver", "btrfs")}
    (pair,) = compare(QUESTION, ["ext4", "xfs"], 1).pairs
    shown = compared["varmail", "xfs"]
    assert (shown.ratio, shown.low, shown.high) == pytest.approx((pair.ratio, pair.low, pair.high))
    assert shown.ratio < 1
    assert compared["webserver", "xfs"].ratio < 1  # measured as equal: mail tells a little of it


def test_the_number_of_queries_does_not_grow_with_evidence_or_entries(django_assert_max_num_queries):
    for workload in ("varmail", "webserver"):
        guests(workload, ext4=100.0, xfs=200.0)
        guests(workload, ext4=100.0, xfs=150.0, btrfs=50.0, ntfs=40.0)
    with django_assert_max_num_queries(30):  # twelve a workload at most, and what is known of all
        assert len(list(ratios(QUESTION, ["ext4", "xfs", "btrfs", "ntfs"]))) == 6


def test_a_workload_with_too_much_evidence_is_left_out(settings):
    guests("varmail", ext4=100.0, xfs=200.0)
    settings.KDB_MOST_ARMS_AT_ONCE = 1
    assert list(ratios(QUESTION, ["ext4", "xfs"])) == []


def test_the_chart_has_a_row_a_workload_the_margin_and_the_line_at_one():
    guests("varmail", ext4=100.0, xfs=200.0)
    told = compare(QUESTION, ["ext4", "xfs"], 1)
    rows = [WorkloadRatio(w, w.upper(), "throughput", "xfs", r, r / 2, r * 2) for w, r in (("a", 0.5), ("b", 2.0))]
    (table,) = present_workloads(told, rows, 0.1)
    assert (table.title, [row.workload for row, _ in table.rows]) == ("ext4 against xfs", ["b", "a"])
    data = table.chart.data
    assert (data["labels"], data["reference"]) == (["B", "A"], 1)
    assert data["band"] == pytest.approx([0.9, 1 / 0.9])
    assert data["series"][0]["points"][0] == {"value": 2.0, "low": 1.0, "high": 4.0}
    assert table.rows[0][1] == "/compare/?axis=guest-fs&workload=b&a=ext4&b=xfs"


def test_page_draws_what_it_tabulates(client):
    guests("varmail", ext4=100.0, xfs=200.0)
    guests("webserver", ext4=100.0, xfs=100.0, btrfs=50.0)
    response = client.get(f"{PAGE}&a=ext4&b=xfs&c=btrfs")
    page = html.unescape(response.content.decode())
    tables = response.context["workloads"]
    assert [table.title for table in tables] == ["ext4 against xfs", "ext4 against btrfs"]
    for table in tables:
        assert f'id="{table.chart.data_id}"' in page
        for row, address in table.rows:
            assert f'<a href="{address}">{row.label}</a>' in page
            assert f'data-value="{row.ratio!r}"' in page


def test_of_three_the_first_line_says_what_to_choose():
    guests("varmail", ext4=100.0, xfs=200.0, btrfs=50.0)
    told = compare(QUESTION, ["ext4", "xfs", "btrfs"], 1)
    page = present_comparison(told, "Mail server")
    assert (page.recommendation, page.headline) == ("Start with xfs.", "")
    assert page.confidence.startswith("Low confidence: one research group (hard disks) measured it; chance that it is")


def test_of_two_that_nobody_measured_the_first_line_says_so():
    guests("varmail", ext4=100.0, xfs=200.0)
    page = present_comparison(compare(QUESTION, ["btrfs", "zfs"], 1), "Mail server")
    assert page.recommendation == "Keep what you have: nobody measured this, and nobody advises."
    assert page.headline.startswith("Nobody published numbers of btrfs against ")


def test_what_can_lose_acknowledged_writes_is_never_the_first_line():
    case_study = make_case_study()
    for guest_fs, value, options in (("ext4", 100.0, ""), ("xfs", 900.0, "nobarrier")):
        configuration = make_configuration(case_study, guest_fs=guest_fs, guest_mount_options=options)
        make_measurement(value, configuration=configuration)
    publish(case_study)
    page = present_comparison(compare(QUESTION, ["xfs", "ext4"], 1), "Mail server")
    assert page.recommendation == "Start with ext4. Rather not xfs."
