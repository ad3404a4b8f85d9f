"""An answer is stored with its labels, so they are those of its knowledge revision."""

import pytest

from experiments.models import FileSystem
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_measurement, publish, revision


def labels(number: int) -> set[str]:
    return {entry.label for entry in answer(estimate(Question("guest-fs", "varmail")), number).entries}


@pytest.mark.django_db
def test_names_are_read_again_after_a_publication_by_another_process():
    study = make_case_study("lab")
    for guest_fs, value in (("ext4", 100.0), ("xfs", 130.0)):
        make_measurement(value, case_study=study, guest_fs=guest_fs, workload="varmail")
    publish(study)
    assert labels(1) == {"ext4", "xfs"}
    FileSystem.objects.filter(slug="xfs").update(name="XFS 5")
    revision(2)  # its signal was sent in the other process
    assert labels(2) == {"ext4", "XFS 5"}
