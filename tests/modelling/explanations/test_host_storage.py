"""Why one host storage stands above another, where no configuration has a file system on the host."""

import pytest

from modelling.evidence.question import Question
from modelling.explanations.selectors import explained
from tests.factories import make_case_study, make_configuration, make_measurement, publish


@pytest.mark.django_db
@pytest.mark.sqlite
def test_volumes_are_explained_by_what_was_measured_and_never_forecast():
    case_study = make_case_study("volumes")
    for backend, value in (("lvm-thin", 120.0), ("zvol", 60.0)):
        configuration = make_configuration(case_study, backend=backend, host_fs=None, guest_fs=None)
        make_measurement(value, configuration=configuration)
    publish(case_study)

    found = explained(Question("host-storage", "varmail"), "lvm-thin", "zvol")
    texts = " ".join(step.text for step in found.steps)
    assert "2.00 times" in texts
    assert "volumes" in str(found)
    assert "forecast" not in texts
