"""The facts of configurations reach the verdict: nothing that can lose acknowledged writes is recommended."""

import pytest

from modelling.answer_store.selectors import current_snapshot
from modelling.evidence.question import Question
from tests.factories import (
    make_case_study,
    make_configuration,
    make_finding,
    make_measurement,
    make_publication,
    publish,
)

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
MAIL = Question(axis="guest-fs", workload="varmail")


def said_of(result):
    return {entry["key"]: (entry["verdict"], entry["unsafe_options"]) for entry in result["entries"]}


def test_numbers_measured_without_barriers_are_not_recommended(client):
    study = make_case_study()
    for guest_fs, value, options in (("btrfs", 900.0, "noatime,nobarrier"), ("ext4", 300.0, ""), ("xfs", 100.0, "")):
        configuration = make_configuration(study, guest_fs=guest_fs, guest_mount_options=options)
        make_measurement(value, configuration=configuration)
    publish(study)
    result = current_snapshot(MAIL).result
    assert said_of(result)["btrfs"] == ("unknown", ["guest mount option nobarrier"])
    assert said_of(result)["ext4"] == ("leads", [])
    assert (result["best"], result["reference"]) == (["ext4"], "ext4")
    assert "measured ext4 3.0 times as fast as xfs" in result["verdict"]["measured"]
    page = client.get("/?axis=guest-fs&workload=varmail").content.decode()
    assert "Btrfs comes before, but was measured only with guest mount option nobarrier" in page
    ranking = client.get("/?axis=guest-fs&workload=varmail&tab=ranking").content.decode()
    assert "only measured with guest mount option nobarrier" in ranking


def test_lists_on_an_unsafe_cache_recommend_nothing():
    publication = make_publication("paper")
    study = make_case_study(publication=publication)
    for guest_fs, tier in (("ext4", "best"), ("xfs", "unlisted"), ("btrfs", "worst")):
        make_configuration(study, guest_fs=guest_fs, cache_mode="unsafe")
        make_finding(tier, guest_fs=guest_fs, publication=publication, case_studies=[study])
    publish(study)
    result = current_snapshot(MAIL).result
    assert all(
        verdict_and_options == ("unknown", ["cache mode unsafe"]) for verdict_and_options in said_of(result).values()
    )
    assert result["verdict"]["sentence"].startswith("Keep what you have: none of these was measured with options")


def test_of_two_that_are_as_fast_the_one_that_keeps_acknowledged_writes_is_chosen():
    study = make_case_study()
    for guest_fs, value, options in (("btrfs", 101.0, ""), ("btrfs", 101.0, "nobarrier"), ("ext4", 100.0, "")):
        make_measurement(value, configuration=make_configuration(study, guest_fs=guest_fs, guest_mount_options=options))
    publish(study)
    result = current_snapshot(MAIL).result
    assert result["best"] == ["ext4"]
    assert "durability decided" in result["verdict"]["confidence"]
