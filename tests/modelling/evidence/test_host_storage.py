"""The axis host storage: from the facts of configurations to an answer."""

import pytest

from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.evidence import dataframes
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_finding, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]


def study(**values: float) -> None:
    """Publish a case study with one value for each backend, ext4 in the guest."""
    case_study = make_case_study()
    for backend, value in values.items():
        kind, _, host_fs = backend.replace("_", "-").partition("--")
        configuration = make_configuration(case_study, backend=kind, host_fs=host_fs or None, slug=kind + host_fs)
        make_measurement(value, configuration=configuration)
    publish(case_study)


def test_a_volume_and_a_file_are_ranked_side_by_side():
    study(lvm_thin=120.0, zvol=60.0, file__ext4=100.0, file__zfs=80.0)

    ranking = answer(estimate(Question("host-storage", "varmail")), 1)

    assert [entry.key for entry in ranking.entries] == ["lvm-thin", "dir-ext4", "zfs", "zvol"]
    ratios = [entry.ratio for entry in ranking.entries]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[-1] < ratios[0] == 1.0
    assert ranking.entries[1].label == "Directory on ext4"


@pytest.mark.parametrize("key", ["dir-ext4", "zfs", "dir", "lvm-thin"])
def test_a_filter_admits_what_the_column_names(key):
    study(lvm_thin=120.0, file=70.0, file__ext4=100.0, file__zfs=80.0)

    assert dataframes.arms(Question("guest-fs", "varmail", host_storage=key))["host_storage"].tolist() == [key]


def test_a_list_of_pairs_speaks_of_files_on_their_file_systems():
    case_study = make_case_study()
    make_finding("best", host_fs="xfs", case_studies=[case_study])
    make_finding("worst", host_fs="ext4", publication=case_study.findings.get().publication, case_studies=[case_study])
    publish(case_study)

    ranking = answer(estimate(Question("host-storage", "varmail")), 1)

    assert [entry.key for entry in ranking.entries] == ["dir-xfs", "dir-ext4"]
    assert len(dataframes.findings(Question("host-storage", "varmail", host_storage="dir-xfs"))) == 1
    assert dataframes.findings(Question("host-storage", "varmail", host_storage="lvm")).empty


def test_what_a_publication_can_change_is_found_by_host_storage():
    study(lvm_thin=120.0, file__ext4=100.0)
    case_study = dataframes.CaseStudy.objects.get()
    asked = {key: Question("host-fs", "varmail", host_storage=key) for key in ("lvm-thin", "dir-ext4", "zvol")}

    assert set(filter(dataframes.Reach([case_study.pk]).admits, asked.values())) == {
        asked["lvm-thin"],
        asked["dir-ext4"],
    }
