"""One statement of a workload over all axes, from published numbers."""

from dataclasses import replace

import pytest

from modelling.answer_pages.standing import Choice, choices_of, questions_of, statement
from modelling.answers.content import START, Answer
from modelling.evidence.axes import AXES, NATIVE, NATIVE_AXES
from modelling.evidence.question import Question
from modelling.kept_answers.selectors import answer_in, answers_or_none
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
    given = answers_or_none(questions_of("varmail", "kvm"))
    return {question: answer_in(snapshot) for question, snapshot in given.items() if snapshot}


def choices(of: dict[Question, Answer]) -> dict[str, Choice]:
    return {choice.thing: choice for choice in choices_of(of)}


def test_every_axis_that_is_open_is_asked_those_of_one_thing_first():
    anywhere = [question.axis for question in questions_of("varmail", None)]
    assert sorted(anywhere) == sorted(AXES)
    assert [len(AXES[axis].entry) for axis in anywhere] == sorted(len(axis.entry) for axis in AXES.values())
    assert {question.axis for question in questions_of("varmail", "kvm")} == AXES.keys() - {"hypervisor"}
    assert {question.axis for question in questions_of("varmail", NATIVE)} == set(NATIVE_AXES)


def test_the_statement_says_what_leads_and_names_what_is_not_known():
    published({("ext4", "ext4"): 300.0, ("xfs", "ext4"): 100.0})
    by_thing = choices(answers())
    assert by_thing["guest file system"].known == "start with ext4"
    assert statement([by_thing["guest file system"]]) == "guest file system: start with ext4."
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
