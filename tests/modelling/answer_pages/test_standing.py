"""What to choose for a workload, choice by choice."""

from dataclasses import replace

import pytest

from modelling.answer_pages.layout.standing import ChoiceSummary, summarize_choices
from modelling.answer_store.selectors import answer_in, snapshots_or_none
from modelling.answers.content import START, Answer
from modelling.evidence.axes import AXES, NATIVE, NATIVE_AXES
from modelling.evidence.question import Question, choices_for
from tests.factories import make_case_study, make_measurement, publish

pytestmark = pytest.mark.django_db


def published(values: dict[tuple[str, str], float]) -> None:
    """Publish two laboratories that measured each (guest, host) pair alike."""
    for laboratory in ("lab-a", "lab-b"):
        study = make_case_study(laboratory)
        for (guest_fs, host_fs), value in values.items():
            make_measurement(value, case_study=study, guest_fs=guest_fs, host_fs=host_fs, workload="varmail")
        publish(study)


def answers() -> dict[Question, Answer]:
    given = snapshots_or_none(choices_for("varmail", "kvm"))
    return {question: answer_in(snapshot) for question, snapshot in given.items() if snapshot}


def choices(of: dict[Question, Answer]) -> dict[str, ChoiceSummary]:
    return {choice.thing: choice for choice in summarize_choices(of)}


def test_every_axis_that_is_open_is_asked_those_of_one_thing_first():
    axes = {name: axis for name, axis in AXES.items() if not axis.is_release}
    assert {"hypervisor-release", "guest-kernel"} <= AXES.keys() - axes.keys()
    anywhere = [question.axis for question in choices_for("varmail", None)]
    assert sorted(anywhere) == sorted(axes)
    assert [len(AXES[axis].entry) for axis in anywhere] == sorted(len(axis.entry) for axis in axes.values())
    assert {question.axis for question in choices_for("varmail", "kvm")} == axes.keys() - {"hypervisor"}
    assert {question.axis for question in choices_for("varmail", NATIVE)} == {*NATIVE_AXES} & axes.keys()


def test_each_choice_says_what_to_do_and_how_sure_that_is():
    published({("ext4", "ext4"): 300.0, ("xfs", "ext4"): 100.0})
    by_thing = choices(answers())
    guest = by_thing["guest file system"]
    assert guest.sentence == "Start with ext4."
    assert guest.confidence.startswith("Low confidence: two research groups (hard disks) measured it; chance that")
    assert "host file system" not in by_thing  # nobody measured it, and nobody advises
    assert not any(choice.against for choice in by_thing.values())


def test_a_pair_that_is_not_made_of_the_best_of_each_says_so():
    published({("ext4", "ext4"): 300.0, ("xfs", "ext4"): 100.0})
    given = answers()
    pairs = next(question for question in given if question.axis == "fs-pair")
    turned = [replace(e, recommended=START if e.key == "xfs-on-ext4" else "") for e in given[pairs].entries]
    by_thing = choices({**given, pairs: replace(given[pairs], entries=tuple(turned))})
    objection = "Taken alone the evidence is for guest file system ext4: measure both."
    assert {choice.thing: choice.against for choice in by_thing.values() if choice.against} == {
        "file-system pair": objection
    }
