"""Which numbers of a case study may be compared, and what stands in the way."""

import re

import pytest

from kdb.units import METRICS
from modelling.answer_pages.fair_play_audit import audit
from tests.factories import make_case_study, make_configuration, make_measurement, make_variant, publish

pytestmark = pytest.mark.django_db


def line(report, label: str):
    return next(axis for axis in report.axes if axis.label == label)


def test_comparisons_are_counted_by_axis():
    study = make_case_study("lab", repetitions=3, run_seconds=60, value_scope="per-vm")
    variant = make_variant("varmail")
    for value, guest_fs, vm_count in ((10.0, "ext4", 1), (20.0, "xfs", 1), (30.0, "btrfs", 1), (5.0, "ext4", 2)):
        make_measurement(value, case_study=study, guest_fs=guest_fs, vm_count=vm_count, variant=variant)
    publish(study)
    report = audit(study)
    assert (report.numbers, report.derived, report.groups) == (4, 0, 2)
    guest = line(report, "Guest file system")
    assert (guest.groups, guest.entries, guest.comparisons) == (1, 3, 3)
    assert line(report, "Hypervisor").groups == 0
    assert report.alone_count == 1
    assert report.alone == [
        "ext4 on ext4 under kvm, two machines (imported): nothing else ran with the same workload parameters, "
        "operation, block size and machine count."
    ]


def test_what_differs_in_too_much_is_named():
    study = make_case_study("lab")
    variant = make_variant("varmail")
    for value, guest_fs, cache_mode in ((10.0, "ext4", "none"), (20.0, "xfs", "writeback")):
        configuration = make_configuration(study, guest_fs=guest_fs, cache_mode=cache_mode, vm_vcpus=len(cache_mode))
        make_measurement(value, configuration=configuration, variant=variant)
    publish(study)
    report = audit(study)
    assert report.alone_count == 2
    assert "another guest file system, cache mode or virtual processors" in report.alone[0]


def test_what_the_source_leaves_open_is_told_with_what_follows():
    study = make_case_study("lab", repetitions=None, run_seconds=None)
    make_measurement(10.0, case_study=study, vm_count=1)
    make_measurement(5.0, case_study=study, vm_count=2)
    publish(study)
    doubts = " ".join(audit(study).doubts)
    for words in ("default spread", "How many runs", "for each or for all", "How long", "The cache mode is not stated"):
        assert words in doubts


def test_a_case_study_without_numbers_has_nothing_to_compare(published_evidence, client):
    page = client.get("/case-studies/p3-cs1/fair-play/").content.decode()
    assert "no numbers that count as evidence" in page


def test_numbers_in_any_metric_and_natively_are_audited():
    study = make_case_study("lab")
    for value, host_fs in ((5.0, "ext4"), (7.0, "xfs")):
        configuration = make_configuration(study, hypervisor=None, host_fs=host_fs)
        for metric, unit in (("operation_rate", "ops/s"), ("latency", "ms")):
            make_measurement(value, configuration=configuration, metric=metric, unit=unit, vm_count=0)
    publish(study)

    report = audit(study)

    assert (report.numbers, report.groups, report.alone_count) == (4, 2, 0)
    assert line(report, "Host file system").comparisons == 2
    assert line(report, "Hypervisor").comparisons == 0
    assert not [doubt for doubt in report.doubts if "guest" in doubt or "disk bus" in doubt]


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "relative"])
def test_numbers_under_a_hypervisor_are_audited_whatever_was_measured(metric):
    study = make_case_study("lab")
    variant = make_variant("varmail")
    for value, guest_fs in ((5.0, "ext4"), (7.0, "xfs")):
        unit = METRICS[metric].unit
        make_measurement(value, case_study=study, guest_fs=guest_fs, variant=variant, metric=metric, unit=unit)
    publish(study)

    report = audit(study)

    assert (report.numbers, report.alone_count, line(report, "Guest file system").comparisons) == (2, 0, 1)


def test_the_page_of_a_case_study_brings_its_audit(published_evidence, client):
    assert 'hx-get="/case-studies/p1/fair-play/"' in client.get("/case-studies/p1/").content.decode()
    fragment = client.get("/case-studies/p1/fair-play/", headers={"hx-request": "true"}).content.decode()
    assert fragment.lstrip().startswith('<section id="fair-play"')
    assert "54 numbers in 9 fair-play groups" in " ".join(re.sub("<[^>]*>", "", fragment).split())


def test_drafts_have_no_public_audit(client):
    make_case_study("lab")
    assert client.get("/case-studies/lab/fair-play/").status_code == 404
