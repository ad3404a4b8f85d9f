"""The gate: each flag on the smallest case study that has it, and silence beside its threshold."""

import random
from dataclasses import replace

import pytest

from experiments.rules import plausibility
from experiments.rules.plausibility import Disks, MeasuredValue, disk_limit, implausible
from kdb.units import convert


def value(number=100.0, configuration="ext4", load="append", **fields) -> MeasuredValue:
    told = {"group": (1,), "unit": "MB/s"} | fields
    return MeasuredValue(key=(configuration, load), configuration=configuration, load=load, value=number, **told)


def systems(*numbers, load="append", **fields) -> list[MeasuredValue]:
    return [value(number, f"system {n}", load, **fields) for n, number in enumerate(numbers)]


UNEQUAL = systems(10.0, 20.0, 30.0, 40.0, 50.0, 60.0, load="fileserver")


def kinds(values) -> dict:
    return {value.key: flag.kind for value, flag in implausible(values)}


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((766.9, 766.89, 766.91, 50.06), {"clock": 3}),  # FlexClone's artifact, figure 14b
        ((766.9, 768.5, 50.06), {}),  # 0.21 % apart
        ((766.9, 766.9, 50.06), {}),  # two may be chance
        ((630.0, 630.0, 631.0, 958.0), {}),  # below the best: nothing kept them from going beyond
        ((100.0, 100.4, 100.6, 100.9, 100.2, 50.0), {"ceiling": 5}),
        ((100.0, 100.4, 100.6, 101.5, 100.2, 50.0), {}),
    ],
)
def test_unequal_systems_that_stop_at_one_speed_show_a_clock_or_a_limit(numbers, expected):
    flagged = list(kinds([*systems(*numbers), *UNEQUAL]).values())
    assert {kind: flagged.count(kind) for kind in flagged} == expected


def test_a_flag_says_what_it_looks_like():
    _, flag = implausible([*systems(766.9, 766.9, 766.9, 50.06), *UNEQUAL])[0]
    assert flag.reason == "Three systems at exactly the same speed: this looks like a clock or a limit, not a disk."


def test_systems_that_no_other_load_tells_apart_may_be_equal():
    rates = systems(766.9, 766.9, 766.9)
    assert not implausible([*rates, *systems(10.0, 10.5, 10.9, load="fileserver")])
    assert not implausible([*rates, *systems(10.0, 20.0, 30.0, metric="operation_rate", unit="ops/s")])  # the same load
    assert implausible([*rates, *systems(10.0, 10.5, 11.0, load="fileserver")])


def test_a_speed_of_nothing_is_no_limit():
    assert not implausible([*systems(0.0, 0.0, 0.0), *UNEQUAL])
    assert kinds([*systems(0.0, 766.9, 766.9, 766.9), *UNEQUAL]).keys() == {
        (f"system {n}", "append") for n in (1, 2, 3)
    }


def test_a_long_table_of_equal_numbers_takes_no_longer_a_row_than_a_short_one(monkeypatch):
    class Counted(float):
        times = 0

        def __mul__(self, other):
            Counted.times += 1
            return float(self) * other

    monkeypatch.setattr(plausibility, "DIFFERENT", Counted(plausibility.DIFFERENT))
    assert not implausible(value for load in range(400) for value in systems(1.0, 1.0, 1.0, load=load))
    assert 0 < Counted.times <= 400 * plausibility.MAX_LOADS


def test_only_values_of_one_group_are_held_against_each_other():
    rates = [value(766.9, f"system {n}", group=(n,)) for n in range(4)]  # each at another number of machines
    assert not implausible([*rates, *UNEQUAL])


def test_the_best_latency_is_the_least():
    waits = {"metric": "latency", "unit": "ms"}
    assert implausible([*systems(1.0, 1.0, 1.0, 9.0, **waits), *UNEQUAL])
    assert not implausible([*systems(9.0, 9.0, 9.0, 1.0, **waits), *UNEQUAL])


def test_what_ratios_are_ratios_to_is_one_by_itself():
    assert not implausible([*systems(1.0, 1.0, 1.0, 0.5, metric="relative", unit="ratio"), *UNEQUAL])


@pytest.mark.parametrize(
    ("disks", "limit"),
    [
        (Disks("ssd", interface_limit=600, sequential_limit=535), 600),
        (Disks("ssd", "2 SSDs", sequential_limit=450), 450),
        (Disks("ssd", "8 x SSD", "two RAID10 arrays of 4 disks", sequential_limit=450, source="of one disk"), 1800),
        (Disks("hdd", "WD3000F9YZ 3TB"), 300),
        (Disks("hdd", "a 10K SAS 146 GB and a 7.2K SAS 500 GB"), 600),
        (Disks("hdd", "8 mirrors of two 600 GB SAS disks"), 2400),
        (Disks("hdd", "SAS", "RAID5"), None),  # of how many is not stated
        (Disks("ssd", "Samsung SSD 860 SATA"), 600),
        (Disks("ssd", "SSD"), 1200),
        (Disks("", "SATA Samsung"), 600),
        (Disks("nvme", "970 EVO", year=2018), 3940),
        (Disks("nvme", "980 Pro", year=2021), 7880),
        (Disks("nvme", "8 NVMe in each of three hosts", year=2026), 24 * 15750),
        (Disks("nvme", "970 EVO"), None),  # of which PCIe is not stated
        (Disks("mixed", "hard disks with an SSD"), None),
        (Disks(), None),
    ],
)
def test_disks_carry_what_is_stated_or_what_their_kind_can(disks, limit):
    assert (disk_limit(disks) or (None,))[0] == limit


def test_more_than_the_disks_carry_is_a_caches():
    disk = Disks("hdd", "one disk")
    assert not implausible([value(300.0, disks=disk)])
    ((_, flag),) = implausible([value(301.0, disks=disk, fits=True)])
    assert flag.kind == "above the interface"
    assert flag.reason == (
        "301 MB/s are more than the 300 MB/s that one hard disk carries: a cache answered, not the disk. "
        "The files fit into memory."
    )
    assert implausible([value(101.0, machines=3, disks=disk)])
    two = Disks("hdd", "mirror of two disks")
    ((_, flag),) = implausible([value(601.0, disks=two)])
    assert "the 600 MB/s that 2 hard disks carry" in flag.reason
    assert not implausible([value(300.0, metric="latency", unit="ms", disks=disk)])
    rate = {"metric": "operation_rate", "unit": "ops/s", "block_size_bytes": 1_000_000}
    assert implausible([value(301.0, disks=disk, **rate)])
    assert not implausible([value(299.0, disks=disk, **rate)])


def test_disks_of_another_kind_are_not_held_to_the_case_studys_limit():
    disks = Disks("ssd", "2 x SSD", interface_limit=600, year=2021)
    assert disks.under("", "").interface_limit == 600
    assert disk_limit(disks.under("nvme", "980 Pro"))[0] == 7880


def test_more_than_the_reference_load_is_a_caches_unless_the_load_passes_caches_by():
    disks = Disks("nvme", reference_load=200.0)
    assert kinds([value(301.0, disks=disks)]) == {("ext4", "append"): "above the reference load"}
    assert not implausible([value(300.0, disks=disks)])
    assert not implausible([value(301.0, disks=disks, is_direct=True)])


def test_files_that_fit_into_memory_have_no_margin_above_the_reference_load():
    """A disk whose reference load read 1,189 MiB/s "read" 1,457 of files that its memory held."""
    disks = Disks("nvme", reference_load=1_247.0)
    assert not implausible([value(1_528.0, disks=disks)])
    ((_, flag),) = implausible([value(1_528.0, disks=disks, fits=True)])
    assert "1,528 MB/s, where the reference load past the caches moved 1,247" in flag.reason


def test_what_a_cached_run_prints_in_other_metrics_is_flagged_with_it():
    disks = Disks("nvme", reference_load=200.0)
    rate = value(9_000.0, metric="operation_rate", unit="ops/s", group=(1, "rate"), disks=disks)
    elsewhere = value(50.0, load="read", disks=disks)
    assert [one for one, _ in implausible([rate, value(301.0, disks=disks), elsewhere])][-1] is rate
    assert not implausible([rate, value(199.0, disks=disks), elsewhere])


def sample() -> list[MeasuredValue]:
    disk = Disks("hdd", "one disk", reference_load=100.0)
    return [
        *systems(766.9, 766.9, 766.9, 50.0, metric="operation_rate", unit="ops/s"),
        *systems(100.0, 100.5, 100.2, 100.3, 100.1, 20.0, load="read"),
        *(replace(one, disks=disk) for one in systems(301.0, 160.0, 120.0, 80.0, 60.0, 50.0, load="fileserver")),
    ]


def test_the_order_of_rows_does_not_matter():
    values = sample()
    told = {value.key: flag for value, flag in implausible(values)}
    assert set(map(str, kinds(values).values())) == {
        *("clock", "ceiling", "above the interface", "above the reference load")
    }
    for seed in range(5):
        shuffled = random.Random(seed).sample(values, len(values))
        assert {value.key: flag for value, flag in implausible(shuffled)} == told


@pytest.mark.parametrize("unit", ["MiB/s", "KiB/s"])
def test_the_unit_does_not_matter(unit):
    values = [
        replace(one, value=convert(one.value, one.unit, unit), unit=unit) if one.unit == "MB/s" else one
        for one in sample()
    ]
    assert kinds(values) == kinds(sample())
