"""Why one host storage stands above another, where no configuration has a file system on the host."""

import pytest

from modelling.answer_pages.explanations.selectors import explained
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_measurement, publish


def volumes() -> None:
    """Publish a case study that found LVM-thin twice as fast as a ZFS volume."""
    case_study = make_case_study("volumes")
    for backend, value in (("lvm-thin", 120.0), ("zvol", 60.0)):
        configuration = make_configuration(case_study, backend=backend, host_fs=None, guest_fs=None)
        make_measurement(value, configuration=configuration)
    publish(case_study)


@pytest.mark.django_db
@pytest.mark.sqlite
def test_volumes_are_explained_by_what_was_measured():
    volumes()

    explanation = explained(Question("host-storage", "varmail"), "lvm-thin", "zvol")
    texts = " ".join(step.text for step in explanation.steps)
    assert "2.0 times" in texts
    assert "volumes" in str(explanation)
    assert "forecast" not in texts


@pytest.mark.django_db
@pytest.mark.sqlite
def test_volumes_are_forecast_for_a_load_that_nobody_ran_on_them():
    volumes()
    make_measurement(100.0, workload="fileserver", case_study=make_case_study("files"))

    steps = {step.kind: step for step in explained(Question("host-storage", "fileserver"), "lvm-thin", "zvol").steps}
    told = steps["forecast"].data
    assert 1.0 < told["ratio"] < 2.0  # drawn from the two times that were measured towards no difference
    assert told["low"] < 1.0 < told["high"]
    steps = {step.kind for step in explained(Question("host-storage", "fileserver"), "lvm-thin", "rbd").steps}
    assert "forecast" not in steps  # nobody compared Ceph with anything
