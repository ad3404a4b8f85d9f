"""What else may have caused a difference is told with the answer."""

import pytest

from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


@pytest.mark.parametrize(("mode", "is_open"), [("", True), ("none", False)])
def test_a_setting_that_no_source_states_is_told_as_open_between_hypervisors(mode, is_open):
    case_study = make_case_study()
    for hypervisor, value in (("kvm", 200.0), ("esxi", 100.0)):
        make_measurement(value, configuration=make_configuration(case_study, hypervisor=hypervisor, cache_mode=mode))
    publish(case_study)
    (told,) = (
        note for note in answer(estimate(Question("hypervisor", "varmail")), 1).notes if note.startswith("No source")
    )
    assert ("cache mode" in told) == is_open
