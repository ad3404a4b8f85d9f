"""The same entries under every workload."""

import pytest

from modelling.answer_pages.comparison import compute_comparison, compute_ratios
from modelling.evidence import names
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_measurement, publish

pytestmark = pytest.mark.django_db

QUESTION = Question("guest-fs", "varmail")


def guests(workload: str, **values: float) -> None:
    case_study = make_case_study()
    for guest_fs, value in values.items():
        make_measurement(value, case_study=case_study, guest_fs=guest_fs, workload=workload)
    publish(case_study)


def test_the_first_is_held_against_each_other_where_numbers_join_them():
    guests("varmail", ext4=100.0, xfs=200.0)
    guests("webserver", ext4=100.0, xfs=100.0, btrfs=50.0)
    guests("fileserver", xfs=100.0, btrfs=50.0)
    compared = {(row.workload, row.other): row for row in compute_ratios(QUESTION, ["ext4", "xfs", "btrfs"])}
    assert set(compared) == {("varmail", "xfs"), ("webserver", "xfs"), ("webserver", "btrfs")}
    (pair,) = compute_comparison(QUESTION, ["ext4", "xfs"], 1)[0].pairs
    shown = compared["varmail", "xfs"]
    assert (shown.ratio, shown.low, shown.high) == pytest.approx((pair.ratio, pair.low, pair.high))
    assert shown.ratio < 1
    assert compared["webserver", "xfs"].ratio < 1  # measured as equal: mail tells a little of it


def test_the_number_of_queries_does_not_grow_with_evidence_or_entries(django_assert_max_num_queries):
    for workload in ("varmail", "webserver"):
        guests(workload, ext4=100.0, xfs=200.0)
        guests(workload, ext4=100.0, xfs=150.0, btrfs=50.0, ntfs=40.0)
    names.names()  # cached
    with django_assert_max_num_queries(31):  # twelve a workload at most, and what is known of all
        assert len(list(compute_ratios(QUESTION, ["ext4", "xfs", "btrfs", "ntfs"]))) == 6


def test_a_workload_with_too_much_evidence_is_left_out(settings):
    guests("varmail", ext4=100.0, xfs=200.0)
    settings.KDB_MOST_ARMS_AT_ONCE = 1
    assert list(compute_ratios(QUESTION, ["ext4", "xfs"])) == []
