"""Entries by two things at once: what is drawn, what is said, and what stays open."""

import pytest

from modelling.answer_pages.layout.trade_table import trade_tables
from modelling.answer_store.selectors import answer_in, current_snapshot
from modelling.evidence.question import Question
from tests.factories import make_case_study, make_configuration, make_measurement, publish

pytestmark = [pytest.mark.django_db, pytest.mark.sqlite]
GUESTS = Question(axis="guest-fs", workload="varmail")


def published(values, metric="throughput", unit="MiB/s", laboratories=6, **facts):
    """Laboratories that agree; each measured every guest file system with these runs."""
    for _ in range(laboratories):
        study = make_case_study()
        for guest_fs, runs in values.items():
            configuration = make_configuration(study, guest_fs=guest_fs, **facts.get(guest_fs, {}))
            for repetition, value in enumerate(runs, start=1):
                make_measurement(
                    value,
                    configuration=configuration,
                    metric=metric,
                    unit=unit,
                    repetition=repetition,
                    source="Table I",
                )
        publish(study)


def trade_offs():
    answer = answer_in(current_snapshot(GUESTS))
    return {trade_off.y: trade_off for trade_off in answer.trade_offs}, trade_tables(answer)


def standings(trade_off):
    return {point.key: (point.standing, point.on_front) for point in trade_off.points}


@pytest.mark.usefixtures("laboratories_alike")
def test_throughput_is_weighed_against_latency_where_both_were_measured():
    published({"ext4": (6400.0,), "xfs": (100.0,), "btrfs": (1.0,)})
    published({"ext4": (64.0,), "xfs": (1.0,), "btrfs": (4096.0,)}, metric="latency", unit="ms")
    (by_measure, tables) = trade_offs()
    assert list(by_measure) == ["latency"]
    # ext4 is fastest, XFS answers soonest, Btrfs loses to either in both.
    assert standings(by_measure["latency"]) == {
        "ext4": ("in the Pareto set", True),
        "xfs": ("in the Pareto set", True),
        "btrfs": ("dominated", False),
    }
    y = {point.key: point.y.value for point in by_measure["latency"].points}
    assert y["ext4"] == 1.0
    assert 8 < y["xfs"] < 64  # 64 ms / 1 ms, shrunk
    assert 1 / 64 < y["btrfs"] < 1 / 8
    assert tables[0].sentence == (
        "By the estimates no other is better in throughput and speed by latency at once than ext4 or xfs. "
        "Beyond the intervals: ext4 and xfs surely in the Pareto set; btrfs surely beaten."
    )


def test_one_laboratory_decides_nothing_beyond_its_intervals(client):
    published({"ext4": (110.0,), "xfs": (100.0,)}, laboratories=1)
    published({"ext4": (1.0,), "xfs": (1.1,)}, metric="latency", unit="ms", laboratories=1)
    by_measure, tables = trade_offs()
    assert standings(by_measure["latency"]) == {"ext4": ("cannot tell", True), "xfs": ("cannot tell", False)}
    assert tables[0].sentence.endswith("Beyond the intervals nothing can be told.")
    page = client.get("/?axis=guest-fs&workload=varmail&tab=trade-offs").content.decode()
    assert tables[0].sentence in page
    assert "chart-trade-1-data" in page


def test_the_spread_of_runs_counts_where_it_is_known():
    # ln of 90, 110 have a standard deviation of 0.1419; XFS has one run and is left out.
    published({"ext4": (90.0, 110.0), "btrfs": (99.0, 101.0), "xfs": (10.0,)}, laboratories=4)
    by_measure, _ = trade_offs()
    spread = {point.key: point.y for point in by_measure["spread"].points}
    assert set(spread) == {"ext4", "btrfs"}
    assert spread["ext4"].value == pytest.approx(0.1426, abs=1e-4)
    assert spread["ext4"].low < spread["ext4"].value < spread["ext4"].high
    assert standings(by_measure["spread"])["btrfs"] == ("in the Pareto set", True)


@pytest.mark.usefixtures("laboratories_alike")
def test_durability_is_known_only_where_options_are_stated():
    stated = {"cache_mode": "none", "guest_mount_options": "noatime", "host_mount_options": "noatime"}
    published(
        {"ext4": (100.0,), "xfs": (90.0,), "btrfs": (6400.0,)},
        ext4=stated,
        btrfs={**stated, "guest_mount_options": "nobarrier", "slug": "unsafe"},
        xfs={"cache_mode": "none"},
    )
    by_measure, tables = trade_offs()
    known = {point.key: (point.y.value, point.on_front) for point in by_measure["durability"].points}
    assert known == {"ext4": (1.0, True), "btrfs": (0.0, True), "xfs": (None, None)}
    assert standings(by_measure["durability"])["btrfs"][0] == "in the Pareto set"
    assert tables[0].chart is None


def test_durability_that_is_known_of_none_is_weighed_against_nothing():
    for cache_mode in ("none", "unsafe"):  # each entry was measured with and without flushes
        facts = {"cache_mode": cache_mode}
        published({"ext4": (100.0,), "xfs": (90.0,)}, laboratories=1, ext4=facts, xfs=facts)
    assert trade_offs() == ({}, [])


def test_without_a_second_thing_there_is_no_trade_off(client):
    published({"ext4": (110.0,), "xfs": (100.0,)}, laboratories=1)
    assert trade_offs() == ({}, [])
    assert 'id="trade-off"' not in client.get("/?axis=guest-fs&workload=varmail").content.decode()


def test_the_api_has_what_the_page_shows(client):
    published({"ext4": (110.0,), "xfs": (100.0,)}, laboratories=1)
    published({"ext4": (1.0,), "xfs": (1.1,)}, metric="latency", unit="ms", laboratories=1)
    (given,) = client.get("/api/v1/rankings/guest-fs/?workload=varmail").json()["trade_offs"]
    assert (given["x"], given["y"], [point["key"] for point in given["points"]]) == (
        "throughput",
        "latency",
        ["ext4", "xfs"],
    )
