"""What one row is: variants, configurations, cells, and which case studies are visible; on both databases."""

import pytest
from django.core.exceptions import ValidationError

from experiments.models import (
    CaseStudy,
    KnowledgeRevision,
    Measurement,
    Storage,
)
from tests.factories import (
    make_case_study,
    make_configuration,
    make_measurement,
    make_variant,
)

pytestmark = pytest.mark.both


def revision(number: int) -> KnowledgeRevision:
    return KnowledgeRevision.objects.create(number=number, action=KnowledgeRevision.Action.PUBLISHED)


@pytest.mark.django_db
def test_parameters_in_another_order_are_the_same_variant():
    assert make_variant(parameters={"threads": 16, "files": 1000}) == make_variant(
        parameters={"files": 1000, "threads": 16}
    )


@pytest.mark.django_db
def test_other_parameters_or_another_version_are_another_variant():
    variants = [
        make_variant(parameters={"threads": 16}),
        make_variant(parameters={"threads": 50}),
        make_variant(parameters={"threads": 16}, benchmark_version="1.5"),
    ]
    assert len({variant.pk for variant in variants}) == 3


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parts", "pair", "text"),
    [
        ({"guest_fs": "xfs", "host_fs": "ext4"}, "xfs-on-ext4", "kvm, xfs on ext4"),
        ({"guest_fs": "xfs", "host_fs": None}, "", "kvm, xfs on a host file system not stated"),
        ({"hypervisor": None, "host_fs": "btrfs"}, "", "Native, btrfs"),
    ],
)
def test_a_configuration_says_which_file_systems_it_has(parts, pair, text):
    configuration = make_configuration(**parts)
    assert (configuration.pair, str(configuration)) == (pair, text)


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [0.0, -1.0])
def test_what_storage_can_do_at_most_is_more_than_nothing(limit):
    Storage(interface_limit=600.0).clean()
    with pytest.raises(ValidationError, match="MB/s: more than 0; empty where it is not stated"):
        Storage(sequential_read_limit=limit).clean()


@pytest.mark.django_db
def test_published_and_retracted_case_studies_are_visible_and_drafts_are_not():
    make_case_study("draft")
    make_case_study("published", status=CaseStudy.Status.PUBLISHED, published_revision=revision(1))
    make_case_study(
        "retracted",
        status=CaseStudy.Status.RETRACTED,
        published_revision=revision(2),
        retracted_revision=revision(3),
        retraction_reason="wrong disk",
    )
    assert [study.slug for study in CaseStudy.objects.published()] == ["published"]
    assert [study.slug for study in CaseStudy.objects.visible()] == ["published", "retracted"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "other",
    [
        {"configuration": "of another"},
        {"variant": "of another"},
        {"vm_count": 3},
        {"operation": "read"},
        {"block_size_bytes": 8192},
        {"metric": "latency", "unit": "ms"},
        {"repetition": 2},
        {"machine": 1},
        {"machine": 2},
    ],
    ids=lambda other: ", ".join(map(str, other.items())),
)
def test_measurements_that_differ_in_one_part_of_their_cell_are_both_kept(other):
    makers = {"configuration": make_configuration, "variant": lambda: make_variant("webserver")}
    other = {name: makers[name]() if name in makers else value for name, value in other.items()}
    cell = {"configuration": make_configuration(), "variant": make_variant(), "vm_count": 2, "block_size_bytes": 4096}
    make_measurement(**cell)
    make_measurement(**{**cell, **other})
    assert Measurement.objects.count() == 2
