"""Facts of a configuration that two compared numbers must share as far as both state them."""

from math import log

import numpy as np
import pytest

from experiments.models import Measurement
from modelling.answers.answer import answer
from modelling.answers.estimate import estimate
from modelling.evidence import counts, dataframes
from modelling.evidence.axes import AXES
from modelling.evidence.fairplay import group_numbers
from modelling.evidence.question import Question
from modelling.evidence.summaries import rebuild_arms
from modelling.models import Arm
from tests.factories import make_case_study, make_configuration, make_measurement, make_variant, publish
from tests.modelling.frames import arm, arms

OPEN = ("cache_mode", "disk_bus", "image_format", "allocation", "io_mode")  # nobody states it
HOST_FS, HYPERVISOR = Question("host-fs", "varmail"), Question("hypervisor", "varmail")


def groups(*rows: dict) -> list[int]:
    return group_numbers(arms(*rows), (), ("allocation", "storage")).tolist()


def test_what_only_one_side_states_is_taken_to_be_equal():
    assert groups(arm(1.0, allocation="full"), arm(2.0), arm(3.0, allocation="full")) == [0, 0, 0]


def test_two_stated_values_are_kept_apart_and_the_unstated_stands_alone():
    numbers = groups(arm(1.0, allocation="full"), arm(2.0), arm(3.0, allocation="sparse"), arm(4.0, allocation="full"))
    assert numbers == [0, 1, 2, 0]


def test_another_case_study_says_nothing_about_what_one_leaves_out():
    rows = arm(1.0, allocation="full"), arm(2.0, case_study="two"), arm(3.0, case_study="two", allocation="sparse")
    assert groups(*rows) == [0, 1, 1]


def test_what_one_group_states_twice_parts_no_other_group():
    of_one = arm(1.0, allocation="full"), arm(2.0, allocation="sparse")
    of_two = arm(3.0, vm_count=2), arm(4.0, vm_count=2, allocation="full")
    assert groups(*of_one, *of_two) == [0, 1, 2, 2]


def test_allocation_comes_along_with_host_storage_and_with_what_an_image_is():
    free = [name for name, axis in AXES.items() if "allocation" not in axis.held_where_stated]
    assert free == ["host-storage", "image-format", "allocation", "snapshot"]


def measured(estimated) -> list[float]:
    """Return what laboratories measured of the entries against the best, before it is drawn towards no difference."""
    effects = estimated.ranking.parts[0].networks[0].random.effects
    return sorted(np.exp(effects - effects.max()).tolist(), reverse=True)


def published(*configurations: dict, **fields) -> None:
    case_study = make_case_study(**fields)
    for number, configuration in enumerate(configurations, start=1):
        value = configuration.pop("value", 100.0 * number)
        make_measurement(value, configuration=make_configuration(case_study, **configuration))
    publish(case_study)


@pytest.mark.django_db
@pytest.mark.sqlite
def test_a_configuration_on_other_disks_is_not_compared_with_its_neighbours():
    published({"host_fs": "ext4"}, {"host_fs": "xfs", "storage_kind": "nvme"}, {"host_fs": "xfs"})

    arm_rows = dataframes.arms(HOST_FS)
    assert arm_rows["storage"].tolist() == ["hdd", "nvme", "hdd"]
    assert len(dataframes.arms(Question("host-fs", "varmail", storage="nvme"))) == 1
    assert measured(estimate(HOST_FS)) == [1.0, pytest.approx(1 / 3)]


@pytest.mark.django_db
@pytest.mark.sqlite
def test_a_guest_file_system_that_no_side_states_is_assumed_equal_and_said_so():
    published({"hypervisor": "kvm", "guest_fs": None}, {"hypervisor": "xen", "guest_fs": None})

    (part,) = answer(estimate(HYPERVISOR), 1).parts
    assert "guest file system" in part.assumed_equal
    assert answer(estimate(Question("guest-fs", "varmail")), 1).entries == ()


@pytest.mark.django_db
@pytest.mark.sqlite
def test_a_raw_device_is_not_compared_with_a_file_system():
    raw, named = {"guest_fs": None, "guest_access": "raw-device"}, {"guest_fs": None, "guest_access": "file-system"}
    published({"hypervisor": "kvm"} | raw, {"hypervisor": "xen"} | named)

    assert answer(estimate(HYPERVISOR), 1).entries == ()


@pytest.mark.django_db
@pytest.mark.sqlite
def test_a_container_beside_a_machine_is_confounded_with_the_kind_of_virtualisation():
    published(
        {"hypervisor": "docker", "guest_fs": None, "virtualisation": "container"},
        {"hypervisor": "kvm", "guest_fs": None},
    )

    ranking = answer(estimate(HYPERVISOR), 1)
    assert [entry.confounded_with for entry in ranking.entries] == [("virtualisation", *OPEN)] * 2
    assert ranking.notes[0].startswith("The kind of virtualisation may be the cause: docker had container")


@pytest.mark.django_db
@pytest.mark.sqlite
def test_what_a_hypervisor_sets_by_itself_confounds_unless_both_sides_state_the_same():
    alike = {"disk_bus": "virtio", "image_format": "raw"}
    published({"hypervisor": "kvm", "cache_mode": "none"} | alike, {"hypervisor": "esxi"} | alike)

    ranking = answer(estimate(HYPERVISOR), 1)
    assert [entry.confounded_with for entry in ranking.entries] == [("cache_mode", "allocation", "io_mode")] * 2
    assert ranking.notes[:2] == (
        "The cache mode may be the cause: esxi had its default (not stated); kvm none.",
        "No source states the allocation of the image and I/O mode. Each hypervisor has defaults of its own, so a "
        "difference may be due to them.",
    )
    assert "I/O mode" not in ranking.parts[0].assumed_equal


@pytest.mark.django_db
@pytest.mark.sqlite
def test_under_one_hypervisor_what_nobody_states_is_taken_to_be_equal():
    published({"hypervisor": "kvm", "host_fs": "ext4"}, {"hypervisor": "kvm", "host_fs": "xfs"})

    for axis in ("configuration", "host-fs"):
        assert {entry.confounded_with for entry in answer(estimate(Question(axis, "varmail")), 1).entries} == {()}


@pytest.mark.django_db
@pytest.mark.sqlite
def test_an_excluded_number_is_kept_and_counts_nowhere():
    case_study = make_case_study()
    for host_fs, value in (("ext4", 100.0), ("xfs", 80.0)):
        configuration = make_configuration(case_study, host_fs=host_fs)
        make_measurement(value, configuration=configuration)
        exclusion = {"excluded_because": "the host was busy", "excluded_by": "its author"}
        make_measurement(1.0, configuration=configuration, repetition=2, **exclusion)
    publish(case_study)

    assert measured(estimate(HOST_FS)) == [1.0, pytest.approx(0.8)]
    assert Measurement.objects.count() == 4
    assert counts.published(1)["measurements"] == 2


@pytest.mark.django_db
@pytest.mark.sqlite
def test_machines_of_one_run_are_one_value_and_runs_are_independent():
    configuration = make_configuration(make_case_study(), host_fs="ext4")
    variant = make_measurement(1.0, configuration=configuration, vm_count=1).variant
    for repetition, values in ((1, (80.0, 120.0)), (2, (180.0, 220.0))):
        for machine, value in enumerate(values, start=1):
            place = {"configuration": configuration, "variant": variant, "vm_count": 2, "machine": machine}
            make_measurement(value, repetition=repetition, **place)
    rebuild_arms([configuration.case_study_id])

    arm = Arm.objects.get(vm_count=2)
    assert (arm.measurements, arm.runs) == (4, 2)
    assert arm.mean_log == pytest.approx((log(100) + log(200)) / 2)
    assert arm.variance == pytest.approx((log(200) - log(100)) ** 2 / 2 / 2)  # sample variance of two, over two


@pytest.mark.django_db
@pytest.mark.sqlite
def test_a_stated_scheduler_is_held_and_an_option_of_mkfs_is_not():
    published({"host_fs": "ext4", "host_io_scheduler": "none"}, {"host_fs": "xfs", "host_io_scheduler": "bfq"})
    assert answer(estimate(HOST_FS), 1).entries == ()
    published({"host_fs": "ext4", "host_mkfs_options": "-m 0"}, {"host_fs": "xfs", "host_mkfs_options": "-K"})
    assert len(answer(estimate(HOST_FS), 2).entries) == 2


@pytest.mark.django_db
@pytest.mark.sqlite
def test_ratios_to_different_references_are_not_compared():
    published_ratios = make_case_study()
    for host_fs, reference in (("ext4", "native"), ("xfs", "native"), ("btrfs", "its first run")):
        configuration = make_configuration(published_ratios, host_fs=host_fs)
        make_measurement(0.8, configuration=configuration, metric="relative", unit="ratio", reference=reference)
    publish(published_ratios)

    ranking = answer(estimate(HOST_FS), 1)
    assert (ranking.metric, {entry.key for entry in ranking.entries}) == ("relative", {"ext4", "xfs"})


@pytest.mark.django_db
@pytest.mark.sqlite
def test_an_answer_says_where_kinds_of_storage_are_averaged_and_how_few_they_are():
    published({"host_fs": "ext4"}, {"host_fs": "xfs"})
    assert not any("may change" in note for note in answer(estimate(HOST_FS), 1).notes)

    published({"host_fs": "ext4", "storage_kind": "nvme"}, {"host_fs": "xfs", "storage_kind": "nvme"})
    (note,) = [note for note in answer(estimate(HOST_FS), 2).notes if "may change" in note]
    assert note == (
        "The kind of storage may change these ratios, which are averages over hard disk (one laboratory) and NVMe (one "
        "laboratory). With so few of each, how much is not known. A filter asks for one kind alone."
    )


@pytest.mark.django_db
@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("fact", "values", "words"),
    [("allocation", ("sparse", "full"), "allocation"), ("cache_mode", ("none", "writeback"), "cache mode")],
)
def test_an_answer_says_where_settings_of_the_disk_are_averaged(fact, values, words):
    for value in values:
        published(*({"host_fs": host_fs, fact: value} for host_fs in ("ext4", "xfs")))
    (note,) = [note for note in answer(estimate(HOST_FS), 2).notes if "may change" in note]
    assert words in note
    assert note.count("one laboratory") == 2


@pytest.mark.django_db
@pytest.mark.sqlite
def test_scores_of_two_benchmarks_are_never_pooled():
    for name in ("novabench", "blogbench"):
        case_study = make_case_study()
        variant = make_variant(benchmark=name)
        for host_fs, value in (("ext4", 100.0), ("xfs", 80.0)):
            configuration = make_configuration(case_study, host_fs=host_fs)
            make_measurement(value, configuration=configuration, variant=variant, metric="score", unit="score")
        publish(case_study)

    both = answer(estimate(HOST_FS), 2)
    assert both.entries == ()
    assert any("inside one benchmark only" in sentence for sentence in both.missing)
    of_one = answer(estimate(Question("host-fs", "varmail", metric="score", benchmark="novabench")), 2)
    assert of_one.entries[1].ratio < 1
