"""The first caveat of an answer: numbers that no disk can have given."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.answers.knowledge import published_knowledge
from modelling.estimation import cells
from modelling.evidence import summaries
from modelling.evidence.question import Question
from modelling.models import Arm
from modelling.workloads.cache_effect import CACHE_DOMINATED, Limits, cache_verdict, caches_answered_above
from tests.factories import make_case_study, make_configuration, make_measurement, make_storage, publish

pytestmark = pytest.mark.django_db
HYPERVISOR = Question("hypervisor", "varmail")


def measured(slug: str, scope: str = "", vm_count: int = 1, **values: float) -> None:
    """Publish a case study on a disk of 500 MB/s behind an interface of 600 MB/s: hypervisor to MiB/s."""
    limits = {"sequential_read_limit": 500, "sequential_write_limit": 500, "interface_limit": 600}
    storage = make_storage(slug=f"{slug}-disks", kind="ssd", **limits)
    case_study = make_case_study(slug, storage=storage, value_scope=scope)
    for hypervisor, value in values.items():
        make_measurement(value, case_study=case_study, hypervisor=hypervisor, vm_count=vm_count)
    publish(case_study)


def first_note(question: Question = HYPERVISOR) -> str:
    return answer(estimate(question), 1).notes[0]


def test_the_first_caveat_names_who_was_faster_than_the_storage():
    measured("lab", kvm=1200.0, xen=600.0, esxi=400.0)
    assert first_note() == (
        "These tests measured memory, not disks. In “lab” kvm reached 2.10 times the 600 MB/s of the interface limit "
        "and xen 1.05 times. They say little about data that do not fit into memory."
    )


def test_numbers_that_look_like_no_disks_count_less_and_the_answer_says_so():
    measured("lab", kvm=1200.0, xen=600.0, esxi=400.0)
    told = answer(estimate(HYPERVISOR), 1)
    assert (
        "2 of the 3 values look like no disk's: a clock, a cache or a limit may have made them. In the estimate they "
        "count less."
    ) in told.notes
    assert (published_knowledge().cells["variance"] > cells.IMPLAUSIBLE**2).tolist() == [False, True, True]
    Arm.objects.update(is_implausible=None)  # as of a version that did not look
    summaries.flag_implausible_arms()
    assert sorted(Arm.objects.values_list("is_implausible", flat=True)) == [False, True, True]


def test_nothing_is_said_where_the_disks_can_have_done_it():
    measured("lab", kvm=570.0, xen=400.0)
    assert "Caches" not in first_note()


def test_limits_of_zero_that_were_taken_once_are_not_stated():
    none = dict.fromkeys(("sequential_read_limit", "sequential_write_limit", "interface_limit"), 0)
    case_study = make_case_study("lab", storage=make_storage(kind="ssd", **none))
    for hypervisor in ("kvm", "xen"):
        make_measurement(1200.0, case_study=case_study, hypervisor=hypervisor)
    publish(case_study)
    assert "Caches" not in first_note()


def test_machines_that_share_a_disk_are_added_up_where_the_source_says_each():
    measured("sum", vm_count=3, scope="aggregate", kvm=400.0, xen=100.0)
    assert "Caches" not in first_note()
    measured("each", vm_count=3, scope="per-vm", kvm=400.0, xen=100.0)
    assert "In “each” kvm reached 2.10 times" in first_note()


def test_numbers_of_other_disks_than_those_of_the_case_study_are_not_held_against_its_limits():
    case_study = make_case_study("lab", storage=make_storage(kind="ssd", interface_limit=600))
    for hypervisor in ("kvm", "xen"):
        configuration = make_configuration(case_study, hypervisor=hypervisor, storage_kind="nvme")
        make_measurement(1200.0, configuration=configuration)
    publish(case_study)
    assert "Caches" not in first_note()


def test_of_many_case_studies_the_greatest_excesses_are_named():
    for number in range(5):
        measured(f"lab{number}", kvm=1000.0 + 100 * number, xen=400.0)
    assert "In “lab4” kvm" in first_note()
    assert "lab1" not in first_note()
    assert "likewise in 2 other case studies" in first_note()


@pytest.mark.parametrize("read_share", [None, 0.0, 0.4, 1.0])
@pytest.mark.parametrize("limits", [Limits(500, 300, 600), Limits(500, 300), Limits(interface=600), Limits(500)])
def test_the_threshold_is_that_of_the_verdict(limits, read_share):
    threshold = caches_answered_above(limits, read_share)
    for value in (250.0, 310.0, 450.0, 510.0, 590.0, 610.0):
        verdict = cache_verdict(value, "MB/s", limits, read_share=read_share)
        assert (verdict.name == CACHE_DOMINATED) == (threshold is not None and value > threshold)


def test_answer_and_comparison_say_the_same_of_the_published_file_server(published_evidence, client):
    question = Question("hypervisor", "fileserver")
    assert "KVM reached 2.50 times the 600 MB/s of the interface limit, Proxmox VE 1.84 times" in first_note(question)
    asked = "/api/v1/explanations/?axis=hypervisor&workload=fileserver&a=kvm&b=esxi"
    assert "2.50 times the 600.0 MB/s of the interface limit" in client.get(asked).content.decode()


def queries_of_an_answer() -> int:
    first_note()  # arms and names are kept in memory from here on
    with CaptureQueriesContext(connection) as queries:
        first_note()
    return len(queries)


def test_the_number_of_queries_does_not_grow_with_the_case_studies():
    for number in range(4):
        measured(f"lab{number}", kvm=1200.0, xen=700.0)
    few = queries_of_an_answer()
    for number in range(4, 8):
        measured(f"lab{number}", kvm=1200.0, xen=700.0)
    assert queries_of_an_answer() == few
