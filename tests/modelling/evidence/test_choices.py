"""The amount of evidence behind each choice, from memory: that which an answer would find."""

import pytest
from django.core.cache import cache

from experiments.models import CaseStudy, KnowledgeRevision
from modelling.answers.estimate import ranking_of
from modelling.evidence import choices, counts, names
from modelling.evidence.axes import AXES, axis_left_open
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def behind(field, values, **given):
    return choices.count_evidence({field: values}, given).case_studies[field]


@pytest.mark.parametrize("workload", ["varmail", "atto"])
def test_a_choice_has_evidence_where_its_question_has_an_answer(published_evidence, workload):
    hypervisors = list(names.names()["hypervisor"])
    for axis in AXES:
        evidence_counts = behind("hypervisor", hypervisors, workload=workload, axis=axis)
        answered = {name: bool(ranking_of(Question(axis, workload, hypervisor=name)).parts) for name in hypervisors}
        assert {name: number > 0 for name, number in evidence_counts.items()} == answered, axis


def test_case_studies_are_counted_not_rows(published_evidence):
    assert behind("workload", ["varmail"], hypervisor="kvm") == {"varmail": 3}


@pytest.mark.parametrize(("allocation", "number"), [("full", 1), ("", 1), ("sparse", 0)])
def test_what_states_another_setting_is_nothing_to_compare_with(allocation, number):
    choices.clear_cache()
    case_study = make_case_study()
    for host_fs, stated in (("ext4", "full"), ("xfs", allocation)):
        make_measurement(100.0, configuration=make_configuration(case_study, host_fs=host_fs, allocation=stated))
    publish(case_study)
    assert behind("workload", ["varmail"], axis="host-fs") == {"varmail": number}


def test_nothing_published_is_nothing_behind(db):
    choices.clear_cache()
    assert behind("workload", ["varmail"]) == {"varmail": 0}


def test_what_lies_behind_costs_no_query_once_it_is_known(published_evidence, django_assert_num_queries):
    behind("workload", ["varmail"])
    with django_assert_num_queries(0):
        behind("workload", ["varmail"])


def test_after_a_minute_the_evidence_is_read_again_where_the_revision_is_another(
    published_evidence, django_assert_num_queries
):
    known = behind("workload", ["varmail"])
    cache.delete(choices._KEY)
    with django_assert_num_queries(1):
        assert behind("workload", ["varmail"]) == known
    # As another process retracts them, which cannot tell this one.
    revision = KnowledgeRevision.objects.create(number=counts.revision() + 1, action="retracted")
    CaseStudy.objects.update(status="retracted", retracted_revision=revision, retraction_reason="wrong disks")
    assert behind("workload", ["varmail"]) == known
    cache.delete(choices._KEY)
    assert behind("workload", ["varmail"]) == {"varmail": 0}


def test_too_much_to_count_says_nothing(published_evidence, settings):
    settings.KDB_MOST_ARMS_AT_ONCE = 3
    choices.clear_cache()
    assert choices.count_evidence({"workload": ["varmail"]}, {}).case_studies == {}


@pytest.mark.parametrize(
    ("hypervisor", "guest_fs", "host_fs", "axis"),
    [
        ("", "", "", "hypervisor"),
        ("", "xfs", "", "hypervisor"),
        ("kvm", "", "", "fs-pair"),
        ("kvm", "", "lvm", "guest-fs"),
        ("kvm", "xfs", "", "host-fs"),
        ("kvm", "xfs", "ext4", "configuration"),
    ],
)
def test_the_axis_is_what_is_left_open(hypervisor, guest_fs, host_fs, axis):
    assert axis_left_open(hypervisor, guest_fs, host_fs) == axis
