"""The axis host storage: from the facts of configurations to an answer."""

from dataclasses import replace

import pytest

from experiments.models import Hypervisor
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.evidence import choices, dataframes, names
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


def test_containers_of_one_family_are_compared_where_storage_is_and_the_answer_says_so():
    case_study = make_case_study()
    for runtime, backend, value in (
        ("docker", "longhorn", 50.0),
        ("kubernetes", "rook", 80.0),
        ("gvisor", "lvm", 20.0),
    ):
        Hypervisor.objects.create(
            slug=runtime, name=runtime.title(), kind="container", family="" if runtime == "gvisor" else "containers"
        )
        of_it = make_configuration(
            case_study, hypervisor=runtime, guest_fs=None, host_fs=None, backend=backend, virtualisation="container"
        )
        make_measurement(value, configuration=of_it)
    publish(case_study)

    ranking = answer(estimate(Question("host-storage", "varmail")), 1)

    assert [entry.key for entry in ranking.entries] == ["rook", "longhorn"]  # not what ran under gVisor
    assert "Alike here, as storage is compared: containers: Docker, Kubernetes." in str(ranking)
    asked = Question("host-storage", "varmail", hypervisor="docker")
    assert dataframes.arms(asked)["hypervisor"].tolist() == ["docker", "kubernetes"]
    assert dataframes.Reach([case_study.pk]).admits(replace(asked, hypervisor="kubernetes"))
    assert choices.compared_under(["varmail"], {"hypervisor": "docker"})["varmail"]["host-storage"] == 1
    Hypervisor.objects.create(slug="podman", name="Podman", kind="container", family="containers")
    names.clear_cache()
    elsewhere = answer(estimate(Question("host-storage", "varmail", hypervisor="podman")), 1)
    assert "Alike here, as storage is compared: containers: Docker, Kubernetes." in str(elsewhere)
    on_pairs = Question("guest-fs", "varmail", hypervisor="docker")  # other axes hold the hypervisor itself equal
    assert dataframes.arms(on_pairs)["hypervisor"].tolist() == ["docker"]


def test_hypervisors_without_a_family_are_never_compared_by_host_storage():
    case_study = make_case_study()
    for hypervisor, backend in (("kvm", "lvm"), ("xen", "zvol")):
        of_it = make_configuration(case_study, hypervisor=hypervisor, host_fs=None, backend=backend)
        make_measurement(50.0, configuration=of_it)
    publish(case_study)

    assert not answer(estimate(Question("host-storage", "varmail")), 1).entries


def test_another_laboratory_with_another_runtime_of_the_family_makes_no_contrast():
    for runtime, backend in (("docker", "longhorn"), ("kubernetes", "rook")):
        Hypervisor.objects.create(slug=runtime, name=runtime, kind="container", family="containers")
        of_it = make_configuration(hypervisor=runtime, guest_fs=None, host_fs=None, backend=backend)
        make_measurement(50.0, configuration=of_it)
        publish(of_it.case_study)

    assert not answer(estimate(Question("host-storage", "varmail")), 1).entries
