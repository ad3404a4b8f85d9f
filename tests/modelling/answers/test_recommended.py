"""What an answer says to do where nobody measured, and beside what makers advise."""

import pytest

from modelling.answers.answer import answer
from modelling.answers.content import Answer
from modelling.answers.decision import word_decision
from modelling.answers.estimate import estimate
from modelling.answers.measured import dot_charts
from modelling.estimation.recommendation import MAKERS, NEAREST, NOTHING, ONE, SEVERAL, Recommended
from modelling.estimation.verdict import LEADS, STRENGTHS, Contrast, Verdict
from modelling.evidence.question import Question
from modelling.guidance import loading
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def publish_cache_modes(workload: str = "varmail", hypervisor: str = "kvm", **speeds: float) -> None:
    """Publish a case study that compares cache modes."""
    case_study = make_case_study()
    for mode, value in speeds.items():
        configuration = make_configuration(case_study, cache_mode=mode, hypervisor=hypervisor)
        make_measurement(value, configuration=configuration, workload=workload)
    publish(case_study)


def asked(workload: str, axis: str = "cache-mode", **filters: str) -> Answer:
    return answer(estimate(Question(axis, workload, **filters)), 1)


def test_what_other_workloads_compared_is_the_guess_where_nobody_advises():
    publish_cache_modes("varmail", none=100.0, writeback=400.0)
    told = asked("webserver")
    assert (told.verdict.basis, told.verdict.choice, told.entries) == (NEAREST, ("writeback",), ())
    assert told.verdict.sentence == "Start with cache mode writeback."
    assert told.verdict.confidence.startswith(
        "Low confidence: nobody measured this; it is best by what other workloads"
    )
    assert told.verdict.measured == "Compared under other workloads: cache mode none and writeback."


def test_what_was_compared_under_another_hypervisor_alone_is_no_guess():
    publish_cache_modes("varmail", "esxi", none=100.0, writeback=400.0)
    told = asked("webserver", hypervisor="kvm").verdict
    assert (told.basis, told.choice) == (NOTHING, ())
    assert told.sentence == "Keep what you have: nobody measured this, and nobody advises."


def test_where_makers_name_conditions_alone_the_guide_says_what_to_do():
    loading.load()
    told = asked("varmail", "snapshot", hypervisor="esxi")
    assert (told.verdict.basis, told.verdict.choice) == (MAKERS, ())
    assert told.verdict.sentence == (
        "No measurements. Makers advise: keep snapshots few and short-lived, and take them by storage that is made "
        "for it."
    )
    other = asked("varmail", "compression", hypervisor="esxi").verdict
    assert other.sentence == "Keep what you have: nobody measured this, and what makers advise is for other products."


def test_a_setting_is_named_once_and_two_that_makers_advise_alike_are_both_told():
    loading.load()
    told = asked("varmail", "disk-bus", hypervisor="kvm").verdict
    assert told.sentence == (
        "No measurements. Its makers advise disk bus SCSI (virtio-scsi) or virtio-blk. Rather not IDE or SATA."
    )


@pytest.mark.parametrize(("filters", "under"), [({}, "under esxi, "), ({"hypervisor": "esxi"}, "")])
def test_the_second_line_names_the_only_hypervisor_that_was_measured_where_nobody_asked_for_it(filters, under):
    publish_cache_modes("varmail", "esxi", none=400.0, writeback=100.0)
    assert f"one research group ({under}" in asked("varmail", **filters).verdict.confidence


def test_makers_come_before_what_other_workloads_say():
    loading.load()
    publish_cache_modes("varmail", none=100.0, writeback=400.0)
    told = asked("webserver", hypervisor="kvm")
    assert (told.verdict.basis, told.verdict.choice) == (MAKERS, ("none",))
    assert told.verdict.sentence == "No measurements. Its makers advise cache mode none."
    assert "cache mode none" in told.makers.statements[0].summary or "must be none" in told.makers.statements[0].summary
    assert told.makers.sentence == ""


@pytest.mark.parametrize(("strength", "level"), [*zip(STRENGTHS, ("Low", "Low", "Moderate", "High"), strict=True)])
def test_the_word_for_confidence_is_no_stronger_than_the_evidence(strength, level):
    told = word_decision(Verdict(LEADS, strength, ()), Recommended(("a",), basis=ONE), str)
    assert told.confidence.startswith(f"{level} confidence: ")


@pytest.mark.parametrize(("groups", "basis"), [(1, ONE), (2, SEVERAL)])
def test_it_rests_on_as_many_groups_as_compared_it_whatever_else_they_measured(groups, basis):
    verdict = Verdict(LEADS, "weak", (), Contrast("a", "b", 2.0, 1.0, 4.0, (2.0,), groups))
    assert word_decision(verdict, Recommended(("a",), basis=SEVERAL), str).basis == basis


@pytest.mark.parametrize(
    ("speeds", "sentence"),
    [
        ({"none": 400.0, "writeback": 100.0}, "Makers advise cache mode none as well."),
        ({"none": 100.0, "writeback": 400.0}, "Makers advise cache mode none instead: test both."),
    ],
)
def test_where_somebody_measured_makers_are_told_beside_it(speeds, sentence):
    loading.load()
    publish_cache_modes("varmail", **speeds)
    told = asked("varmail", hypervisor="kvm")
    assert told.verdict.choice == (max(speeds, key=speeds.__getitem__),)
    assert told.makers.sentence == sentence


def test_what_makers_advise_wears_a_flag_among_what_was_measured():
    loading.load()
    publish_cache_modes("varmail", none=100.0, writeback=400.0)
    told = asked("varmail", hypervisor="kvm")
    (chart,) = dot_charts(told, 1)
    assert (chart.first, chart.is_advised) == ("writeback", False)
    assert [(dot.beside, dot.is_advised) for dot in chart.dots] == [("none", True)]
    assert told.makers.advised == ("none",)


def test_of_releases_the_answer_is_what_the_product_supports():
    case_study = make_case_study()
    for release, value in (("7.4-1", 400.0), ("8.0", 100.0)):
        configuration = make_configuration(case_study, hypervisor="proxmox", hypervisor_release=release)
        make_measurement(value, configuration=configuration, workload="varmail")
    publish(case_study)
    told = asked("varmail", "hypervisor-release")
    assert (told.verdict.sentence, told.best) == ("Keep the release that your product supports.", ())
    assert "7.4-1 4.0 times as fast" in told.verdict.measured
    assert {entry.recommended for entry in told.entries} == {""}
